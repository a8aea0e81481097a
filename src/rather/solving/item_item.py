"""Item-item weights: a ridge regression of every item's clicks on a user's other clicks, in closed form.

With x_i the clicks of user i (a row of zeros and ones), n_i their number and Z_i = n_i^-1/4 x_i, minimise over B

    sum_i n_i^-1/4 |x_i - Z_i B|^2 + sum_k lambda_k |B_k|^2    where B_jj = 0: no item predicts itself

lambda_k = lambda (n_k / n')^1/4 grows with an item's clicks n_k (n' is a typical number). With
A = sum_i n_i^-1/4 Z_i' Z_i, C = sum_i n_i^-1/4 Z_i' x_i and P = (A + diag(lambda_k))^-1 the solution is

    B = P (C - diag(mu)),    mu_j = (P C)_jj / P_jj

If there are many items, only those with most clicks are inputs (rows of B); all are predicted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..data.ids import Codes
from ..data.rows import row_starts
from ..errors import InputError
from ..native import FloatArray, core
from .scales import shape, typical

POWER = 0.25  # of all three: inputs, people's weights, ridges; chosen on held-out training clicks of three data sets
MOST_INPUTS = 10_000  # the time of the closed form grows with their third power,
MOST_WEIGHTS = 2**28  # its memory with B: 1 GiB in single precision, and three of that while it is computed
BLOCK = 1024
Rows = tuple[Any, Any]  # (starts, items): those of row i are items[starts[i] : starts[i + 1]]


@dataclass(frozen=True)
class ItemWeights:
    """B, with a row for each of the ``inputs`` (codes of items, rising) and a column for every item."""

    inputs: Codes
    B: FloatArray

    def scores(self, clicks: Rows, n_threads: int) -> FloatArray:
        """Z_i B for the rows of clicks, every item a column; the same bits whatever other rows there are."""
        start, item = clicks
        place = np.full(self.B.shape[1], -1, np.int32)
        place[self.inputs] = np.arange(len(self.inputs), dtype=np.int32)
        code = place[item]
        kept = np.concatenate(([0], np.cumsum(code >= 0)))
        out = np.empty((len(start) - 1, self.B.shape[1]), np.float32)
        core.sum_rows(kept[start].astype(np.int64), code[code >= 0], self.B, self.B.shape[1], out, n_threads)
        out *= falling(np.diff(start))[:, None]
        return out

    def typical(self, clicks: Rows) -> FloatArray:
        """The mean of the scores of all rows."""
        start, item = clicks
        weight = np.repeat(falling(np.diff(start)), np.diff(start))
        mean = np.bincount(item, weight, minlength=self.B.shape[1])[self.inputs] / max(len(start) - 1, 1)
        return np.asarray(mean.astype(np.float32) @ self.B, np.float32)

    def is_sound(self, n_items: int, largest: float) -> bool:
        """Whether these can be the weights of so many items."""
        return (
            self.B.dtype == np.float32
            and self.inputs.dtype == np.int32
            and self.B.shape == (len(self.inputs), n_items)
            and (not len(self.inputs) or (self.inputs[0] >= 0 and self.inputs[-1] < n_items))
            and bool((np.diff(self.inputs) > 0).all())
            and bool((np.abs(self.B) < largest).all())
        )


def falling(count: Any) -> FloatArray:
    """n^-1/4."""
    return np.asarray(np.maximum(count, 1.0) ** -POWER, np.float32)


def item_weights(clicks: Rows, n_items: int, *, ridge: float, n_threads: int) -> ItemWeights:
    """The solution for rows of clicks, with lambda = ridge trace(A) / sqrt(number of clicks)."""
    start, item = clicks
    n = np.diff(start)
    user = np.repeat(np.arange(len(n), dtype=np.int32), n)
    count = np.bincount(item, minlength=n_items)
    inputs = _inputs(count)
    w = falling(n)
    row, of_row = _by_item(user, item, inputs, n_items)
    C = _together(row, of_row, start, item, w * w, n_items, n_threads)
    if len(inputs) < n_items:
        place = np.full(n_items, -1, np.int32)
        place[inputs] = np.arange(len(inputs), dtype=np.int32)
        kept = place[item] >= 0
        start, item = row_starts(user[kept], len(n)), place[item[kept]]
    A = _together(row, of_row, start, item, w * w * w, len(inputs), n_threads)
    strength = ridge * float(np.trace(A, dtype=np.float64)) / math.sqrt(max(int(n.sum()), 1))
    A[np.diag_indices_from(A)] += strength * shape(count[inputs], typical(count.astype(np.float64)), POWER)
    P = _inverse(A)
    B = P @ C
    at = np.arange(len(inputs))
    mu = B[at, inputs] / P[at, at]
    for first in range(0, len(inputs), BLOCK):
        some = slice(first, first + BLOCK)
        B[:, inputs[some]] -= P[:, some] * mu[some]
    B[at, inputs] = 0.0
    return ItemWeights(inputs, B)


def _inputs(count: Any) -> Codes:
    """The items that predict: those that anybody clicked, or the most clicked of them."""
    most = min(MOST_INPUTS, max(MOST_WEIGHTS // max(len(count), 1), 1), int((count > 0).sum()))
    return np.sort(np.lexsort((np.arange(len(count)), -count))[:most]).astype(np.int32)


def _by_item(user: Codes, item: Codes, inputs: Codes, n_items: int) -> Rows:
    """The users of each input, in order."""
    order = np.argsort(item, kind="stable")
    start = row_starts(item[order], n_items)
    size = np.diff(start)[inputs]
    row = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    at = np.arange(row[-1]) - np.repeat(row[:-1], size) + np.repeat(start[inputs], size)
    return row, user[order][at]


def _together(
    row: Any, user: Codes, start: Any, item: Codes, weight: FloatArray, n_items: int, n_threads: int
) -> FloatArray:
    out = np.empty((len(row) - 1, n_items), np.float32)
    core.clicked_together(row, user, start, item, weight, n_items, out, n_threads)
    return out


def _inverse(A: FloatArray) -> FloatArray:
    """Invert a positive definite matrix in place."""
    factor, failed = scipy.linalg.lapack.spotrf(A.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        raise InputError("the item-item weights have no solution in single precision; a larger ridge has one")
    inverse, _ = scipy.linalg.lapack.spotri(factor, lower=0, overwrite_c=1)
    P: FloatArray = inverse.T  # rows again: what was computed is below the diagonal
    for first in range(0, len(P), BLOCK):
        last = min(first + BLOCK, len(P))
        P[first:last, last:] = P[last:, first:last].T
        corner = P[first:last, first:last]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
    return P
