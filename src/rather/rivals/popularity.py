"""Popularity: the number of users who clicked an item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.comparisons import Comparisons
from ..models.clicked import require_clicks
from ..models.factors import FactorEstimator
from ..models.parameters import CALIBRATION_SEED, LIST_THREADS, Params, accepts
from ..models.scorers import Factors


@dataclass(frozen=True)
class PopularityParams(Params):
    """The parameters of :class:`Popularity`."""

    n_threads: int | None = LIST_THREADS(None)
    seed: int = CALIBRATION_SEED(0)


class Popularity(FactorEstimator):
    r"""Rank items by the number of users who clicked them.

    All users get the same ranking. It is the baseline that a personal ranking must beat.

    Parameters
    ----------
    n_threads : int or None, default None
        Number of threads that make lists. None: as many as the process may keep busy. Results do not depend on it.
    seed : int, default 0
        Seed of the draw of comparisons that are held out to calibrate probabilities.

    Attributes
    ----------
    users_, items_ : array of id
        Ids of the users and items.
    item_bias_ : array of shape (n_items,)
        Scores of the items.

    See Also
    --------
    ClickRanker : Learn a personal ranking for every user from clicks.

    Notes
    -----
    The score of an item that n users clicked is :math:`\log(1 + n)`. The odds that a click is on one item rather than
    on another are then about the ratio of their clicks.

    Examples
    --------
    >>> import rather
    >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
    >>> model = rather.Popularity().fit(rather.Comparisons.from_clicks(clicks))
    >>> model.recommend("bob", k=1)["item"].tolist()
    ['tea']
    """

    params: PopularityParams

    @accepts(PopularityParams)
    def __init__(self, params: PopularityParams) -> None:
        self.params = params

    def scorer(self, data: Comparisons) -> Factors:
        """Return scores by the number of clicks.

        Parameters
        ----------
        data : Comparisons
            Comparisons with clicks behind them.

        Returns
        -------
        Factors
            Scores of the items, the same for all users.

        Raises
        ------
        InputError
            If there are no clicks.

        See Also
        --------
        Estimator.fit : Learn the scores and keep them.

        Examples
        --------
        >>> import rather
        >>> table = {"user": ["ann", "bob", "bob"], "item": ["tea", "tea", "milk"]}
        >>> clicks = rather.Comparisons.from_clicks(table, allow_empty=True)
        >>> clicks.items[rather.Popularity().scorer(clicks).item_bias.argmax()]
        'tea'
        """
        clicks = require_clicks(data, "Popularity")
        bias = np.log1p(np.bincount(clicks.item, minlength=data.n_items))
        return Factors.of_items(bias, data.n_users)
