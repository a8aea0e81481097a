"""Items that must not be shown: what was seen, a list for everybody, or lists of each user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..data import frames
from ..data.comparisons import Comparisons
from ..data.ids import Codes, Ids, Vocabulary, as_ids, factorize, quoted
from ..data.rows import Mask, row_starts
from ..data.tables import Table
from ..errors import InputError

Rows = tuple[Any, Any]  # (starts, items): those of row i are items[starts[i] : starts[i + 1]]


def exclusions(
    exclude: Any,
    users: Ids,
    among: Codes,
    *,
    people: Vocabulary,
    items: Vocabulary,
    seen: Callable[[], Rows] | None,
    names: Mapping[str, str],
) -> tuple[Rows | None, Codes]:
    """Return the items that each user must not be shown, and the items left for all of them, as codes.

    ``people`` and ``items`` are those that the model knows; ``seen`` is what "seen" means for the users.
    """
    if exclude is None:
        return None, among
    if isinstance(exclude, str):
        if exclude != "seen":
            raise InputError(f"exclude is {exclude!r}; it must be None, 'seen', items, comparisons or a table")
        if seen is None:
            raise InputError("exclude='seen' needs a model that knows what was seen; give a table of users and items")
        return seen(), among
    if isinstance(exclude, Table):
        exclude = exclude.columns
    if isinstance(exclude, Comparisons):
        start, item = exclude.source.met()
        who, what = np.repeat(exclude.users, np.diff(start)), exclude.items[item]
    elif is_list(exclude):
        gone = items.known(exclude if hasattr(exclude, "__array__") else list(exclude), "exclude known items")
        return None, among[~np.isin(among, gone)]
    else:
        own = {role: _column(exclude, role, names) for role in ("user", "item")}
        got = frames.columns(exclude, own)
        who, what = as_ids(got["user"], "the user to exclude for"), as_ids(got["item"], "the item to exclude")
    codes = items.codes(what)
    if len(codes) and not (codes >= 0).any():
        raise InputError(
            f"the model knows none of the items to exclude, such as {quoted(what[0])}; are they of these data?"
        )
    return _for_each(users, who, codes, people), among


def for_one_person(exclude: Any, names: Mapping[str, str]) -> Any:
    """The items not to show a newcomer, "seen" or None; what says other users' items is refused."""
    if isinstance(exclude, str):
        return exclude if exclude == "seen" else [exclude]
    if exclude is None or is_list(exclude):
        return exclude
    table = exclude.columns if isinstance(exclude, Table) else exclude
    if isinstance(table, Comparisons) or _column(table, "user", names) in frames.names_in(table):
        raise InputError("exclude says what not to show to users, and a newcomer is none of them; give items alone")
    return frames.columns(table, {"item": _column(table, "item", names)})["item"]


def is_list(values: Any) -> bool:
    """Whether these are ids rather than a table of them."""
    return isinstance(values, (list, tuple, set, frozenset, np.ndarray)) or (
        isinstance(values, Iterable) and not isinstance(values, Mapping) and not hasattr(values, "columns")
    )


def is_in(rows: Rows, u: Codes, j: Codes) -> Mask:
    """Whether row u holds item j, for each of many."""
    who, at = np.unique(u, return_inverse=True)
    start, item = select(rows, who.astype(np.int32))
    n = max(int(item.max(initial=0)), int(j.max(initial=0))) + 1
    held = np.sort(np.repeat(np.arange(len(who)), np.diff(start)) * n + item)
    asked = at.reshape(-1) * n + j
    if not len(held):
        return np.zeros(len(u), bool)
    return np.asarray(held[np.minimum(np.searchsorted(held, asked), len(held) - 1)] == asked)


def select(rows: Rows, chosen: Codes) -> Rows:
    """Some rows, in the order chosen; none for a negative code."""
    start, item = rows
    known = np.maximum(chosen, 0)
    size = np.where(chosen >= 0, np.diff(start)[known], 0) if len(start) > 1 else np.zeros(len(chosen), np.int64)
    new_start = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    begin = start[known] if len(start) > 1 else np.zeros(len(chosen), np.int64)
    flat = np.arange(new_start[-1]) - np.repeat(new_start[:-1], size) + np.repeat(begin, size)
    return new_start, np.ascontiguousarray(item[flat])


def _column(table: Any, role: str, names: Mapping[str, str]) -> str:
    """The caller's own name of a column, where the table has it."""
    frames.kind_of(table)
    own = names.get(role, role)
    return own if own in frames.names_in(table) else role


def _for_each(users: Ids, who: Ids, what: Codes, people: Vocabulary) -> Rows:
    """The items of (user, item) rows, for each of the users asked about."""
    asked = Vocabulary(factorize([users], "user")[0], "user")
    code = asked.codes(who)
    if len(who) and not (code >= 0).any() and not (people.codes(who) >= 0).any():
        raise InputError(
            f"the model knows none of the users to exclude for, such as {quoted(who[0])}; are they of these data?"
        )
    fine = (code >= 0) & (what >= 0)
    code, what = code[fine], what[fine]
    rows = row_starts(code, len(asked)), what[np.argsort(code, kind="stable")]
    return select(rows, asked.codes(users))
