"""The users and items that a command is about: a user, all users or a new person; all items or some."""

from __future__ import annotations

import argparse
from typing import Any

from ..data import frames
from ..data.ids import as_ids
from ..errors import InputError
from ..estimators import ESTIMATORS, load
from ..models.answers import check_answers
from ..models.clicked import ClickModel
from .ids import as_text, is_text, of_one_kind, typed
from .inputs import about, add_csv, read_table, shown
from .roles import candidates, the_column


def add_answers(parser: Any) -> None:
    """The options that describe a newcomer."""
    group = parser.add_argument_group("Somebody new, instead of USER")
    group.add_argument("--answers", metavar="FILE", help="table of one person's answers: winner, loser; or item")
    group.add_argument(
        "--prefers", nargs=2, action="append", metavar=("WINNER", "LOSER"), help="one answer; may be repeated"
    )
    add_feature(group)


def add_reading(parser: Any) -> None:
    """The options for experts that say how the answers were collected, and how tables are read."""
    group = parser.add_argument_group("Advanced")
    group.add_argument(
        "--asked", action="store_true",
        help="the new person was shown the items, as 'rather ask' does, and did not choose them",
    )  # fmt: skip
    add_csv(group)


def add_feature(parser: Any) -> None:
    """The option that says what is known of a newcomer."""
    parser.add_argument(
        "--feature", action="append", default=[], metavar="NAME=VALUE",
        help="a feature of the person, such as age=30; may be repeated",
    )  # fmt: skip


def add_items(parser: Any) -> None:
    """The options that narrow the items."""
    parser.add_argument("--items", nargs="+", metavar="ID", help="only these items")
    parser.add_argument(
        "--items-file", metavar="FILE", help="only the items in this table's column 'item', or its only column"
    )


def opened(path: str) -> tuple[Any, dict[str, str]]:
    """A model whose tables have the roles for names, and what its data called the columns."""
    model = load(path)
    own, model.fitted.names = dict(model.fitted.names), {}
    return model, own


def is_newcomer(options: argparse.Namespace) -> bool:
    if options.asked and options.answers is None and not options.prefers:
        raise InputError("--asked is about a newcomer's --answers or --prefers; give some, or leave it out")
    return options.answers is not None or bool(options.prefers or options.feature)


def newcomer(model: Any, options: argparse.Namespace) -> Any:
    """The person who gave the answers in --answers and --prefers, and is as --feature says."""
    check_takes_newcomers(model)
    pairs: list[Any] = [] if options.answers is None else _answers(model, options)
    for winner, loser in options.prefers or ():
        pairs.append((typed(model, "item", winner), typed(model, "item", loser)))
    return model.fold_in(pairs, features=known_of(options), asked=options.asked)


def check_takes_newcomers(model: Any) -> None:
    if not hasattr(model, "fold_in"):
        able = ", ".join(name for name, kind in ESTIMATORS.items() if hasattr(kind, "fold_in"))
        raise InputError(f"{type(model).__name__} cannot take newcomers; fit one of {able}")


def known_of(options: argparse.Namespace) -> dict[str, str | None] | None:
    """Return the features of a new person as text, which is read as the model's features are; None without any."""
    known: dict[str, str | None] = {}
    for text in options.feature:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InputError(f"--feature is {text!r}; it must be NAME=VALUE, such as age=30")
        if name in known:
            raise InputError(f"--feature gives {name!r} twice; give it once (several categories have | between)")
        known[name] = value.strip() or None
    return known or None


def _answers(model: Any, options: argparse.Namespace) -> list[Any]:
    """The pairs of a table; a click model also takes a column of the items that were clicked."""
    frame, file = read_table(options.answers, options), shown(options.answers)
    present = frames.names_in(frame)
    check_answers(frame, file, next(iter(candidates("user", present, {})), None))
    for role in (name for name in ("weight", "side") if name in present):
        raise InputError(f"{file} has a column {role!r}, which is not read here; leave it out")
    clicked = None if candidates("winner", present, {}) else next(iter(candidates("item", present, {})), None)
    if clicked is not None:
        if not isinstance(model, ClickModel):
            raise InputError(f"{file} has items without winners; {type(model).__name__} takes winners and losers")
        with about("answers"):
            return _ids_in(model, frame, {"item": clicked})["item"]
    columns = {role: the_column(role, present, {}, file, option=False) for role in ("winner", "loser")}
    with about("answers"):
        return _pairs(model, frame, columns)


def _pairs(model: Any, frame: Any, columns: dict[str, str]) -> list[tuple[Any, ...]]:
    tied = (
        frames.flags(frames.columns(frame, {"tie": "tie"})["tie"], "the tie")
        if "tie" in frames.names_in(frame)
        else None
    )
    pairs = zip(*_ids_in(model, frame, columns).values(), strict=True)
    return [(*pair, "tie") if tied is not None and tied[n] else pair for n, pair in enumerate(pairs)]


def _ids_in(model: Any, frame: Any, columns: dict[str, str]) -> dict[str, list[Any]]:
    """The items in some columns of a table by role, of the model's kind of id."""
    got = frames.columns(of_one_kind(frame, *columns.values()), columns)
    read = {role: as_ids(got[role], f"the {role} (column {name!r})") for role, name in columns.items()}
    return {role: (as_text(ids) if is_text(model.items_) else ids).tolist() for role, ids in read.items()}


def items(model: Any, options: argparse.Namespace) -> Any:
    """The items to choose from, or None for all."""
    if options.items is not None and options.items_file is not None:
        raise InputError("--items and --items-file both say what to choose from; give one of them")
    if options.items is not None:
        return [typed(model, "item", text) for text in options.items]
    if options.items_file is None:
        return None
    frame, file = read_table(options.items_file, options), shown(options.items_file)
    present = frames.names_in(frame)
    name = present[0] if len(present) == 1 else the_column("item", present, {}, file, option=False)
    if (name if is_text(model.items_) else name.lstrip("-")) in map(str, model.items_.tolist()):
        raise InputError(f"the first line of {file} is {name!r}, an item of the model; put a line 'item' above it")
    with about("items_file"):
        return as_ids(frames.columns(frame, {"item": name})["item"], f"the item (column {name!r})")
