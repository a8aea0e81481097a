"""Popularity: the number of users who clicked an item."""

from __future__ import annotations

import numpy as np

from ..data.comparisons import Comparisons
from ..errors import number
from ..models.clicked import require_clicks
from ..models.factors import FactorEstimator, with_bias
from ..native import threads


class Popularity(FactorEstimator):
    r"""Rank items by the number of users who clicked them.

    All users get the same ranking. It is the baseline that a personal ranking must beat.

    Parameters
    ----------
    n_threads : int, optional
        For lists; all cores by default.
    seed : int
        Of the comparisons put aside for probabilities.

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

    def __init__(self, n_threads: int | None = None, seed: int = 0) -> None:
        self._store_params(locals())

    def _fit(self, comparisons: Comparisons) -> bool:
        number("seed", self.seed, at_least=0, at_most=2**63 - 1, integer=True)
        threads(self.n_threads)
        clicks = require_clicks(comparisons, "Popularity")
        self._set_data(comparisons)
        users, items = (np.zeros((n, 0)) for n in (comparisons.n_users, comparisons.n_items))
        bias = np.log1p(np.bincount(clicks.item, minlength=comparisons.n_items))
        self._set_factors(*with_bias(users, items, bias), 0)
        return True
