"""Scores that are products of factors: s_ij = u_i . v_j + b_j."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ..data.ids import read_only
from ..data.tables import Table
from ..errors import InputError
from ..native import FloatArray, factor, threads
from .estimator import Estimator
from .scorers import Factors, best_rows


class FactorEstimator(Estimator):
    """Personal scores s_ij = u_i . v_j + b_j for every user i and item j.

    Its :meth:`scorer` returns :class:`Factors`.

    Attributes
    ----------
    user_factors_ : array of shape (n_users, rank)
    item_factors_ : array of shape (n_items, rank)
    item_bias_ : array of shape (n_items,)
        The global ranking that the personal part deviates from; zeros for a model without bias.

    None of these can be written to.
    """

    SCORER = Factors

    @property
    def _factors(self) -> Factors:
        scorer = self.fitted.scorer
        assert isinstance(scorer, Factors), f"scorer of {type(self).__name__} did not return Factors"
        return scorer

    @property
    def rank_(self) -> int:
        return self._factors.rank

    @property
    def user_factors_(self) -> FloatArray:
        return read_only(self._factors.user_factors)

    @property
    def item_factors_(self) -> FloatArray:
        return read_only(self._factors.item_factors)

    @property
    def item_bias_(self) -> FloatArray:
        return read_only(self._factors.item_bias)

    def similar_items(self, item: Any, k: int = 10) -> Table:
        """The k items whose factors point most nearly the same way (cosine): columns item, score, rank."""
        return copy(self)._similar_items(item, k)

    def _similar_items(self, item: Any, k: int) -> Table:
        j, rank, vectors = self._item_codes(item), self.rank_, self.item_factors_
        if len(j) != 1:
            raise InputError(f"similar_items takes one item, not {len(j)}")
        if not rank:
            raise InputError(f"{type(self).__name__} has no item vectors to compare: it gives one score per item")
        unit = factor(len(vectors), rank + 1)
        norms = np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1))
        unit[:, :rank] = vectors / np.maximum(norms, 1e-30)[:, None]
        k = self._checked_k(k, len(vectors) - 1, "other items")
        _, found, score, place = best_rows(
            unit, j, unit, k, (np.array([0, 1], np.int64), j), self._candidates(None), threads(self.n_threads)
        )
        return self._table({"item": self.items_[found], "score": score, "rank": place})
