"""Letterboxd, 19.4 million ratings: read, split at N = 100, fit 180 million induced comparisons, evaluate.

    python benchmarks/letterboxd.py

NDCG@10 is computed on stars (half-stars / 2), so that gains are on the scale of the paper's data sets.
"""

from __future__ import annotations

import time
from typing import Any

import rather
from measuring import bench, tables


def main() -> None:
    bench.parser(__doc__).parse_args()
    rows: list[dict[str, Any]] = []
    began = last = time.perf_counter()

    def lap(step: str, what: str) -> None:
        nonlocal last
        now = time.perf_counter()
        rows.append(
            {"step": step, "seconds": now - last, "total": now - began, "peak MB": bench.peak_megabytes(), "what": what}
        )
        last = now

    frame = tables.ratings("letterboxd")
    lap("read", what=f"{frame.num_rows:,} ratings")
    train, test = rather.split_ratings(frame, per_user=100, seed=0)
    lap("split", what=f"{train.num_rows:,} for training")
    comparisons = rather.Comparisons.from_ratings(train)
    lap("comparisons", what=f"{len(comparisons):,}")
    model = rather.AltSVM(rank=100).fit(comparisons)
    lap("fit", what=f"{len(model.history_)} rounds")
    lap("evaluate", what=f"NDCG@10 {rather.ndcg(model, test, k=10):.4f}")
    bench.report("letterboxd", rows)


if __name__ == "__main__":
    main()
