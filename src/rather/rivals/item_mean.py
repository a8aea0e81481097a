"""ItemMean: the mean rating of every item, shrunk towards the mean of all ratings."""

from __future__ import annotations

import numpy as np

from ..data.comparisons import Comparisons
from ..errors import InputError, number
from ..models.factors import LARGEST, FactorEstimator, with_bias
from ..native import threads


class ItemMean(FactorEstimator):
    r"""Rank items by their mean rating, shrunk towards the mean of all ratings.

    All users get the same ranking. It is the simplest baseline for ratings, and hard to beat with few of them. Use
    :class:`AltSVM` for personal rankings.

    Parameters
    ----------
    shrink : float
        How many ratings of the overall mean every item gets.
    n_threads : int, optional
        For lists; all cores by default.
    seed : int
        Of the comparisons put aside for probabilities.

    Attributes
    ----------
    users_, items_ : array of id
        Ids of the users and items.
    item_bias_ : array of shape (n_items,)
        Scores of the items, minus the mean of all ratings.

    See Also
    --------
    AltSVM : Learn a personal ranking for every user.
    Global : Learn one ranking from comparisons of a user's own items.

    Notes
    -----
    With m the mean of all ratings and :math:`n_j` ratings of item j,

    .. math:: b_j = \frac{\sum_i r_{ij} + \text{shrink}\, m}{n_j + \text{shrink}} .

    Pairs of one user's ratings lack one kind of information that means have: high ratings of items that other users
    never rate.

    Examples
    --------
    >>> import rather
    >>> stars = {"user": ["ann", "ann", "bob", "bob"], "item": ["A", "B", "A", "C"], "rating": [5, 4, 4, 1]}
    >>> model = rather.ItemMean(shrink=1).fit(rather.Comparisons.from_ratings(stars))
    >>> [(row.item, round(float(row.score), 2)) for row in model.rank()]
    [('A', 0.67), ('B', 0.25), ('C', -1.25)]
    """

    def __init__(self, shrink: float = 5.0, n_threads: int | None = None, seed: int = 0) -> None:
        self._store_params(locals())

    def _fit(self, comparisons: Comparisons) -> bool:
        number("shrink", self.shrink, at_least=0, at_most=1e15)
        number("seed", self.seed, at_least=0, at_most=2**63 - 1, integer=True)
        threads(self.n_threads)
        ratings = comparisons.ratings
        if ratings is None:
            raise InputError("ItemMean is a mean of ratings, and these comparisons have none; use Global")
        n = np.bincount(ratings.item, minlength=comparisons.n_items)
        mean = ratings.rating.mean() if len(ratings.rating) else 0.0
        above = np.bincount(ratings.item, ratings.rating - mean, comparisons.n_items)
        bias = above / np.maximum(n + self.shrink, np.finfo(float).tiny)
        if not (np.abs(bias) < LARGEST).all():
            raise InputError(f"ratings as large as {np.abs(ratings.rating).max():g} have no mean in single precision")
        self._set_data(comparisons)
        users, items = (np.zeros((n, 0)) for n in (comparisons.n_users, comparisons.n_items))
        self._set_factors(*with_bias(users, items, bias), 0)
        return True
