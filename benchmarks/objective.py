"""Time to an objective: the paper's plain problem on MovieLens 1M, N = 100, rank 100, reg 2000, to 8.07e6.

    python benchmarks/objective.py

Primal-CR++ needs about 5.4 seconds a round on two threads of the machine whose yardstick is in common.py, and ten
rounds.
"""

from __future__ import annotations

import time

import numpy as np
from common import AUTHORS_YARDSTICK, ratings, report, yardstick

import rather

TARGET = 8.07e6
PRIMAL_CR = 54.0


def main() -> None:
    train, _ = rather.split_ratings(ratings("ml-1m"), per_user=100, seed=0)
    rows = []
    for start in ("spectral", "uniform"):
        times = []
        for _ in range(5):
            comparisons = rather.Comparisons.from_ratings(train)
            model = rather.AltSVM.plain(
                solver="newton", start=start, reg=2000.0, n_threads=2, max_iter=60, tol=0,
                callback=lambda model, record: record["objective"] <= TARGET,
            )  # fmt: skip
            began = time.perf_counter()
            model.fit(comparisons)
            times.append(time.perf_counter() - began)
        seconds, here = float(np.median(times)), yardstick()
        rows.append(
            {
                "start": start,
                "objective": model.history_[-1]["objective"],
                "rounds": len(model.history_),
                "seconds": seconds,
                "Primal-CR++, scaled by the yardstick / ours": PRIMAL_CR * here / AUTHORS_YARDSTICK / seconds,
            }
        )
    report("objective", rows)


if __name__ == "__main__":
    main()
