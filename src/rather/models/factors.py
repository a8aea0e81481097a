"""Scores that are products of factors: s_ij = u_i . v_j + b_j."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.ids import Codes
from ..data.tables import Table
from ..errors import InputError
from ..native import FloatArray, core, factor, threads
from .model import Model


class FactorModel(Model):
    """Personal scores s_ij = u_i . v_j + b_j for every user i and item j.

    Attributes
    ----------
    user_factors_ : array of shape (n_users, rank)
    item_factors_ : array of shape (n_items, rank)
    item_bias_ : array of shape (n_items,)
        The global ranking that the personal part deviates from; zeros for a model without bias.
    """

    # U_ and V_ hold rank columns, the bias (or 0) against 1 in the next, and padding.
    U_: FloatArray
    V_: FloatArray
    rank_: int

    def _set_factors(self, U: FloatArray, V: FloatArray, rank: int) -> None:
        self.U_, self.V_, self.rank_ = U, V, rank

    @property
    def user_factors_(self) -> FloatArray:
        return self.U_[:, : self.rank_]

    @property
    def item_factors_(self) -> FloatArray:
        return self.V_[:, : self.rank_]

    @property
    def item_bias_(self) -> FloatArray:
        return self.V_[:, self.rank_]

    def similar_items(self, item: Any, k: int = 10) -> Table:
        """The k items whose factors point most nearly the same way (cosine): columns item, score, rank."""
        j = self._item_codes(item)
        if len(j) != 1:
            raise InputError(f"similar_items takes one item, not {len(j)}")
        if not self.rank_:
            raise InputError(f"{type(self).__name__} has no item vectors to compare: it gives one score per item")
        unit = factor(len(self.items_), self.rank_ + 1)
        norms = np.sqrt(np.square(self.item_factors_, dtype=np.float64).sum(axis=1))
        unit[:, : self.rank_] = self.item_factors_ / np.maximum(norms, 1e-30)[:, None]
        self._check_k(k, len(self.items_) - 1, "other items")
        _, found, score, place = best_rows(unit, j, unit, k, (np.array([0, 1], np.int64), j), threads(self.n_threads))
        return Table({"item": self.items_[found], "score": score, "rank": place}, self.frame_kind_)

    def _score_codes(self, u: Codes, j: Codes) -> FloatArray:
        out = np.empty(len(u), np.float32)
        core.score_pairs(self.U_, u, self.V_, j, out, threads(self.n_threads))
        return out

    def _best(self, u: Codes, k: int, excluded: Any) -> tuple[Any, ...]:
        return best_rows(self.U_, u, self.V_, k, excluded, threads(self.n_threads))

    # -- files --------------------------------------------------------------------------------------------------

    def _tensors(self) -> dict[str, Any]:
        return {"user_factors": self.user_factors_, "item_factors": self.item_factors_, "item_bias": self.item_bias_}

    def _restore(self, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        u, v, b = tensors["user_factors"], tensors["item_factors"], tensors["item_bias"]
        sound = (
            u.dtype == v.dtype == b.dtype == np.float32
            and u.ndim == v.ndim == 2
            and u.shape == (len(self.users_), v.shape[1])
            and v.shape[0] == len(self.items_)
            and b.shape == (len(self.items_),)
            and all((np.abs(a) < 1e15).all() for a in (u, v, b))  # and so finite, and their products too
        )
        if sound:
            self._set_factors(*with_bias(u, v, b), u.shape[1])
        return sound


def with_bias(user_factors: Any, item_factors: Any, item_bias: Any) -> tuple[FloatArray, FloatArray]:
    """U and V as a model holds them: the bias in one more column, against 1."""
    rank = user_factors.shape[1]
    U, V = factor(len(user_factors), rank + 1), factor(len(item_factors), rank + 1)
    U[:, :rank], U[:, rank], V[:, :rank], V[:, rank] = user_factors, 1.0, item_factors, item_bias
    return U, V


def best_rows(A: FloatArray, rows: Codes, B: FloatArray, k: int, excluded: Any, n_threads: int) -> tuple[Any, ...]:
    """(query, item, score, rank) of the k best rows of B for each chosen row of A, flat."""
    item, score = np.empty((len(rows), k), np.int32), np.empty((len(rows), k), np.float32)
    start, gone = excluded if excluded is not None else (None, None)
    core.best_items(A, rows, B, k, start, gone, item, score, n_threads)
    query, place = np.nonzero(item >= 0)
    return query, item[query, place], score[query, place], place + 1
