"""A mean over users with its standard error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..data.tables import Table
from ..errors import InputError


class Mean(float):
    """Hold a mean over users with its standard error; otherwise a float.

    Metrics return it. Use :meth:`difference` to compare two models on the same users.

    Parameters
    ----------
    x : float, default 0
        The mean. Use :meth:`of` to compute it with its standard error.

    Attributes
    ----------
    standard_error : float
        Standard error of the mean, with users drawn at random. NaN for fewer than two users.
    n_users : int
        Number of users.
    unknown_items : int
        Number of test items that the model does not know.

    See Also
    --------
    pairwise_accuracy : Measure how many test comparisons a model predicts.
    ndcg : Measure a model on test ratings.
    precision : Measure a model's recommendations.

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
        """Return the mean of users' values, or a ratio of sums over users.

        Parameters
        ----------
        parts : array
            One value for each user.
        wholes : array, optional
            One weight for each user. The result is then the sum of the parts over the sum of the wholes.

        Returns
        -------
        Mean
            The mean, with its standard error.

        Raises
        ------
        InputError
            If there are no values.

        See Also
        --------
        Mean.from_sums : Return the mean from sums over users.

        Examples
        --------
        >>> Mean.of([1, 3], wholes=[2, 4])      # 4 of 6
        0.6666666666666666
        """
        x = np.asarray(parts, np.float64)
        w = np.ones(len(x)) if wholes is None else np.asarray(wholes, np.float64)
        if not len(x) or not w.sum() > 0:
            raise InputError("there is no mean of nothing: give one value at least")
        part, whole = float(x.sum()), float(w.sum())
        return cls.from_sums(part, whole, float(np.square(x - w * (part / whole)).sum()), len(x))

    @classmethod
    def from_sums(cls, part: float, whole: float, spread: float, n_users: int) -> Mean:
        """Return the mean from sums over users, which machines can compute apart.

        Parameters
        ----------
        part : float
            Sum of the parts.
        whole : float
            Sum of the wholes.
        spread : float
            Sum of the squares of part - whole * mean.
        n_users : int
            Number of users.

        Returns
        -------
        Mean
            The mean, with its standard error.

        See Also
        --------
        Mean.of : Return the mean of users' values.

        Examples
        --------
        >>> import rather
        >>> mean = rather.Mean.from_sums(part=6.0, whole=8.0, spread=1.0, n_users=4)
        >>> float(mean), mean.n_users
        (0.75, 4)
        """
        made = cls(part / whole)
        made.standard_error = math.sqrt(spread * n_users / (n_users - 1)) / whole if n_users > 1 else math.nan
        made.n_users = n_users
        return made

    @classmethod
    def difference(cls, ours: Table, theirs: Table) -> Mean:
        """Return the mean difference between two models, over the users of both.

        Parameters
        ----------
        ours : Table
            Every user's value for the first model, from a metric with ``per_user=True``.
        theirs : Table
            The same for the second model.

        Returns
        -------
        Mean
            First model minus second, with the standard error of the difference.

        Raises
        ------
        InputError
            If the tables hold different metrics or have no user in common.

        See Also
        --------
        pairwise_accuracy : Measure how many test comparisons a model predicts.

        Examples
        --------
        >>> ours = Table({"user": np.array([1, 2, 3]), "ndcg": np.array([0.9, 0.8, 0.7])})
        >>> theirs = Table({"user": np.array([1, 2, 3]), "ndcg": np.array([0.8, 0.7, 0.7])})
        >>> round(Mean.difference(ours, theirs), 3)
        0.067
        """
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
