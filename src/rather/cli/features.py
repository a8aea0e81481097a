"""Tables of features for items and people on the command line, and the coefficients that a model learned."""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data.frames import columns as frame_columns
from ..data.frames import names_in
from ..data.ids import Ids, as_ids
from ..errors import InputError
from .answer import Document
from .commands import wrapped
from .ids import MISSING, as_text, check_complete, is_text
from .inputs import about, read_table, shown
from .roles import candidates, plain, the_column

ROLES = ("item", "user")
# As numbers are written, of any size: 007 is a code.
NUMBER = re.compile(r"[+-]?((?!0[0-9])[0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE)


def add_features(parser: Any) -> None:
    """The options that name tables of features."""
    group = parser.add_argument_group(
        "Features",
        wrapped(
            "Tables with one row per item or user: its id, and columns of numbers, categories or several categories "
            "with | between them. AltSVM and Convex learn from them."
        ),
    )
    for role, columns in (("item", "item, year, genres"), ("user", "user, age, country")):
        group.add_argument(f"--{role}-features", metavar="FILE", help=f"columns such as {columns}")


def files_of(options: argparse.Namespace) -> tuple[str | None, ...]:
    """The files of features that were given."""
    return tuple(getattr(options, f"{role}_features") for role in ROLES)


def read_features(options: argparse.Namespace, names: Mapping[str, str | None]) -> dict[str, Any]:
    """The tables of --item-features and --user-features, as arguments; ``names`` are the data's columns by role."""
    given = {role: file for role, file in zip(ROLES, files_of(options), strict=True) if file is not None}
    return {f"{role}_features": _table(file, role, names.get(role), options) for role, file in given.items()}


def _table(file: str, role: str, own: str | None, options: argparse.Namespace) -> Any:
    frame = read_table(file, options)
    present = names_in(frame)
    key = _id_column(role, present, own, shown(file))
    with about(f"{role}_features"):
        check_complete(frame, {role: key})
        as_ids(frame_columns(frame, {role: key})[role], f"the {role} (column {key!r})")
    called = {name: role if name == key != own else name for name in present}
    if isinstance(frame, dict):
        return {called[name]: column if name == key else values(column) for name, column in frame.items()}
    return frame.rename_columns([called[name] for name in present])


def _id_column(role: str, present: list[str], own: str | None, file: str) -> str:
    """The column of ids: called as in the data, as its role, or like it; of several the one that ends in id."""
    if own in present:
        return str(own)
    spelled = candidates(role, present, {}) + [name for name in present if plain(name) == "id"]
    ids = [name for name in spelled if plain(name).endswith("id")]
    if role not in present and len(ids) == 1:
        return ids[0]
    return the_column(role, present, {}, file, option=False)


def values(column: Ids) -> Ids:
    """A column of CSV: numbers if all that it has are some, else text; what is missing is NaN or None."""
    if not is_text(column):
        return column
    fields = column.tolist()
    every = set(fields)
    there = {field for field in every if field.strip() and field not in MISSING}
    if there and all(NUMBER.fullmatch(field.strip()) for field in there):
        return np.array([float(field) if field in there else math.nan for field in fields])
    words = {field: field if field.strip() and there else None for field in every}
    return np.array([words[field] for field in fields], dtype=object)


def titles(model: Any, options: argparse.Namespace) -> dict[Any, str]:
    """Return the names of items from the table of --titles; items of equal name get their ids."""
    frame, file = read_table(options.titles, options), shown(options.titles)
    present = names_in(frame)
    key = _id_column("item", present, None, file)
    columns = {"item": key, "title": the_column("title", [x for x in present if x != key], {}, file, option=False)}
    got = frame_columns(frame, columns)
    with about("titles"):
        ids, known = as_ids(got["item"], f"the item (column {key!r})"), set(model.items_.tolist())
    texts = ["" if title is None else str(title).strip() for title in got["title"]]
    pairs = zip((as_text(ids) if is_text(model.items_) else ids).tolist(), texts, strict=True)
    called = {item: title for item, title in pairs if title and item in known}
    if not called:
        raise InputError(f"{file} has no title of any item of the model; is it the table of these items?")
    often = Counter(called.values())
    return {item: title if often[title] == 1 else f"{title} [{item}]" for item, title in called.items()}


# -- what a model made of them ----------------------------------------------------------------------------------------


def check_learns(model: Any) -> None:
    """Refuse a model of a kind that does not learn from features."""
    if not hasattr(model, "add_items"):
        raise InputError(f"{type(model).__name__} does not learn from features; fit AltSVM with --item-features")


def learned(model: Any, compared: Mapping[str, int]) -> Document:
    """By "item" and "user": the blocks of their features, what is said of them, how many are only described."""
    made: Document = {}
    for role in ROLES:
        one = model.fitted.features.get(role)
        if one is not None:
            known = len(model.items_ if role == "item" else model.users_)
            said = {"said": list(one.encoder.said), "only_described": known - compared[role]}
            made[role] = {"blocks": blocks(model, role), **said}
    return made


def blocks(model: Any, role: str) -> list[Document]:
    """The blocks of features that a model was fitted with, of items or of users."""
    names = "block", "columns", "strength", "used", "gain", "error"
    return [{name: getattr(row, name) for name in names} for row in model.features_ if row.of == role]


def sentence(block: Document) -> str:
    """Return a sentence about the use of a block."""
    gain = f"{-block['gain']:+.4f} +- {block['error']:.4f}"
    if block["used"]:
        many = "1 column" if block["columns"] == 1 else f"{block['columns']:,} columns"
        return f"{block['block']} ({many}) used" + ("" if math.isnan(block["gain"]) else f", log loss {gain}")
    return f"{block['block']} off: " + ("too little to tell" if math.isnan(block["gain"]) else "did not help")


def told(features: Document) -> dict[str, str]:
    """The same for people: a few lines for each role."""
    lines = {}
    for role, one in features.items():
        more = one["only_described"]
        joined = [f"{role}s that are described and were never compared: {more:,}"] if more else []
        lines[f"{role}s' features"] = "\n".join(["; ".join(map(sentence, one["blocks"])), *one["said"], *joined])
    return lines
