"""The paper's algorithm: updates a second of ``solver="sdca"`` by number of threads, MovieLens 1M, N = 100, rank 100.

    python benchmarks/sdca.py [--threads 1 2 4 8 16]

The authors' program makes 0.8 million updates a second and core on a 2.8 GHz Xeon with AVX-512. What the machine itself
gains from its threads is measured beside: fused multiply-adds in registers.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import ratings, report

import rather
from rather import start
from rather.native import core, threads

AUTHORS_UPDATES = 0.8e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[2**k for k in range(10) if 2**k <= threads(None)])
    parser.add_argument("--updates", type=int, default=4_000_000, help="per half and thread")
    parser.add_argument(
        "--simulate", action="store_true", help="simulated ratings of the same size instead of the data set"
    )
    options = parser.parse_args()
    if options.simulate:
        comparisons = rather.simulate(2711, 3492, rank=10, per_user=100, levels=5).comparisons
    else:
        train, _ = rather.split_ratings(ratings("ml-1m"), per_user=100, seed=0)
        comparisons = rather.Comparisons.from_ratings(train)
    model = rather.AltSVM.plain(reg=2000.0)
    problem = model._problem(comparisons.store, model._scales(comparisons)[0])
    scaled = problem.scales.user_weight
    rows = []
    machine = core.most_flops(options.threads[0])
    for n_threads in options.threads:
        start.uniform(problem, 0)
        user_dual, item_dual = (np.zeros(len(comparisons), np.float32) for _ in range(2))
        rates = []
        for _ in range(5):
            half = []
            for updates in (0, options.updates * n_threads):  # without updates: what rebuilding and the gap cost
                began = time.perf_counter()
                core.sdca_items(
                    problem.store, problem.loss, scaled, problem.q, problem.beta, problem.U, problem.V,
                    item_dual, problem.rank, updates, 1, n_threads,
                )  # fmt: skip
                core.sdca_users(
                    problem.store, problem.loss, scaled, problem.p, problem.V, problem.U, user_dual,
                    problem.rank, updates, 2, n_threads,
                )  # fmt: skip
                half.append(time.perf_counter() - began)
            rates.append(2 * options.updates * n_threads / (half[1] - half[0]))
        rate = float(np.median(rates))
        rows.append(
            {
                "threads": n_threads,
                "million updates a second": rate / 1e6,
                "speed-up": rate / (rows[0]["million updates a second"] * 1e6) if rows else 1.0,
                "speed-up of fused multiply-adds": core.most_flops(n_threads) / machine,
                "over the authors', a core": rate / n_threads / AUTHORS_UPDATES,
            }
        )
    report("sdca", rows)


if __name__ == "__main__":
    main()
