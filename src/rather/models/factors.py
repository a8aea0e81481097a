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
    r"""Learn a short vector for every user and item; scores are their products.

    Use one of its subclasses, such as :class:`AltSVM`. A subclass of your own returns :class:`Factors` from
    :meth:`scorer`.

    Attributes
    ----------
    user_factors_ : array of shape (n_users, rank)
        Vectors of the users, read-only.
    item_factors_ : array of shape (n_items, rank)
        Vectors of the items, read-only.
    item_bias_ : array of shape (n_items,)
        Worth of each item to all users, read-only. Zeros for a model without bias.

    See Also
    --------
    AltSVM : Learn a personal ranking for every user from comparisons.

    Notes
    -----
    The score of item j for user i is

    .. math:: s_{ij} = u_i \cdot v_j + b_j .

    Examples
    --------
    >>> import rather
    >>> model = rather.AltSVM(rank=1).fit(rather.simulate(n_users=10, n_items=4, rank=1, per_user=3).comparisons)
    >>> model.user_factors_.shape, model.item_factors_.shape, model.item_bias_.shape
    ((10, 1), (4, 1), (4,))
    """

    SCORER = Factors

    @property
    def _factors(self) -> Factors:
        scorer = self.fitted.scorer
        assert isinstance(scorer, Factors), f"scorer of {type(self).__name__} did not return Factors"
        return scorer

    @property
    def rank_(self) -> int:
        """Number of taste dimensions, the length of the vectors."""
        return self._factors.rank

    @property
    def user_factors_(self) -> FloatArray:
        """Vectors of the users, read-only."""
        return read_only(self._factors.user_factors)

    @property
    def item_factors_(self) -> FloatArray:
        """Vectors of the items, read-only."""
        return read_only(self._factors.item_factors)

    @property
    def item_bias_(self) -> FloatArray:
        """Worth of each item to all users, read-only."""
        return read_only(self._factors.item_bias)

    def similar_items(self, item: Any, k: int = 10) -> Table:
        """Find the items whose vectors point most nearly in the same direction.

        Parameters
        ----------
        item : id
            The item.
        k : int, default 10
            Number of similar items.

        Returns
        -------
        Table
            Columns item, score (the cosine of the two vectors), rank.

        Raises
        ------
        InputError
            If the item is not in the model, or the model has no item vectors.

        See Also
        --------
        plot.taste_map : Draw items and users on the two main directions of taste.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=100, n_items=30, rank=2).comparisons)
        >>> len(model.similar_items("item 3", k=5))
        5
        """
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
        return self._table({"item": self.items_[found], "score": score, "rank": place}, scale="cosine")
