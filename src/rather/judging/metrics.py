"""How good a ranking is: NDCG@k, precision@k and pairwise accuracy, as the paper defines them.

All take a fitted model or anything with ``score(users, items)`` (see ``scoring``), and give the mean over users with
its standard error, or with ``per_user=True`` a table of every user's value.
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
from ..models.estimator import REFIT, Estimator, as_list
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
    """Normalised discounted cumulative gain at k, averaged over users.

    For user i with test items ranked pi(1), pi(2), ... by the model,

        NDCG@k(i) = DCG@k(i, pi) / DCG@k(i, pi*),   DCG@k(i, pi) = sum_{l=1..k} (2^M_{i pi(l)} - 1) / log2(l + 1)

    where M are the true ratings and pi* sorts by them. A user with fewer than k test items is judged on those there
    are; one whose ratings all have gain 0 does not count. Test items that training never saw are scored 0, as by the
    authors' program; equal scores keep the order of the item ids.

    Parameters
    ----------
    model : fitted model, or anything with score(users, items)
    ratings : table with the test ratings
        One row per rating; a user rates an item at most once.
    k : int
    user, item, rating : str
        Names of its columns.
    per_user : bool
        A table of user and ndcg instead of their mean.
    unknown : {"error", "everyone", "skip"}
        Test users that the model does not know: an error, judged by everybody's ranking, or left out (and a warning
        says how many).

    Returns
    -------
    Mean
        A float, with ``standard_error`` and ``n_users``.

    References
    ----------
    K. Järvelin, J. Kekäläinen: Cumulated gain-based evaluation of IR techniques. ACM TOIS 20, 2002.
    """
    number("k", k, at_least=1, integer=True)
    got = frames.columns(ratings, {"user": user, "item": item, "rating": rating})
    values = frames.numbers(got["rating"], f"the rating (column {rating!r})")
    large = np.flatnonzero(values > LARGEST_RATING)
    if len(large):
        raise InputError(
            f"the rating (column {rating!r}) in row {large[0]} is {values[large[0]]}, too large for a gain of "
            f"2^rating - 1; rescale the ratings to at most {LARGEST_RATING}"
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
    values = got_dcg[counts] / best_dcg[counts]
    columns = {user: users[counts], _beside(user, "ndcg"): values}
    return Table(columns, about={"k": k}) if per_user else _mean(judged, values)


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
    """Share of relevant items among the k the model ranks highest of all items not excluded, averaged over users.

        precision@k(i) = 1/k |{the k best items for i} and {test items of i}|

    The average is over the users that have test items, each over k even where fewer items are left to recommend.

    Parameters
    ----------
    model : fitted model, or anything with score(users, items)
    test : table of user and item, or Comparisons made from clicks
        What is relevant; repeated rows count once. Items that training never saw cannot be recommended and count as
        missed.
    k : int
    exclude : None, "seen", list of items, Comparisons, or table of user and item
        What not to recommend: normally the training data.
    user, item : str
        Names of the test table's columns (and of those of ``exclude``, if it has them).
    per_user : bool
        A table of user and precision instead of their mean.
    unknown : {"error", "everyone", "skip"}
        Test users that the model does not know: an error, judged by everybody's ranking, or left out (and a warning
        says how many).
    items : list of ids, optional
        What may be recommended; the model's ``items_`` by default.

    Returns
    -------
    Mean
        A float, with ``standard_error`` and ``n_users``.
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
        raise InputError(f"k is {k}, but there are only {len(among)} items; ask for at most {len(among)}")
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
    return known, np.arange(len(known), dtype=np.int32) if items is None else np.unique(known.known(given, REFIT))


def pairwise_accuracy(
    model: HasScores, test: Comparisons, min_gap: float | None = None, *, per_user: bool = False, unknown: str = "error"
) -> Any:
    """Share of test comparisons whose winner the model scores strictly higher.

        1/|T| sum_{(i, j, k) in T} [s_ij > s_ik]

    which the paper calls its prediction error. Weighted if the comparisons are. Equal scores count as wrong.

    Parameters
    ----------
    model : fitted model, or anything with score(users, items)
    test : Comparisons
        Items that training never saw are scored 0.
    min_gap : float, optional
        Count only pairs whose ratings differ by at least this: the paper's 'restricted' curves have 2.
    per_user : bool
        A table of user, accuracy and comparisons (their weight) instead of the share of all comparisons. The share is
        the mean of the accuracies weighted by these.
    unknown : {"error", "everyone", "skip"}
        Test users that the model does not know: an error, judged by everybody's ranking, or left out (and a warning
        says how many).

    Returns
    -------
    Mean
        A float, with ``standard_error`` (users, not comparisons, being drawn at random) and ``n_users``.
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
