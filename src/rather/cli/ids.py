"""Ids that were typed or read from text, as the kind of id that a model has: text, or whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data import frames
from ..data.csv_text import INTEGER
from ..data.ids import Ids, as_ids, factorize, quoted
from ..errors import InputError
from .roles import IDS


def is_text(ids: Ids) -> bool:
    """Whether ids are text rather than whole numbers."""
    return len(ids) > 0 and isinstance(ids[0], str)


def as_text(ids: Ids) -> Ids:
    """Ids as text."""
    return np.array([str(value) for value in ids.tolist()], dtype=object)


def typed(model: Any, what: str, text: str) -> Any:
    """An id from the command line; ``what`` is "user" or "item"."""
    ids = _known(model, what)
    if is_text(ids):
        return text
    if not INTEGER.fullmatch(text):
        raise InputError(f"{what} {text!r} is not in the model, whose {what}s are whole numbers such as {ids[0]}")
    return int(text)


def strange(model: Any, what: str, value: Any, advice: str) -> InputError:
    """The sentence about an id that a model does not know."""
    ids = _known(model, what)
    such = f" (its {what}s are text such as {ids[0]!r})" if is_text(ids) and INTEGER.fullmatch(str(value)) else ""
    return InputError(f"{what} {quoted(value)} was not in the training data{such}; {advice}")


def known_users(model: Any, users: Any) -> Any:
    """A mask of the users that a model knows."""
    return model.user_vocabulary_.codes(as_ids(users, "the list of users")) >= 0


def different(frame: Any, column: str) -> Ids:
    """The different ids of a table's user column."""
    ids = as_ids(frames.columns(frame, {"user": column})["user"], f"the user (column {column!r})")
    return factorize([ids], "user")[0]


def of_one_kind(frame: Any, first: str, second: str) -> Any:
    """A dict of columns where two that hold the same ids are both text, if one is: CSV cannot say which they are."""
    if is_text(frame[first]) == is_text(frame[second]):
        return frame
    return {**frame, **{name: as_text(frame[name]) for name in (first, second)}}


def matched(frame: Any, columns: Mapping[str, str], model: Any) -> Any:
    """A table whose columns of ids, by role, are of the model's kind: the same ids may be text in one file only."""
    got = frames.columns(frame, {role: name for role, name in columns.items() if role in IDS})
    changed = {}
    for role, column in got.items():
        ids, where = _known(model, IDS[role]), f"the {role} (column {columns[role]!r})"
        if len(column) and is_text(ids) != is_text(column):
            changed[columns[role]] = _converted(as_ids(column, where), is_text(ids), IDS[role], where)
    if not changed:
        return frame
    return {name: changed.get(name, column) for name, column in frames.columns(frame, _same(columns)).items()}


def _same(columns: Mapping[str, str]) -> dict[str, str]:
    return {name: name for name in columns.values()}


def _converted(column: Ids, to_text: bool, what: str, where: str) -> Ids:
    if to_text:
        return as_text(column)
    for row, value in enumerate(column.tolist()):
        if not INTEGER.fullmatch(value):
            raise InputError(
                f"{where} in row {row} is {value!r}, and the model's {what}s are whole numbers; drop such rows, or "
                "name the model of these data"
            )
    return as_ids([int(value) for value in column.tolist()], where)


def _known(model: Any, what: str) -> Ids:
    ids: Ids = model.users_ if what == "user" else model.items_
    return ids
