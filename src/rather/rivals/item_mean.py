"""ItemMean: the mean rating of every item, shrunk towards the mean of all ratings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.comparisons import Comparisons
from ..errors import Domain, InputError
from ..models.factors import FactorEstimator
from ..models.parameters import CALIBRATION_SEED, LIST_THREADS, Parameter, Params, accepts
from ..models.scorers import LARGEST, Factors

SHRINK = Parameter(
    Domain(float, at_least=0, at_most=1e15),
    "Number of ratings of the overall mean that every item gets. More move items with few ratings towards the mean.",
)


@dataclass(frozen=True)
class ItemMeanParams(Params):
    """The parameters of :class:`ItemMean`."""

    shrink: float = SHRINK(5.0)
    n_threads: int | None = LIST_THREADS(None)
    seed: int = CALIBRATION_SEED(0)


class ItemMean(FactorEstimator):
    r"""Rank items by their mean rating, shrunk towards the mean of all ratings.

    All users get the same ranking. It is the simplest baseline for ratings, and hard to beat with few of them. Use
    :class:`AltSVM` for personal rankings.

    Parameters
    ----------
    shrink : float, default 5.0
        Number of ratings of the overall mean that every item gets. More move items with few ratings towards the mean.
    n_threads : int or None, default None
        Number of threads that make lists. None: as many as the process may keep busy. Results do not depend on it.
    seed : int, default 0
        Seed of the draw of comparisons that are held out to calibrate probabilities.

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

    params: ItemMeanParams

    @accepts(ItemMeanParams)
    def __init__(self, params: ItemMeanParams) -> None:
        self.params = params

    def scorer(self, data: Comparisons) -> Factors:
        """Return the mean ratings of the items as scores.

        Parameters
        ----------
        data : Comparisons
            Comparisons with ratings behind them.

        Returns
        -------
        Factors
            Scores of the items, the same for all users.

        Raises
        ------
        InputError
            If there are no ratings, or a mean is too large for single precision.

        See Also
        --------
        Estimator.fit : Learn the scores and keep them.

        Examples
        --------
        >>> import rather
        >>> table = {"user": ["ann", "bob"], "item": ["A", "B"], "rating": [5, 3]}
        >>> rated = rather.Comparisons.from_ratings(table, allow_empty=True)
        >>> rather.ItemMean(shrink=1).scorer(rated).item_bias.tolist()
        [0.5, -0.5]
        """
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
