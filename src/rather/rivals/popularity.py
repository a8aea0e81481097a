"""Popularity: how many people clicked an item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.comparisons import Comparisons
from ..models.clicked import require_clicks
from ..models.factors import FactorEstimator, with_bias
from ..models.parameters import CALIBRATION_SEED, LIST_THREADS, Params, accepts


@dataclass(frozen=True)
class PopularityParams(Params):
    """The parameters of :class:`Popularity`."""

    n_threads: int | None = LIST_THREADS(None)
    seed: int = CALIBRATION_SEED(0)


class Popularity(FactorEstimator):
    """One score per item, the same for everybody: b_j = log(1 + n_j), n_j the number of people who clicked it.

    (A logarithm, because the odds that a click is on j rather than on k are n_j to n_k.) What any method that knows
    people apart has to beat.

    Parameters
    ----------
    n_threads : int or None, default None
        Number of threads that make lists. None: as many as the process may keep busy. Results do not depend on it.
    seed : int, default 0
        Seed of the draw of comparisons that are held out to calibrate probabilities.

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

    params: PopularityParams

    @accepts(PopularityParams)
    def __init__(self, params: PopularityParams) -> None:
        self.params = params

    def _fit(self, comparisons: Comparisons) -> bool:
        clicks = require_clicks(comparisons, "Popularity")
        self._set_data(comparisons)
        users, items = (np.zeros((n, 0)) for n in (comparisons.n_users, comparisons.n_items))
        bias = np.log1p(np.bincount(clicks.item, minlength=comparisons.n_items))
        self._set_factors(*with_bias(users, items, bias), 0)
        return True
