"""Where the default regularisation comes from: the best factor on the scale of reg, on held-out *training* data.

    python benchmarks/regularisation.py          # about ten minutes

For every set, a fifth is held out (items of a user, where there are ratings) and models are fitted along a path of
factors; the table has the best one, its pairwise accuracy, and that of the default (1.7).
MovieLens 1M and Letterboxd enter only with the training part of the paper's splits, seed 0.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from common import ratings, report

import rather
from rather.solving import start

FACTORS = (0.5, 0.7, 0.9, 1.1, 1.4, 1.7, 2.1, 2.6, 3.2)


def sets() -> Iterator[tuple[str, rather.Comparisons]]:
    folder = Path(os.environ["RATHER_DATA"])
    for name in ("ml-100k", "ml-latest-small"):
        yield name, rather.Comparisons.from_ratings(ratings(name))
    for part in ("a", "b"):
        yield (
            f"sushi {part}",
            rather.Comparisons.from_rankings(pq.read_table(folder / f"sushi/rankings_{part}.parquet")),
        )
    yield "llmfao", rather.Comparisons.from_frame(pq.read_table(folder / "llmfao/comparisons.parquet"))
    for n_users, n_items, rank, per_user in (
        (300, 200, 3, 60), (2000, 100, 3, 20), (2000, 100, 3, 100), (100, 1000, 3, 300), (5000, 500, 5, 40),
        (5000, 500, 5, 160),
    ):  # fmt: skip
        yield (
            f"simulated {n_users} x {n_items}, {per_user}",
            rather.simulate(n_users, n_items, rank, per_user).comparisons,
        )
    movielens = ratings("ml-1m")
    for n in (20, 50, 100):
        yield f"ml-1m N={n}", rather.Comparisons.from_ratings(rather.split_ratings(movielens, per_user=n, seed=0)[0])
    letterboxd = ratings("letterboxd")
    few = letterboxd.filter(pc.less(letterboxd["user"], 5000))
    yield "letterboxd N=100, 5,000 users", rather.Comparisons.from_ratings(rather.split_ratings(few, 100, seed=0)[0])
    yield "letterboxd, 5,000 users", rather.Comparisons.from_ratings(few)


def main() -> None:
    rows = []
    for name, comparisons in sets():
        train, test = comparisons.hold_out(0.2, seed=0)
        found = []
        for factor in FACTORS:
            start.REG_FACTOR = factor
            found.append(rather.pairwise_accuracy(rather.AltSVM(rank=min(64, train.n_items)).fit(train), test))
        best = int(np.argmax(found))
        rows.append(
            {
                "set": name,
                "users": train.n_users,
                "items": train.n_items,
                "best factor": FACTORS[best],
                "accuracy": found[best],
                "accuracy at 1.7": found[FACTORS.index(1.7)],
            }
        )
        print(name, FACTORS[best], f"{found[best]:.4f}", f"{rows[-1]['accuracy at 1.7']:.4f}", flush=True)
    report("regularisation", rows)


if __name__ == "__main__":
    main()
