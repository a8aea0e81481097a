"""MovieLens 1M by the paper's protocol: NDCG@10 over five splits, time to 0.79, and peak memory.

    python benchmarks/movielens.py              # quality, seeds 0 to 4, N = 20, 50, 100, default parameters, rank 100
    python benchmarks/movielens.py --speed      # N = 100: seconds to NDCG@10 0.79, start included, and memory

Nothing is tuned on test data: the parameters are the library's defaults.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

import numpy as np
from common import AUTHORS_SECONDS, AUTHORS_YARDSTICK, peak_megabytes, ratings, report, yardstick

import rather

PAPER = {20: 0.7308, 50: 0.7712, 100: 0.7902}


def quality(seeds: int) -> None:
    frame = ratings("ml-1m")
    rows = []
    for n in PAPER:
        found, seconds = [], []
        for seed in range(seeds):
            train, test = rather.split_ratings(frame, per_user=n, seed=seed)
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
                "std": float(np.std(found, ddof=1)),
                "paper": PAPER[n],
                "fit seconds": float(np.median(seconds)),
            }
        )
    report("movielens-quality", rows)


def speed(target: float, threads: int) -> None:
    """Seconds of fit() until the first round whose NDCG@10 reaches the target, evaluation not counted."""
    train, test = rather.split_ratings(ratings("ml-1m"), per_user=100, seed=0)
    comparisons = rather.Comparisons.from_ratings(train)
    reached: list[float] = []
    for _ in range(7):
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
    seconds, here = float(np.median(reached)), yardstick()
    scaled = AUTHORS_SECONDS * here / AUTHORS_YARDSTICK
    rows = [
        {
            "target": target,
            "threads": threads,
            "rounds": len(rounds),
            "seconds": seconds,
            "yardstick": here,
            "authors' 74 s / ours": AUTHORS_SECONDS / seconds,
            "scaled by yardstick": scaled / seconds,
            "peak MB": float(
                subprocess.run(
                    [sys.executable, __file__, "--memory"], check=True, capture_output=True, text=True
                ).stdout
            ),
        }
    ]
    report("movielens-speed", rows)


def memory() -> None:
    """Peak memory of a process that reads the data, splits, fits and evaluates."""
    train, test = rather.split_ratings(ratings("ml-1m"), per_user=100, seed=0)
    model = rather.AltSVM(rank=100, n_threads=2).fit(rather.Comparisons.from_ratings(train))
    rather.ndcg(model, test, k=10)
    print(peak_megabytes())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--speed", action="store_true", help="time to a target NDCG@10 instead of quality")
    parser.add_argument("--memory", action="store_true", help="print the peak memory of one fit in megabytes")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--target", type=float, default=0.79)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.memory:
        memory()
    elif options.speed:
        speed(options.target, options.threads)
    else:
        quality(options.seeds)
