"""Scores that are products of factors: s_ij = u_i . v_j + b_j."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.ids import Codes, read_only
from ..data.tables import Table
from ..errors import InputError
from ..native import FloatArray, core, factor, threads
from .estimator import Estimator
from .exclusions import Rows
from .parameters import MOST_RANK
from .state import of_one_moment

LARGEST = 1e15  # of a factor's numbers: so that products are finite too
FEW = 5.0  # items met, from where on a user counts about as much as any other


class FactorEstimator(Estimator):
    r"""Learn a short vector for every user and item; scores are their products.

    Use one of its subclasses, such as :class:`AltSVM`, or :meth:`set_factors` to bring vectors of your own.

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
    """

    # U_ and V_ hold rank columns, the bias (or 0) against 1 in the next, and padding.
    U_: FloatArray
    V_: FloatArray
    rank_: int

    def set_factors(self, comparisons: Comparisons, user_factors: Any, item_factors: Any, item_bias: Any = None) -> Any:
        """Set the vectors instead of fitting, and return the fitted model.

        Parameters
        ----------
        comparisons : Comparisons
            Defines the users and items. Vectors are in the order of their ids.
        user_factors : array of shape (n_users, rank)
            Vectors of the users.
        item_factors : array of shape (n_items, rank)
            Vectors of the items.
        item_bias : array of shape (n_items,), optional
            Worth of each item to all users. Default: 0.

        Returns
        -------
        FactorEstimator
            The estimator itself.

        Raises
        ------
        InputError
            If a shape does not fit, or a number is not finite.

        See Also
        --------
        Estimator.fit : Learn the vectors from comparisons.

        Examples
        --------
        >>> import rather
        >>> votes = rather.Comparisons.from_frame({"user": ["ann"], "winner": ["A"], "loser": ["B"]})
        >>> rather.AltSVM().set_factors(votes, [[2.0]], [[1.0], [0.5]]).score("ann", ["A", "B"]).tolist()
        [2.0, 1.0]
        """
        sizes = {"user_factors": comparisons.n_users, "item_factors": comparisons.n_items}
        given = {"user_factors": user_factors, "item_factors": item_factors}
        made = {name: np.asarray(value, np.float32) for name, value in given.items()}
        rank = made["user_factors"].shape[-1] if made["user_factors"].ndim else 0
        bias = np.asarray(np.zeros(comparisons.n_items) if item_bias is None else item_bias, np.float32)
        for name, array, shape in (
            *((name, made[name], (n, rank)) for name, n in sizes.items()), ("item_bias", bias, (comparisons.n_items,))
        ):  # fmt: skip
            if array.shape != shape:
                raise InputError(f"{name} has shape {array.shape}; for these comparisons it must be {shape}")
            if not (np.abs(array) < LARGEST).all():
                raise InputError(f"{name} holds numbers that are not finite or not below {LARGEST:g}; all must be")
        work = self._unfitted()
        work._set_data(comparisons)
        work._set_factors(*with_bias(made["user_factors"], made["item_factors"], bias), rank)
        self._adopt(work.__dict__)
        return self

    def _set_factors(self, U: FloatArray, V: FloatArray, rank: int) -> None:
        self.U_, self.V_, self.rank_ = U, V, rank

    def _state(self) -> dict[str, Any]:
        n_threads = threads(getattr(self, "n_threads", 1))
        return {**super()._state(), "U_": copied(self.U_, n_threads), "V_": copied(self.V_, n_threads)}

    @property
    def user_factors_(self) -> FloatArray:
        """Vectors of the users, read-only."""
        now = self._frozen()
        return read_only(now.U_[:, : now.rank_])

    @property
    def item_factors_(self) -> FloatArray:
        """Vectors of the items, read-only."""
        now = self._frozen()
        return read_only(now.V_[:, : now.rank_])

    @property
    def item_bias_(self) -> FloatArray:
        """Worth of each item to all users, read-only."""
        now = self._frozen()
        return read_only(now.V_[:, now.rank_])

    @of_one_moment
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
        j = self._item_codes(item)
        if len(j) != 1:
            raise InputError(f"similar_items takes one item, not {len(j)}")
        if not self.rank_:
            raise InputError(f"{type(self).__name__} has no item vectors to compare: it gives one score per item")
        unit = factor(len(self.items_), self.rank_ + 1)
        norms = np.sqrt(np.square(self.item_factors_, dtype=np.float64).sum(axis=1))
        unit[:, : self.rank_] = self.item_factors_ / np.maximum(norms, 1e-30)[:, None]
        k = self._checked_k(k, len(self.items_) - 1, "other items")
        _, found, score, place = best_rows(
            unit, j, unit, k, (np.array([0, 1], np.int64), j), self._candidates(None), threads(self.n_threads)
        )
        return self._table({"item": self.items_[found], "score": score, "rank": place}, scale="cosine")

    def score_codes(self, u: Codes, j: Codes) -> FloatArray:
        """Return scores of pairs of codes.

        Parameters
        ----------
        u : array of int
            Codes of users.
        j : array of int
            Codes of items, as many as users.

        Returns
        -------
        array of float
            One score for each pair.

        See Also
        --------
        Estimator.score : Return scores of pairs of ids.
        """
        out = np.empty(len(u), np.float32)
        core.score_pairs(self.U_, u, self.V_, j, out, threads(self.n_threads))
        return out

    @of_one_moment
    def average_scores(self) -> FloatArray:
        """Return the scores of the ranking shared by all users.

        Users about whom nothing is known get this ranking. It is a weighted mean of all users' scores, in which users
        who compared more items count more.

        Returns
        -------
        array of shape (n_items,)
            One score for each item, in the order of ``items_``.

        See Also
        --------
        Estimator.rank : Rank all items, by default with these scores.

        Notes
        -----
        A user who saw n items has weight n / (n + 5). The mean orders held-out items better than the biases alone,
        because vectors also hold what most tastes have in common.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=50, n_items=20).comparisons)
        >>> len(model.average_scores())
        20
        """
        self._require_fit()
        return score_rows(self._typical(), self.V_, threads(self.n_threads))

    def _typical(self) -> FloatArray:
        """The mean of the users' rows, as one row; users count n / (n + 5), n the items that they met."""
        n = np.diff(self.seen_[0]).astype(np.float64)
        weight, mean = n / (n + FEW), factor(1, self.rank_ + 1)
        if weight.any():
            mean[0, : self.rank_] = weight @ self.user_factors_.astype(np.float64) / weight.sum()
        mean[0, self.rank_] = 1.0
        return mean

    def _best(self, u: Codes, k: int, excluded: Rows | None, items: Codes) -> tuple[Any, ...]:
        return best_rows(self.U_, u, self.V_, k, excluded, items, threads(self.n_threads))

    # -- files --------------------------------------------------------------------------------------------------

    def _tensors(self) -> dict[str, Any]:
        return {"user_factors": self.user_factors_, "item_factors": self.item_factors_, "item_bias": self.item_bias_}

    def _restore(self, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        u, v, b = tensors["user_factors"], tensors["item_factors"], tensors["item_bias"]
        sound = (
            u.dtype == v.dtype == b.dtype == np.float32
            and u.ndim == v.ndim == 2
            and u.shape == (len(self.users_), v.shape[1])
            and u.shape[1] <= max(MOST_RANK, len(self.users_), len(self.items_))
            and v.shape[0] == len(self.items_)
            and b.shape == (len(self.items_),)
            and all((np.abs(a) < LARGEST).all() for a in (u, v, b))
        )
        if sound:
            self._set_factors(*with_bias(u, v, b), u.shape[1])
        return sound and super()._restore(tensors, about)


def copied(A: FloatArray, n_threads: int = 1) -> FloatArray:
    """A copy whose rows start on cache lines too; numbers that no model can be made of are refused."""
    out = factor(*A.shape)
    if not core.copy_within(A, out, LARGEST, n_threads):
        raise InputError(
            f"the factors grew beyond {LARGEST:g}: weights, ratings, steps or reg are too extreme; try a larger reg, "
            "smaller steps, or weights and ratings closer to 1"
        )
    return out


def with_bias(user_factors: Any, item_factors: Any, item_bias: Any) -> tuple[FloatArray, FloatArray]:
    """U and V as a model holds them: the bias in one more column, against 1."""
    rank = user_factors.shape[1]
    U, V = factor(len(user_factors), rank + 1), factor(len(item_factors), rank + 1)
    U[:, :rank], U[:, rank], V[:, :rank], V[:, rank] = user_factors, 1.0, item_factors, item_bias
    return U, V


def score_rows(row: FloatArray, V: FloatArray, n_threads: int, items: Codes | None = None) -> FloatArray:
    """The products of one row with all rows of V, or with some."""
    j = np.arange(len(V), dtype=np.int32) if items is None else items
    out = np.empty(len(j), np.float32)
    core.score_pairs(row, np.zeros(len(j), np.int32), V, j, out, n_threads)
    return out


def best_rows(
    A: FloatArray, rows: Codes, B: FloatArray, k: int, excluded: Rows | None, items: Codes, n_threads: int
) -> tuple[Any, ...]:
    """(query, item, score, rank) of the k best of some rows of B for each chosen row of A, flat."""
    item, score = np.empty((len(rows), k), np.int32), np.empty((len(rows), k), np.float32)
    start, gone = excluded if excluded is not None else (None, None)
    some = len(items) < len(B)
    if some:
        full, B = B, factor(len(items), B.shape[1])
        B[:] = full[items]
        if excluded is not None:
            start, gone = _among(excluded, items, len(full))
    core.best_items(A, rows, B, k, start, gone, item, score, n_threads)
    query, place = np.nonzero(item >= 0)
    found = item[query, place]
    return query, items[found] if some else found, score[query, place], place + 1


def _among(excluded: Rows, items: Codes, n_items: int) -> Rows:
    """Exclusions as positions in a list of items; others are left out."""
    position = np.full(n_items, -1, np.int32)
    position[items] = np.arange(len(items), dtype=np.int32)
    start, gone = excluded
    at = position[gone]
    kept = np.concatenate(([0], np.cumsum(at >= 0)))
    return kept[start].astype(np.int64), at[at >= 0]
