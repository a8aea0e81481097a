"""Serving and start-up: recommendations for everybody against implicit's, newcomers, loading, importing.

python benchmarks/serving.py      # needs the bench extra
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
from common import median_seconds, ratings, report

import rather


def command_seconds(*command: str) -> float:
    return median_seconds(lambda: subprocess.run(command, check=True, capture_output=True), 9)


def main() -> None:
    import implicit
    import scipy.sparse

    train, _ = rather.split_ratings(ratings("letterboxd"), per_user=100, seed=0)
    model = rather.AltSVM(rank=100, max_iter=2, tol=0).fit(rather.Comparisons.from_ratings(train))
    theirs = implicit.als.AlternatingLeastSquares(factors=101, num_threads=2)
    theirs.user_factors = np.ascontiguousarray(model.U_[:, :101])  # the same scores: the bias is one more factor
    theirs.item_factors = np.ascontiguousarray(model.V_[:, :101])
    start, item = model.seen_
    seen = scipy.sparse.csr_matrix(
        (np.ones(len(item), np.float32), item, start), (len(model.users_), len(model.items_))
    )
    everyone = np.arange(len(model.users_))
    model.n_threads = 2

    ours_list = model.recommend(model.users_, k=10)["item"].reshape(-1, 10)
    their_list = model.items_[theirs.recommend(everyone, seen, N=10, filter_already_liked_items=False)[0]]
    agree = float((ours_list == their_list).mean())
    rng = np.random.default_rng(0)
    answers = [tuple(rng.choice(model.items_, 2, replace=False).tolist()) for _ in range(50)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.rather"
        model.save(path)
        loading = median_seconds(lambda: rather.load(path))
    ours = median_seconds(lambda: model.recommend(model.users_, k=10))
    ours_unseen = median_seconds(lambda: model.recommend(model.users_, k=10, exclude="seen"))
    their = median_seconds(lambda: theirs.recommend(everyone, seen, N=10, filter_already_liked_items=False))
    their_unseen = median_seconds(lambda: theirs.recommend(everyone, seen, N=10, filter_already_liked_items=True))
    python = sys.executable
    what = f"top 10 of {len(model.items_):,} items for {len(model.users_):,} users, rank 100, 2 threads"
    rows: list[dict[str, Any]] = [
        {"what": what, "seconds": ours, "implicit": their, "implicit / ours": their / ours},
        {"what": "the same, without what was seen", "seconds": ours_unseen, "implicit": their_unseen,
         "implicit / ours": their_unseen / ours_unseen},
        {"what": f"share of places with the same item: {agree:.4f}", "seconds": ""},
        {"what": "fold_in of 50 answers", "seconds": median_seconds(lambda: model.fold_in(answers), 200)},
        {"what": "load of that model", "seconds": loading},
        {"what": "import rather, less the interpreter's start",
         "seconds": command_seconds(python, "-c", "import rather") - command_seconds(python, "-c", "pass")},
        {"what": "rather --help", "seconds": command_seconds(python, "-m", "rather", "--help")},
    ]  # fmt: skip
    report("serving", [{"implicit": "", "implicit / ours": "", **row} for row in rows])


if __name__ == "__main__":
    main()
