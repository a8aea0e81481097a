"""
A certificate: is the fit as good as it can be?
===============================================

You have a fit that ended. You get a proof of how close it is to the best model of any rank.
"""

import matplotlib.pyplot as plt

import rather

votes = rather.datasets.film_club()
comparisons = rather.Comparisons.from_frame(votes)
model = rather.Convex(reg=15.0, tol=1e-4).fit(comparisons)

# %%
# The objective is what a fit makes small. The lower bound is a number that no model can go below. When both meet, the
# fit is proven to be the best.

rounds = [record["round"] for record in model.history_]
reached = [record["objective"] for record in model.history_]
proven = [record["lower_bound"] for record in model.history_]

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
figure.suptitle("The fit and the proof meet after a few rounds")
axes.fill_between(rounds, proven, reached, color="#eceff4")
axes.plot(rounds, reached, "o-", color="#0b6e4f")
axes.plot(rounds, proven, "o-", color="#3a6ea5")
axes.annotate("objective reached", (rounds[0], reached[0]), (10, 6), textcoords="offset points", color="#0b6e4f")
axes.annotate(
    "proven: no model goes below", (rounds[0], proven[0]), (14, -4), textcoords="offset points", color="#3a6ea5"
)
axes.set_xticks(rounds, [f"{record['round']}\n{record['gap']:.2%}" for record in model.history_])
axes.set(xlabel="round, and the gap between both lines", ylabel="objective")
axes.margins(y=0.2)
axes.spines[["top", "right"]].set_visible(False)

# %%
# The certificate of the finished model. A proof says nothing about new answers: measure those on held-out data.

print(model.certificate())
