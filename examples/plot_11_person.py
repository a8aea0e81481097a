"""
A person against the crowd
==========================

You have a few answers of one person. You get where this person's taste certainly differs from the typical one.
"""

import rather

votes = rather.datasets.film_club()[:4500]  # of the first 150 members
model = rather.fit(rather.Comparisons.from_frame(votes))

# %%
# Eight answers of somebody new, the preferred film first.

person = model.fold_in(
    [
        ("Singin' in the Rain", "Alien"),
        ("Roman Holiday", "The Dark Knight"),
        ("Some Like It Hot", "Pulp Fiction"),
        ("Amélie", "The Shining"),
        ("Toy Story", "Blade Runner"),
        ("Paddington 2", "The Godfather"),
        ("Casablanca", "Inception"),
        ("Spirited Away", "Apocalypse Now"),
    ]
)

# %%
# Films to the right of the line are worth more to this person than to the typical member. Pale intervals hold 0, so
# these differences are not certain yet.

axes = rather.plot.person(person, top=24)
axes.figure.suptitle("Eight answers show a taste for light, old films")

# %%
# The recommendations follow from the same eight answers.

person.recommend(k=5)
