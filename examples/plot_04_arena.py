"""
An arena: ties and the advantage of the left side
=================================================

You have a log of battles: what stood left, what stood right, and the outcome. You get win, tie and loss probabilities
without position bias.
"""

import matplotlib.pyplot as plt
import numpy as np

import rather

judgements = rather.datasets.llmfao()
model = rather.fit(rather.Comparisons.from_arena(judgements))

# %%
# The effects are log-odds. The left answer wins a little more often than the right one.

model.effects()

# %%
# How would each judge decide between GPT 4 and another model? Probabilities assume equal positions. The columns are
# the outcomes: GPT 4 wins, tie, GPT 4 loses.

opponents = [item for item in model.rank()["item"] if item != "GPT 4"][::5]
outcomes = np.array(
    [
        model.probability(model.users_, ["GPT 4"] * len(model.users_), [other] * len(model.users_)).mean(axis=0)
        for other in opponents
    ]
)

# %%
# The picture shows the mean of all judges. Opponents are in the order of the shared ranking.

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
figure.suptitle("How the average judge decides between GPT 4 and another model")
start = np.zeros(len(opponents))
for share, label, colour in zip(
    outcomes.T, ["GPT 4 wins", "tie", "the other wins"], ["#0b6e4f", "#d8dee9", "#c8553d"], strict=True
):
    bars = axes.barh(opponents, share, left=start, color=colour, label=label)
    axes.bar_label(bars, [f"{value:.0%}" for value in share], label_type="center", fontsize=8,
                   color="black" if label == "tie" else "white")  # fmt: skip
    start += share
axes.invert_yaxis()
axes.set_xlim(0, 1)
axes.xaxis.set_visible(False)
axes.spines[:].set_visible(False)
axes.tick_params(left=False)
axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
