"""Scorers: the score of every user and item of a fitted model, by their codes."""

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
    """Score pairs of users and items; the base of all that a fit can learn.

    A subclass defines :meth:`scores`; lists and averages follow. One that can be saved also defines :meth:`tensors` and
    :meth:`restored`, and :meth:`about` for what no array holds. Users and items are given by their codes, which are
    their positions in ``users_`` and ``items_``.

    See Also
    --------
    Factors : Score by products of vectors.
    Estimator.scorer : Learn scores from comparisons.

    Examples
    --------
    >>> import numpy as np, rather
    >>> class Newest(rather.Scorer):
    ...     def scores(self, u, j, n_threads):
    ...         return j.astype(np.float32)
    >>> Newest().block(np.arange(2), np.arange(3), n_threads=1).tolist()
    [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]
    """

    whole_rows = False  # whether scores of some items cost as much as those of all

    def scores(self, u: Codes, j: Codes, n_threads: int) -> FloatArray:
        """Return the scores of pairs of a user and an item; a subclass defines this.

        Parameters
        ----------
        u : array of int32
            Codes of the users.
        j : array of int32
            Codes of the items, as many as users.
        n_threads : int
            Number of threads.

        Returns
        -------
        array of float32
            One score for each pair.

        Raises
        ------
        NotImplementedError
            If the subclass does not define it.

        See Also
        --------
        Scorer.block : Return the scores of several items for several users.

        Examples
        --------
        >>> import numpy as np, rather
        >>> scores = rather.Factors([[1.0], [-1.0]], [[1.0], [0.0], [3.0]])
        >>> scores.scores(np.array([0, 1], np.int32), np.array([2, 2], np.int32), n_threads=1).tolist()
        [3.0, -3.0]
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how it scores: it needs scores(u, j, n_threads)")

    def block(self, u: Codes, items: Codes, n_threads: int) -> FloatArray:
        """Return the scores of several items for several users.

        Parameters
        ----------
        u : array of int32
            Codes of the users.
        items : array of int32
            Codes of the items.
        n_threads : int
            Number of threads.

        Returns
        -------
        array of shape (len(u), len(items))
            One row for each user, one column for each item.

        See Also
        --------
        Scorer.scores : Return the scores of pairs.

        Examples
        --------
        >>> import numpy as np, rather
        >>> scores = rather.Factors([[1.0], [-1.0]], [[1.0], [0.0], [3.0]])
        >>> users, items = np.arange(2, dtype=np.int32), np.arange(3, dtype=np.int32)
        >>> scores.block(users, items, n_threads=1).tolist()
        [[1.0, 0.0, 3.0], [-1.0, 0.0, -3.0]]
        """
        return self.scores(np.repeat(u, len(items)), np.tile(items, len(u)), n_threads).reshape(len(u), len(items))

    def average(self, seen: Rows, n_items: int, n_threads: int) -> FloatArray:
        """Return the typical user's score of every item; by default the mean of users.

        Parameters
        ----------
        seen : (starts, items)
            Items that each user met in training: ``items[starts[i]:starts[i + 1]]`` for user i.
        n_items : int
            Number of items of the model.
        n_threads : int
            Number of threads.

        Returns
        -------
        array of shape (n_items,)
            One score for each item.

        See Also
        --------
        Estimator.average_scores : Return the scores of the ranking shared by all users.

        Examples
        --------
        >>> import numpy as np, rather
        >>> class Newest(rather.Scorer):
        ...     def scores(self, u, j, n_threads):
        ...         return j.astype(np.float32)
        >>> met = np.array([0, 1, 2]), np.array([0, 2])  # two users, who met one item each
        >>> Newest().average(met, n_items=3, n_threads=1).tolist()
        [0.0, 1.0, 2.0]
        """
        n_users, items = len(seen[0]) - 1, np.arange(n_items, dtype=np.int32)
        total = np.zeros(n_items)
        for _, u in in_blocks(np.arange(n_users, dtype=np.int32), n_items):
            total += self.block(u, items, n_threads).sum(axis=0)
        return np.asarray(total / n_users, np.float32)

    def best(
        self, u: Codes, k: int, excluded: Rows | None, items: Codes, n_items: int, n_threads: int
    ) -> tuple[Any, ...]:
        """Return each user's best items, as four arrays.

        Parameters
        ----------
        u : array of int32
            Codes of the users.
        k : int
            Length of each list.
        excluded : (starts, items) or None
            Items to leave out: ``items[starts[i]:starts[i + 1]]`` for the user in position i of ``u``.
        items : array of int32
            Codes of the items that may be listed, in increasing order.
        n_items : int
            Number of items of the model.
        n_threads : int
            Number of threads.

        Returns
        -------
        tuple of four arrays
            One entry for each line of the lists: the user's position in ``u``, the item's code, its score, and its
            place, from 1.

        See Also
        --------
        Estimator.recommend : Recommend the best items to one or several users.

        Examples
        --------
        >>> import numpy as np, rather
        >>> scores = rather.Factors([[1.0], [-1.0]], [[1.0], [0.0], [3.0]])
        >>> users, items = np.arange(2, dtype=np.int32), np.arange(3, dtype=np.int32)
        >>> query, item, score, rank = scores.best(users, 2, None, items, 3, n_threads=1)
        >>> query.tolist(), item.tolist(), rank.tolist()
        ([0, 0, 1, 1], [2, 0, 1, 0], [1, 2, 1, 2])
        """
        parts = []
        for some, rows in in_blocks(u, n_items if self.whole_rows else len(items)):
            gone = None if excluded is None else select(excluded, np.arange(some.start, some.stop, dtype=np.int32))
            query, *rest = best_scores(self.block(rows, items, n_threads), k, gone, items, n_threads)
            parts.append((query + some.start, *rest))
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    def check(self, n_users: int, n_items: int) -> None:
        """Raise an error if the scores do not suit the data; by default they do.

        Parameters
        ----------
        n_users : int
            Number of users.
        n_items : int
            Number of items.

        Raises
        ------
        InputError
            If the scores are of other numbers of users or items.

        See Also
        --------
        Estimator.fit : Fit the model, which calls this.

        Examples
        --------
        >>> import rather
        >>> rather.Scorer().check(n_users=2, n_items=3)
        """

    # -- files --------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Any]:
        """Return the arrays to save; a subclass that can be saved defines this.

        Returns
        -------
        dict of array
            Arrays by name.

        Raises
        ------
        InputError
            If the subclass does not define it.

        See Also
        --------
        Scorer.about : Return what else to save.
        Estimator.save : Write the fitted model to a file.

        Examples
        --------
        >>> import rather
        >>> sorted(rather.Factors([[1.0]], [[2.0]]).tensors())
        ['item_bias', 'item_factors', 'user_factors']
        """
        raise InputError(f"{type(self).__name__} does not say what a file must hold of it, and cannot be saved")

    def about(self) -> dict[str, Any]:
        """Return what to save beside the arrays; by default nothing.

        Returns
        -------
        dict
            Values that JSON can hold, by name.

        See Also
        --------
        Scorer.tensors : Return the arrays to save.

        Examples
        --------
        >>> import rather
        >>> rather.Scorer().about()
        {}
        """
        return {}

    @classmethod
    def restored(cls, tensors: Mapping[str, Any], about: Mapping[str, Any], fitted: Any) -> Scorer:
        """Return the scores that a file holds; the inverse of tensors and about.

        Parameters
        ----------
        tensors : mapping of array
            Arrays by name, as :meth:`Scorer.tensors` returned them.
        about : mapping
            The rest, as :meth:`Scorer.about` returned it.
        fitted : FittedModel
            The rest of the model, such as its users and items.

        Returns
        -------
        Scorer
            The scores.

        Raises
        ------
        NotImplementedError
            If the subclass does not define it.
        ValueError
            If the parts do not fit together.

        See Also
        --------
        Scorer.tensors : Return the arrays to save.
        load : Read a model from a file.

        Examples
        --------
        >>> import rather
        >>> model = rather.Global().fit(rather.simulate(n_users=20, n_items=5).comparisons)
        >>> saved = model.fitted.scorer
        >>> again = rather.Factors.restored(saved.tensors(), saved.about(), model.fitted)
        >>> bool((again.item_bias == saved.item_bias).all())
        True
        """
        raise NotImplementedError(f"{cls.__name__} does not say how it is read from a file: it needs restored(...)")


class Factors(Scorer):
    """Score by products of vectors, plus a bias of each item.

    The score of item j for user i is u_i . v_j + b_j.

    Parameters
    ----------
    user_factors : array of shape (n_users, rank)
        Vectors of the users.
    item_factors : array of shape (n_items, rank)
        Vectors of the items.
    item_bias : array of shape (n_items,), optional
        Worth of each item to all users. Default: 0.

    Raises
    ------
    InputError
        If the shapes do not fit together, or a number is not finite or too large.

    See Also
    --------
    FactorEstimator : Learn such vectors.
    Factors.of_items : Give all users the same scores.

    Examples
    --------
    >>> import numpy as np, rather
    >>> scores = rather.Factors([[1.0], [-1.0]], [[1.0], [0.0], [3.0]], item_bias=[0.0, 0.5, 0.0])
    >>> scores.block(np.arange(2, dtype=np.int32), np.arange(3, dtype=np.int32), n_threads=1).tolist()
    [[1.0, 0.5, 3.0], [-1.0, 0.5, -3.0]]
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
        """Return the scores of matrices that hold the bias in one more column.

        Parameters
        ----------
        U : array of shape (n_users, columns)
            Vectors of the users, then a column of ones, then padding.
        V : array of shape (n_items, columns)
            Vectors of the items, then a column of biases, then padding.
        rank : int
            Length of the vectors.

        Returns
        -------
        Factors
            Scores that share the memory of the matrices.

        See Also
        --------
        Factors : Take vectors and biases as separate arrays, and copy them.

        Examples
        --------
        >>> import rather
        >>> scores = rather.Factors([[2.0]], [[1.0]])
        >>> rather.Factors.packed(scores.U, scores.V, 1).user_factors.tolist()
        [[2.0]]
        """
        made = object.__new__(cls)
        made.U, made.V, made.rank = U, V, rank
        return made

    @classmethod
    def of_items(cls, item_scores: Any, n_users: int) -> Factors:
        """Return scores that are the same for all users.

        Parameters
        ----------
        item_scores : array of shape (n_items,)
            Score of each item.
        n_users : int
            Number of users.

        Returns
        -------
        Factors
            Scores with vectors of length 0.

        See Also
        --------
        Factors : Give each user scores of their own.

        Examples
        --------
        >>> import rather
        >>> rather.Factors.of_items([3.0, 1.0], n_users=5).item_bias.tolist()
        [3.0, 1.0]
        """
        return cls(np.zeros((n_users, 0)), np.zeros((len(item_scores), 0)), item_scores)

    @property
    def user_factors(self) -> FloatArray:
        """Vectors of the users."""
        return self.U[:, : self.rank]

    @property
    def item_factors(self) -> FloatArray:
        """Vectors of the items."""
        return self.V[:, : self.rank]

    @property
    def item_bias(self) -> FloatArray:
        """Worth of each item to all users."""
        return self.V[:, self.rank]

    def check(self, n_users: int, n_items: int) -> None:
        """Raise an error if there is not one vector for each user and item.

        Parameters
        ----------
        n_users : int
            Number of users.
        n_items : int
            Number of items.

        Raises
        ------
        InputError
            If there are more or fewer vectors.

        See Also
        --------
        Estimator.fit : Fit the model, which calls this.

        Examples
        --------
        >>> import rather
        >>> rather.Factors([[1.0]], [[1.0], [2.0]]).check(n_users=1, n_items=2)
        """
        for name, rows, n in (("user_factors", self.U, n_users), ("item_factors", self.V, n_items)):
            if len(rows) != n:
                raise InputError(f"{name} has {len(rows):,} rows; for these comparisons it must have {n:,}")

    def copied(self, n_threads: int = 1) -> Factors:
        """Return a copy, or raise an error if a number is not finite or too large.

        Parameters
        ----------
        n_threads : int, default 1
            Number of threads.

        Returns
        -------
        Factors
            Equal scores in memory of their own.

        Raises
        ------
        InputError
            If a number is not finite or too large.

        See Also
        --------
        Factors.packed : Return scores without a copy.

        Examples
        --------
        >>> import rather
        >>> rather.Factors([[1.0]], [[2.0]]).copied().item_factors.tolist()
        [[2.0]]
        """
        return Factors.packed(copied(self.U, n_threads), copied(self.V, n_threads), self.rank)

    def scores(self, u: Codes, j: Codes, n_threads: int) -> FloatArray:
        """Return the scores of pairs of a user and an item.

        Parameters
        ----------
        u : array of int32
            Codes of the users.
        j : array of int32
            Codes of the items, as many as users.
        n_threads : int
            Number of threads.

        Returns
        -------
        array of float32
            One score for each pair.

        See Also
        --------
        Scorer.block : Return the scores of several items for several users.

        Examples
        --------
        >>> import numpy as np, rather
        >>> scores = rather.Factors([[1.0], [-1.0]], [[1.0], [0.0], [3.0]])
        >>> scores.scores(np.array([0, 1], np.int32), np.array([2, 2], np.int32), n_threads=1).tolist()
        [3.0, -3.0]
        """
        out = np.empty(len(u), np.float32)
        core.score_pairs(self.U, u, self.V, j, out, n_threads)
        return out

    def typical(self, seen: Rows) -> FloatArray:
        """Return the typical user's vector, a weighted mean of all users' vectors.

        A user who met n items has the weight n / (n + 5).

        Parameters
        ----------
        seen : (starts, items)
            Items that each user met in training: ``items[starts[i]:starts[i + 1]]`` for user i.

        Returns
        -------
        array of shape (1, columns)
            The vector, then 1, then padding, as in a row of ``U``.

        See Also
        --------
        Factors.average : Return the typical user's scores.

        Examples
        --------
        >>> import numpy as np, rather
        >>> scores = rather.Factors([[1.0], [3.0]], [[1.0], [0.0]])
        >>> met = np.array([0, 1, 2]), np.array([0, 1])  # two users, who met one item each
        >>> scores.typical(met)[0, :2].tolist()
        [2.0, 1.0]
        """
        n = np.diff(seen[0]).astype(np.float64)
        weight, mean = n / (n + FEW), factor(1, self.rank + 1)
        if weight.any():
            mean[0, : self.rank] = weight @ self.user_factors.astype(np.float64) / weight.sum()
        mean[0, self.rank] = 1.0
        return mean

    def average(self, seen: Rows, n_items: int, n_threads: int) -> FloatArray:
        """Return the typical user's score of every item.

        Parameters
        ----------
        seen : (starts, items)
            Items that each user met in training: ``items[starts[i]:starts[i + 1]]`` for user i.
        n_items : int
            Number of items of the model.
        n_threads : int
            Number of threads.

        Returns
        -------
        array of shape (n_items,)
            One score for each item.

        See Also
        --------
        Factors.typical : Return the typical user's vector.

        Examples
        --------
        >>> import numpy as np, rather
        >>> scores = rather.Factors([[1.0], [3.0]], [[1.0], [0.0]])
        >>> met = np.array([0, 1, 2]), np.array([0, 1])  # two users, who met one item each
        >>> scores.average(met, n_items=2, n_threads=1).tolist()
        [2.0, 0.0]
        """
        return score_rows(self.typical(seen), self.V, n_threads)

    def best(
        self, u: Codes, k: int, excluded: Rows | None, items: Codes, n_items: int, n_threads: int
    ) -> tuple[Any, ...]:
        """Return each user's best items, as four arrays.

        Parameters
        ----------
        u : array of int32
            Codes of the users.
        k : int
            Length of each list.
        excluded : (starts, items) or None
            Items to leave out: ``items[starts[i]:starts[i + 1]]`` for the user in position i of ``u``.
        items : array of int32
            Codes of the items that may be listed, in increasing order.
        n_items : int
            Number of items of the model.
        n_threads : int
            Number of threads.

        Returns
        -------
        tuple of four arrays
            One entry for each line of the lists: the user's position in ``u``, the item's code, its score, and its
            place, from 1.

        See Also
        --------
        Estimator.recommend : Recommend the best items to one or several users.

        Examples
        --------
        >>> import numpy as np, rather
        >>> scores = rather.Factors([[1.0], [-1.0]], [[1.0], [0.0], [3.0]])
        >>> users, items = np.arange(2, dtype=np.int32), np.arange(3, dtype=np.int32)
        >>> scores.best(users, 1, None, items, 3, n_threads=1)[1].tolist()
        [2, 1]
        """
        return best_rows(self.U, u, self.V, k, excluded, items, n_threads)

    def tensors(self) -> dict[str, Any]:
        """Return the vectors and biases, to save them.

        Returns
        -------
        dict of array
            Arrays by name: user_factors, item_factors, item_bias.

        See Also
        --------
        Factors.restored : Return the scores that a file holds.
        Estimator.save : Write the fitted model to a file.

        Examples
        --------
        >>> import rather
        >>> rather.Factors([[1.0]], [[2.0]]).tensors()["item_factors"].tolist()
        [[2.0]]
        """
        return {"user_factors": self.user_factors, "item_factors": self.item_factors, "item_bias": self.item_bias}

    @classmethod
    def restored(cls, tensors: Mapping[str, Any], about: Mapping[str, Any], fitted: Any) -> Factors:
        """Return the scores that a file holds.

        Parameters
        ----------
        tensors : mapping of array
            Arrays by name, as :meth:`Scorer.tensors` returned them.
        about : mapping
            The rest, as :meth:`Scorer.about` returned it.
        fitted : FittedModel
            The rest of the model, such as its users and items.

        Returns
        -------
        Factors
            The scores.

        Raises
        ------
        ValueError
            If the arrays do not fit together.

        See Also
        --------
        Factors.tensors : Return the arrays to save.
        load : Read a model from a file.

        Examples
        --------
        >>> import rather
        >>> model = rather.Global().fit(rather.simulate(n_users=20, n_items=5).comparisons)
        >>> again = rather.Factors.restored(model.fitted.scorer.tensors(), {}, model.fitted)
        >>> again.item_bias.shape
        (5,)
        """
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
