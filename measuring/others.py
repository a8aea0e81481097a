"""Other people's methods on clicks, ours and from their packages, from the same table as ours and judged like ours.

Each is a function from a table of user and item, a seed and a number of threads to (seconds to prepare, seconds to fit,
a model): preparing begins with the table, codes of the ids included. Where a package is not installed, ``there`` says
so.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

import rather
from rather.rivals.item_weights import ClickWeights, ItemWeights

Timed = tuple[float, float, Any]
Fit = Callable[[Any, int, int], Timed]  # from a table, a seed and a number of threads


@lru_cache
def there(package: str) -> bool:
    """Whether a package is installed and loads; if not, a line says, once, that it is skipped."""
    try:
        importlib.import_module(package)
    except ImportError as e:
        print(f"{package} is not installed: skipped ({e})", file=sys.stderr)
        return False
    return True


def runnable(names: Sequence[str]) -> list[str]:
    """Those methods whose package is here; a method's first word names it, ours begin with anything else."""
    packages = ("implicit", "irspack", "lightfm", "evalica", "choix")
    return [name for name in names if (first := name.split()[0]) not in packages or there(first)]


def timed(prepare: Callable[[], Any], fit: Callable[[Any], Any]) -> Timed:
    began = time.perf_counter()
    data = prepare()
    prepared = time.perf_counter()
    model = fit(data)
    return prepared - began, time.perf_counter() - prepared, model


def matrix(train: Any) -> tuple[Any, Any, Any]:
    """The ids of users and items, and the clicks as a sparse matrix."""
    import scipy.sparse

    (users, user), (items, item) = (np.unique(train[name].to_numpy(), return_inverse=True) for name in ("user", "item"))
    ones = np.ones(len(user), np.float32)
    return users, items, scipy.sparse.csr_matrix((ones, (user, item)), (len(users), len(items)))


class Given(rather.FactorEstimator):
    """Somebody else's factors."""

    def __init__(self, factors: rather.Factors) -> None:
        self.factors = factors

    def scorer(self, data: rather.Comparisons) -> rather.Factors:
        return self.factors


class GivenWeights(ItemWeights):
    """Somebody else's weights between items."""

    def __init__(self, weights: Any) -> None:
        self.weights = weights

    def scorer(self, data: rather.Comparisons) -> ClickWeights:
        return ClickWeights(self.weights, data)


def judged(train: Any, users: Any, items: Any, U: Any, V: Any, bias: Any = 0.0) -> rather.FactorEstimator:
    """Somebody else's factors as a model of ours."""
    clicks = rather.Comparisons.from_clicks(train, unseen=1)
    assert np.array_equal(clicks.users, users) and np.array_equal(clicks.items, items)
    fitted: Given = Given(rather.Factors(U, V, np.broadcast_to(bias, len(items)))).fit(clicks)
    return fitted


def implicit(kind: str, **settings: Any) -> Fit:
    """implicit's "als" or "bpr"."""

    def run(train: Any, seed: int, n_threads: int) -> Timed:
        from implicit.cpu.als import AlternatingLeastSquares
        from implicit.cpu.bpr import BayesianPersonalizedRanking
        from threadpoolctl import threadpool_limits

        method = {"als": AlternatingLeastSquares, "bpr": BayesianPersonalizedRanking}[kind]

        def fit(prepared: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            users, items, clicks = prepared
            with threadpool_limits(1, "blas"):  # as implicit asks for
                model = method(num_threads=n_threads, random_state=seed, **settings)
                model.fit(clicks, show_progress=False)
            return users, items, model

        prepare, took, (users, items, model) = timed(lambda: matrix(train), fit)
        return prepare, took, judged(train, users, items, model.user_factors, model.item_factors)

    return run


def irspack_ials(epochs: int = 16, **settings: Any) -> Fit:
    """irspack's least squares, with unseen items of weight alpha0 and ridges that grow with counts^nu.

    As in Rendle, Krichene, Zhang, Koren: Revisiting the Performance of iALS on Item Recommendation Benchmarks. 2021.
    """

    def run(train: Any, seed: int, n_threads: int) -> Timed:
        from irspack import IALSRecommender

        def fit(prepared: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            users, items, clicks = prepared
            model = IALSRecommender(clicks, random_seed=seed, n_threads=n_threads, nu_star=1.0, **settings)
            model.start_learning()
            for _ in range(epochs):
                model.run_epoch()
            return users, items, model

        prepare, took, (users, items, model) = timed(lambda: matrix(train), fit)
        return prepare, took, judged(train, users, items, model.get_user_embedding(), model.get_item_embedding())

    return run


def irspack_slim(**settings: Any) -> Fit:
    """irspack's SLIM: an elastic net of every item on all others, by coordinate descent (Ning and Karypis 2011)."""

    def run(train: Any, seed: int, n_threads: int) -> Timed:
        from irspack import SLIMRecommender

        def fit(prepared: tuple[Any, Any, Any]) -> Any:
            return SLIMRecommender(prepared[2], n_threads=n_threads, **settings).learn()

        prepare, took, model = timed(lambda: matrix(train), fit)
        return prepare, took, GivenWeights(model.W).fit(rather.Comparisons.from_clicks(train, unseen=1))

    return run


def ours(kind: type[Any], **settings: Any) -> Fit:
    """A rival that is an estimator of ours; it does not look at unseen items, of which one is drawn all the same."""

    def run(train: Any, seed: int, n_threads: int) -> Timed:
        return timed(
            lambda: rather.Comparisons.from_clicks(train, unseen=1, seed=seed),
            lambda data: kind(n_threads=n_threads, **settings).fit(data),
        )

    return run


def lightfm(epochs: int, **settings: Any) -> Fit:
    def run(train: Any, seed: int, n_threads: int) -> Timed:
        from lightfm import LightFM

        def fit(prepared: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            users, items, clicks = prepared
            model = LightFM(random_state=seed, **settings)
            model.fit(clicks, epochs=epochs, num_threads=n_threads)
            return users, items, model

        prepare, took, (users, items, model) = timed(lambda: matrix(train), fit)
        bias, V = model.get_item_representations()
        return prepare, took, judged(train, users, items, model.get_user_representations()[1], V, bias)

    return run


FAMILIES: dict[str, Callable[..., Fit]] = {
    "Popularity": lambda **settings: ours(rather.Popularity, **settings),
    "RP3beta": lambda **settings: ours(rather.RP3beta, **settings),
    "EASE": lambda **settings: ours(rather.EASE, **settings),
    "irspack SLIM": lambda **settings: irspack_slim(**settings),
    "irspack iALS": lambda **settings: irspack_ials(**settings),
    "implicit ALS": lambda **settings: implicit("als", **settings),
    "implicit BPR": lambda **settings: implicit("bpr", factors=100, **settings),
    "lightfm WARP": lambda **settings: lightfm(loss="warp", no_components=64, **settings),
}
PLAIN: dict[str, dict[str, Any]] = {
    "Popularity": {},
    "EASE": {"balance": 0.0},  # as in its paper; the ridge that is best with it
    "implicit ALS": {"factors": 64, "regularization": 10.0, "alpha": 1.0},
    "implicit BPR": {},
    "lightfm WARP": {"epochs": 30},
}
TUNED: dict[str, dict[str, Any]] = {  # what benchmarks/peers.py --tune found on held-out training clicks
    "RP3beta": {},  # its defaults
    "EASE": {},  # its defaults
    "irspack SLIM": {"alpha": 0.02, "l1_ratio": 0.003},
    "irspack iALS": {"n_components": 256, "alpha0": 0.6, "reg": 0.006, "nu": 1.0},
    "implicit ALS": {"factors": 256, "regularization": 50.0, "alpha": 3.0, "iterations": 30},
    "implicit BPR": {"learning_rate": 0.003, "regularization": 0.003, "iterations": 100},
    "lightfm WARP": {"epochs": 30, "learning_rate": 0.02, "max_sampled": 50},
}
