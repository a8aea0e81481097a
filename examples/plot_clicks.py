"""
Lists from clicks
=================

A click says that somebody wanted an item, and nothing about the items that were not clicked. Here the films that a
member preferred in a vote count as clicks. A tenth of them is held out. The bars show how many of the first five films
of a list were among these, for three methods.
"""

import matplotlib.pyplot as plt

import rather

votes = rather.datasets.film_club()
clicks = {"user": votes["user"], "item": votes["winner"]}
train, test = rather.split_clicks(clicks, test=0.1, seed=0)
data = rather.Comparisons.from_clicks(train)

figure, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
for model in (rather.Popularity(), rather.AltSVM(), rather.ClickRanker()):
    score = rather.precision(model.fit(data), test, k=5, exclude="seen")
    axes.barh(type(model).__name__, score, xerr=score.standard_error, color="#0b6e4f", alpha=0.8)
axes.set_xlabel("precision@5, with standard errors")
axes.invert_yaxis()
