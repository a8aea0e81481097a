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
judges, champion = model.users_, ["GPT 4"] * len(model.users_)
outcomes = np.array(
    [model.probability(judges, champion, [other] * len(judges)).mean(axis=0) for other in opponents]
)  # fmt: skip

# %%
# The picture shows the mean of all judges. Opponents are in the order of the shared ranking.

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
figure.suptitle("How the average judge decides between GPT 4 and another model")
start = np.zeros(len(opponents))
looks = ("GPT 4 wins", "#0b6e4f", "white"), ("tie", "#d8dee9", "black"), ("the other wins", "#c8553d", "white")
for share, (label, colour, ink) in zip(outcomes.T, looks, strict=True):
    bars = axes.barh(opponents, share, left=start, color=colour, label=label)
    texts = [f"{value:.0%}" for value in share]
    axes.bar_label(bars, texts, label_type="center", fontsize=8, color=ink)
    start += share
axes.invert_yaxis()
axes.set_xlim(0, 1)
axes.xaxis.set_visible(False)
axes.spines[:].set_visible(False)
axes.tick_params(left=False)
axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
