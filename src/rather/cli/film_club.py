"""The demonstration's world: a film club whose members' tastes are known, so that what was learned can be checked.

The films are real; where they lie on the axes, the members and their answers are made up.
"""

from __future__ import annotations

import time
from itertools import combinations
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..data.comparisons import Comparisons
from ..data.simulate import World, answers, draw_pairs
from ..data.votes import Votes
from ..errors import number
from ..judging.metrics import pairwise_accuracy
from ..models.altsvm import AltSVM

if TYPE_CHECKING:
    from rich.console import Console

Scores = npt.NDArray[Any]

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
NEWCOMER = "Noor"

QUALITY = 3.5  # how much everybody weighs a film's quality, and
TASTE = 1.8  # how much, typically, each axis: both against the noise of an answer, whose logistic scale is 1
ANSWERS = 30  # of each member
NEWCOMERS = 200  # to average over
HANDFULS = (0, 5, 10, 20)
LISTED = 10


def film_club(members: int = 400, seed: int = 0) -> World:
    """The club's answers and the truth behind them.

    A member's score of a film is its quality plus how far it lies to the member's side of each axis; each of the
    member's 30 answers follows the Bradley-Terry-Luce model.

    Examples
    --------
    >>> world = film_club(members=50)
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
    tastes = _tastes(rng, members)
    _, left, right = draw_pairs(rng, members, len(films), members * ANSWERS)
    pairs = answers(rng, tastes, films, np.repeat(np.arange(members), ANSWERS), left, right)
    source = Votes(members, len(films), pairs)
    votes = Comparisons(users, np.array(titles, dtype=object), source)
    return World(votes, tastes, films, {}, np.zeros(members, bool))


def run(members: int, seed: int) -> dict[str, Any]:
    """Fit the club and check what was learned against the truth; everything the demonstration shows."""
    world = film_club(members, seed)
    began = time.perf_counter()
    model = AltSVM(seed=seed).fit(world.comparisons)
    seconds = time.perf_counter() - began
    test = world.test(100_000, seed=seed + 1)
    pairs = test.pairs()
    accuracy = {
        "guess": 0.5,
        "global": float(np.mean(model.item_bias_[pairs.winner] > model.item_bias_[pairs.loser])),
        "personal": pairwise_accuracy(model, test),
        "best": world.best_accuracy,
    }
    return {
        "members": members,
        "films": len(model.items_),
        "answers_each": ANSWERS,
        "seconds": seconds,
        "accuracy": accuracy,
        "attained": {name: (accuracy[name] - 0.5) / (accuracy["best"] - 0.5) for name in ("global", "personal")},
        "member": _dissenter(world, model),
        "newcomer": _newcomer(world, model, seed),
    }


def _tastes(rng: np.random.Generator, n: int) -> Scores:
    return np.column_stack((np.full(n, QUALITY), TASTE * rng.standard_normal((n, len(AXES)))))


def _dissenter(world: World, model: AltSVM) -> dict[str, Any]:
    """The member whose true list the club's one list gets most wrong."""
    club = model.item_bias_
    hits = [hit_rate(truth, club) for truth in world.scores]
    i = int(np.argmin(hits))
    truth = world.scores[i]
    learned = model.rank(model.users_[i])["item"].tolist()
    return {
        "name": model.users_[i],
        "taste": taste_in_words(world.user_factors[i]),
        "accuracy": {
            "global": hits[i],
            "personal": hit_rate(truth, model.score(model.users_[i], model.items_)),
            "best": hit_rate(truth, truth),
        },
        "global_list": model.items_[np.argsort(-club, kind="stable")].tolist(),
        "personal_list": learned,
        "true_list": model.items_[np.argsort(-truth, kind="stable")].tolist(),
    }


def _newcomer(world: World, model: AltSVM, seed: int) -> dict[str, Any]:
    """Newcomers with tastes of their own who answer random questions; the first of them by name."""
    rng = np.random.default_rng([seed, NEWCOMERS])
    tastes = _tastes(rng, NEWCOMERS)
    truths = tastes @ world.item_factors.T
    most = max(HANDFULS)
    _, left, right = draw_pairs(rng, NEWCOMERS, len(model.items_), NEWCOMERS * most)
    pairs = answers(rng, tastes, world.item_factors, np.repeat(np.arange(NEWCOMERS), most), left, right)
    said = list(zip(model.items_[pairs.winner].tolist(), model.items_[pairs.loser].tolist(), strict=True))
    each = [said[n * most : (n + 1) * most] for n in range(NEWCOMERS)]
    progress = []
    for n_answers in HANDFULS:
        people = [model.fold_in(own[:n_answers]) for own in each]
        hits = [hit_rate(truth, p.score(model.items_)) for truth, p in zip(truths, people, strict=True)]
        progress.append({"answers": n_answers, "accuracy": hits[0], "average": float(np.mean(hits))})
    return {
        "name": NEWCOMER,
        "taste": taste_in_words(tastes[0]),
        "answers": [list(answer) for answer in each[0]],
        "progress": progress,
        "best": {
            "accuracy": hit_rate(truths[0], truths[0]),
            "average": float(np.mean([hit_rate(truth, truth) for truth in truths])),
        },
        "personal_list": people[0].rank()["item"].tolist(),
        "true_list": model.items_[np.argsort(-truths[0], kind="stable")].tolist(),
    }


def hit_rate(truth: Scores, scores: Scores) -> float:
    """The expected share of someone's fresh answers that scores predict, given the someone's true scores.

    Examples
    --------
    >>> hit_rate(np.array([0.0, np.log(3.0)]), np.array([1.0, 2.0]))
    0.75
    """
    j, k = np.array(list(combinations(range(len(truth)), 2))).T
    prefers_j = 1 / (1 + np.exp(truth[k] - truth[j]))
    return float(np.mean(np.where(scores[j] > scores[k], prefers_j, 1 - prefers_j)))


def taste_in_words(taste: Scores) -> str:
    """Which ends of the axes a taste vector clearly leans to, the strongest leaning first.

    Examples
    --------
    >>> taste_in_words(np.array([3.5, 1.2, -3.0, 0.1]))
    'light, loud films'
    >>> taste_in_words(np.array([3.5, 0.2, -0.3, 0.1]))
    'good films of any kind'
    """
    leanings = taste[1:]
    strongest = np.argsort(-np.abs(leanings), kind="stable").tolist()
    words = [AXES[axis][int(leanings[axis] > 0)] for axis in strongest if abs(leanings[axis]) > TASTE / 2]
    return f"{', '.join(words)} films" if words else "good films of any kind"


def show(document: dict[str, Any], console: Console) -> None:
    """Tell the story of a run to a person."""
    _show_club(document, console)
    _show_member(document["member"], console)
    _show_newcomer(document["newcomer"], console)
    console.print("What to do next", style="bold")
    for command, why in (
        ("rather fit votes.csv --out model.rather", "your votes (user, winner, loser)"),
        ("rather recommend model.rather USER", "what to show to whom"),
        ("rather simulate --out votes.csv", "no votes yet? try these"),
    ):
        console.print(f"  {command:<41}{why}")


def _show_club(document: dict[str, Any], console: Console) -> None:
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    accuracy, films = document["accuracy"], document["films"]
    console.print(
        f"\nA film club: {document['members']} members, {films} films, {films * (films - 1) // 2} pairs of films.\n"
        f"Each member was asked {document['answers_each']} times which of two they would rather see.\n"
        "What will they answer next?\n"
    )
    console.print("Fresh answers predicted rightly", style="bold")
    table = Table.grid(padding=(0, 2))
    for name, label, comment in (
        ("guess", "tossing a coin", ""),
        ("global", "one ranking for all", "what the club likes on the whole"),
        ("personal", "personal rankings", "learned from everybody's answers"),
        ("best", "knowing the truth", "the limit: answers are part chance"),
    ):
        colour = "green" if name == "personal" else "cyan"
        share = (accuracy[name] - 0.5) / (accuracy["best"] - 0.5)
        bar = ProgressBar(total=1, completed=share, width=16, complete_style=colour, finished_style=colour)
        table.add_row(label, f"{accuracy[name]:.1%}", bar, comment, style="bold" if name == "personal" else "")
    console.print(table)
    console.print(
        f"\nPersonal rankings go {document['attained']['personal']:.0%} of the way from a coin to the truth;\n"
        f"one ranking for all, {document['attained']['global']:.0%}. Fitted in {document['seconds']:.2f} seconds.\n"
    )


def _show_member(member: dict[str, Any], console: Console) -> None:
    from rich.table import Table

    name, accuracy = member["name"], member["accuracy"]
    console.print(f"{name} agrees with the club least", style="bold", end="")
    console.print(f" (in truth likes {member['taste']})\n")
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("", justify="right", style="dim")
    for heading in ("the club's list", f"{name}'s, as learned", f"{name}'s, the truth"):
        table.add_column(heading)
    top = set(member["true_list"][:LISTED])
    lists = zip(*(member[which][:LISTED] for which in ("global_list", "personal_list", "true_list")), strict=True)
    for place, row in enumerate(lists, 1):
        table.add_row(str(place), *(_marked(title, top) for title in row[:2]), row[2])
    table.add_row()
    table.add_row("", *(f"predicts {accuracy[which]:.0%}" for which in ("global", "personal", "best")))
    console.print(table)
    console.print(f"* is among {name}'s true top {LISTED}\n", style="dim")


def _show_newcomer(newcomer: dict[str, Any], console: Console) -> None:
    from rich.table import Table

    name, few = newcomer["name"], HANDFULS[1]
    console.print(f"{name} has just joined", style="bold", end="")
    console.print(f" (in truth likes {newcomer['taste']}). The first {few} answers:\n")
    for winner, loser in newcomer["answers"][:few]:
        console.print(f"  {winner} rather than {loser}")
    table = Table(box=None, padding=(0, 3, 0, 0))
    for heading in ("known", f"{name} predicted", f"mean of {NEWCOMERS} newcomers"):
        table.add_column(heading, justify="right")
    for step in newcomer["progress"]:
        table.add_row(f"{step['answers']} answers", f"{step['accuracy']:.0%}", f"{step['average']:.0%}")
    table.add_row("the truth", f"{newcomer['best']['accuracy']:.0%}", f"{newcomer['best']['average']:.0%}")
    console.print()
    console.print(table)
    top = set(newcomer["true_list"][:LISTED])
    titles = ", ".join(str(_marked(title, top)) for title in newcomer["personal_list"][:4])
    console.print(f"\nNothing was fitted again for that. {name} might like (* truly does):\n  {titles}\n")


def _marked(title: str, top: set[str]) -> Any:
    from rich.text import Text

    return Text(f"{title} *", style="green") if title in top else Text(title)
