"""The scale of the regularisation, from the gradient at zero.

At X = 0 the loss has the sparse gradient -G, with one number per (user, item seen). With the ridges' shapes divided out
it is S = diag(p)^-1/2 G diag(q)^-1/2. The scale of reg is the geometric mean of the typical norms of S's rows and
columns. The scale of the ridge of the biases is the typical absolute row sum. The factors on them (that on reg is the
source's) were chosen on held-out training data of very different sets; benchmarks/votes.py measures each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..native import FloatArray, core, factor
from .priors import Prior
from .problem import Problem
from .scales import Scales
from .spectrum import scaled_slopes

AT_A_TIME = 64  # features
REWARD = 16.0  # the ridge of a reward for all: between what suits people who share one and people who do not


def reg_scales(
    store: Any, *, loss: str, scales: Scales, n_threads: int, tied: Prior | None = None
) -> tuple[float, float]:
    """The scales of reg and of the bias's ridge, both from the scaled gradient at zero.

    The first is the geometric mean of its mean row norm and its mean column norm, the second its mean absolute row sum.
    Of items that are nothing but their features (``tied``), the columns of the gradient are the features', and a bias
    is as good as any reward for all: its ridge is the curvature of the loss in a typical direction of the features.
    """
    zero = Problem(store, rank=0, loss=loss, bias=False, scales=scales, n_threads=n_threads)
    zero.evaluate()
    if tied is not None:
        return _tied_scales(zero, tied, n_threads)
    return gradient_scales(store, scaled_slopes(zero), n_threads)


def _tied_scales(zero: Problem, tied: Prior, n_threads: int) -> tuple[float, float]:
    store, by_user = zero.store, 1 / np.sqrt(zero.scales.user_ridge.astype(np.float64))
    squares, columns = np.zeros(store.n_users), np.zeros(tied.k)
    for first in range(0, tied.k, AT_A_TIME):
        some = tied.features[:, first : min(first + AT_A_TIME, tied.k)]
        features, products = factor(len(some), some.shape[1]), factor(store.n_users, some.shape[1])
        features[:, : some.shape[1]] = some
        core.user_products(store, zero.c, features, products, n_threads)
        held = products[:, : some.shape[1]] * by_user[:, None]
        squares += np.square(held).sum(axis=1)
        columns[first : first + some.shape[1]] = np.square(held).sum(axis=0)
    bend = float(np.mean(zero.d)) if len(zero.d) else 1.0
    norm = float(np.square(tied.features, dtype=np.float64).sum()) / max(len(tied.features), 1)
    return _scales(store, squares, squares, columns, n_threads)[0], max(REWARD * bend * norm, 1e-12)


def gradient_scales(store: Any, entries: FloatArray, n_threads: int) -> tuple[float, float]:
    """The two scales of a gradient with one number per (user, item seen)."""
    row_sums, row_squares, column_squares = (np.empty(n) for n in (store.n_users, store.n_users, store.n_items))
    core.row_and_column_sums(store, entries, row_sums, row_squares, column_squares, n_threads)
    return _scales(store, row_sums, row_squares, column_squares, n_threads)


def _scales(store: Any, row_sums: Any, row_squares: Any, column_squares: Any, n_threads: int) -> tuple[float, float]:
    def of_rows(sums: Any) -> float:
        counted, total = (core.sum_users(store, x, n_threads) for x in ((sums > 0).astype(np.float64), sums))
        return float(total / counted) if counted else 1.0

    def of_columns(sums: Any) -> float:
        return float(sums[sums > 0].mean()) if sums.any() else 1.0

    scale = np.sqrt(of_rows(np.sqrt(row_squares)) * of_columns(np.sqrt(column_squares)))
    return float(scale), of_rows(row_sums)
