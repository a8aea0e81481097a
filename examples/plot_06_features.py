"""
Features: what is a genre worth?
================================

You have votes, and a table that describes the items. You get what each feature is worth, and rankings of items without
a single vote.
"""

import rather

GENRES = {
    "comedy": "Amélie, Back to the Future, Barbie, Notting Hill, Paddington 2, Roman Holiday, Singin' in the Rain, "
    "Some Like It Hot, Toy Story",
    "romance": "Amélie, Before Sunrise, Breakfast at Tiffany's, Casablanca, La La Land, Lost in Translation, "
    "Notting Hill, Roman Holiday, Titanic",
    "drama": "Casablanca, Citizen Kane, Lost in Translation, Moonlight, Parasite, Seven Samurai, The Godfather, "
    "Titanic, Tokyo Story",
    "crime": "Chinatown, Fargo, Pulp Fiction, The Dark Knight, The Godfather, Vertigo",
    "horror": "Alien, Get Out, Jaws, Psycho, The Shining",
    "action": "Apocalypse Now, Die Hard, Inception, Jurassic Park, Mad Max: Fury Road, Seven Samurai, Star Wars, "
    "The Dark Knight, The Matrix",
    "science fiction": "Alien, Back to the Future, Blade Runner, Inception, Jurassic Park, Star Wars, The Matrix",
    "family": "Back to the Future, Paddington 2, Spirited Away, Toy Story",
}
BEFORE_1970 = (
    "Breakfast at Tiffany's, Casablanca, Citizen Kane, Psycho, Roman Holiday, Seven Samurai, Singin' in the Rain, "
    "Some Like It Hot, Tokyo Story, Vertigo"
)

# %%
# The table has one row per film. A film may have several genres, so a cell is a list.

comparisons = rather.Comparisons.from_frame(rather.datasets.film_club())
films = {
    "item": comparisons.items.tolist(),
    "genre": [[name for name, titles in GENRES.items() if film in titles.split(", ")] for film in comparisons.items],
    "before 1970": [film in BEFORE_1970.split(", ") for film in comparisons.items],
}
model = rather.fit(comparisons, item_features=films)

# %%
# Dots show what a genre is worth to the average member, and bars how much members differ. Diamonds belong to one
# member.

axes = rather.plot.tastes(model, "Ada M.")
axes.figure.suptitle("Ada M. likes romance more, and action and horror less, than most members")

# %%
# A film that nobody has voted on gets a place in everybody's ranking.

model.add_items({"item": ["Sabrina"], "genre": [["comedy", "romance"]], "before 1970": [True]})
places = model.rank("Ada M.")["item"].tolist()
print(f"Sabrina: place {places.index('Sabrina') + 1} of {len(places)} for Ada M.")
