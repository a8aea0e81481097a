"""How a fitted model scores: values that give every user and item, by their codes, a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..data.ids import Codes
from ..errors import InputError
from ..native import FloatArray, core, factor
from .exclusions import Rows, select
from .lists import best_scores
from .parameters import MOST_RANK

LARGEST = 1e15  # the limit of a factor's numbers: products stay finite
FEW = 5.0  # a user who met that many items counts half as much as one who met all
BLOCK = 2**22  # scores at a time in lists


class Scorer:
    """Scores of pairs of codes of users and items; lists and averages follow from :meth:`scores`.

    One that can be saved defines :meth:`tensors` and :meth:`restored`, and :meth:`about` for what no array holds.
    """

    whole_rows = False  # whether scores of some items cost as much as those of all

    def scores(self, u: Codes, j: Codes, n_threads: int) -> FloatArray:
        """Return the scores of equally many codes of users and of items."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it scores: it needs scores(u, j, n_threads)")

    def block(self, u: Codes, items: Codes, n_threads: int) -> FloatArray:
        """Return the scores of some items (columns) for some users (rows)."""
        return self.scores(np.repeat(u, len(items)), np.tile(items, len(u)), n_threads).reshape(len(u), len(items))

    def average(self, seen: Rows, n_items: int, n_threads: int) -> FloatArray:
        """Return the average user's score of every item; here, the mean over all users."""
        n_users, items = len(seen[0]) - 1, np.arange(n_items, dtype=np.int32)
        total = np.zeros(n_items)
        for _, u in in_blocks(np.arange(n_users, dtype=np.int32), n_items):
            total += self.block(u, items, n_threads).sum(axis=0)
        return np.asarray(total / n_users, np.float32)

    def best(
        self, u: Codes, k: int, excluded: Rows | None, items: Codes, n_items: int, n_threads: int
    ) -> tuple[Any, ...]:
        """(query, item, score, rank) of each user's k best of some items (in order), flat, none of those excluded."""
        parts = []
        for some, rows in in_blocks(u, n_items if self.whole_rows else len(items)):
            gone = None if excluded is None else select(excluded, np.arange(some.start, some.stop, dtype=np.int32))
            query, *rest = best_scores(self.block(rows, items, n_threads), k, gone, items, n_threads)
            parts.append((query + some.start, *rest))
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    def check(self, n_users: int, n_items: int) -> None:
        """Refuse scores that are not of so many users and items."""

    # -- files --------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Any]:
        """Return the arrays to save, by name."""
        raise InputError(f"{type(self).__name__} does not say what a file must hold of it, and cannot be saved")

    def about(self) -> dict[str, Any]:
        """Return what else to save, as JSON."""
        return {}

    @classmethod
    def restored(cls, tensors: Mapping[str, Any], about: Mapping[str, Any], fitted: Any) -> Scorer:
        """Return what a file holds, given the fitted model but for its scores.

        A ValueError says that the parts do not fit together.
        """
        raise NotImplementedError(f"{cls.__name__} does not say how it is read from a file: it needs restored(...)")


class Factors(Scorer):
    """Scores u_i . v_j + b_j.

    Parameters
    ----------
    user_factors : array of shape (n_users, rank)
    item_factors : array of shape (n_items, rank)
    item_bias : array of shape (n_items,), optional
        0 by default.
    """

    def __init__(self, user_factors: Any, item_factors: Any, item_bias: Any = None) -> None:
        u, v = (np.asarray(rows, np.float32) for rows in (user_factors, item_factors))
        b = np.asarray(np.zeros(len(v)) if item_bias is None else item_bias, np.float32)
        for name, array, ndim in (("user_factors", u, 2), ("item_factors", v, 2), ("item_bias", b, 1)):
            if array.ndim != ndim:
                raise InputError(f"{name} has shape {array.shape}; it must have {ndim} dimensions")
            if not (np.abs(array) < LARGEST).all():
                raise InputError(f"{name} holds numbers that are not finite or not below {LARGEST:g}; all must be")
        if u.shape[1] != v.shape[1] or len(b) != len(v):
            raise InputError(f"user_factors, item_factors and item_bias have shapes {u.shape}, {v.shape} and {b.shape}")
        self.U, self.V = with_bias(u, v, b)
        self.rank = u.shape[1]

    # U and V hold rank columns, the bias (or 0) against 1 in the next, and padding.
    U: FloatArray
    V: FloatArray
    rank: int

    @classmethod
    def packed(cls, U: FloatArray, V: FloatArray, rank: int) -> Factors:
        """Return the scores of matrices that hold the bias in one more column."""
        made = object.__new__(cls)
        made.U, made.V, made.rank = U, V, rank
        return made

    @classmethod
    def of_items(cls, item_scores: Any, n_users: int) -> Factors:
        """Return one score an item, the same for so many users."""
        return cls(np.zeros((n_users, 0)), np.zeros((len(item_scores), 0)), item_scores)

    @property
    def user_factors(self) -> FloatArray:
        return self.U[:, : self.rank]

    @property
    def item_factors(self) -> FloatArray:
        return self.V[:, : self.rank]

    @property
    def item_bias(self) -> FloatArray:
        return self.V[:, self.rank]

    def check(self, n_users: int, n_items: int) -> None:
        for name, rows, n in (("user_factors", self.U, n_users), ("item_factors", self.V, n_items)):
            if len(rows) != n:
                raise InputError(f"{name} has {len(rows):,} rows; for these comparisons it must have {n:,}")

    def copied(self, n_threads: int = 1) -> Factors:
        """Return a copy; numbers that no model can be made of are refused."""
        return Factors.packed(copied(self.U, n_threads), copied(self.V, n_threads), self.rank)

    def scores(self, u: Codes, j: Codes, n_threads: int) -> FloatArray:
        out = np.empty(len(u), np.float32)
        core.score_pairs(self.U, u, self.V, j, out, n_threads)
        return out

    def typical(self, seen: Rows) -> FloatArray:
        """Return the mean of the users' rows, as one row; users count n / (n + 5), n the items that they met."""
        n = np.diff(seen[0]).astype(np.float64)
        weight, mean = n / (n + FEW), factor(1, self.rank + 1)
        if weight.any():
            mean[0, : self.rank] = weight @ self.user_factors.astype(np.float64) / weight.sum()
        mean[0, self.rank] = 1.0
        return mean

    def average(self, seen: Rows, n_items: int, n_threads: int) -> FloatArray:
        return score_rows(self.typical(seen), self.V, n_threads)

    def best(
        self, u: Codes, k: int, excluded: Rows | None, items: Codes, n_items: int, n_threads: int
    ) -> tuple[Any, ...]:
        return best_rows(self.U, u, self.V, k, excluded, items, n_threads)

    def tensors(self) -> dict[str, Any]:
        return {"user_factors": self.user_factors, "item_factors": self.item_factors, "item_bias": self.item_bias}

    @classmethod
    def restored(cls, tensors: Mapping[str, Any], about: Mapping[str, Any], fitted: Any) -> Factors:
        u, v, b = (tensors[name] for name in ("user_factors", "item_factors", "item_bias"))
        n_users, n_items = len(fitted.users), len(fitted.items)
        sound = (
            u.dtype == v.dtype == b.dtype == np.float32
            and u.ndim == v.ndim == 2
            and u.shape == (n_users, v.shape[1])
            and u.shape[1] <= max(MOST_RANK, n_users, n_items)
            and v.shape[0] == n_items
            and b.shape == (n_items,)
            and all((np.abs(a) < LARGEST).all() for a in (u, v, b))
        )
        if not sound:
            raise ValueError("the factors do not fit together")
        return cls.packed(*with_bias(u, v, b), u.shape[1])


def in_blocks(u: Codes, width: int) -> Iterator[tuple[slice, Codes]]:
    """Users cut so that a block of their scores of so many items is not large; at least one block."""
    size = max(1, BLOCK // max(width, 1))
    for first in range(0, max(len(u), 1), size):
        some = slice(first, min(first + size, len(u)))
        yield some, u[some]


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
