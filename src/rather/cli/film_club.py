"""The demonstration: learn a film club's tastes from its votes and check them against the truth."""

from __future__ import annotations

import time
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..data.simulate import World, answers, draw_pairs
from ..datasets.films import ANSWERS, AXES, TASTE, club, tastes
from ..judging.metrics import pairwise_accuracy
from ..models.altsvm import AltSVM

if TYPE_CHECKING:
    from rich.console import Console

Scores = npt.NDArray[Any]

NEWCOMER = "Noor"
NEWCOMERS = 200  # to average over
HANDFULS = (0, 5, 10, 20)
LISTED = 10


def run(members: int, seed: int) -> dict[str, Any]:
    """Fit the club and check what was learned against the truth; everything the demonstration shows."""
    world = club(members, seed)
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


def _dissenter(world: World, model: AltSVM) -> dict[str, Any]:
    """Return the member whose true list differs most from the shared list."""
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
    theirs = tastes(rng, NEWCOMERS)
    truths = theirs @ world.item_factors.T
    most = max(HANDFULS)
    _, left, right = draw_pairs(rng, NEWCOMERS, len(model.items_), NEWCOMERS * most)
    pairs = answers(rng, theirs, world.item_factors, np.repeat(np.arange(NEWCOMERS), most), left, right)
    said = list(zip(model.items_[pairs.winner].tolist(), model.items_[pairs.loser].tolist(), strict=True))
    each = [said[n * most : (n + 1) * most] for n in range(NEWCOMERS)]
    progress = []
    for n_answers in HANDFULS:
        people = [model.fold_in(own[:n_answers]) for own in each]
        hits = [hit_rate(truth, p.score(model.items_)) for truth, p in zip(truths, people, strict=True)]
        progress.append({"answers": n_answers, "accuracy": hits[0], "average": float(np.mean(hits))})
    return {
        "name": NEWCOMER,
        "taste": taste_in_words(theirs[0]),
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
    """Return the ends of the axes to which a taste vector clearly leans, the strongest first.

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
