"""
A leaderboard with ranges of places
===================================

124 people compared answers of 59 language models. Each bar is a range of places that holds with 90 %
probability. Models in one band cannot be distinguished from the first one of the band yet.
"""

import rather

comparisons = rather.Comparisons.from_arena(rather.datasets.llmfao())
model = rather.fit(comparisons)
rather.plot.leaderboard(model, top=15)

# %%
# The same as a table. ``best`` and ``worst`` are a range of places, and ``p_top`` is the probability of being among the
# first five.

print(model.rank(interval=0.9, top=5)[:8])
