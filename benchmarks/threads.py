"""Threads: the same bits at any number of them, and what they gain. Simulated ratings, rank 100.

python benchmarks/threads.py [--threads 1 2 4 8 16] [--users 20000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import report

import rather
from rather.native import threads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[2**k for k in range(10) if 2**k <= threads(None)])
    parser.add_argument("--users", type=int, default=20_000)
    options = parser.parse_args()
    comparisons = rather.simulate(options.users, 4000, rank=10, per_user=100, levels=5).comparisons
    len(comparisons)
    rows, first = [], None
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
    report("threads", rows)


if __name__ == "__main__":
    main()
