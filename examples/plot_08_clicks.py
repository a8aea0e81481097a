"""
Clicks: lists from choices alone
================================

You have clicks or purchases: who took what. You get a list of further items for everybody, and how good the lists are.
"""

import matplotlib.pyplot as plt
import numpy as np

import rather

# %%
# The film club votes, so its clicks are simulated. Each member clicks ten films, mostly films that the votes say they
# like. Clicks never say what people do not want.

taste = rather.fit(rather.Comparisons.from_frame(rather.datasets.film_club()))
members, films = taste.users_, taste.items_
liking = taste.score(members.repeat(len(films)), np.tile(films, len(members))).reshape(len(members), len(films))
drawn = np.argsort(-4 * liking + np.random.default_rng(0).gumbel(size=liking.shape), axis=1)[:, :10]
clicks = {"user": members.repeat(10), "item": films[drawn].ravel()}
train, test = rather.split_clicks(clicks, test=0.3, seed=0)
comparisons = rather.Comparisons.from_clicks(train)

# %%
# ``rather.fit`` chooses ``ClickRanker`` for clicks. A popularity list is the same for everybody.

models = {"ClickRanker": rather.fit(comparisons), "popularity": rather.Popularity().fit(comparisons)}
lengths = range(1, 11)

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
figure.suptitle("The first item of a personal list is clicked twice as often as the most popular one")
for (label, model), colour in zip(models.items(), ["#0b6e4f", "#c8553d"], strict=True):
    found = [rather.precision(model, test, k=k, exclude="seen") for k in lengths]
    axes.errorbar(lengths, found, [value.standard_error for value in found], fmt="o-", color=colour, elinewidth=1)
    axes.annotate(label, (10, found[-1]), (8, 0), textcoords="offset points", color=colour, va="center")
axes.set(xlabel="length of the list", ylabel="share of the list that was clicked later", xticks=lengths)
axes.yaxis.set_major_formatter("{x:.0%}")
axes.spines[["top", "right"]].set_visible(False)

# %%
# Films that Ada M. has not clicked yet:

models["ClickRanker"].recommend("Ada M.", k=3, exclude="seen")
