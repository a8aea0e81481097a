"""Tables of codes in user order, from which sources are made, and operations on their rows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .ids import Codes, Ids, quoted

Mask = npt.NDArray[np.bool_]
SIDE, TIE = "side", "tie"  # effects that are no covariates


@dataclass(frozen=True)
class Ratings:
    """``user[e]`` gave ``item[e]`` the rating ``rating[e]``."""

    user: Codes
    item: Codes
    rating: npt.NDArray[np.float64]

    def columns(self) -> list[Any]:
        return [self.user, self.item, self.rating]

    def take(self, rows: Any) -> Ratings:
        return Ratings(self.user[rows], self.item[rows], self.rating[rows])


@dataclass(frozen=True)
class Clicks:
    """``user[e]`` clicked ``item[e]``."""

    user: Codes
    item: Codes

    def take(self, rows: Any) -> Clicks:
        return Clicks(self.user[rows], self.item[rows])


@dataclass(frozen=True)
class Pairs:
    """``user[t]`` prefers ``winner[t]`` to ``loser[t]``.

    ``weight`` is None when all are 1. ``gap`` is the difference of the two ratings where the pairs came from ratings.
    Pairs of one ``group`` came from one answer (a menu, a tie) and are held out together; None: each is its own.
    ``tied`` says which are half of a tie: one each way, of half its weight. ``around`` has numbers that surrounded each
    (which stood first, which was longer), the winner's less the loser's.
    """

    user: Codes
    winner: Codes
    loser: Codes
    weight: npt.NDArray[np.float32] | None = None
    gap: npt.NDArray[np.float32] | None = None
    group: npt.NDArray[np.int64] | None = None
    tied: Mask | None = None
    around: npt.NDArray[np.float32] | None = None

    def columns(self) -> list[Any]:
        """All of them, None where there is none."""
        return [getattr(self, field.name) for field in fields(self)]

    def take(self, rows: Any) -> Pairs:
        cut: list[Any] = [None if column is None else column[rows] for column in self.columns()]
        return Pairs(*cut)

    def weights(self) -> npt.NDArray[np.float64]:
        return np.ones(len(self.user)) if self.weight is None else self.weight.astype(np.float64)


def halved(pairs: Pairs, tied: Mask) -> Pairs:
    """The pairs with every tie as two halves, one each way."""
    w = pairs.weights().astype(np.float32) * np.where(tied, np.float32(0.5), np.float32(1))
    whole = replace(pairs, weight=w, group=np.arange(len(tied)), tied=tied)
    other = whole.take(tied)
    other = replace(
        other, winner=other.loser, loser=other.winner, around=None if other.around is None else -other.around
    )
    return joined(whole, other)


def joined(*parts: Pairs) -> Pairs:
    """The pairs of several tables with the same columns, one after the other."""
    columns = zip(*(part.columns() for part in parts), strict=True)
    made: list[Any] = [None if each[0] is None else np.concatenate(each) for each in columns]
    return Pairs(*made)


def whole_ties(pairs: Pairs) -> Pairs:
    """The pairs with one row for every tie, of its whole weight; the other half goes."""
    weight = pairs.weights() * np.where(is_tied(pairs), 2, 1)
    even = None if (weight == 1).all() else weight.astype(np.float32)
    return replace(pairs, weight=even).take(each_tie_once(pairs))


def is_tied(pairs: Pairs) -> Mask:
    """Return which pairs are half of a tie."""
    return np.zeros(len(pairs.user), bool) if pairs.tied is None else pairs.tied


def each_tie_once(pairs: Pairs) -> Mask:
    """All pairs but the other halves of ties."""
    first = np.zeros(len(pairs.user), bool)
    if pairs.group is not None:
        first[np.unique(pairs.group, return_index=True)[1]] = True
    return np.asarray(first | ~is_tied(pairs))


def beside_ties(pairs: Pairs) -> Mask | None:
    """Return which pairs belong to a tie but are no half of it; None if there are none."""
    if pairs.tied is None or pairs.group is None:
        return None
    beside = ~pairs.tied & np.isin(pairs.group, pairs.group[pairs.tied])
    return beside if beside.any() else None


def by_user(pairs: Pairs) -> Pairs:
    """The pairs in user order, a user's own in the order they came."""
    if (pairs.user[1:] >= pairs.user[:-1]).all():
        return pairs
    return pairs.take(np.argsort(pairs.user, kind="stable"))


def once_each(users: Ids, u: Codes, items: Ids, j: Codes) -> Any:
    """The order of rows by user and item; a user's item that is there twice is refused."""
    key = u.astype(np.int64) * len(items) + j
    order = np.argsort(key, kind="stable") if (key[1:] <= key[:-1]).any() else np.arange(len(key))
    key = key[order]
    twice = np.flatnonzero(key[1:] == key[:-1])
    if len(twice):
        a, b = order[twice[0]], order[twice[0] + 1]
        raise InputError(
            f"user {quoted(users[u[a]])} has item {quoted(items[j[a]])} twice (rows {a} and {b}); keep one"
        )
    return order


def row_starts(codes: Codes, n: int) -> npt.NDArray[np.int64]:
    """Return where each of n codes begins in a sorted column."""
    return np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=n)))).astype(np.int64)


def random_places(row: Any, n_rows: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """For every entry its place in a random order of its row's entries, and how many entries each row has."""
    order = np.lexsort((rng.random(len(row)), row))
    return places(row, n_rows, order)


def places(row: Any, n_rows: int, order: Any) -> tuple[Any, Any]:
    """For every entry its place among its row's when all are in an order that keeps rows together, and rows' sizes."""
    size = np.bincount(row, minlength=n_rows)
    place = np.empty(len(row), np.int64)
    place[order] = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
    return place, size


def share_of_each_row(row: Codes, n_rows: int, share: float, rng: np.random.Generator) -> Mask:
    """A mask that picks the given share of every row at random, rounded, and two at least of a row of five or more:
    one alone cannot be compared."""
    place, size = random_places(row, n_rows, rng)
    wanted = np.maximum(np.round(size * share), np.where(size >= 5, 2, 0))
    return np.asarray(place < wanted[row])


def some(n: int, share: float, rng: np.random.Generator) -> Mask:
    """A mask that picks a share of n at random, rounded."""
    chosen = np.zeros(n, bool)
    chosen[rng.permutation(n)[: round(share * n)]] = True
    return chosen
