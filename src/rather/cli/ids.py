"""Ids that were typed or read from text, converted to the model's kind: text or whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data import frames
from ..data.ids import INTEGER, Ids, as_ids, factorize, quoted
from ..errors import InputError

MISSING = frozenset(("NaN", "nan", "NAN", "NA", "N/A", "n/a", "<NA>", "NULL", "null", "None", "none", "NaT"))


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
    such = ""
    if is_text(ids) == bool(INTEGER.fullmatch(str(value))):
        such = f" (its {what}s are {'text' if is_text(ids) else 'whole numbers'} such as {quoted(ids[0])})"
    return InputError(f"{what} {quoted(value)} is not in the model{such}; {advice}")


def known_user(model: Any, text: str, advice: str) -> Any:
    """The user of that id, as typed, whom the model must know."""
    user = typed(model, "user", text)
    if not known_users(model, [user]).all():
        raise strange(model, "user", user, advice)
    return user


def known_users(model: Any, users: Any) -> Any:
    """A mask of the users that a model knows."""
    return model.fitted.users.codes(as_ids(users, "the list of users")) >= 0


def different(frame: Any, column: str) -> Ids:
    """The different ids of a table's user column."""
    ids = as_ids(frames.columns(frame, {"user": column})["user"], f"the user (column {column!r})")
    return factorize([ids], "user")[0]


def check_complete(frame: Any, columns: Mapping[str, str | None]) -> None:
    """Refuse a column of ids of CSV that is all whole numbers but for words that stand for what is missing."""
    if not isinstance(frame, dict):
        return
    for role in ("user", "winner", "loser", "item", "menu"):
        name = columns.get(role)
        if name is None or not is_text(frame[name]):
            continue
        fields = frame[name].tolist()
        every = set(fields)
        others = every - MISSING
        if others and others != every and all(map(INTEGER.fullmatch, others)):
            row = next(row for row, field in enumerate(fields) if field in MISSING)
            raise InputError(
                f"the {role} (column {name!r}) in row {row} is {fields[row]!r} and all others are whole numbers; "
                "drop such rows",
                row=row,
            )


def of_one_kind(frame: Any, *names: str) -> Any:
    """A table where columns of the same ids are all text, if one is and it is of CSV, which cannot say so."""
    if not isinstance(frame, dict) or len({is_text(frame[name]) for name in names}) == 1:
        return frame
    return {**frame, **{name: as_text(frame[name]) for name in names}}


def _known(model: Any, what: str) -> Ids:
    ids: Ids = model.users_ if what == "user" else model.items_
    return ids
