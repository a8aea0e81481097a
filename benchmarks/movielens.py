"""MovieLens 1M by the paper's protocol: NDCG@10 over five splits, time to 0.79, and peak memory.

    python benchmarks/movielens.py              # quality, seeds 0 to 4, N = 20, 50, 100, default parameters, rank 100
    python benchmarks/movielens.py --speed      # N = 100: seconds to NDCG@10 0.79, start included, and memory

Nothing is tuned on test data: the parameters are the library's defaults. The authors' time is external: it was not
measured here.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import numpy as np

import rather
from measuring import bench, tables
from measuring.smoke import sized

PAPER = {20: 0.7308, 50: 0.7712, 100: 0.7902}


def quality(seeds: int) -> None:
    rows: list[dict[str, Any]] = []
    for n in PAPER:
        found, seconds = [], []
        for seed in range(seeds):
            train, test = tables.rating_split("ml-1m", n, seed)
            comparisons = rather.Comparisons.from_ratings(train)
            began = time.perf_counter()
            model = rather.AltSVM(rank=100).fit(comparisons)
            seconds.append(time.perf_counter() - began)
            found.append(rather.ndcg(model, test, k=10))
        rows.append(
            {
                "N": n,
                "users": comparisons.n_users,
                "comparisons": len(comparisons),
                "NDCG@10": float(np.mean(found)),
                "std": float(np.std(found, ddof=1)) if seeds > 1 else 0.0,
                "paper": PAPER[n],
                "fit seconds": float(np.median(seconds)),
            }
        )
    bench.report("movielens-quality", rows)


def speed(target: float, threads: int) -> None:
    """Seconds of fit() until the first round whose NDCG@10 reaches the target, evaluation not counted."""
    train, test = tables.rating_split("ml-1m", 100, seed=0)
    comparisons = rather.Comparisons.from_ratings(train)
    reached: list[float] = []
    for _ in range(sized(7, smoke=1)):
        rounds: list[float] = []

        def judge(model: rather.AltSVM, record: dict[str, float], rounds: list[float] = rounds) -> bool:
            rounds.append(rather.ndcg(model, test, k=10))
            return rounds[-1] >= target

        rather.AltSVM(rank=100, n_threads=threads, callback=judge).fit(comparisons)
        fresh = rather.Comparisons.from_ratings(train)  # the time includes building the store
        began = time.perf_counter()
        model = rather.AltSVM(rank=100, n_threads=threads, max_iter=len(rounds), tol=0).fit(fresh)
        reached.append(time.perf_counter() - began)
        assert rather.ndcg(model, test, k=10) >= target
    here = bench.yardstick()
    command = [sys.executable, __file__, "--memory"]
    held = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    ours = {"who": "ours", "target": target, "threads": threads, "rounds": len(rounds)}
    measured = {"seconds": float(np.median(reached)), "peak MB": held, "yardstick": here}
    bench.report("movielens-speed", [ours | measured, bench.AUTHORS.row(here)])


def memory() -> None:
    """Peak memory of a process that reads the data, splits, fits and evaluates."""
    train, test = tables.rating_split("ml-1m", 100, seed=0)
    model = rather.AltSVM(rank=100, n_threads=2).fit(rather.Comparisons.from_ratings(train))
    rather.ndcg(model, test, k=10)
    print(bench.peak_megabytes())


if __name__ == "__main__":
    line = bench.parser(__doc__)
    line.add_argument("--speed", action="store_true", help="time to a target NDCG@10 instead of quality")
    line.add_argument("--memory", action="store_true", help="print the peak memory of one fit in megabytes")
    line.add_argument("--seeds", type=int, default=sized(5, smoke=1))
    line.add_argument("--target", type=float, default=sized(0.79, smoke=0.1))
    line.add_argument("--threads", type=int, default=2)
    options = line.parse_args()
    if options.memory:
        memory()
    elif options.speed:
        speed(options.target, options.threads)
    else:
        quality(options.seeds)
