"""Threads: the same bits at any number of them, and what they gain. Simulated ratings, rank 100.

python benchmarks/threads.py [--threads 1 2 4 8 16] [--users 20000]
"""

from __future__ import annotations

import time
from typing import Any

import bench
import numpy as np
import tables
from smoke import sized

import rather


def main() -> None:
    line = bench.parser(__doc__)
    line.add_argument("--threads", type=int, nargs="+", default=[2**k for k in range(10) if 2**k <= tables.cores()])
    line.add_argument("--users", type=int, default=sized(20_000, smoke=100))
    options = line.parse_args()
    comparisons = rather.simulate(options.users, sized(4000, smoke=200), rank=10, per_user=100, levels=5).comparisons
    len(comparisons)
    rows: list[dict[str, Any]] = []
    first: rather.AltSVM | None = None
    for n_threads in options.threads:
        times = []
        for _ in range(3):
            began = time.perf_counter()
            model = rather.AltSVM(rank=100, n_threads=n_threads, max_iter=4, tol=0).fit(comparisons)
            times.append(time.perf_counter() - began)
        first = first or model
        same = np.array_equal(first.U_, model.U_) and np.array_equal(first.V_, model.V_)
        seconds = float(np.median(times))
        rows.append(
            {
                "threads": n_threads,
                "seconds of 4 rounds, start included": seconds,
                "speed-up": rows[0]["seconds of 4 rounds, start included"] / seconds if rows else 1.0,
                "same bits as the first": same,
            }
        )
    bench.report("threads", rows)


if __name__ == "__main__":
    main()
