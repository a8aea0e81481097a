"""
Questions: which pair to ask next?
==================================

You have a model and a new person with little patience. You get the most informative questions, and see what they save.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MultipleLocator

import rather

QUESTIONS = 12
votes = rather.datasets.film_club()
everybody = rather.fit(rather.Comparisons.from_frame(votes))
known = rather.fit(rather.Comparisons.from_frame(votes[:3000]))  # of the first 100 members
newcomers = everybody.users_[-30:]

# %%
# Thirty other members play newcomers. The model of all votes plays the truth: it draws their answers, and it knows
# which film of each pair they prefer.

films, rng = known.items_, np.random.default_rng(0)
left, right = np.triu_indices(len(films), 1)


def answer(user, a, b):
    """Return the two films, the preferred one first."""
    return (a, b) if rng.random() < everybody.probability(user, a, b)[0] else (b, a)


def predicted(person, user):
    """Return the share of all pairs that are ordered as in the truth."""
    ours, truth = person.score(films), everybody.score([user] * len(films), films)
    return np.mean((ours[left] > ours[right]) == (truth[left] > truth[right]))


def interview(user, informative):
    """Return the accuracy after each question."""
    answers, found = [], []
    for _ in range(QUESTIONS + 1):
        person = known.fold_in(answers, asked=True)
        found.append(predicted(person, user))
        question = rather.next_question(known, person, explore=0.0 if informative else 1.0, seed=len(answers))
        answers.append(answer(user, question.left, question.right))
    return found


# %%
# Informative questions reach with about five answers what random questions reach with twelve.

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
figure.suptitle("About five informative questions are worth twelve random ones")
for label, informative, colour in (("most informative pair", True, "#0b6e4f"), ("random pair", False, "#c8553d")):
    curve = np.mean([interview(user, informative) for user in newcomers], axis=0)
    axes.plot(range(QUESTIONS + 1), curve, "o-", color=colour)
    axes.annotate(label, (QUESTIONS, curve[-1]), (8, 0), textcoords="offset points", color=colour, va="center")
axes.set(xlabel="questions answered", ylabel="pairs of films ordered rightly", xticks=range(0, QUESTIONS + 1, 2))
axes.yaxis.set_major_locator(MultipleLocator(0.05))
axes.yaxis.set_major_formatter("{x:.0%}")
axes.spines[["top", "right"]].set_visible(False)
