"""What comparisons are made of: pairs, or the ratings or clicks behind them, as columns of codes in user order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import core, threads
from .ids import Codes


@dataclass(frozen=True)
class Ratings:
    """Numbers behind comparisons: ``user[e]`` gave ``item[e]`` the rating ``rating[e]`` (codes, in user order)."""

    user: Codes
    item: Codes
    rating: npt.NDArray[np.float64]

    def take(self, rows: Any) -> Ratings:
        return Ratings(self.user[rows], self.item[rows], self.rating[rows])


@dataclass(frozen=True)
class Clicks:
    """Clicks behind comparisons: user ``user[e]`` clicked item ``item[e]`` (codes, user order)."""

    user: Codes
    item: Codes

    def take(self, rows: Any) -> Clicks:
        return Clicks(self.user[rows], self.item[rows])


@dataclass(frozen=True)
class ClickRule:
    """How comparisons are drawn from clicks: ``per_user`` pairs, or every click against ``unseen`` other items."""

    per_user: int | None
    unseen: int | None
    seed: int


@dataclass(frozen=True)
class Pairs:
    """Comparisons written down: ``user[t]`` prefers ``winner[t]`` to ``loser[t]`` (codes, user order).

    ``weight`` is None when all are 1. ``gap`` is the difference of the two ratings where the pairs came from ratings.
    Pairs of one ``group`` came from one answer (a menu, a tie) and are held out together; None: each is its own.
    """

    user: Codes
    winner: Codes
    loser: Codes
    weight: npt.NDArray[np.float32] | None = None
    gap: npt.NDArray[np.float32] | None = None
    group: npt.NDArray[np.int64] | None = None

    def take(self, rows: Any) -> Pairs:
        cut = (None if column is None else column[rows] for column in (self.weight, self.gap, self.group))
        return Pairs(self.user[rows], self.winner[rows], self.loser[rows], *cut)


def row_starts(codes: Codes, n: int) -> npt.NDArray[np.int64]:
    """Where each of n codes begins in a sorted column of them."""
    return np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=n)))).astype(np.int64)


def by_user(pairs: Pairs) -> Pairs:
    """The pairs in user order, a user's own in the order they came."""
    if (pairs.user[1:] >= pairs.user[:-1]).all():
        return pairs
    return pairs.take(np.argsort(pairs.user, kind="stable"))


def largest_gaps(r: Ratings, n_users: int, seed: int) -> Pairs:
    """For a user with N ratings the N pairs whose ratings differ most."""
    winner, loser = np.empty(len(r.user), np.int64), np.empty(len(r.user), np.int64)
    core.largest_gaps(row_starts(r.user, n_users), r.rating, seed, winner, loser, threads(None))
    winner, loser = winner[winner >= 0], loser[loser >= 0]
    return _pairs_of_ratings(r, winner, loser)


def all_pairs(r: Ratings, n_users: int, store: Any) -> Pairs:
    """Every pair of a user's items whose ratings differ; ``store`` is the core's view of the same ratings."""
    counts = np.empty(n_users)
    core.comparisons_per_user(store, counts)
    pair_start = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    winner, loser = np.empty(pair_start[-1], np.int64), np.empty(pair_start[-1], np.int64)
    start = row_starts(r.user, n_users)
    core.all_pairs(start, r.rating, pair_start, winner, loser, threads(None))
    return _pairs_of_ratings(r, winner, loser)


def _pairs_of_ratings(r: Ratings, winner: Any, loser: Any) -> Pairs:
    gap = (r.rating[winner] - r.rating[loser]).astype(np.float32)
    return Pairs(r.user[winner], r.item[winner], r.item[loser], gap=gap)


POPULARITY_POWER = 0.75  # unseen items are drawn in proportion to (clicks)^this; chosen on held-out training clicks


def drawn_pairs(clicks: Clicks, seen: Clicks, n_users: int, n_items: int, per_user: int, seed: int) -> Pairs:
    """``per_user`` comparisons of each user, of a click with an item not seen, both drawn uniformly."""
    n = n_users * per_user
    winner, loser = np.empty(n, np.int32), np.empty(n, np.int32)
    core.sample_clicks(
        row_starts(clicks.user, n_users), clicks.item, row_starts(seen.user, n_users), seen.item,
        n_items, per_user, seed, winner, loser, threads(None),
    )  # fmt: skip
    pairs = Pairs(np.repeat(np.arange(n_users, dtype=np.int32), per_user), winner, loser)
    return pairs.take(winner >= 0) if (winner < 0).any() else pairs


def drawn_levels(clicks: Clicks, seen: Clicks, n_users: int, n_items: int, unseen: int, seed: int) -> Ratings:
    """Each user's clicks, rated 1, and ``unseen`` items they have not seen, rated 0.

    Popular items are drawn more often: not to have clicked one says more.
    """
    n_clicks, n_seen = (np.bincount(c.user, minlength=n_users).astype(np.int64) for c in (clicks, seen))
    wanted = np.where(n_clicks > 0, np.minimum(unseen, n_items - n_seen), 0)
    start = np.concatenate(([0], np.cumsum(wanted + n_clicks)))
    item, rating = np.empty(start[-1], np.int32), np.zeros(start[-1])
    popularity = np.bincount(seen.item, minlength=n_items)
    core.sample_unseen(
        row_starts(seen.user, n_users), seen.item, np.maximum(popularity, 1.0) ** POPULARITY_POWER,
        wanted, start[:-1].copy(), seed, item, threads(None),
    )  # fmt: skip
    clicked = np.arange(len(clicks.user)) + np.cumsum(wanted)[clicks.user]
    item[clicked], rating[clicked] = clicks.item, 1.0
    return Ratings(np.repeat(np.arange(n_users, dtype=np.int32), np.diff(start)), item, rating)


def random_places(row: Any, n_rows: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """For every entry its place in a random order of its row's entries, and how many entries each row has."""
    size = np.bincount(row, minlength=n_rows)
    order = np.lexsort((rng.random(len(row)), row))
    place = np.empty(len(row), np.int64)
    place[order] = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
    return place, size


def share_of_each_row(row: Codes, n_rows: int, share: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """A mask that picks the given share of every row at random, rounded, and two at least of a row of five or more:
    one alone cannot be compared."""
    place, size = random_places(row, n_rows, rng)
    wanted = np.maximum(np.round(size * share), np.where(size >= 5, 2, 0))
    return np.asarray(place < wanted[row])
