"""LCR and Differences beside AltSVM: NDCG@10 on MovieLens 1M, and pairwise accuracy on MovieLens 100K as in Figure 1.

    python benchmarks/local.py

Seeds 0 to 2, default parameters, and LCR with the bandwidth of its paper as well. Nothing is tuned on test data.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from common import peak_megabytes, ratings, report

import rather

PUBLISHED = {("AltSVM", 20): 0.7308, ("AltSVM", 50): 0.7712, ("AltSVM", 100): 0.7902}
PUBLISHED |= {("LCR", 20): 0.7007, ("LCR", 50): 0.7081, ("LCR", 100): 0.7151}
MODELS = {
    "AltSVM": lambda: rather.AltSVM(),
    "Differences": lambda: rather.Differences(),
    "LCR": lambda: rather.LCR(),
    "LCR, bandwidth 0.8": lambda: rather.LCR(bandwidth=0.8),
}


def timed_fit(model: Any, comparisons: rather.Comparisons) -> tuple[Any, float]:
    began = time.perf_counter()
    return model.fit(comparisons), time.perf_counter() - began


def ndcg(seeds: int) -> None:
    frame = ratings("ml-1m")
    rows = []
    for n in (20, 50, 100):
        splits = [rather.split_ratings(frame, per_user=n, seed=seed) for seed in range(seeds)]
        for name, make in MODELS.items():
            found, seconds = [], []
            for train, test in splits:
                model, took = timed_fit(make(), rather.Comparisons.from_ratings(train))
                found.append(rather.ndcg(model, test, k=10))
                seconds.append(took)
            rows.append(
                {
                    "N": n,
                    "model": name,
                    "NDCG@10": float(np.mean(found)),
                    "std": float(np.std(found, ddof=1)),
                    "paper": PUBLISHED.get((name, n), ""),
                    "fit seconds": float(np.median(seconds)),
                }
            )
    report("local-ndcg", rows)


def figure_1(seeds: int) -> None:
    comparisons = rather.Comparisons.from_ratings(ratings("ml-100k"))
    rows = []
    for name in ("AltSVM", "Differences"):
        accuracy, restricted, seconds = [], [], []
        for seed in range(seeds):
            train, test = comparisons.split(test=0.2, seed=seed)
            model, took = timed_fit(MODELS[name](), train)
            accuracy.append(rather.pairwise_accuracy(model, test))
            restricted.append(rather.pairwise_accuracy(model, test, min_gap=2))
            seconds.append(took)
        rows.append(
            {
                "model": name,
                "training pairs": len(train),
                "accuracy": float(np.mean(accuracy)),
                "std": float(np.std(accuracy, ddof=1)),
                "gap of 2 or more": float(np.mean(restricted)),
                "fit seconds": float(np.median(seconds)),
                "peak MB so far": peak_megabytes(),
            }
        )
    report("local-figure-1", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    ndcg(options.seeds)
    figure_1(options.seeds)
