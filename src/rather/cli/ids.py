"""Ids that were typed or read from text, as the kind of id that a model has: text, or whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data import frames
from ..data.csv_text import INTEGER
from ..data.ids import Ids, as_ids, factorize, quoted
from ..errors import InputError
from .inputs import IDS, Source


def is_text(ids: Ids) -> bool:
    """Whether ids are text rather than whole numbers."""
    return len(ids) > 0 and isinstance(ids[0], str)


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


def like_the_models(source: Source, model: Any) -> Source:
    """A table whose columns of ids are of the model's kind: the same ids may look like text in one file only."""
    columns = {role: name for role, name in source.columns.items() if name is not None}
    return source._replace(frame=matched(source.frame, columns, model))


def matched(frame: Any, columns: Mapping[str, str], model: Any) -> Any:
    """The same for a table and the names of its columns by role."""
    got = frames.columns(frame, columns)
    changed = False
    for role in IDS.keys() & columns.keys():
        ids, column = _known(model, IDS[role]), as_ids(got[role], f"the {role} (column {columns[role]!r})")
        if not len(column) or is_text(ids) == is_text(column):
            continue
        got[role], changed = _converted(column, is_text(ids), IDS[role], f"the {role} (column {columns[role]!r})"), True
    return {columns[role]: column for role, column in got.items()} if changed else frame


def _converted(column: Ids, to_text: bool, what: str, where: str) -> Ids:
    if to_text:
        return np.array([str(value) for value in column.tolist()], dtype=object)
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
