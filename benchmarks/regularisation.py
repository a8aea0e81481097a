"""Where the default regularisation comes from: the best factor on the scale of reg, on held-out *training* data.

    python benchmarks/regularisation.py          # about ten minutes

For every set, a fifth is held out (items of a user, where there are ratings) and models are fitted along a path of
factors; the table has the best one, its pairwise accuracy, and that of the default (1.7).
MovieLens 1M and Letterboxd enter only with the training part of the paper's splits, seed 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import bench
import numpy as np
import pyarrow.compute as pc
import tables
from smoke import sized

import rather

DEFAULT = 1.7
FACTORS = sized((0.5, 0.7, 0.9, 1.1, 1.4, DEFAULT, 2.1, 2.6, 3.2), smoke=(1.4, DEFAULT))
RANK = sized(64, smoke=4)
WORLDS = sized(
    (
        (300, 200, 3, 60), (2000, 100, 3, 20), (2000, 100, 3, 100), (100, 1000, 3, 300), (5000, 500, 5, 40),
        (5000, 500, 5, 160),
    ),
    smoke=((30, 20, 3, 60),),
)  # fmt: skip


def sets() -> Iterator[tuple[str, rather.Comparisons]]:
    for name in ("ml-100k", "ml-latest-small"):
        yield name, rather.Comparisons.from_ratings(bench.ratings(name))
    for part in ("a", "b"):
        yield (
            f"sushi {part}",
            rather.Comparisons.from_rankings(bench.table("sushi", f"rankings_{part}.parquet")),
        )
    yield "llmfao", rather.Comparisons.from_frame(bench.table("llmfao"))
    for n_users, n_items, rank, per_user in WORLDS:
        yield (
            f"simulated {n_users} x {n_items}, {per_user}",
            rather.simulate(n_users, n_items, rank, per_user).comparisons,
        )
    for n in (20, 50, 100):
        yield f"ml-1m N={n}", rather.Comparisons.from_ratings(tables.rating_split("ml-1m", n, seed=0)[0])
    letterboxd = bench.ratings("letterboxd")
    few = letterboxd.filter(pc.less(letterboxd["user"], 5000))
    yield "letterboxd N=100, 5,000 users", rather.Comparisons.from_ratings(rather.split_ratings(few, 100, seed=0)[0])
    yield "letterboxd, 5,000 users", rather.Comparisons.from_ratings(few)


def main() -> None:
    bench.parser(__doc__).parse_args()
    rows = []
    for name, comparisons in sets():
        train, test = comparisons.hold_out(0.2, seed=0)
        rank = min(RANK, train.n_items)
        scale = rather.AltSVM(rank=rank, max_iter=1).fit(train).reg_ / DEFAULT
        found = []
        for factor in FACTORS:
            found.append(rather.pairwise_accuracy(rather.AltSVM(rank=rank, reg=factor * scale).fit(train), test))
        best = int(np.argmax(found))
        rows.append(
            {
                "set": name,
                "users": train.n_users,
                "items": train.n_items,
                "best factor": FACTORS[best],
                "accuracy": found[best],
                "accuracy at 1.7": found[FACTORS.index(DEFAULT)],
            }
        )
        print(name, FACTORS[best], f"{found[best]:.4f}", f"{rows[-1]['accuracy at 1.7']:.4f}", flush=True)
    bench.report("regularisation", rows)


if __name__ == "__main__":
    main()
