"""Prior means of the rows of a factor, linear in features of them: F C, where C is a ridge regression on the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..native import FloatArray, core, factor


class Prior:
    """The means of one factor's rows, brought up to date with the rows by :meth:`update`.

    ``mean`` is laid out as the factor is; ``coefficients`` is C; ``ridge`` is that on C, in units of that on a row of
    shape 1.
    """

    def __init__(self, features: FloatArray, k: int, shape: FloatArray, strength: float, n_threads: int) -> None:
        self.features = features
        self.k = k
        self.shape = shape
        self.n_threads = n_threads
        self.core = core.Prior(features, k, shape, strength, n_threads)
        self.ridge: float = self.core.ridge
        self.mean, self.coefficients = factor(0, 1), factor(0, 1)

    def update(self, rows: FloatArray) -> None:
        """The regression of the rows on their features."""
        if self.mean.shape != rows.shape:
            self.mean, self.coefficients = self._empty(rows)
        self.core.regress(rows, self.coefficients, self.mean, self.n_threads)

    def of(self, rows: FloatArray) -> FloatArray:
        """C for other rows."""
        mean, coefficients = self._empty(rows)
        self.core.regress(rows, coefficients, mean, self.n_threads)
        return coefficients

    def squares(self) -> Any:
        """The ridge's squares of C, column by column."""
        return self.ridge * np.square(self.coefficients, dtype=np.float64).sum(axis=0)

    def _empty(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.zeros_like(rows), np.zeros((self.k, rows.shape[1]), np.float32)


class Priors(NamedTuple):
    """The prior means of the users' and of the items' rows."""

    users: Prior
    items: Prior
