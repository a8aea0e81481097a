"""A mean over users that knows how sure it is."""

from __future__ import annotations

from typing import Any

import numpy as np


class Mean(float):
    """A number like any other, with its standard error.

    Attributes
    ----------
    standard_error : float
        Of the mean, users being drawn at random: NaN for fewer than two of them.
    n_users : int
        How many it is over.

    Examples
    --------
    >>> Mean.of([0.5, 0.75, 1.0])
    0.75
    >>> round(Mean.of([0.5, 0.75, 1.0]).standard_error, 4)
    0.1443
    """

    standard_error: float
    n_users: int

    @classmethod
    def of(cls, values: Any, weights: Any = None) -> Mean:
        """The mean of the users' values; with weights, of a ratio: sum of weight times value over sum of weights."""
        x = np.asarray(values, np.float64)
        w = np.ones(len(x)) if weights is None else np.asarray(weights, np.float64)
        mean = float(np.mean(x)) if weights is None else float((w * x).sum() / w.sum())
        made, n = cls(mean), len(x)
        spread = float(np.square(w * (x - mean)).sum())
        made.standard_error = float(np.sqrt(spread * n / (n - 1)) / w.sum()) if n > 1 else float("nan")
        made.n_users = n
        return made

    def __reduce__(self) -> Any:
        return _made, (float(self), self.standard_error, self.n_users)


def _made(value: float, standard_error: float, n_users: int) -> Mean:
    made = Mean(value)
    made.standard_error, made.n_users = standard_error, n_users
    return made
