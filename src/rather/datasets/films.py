"""A simulated film club: real film titles, and votes drawn from a model of choice whose tastes are known.

The places of the films on the axes, the members and the answers are made up.
"""

from __future__ import annotations

from string import ascii_uppercase

import numpy as np
import numpy.typing as npt

from ..data.comparisons import Comparisons
from ..data.simulate import World, answers, draw_pairs
from ..data.tables import Table
from ..data.votes import Votes
from ..errors import number

Float64 = npt.NDArray[np.float64]

AXES = (("quiet", "loud"), ("light", "dark"), ("old", "new"))

# title: how much everybody likes it, then quiet -1 .. +1 loud, light -1 .. +1 dark, old -1 .. +1 new
FILMS = {
    "Alien": (0.5, 0.5, 0.9, -0.1),
    "Amélie": (0.4, -0.3, -0.9, 0.5),
    "Apocalypse Now": (0.4, 0.6, 0.8, -0.2),
    "Back to the Future": (0.6, 0.5, -0.8, 0.0),
    "Barbie": (-0.2, 0.2, -0.8, 1.0),
    "Before Sunrise": (0.1, -1.0, -0.5, 0.3),
    "Blade Runner": (0.3, 0.3, 0.7, -0.1),
    "Breakfast at Tiffany's": (-0.1, -0.7, -0.6, -0.7),
    "Casablanca": (0.7, -0.6, 0.0, -1.0),
    "Chinatown": (0.2, -0.3, 0.8, -0.4),
    "Citizen Kane": (0.3, -0.7, 0.4, -1.0),
    "Die Hard": (0.1, 1.0, -0.1, 0.1),
    "Fargo": (0.3, -0.2, 0.6, 0.3),
    "Get Out": (0.2, 0.2, 0.8, 0.9),
    "Inception": (0.5, 0.9, 0.3, 0.8),
    "Jaws": (0.2, 0.6, 0.5, -0.3),
    "Jurassic Park": (0.3, 0.9, -0.2, 0.3),
    "La La Land": (0.0, -0.2, -0.6, 0.9),
    "Lost in Translation": (0.0, -0.9, 0.0, 0.5),
    "Mad Max: Fury Road": (0.2, 1.0, 0.6, 0.9),
    "Moonlight": (0.1, -0.8, 0.4, 0.9),
    "Notting Hill": (-0.5, -0.6, -0.9, 0.4),
    "Paddington 2": (0.2, 0.1, -1.0, 0.9),
    "Parasite": (0.7, 0.1, 0.8, 1.0),
    "Psycho": (0.4, -0.1, 0.9, -0.8),
    "Pulp Fiction": (0.6, 0.5, 0.6, 0.3),
    "Roman Holiday": (0.0, -0.7, -0.9, -0.9),
    "Seven Samurai": (0.6, 0.6, 0.3, -0.9),
    "Singin' in the Rain": (0.3, 0.1, -1.0, -0.9),
    "Some Like It Hot": (0.3, 0.0, -0.9, -0.8),
    "Spirited Away": (0.8, 0.1, -0.2, 0.5),
    "Star Wars": (0.6, 1.0, -0.3, -0.2),
    "The Dark Knight": (0.6, 0.9, 0.7, 0.7),
    "The Godfather": (0.9, -0.1, 0.7, -0.4),
    "The Matrix": (0.6, 1.0, 0.4, 0.4),
    "The Shining": (0.3, 0.0, 1.0, -0.1),
    "Titanic": (-0.3, 0.4, 0.0, 0.3),
    "Tokyo Story": (0.3, -1.0, 0.1, -0.9),
    "Toy Story": (0.5, 0.3, -0.9, 0.3),
    "Vertigo": (0.3, -0.5, 0.6, -0.8),
}

FIRST_NAMES = (
    "Ada", "Bela", "Chidi", "Dana", "Emre", "Femi", "Greta", "Hana", "Ines", "Jonas", "Kofi", "Lena", "Mateo",
    "Nadia", "Oskar", "Priya", "Quinn", "Rosa", "Sami", "Tove", "Ugo", "Vera", "Wanda", "Ximena", "Yusuf", "Zora",
    "Anouk", "Boris", "Carmen", "Dov", "Elif", "Farid", "Gwen", "Hugo", "Isla", "Jun", "Kaya", "Luca", "Mina", "Niko",
)  # fmt: skip
QUALITY = 3.5  # how much everybody weighs a film's quality, and
TASTE = 1.8  # how much, typically, each axis: both against the noise of an answer, whose logistic scale is 1
ANSWERS = 30  # of each member


def film_club() -> Table:
    """Return simulated votes about real films.

    The 400 members of a film club vote 12,000 times which of two films they would rather see, out of 40 films. Every
    call returns the same votes, which are those of ``rather demo``. Use :func:`rather.simulate` for votes of another
    size.

    Returns
    -------
    Table
        Columns user, winner, loser; one row per vote.

    See Also
    --------
    llmfao : Real votes about language models.
    rather.Comparisons.from_frame : Read votes.

    Examples
    --------
    >>> import rather
    >>> votes = rather.datasets.film_club()
    >>> votes[:2]
    user    winner           loser
    Ada B.  Parasite         Chinatown
    Ada B.  The Dark Knight  Singin' in the Rain
    >>> rather.Comparisons.from_frame(votes)
    Comparisons: 12,000 comparisons by 400 users over 40 items
    """
    return Table(club().comparisons.to_frame("dict"))


def club(members: int = 400, seed: int = 0) -> World:
    """Return the club's answers and the truth behind them.

    A member's score of a film is its quality plus how far it lies to the member's side of each axis. Each of the
    member's 30 answers follows the Bradley-Terry-Luce model.

    Examples
    --------
    >>> world = club(members=50)
    >>> world.comparisons
    Comparisons: 1,500 comparisons by 50 users over 40 items
    >>> world.comparisons.items[:3].tolist()
    ['Alien', 'Amélie', 'Apocalypse Now']
    """
    names = [f"{first} {letter}." for first in FIRST_NAMES for letter in ascii_uppercase]
    number("members", members, at_least=20, at_most=1000, integer=True)
    number("seed", seed, at_least=0, integer=True)
    rng = np.random.default_rng(seed)
    users = np.array(sorted(rng.choice(names, members, replace=False).tolist()), dtype=object)
    titles = sorted(FILMS)
    films = np.array([FILMS[title] for title in titles])
    of_members = tastes(rng, members)
    _, left, right = draw_pairs(rng, members, len(films), members * ANSWERS)
    pairs = answers(rng, of_members, films, np.repeat(np.arange(members), ANSWERS), left, right)
    source = Votes(members, len(films), pairs)
    votes = Comparisons(users, np.array(titles, dtype=object), source)
    return World(votes, of_members, films, {}, np.zeros(members, bool))


def tastes(rng: np.random.Generator, n: int) -> Float64:
    """Return the tastes of n people, one row each: the weight of quality, then of each axis."""
    return np.column_stack((np.full(n, QUALITY), TASTE * rng.standard_normal((n, len(AXES)))))
