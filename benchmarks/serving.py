"""Serving and start-up: recommendations for everybody against implicit's, newcomers, loading, importing.

    python benchmarks/serving.py

implicit is measured beside where it is installed, on the same factors.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as implicit asks for; before numpy is loaded

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import rather
from measuring import bench, others, tables
from measuring.smoke import sized


def command_seconds(*command: str) -> float:
    return bench.median_seconds(lambda: subprocess.run(command, check=True, capture_output=True), sized(9, smoke=1))


def implicit_seconds(model: rather.AltSVM) -> tuple[float, float, float]:
    """Its time for the same lists, for those without what was seen, and the share of places with the same item."""
    import implicit
    import scipy.sparse

    theirs = implicit.als.AlternatingLeastSquares(factors=101, num_threads=2)
    factors = model.fitted.scorer  # the same scores: the bias is one more factor
    assert isinstance(factors, rather.Factors)
    theirs.user_factors = np.ascontiguousarray(factors.U[:, :101])
    theirs.item_factors = np.ascontiguousarray(factors.V[:, :101])
    start, item = model.seen_
    seen = scipy.sparse.csr_matrix(
        (np.ones(len(item), np.float32), item, start), (len(model.users_), len(model.items_))
    )
    everyone = np.arange(len(model.users_))
    ours_list = model.recommend(model.users_, k=10)["item"].reshape(-1, 10)
    their_list = model.items_[theirs.recommend(everyone, seen, N=10, filter_already_liked_items=False)[0]]
    their = bench.median_seconds(lambda: theirs.recommend(everyone, seen, N=10, filter_already_liked_items=False))
    their_unseen = bench.median_seconds(lambda: theirs.recommend(everyone, seen, N=10, filter_already_liked_items=True))
    return their, their_unseen, float((ours_list == their_list).mean())


def main() -> None:
    bench.parser(__doc__).parse_args()
    train, _ = tables.rating_split("letterboxd", 100, seed=0)
    model = rather.AltSVM(rank=100, max_iter=2, tol=0, n_threads=2).fit(rather.Comparisons.from_ratings(train))
    rng = np.random.default_rng(0)
    answers = [tuple(rng.choice(model.items_, 2, replace=False).tolist()) for _ in range(50)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.rather"
        model.save(path, comparisons=False)
        loading = bench.median_seconds(lambda: rather.load(path))
    ours = bench.median_seconds(lambda: model.recommend(model.users_, k=10))
    ours_unseen = bench.median_seconds(lambda: model.recommend(model.users_, k=10, exclude="seen"))
    python = sys.executable
    what = f"top 10 of {len(model.items_):,} items for {len(model.users_):,} users, rank 100, 2 threads"
    rows: list[dict[str, Any]] = [
        {"what": what, "seconds": ours},
        {"what": "the same, without what was seen", "seconds": ours_unseen},
        {"what": "fold_in of 50 answers", "seconds": bench.median_seconds(lambda: model.fold_in(answers), 200)},
        {"what": "load of that model", "seconds": loading},
        {"what": "import rather, less the interpreter's start",
         "seconds": command_seconds(python, "-c", "import rather") - command_seconds(python, "-c", "pass")},
        {"what": "rather --help", "seconds": command_seconds(python, "-m", "rather", "--help")},
    ]  # fmt: skip
    if others.there("implicit"):
        *their, agree = implicit_seconds(model)
        for row, seconds in zip(rows, their, strict=False):
            row |= {"implicit": seconds, "implicit / ours": seconds / row["seconds"]}
        rows.append({"what": f"share of places with the same item: {agree:.4f}"})
    bench.report("serving", rows)


if __name__ == "__main__":
    main()
