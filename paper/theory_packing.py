"""Theorem 3.2: on the hard matrices of its proof, nothing beats the rate sqrt(lam (d1 + d2) / m).

    python paper/theory_packing.py      # two minutes

For every m the truth is drawn from the proof's packing set: a block of B x d2 entries +-gamma, B = sqrt(lam m / d2) and
gamma^2 = lam / B, repeated down to d1 rows. Every estimator that learns from pairs is then judged by its excess
logistic risk. To be generous, the right panel multiplies each one's scores by the best number in hindsight, and one
estimator is told which users are copies of each other and what gamma is (the most probable block under a normal prior).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit
from theory_crowd import bradley_terry, renamed
from truth import divergence, lam_of, scores_of

import rather
from measuring import common, experiment
from measuring.smoke import sized
from rather.data.rows import Pairs, by_user
from rather.data.votes import Votes

NAME = "theory_packing"
LAM = 1.0
N_USERS = N_ITEMS = sized(100, smoke=20)
COMPARISONS = sized((1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000), smoke=(300, 1_000))


def hard_truth(n_users: int, n_items: int, m: int, lam: float, rng: np.random.Generator) -> Any:
    """A member of the packing set: users i and i + B have the same scores, all of them +-gamma."""
    height = min(max(int(np.sqrt(lam * m / n_items)), 1), n_users)
    block = rng.choice([-1.0, 1.0], (height, n_items)) * np.sqrt(lam / height)
    return block[np.arange(n_users) % height], height


def answers(truth: Any, m: int, rng: np.random.Generator) -> rather.Comparisons:
    """m comparisons, uniform over users and pairs of items."""
    n_users, n_items = truth.shape
    i, j = rng.integers(0, n_users, m), rng.integers(0, n_items, m)
    k = (j + rng.integers(1, n_items, m)) % n_items
    first = rng.random(m) < expit(truth[i, j] - truth[i, k])
    who, winner, loser = (column.astype(np.int32) for column in (i, np.where(first, j, k), np.where(first, k, j)))
    votes = Votes(n_users, n_items, by_user(Pairs(who, winner, loser)))
    return rather.Comparisons(np.arange(n_users), np.arange(n_items), votes)


def told(comparisons: rather.Comparisons, height: int, lam: float) -> Any:
    """Scores by someone who knows which users are copies, so that B rankings are learned instead of d1, and gamma."""
    pairs = comparisons.pairs()
    merged = by_user(Pairs(pairs.user % np.int32(height), pairs.winner, pairs.loser))
    users = np.arange(height)
    own = renamed(rather.Comparisons(users, comparisons.items, Votes(len(users), comparisons.n_items, merged)))
    block = bradley_terry(height / lam).fit(own).item_bias_.reshape(height, -1)
    return block[np.arange(comparisons.n_users) % height].astype(np.float64)


def methods(lam: float) -> dict[str, Callable[[], Any]]:
    shared: dict[str, Any] = {"n_threads": 1, "loss": "logistic"}
    return {
        "Convex, lam known": lambda: rather.Convex.plain(lam, **shared),
        "Convex": lambda: rather.Convex(**shared),
        "AltSVM": lambda: rather.AltSVM(**shared),
        "SGD": lambda: rather.SGD(rank=32, **shared),
        "BPR": lambda: rather.BPR(rank=32, max_iter=30, n_threads=1),
        "Global": lambda: rather.Global(**shared),
    }


def rescaled(truth: Any, scores: Any) -> float:
    """The excess risk with the scores multiplied by the best number from 0 to 2."""
    found = minimize_scalar(lambda a: divergence(truth, a * scores), bounds=(0, 2), options={"xatol": 0.01})
    return min(float(found.fun), divergence(truth, 0 * scores))


def measure(seed: int) -> Iterator[common.Row]:
    rng = np.random.default_rng(seed)
    for m in COMPARISONS:
        truth, height = hard_truth(N_USERS, N_ITEMS, m, LAM, rng)
        comparisons = answers(truth, m, rng)
        found = {name: scores_of(make().fit(comparisons)) for name, make in methods(lam_of(truth)).items()}
        found["told the copies"] = told(comparisons, height, LAM)
        found["all zero"] = np.zeros_like(truth)
        rate = np.sqrt(LAM * (N_USERS + N_ITEMS) / m)
        for name, scores in found.items():
            excess, least = divergence(truth, scores), rescaled(truth, scores)
            yield {"method": name, "m": m, "block": height, "rate": rate, "excess": excess, "rescaled": least}


def draw(rows: list[common.Row]) -> None:
    figure, panels = common.axes(width=10.4, height=4.4, columns=2)
    names = list(dict.fromkeys(row["method"] for row in rows))
    colours = dict(zip(names, (*common.COLOURS, "#d48fb0", "black"), strict=True))
    for name in names:
        for panel, value in zip(panels, ("excess", "rescaled"), strict=True):
            ratios = [{**row, "ratio": row[value] / row["rate"]} for row in rows]
            got = np.array([common.mean(ratios, "ratio", method=name, m=m) for m in COMPARISONS])
            style = {"color": colours[name], "linestyle": ":" if name == "all zero" else "-", "label": name}
            panel.errorbar(COMPARISONS, got[:, 0], got[:, 1], marker="o", markersize=4, **style)
            print(f"{name:18s} {value:8s} over the rate:", *(f"{ratio:.3f}" for ratio in got[:, 0]))
    panels[0].set(xscale="log", xlabel="comparisons m", ylabel="excess risk / sqrt(lam (d1 + d2) / m)")
    panels[0].set_title("scores as estimated")
    panels[1].set(xscale="log", xlabel="comparisons m", title="scores rescaled in hindsight")
    for panel in panels:
        panel.set_ylim(0, 0.38)
    panels[1].legend(fontsize=9, ncols=2)
    common.save(figure, NAME)


if __name__ == "__main__":
    experiment.main(NAME, __doc__, measure, draw, seeds=3)
