"""
An update: what do today's votes change?
========================================

You have a fitted model, and new votes arrive. You get an updated model without a refit, and see what moved.
"""

import matplotlib.pyplot as plt

import rather

USER, TOP = "Ada M.", 12
votes = rather.Comparisons.from_frame(rather.datasets.film_club())
yesterday, today = votes.split(test=0.7, seed=0)
model = rather.fit(yesterday)
print(f"{len(yesterday):,} votes yesterday, {len(today):,} today")

# %%
# ``update`` changes the model itself, so the old ranking is read first.

old = model.rank(USER)["item"].tolist()
model.update(today)
new = model.rank(USER)["item"].tolist()

# %%
# Each line is a film: left its place in Ada M.'s ranking of yesterday, right its place of today.

figure, axes = plt.subplots(figsize=(7, 5.5), layout="constrained")
for film in new[:TOP]:
    was, now = old.index(film) + 1, new.index(film) + 1
    colour = "#0b6e4f" if now < was else "#c8553d" if now > was else "#7b8494"
    axes.plot([0, 1], [was, now], "o-", color=colour, linewidth=2, clip_on=False)
    axes.annotate(f"{film}  {was}", (0, was), (-9, 0), textcoords="offset points", ha="right", va="center")
    axes.annotate(f"{now}  {film}", (1, now), (9, 0), textcoords="offset points", va="center")
for at, day in enumerate(("yesterday", "today")):
    axes.annotate(day, (at, 0), ha="center", va="center", color="#7b8494")
axes.invert_yaxis()
axes.set(xlim=(-0.9, 1.9), title=f"The first {TOP} films of {USER}: green lines rise, red lines fall")
axes.set_axis_off()
