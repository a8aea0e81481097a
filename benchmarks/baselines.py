"""One ranking for everybody on MovieLens 1M, by the paper's protocol, beside what the paper reports for it.

    python benchmarks/baselines.py [--seeds 3]

The other methods have scripts of their own: local.py (LCR, Differences), cofirank.py, stochastic.py.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import ratings, report

import rather

PAPER = {20: 0.7500, 50: 0.7501, 100: 0.7482}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    frame, rows = ratings("ml-1m"), []
    for n, paper in PAPER.items():
        for loss in ("squared_hinge", "logistic"):
            found, seconds = [], []
            for seed in range(seeds):
                train, test = rather.split_ratings(frame, per_user=n, seed=seed)
                comparisons = rather.Comparisons.from_ratings(train)
                began = time.perf_counter()
                model = rather.Global(loss=loss).fit(comparisons)
                seconds.append(time.perf_counter() - began)
                found.append(rather.ndcg(model, test, k=10))
            rows.append({"N": n, "loss": loss, "NDCG@10": float(np.mean(found)), "std": float(np.std(found)),
                         "paper": paper, "fit seconds": float(np.median(seconds))})  # fmt: skip
    report("baselines-global", rows)


if __name__ == "__main__":
    main()
