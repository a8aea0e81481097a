"""Corollary 3.2: maximum likelihood in the ball comes close to the true probabilities, as fast in all ranks and sizes.

    python paper/theory_kl.py       # four minutes

The loss is the logistic one, so that ``Convex.plain`` is the maximum-likelihood estimate in the ball; as the truth is
in it, the excess risk is exactly the mean Kullback-Leibler divergence KL(P_X* || P_X) of a pair. The truth has
rank r and entries of mean square 1; lam is the truth's |X|_*^2 / (d1 d2); comparisons are drawn uniformly over users
and pairs of items; every seed is another truth.
"""

from __future__ import annotations

from collections.abc import Iterator

import collapse
from truth import divergence, lam_of, scores_of

import rather
from measuring import common, experiment
from measuring.smoke import sized

NAME = "theory_kl"
RANKS = sized((1, 2, 4, 8), smoke=(1,))
SIZES = sized(((100, 100), (200, 200), (100, 400), (400, 100)), smoke=((8, 8), (12, 12), (8, 16), (16, 8)))
PER_PARAMETER = sized((2, 4, 8, 16, 32, 64, 128), smoke=(8, 16, 64))


def measure(seed: int, rank: int, n_users: int, n_items: int) -> Iterator[common.Row]:
    world = rather.simulate(n_users, n_items, rank, per_user=1, noise=1.0, seed=seed)
    lam = lam_of(world.scores)
    for per_parameter in PER_PARAMETER:
        m = per_parameter * rank * (n_users + n_items)
        model = rather.Convex.plain(lam=lam, loss="logistic", n_threads=1).fit(world.test(m, seed=1 + seed))
        yield {
            "lam": lam, "m": m, "per_parameter": per_parameter,
            "divergence": divergence(world.scores, scores_of(model)), "gap": model.certificate().relative_gap,
        }  # fmt: skip


def draw(rows: list[common.Row]) -> None:
    collapse.draw(rows, NAME, "divergence", "mean KL divergence", 8)


if __name__ == "__main__":
    experiment.main(NAME, __doc__, measure, draw, seeds=3, places=collapse.places(RANKS, SIZES))
