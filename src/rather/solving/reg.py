"""The scale of the regularisation, from the gradient at zero.

At X = 0 the loss has the sparse gradient -G, one number per (user, item seen). With the ridges' shapes divided out it
is S = diag(p)^-1/2 G diag(q)^-1/2. The scale of reg is the geometric mean of the typical norms of S's rows and columns,
that of the bias's ridge the typical absolute row sum. The factors on them (that on reg is the source's) were chosen on
held-out training data of very different sets; benchmarks/votes.py shows how good they are on each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..native import FloatArray, core
from .problem import Problem
from .scales import Scales
from .spectrum import scaled_slopes


def reg_scales(store: Any, *, loss: str, scales: Scales, n_threads: int) -> tuple[float, float]:
    """The scales of reg and of the bias's ridge, both from the scaled gradient at zero.

    The first is the geometric mean of its mean row norm and its mean column norm, the second its mean absolute row sum.
    """
    zero = Problem(store, rank=0, loss=loss, bias=False, scales=scales, n_threads=n_threads)
    zero.evaluate()
    return gradient_scales(store, scaled_slopes(zero), n_threads)


def gradient_scales(store: Any, entries: FloatArray, n_threads: int) -> tuple[float, float]:
    """The two scales of a gradient with one number per (user, item seen)."""
    row_sums, row_squares, column_squares = (np.empty(n) for n in (store.n_users, store.n_users, store.n_items))
    core.row_and_column_sums(store, entries, row_sums, row_squares, column_squares, n_threads)

    def of_rows(sums: Any) -> float:
        counted, total = (core.sum_users(store, x, n_threads) for x in ((sums > 0).astype(np.float64), sums))
        return float(total / counted) if counted else 1.0

    def of_columns(sums: Any) -> float:
        return float(sums[sums > 0].mean()) if sums.any() else 1.0

    scale = np.sqrt(of_rows(np.sqrt(row_squares)) * of_columns(np.sqrt(column_squares)))
    return float(scale), of_rows(row_sums)
