"""NDCG@k, precision@k and pairwise accuracy, as the paper defines them.

Each takes a fitted model or anything with ``score(users, items)`` (see ``scoring``). It returns the mean over users
with its standard error, or with ``per_user=True`` a table of every user's value.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data import frames
from ..data.comparisons import Comparisons
from ..data.embedded import Embedded
from ..data.ids import Codes, Vocabulary, as_ids, factorize, users_and_items
from ..data.rows import once_each, row_starts
from ..data.tables import Table
from ..errors import InputError, number
from ..models.estimator import Estimator, as_list
from ..models.exclusions import exclusions, select
from ..native import core
from .mean import Mean
from .scoring import HasScores, Judged, knows_none, over_embeddings, require_scores, vocabulary

LARGEST_RATING = 500  # so that sums of gains stay far from overflow
BLOCK = 4096  # users at a time, which keeps lists small


def ndcg(
    model: HasScores,
    ratings: Any,
    k: int = 10,
    user: str = "user",
    item: str = "item",
    rating: str = "rating",
    *,
    per_user: bool = False,
    unknown: str = "error",
) -> Any:
    r"""Measure how well a model orders each user's test ratings: NDCG at k.

    The result is the mean over users, between 0 and 1. Use :func:`pairwise_accuracy` for votes and :func:`precision`
    for clicks.

    Parameters
    ----------
    model : Estimator or HasScores
        A fitted model, or anything with ``score(users, items)``.
    ratings : pandas, polars or pyarrow table, Table, or dict of columns
        The test ratings, one row each. A user rates an item at most once.
    k : int, default 10
        Number of places that count. A user with fewer test items is judged on all of them.
    user : str, default "user"
        Column of user ids.
    item : str, default "item"
        Column of item ids. Items that the model does not know score 0.
    rating : str, default "rating"
        Column of ratings, at most 500.
    per_user : bool, default False
        Whether to return every user's value instead of the mean.
    unknown : {"error", "everyone", "skip"}, default "error"
        Treatment of test users that the model does not know: raise an error, use the ranking shared by all users,
        or leave them out with a warning.

    Returns
    -------
    Mean or Table
        The mean over users, with its standard error. With ``per_user``, a table with columns user and ndcg.

    Raises
    ------
    InputError
        If the model knows none of the test items, no user has a rating above 0, or no user has two different ratings.

    See Also
    --------
    pairwise_accuracy : Measure how many test comparisons a model predicts.
    precision : Measure a model's recommendations.
    split_ratings : Hold out test ratings.

    Notes
    -----
    With the items ordered by the model, and :math:`M_l` the rating in place :math:`l`, a user's value is the ratio of

    .. math:: \sum_{l=1}^{k} \frac{2^{M_l} - 1}{\log_2(l + 1)}

    to its largest possible value. Users whose gains are all 0 do not count. Equal scores keep the order of the item
    ids.

    References
    ----------
    K. Järvelin, J. Kekäläinen: Cumulated gain-based evaluation of IR techniques. ACM TOIS 20, 2002.

    Examples
    --------
    >>> import rather
    >>> stars = {"user": ["ann", "ann", "bob", "bob"], "item": ["A", "B", "A", "B"], "rating": [5, 2, 4, 3]}
    >>> model = rather.ItemMean().fit(rather.Comparisons.from_ratings(stars))
    >>> rather.ndcg(model, stars)
    1.0
    """
    number("k", k, at_least=1, integer=True)
    got = frames.columns(ratings, {"user": user, "item": item, "rating": rating})
    values = frames.numbers(got["rating"], f"the rating (column {rating!r})")
    large = np.flatnonzero(values > LARGEST_RATING)
    if len(large):
        raise InputError(
            f"the rating (column {rating!r}) in row {large[0]} is {values[large[0]]}, too large for a gain of "
            f"2^rating - 1; rescale the ratings to at most {LARGEST_RATING}",
            row=int(large[0]),
        )
    users, u, items, j = users_and_items(got, user, item)
    order = once_each(users, u, items, j)
    judged = Judged(model, users, items, unknown)
    order = order[judged.judged[u[order]]]
    u, j, values = u[order], j[order], values[order]
    start, gain = row_starts(u, len(users)), 2.0**values - 1
    got_dcg = _dcg(start, judged.scores(u, j), gain, k, judged.n_threads)
    best_dcg = _dcg(start, values.astype(np.float32), gain, k, judged.n_threads)
    counts = best_dcg > 0
    if not counts.any():
        raise InputError("NDCG is undefined: no test user has a rating with a gain above 0")
    if not _graded(start, values):
        raise InputError("ndcg needs graded ratings: no test user has two different ones; use precision for clicks")
    shares = got_dcg[counts] / best_dcg[counts]
    columns = {user: users[counts], _beside(user, "ndcg"): shares}
    return Table(columns, about={"k": k}) if per_user else _mean(judged, shares)


def _graded(start: Any, values: Any) -> bool:
    """Return whether any row has two different values."""
    starts = np.zeros(len(values), bool)
    starts[start[:-1][np.diff(start) > 0]] = True
    return bool(((values[1:] != values[:-1]) & ~starts[1:]).any())


def _dcg(start: Any, key: Any, gain: Any, k: int, n_threads: int) -> npt.NDArray[np.float64]:
    """Each row's DCG@k when it is sorted by key."""
    order = np.empty(len(key), np.int64)
    core.order_rows(start, key, order, n_threads)
    size = np.diff(start)
    place = np.arange(len(key)) - np.repeat(start[:-1], size)
    top = place < k
    row = np.repeat(np.arange(len(size)), size)[top]
    return np.bincount(row, weights=gain[order[top]] / np.log2(place[top] + 2), minlength=len(size)).astype(np.float64)


def precision(
    model: HasScores,
    test: Any,
    k: int = 10,
    exclude: Any = None,
    user: str = "user",
    item: str = "item",
    *,
    per_user: bool = False,
    unknown: str = "error",
    items: Any = None,
) -> Any:
    """Measure how many of a model's k recommendations are relevant.

    The result is the mean over users with test items, between 0 and 1. Each user's count is divided by k, even if fewer
    items are left to recommend or relevant. Other libraries divide by min(k, relevant items) or pool all users' hits.
    So compare numbers of one function only.

    Parameters
    ----------
    model : Estimator or HasScores
        A fitted model, or anything with ``score(users, items)``.
    test : pandas, polars or pyarrow table, Table, dict of columns, or Comparisons
        The relevant items: a table with a row for each user and item, or comparisons made from clicks. Repeated rows
        count once. Items that the model does not know count as missed, and so do relevant items that are excluded.
    k : int, default 10
        Number of recommendations for each user.
    exclude : "seen", list of id, Comparisons or table, optional
        Items not to recommend, usually the training data. Default: none.
    user : str, default "user"
        Column of user ids.
    item : str, default "item"
        Column of item ids.
    per_user : bool, default False
        Whether to return every user's value instead of the mean.
    unknown : {"error", "everyone", "skip"}, default "error"
        Treatment of test users that the model does not know: raise an error, use the ranking shared by all users,
        or leave them out with a warning.
    items : list of id, optional
        Items that may be recommended. Default: all items of the model.

    Returns
    -------
    Mean or Table
        The mean over users, with its standard error. With ``per_user``, a table with columns user and precision.

    Raises
    ------
    InputError
        If k is larger than the number of items, or the model knows none of the test items.

    See Also
    --------
    ndcg : Measure a model on test ratings.
    pairwise_accuracy : Measure how many test comparisons a model predicts.
    split_clicks : Hold out test clicks.

    Examples
    --------
    >>> import rather
    >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
    >>> model = rather.ClickRanker(rank=2).fit(rather.Comparisons.from_clicks(clicks))
    >>> rather.precision(model, {"user": ["cat"], "item": ["milk"]}, k=1, exclude="seen")
    1.0
    """
    number("k", k, at_least=1, integer=True)
    if isinstance(test, Comparisons):
        if test.clicks is None:
            raise InputError("precision needs clicks behind the test comparisons, and these have none; give a table")
        test = {user: test.users[test.clicks.user], item: test.items[test.clicks.item]}
    got = frames.columns(test, {"user": user, "item": item})
    users, (u,) = factorize([as_ids(got["user"], f"the user (column {user!r})")], "user")
    relevant = as_ids(got["item"], f"the item (column {item!r})")
    if not len(users):
        raise InputError("there are no test items: the table has no rows")
    require_scores(model)
    model = copy(model) if isinstance(model, Estimator) else model
    catalogue, among = _catalogue(model, items)
    judged = Judged(model, users, catalogue.ids, unknown)
    distinct, (j,) = factorize([relevant], "item")
    codes, n = catalogue.codes(distinct), len(catalogue)
    judged.unknown_items = int((codes < 0).sum())
    if judged.unknown_items == len(distinct):
        raise knows_none(distinct, catalogue)
    j = codes[j]
    if k > len(among):
        raise InputError(f"k is {k}, but there are only {len(among)} items; ask for at most {len(among)}", "k")
    wanted = np.unique(u[j >= 0].astype(np.int64) * n + j[j >= 0])
    excluded, among = exclusions(
        exclude, users, among, people=judged.people, items=catalogue, seen=judged.seen(),
        names={"user": user, "item": item},
    )  # fmt: skip
    who = np.flatnonzero(judged.judged).astype(np.int32)
    hits = np.zeros(len(users))
    for first in range(0, len(who), BLOCK):
        rows = who[first : first + BLOCK]
        own = None if excluded is None else select(excluded, rows)
        query, found = judged.best(rows, k, own, among)
        shown = rows[query].astype(np.int64) * n + found
        hits += np.bincount(rows[query], np.isin(shown, wanted), minlength=len(users))
    if per_user:
        return Table({user: users[who], _beside(user, "precision"): hits[who] / k}, about={"k": k})
    return _mean(judged, hits[who], np.full(len(who), k))


def _catalogue(model: Any, items: Any) -> tuple[Vocabulary, Codes]:
    """The items a model knows, and the codes of those that may be recommended, in order."""
    if items is None and getattr(model, "items_", None) is None:
        raise InputError(f"{type(model).__name__} has no items_; say what may be recommended with items=[...]")
    given, _ = factorize([as_ids([] if items is None else as_list(items), "the list of items")], "item")
    known = vocabulary(model, "item", given)
    return known, np.arange(len(known), dtype=np.int32) if items is None else np.unique(known.known(given, "fit item"))


def pairwise_accuracy(
    model: HasScores, test: Comparisons, min_gap: float | None = None, *, per_user: bool = False, unknown: str = "error"
) -> Any:
    """Measure how many test comparisons a model predicts.

    The result is the share of test comparisons whose winner has a strictly higher score. Equal scores count as wrong.
    Weighted comparisons count by their weights.

    Parameters
    ----------
    model : Estimator or HasScores
        A fitted model, or anything with ``score(users, items)``.
    test : Comparisons
        Comparisons that the model was not fitted to. Items that the model does not know score 0.
    min_gap : float, optional
        Smallest difference of ratings that counts, for comparisons made from ratings. Default: all comparisons count.
    per_user : bool, default False
        Whether to return every user's value instead of the share.
    unknown : {"error", "everyone", "skip"}, default "error"
        Treatment of test users that the model does not know: raise an error, use the ranking shared by all users,
        or leave them out with a warning.

    Returns
    -------
    Mean or Table
        The share, with its standard error over users. With ``per_user``, a table with columns user, accuracy and
        comparisons (their weight).

    Raises
    ------
    InputError
        If no test comparison can be judged.

    See Also
    --------
    Comparisons.split : Hold out test comparisons.
    plot.calibration : Draw how often predicted probabilities come true.
    Mean.difference : Compare two models.

    Examples
    --------
    >>> import rather
    >>> world = rather.simulate(n_users=100, n_items=30, rank=2, per_user=40)
    >>> train, test = world.comparisons.split(test=0.2, seed=0)
    >>> model, shared = rather.AltSVM(rank=4).fit(train), rather.Global().fit(train)
    >>> rather.pairwise_accuracy(model, test) > rather.pairwise_accuracy(shared, test)
    True
    """
    if not isinstance(test, Comparisons):
        raise InputError(f"test is of type {type(test).__name__}; it must be Comparisons")
    if min_gap is not None:
        number("min_gap", min_gap, at_least=0)
    if isinstance(test.source, Embedded):
        model = over_embeddings(model, test)
    judged = Judged(model, test.users, test.items, unknown)
    right, every = test.source.ordered(judged.scores, min_gap, judged.n_threads)
    counts = judged.judged & (every > 0)
    if not counts.any():
        gap = f" with a gap of {min_gap}" if min_gap else ""
        raise InputError(f"there are no test comparisons to judge{gap}")
    if not per_user:
        return _mean(judged, right[counts], every[counts])
    user, values = test.names.get("user", "user"), right[counts] / every[counts]
    named = {user: test.users[counts], _beside(user, "accuracy"): values}
    about = {} if min_gap is None else {"min_gap": min_gap}
    return Table({**named, _beside(user, "comparisons"): every[counts]}, about=about)


def _mean(judged: Judged, parts: Any, wholes: Any = None) -> Mean:
    made = Mean.of(parts, wholes)
    made.unknown_items = judged.unknown_items
    return made


def _beside(user: str, name: str) -> str:
    """The name of a column that is not that of the users."""
    return f"{name}_" if name == user else name
