"""A mean over users that knows how sure it is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..data.tables import Table
from ..errors import InputError


class Mean(float):
    """A number like any other, with its standard error.

    Attributes
    ----------
    standard_error : float
        Of the mean, users being drawn at random: NaN for fewer than two of them.
    n_users : int
        How many it is over.
    unknown_items : int
        How many of the test items the model did not know.

    Examples
    --------
    >>> Mean.of([0.5, 0.75, 1.0])
    0.75
    >>> round(Mean.of([0.5, 0.75, 1.0]).standard_error, 4)
    0.1443
    """

    standard_error: float
    n_users: int
    unknown_items: int = 0

    @classmethod
    def of(cls, parts: Any, wholes: Any = None) -> Mean:
        """The mean of the users' values; or of a ratio, the sum of their parts over the sum of their wholes."""
        x = np.asarray(parts, np.float64)
        w = np.ones(len(x)) if wholes is None else np.asarray(wholes, np.float64)
        if not len(x) or not w.sum() > 0:
            raise InputError("there is no mean of nothing: give one value at least")
        part, whole = float(x.sum()), float(w.sum())
        return cls.from_sums(part, whole, float(np.square(x - w * (part / whole)).sum()), len(x))

    @classmethod
    def from_sums(cls, part: float, whole: float, spread: float, n_users: int) -> Mean:
        """The mean from sums over users: of their parts, of their wholes, and of (part - whole * mean)^2."""
        made = cls(part / whole)
        made.standard_error = math.sqrt(spread * n_users / (n_users - 1)) / whole if n_users > 1 else math.nan
        made.n_users = n_users
        return made

    @classmethod
    def difference(cls, ours: Table, theirs: Table) -> Mean:
        """The mean difference of two tables of every user's value (``per_user=True``), over the users in both."""
        (_, one, *_), (_, another, *_) = ours.columns, theirs.columns
        if one != another:
            raise InputError(f"one table is of {one} and the other of {another}; compare values of one metric")
        (users, a, *_), (others, b, *_) = ours.columns.values(), theirs.columns.values()
        other = dict(zip(others.tolist(), b.tolist(), strict=True))
        both = [(value, other[user]) for user, value in zip(users.tolist(), a.tolist(), strict=True) if user in other]
        if not both:
            raise InputError("the two tables have no user in common")
        return cls.of([value - other for value, other in both])

    def __reduce__(self) -> Any:
        return _made, (float(self), self.__dict__)


def _made(value: float, attributes: dict[str, Any]) -> Mean:
    made = Mean(value)
    made.__dict__.update(attributes)
    return made
