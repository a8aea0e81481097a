"""
Does the left answer win more often?
====================================

Judges may prefer an answer because of where it stands. ``effects`` estimates this position bias, and rankings do not
contain it.
"""

import matplotlib.pyplot as plt

import rather

model = rather.fit(rather.Comparisons.from_arena(rather.datasets.llmfao()))
table = model.effects()
print(table)

# %%
# The bars are 95 % intervals of the log-odds. The left answer wins slightly more often. The second row says how readily
# a typical person ties.

figure, axes = plt.subplots(figsize=(6, 2), layout="constrained")
for place, row in enumerate(table):
    axes.plot([row.low, row.high], [place, place], linewidth=3, color="#0b6e4f")
    axes.plot(row.estimate, place, "o", color="#0b6e4f")
axes.axvline(0, color="#777777", linewidth=1)
axes.set_yticks(range(len(table)), [row.effect for row in table])
axes.set_ylim(len(table) - 0.5, -0.5)
axes.set_xlabel("log-odds")
