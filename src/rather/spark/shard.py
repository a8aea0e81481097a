"""The users of a task: rows from Spark, in any order, as codes and a source that do not depend on the order.

Users are numbered in the order of their ids within a shard, and each user's rows are in the order of items. So a shard
is the same whichever task reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.clicks import AgainstUnseen, ClickRule, DrawnPairs, drawn
from ..data.frames import EXACT
from ..data.ids import quoted
from ..data.ratings import Levels, Rated
from ..data.rows import Clicks, Pairs, Ratings, by_user, halved
from ..data.source import Source
from ..data.vote_readers import LARGEST_WEIGHT
from ..data.votes import Votes
from ..errors import InputError
from ..native import FloatArray, core
from .group import Group
from .plan import ITEM, SAID, USER, Plan


@dataclass(frozen=True)
class Shard:
    """Users of neighbouring shards, what they said in codes, and what the job before left of its state."""

    users: pa.Array  # ids, by code
    number: Any  # of the shard of each
    first: int  # of the shards
    start: Any  # of every shard's users
    user: Any  # of every row
    a: Any
    b: Any
    x: Any
    tie: Any
    state_users: Any  # codes
    user_rows: FloatArray
    items: Any  # codes
    item_rows: FloatArray

    def source(self, plan: Plan, group: Group, n_threads: int) -> Source:
        """The data of the users in the form of an ordinary fit."""
        size = len(self.users), plan.n_items
        made: Votes | Levels
        if plan.kind == "votes":
            made = Votes(*size, self._pairs(plan.weighted))
        elif plan.kind == "ratings":
            made = Rated(*size, Ratings(self.user, self.a, self.x))
        else:
            made = self._drawn(plan, group)
        if plan.params["ties"] == "half" and isinstance(made, Votes) and made.pairs().tied is not None:
            made = made.without_ties()
        if isinstance(made, Votes):  # by as many threads as the task may have
            p = made.pairs()
            made._store = core.store_from_pairs(*size, p.user, p.winner, p.loser, p.weight, None, n_threads)
        else:
            r = made.levels
            made._store = core.store_from_ratings(*size, r.user, r.item, r.rating, n_threads)
        return made

    def popularity(self, plan: Plan, group: Group) -> Any:
        """Return the number of rows of each item, over all users."""
        found = np.bincount(self.a, minlength=plan.n_items).astype(np.float64)
        group.sum(found)
        return found

    def _pairs(self, weighted: bool) -> Pairs:
        pairs = Pairs(self.user, self.a, self.b, self.x.astype(np.float32) if weighted else None)
        if self.tie.any():
            pairs = by_user(halved(pairs, self.tie))
        return pairs.take(pairs.weights() > 0) if weighted else pairs

    def _drawn(self, plan: Plan, group: Group) -> AgainstUnseen | DrawnPairs:
        """Clicks against items drawn, shard by shard, by how popular they are with everybody."""
        popularity = self.popularity(plan, group)
        rule, parts = ClickRule(plan.per_user, plan.unseen, plan.params["seed"]), []
        for k, (first, last) in enumerate(pairwise(self.start.tolist())):
            rows = slice(*np.searchsorted(self.user, (first, last)))
            clicks = Clicks(self.user[rows] - np.int32(first), self.a[rows])
            seed = int(np.random.SeedSequence([rule.seed, self.first + k]).generate_state(1, np.uint64)[0] >> 1)
            one = drawn(last - first, plan.n_items, clicks, replace(rule, seed=seed), popularity)
            parts.append((one.user + np.int32(first), *one.columns()[1:3]))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        clicks, size = Clicks(self.user, self.a), (len(self.users), plan.n_items)
        if plan.per_user is None:
            return AgainstUnseen(*size, clicks, rule, clicks, Ratings(*columns))
        return DrawnPairs(*size, clicks, rule, clicks, Pairs(*columns))


def read_shards(plan: Plan, rank: int, batches: Iterator[pa.RecordBatch]) -> Shard:
    """The shards of a task, from all its rows."""
    got = list(batches)
    table = pa.Table.from_batches(got) if got else _nothing()
    each = plan.n_shards // plan.n_tasks
    first = rank * each
    kind = _column(table, "kind", np.int8)
    said, left, items = (table.filter(pa.array(kind == k)) for k in (SAID, USER, ITEM))
    users, number, code = _numbered(said, first, each)
    start = np.searchsorted(number, np.arange(first, first + each + 1)).astype(np.int64)
    a, b = (_column(said, name, np.int32, -1) for name in "ab")
    x, tie = _column(said, "x", np.float64, np.nan), _column(said, "tie", bool, False)
    _check(plan, users, code, a, b, x)
    order = np.lexsort((tie, x, b, a, code))
    code, a, b, x, tie = (np.ascontiguousarray(column[order]) for column in (code, a, b, x, tie))
    twice = np.flatnonzero((code[1:] == code[:-1]) & (a[1:] == a[:-1])) if plan.kind != "votes" else np.empty(0, int)
    if len(twice) and plan.kind == "ratings":
        raise InputError(f"user {_id(users, code[twice[0]])} rates an item twice; keep one")
    if len(twice):
        once = np.ones(len(code), bool)
        once[twice] = False
        code, a, b, x, tie = (column[once] for column in (code, a, b, x, tie))
    return Shard(
        users, number, first, start, code, a, b, x, tie,
        _codes(left, users), _vectors(left), _column(items, "a", np.int32), _vectors(items),
    )  # fmt: skip


def _check(plan: Plan, users: pa.Array, code: Any, a: Any, b: Any, x: Any) -> None:
    """Refuse rows that say nothing or cannot be."""

    def refuse(bad: Any, what: str) -> None:
        if bad.any():
            raise InputError(f"a row of user {_id(users, code[np.argmax(bad)])} {what}")

    refuse(a < 0, "has no item; drop such rows first")
    if plan.kind == "votes":
        refuse(b < 0, "has no loser; drop such rows first")
        refuse(a == b, "compares an item with itself; drop such rows")
        if plan.weighted:
            refuse(~((x >= 0) & (x <= LARGEST_WEIGHT)), f"has a weight that is not from 0 to {LARGEST_WEIGHT:,.0f}")
    if plan.kind == "ratings":
        refuse(~np.isfinite(x), "has a rating that is missing or not finite; drop such rows first")
        refuse(np.abs(x) >= EXACT, "has a rating beyond 2**53, where whole numbers tie; rescale them")


def _numbered(said: pa.Table, first: int, count: int) -> tuple[pa.Array, Any, Any]:
    """The ids of users by shard and then in order, the shard of each, and the code of every row."""
    column = said["user"]
    if column.null_count:
        raise InputError("a row has no user; drop such rows first")
    if pa.types.is_string(column.type):
        column = column.cast(pa.large_string())
    words = column.combine_chunks().dictionary_encode()
    words = words.combine_chunks() if isinstance(words, pa.ChunkedArray) else words
    order = pc.sort_indices(words.dictionary).to_numpy()
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    shard = _column(said, "shard", np.int64)
    if len(shard) and not (first <= shard.min() and shard.max() < first + count):
        raise InputError("rows came to a task that has other shards: Spark's hash is not the one that is known here")
    key = shard * max(len(order), 1) + place[words.indices.to_numpy(zero_copy_only=False)]
    found, code = np.unique(key, return_inverse=True)
    users = words.dictionary.take(pa.array(order)).take(pa.array(found % max(len(order), 1)))
    if pa.types.is_large_string(users.type):
        users = users.cast(pa.string())
    return users, found // max(len(order), 1), code.reshape(-1).astype(np.int32)


def _codes(rows: pa.Table, users: pa.Array) -> Any:
    """The codes of users whose state there is."""
    if not len(rows):
        return np.empty(0, np.int64)
    found = pc.index_in(rows["user"], users)
    if found.null_count or len(rows) != len(users):
        raise InputError("the users of the checkpoint are not those of the data, which must have changed; begin anew")
    return found.to_numpy()


def _vectors(rows: pa.Table) -> FloatArray:
    """All numbers of their vectors, one row after the other."""
    parts = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in rows["vector"].chunks]
    return np.concatenate([np.empty(0, np.float32), *parts])


def _column(table: pa.Table, name: str, kind: Any, missing: Any = None) -> Any:
    column = table[name]
    if missing is not None and column.null_count:
        column = pc.fill_null(column, pa.scalar(missing, column.type))
    return column.to_numpy().astype(kind, copy=False)


def _nothing() -> pa.Table:
    """Return the parts of a task that got no rows."""
    types = {
        "kind": pa.int8(), "shard": pa.int32(), "user": pa.int64(), "a": pa.int32(), "b": pa.int32(),
        "x": pa.float64(), "tie": pa.bool_(), "vector": pa.list_(pa.float32()),
    }  # fmt: skip
    return pa.table({name: pa.array([], its_type) for name, its_type in types.items()})


def _id(users: pa.Array, code: Any) -> str:
    return quoted(users[int(code)].as_py())
