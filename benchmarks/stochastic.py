"""The stochastic methods: SGD, RobiRank and BPR against the paper's figures and against implicit.

    python benchmarks/stochastic.py sgd         # NDCG@10 on MovieLens 1M by the paper's protocol, rank 100
    python benchmarks/stochastic.py clicks      # precision@k on binarised MovieLens 1M, rank 100
    python benchmarks/stochastic.py pairs       # accuracy on held-out pairs of MovieLens 100K: the paper's Figure 1
    python benchmarks/stochastic.py speed       # updates a second beside implicit's BPR, on the same threads

Nothing is tuned on test data: the parameters are the defaults.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import ratings, report

import rather
from rather.native import threads

NDCG = {20: 0.6852, 50: 0.7666, 100: 0.7728}  # the paper's SGD
TOPS = (1, 2, 5, 10, 100)
PRECISION = {
    "RobiRank": (0.3009, 0.2695, 0.2300, 0.1922, 0.0781),
    "SGD": (0.1556, 0.1498, 0.1236, 0.1031, 0.0441),
}


def sgd(seeds: int) -> None:
    frame, rows = ratings("ml-1m"), []
    for n, paper in NDCG.items():
        found, seconds = [], []
        for seed in range(seeds):
            train, test = rather.split_ratings(frame, per_user=n, seed=seed)
            model, took = fit(rather.SGD(rank=100, seed=seed), rather.Comparisons.from_ratings(train))
            found.append(rather.ndcg(model, test, k=10))
            seconds.append(took)
        rows.append(
            {"N": n, "NDCG@10": np.mean(found).item(), "std": np.std(found, ddof=1).item(), "paper": paper,
             "fit seconds": np.median(seconds).item()}
        )  # fmt: skip
    report("stochastic-sgd", rows)


def clicks(seeds: int) -> None:
    """All (user, item) of MovieLens 1M, a tenth of each user's held out; what is in training is not recommended."""
    methods: dict[str, Any] = {
        "RobiRank": lambda seed: rather.RobiRank(rank=100, seed=seed),
        "BPR": lambda seed: rather.BPR(rank=100, seed=seed),
        "SGD": lambda seed: rather.SGD(rank=100, seed=seed),
        "implicit's BPR": None,
    }
    frame, found = ratings("ml-1m").select(["user", "item"]), {}
    for seed in range(seeds):
        train, test = rather.split_clicks(frame, test=0.1, seed=seed)
        for name, make in methods.items():
            comparisons = rather.Comparisons.from_clicks(train, per_user=5000 if name == "SGD" else 1, seed=seed)
            model, took = implicit_bpr(comparisons, seed) if make is None else fit(make(seed), comparisons)
            scores = [rather.precision(model, test, k=k, exclude=train) for k in TOPS]
            found.setdefault(name, []).append([*scores, took])
            print(seed, name, *(f"{s:.4f}" for s in scores), f"{took:.1f} s", flush=True)
    rows = []
    for name, values in found.items():
        mean = np.mean(values, axis=0).tolist()
        rows.append({"method": name, **dict(zip([*map(str, TOPS), "fit seconds"], mean, strict=True))})
        if name in PRECISION:
            printed = dict(zip(map(str, TOPS), PRECISION[name], strict=True))
            rows.append({"method": f"{name}, paper", **printed, "fit seconds": ""})
    report("stochastic-clicks", rows)


def pairs(seeds: int) -> None:
    whole, rows = rather.Comparisons.from_ratings(ratings("ml-100k")), []
    for name, make in {"BPR": rather.BPR, "SGD": rather.SGD, "AltSVM": rather.AltSVM}.items():
        found, far = [], []
        for seed in range(seeds):
            train, test = whole.split(test=0.2, seed=seed)
            model, _ = fit(make(rank=64, seed=seed), train)
            found.append(rather.pairwise_accuracy(model, test))
            far.append(rather.pairwise_accuracy(model, test, min_gap=2))
        rows.append({"method": name, "accuracy": np.mean(found).item(), "gap of 2 or more": np.mean(far).item()})
    report("stochastic-pairs", rows)


def speed(repeats: int) -> None:
    """Each rate is of the difference between a long and a short fit; the three take turns, so that load is shared."""
    train, _ = rather.split_clicks(ratings("ml-1m").select(["user", "item"]), test=0.1, seed=0)
    clicked = rather.Comparisons.from_clicks(train, per_user=1)
    compared = rather.Comparisons.from_clicks(train, per_user=500)
    n_clicks, n_pairs, rows = len(clicked.clicks.user), len(compared), []
    for n_threads in sorted({1, threads(None)}):
        runs: dict[str, tuple[int, Callable[[int], Any]]] = {
            "BPR": (n_clicks, lambda r, n=n_threads: fit(rather.BPR(rank=100, max_iter=r, n_threads=n), clicked)),
            "SGD": (
                n_pairs,
                lambda r, n=n_threads: fit(rather.SGD(rank=100, max_iter=r, n_threads=n, tol=0), compared),
            ),
            "implicit's BPR": (n_clicks, lambda r, n=n_threads: implicit_bpr(clicked, 0, iterations=r, n_threads=n)),
        }
        rates: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(repeats):
            for name, (updates, run) in runs.items():
                rates[name].append(4 * updates / (run(5)[1] - run(1)[1]) / 1e6)
        base = np.median(rates["implicit's BPR"])
        for name in runs:
            rate = np.median(rates[name])
            rows.append(
                {"method": name, "threads": n_threads, "million updates a second": rate.item(),
                 "over implicit's": (rate / base).item()}
            )  # fmt: skip
    report("stochastic-speed", rows)


def fit(model: Any, comparisons: rather.Comparisons) -> tuple[Any, float]:
    _ = comparisons.store
    began = time.perf_counter()
    model.fit(comparisons)
    return model, time.perf_counter() - began


def implicit_bpr(
    comparisons: rather.Comparisons, seed: int, iterations: int = 100, n_threads: int | None = None
) -> tuple[Any, float]:
    """implicit's BPR on the same clicks with its own defaults, as a model that can be judged like ours."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as implicit asks
    import scipy.sparse
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    from rather.models.factors import with_bias

    c = comparisons.clicks
    assert c is not None
    ones = np.ones(len(c.user), np.float32)
    matrix = scipy.sparse.csr_matrix((ones, (c.user, c.item)), shape=(comparisons.n_users, comparisons.n_items))
    theirs = BayesianPersonalizedRanking(
        factors=100, iterations=iterations, num_threads=threads(n_threads), random_state=seed
    )
    began = time.perf_counter()
    theirs.fit(matrix, show_progress=False)
    took = time.perf_counter() - began
    model = rather.BPR(rank=100)
    model._set_data(comparisons)
    V = theirs.item_factors
    model._set_factors(*with_bias(theirs.user_factors[:, :100], V[:, :100], V[:, 100]), 100)
    return model, took


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"sgd": sgd, "clicks": clicks, "pairs": pairs, "speed": speed}
    parser.add_argument("part", choices=parts, nargs="+")
    parser.add_argument("--seeds", type=int, default=3, help="splits, or repetitions of the speed test")
    options = parser.parse_args()
    for part in options.part:
        parts[part](options.seeds)
