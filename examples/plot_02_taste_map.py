"""
A map of tastes
===============

You have votes about films. You get a map of the two directions in which people's tastes differ most.
"""

import rather

votes = rather.datasets.film_club()[:6000]  # of the first 200 members
model = rather.fit(rather.Comparisons.from_frame(votes))
print(model)

# %%
# Nobody told the model about genres or years. Somebody new gives four answers, the preferred film first.

newcomer = model.fold_in(
    [
        ("Before Sunrise", "Die Hard"),
        ("Notting Hill", "The Shining"),
        ("Casablanca", "The Matrix"),
        ("Paddington 2", "Alien"),
    ]
)

# %%
# A film that lies far in somebody's direction ranks high for them. The ellipse holds the newcomer's taste with
# probability 0.9.

axes = rather.plot.taste_map(model, newcomer)
axes.figure.suptitle("Quiet, old films lie on the right; loud, new films on the left")
