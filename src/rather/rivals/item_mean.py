"""ItemMean: what people gave an item on average, drawn towards the mean of all ratings where few gave any."""

from __future__ import annotations

import numpy as np

from ..data.comparisons import Comparisons
from ..errors import InputError, number
from ..models.factors import FactorEstimator
from ..models.scorers import LARGEST, Factors
from ..native import threads


class ItemMean(FactorEstimator):
    """One score per item, the same for everybody: its mean rating, with a few more ratings of the overall mean.

        b_j = (sum of j's ratings + shrink m) / (n_j + shrink),    m the mean of all ratings

    The simplest thing to do with ratings, and with few of them hard to beat: pairs of one person's items alone know
    nothing of who gives high marks to what others never rate.

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
    item_bias_ : array of shape (n_items,)
        The scores, less the overall mean.
    users_, items_
        See :class:`Estimator`.

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

    def scorer(self, data: Comparisons) -> Factors:
        number("shrink", self.shrink, at_least=0, at_most=1e15)
        number("seed", self.seed, at_least=0, at_most=2**63 - 1, integer=True)
        threads(self.n_threads)
        ratings = data.ratings
        if ratings is None:
            raise InputError("ItemMean is a mean of ratings, and these comparisons have none; use Global")
        n = np.bincount(ratings.item, minlength=data.n_items)
        mean = ratings.rating.mean() if len(ratings.rating) else 0.0
        above = np.bincount(ratings.item, ratings.rating - mean, data.n_items)
        bias = above / np.maximum(n + self.shrink, np.finfo(float).tiny)
        if not (np.abs(bias) < LARGEST).all():
            raise InputError(f"ratings as large as {np.abs(ratings.rating).max():g} have no mean in single precision")
        return Factors.of_items(bias, data.n_users)
