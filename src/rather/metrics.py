"""How good a ranking is: NDCG@k, precision@k and pairwise accuracy, as the paper defines them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import frames
from .comparisons import Comparisons
from .errors import InputError, number
from .ids import as_ids, factorize
from .native import core, threads
from .pairs import row_starts

if TYPE_CHECKING:
    from .model import Model

LARGEST_RATING = 500  # so that sums of gains stay far from overflow
UNKNOWN_USER = "a metric needs users the model was fitted to"


def ndcg(
    model: Model, ratings: Any, k: int = 10, user: str = "user", item: str = "item", rating: str = "rating"
) -> float:
    """Normalised discounted cumulative gain at k, averaged over users.

    For user i with test items ranked pi(1), pi(2), ... by the model,

        NDCG@k(i) = DCG@k(i, pi) / DCG@k(i, pi*),   DCG@k(i, pi) = sum_{l=1..k} (2^M_{i pi(l)} - 1) / log2(l + 1)

    where M are the true ratings and pi* sorts by them. A user with fewer than k test items is judged on those there
    are; one whose ratings all have gain 0 does not count. Test items that training never saw are scored 0, as by the
    authors' program; equal scores keep the order of the item ids.

    Parameters
    ----------
    model : fitted model
    ratings : table with the test ratings
    k : int

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
    u, j = _codes(model, got["user"], got["item"])
    _, (name,) = factorize([as_ids(got["item"], f"the item (column {item!r})")], "item")
    order = np.lexsort((name, u))
    u, j, values = u[order], j[order], values[order]
    start = row_starts(u, len(model.users_))
    gain = 2.0**values - 1
    n_threads = threads(model.n_threads)
    got_dcg = _dcg(start, model._score_codes(u, j), gain, k, n_threads)
    best_dcg = _dcg(start, values.astype(np.float32), gain, k, n_threads)
    counts = best_dcg > 0
    if not counts.any():
        raise InputError("NDCG is undefined: no test user has a rating with a gain above 0")
    return float(np.mean(got_dcg[counts] / best_dcg[counts]))


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
    model: Model, test: Any, k: int = 10, exclude: Any = None, user: str = "user", item: str = "item"
) -> float:
    """Share of relevant items among the k the model ranks highest of all items not excluded, averaged over users.

        precision@k(i) = 1/k |{the k best items for i} and {test items of i}|

    The average is over the users that have test items, each over k even where fewer items are left to recommend.

    Parameters
    ----------
    model : fitted model
    test : table of user and item, or Comparisons made from clicks
        What is relevant. Items that training never saw cannot be recommended and count as missed.
    k : int
    exclude : None, "seen", Comparisons, or table with columns "user" and "item"
        What not to recommend: normally the training data.
    """
    number("k", k, at_least=1, integer=True)
    if isinstance(test, Comparisons):
        if test.clicks is None:
            raise InputError("precision needs clicks behind the test comparisons, and these have none; give a table")
        test = {user: test.users[test.clicks.user], item: test.items[test.clicks.item]}
    got = frames.columns(test, {"user": user, "item": item})
    u, j = _codes(model, got["user"], got["item"])
    who = np.unique(u)
    if not len(who):
        raise InputError("there are no test items: the table has no rows")
    n_items = len(model.items_)
    relevant = np.unique(u[j >= 0].astype(np.int64) * n_items + j[j >= 0])
    hits = 0
    for first in range(0, len(who), 4096):  # a block of users at a time keeps the lists small
        block = who[first : first + 4096]
        table = model.recommend(model.users_[block], k=k, exclude=exclude)
        shown = model.user_vocabulary_.codes(table["user"]).astype(np.int64) * n_items
        shown += model.item_vocabulary_.codes(table["item"])
        hits += int(np.isin(shown, relevant).sum())
    return hits / (k * len(who))


def pairwise_accuracy(model: Model, test: Comparisons, min_gap: float | None = None) -> float:
    """Share of test comparisons whose winner the model scores strictly higher.

        1/|T| sum_{(i, j, k) in T} [s_ij > s_ik]

    which the paper calls its prediction error. Weighted if the comparisons are. Equal scores count as wrong.

    Parameters
    ----------
    model : fitted model
    test : Comparisons
        With users the model knows; items that training never saw are scored 0.
    min_gap : float, optional
        Count only pairs whose ratings differ by at least this: the paper's 'restricted' curves have 2.
    """
    if not isinstance(test, Comparisons):
        raise InputError(f"test is of type {type(test).__name__}; it must be Comparisons")
    model._require_fit()
    users = model.user_vocabulary_.known(test.users, UNKNOWN_USER)
    items = model.item_vocabulary_.codes(test.items)

    def scores(user: Any, item: Any) -> Any:
        return model._score_codes(users[user], items[item])

    return accuracy_of_scores(scores, test, min_gap, threads(model.n_threads))


def accuracy_of_scores(
    scores: Callable[[Any, Any], Any], test: Comparisons, min_gap: float | None, n_threads: int
) -> float:
    """Pairwise accuracy of a function from (user codes, item codes) of the test comparisons to scores."""
    if min_gap is not None:
        number("min_gap", min_gap, at_least=0)
    nothing = InputError("there are no test comparisons to judge" + (f" with a gap of {min_gap}" if min_gap else ""))
    no_gaps = InputError("min_gap needs ratings behind the comparisons, and these have none")
    if (r := test.levels) is not None:
        if min_gap is not None and test.ratings is None:
            raise no_gaps
        ordered, total = np.empty(test.n_users, np.int64), np.empty(test.n_users, np.int64)
        core.count_ordered(
            row_starts(r.user, test.n_users), r.rating, scores(r.user, r.item), min_gap or 0.0,
            ordered, total, n_threads,
        )  # fmt: skip
        if not total.any():
            raise nothing
        return int(ordered.sum()) / int(total.sum())
    pairs = test.pairs()
    if min_gap is not None:
        if pairs.gap is None:
            raise no_gaps
        pairs = pairs.take(pairs.gap >= min_gap)
    weight = np.ones(len(pairs.user)) if pairs.weight is None else pairs.weight.astype(np.float64)
    if not weight.sum() > 0:
        raise nothing
    right = scores(pairs.user, pairs.winner) > scores(pairs.user, pairs.loser)
    return float((weight * right).sum() / weight.sum())


def _codes(model: Model, users: Any, items: Any) -> tuple[Any, Any]:
    model._require_fit()
    u = model.user_vocabulary_.known(users, UNKNOWN_USER)
    return u, model.item_vocabulary_.codes(as_ids(items, "the test item"))
