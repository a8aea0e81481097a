"""CofiRank on MovieLens 1M by the paper's protocol: NDCG@10 of its three losses, and seconds.

    python benchmarks/cofirank.py           # seeds 0 to 2, N = 20, 50, 100, default parameters
    python benchmarks/cofirank.py --held    # the same on held-out training data: how the default loss was chosen

Nothing is tuned on test data. With --held, a fifth of every user's training ratings takes the place of the test data.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import ratings, report

import rather

PAPER = {20: 0.7333, 50: 0.7441, 100: 0.7332}  # CofiRank's figures in the paper of AltSVM


def quality(seeds: int, held: bool) -> None:
    frame = ratings("ml-1m")
    rows = []
    for n in PAPER:
        for loss in ("regression", "ordinal", "ndcg"):
            found, seconds = [], []
            for seed in range(seeds):
                train, test = rather.split_ratings(frame, per_user=n, seed=seed)
                if held:
                    train, test = rather.split_ratings(train, per_user=n * 4 // 5, min_test=0, seed=seed)
                comparisons = rather.Comparisons.from_ratings(train)
                began = time.perf_counter()
                model = rather.CofiRank(loss=loss).fit(comparisons)
                seconds.append(time.perf_counter() - began)
                found.append(rather.ndcg(model, test, k=10))
            row = {"N": n, "loss": loss, "NDCG@10": float(np.mean(found)), "std": float(np.std(found, ddof=1))}
            paper = {} if held else {"paper": PAPER[n]}
            rows.append({**row, **paper, "rounds": len(model.history_), "fit seconds": float(np.median(seconds))})
    report("cofirank-held-out" if held else "cofirank", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held", action="store_true", help="judge on held-out training data")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    quality(options.seeds, options.held)
