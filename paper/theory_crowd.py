"""The central claim: the larger the crowd, the fewer comparisons each user needs, down to about a multiple of the rank.

    python paper/theory_crowd.py        # five minutes

Comparisons per user until fresh answers are predicted with 0.9 of the attainable accuracy above chance, in crowds of 10
to 3,000 users over 100 items with tastes of rank 3: by AltSVM, whose default chooses its ridge, by the paper's
convex program with the truth's lam (logistic loss), and by every user alone, a Bradley-Terry model each whose ridge is
the best of a few on a held-out fifth of the training comparisons. Comparisons are increased by factors of sqrt(2) and
interpolated in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from truth import lam_of, scores_of, share

import rather
from measuring import common, experiment
from measuring.smoke import sized
from rather.data.rows import Pairs
from rather.data.votes import Votes

NAME = "theory_crowd"
TARGET = sized(0.9, smoke=0.6)
N_ITEMS, RANK = sized(100, smoke=20), sized(3, smoke=1)
CROWDS = sized((10, 30, 100, 300, 1000, 3000), smoke=(10, 30))
CONVEX_CROWDS = sized((10, 30, 100, 300, 1000), smoke=(10, 30))
LONERS = sized(30, smoke=10)
RIDGES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
STEP = 2**0.5

Method = Callable[[rather.World], Any]


def crowd(world: rather.World) -> Any:
    return scores_of(rather.AltSVM(n_threads=1).fit(world.comparisons))


def convex(world: rather.World) -> Any:
    return scores_of(
        rather.Convex.plain(lam_of(world.scores), loss="logistic", n_threads=1, tol=3e-3).fit(world.comparisons)
    )


def alone(world: rather.World) -> Any:
    """Everyone's own Bradley-Terry scores, in one fit: an item that two users compared is two items here."""
    own = renamed(world.comparisons)
    train, held = own.split(test=0.2, seed=0)
    fits = {ridge: bradley_terry(ridge).fit(train) for ridge in RIDGES}
    best = max(RIDGES, key=lambda ridge: rather.pairwise_accuracy(fits[ridge], held))
    return bradley_terry(best).fit(own).item_bias_.reshape(world.scores.shape)


def bradley_terry(ridge: float) -> rather.Global:
    return rather.Global(reg=ridge, loss="logistic", item_power=0.0, n_threads=1)


def renamed(comparisons: rather.Comparisons) -> rather.Comparisons:
    """The same comparisons of items (user, item), all by one user."""
    pairs, n = comparisons.pairs(), comparisons.n_items
    winner, loser = (pairs.user * n + side for side in (pairs.winner, pairs.loser))
    votes = Votes(1, comparisons.n_users * n, Pairs(np.zeros_like(winner), winner, loser))
    return rather.Comparisons(np.arange(1), np.arange(comparisons.n_users * n), votes)


def needed(method: Method, n_users: int, first: float, seed: int) -> float:
    """Comparisons per user at which a method reaches the target, from a first guess up or down."""

    def reached(power: int) -> float:
        world = rather.simulate(n_users, N_ITEMS, RANK, per_user=round(first * STEP**power), seed=seed)
        return float(share(world.scores, method(world)))

    power, low = 0, reached(0)
    while low >= TARGET:
        power, low = power - 1, reached(power - 1)
    while (high := reached(power + 1)) < TARGET:
        power, low = power + 1, high
    return float(first * STEP ** (power + (TARGET - low) / (high - low)))


def measure(seed: int) -> Iterator[common.Row]:
    guess = {n: 10 * RANK * (1 + N_ITEMS / n) for n in CROWDS}
    crowds = [("AltSVM", crowd, CROWDS), ("Convex", convex, CONVEX_CROWDS)]
    for name, method, sizes in [*crowds, ("alone", alone, (LONERS,))]:
        for n_users in sizes:
            yield {"method": name, "n_users": n_users, "per_user": needed(method, n_users, guess[n_users], seed)}


def draw(rows: list[common.Row]) -> None:
    figure, panel = common.axes()
    labels = {"AltSVM": "together: AltSVM", "Convex": "together: the convex program, lam known"}
    for (name, label), colour in zip(labels.items(), common.COLOURS, strict=False):
        at = sorted({row["n_users"] for row in rows if row["method"] == name})
        got = np.array([common.mean(rows, "per_user", method=name, n_users=n) for n in at])
        panel.errorbar(at, got[:, 0], got[:, 1], color=colour, marker="o", label=label)
        print(name, *(f"{n}: {a:.0f} ± {b:.0f}" for n, (a, b) in zip(at, got, strict=True)), sep="  ")
    own, error = common.mean(rows, "per_user", method="alone")
    panel.axhline(own, color=common.COLOURS[3], label="every user alone: Bradley-Terry")
    panel.axhspan(own - error, own + error, color=common.COLOURS[3], alpha=0.2, linewidth=0)
    users = np.geomspace(CROWDS[0], CROWDS[-1])
    for name in labels:
        constant, off = fitted(rows, name)
        print(f"{name}: c = {constant:.1f} of c r (1 + items / users), typically {off:.2f}-fold off it")
    constant, _ = fitted(rows, "AltSVM")
    label = f"{constant:.1f} r (1 + items / users)"
    panel.plot(users, constant * RANK * (1 + N_ITEMS / users), ":", color="black", label=label)
    panel.set(xscale="log", yscale="log", xlabel="users", ylabel=f"comparisons per user for {TARGET} of the attainable")
    panel.legend(fontsize=9)
    print(f"alone {own:.0f} ± {error:.0f}")
    common.save(figure, NAME)


def fitted(rows: list[common.Row], method: str) -> tuple[float, float]:
    """c of c r (1 + items / users), by least squares in logarithms, and the typical factor off it."""
    mine = [row for row in rows if row["method"] == method]
    logs = [np.log(row["per_user"] / (RANK * (1 + N_ITEMS / row["n_users"]))) for row in mine]
    return float(np.exp(np.mean(logs))), float(np.exp(np.std(logs)))


if __name__ == "__main__":
    experiment.main(NAME, __doc__, measure, draw, seeds=10)
