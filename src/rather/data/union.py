"""Join later data to earlier data: unite ids, renumber codes, and append or replace rows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from ..errors import InputError
from .ids import Codes, Ids, alike, quoted
from .rows import Clicks, Pairs, Ratings, by_user

Table = TypeVar("Table", Clicks, Pairs, Ratings)
USERS, ITEMS = ("user",), ("item", "winner", "loser")  # columns that are codes
APART = "group"  # numbers that are of one side alone
KNOWN_ON_BOTH = ("gap",)  # what cannot be made up for rows that have none
FILLED = {"weight": 1.0}  # what rows have that say nothing; 0 in other columns


@dataclass(frozen=True)
class Sides:
    """The ids of two sides, and the codes in them of each side's own codes: the earlier side's, then the later's."""

    ids: Ids
    codes: tuple[Codes, Codes]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Union:
    """The users and the items of two sides."""

    users: Sides
    items: Sides

    def __getitem__(self, role: str) -> Sides:
        return self.users if role == "user" else self.items

    @property
    def size(self) -> tuple[int, int]:
        return len(self.users), len(self.items)

    def joined(self, earlier: Table, later: Table) -> Table:
        """The rows of two tables in the united codes, the later ones last.

        An optional column that one side lacks is filled with what it means not to say anything.
        """
        tables = earlier, later
        made: dict[str, Any] = {}
        for name in (field.name for field in fields(earlier)):
            columns = [getattr(table, name) for table in tables]
            if name in USERS + ITEMS:
                codes = (self.users if name in USERS else self.items).codes
                columns = [own[column] for own, column in zip(codes, columns, strict=True)]
            elif sum(column is None for column in columns) >= (1 if name in KNOWN_ON_BOTH else 2):
                made[name] = None
                continue
            elif name == APART:
                columns = _kept_apart(columns, tables)
            else:
                columns = [_filled(column, columns, table, name) for column, table in zip(columns, tables, strict=True)]
            made[name] = np.concatenate(columns)
        return type(earlier)(**made)

    def voted(self, earlier: Pairs, later: Pairs) -> Pairs:
        """The votes of both, in user order."""
        return by_user(self.joined(earlier, later))

    def latest(self, earlier: Table, later: Table) -> Table:
        """The rows of both in the order of users and items, of which a later one takes the place of an earlier."""
        rows: Any = self.joined(earlier, later)
        key = rows.user.astype(np.int64) * len(self.items) + rows.item
        order = np.argsort(key, kind="stable")  # two runs that are in order already, which it merges
        key = key[order]
        return rows.take(order[np.r_[key[1:] != key[:-1], True]])  # type: ignore[no-any-return]


def widened(earlier: tuple[Ids, Ids], role: str, ids: Ids) -> Union:
    """The users and items of one side, (user ids, item ids) in sorted order, and more ids of one role in any order."""
    own = earlier[0] if role == "user" else earlier[1]
    more = alike(ids, own, f"{role}_features")
    more = np.unique(more) if more.dtype == np.int64 else np.array(sorted(set(more.tolist())), dtype=object)
    wider, same = sides(own, more, role), [sides(e, e, "") for e in earlier]
    return Union(wider, same[1]) if role == "user" else Union(same[0], wider)


def united(earlier: tuple[Ids, Ids], later: tuple[Ids, Ids]) -> Union:
    """The users and items of two sides, each (user ids, item ids) in sorted order."""
    return Union(sides(earlier[0], later[0], "user"), sides(earlier[1], later[1], "item"))


def sides(earlier: Ids, later: Ids, what: str) -> Sides:
    """Two sorted lists of ids as one, in time that goes with the longer one only for copying it."""
    if len(earlier) and len(later) and isinstance(earlier[0], str) != isinstance(later[0], str):
        kinds = {isinstance(ids[0], str): quoted(ids[0]) for ids in (earlier, later)}
        where = ("the earlier", "the new") if isinstance(earlier[0], str) else ("the new", "the earlier")
        raise InputError(
            f"{what} ids are strings in {where[0]} comparisons and integers in {where[1]} ({kinds[True]} and "
            f"{kinds[False]}); use one kind"
        )
    if earlier.dtype != later.dtype:
        earlier, later = (ids.astype(object) if len(ids) else np.empty(0, object) for ids in (earlier, later))
    place = np.searchsorted(earlier, later)
    known = np.zeros(len(later), bool)
    inside = place < len(earlier)
    known[inside] = earlier[place[inside]] == later[inside]
    if known.all():
        return Sides(earlier, (np.arange(len(earlier), dtype=np.int32), place.astype(np.int32)))
    if len(earlier) + int((~known).sum()) > 2**31 - 1:
        raise InputError(f"there are more than 2,147,483,647 {what} ids in all; at most as many are supported")
    before = np.cumsum(~known)  # new ids up to each of the later ones, itself counted
    shift = np.zeros(len(earlier) + 1, np.int64)
    np.add.at(shift, place[~known], 1)
    codes = np.arange(len(earlier)) + np.cumsum(shift)[:-1]
    both = codes.astype(np.int32), (place + before - ~known).astype(np.int32)
    return Sides(np.insert(earlier, place[~known], later[~known]), both)


def _rows(table: Any) -> int:
    return len(table.user)


def _kept_apart(columns: list[Any], tables: tuple[Any, Any]) -> list[Any]:
    """Numbers of answers of which the two sides share none; a side without them has one for each row."""
    first, second = (
        np.arange(_rows(table)) if column is None else column for column, table in zip(columns, tables, strict=True)
    )
    return [first, second - second.min(initial=0) + first.max(initial=-1) + 1]


def _filled(column: Any, columns: list[Any], table: Any, name: str) -> Any:
    if column is not None:
        return column
    like = next(other for other in columns if other is not None)
    return np.full((_rows(table), *like.shape[1:]), FILLED.get(name, 0), like.dtype)
