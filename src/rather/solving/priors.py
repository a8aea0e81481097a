"""Prior means of the rows of a factor, linear in features of them: F C, where C is a ridge regression on the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..native import FloatArray, core


class Prior:
    """The means of one factor's rows, with C at its best for the rows.

    ``ridge`` is that on C, in units of that on a row of shape 1. ``store``: of whose users they are, if of users.
    """

    def __init__(
        self, features: FloatArray, k: int, shape: FloatArray, strength: float, n_threads: int, store: Any = None
    ) -> None:
        self.features = features
        self.k = k
        self.shape = shape
        self.n_threads = n_threads
        self.core = core.Prior(features, k, shape, strength, n_threads, store)
        self.ridge: float = self.core.ridge

    def coefficients(self, rows: FloatArray) -> FloatArray:
        """C for some rows."""
        C = np.zeros((self.k, rows.shape[1]), np.float32)
        self.core.regress(rows, C, None, self.n_threads)
        return C

    def regress(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """C for some rows, and their means, laid out as they are."""
        C, mean = np.zeros((self.k, rows.shape[1]), np.float32), np.zeros_like(rows)
        self.core.regress(rows, C, mean, self.n_threads)
        return C, mean

    def squares(self, rows: FloatArray) -> Any:
        """The ridges' squares of rows less their means, and of C, column by column."""
        C, mean = self.regress(rows)
        return squares(rows - mean, self.shape) + self.ridge * np.square(C, dtype=np.float64).sum(axis=0)


def squares(rows: FloatArray, shape: FloatArray) -> Any:
    """The squares of rows, times their shapes, summed column by column."""
    return np.einsum("i,ic->c", shape, np.square(rows, dtype=np.float64), dtype=np.float64)


class Priors(NamedTuple):
    """The prior means of the users' and of the items' rows."""

    users: Prior
    items: Prior
