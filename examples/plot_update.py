"""
Votes that keep coming
======================

Each day brings new votes. ``update`` takes them into the model without a refit, and stays close to a model that is
fitted again every day. Fit again when the votes have doubled.
"""

import matplotlib.pyplot as plt

import rather

votes = rather.datasets.film_club().to_frame("pandas").sample(frac=1, random_state=0)
test = rather.Comparisons.from_frame(votes[10_000:])
BEGIN, DAY = 7000, 500
days = [votes[start : start + DAY] for start in range(BEGIN, 10_000, DAY)]

model = rather.fit(rather.Comparisons.from_frame(votes[:BEGIN]))
updated, fitted = [], []
for n, day in enumerate(days, 1):
    model = model.update(rather.Comparisons.from_frame(day))
    again = rather.fit(rather.Comparisons.from_frame(votes[: BEGIN + DAY * n]))
    updated.append(rather.pairwise_accuracy(model, test))
    fitted.append(rather.pairwise_accuracy(again, test))

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(range(1, len(days) + 1), fitted, "s--", color="#3a6ea5", label="a fit every day")
axes.plot(range(1, len(days) + 1), updated, "o-", color="#0b6e4f", label="updates")
axes.set_ylim(0.7, 0.85)
axes.set_xlabel("day")
axes.set_ylabel("held-out answers predicted")
axes.legend(frameon=False)
