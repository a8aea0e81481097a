"""Theorem 3.1: the excess risk of the convex program falls with m / (r (d1 + d2)), whatever the rank and the size.

    python paper/theory_rate.py     # two minutes

The loss is the hinge, which is 1-Lipschitz as the theorem wants. The truth has rank r and entries of mean square 1;
lam is the truth's |X|_*^2 / (d1 d2), about r; comparisons are drawn uniformly over users and pairs of items. The best
matrix of the ball is found by the same program on all pairs, each way weighted by its probability; ``floor`` is what
its certificate leaves open. Of every rank and size there is one truth; the seeds draw the answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import collapse
from truth import every_pair, lam_of, risk, scores_of

import rather
from measuring import common, experiment
from measuring.smoke import sized

NAME = "theory_rate"
RANKS = sized((1, 2, 4, 8), smoke=(1,))
SIZES = sized(((40, 40), (80, 80), (40, 120), (120, 40)), smoke=((8, 8), (12, 12), (8, 16), (16, 8)))
PER_PARAMETER = sized((4, 8, 16, 32, 64, 128), smoke=(8, 16, 64))
LOSS = "hinge"


def program(lam: float, tol: float, max_iter: int) -> rather.Convex:
    return rather.Convex.plain(lam=lam, loss=LOSS, max_iter=max_iter, tol=tol, n_threads=1)


@cache
def world_of(rank: int, n_users: int, n_items: int) -> tuple[rather.World, float, float, float]:
    """A world, the lam of its truth, the least risk in the ball of that lam, and what is open about it."""
    world = rather.simulate(n_users, n_items, rank, per_user=1, noise=1.0, seed=0)
    lam = lam_of(world.scores)
    best = program(lam, tol=1e-3, max_iter=100).fit(every_pair(world))
    least = risk(world.scores, scores_of(best), LOSS)
    return world, lam, least, least * best.certificate().relative_gap


def measure(seed: int, rank: int, n_users: int, n_items: int) -> Iterator[common.Row]:
    world, lam, least, floor = world_of(rank, n_users, n_items)
    for per_parameter in PER_PARAMETER:
        m = per_parameter * rank * (n_users + n_items)
        model = program(lam, tol=2e-3, max_iter=400).fit(world.test(m, seed=1 + seed))
        excess = risk(world.scores, scores_of(model), LOSS) - least
        proof = {"gap": model.certificate().relative_gap, "floor": floor}
        yield {"lam": lam, "m": m, "per_parameter": per_parameter, "excess": excess, **proof}


def draw(rows: list[common.Row]) -> None:
    collapse.draw(rows, NAME, "excess", "excess hinge risk", 8)


if __name__ == "__main__":
    experiment.main(NAME, __doc__, measure, draw, seeds=3, places=collapse.places(RANKS, SIZES))
