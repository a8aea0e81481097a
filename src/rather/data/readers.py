"""Readers of frames other than votes: they return user ids, item ids and a source."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from . import frames
from .clicks import ClickRule, clicked
from .ids import Ids, as_ids, factorize, quoted, users_and_items
from .ratings import Rated
from .rows import Clicks, Pairs, Ratings, by_user, once_each
from .vote_readers import Read, counted, some_of, weights_in
from .votes import Votes

LARGEST_RATING = 1e30  # so that single precision holds differences
DENSE = 16  # times as many codes as rows may be unused


def triples(X: Any, y: Any, weight: Any = None) -> Read:
    """The paper's Omega and Y: integers (i, j, k), and y = +-1; ``weight`` is what each counts, 1 by default."""
    given = checked_triples(X)
    u, j, k = (given[:, c].astype(np.int32) for c in range(3))
    if y is not None:
        sign = signs(y, len(given))
        j, k = np.where(sign == 1, j, k), np.where(sign == 1, k, j)
    if weight is not None and np.shape(weight) != (len(given),):
        raise InputError(
            f"sample_weight has shape {np.shape(weight)}; it must have one entry per row of X, {len(given)}"
        )
    w = None if weight is None else weights_in(np.asarray(weight), "sample_weight")
    users, (u,) = _integers([u])
    items, (j, k) = _integers([j, k])
    return counted(users, items, Pairs(u, j, k, w))


def _integers(columns: list[Any]) -> tuple[Ids, list[Any]]:
    """All integers from 0 to the largest; or where most of these do not occur, only those that do."""
    n = max(int(column.max()) for column in columns) + 1
    if n <= DENSE * sum(map(len, columns)) + 1024:
        return np.arange(n, dtype=np.int64), columns
    return factorize([column.astype(np.int64) for column in columns], "code")


def checked_triples(X: Any) -> Any:
    """An array of rows (user, item, another item) of codes."""
    try:
        given = np.asarray(X)
    except ValueError:
        raise InputError("X has rows of different lengths; each must be three integers: user, item, item") from None
    if given.ndim != 2 or given.shape[1] != 3:
        raise InputError(f"X has shape {given.shape}; it must have three columns: user, item, item")
    if given.dtype.kind not in "iu":
        raise InputError(f"X holds values of type {given.dtype}; it must hold integers (user, item, item)")
    if not len(given):
        raise InputError("X has no rows; it must have one per comparison")
    for bad, accepted in ((given < 0, "at least 0"), (given >= 2**31 - 1, "below 2,147,483,647")):
        rows = np.flatnonzero(bad.any(axis=1))
        if len(rows):
            raise InputError(f"X in row {rows[0]} is {given[rows[0]].tolist()}; codes must be {accepted}")
    same = np.flatnonzero(given[:, 1] == given[:, 2])
    if len(same):
        raise InputError(f"X in row {same[0]} compares item {given[same[0], 1]} with itself; drop such rows")
    return given


def signs(y: Any, n: int) -> Any:
    """A column of +1 and -1, one for each of n comparisons."""
    sign = np.asarray(y)
    if sign.shape != (n,):
        raise InputError(f"y has shape {sign.shape}; it must have one entry per row of X, {n}")
    bad = np.flatnonzero((sign != 1) & (sign != -1))
    if len(bad):
        raise InputError(f"y in row {bad[0]} is {quoted(sign[bad[0]])}; it must be +1 or -1")
    return sign


def ratings(
    frame: Any, user: str, item: str, rating: str, what: str = "rating", better: int = 1, alone: bool = True
) -> tuple[Ids, Ids, Rated]:
    """One row per rating; with ``better=-1`` smaller ones are better, as in a ranking.

    ``alone``: whether they must compare something by themselves.
    """
    got = frames.columns(frame, {"user": user, "item": item, what: rating})
    users, u, items, j = users_and_items(got, user, item)
    values = frames.numbers(got[what], f"the {what} (column {rating!r})")
    large = np.flatnonzero(np.abs(values) > LARGEST_RATING)
    if len(large):
        raise InputError(
            f"the {what} (column {rating!r}) in row {large[0]} is {values[large[0]]}; "
            f"it must be from {-LARGEST_RATING:g} to {LARGEST_RATING:g}",
            row=int(large[0]),
        )
    if not len(u):
        raise InputError(f"there are no {what}s: the table has no rows")
    order = once_each(users, u, items, j)
    rated = Rated(len(users), len(items), Ratings(u[order], j[order], better * values[order]))
    if alone:
        some_of(rated, f"no user {'rated' if what == 'rating' else 'ranked'} two items differently")
    return users, items, rated


def menus(frame: Any, user: str, menu: str, item: str, chosen: str) -> Read:
    """One row per item shown; rows with the same (user, menu) form one menu."""
    got = frames.columns(frame, {"user": user, "menu": menu, "item": item, "chosen": chosen})
    users, u, items, j = users_and_items(got, user, item)
    names, (g,) = factorize([as_ids(got["menu"], f"the menu (column {menu!r})")], "menu")
    took = frames.flags(got["chosen"], f"the choice (column {chosen!r})")
    if not len(u):
        raise InputError("there are no menus: the table has no rows")
    order = np.lexsort((~took, g, u))  # menus together, chosen items first
    u, g, j, took = u[order], g[order], j[order], took[order]
    first = np.flatnonzero(np.r_[True, (u[1:] != u[:-1]) | (g[1:] != g[:-1])])
    size = np.diff(np.r_[first, len(u)])
    group = np.repeat(np.arange(len(first)), size)
    repeated = np.lexsort((j, group))
    twice = np.flatnonzero((group[repeated][1:] == group[repeated][:-1]) & (j[repeated][1:] == j[repeated][:-1]))
    if len(twice):
        at = repeated[twice[0]]
        rows = np.sort(order[repeated[twice[0] : twice[0] + 2]])
        raise InputError(
            f"item {quoted(items[j[at]])} is twice in menu {quoted(names[g[at]])} of user {quoted(users[u[at]])} "
            f"(rows {rows[0]} and {rows[1]}); keep one"
        )
    n_chosen = np.add.reduceat(took.astype(np.int64), first)
    n_left = (size - n_chosen)[group]
    winners = np.flatnonzero(took)
    t = np.repeat(winners, n_left[winners])
    within = np.arange(len(t)) - np.repeat(np.cumsum(n_left[winners]) - n_left[winners], n_left[winners])
    losers = (first + n_chosen)[group[t]] + within
    pairs = by_user(Pairs(u[t], j[t], j[losers], group=group[t]))
    source = Votes(len(users), len(items), pairs)
    return users, items, some_of(source, "no menu has both a chosen item and one that was not")


def clicks(frame: Any, user: str, item: str, rule: ClickRule, alone: bool = True) -> Read:
    """One row per click; repeated ones count once."""
    got = frames.columns(frame, {"user": user, "item": item})
    users, u, items, j = users_and_items(got, user, item)
    if not len(u):
        raise InputError("there are no clicks: the table has no rows")
    key = np.sort(u.astype(np.int64) * len(items) + j)  # not np.unique, which hashes: several times slower
    key = key[np.r_[True, key[1:] != key[:-1]]]
    table = Clicks((key // len(items)).astype(np.int32), (key % len(items)).astype(np.int32))
    source = clicked(len(users), len(items), table, rule)
    if alone and not len(source):
        why = "the clicks are on one item" if len(items) == 1 else "every user clicked every item"
        raise InputError(f"there is nothing to compare: {why}", remedy="clicks of all")
    return users, items, source
