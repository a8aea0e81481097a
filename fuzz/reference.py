"""What a table means, in plain Python: dictionaries, counters and loops, one row at a time."""

from __future__ import annotations

import math
import struct
from collections import Counter
from itertools import combinations
from typing import Any

Want = tuple[list[Any], list[Any], Counter[Any]]


class Refused(Exception):
    """The table must be refused."""


def single(x: float) -> float:
    """A number as single precision holds it."""
    return float(struct.unpack("f", struct.pack("f", x))[0])


def _kind(column: list[Any]) -> type:
    for value in column:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            raise Refused("an id is missing")
        if value == "":
            raise Refused("an id is empty")
    kinds = {type(value) for value in column}
    if len(kinds) != 1:
        raise Refused("ids of two kinds")
    return kinds.pop()


def _ids(*columns: list[Any]) -> list[Any]:
    """The ids of columns that must be of one kind, in order."""
    if len({_kind(column) for column in columns}) > 1:
        raise Refused("ids of two kinds")
    return sorted({value for column in columns for value in column})


def voted(plain: dict[str, list[Any]], weighted: bool, tied: bool) -> Want:
    """(users, items, how often each (user, winner, loser, weight) is said)."""
    users, items = _ids(plain["user"]), _ids(plain["winner"], plain["loser"])
    said: Counter[Any] = Counter()
    for row, user in enumerate(plain["user"]):
        a, b = plain["winner"][row], plain["loser"][row]
        if a == b:
            raise Refused("an item against itself")
        weight = 1.0
        if weighted:
            given = float(plain["weight"][row])
            if not 0 <= given <= 1e6:
                raise Refused("a weight that is none")
            weight = single(given)
        if tied and plain["tie"][row]:
            weight = single(weight * 0.5)
            said[user, b, a, weight] += weight > 0
        said[user, a, b, weight] += weight > 0
    said = +said
    if not said:
        raise Refused("nothing is said")
    return users, items, said


def rated(plain: dict[str, list[Any]]) -> Want:
    """The same of ratings: every two items of a user of which one is rated higher."""
    users, items = _ids(plain["user"]), _ids(plain["item"])
    by_user: dict[Any, dict[Any, float]] = {}
    for user, item, rating in zip(plain["user"], plain["item"], plain["rating"], strict=True):
        mine = by_user.setdefault(user, {})
        if item in mine:
            raise Refused("an item rated twice")
        mine[item] = float(rating)
    said: Counter[Any] = Counter()
    for user, mine in by_user.items():
        for a, b in combinations(mine, 2):
            if mine[a] != mine[b]:
                better, worse = (a, b) if mine[a] > mine[b] else (b, a)
                said[user, better, worse, 1.0] += 1
    if not said:
        raise Refused("nothing is said")
    return users, items, said


def time_cut(times: list[int], share: float) -> list[bool]:
    """Which rows are later than where training ends; rows of one time stay together."""
    kept = max(len(times) - round(share * len(times)), 1)
    last = sorted(times)[kept - 1]
    return [t > last for t in times]
