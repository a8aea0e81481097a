"""Popularity: how many people clicked an item."""

from __future__ import annotations

import numpy as np

from ..data.comparisons import Comparisons
from ..errors import number
from ..models.clicked import require_clicks
from ..models.factors import FactorEstimator
from ..models.scorers import Factors
from ..native import threads


class Popularity(FactorEstimator):
    """One score per item, the same for everybody: b_j = log(1 + n_j), n_j the number of people who clicked it.

    (A logarithm, because the odds that a click is on j rather than on k are n_j to n_k.) What any method that knows
    people apart has to beat.

    Parameters
    ----------
    n_threads : int, optional
        For lists; all cores by default.
    seed : int
        Of the comparisons put aside for probabilities.

    Attributes
    ----------
    item_bias_ : array of shape (n_items,)
        The scores.
    users_, items_
        See :class:`Estimator`.

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

    def scorer(self, data: Comparisons) -> Factors:
        number("seed", self.seed, at_least=0, at_most=2**63 - 1, integer=True)
        threads(self.n_threads)
        clicks = require_clicks(data, "Popularity")
        bias = np.log1p(np.bincount(clicks.item, minlength=data.n_items))
        return Factors.of_items(bias, data.n_users)
