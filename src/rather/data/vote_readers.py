"""Readers of tables of votes and of arena logs: they return user ids, item ids and a source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..warned import warn
from . import frames
from .ids import Ids, as_ids, as_in, factorize, is_missing, quoted
from .rows import SIDE, TIE, Mask, Pairs, by_user, halved, joined
from .source import Source
from .votes import Votes

LARGEST_WEIGHT = 1e6  # so that single precision holds the squares of sums
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
    **dict.fromkeys(("cantdecide", "cannotdecide", "undecided", "nopreference"), 0),
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
        warn("the table has a column 'tie', which is not read; pass tie='tie', or drop it", "tie-column")
    win = as_ids(got["winner"], f"the winner (column {winner!r})")
    lose = as_ids(got["loser"], f"the loser (column {loser!r})")
    _check_different(win, lose)
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
    first = as_ids(got["left"], f"the item on the left (column {left!r})")
    second = as_ids(got["right"], f"the item on the right (column {right!r})")
    _check_different(first, second)
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


def _check_different(one: Ids, other: Ids) -> None:
    """Refuse an item that is compared with itself."""
    same = np.flatnonzero(one == other)
    if len(same):
        raise InputError(
            f"item {quoted(one[same[0]])} is compared with itself in row {same[0]}; drop such rows", row=int(same[0])
        )


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
    w = None if weight is None else weights_in(got["weight"], weight)
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
    return counted(users, items, pairs, tuple(around))


def counted(users: Ids, items: Ids, pairs: Pairs, effects: tuple[str, ...] = ()) -> Read:
    """Return the ids of all votes, and the votes whose weight is not 0."""
    if pairs.weight is not None and not pairs.weight.all():
        pairs = pairs.take(pairs.weight > 0)
    source = Votes(len(users), len(items), by_user(pairs), effects=effects)
    return users, items, some_of(source, "every vote has weight 0")


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
                    f"it must be from {-LARGEST_COVARIATE:g} to {LARGEST_COVARIATE:g}",
                    row=int(large[0]),
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
                f"stood first, {quoted(win[bad[0]])} or {quoted(lose[bad[0]])}, or true where the winner did",
                row=int(bad[0]),
            )
    if len(first) >= TELLING and (first.all() or not first.any()):
        raise InputError(
            f"by the side (column {column!r}) the {'winner' if first.all() else 'loser'} stood first in every row; "
            "it must say which was shown first, whatever was chosen then"
        )
    return np.where(first, 1.0, -1.0)


def _are_flags(values: Any, win: Ids, lose: Ids) -> bool:
    """Return whether a column holds true and false, and no item has such an id."""
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
    lacking = [row for row, value in enumerate(given.tolist()) if is_missing(value) or _word(value) == ""]
    if lacking:
        raise InputError(
            f"the outcome (column {column!r}) is missing in row {lacking[0]}{as_in(lacking)}; drop such rows, or write "
            "tie where a person could not decide",
            row=lacking[0],
        )
    won = np.empty(len(given), np.int8)
    for row, (value, a, b) in enumerate(zip(given.tolist(), left.tolist(), right.tolist(), strict=True)):
        word = _letters(value)
        named = 1 if value == a else -1 if value == b else None
        said = OUTCOMES.get(word) if isinstance(word, str) else None
        if named is not None and said is not None and named != said:
            raise InputError(
                f"the outcome (column {column!r}) in row {row} is {quoted(value)}, which is an item and also a word "
                "for another outcome; write left, right and tie, or call such items otherwise",
                row=row,
            )
        if named is not None:
            won[row] = named
        elif said is not None:
            won[row] = said
        else:
            raise InputError(
                f"the outcome (column {column!r}) in row {row} is {quoted(value)}, neither {quoted(a)} nor {quoted(b)} "
                "of this row; it must be left, right or tie (model_a, 'both bad' and their like are understood), or "
                "the item that won",
                row=row,
            )
    return won


def weights_in(values: Any, column: str) -> Any:
    given = frames.numbers(values, f"the weight (column {column!r})")
    bad = np.flatnonzero((given < 0) | (given > LARGEST_WEIGHT))
    if len(bad):
        raise InputError(
            f"the weight (column {column!r}) in row {bad[0]} is {given[bad[0]]}; "
            f"it must be from 0 to {LARGEST_WEIGHT:,.0f}: scale larger weights down",
            row=int(bad[0]),
        )
    return given.astype(np.float32)


def some_of(source: Source, why_not: str) -> Source:
    """The source, if it holds any comparison."""
    if not len(source):
        raise InputError(f"there is nothing to compare: {why_not}")
    return source
