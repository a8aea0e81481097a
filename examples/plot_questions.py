"""
Which questions pay
===================

Ten members of a film club are treated as new. Each answers twelve questions, as a model of all their votes would. The
curves show how many pairs of films the model then orders rightly, for informative questions and for random ones.
"""

import matplotlib.pyplot as plt
import numpy as np

import rather

votes = rather.datasets.film_club().to_frame("pandas")
truth = rather.fit(rather.Comparisons.from_frame(votes))
new = truth.users_[::40]
model = rather.fit(rather.Comparisons.from_frame(votes[~votes.user.isin(new)]))
rng = np.random.default_rng(0)


def informative(answers):
    question = rather.next_question(model, model.fold_in(answers, asked=True))
    return question.left, question.right


def drawn(answers):
    return tuple(rng.choice(model.items_, 2, replace=False))


def curve(ask, member):
    """Return the share of pairs in the right order, after each number of questions."""
    scores = truth.score(member, model.items_)
    worth = dict(zip(model.items_, scores, strict=True))
    answers, shares = [], []
    for _ in range(13):
        mine = model.fold_in(answers, asked=True).score(model.items_)
        agree = np.sign(mine[:, None] - mine) == np.sign(scores[:, None] - scores)
        shares.append(agree[np.triu_indices(len(mine), 1)].mean())
        answers.append(tuple(sorted(ask(answers), key=worth.get, reverse=True)))
    return shares


figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for ask, label, colour in ((informative, "informative", "#0b6e4f"), (drawn, "random", "#c8553d")):
    axes.plot(np.mean([curve(ask, member) for member in new], axis=0), "o-", color=colour, label=label)
axes.set_xlabel("questions")
axes.set_ylabel("pairs in the right order")
axes.legend(frameon=False)
