"""rather beside what one would otherwise install, live, on the same data and cores. Needs the bench extra.

    python benchmarks/peers.py clicks      # binarised MovieLens 1M, a tenth of each user's clicks held out
    python benchmarks/peers.py ranking     # one ranking of 300 items from a million votes

Every contender has a process of its own: from the same table in memory to its own form of the data (``prepare``), to a
fitted model (``fit``), and the most memory held. implicit's ALS is run with plain settings, and once more with the
regularisation and alpha that did best on held-out training clicks.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as implicit asks for; before numpy is loaded

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import AUTHORS_YARDSTICK, peak_megabytes, ratings, report

import rather
from rather.models.factors import FactorModel, with_bias

THREADS = 2
AT = (1, 2, 5, 10, 100)
TARGET, AUTHORS_SECONDS = (
    0.218,
    163.0,
)  # precision@10 of the authors' program on 30 million pairs, and its time, 2 threads
Timed = tuple[float, float, Any]  # seconds to prepare, to fit, and the model


class Factors(FactorModel):
    """Somebody else's factors, to be judged like ours."""

    def __init__(self, data: rather.Comparisons, users: Any, items: Any, bias: Any = 0.0) -> None:
        self._set_data(data)
        self._set_factors(*with_bias(users, items, bias), users.shape[1])


def timed(prepare: Callable[[], Any], fit: Callable[[Any], Any]) -> Timed:
    began = time.perf_counter()
    data = prepare()
    prepared = time.perf_counter()
    model = fit(data)
    return prepared - began, time.perf_counter() - prepared, model


# -- clicks -----------------------------------------------------------------------------------------------------------


def clicks_table() -> tuple[Any, Any]:
    return rather.split_clicks(ratings("ml-1m").select(["user", "item"]), test=0.1, seed=0)


def from_unseen(train: Any, test: Any) -> Timed:
    return timed(
        lambda: rather.Comparisons.from_clicks(train),
        lambda data: rather.AltSVM(n_threads=THREADS).fit(data),
    )


def from_pairs(train: Any, test: Any) -> Timed:
    """The paper's way: 5,000 drawn pairs a user, the paper's model, our solver, to the authors' precision@10."""
    judging = 0.0

    def judge(model: Any, record: dict[str, float]) -> bool:
        nonlocal judging
        began = time.perf_counter()
        reached = rather.precision(model, test, k=10, exclude=train) >= TARGET
        judging += time.perf_counter() - began
        return reached

    plain = {"rank": 100, "reg": 1000.0, "bias": False, "item_power": 0.0, "tol": 0.0, "n_threads": THREADS}
    prepare, fit, model = timed(
        lambda: rather.Comparisons.from_clicks(train, per_user=5000),
        lambda data: rather.AltSVM(callback=judge, **plain).fit(data),
    )
    return prepare, fit - judging, model


def matrix(data: rather.Comparisons) -> tuple[rather.Comparisons, Any]:
    """The clicks as a sparse matrix; that ids are codes already is not counted."""
    import scipy.sparse

    clicks = data.clicks
    assert clicks is not None
    ones = np.ones(len(clicks.user), np.float32)
    return data, scipy.sparse.csr_matrix((ones, (clicks.user, clicks.item)), (data.n_users, data.n_items))


def implicit_model(kind: str, **settings: Any) -> Callable[[Any, Any], Timed]:
    def run(train: Any, test: Any) -> Timed:
        import implicit

        def fit(prepared: tuple[rather.Comparisons, Any]) -> Factors:
            data, X = prepared
            made = getattr(implicit.cpu, kind)
            name = {"als": "AlternatingLeastSquares", "bpr": "BayesianPersonalizedRanking"}[kind]
            model = getattr(made, name)(num_threads=THREADS, random_state=0, **settings)
            model.fit(X, show_progress=False)
            return Factors(data, model.user_factors, model.item_factors)

        data = rather.Comparisons.from_clicks(train, unseen=1)
        return timed(lambda: matrix(data), fit)

    return run


def lightfm_model(loss: str) -> Callable[[Any, Any], Timed]:
    def run(train: Any, test: Any) -> Timed:
        import lightfm

        def fit(prepared: tuple[rather.Comparisons, Any]) -> Factors:
            data, X = prepared
            model = lightfm.LightFM(no_components=64, loss=loss, random_state=0)
            model.fit(X, epochs=30, num_threads=THREADS)
            bias, items = model.get_item_representations()
            return Factors(data, model.get_user_representations()[1], items, bias)

        data = rather.Comparisons.from_clicks(train, unseen=1)
        return timed(lambda: matrix(data), fit)

    return run


def implicit_als(regularization: float, alpha: float) -> Callable[[Any, Any], Timed]:
    return implicit_model("als", factors=64, regularization=regularization, alpha=alpha)


CLICKS: dict[str, Callable[[Any, Any], Timed]] = {
    "rather AltSVM, each click against unseen items": from_unseen,
    "rather AltSVM, 5,000 drawn pairs a user, to precision@10 .218": from_pairs,
    "implicit ALS, 64 factors, regularization 10, alpha 1": implicit_als(10, 1),
    "implicit ALS, 64 factors, regularization 30, alpha 3": implicit_als(30, 3),
    "implicit BPR, 100 factors": implicit_model("bpr", factors=100),
    "lightfm WARP, 64 components, 30 epochs": lightfm_model("warp"),
    "lightfm BPR, 64 components, 30 epochs": lightfm_model("bpr"),
}  # fmt: skip


def run_clicks(name: str) -> dict[str, Any]:
    train, test = clicks_table()
    prepare, fit, model = CLICKS[name](train, test)
    held = peak_megabytes()
    precision = {f"precision@{k}": rather.precision(model, test, k=k, exclude=train) for k in AT}
    return {"prepare": prepare, "fit": fit, "both": prepare + fit, "peak MB": held, **precision}


# -- one ranking ------------------------------------------------------------------------------------------------------


def votes() -> tuple[rather.World, dict[str, Any]]:
    world = rather.simulate(n_users=10_000, n_items=300, rank=3, per_user=100, seed=0)
    return world, world.comparisons.to_frame("dict")


def ours_of_all(frame: dict[str, Any], items: Any) -> Timed:
    prepare, fit, model = timed(
        lambda: rather.Comparisons.from_frame(frame),
        lambda data: rather.Global(loss="logistic", n_threads=THREADS).fit(data),
    )
    return prepare, fit, model.item_bias_


def evalica_of_all(frame: dict[str, Any], items: Any) -> Timed:
    import evalica

    won = [evalica.Winner.X] * len(frame["winner"])
    prepare, fit, result = timed(
        lambda: (list(frame["winner"]), list(frame["loser"])),
        lambda data: evalica.bradley_terry(*data, won, limit=10_000),
    )
    return prepare, fit, np.log(np.maximum(np.array([result.scores[name] for name in items]), 1e-300))


def choix_of_all(frame: dict[str, Any], items: Any) -> Timed:
    import choix

    index = {name: n for n, name in enumerate(items)}
    return timed(
        lambda: [(index[w], index[x]) for w, x in zip(frame["winner"], frame["loser"], strict=True)],
        lambda data: choix.ilsr_pairwise(len(items), data, alpha=0.01),
    )


RANKING: dict[str, Callable[[dict[str, Any], Any], Timed]] = {
    "rather Global, logistic": ours_of_all,
    "evalica bradley_terry": evalica_of_all,
    "choix ilsr_pairwise": choix_of_all,
}


def run_ranking(name: str) -> dict[str, Any]:
    world, frame = votes()
    items = world.comparisons.items
    prepare, fit, strength = RANKING[name](frame, items)
    held = peak_megabytes()
    p = world.comparisons.pairs()
    margin = np.asarray(strength, np.float64)[p.winner] - np.asarray(strength, np.float64)[p.loser]
    return {
        "prepare": prepare, "fit": fit, "both": prepare + fit, "peak MB": held,
        "likelihood": float(-np.logaddexp(0, -margin).mean()), "votes it agrees with": float((margin > 0).mean()),
    }  # fmt: skip


# -- all of them ------------------------------------------------------------------------------------------------------

SUITES: dict[str, tuple[dict[str, Any], Callable[[str], dict[str, Any]]]] = {
    "clicks": (CLICKS, run_clicks),
    "ranking": (RANKING, run_ranking),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument(
        "--repeats", type=int, default=3, help="runs of each, in turns; the one of median time is shown"
    )
    parser.add_argument("--run", help=argparse.SUPPRESS)  # one contender, in this process
    options = parser.parse_args()
    contenders, run = SUITES[options.suite]
    if options.run:
        warnings.simplefilter("ignore")
        print(json.dumps(run(options.run)))
        return
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in contenders}
    for _ in range(options.repeats):
        for name in contenders:
            command = [sys.executable, __file__, options.suite, "--run", name]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found[name].append(json.loads(out.splitlines()[-1]))
            print(f"{name}: {found[name][-1]['both']:.2f} s", file=sys.stderr)
    medians = {name: sorted(runs, key=lambda r: r["both"])[len(runs) // 2] for name, runs in found.items()}
    report(f"peers-{options.suite}", [{"who": name, **median} for name, median in medians.items()])
    if options.suite == "clicks":
        ours = medians["rather AltSVM, 5,000 drawn pairs a user, to precision@10 .218"]["fit"]
        free = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
        measure = [sys.executable, "-c", "from common import yardstick; print(yardstick())"]
        folder = Path(__file__).parent
        seconds = float(subprocess.run(measure, check=True, capture_output=True, env=free, cwd=folder).stdout)
        scale = seconds / AUTHORS_YARDSTICK
        print(f"the authors' program: {AUTHORS_SECONDS:.0f} s to precision@10 {TARGET}; by the yardstick "
              f"{scale * AUTHORS_SECONDS:.0f} s here: {scale * AUTHORS_SECONDS / ours:.0f} times our fit")  # fmt: skip


if __name__ == "__main__":
    main()
