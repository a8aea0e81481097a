"""
One person against the crowd
============================

Somebody new answers six questions, each chosen to be the most informative one. The picture shows which films are worth
more or less to this person than to the typical member, with 90 % intervals.
"""

import rather

model = rather.fit(rather.Comparisons.from_frame(rather.datasets.film_club()))

# %%
# This person prefers some quiet films to all others. If neither is among these, the person takes the one on the right.

QUIET = [
    "Before Sunrise",
    "Tokyo Story",
    "Lost in Translation",
    "Moonlight",
    "Roman Holiday",
    "Citizen Kane",
    "Vertigo",
]
answers = []
for _ in range(6):
    question = rather.next_question(model, model.fold_in(answers, asked=True))
    pair = question.left, question.right
    answers.append(pair if question.left in QUIET else pair[::-1])
    print(f"{answers[-1][0]} rather than {answers[-1][1]}")

# %%
# What six answers tell.

rather.plot.person(model.fold_in(answers, asked=True))
