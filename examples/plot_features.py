"""
What features are worth
=======================

Some people like old films and others new ones. Give rather a table of the films, and it learns how much the year and
the length are worth to each person. Features that do not help are switched off.
"""

import numpy as np

import rather

rng = np.random.default_rng(0)
films, people, answers = 60, 150, 40
year, minutes = rng.integers(1930, 2025, films), rng.integers(80, 180, films)
genre = rng.choice(["comedy", "drama", "horror"], films)
table = {"item": np.arange(films), "year": year, "minutes": minutes, "genre": genre}

# %%
# These people are simulated: each has a taste for new films and one for each genre. The length of a film is worth
# nothing to them.

new = rng.normal(0.5, 1.0, people)
likes = rng.normal([0.0, 1.0, -1.0], 1.0, (people, 3))
kind = np.searchsorted(["comedy", "drama", "horror"], genre)
worth = new[:, None] * (year - 1977) / 27 + likes[:, kind]
user = np.repeat(np.arange(people), answers)
left, right = rng.integers(0, films, (2, people * answers))
user, left, right = (column[left != right] for column in (user, left, right))
first = rng.random(len(user)) < 1 / (1 + np.exp(worth[user, right] - worth[user, left]))
votes = {"user": user, "winner": np.where(first, left, right), "loser": np.where(first, right, left)}

model = rather.fit(rather.Comparisons.from_frame(votes), item_features=table)
print(model.features_)

# %%
# Each bar is the worth to everybody, each whisker how much people differ, and each mark the worth to one person.

rather.plot.tastes(model, user=7)
