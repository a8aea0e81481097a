"""Frames of any kind to (user ids, item ids, source): what the constructors of ``Comparisons`` read."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError
from . import frames
from .clicks import ClickRule, clicked
from .ids import Ids, as_ids, factorize, quoted, users_and_items
from .ratings import Rated
from .rows import SIDE, TIE, Clicks, Mask, Pairs, Ratings, by_user, halved, joined, once_each
from .source import Source
from .votes import Votes

LARGEST_RATING = 1e30  # so that single precision holds differences
LARGEST_WEIGHT = 1e6  # so that single precision holds the squares of sums
DENSE = 16  # times as many codes as rows may be unused
LARGEST_COVARIATE, LEAST_COVARIATE = 1e15, 1e-12
TELLING = 20  # rows that are all alike are no chance
RESERVED = ("user", "winner", "loser", "weight", SIDE, TIE)  # what a table of votes has beside covariates
EVERYONE = "everyone"  # who voted where nobody is named
GOOD, BAD = "both good", "both bad"
_LEFT, _RIGHT = ("left", "a", "first"), ("right", "b", "second")
_MORE = ("model", "response", "assistant", "option")
OUTCOMES = {  # letters alone: 1 where the left one won, -1 the right one, 0 neither
    **dict.fromkeys((*_LEFT, *(f"{more}a" for more in _MORE), "leftwins", "awins"), 1),
    **dict.fromkeys((*_RIGHT, *(f"{more}b" for more in _MORE), "rightwins", "bwins"), -1),
    **dict.fromkeys(("tie", "draw", "equal", "bothgood", "bothbad", "tiebothgood", "tiebothbad", "neither"), 0),
}
KINDS = {"bothgood": 1, "tiebothgood": 1, "bothbad": -1, "tiebothbad": -1, "neither": -1}  # of ties
Covariates = Iterable[str] | Mapping[str, str | tuple[str, str]]

Read = tuple[Ids, Ids, Source]


def votes(
    frame: Any,
    user: str | None,
    winner: str,
    loser: str,
    weight: str | None,
    tie: str | None,
    side: str | None,
    covariates: Covariates,
) -> Read:
    """One row per comparison."""
    asked = covariate_columns(covariates)
    roles = ({} if user is None else {"user": user}) | {"winner": winner, "loser": loser}
    got = frames.columns(frame, {**roles, **_roles(asked)}, {"weight": weight, "tie": tie, "side": side})
    if tie is None and TIE in frames.names_in(frame):
        warnings.warn("the table has a column 'tie', which is not read: give tie='tie', or drop it", stacklevel=4)
    win = as_ids(got["winner"], f"the winner (column {winner!r})")
    lose = as_ids(got["loser"], f"the loser (column {loser!r})")
    tied = None if tie is None else frames.flags(got["tie"], f"the tie (column {tie!r})")
    around = _differences(got, asked)
    if side is not None:
        around = {SIDE: _side(got["side"], win, lose, side), **around}
    return _made(got, user, win, lose, weight, tied, around)


def arena(
    frame: Any,
    user: str | None,
    left: str,
    right: str,
    outcome: str,
    weight: str | None,
    covariates: Covariates,
    bar: Any,
) -> Read:
    """One row per battle: who stood left, who right, and what came of it; ``bar`` is the item of good enough."""
    asked = covariate_columns(covariates)
    roles = ({} if user is None else {"user": user}) | {"left": left, "right": right}
    got = frames.columns(frame, {**roles, "outcome": outcome, **_roles(asked)}, {"weight": weight})
    first = as_ids(got["left"], f"the left item (column {left!r})")
    second = as_ids(got["right"], f"the right item (column {right!r})")
    won = _outcomes(got["outcome"], first, second, outcome)
    decided = won[won != 0]
    if len(decided) >= TELLING and abs(int(decided.sum(dtype=np.int64))) == len(decided):
        raise InputError(
            f"the {'left' if decided[0] > 0 else 'right'} one won in every row that was decided (column {outcome!r}), "
            "so left and right are no sides; read such a table with from_frame(winner=..., loser=...)"
        )
    sign = np.where(won < 0, -1.0, 1.0)
    win, lose = np.where(won < 0, second, first), np.where(won < 0, first, second)
    around = {name: sign * values for name, values in {SIDE: np.ones(len(win)), **_differences(got, asked)}.items()}
    if bar is None:
        return _made(got, user, win, lose, weight, won == 0, around)
    kind = np.array([KINDS.get(_letters(value), 0) for value in np.asarray(got["outcome"], object).tolist()])
    if not kind.any():
        raise InputError(f"no outcome (column {outcome!r}) is {GOOD!r} or {BAD!r}, which a bar is for; leave bar out")
    return _made(got, user, win, lose, weight, won == 0, around, (as_ids([bar], "the bar"), kind))


def _made(
    got: dict[str, Any],
    user: str | None,
    win: Ids,
    lose: Ids,
    weight: str | None,
    tied: Mask | None,
    around: dict[str, Any],
    bar: tuple[Ids, Any] | None = None,
) -> Read:
    """Checked columns as ids and votes: a tie is two halves, one each way.

    A bar is an item's id, and for every row 1 where both were better than it, -1 where both were worse, else 0.
    """
    who = np.full(len(win), EVERYONE, object) if user is None else as_ids(got["user"], f"the user (column {user!r})")
    if not len(who):
        raise InputError("there are no votes: the table has no rows")
    same = np.flatnonzero(win == lose)
    if len(same):
        raise InputError(f"row {same[0]} compares item {quoted(win[same[0]])} with itself; drop such rows")
    w = None if weight is None else _weights(got["weight"], weight)
    users, (u,) = factorize([who], "user")
    if bar is not None and ((win == bar[0][0]) | (lose == bar[0][0])).any():
        raise InputError(f"the bar {quoted(bar[0][0])} is an item of the table; call it otherwise")
    items, (j, k, *line) = factorize([win, lose, *(() if bar is None else (bar[0],))], "item")
    numbers = np.column_stack([*around.values()]).astype(np.float32) if around else None
    pairs = Pairs(u, j, k, w, around=numbers)
    if tied is not None and tied.any():
        pairs = halved(pairs, tied)
    if bar is not None:
        pairs = _beside_bar(pairs, line[0][0], bar[1])
    if w is not None and not w.all():
        pairs = pairs.take(pairs.weights() > 0)
    source = Votes(len(users), len(items), by_user(pairs), effects=tuple(around))
    return users, items, _some(source, "every vote has weight 0")


def _beside_bar(pairs: Pairs, line: int, kind: Any) -> Pairs:
    """The pairs, and for each of the first rows that has a kind of tie two more: of both its items with the bar."""
    ties = np.flatnonzero(kind)
    tied = pairs.take(ties)
    blank = None if tied.around is None else np.zeros_like(tied.around)
    whole = replace(tied, weight=2 * tied.weights().astype(np.float32), tied=np.zeros(len(ties), bool), around=blank)
    good, bars = kind[ties] > 0, np.full(len(ties), line, np.int32)
    sides = (
        replace(whole, winner=np.where(good, items, bars), loser=np.where(good, bars, items))
        for items in (tied.winner, tied.loser)
    )
    return joined(pairs, *sides)


def covariate_columns(covariates: Covariates) -> dict[str, tuple[str, ...]]:
    """The columns of every covariate: one of differences, or the winner's (left's) own and the loser's (right's)."""
    if isinstance(covariates, str):
        covariates = (covariates,)
    given = dict(covariates) if isinstance(covariates, Mapping) else {name: name for name in covariates}
    made: dict[str, tuple[str, ...]] = {}
    for name, columns in given.items():
        made[name] = (columns,) if isinstance(columns, str) else tuple(columns)
        if (
            not isinstance(name, str)
            or not all(isinstance(c, str) for c in made[name])
            or len(made[name]) not in (1, 2)
        ):
            raise InputError(f"the covariate {name!r} has the columns {columns!r}; give one of differences, or two")
        if name in RESERVED:
            raise InputError(f"a covariate cannot be called {name!r}: that is the name of another column")
    return made


def _roles(asked: dict[str, tuple[str, ...]]) -> dict[str, str]:
    return {f"covariate {name} {n}": column for name, columns in asked.items() for n, column in enumerate(columns)}


def _differences(got: dict[str, Any], asked: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """The covariates, one item's less the other's."""
    made = {}
    for name, columns in asked.items():
        read = []
        for n, column in enumerate(columns):
            values = frames.numbers(got[f"covariate {name} {n}"], f"the covariate (column {column!r})")
            large = np.flatnonzero(np.abs(values) > LARGEST_COVARIATE)
            if len(large):
                raise InputError(
                    f"the covariate (column {column!r}) in row {large[0]} is {values[large[0]]}; "
                    f"it must be from {-LARGEST_COVARIATE:g} to {LARGEST_COVARIATE:g}"
                )
            read.append(values)
        made[name] = read[0] - read[1] if len(read) == 2 else read[0]
        if len(made[name]) >= TELLING and not made[name].any():
            raise InputError(f"the covariate {name!r} is 0 in every row, which says nothing; leave it out")
        if len(made[name]) >= TELLING and (made[name].min() > 0 or made[name].max() < 0):
            raise InputError(
                f"the covariate {name!r} has one sign in all {len(made[name]):,} rows, as no difference has; "
                "give the two columns that it is the difference of"
            )
        if 0 < np.abs(made[name]).max(initial=0) < LEAST_COVARIATE:
            raise InputError(f"the covariate {name!r} is nowhere above {LEAST_COVARIATE:g}; give it in smaller units")
    return made


def _side(values: Any, win: Ids, lose: Ids, column: str) -> Any:
    """+1 where the winner stood first, -1 where the loser did."""
    given = np.asarray(values)
    if given.dtype.kind == "f" and np.isin(given, (-1, 0, 1)).all():  # as to_frame has it where not all are known
        return given
    if given.dtype.kind == "b" or _are_flags(given, win, lose):
        first = frames.flags(values, f"the side (column {column!r})")
    else:
        ids = as_ids(values, f"the side (column {column!r})")
        first = np.asarray(ids == win)
        bad = np.flatnonzero(~first & (ids != lose))
        if len(bad):
            raise InputError(
                f"the side (column {column!r}) in row {bad[0]} is {quoted(ids[bad[0]])}; it must be the item that "
                f"stood first, {quoted(win[bad[0]])} or {quoted(lose[bad[0]])}, or true where the winner did"
            )
    if len(first) >= TELLING and (first.all() or not first.any()):
        raise InputError(
            f"by the side (column {column!r}) the {'winner' if first.all() else 'loser'} stood first in every row; "
            "it must say which was shown first, whatever was chosen then"
        )
    return np.where(first, 1.0, -1.0)


def _are_flags(values: Any, win: Ids, lose: Ids) -> bool:
    """Whether a column says true and false, which no item is called."""
    words = set(map(_word, values.tolist()))
    if any(type(word) is int for word in words) or not words <= {"true", "false", True, False}:
        return False
    return not set(values.tolist()) & {*win.tolist(), *lose.tolist()}


def _letters(value: Any) -> Any:
    """Text as outcomes are compared: both_bad, Both bad and (bothbad) are one."""
    return "".join(letter for letter in value.casefold() if letter.isalnum()) if isinstance(value, str) else value


def _word(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _outcomes(values: Any, left: Ids, right: Ids, column: str) -> Any:
    """+1 where the left one won, -1 where the right one did, 0 for a tie."""
    given = np.asarray(values, object)
    won = np.empty(len(given), np.int8)
    for row, (value, a, b) in enumerate(zip(given.tolist(), left.tolist(), right.tolist(), strict=True)):
        word = _letters(value)
        named = 1 if value == a else -1 if value == b else None
        said = OUTCOMES.get(word) if isinstance(word, str) else None
        if named is not None and said is not None and named != said:
            raise InputError(
                f"the outcome (column {column!r}) in row {row} is {quoted(value)}, which is an item and also a word "
                "for another outcome; write left, right and tie, or call such items otherwise"
            )
        if named is not None:
            won[row] = named
        elif said is not None:
            won[row] = said
        else:
            raise InputError(
                f"the outcome (column {column!r}) in row {row} is {quoted(value)}; it must be left, right or tie "
                "(model_a, 'both bad' and their like are understood, and the item that won): replace it by one of these"
            )
    return won


def _weights(values: Any, column: str) -> Any:
    given = frames.numbers(values, f"the weight (column {column!r})")
    bad = np.flatnonzero((given < 0) | (given > LARGEST_WEIGHT))
    if len(bad):
        raise InputError(
            f"the weight (column {column!r}) in row {bad[0]} is {given[bad[0]]}; "
            f"it must be from 0 to {LARGEST_WEIGHT:,.0f}: scale larger weights down"
        )
    return given.astype(np.float32)


def triples(X: Any, y: Any) -> Read:
    """The paper's Omega and Y: integers (i, j, k), and y = +-1."""
    given = checked_triples(X)
    u, j, k = (given[:, c].astype(np.int32) for c in range(3))
    if y is not None:
        sign = signs(y, len(given))
        j, k = np.where(sign == 1, j, k), np.where(sign == 1, k, j)
    users, (u,) = _integers([u])
    items, (j, k) = _integers([j, k])
    return users, items, Votes(len(users), len(items), by_user(Pairs(u, j, k)))


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
            f"it must be from {-LARGEST_RATING:g} to {LARGEST_RATING:g}"
        )
    if not len(u):
        raise InputError(f"there are no {what}s: the table has no rows")
    order = once_each(users, u, items, j)
    rated = Rated(len(users), len(items), Ratings(u[order], j[order], better * values[order]))
    if alone:
        _some(rated, f"no user {'rated' if what == 'rating' else 'ranked'} two items differently")
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
    return users, items, _some(source, "no menu has both a chosen item and one that was not")


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
    return users, items, _some(source, "every user clicked every item") if alone else source


def _some(source: Source, why_not: str) -> Source:
    """The source, if it holds any comparison."""
    if not len(source):
        raise InputError(f"there is nothing to compare: {why_not}")
    return source
