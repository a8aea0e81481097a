"""
A leaderboard with ranges of places
===================================

You have judgements of language models by 124 people. You get one shared ranking, and the range of places of each model.
"""

import rather

judgements = rather.datasets.llmfao()
comparisons = rather.Comparisons.from_arena(judgements)
model = rather.fit(comparisons)

# %%
# A dot is a place, and a bar is the range of places that holds with probability 0.9. Bands, shaded or white, are
# groups: it is not certain that an item is behind the first of its band.

axes = rather.plot.leaderboard(model, interval=0.9, top=20)
axes.set_title("The first 20 of 59 language models, judged by 124 people")

# %%
# The same numbers are a table. ``p_top`` is the probability of being among the first five.

model.rank(interval=0.9, top=5)[:5]
