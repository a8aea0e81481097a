"""rather split: split a file into training and test data."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import frames
from ..data.ids import as_ids, factorize, users_and_items
from ..data.rows import once_each
from ..data.splits import Split, split_clicks, split_ratings, split_time
from ..data.table_files import write_tables
from ..errors import InputError
from .answer import Document, facts
from .ids import different
from .inputs import Source, as_read, read_source, shown
from .outputs import check_different, check_table
from .roles import the_column

if TYPE_CHECKING:
    from rich.console import Console

    from .answer import Answer

ONCE = "ratings", "rankings"  # which have a user's item once
PER_USER, MIN_TEST, SHARE_BY_TIME = 50, 10, 0.2


def split(options: argparse.Namespace) -> Answer:
    _check(options)
    source = read_source(options)
    if source.about["format"] in ONCE:
        user, item = str(source.columns["user"]), str(source.columns["item"])
        once_each(*users_and_items(frames.columns(source.frame, {"user": user, "item": item}), user, item))
    made = _by_time(source, options) if options.time is not None else _at_random(source, options)
    write_tables({options.train: made.train, options.test: made.test})
    who, about = source.columns["user"], source.about
    if options.time is not None:
        about = about | {"columns": about["columns"] | {"timestamp": _time(source, options)}}
    parts = {"all": source.frame, "train": made.train, "test": made.test}
    rows = {name: frames.length(part) for name, part in parts.items()}
    return about | {
        "rows": rows,
        "users": None if who is None else {name: _users(part, who) for name, part in parts.items()},
        "left_out": {"rows": rows["all"] - rows["train"] - rows["test"], "users": made.left_out, "why": made.why},
        "train": options.train,
        "test": options.test,
    }, _show


def _check(options: argparse.Namespace) -> None:
    check_different("the data and the two parts", (options.file, options.train, options.test))
    for path in (options.train, options.test):
        check_table(path, options.force)
    by_count = options.per_user is not None or options.min_test is not None
    if by_count + (options.time is not None or options.test_share is not None) != 1:
        raise InputError(
            "split takes --per-user N (ratings to train on), --test-share X (at random) or --time (the last rows, "
            "with --test-share for how many): one of the three"
        )
    if options.by is not None and options.time is None:
        raise InputError("--by says whose time is cut and goes with --time; leave it out")


def _by_time(source: Source, options: argparse.Namespace) -> Split:
    """Split by time: later rows are for testing."""
    by, share = options.by or "everyone", SHARE_BY_TIME if options.test_share is None else options.test_share
    user = source.columns["user"]
    if user is None and by == "user":
        raise InputError("--by user needs users, and --no-user says there are none; leave one of them out")
    together = source.columns.get("menu") or source.columns.get("item")
    return split_time(source.frame, share, _time(source, options), user or "user", by, together)


def _time(source: Source, options: argparse.Namespace) -> str:
    """The column of times, told or guessed."""
    told = None if options.time == "" else options.time
    return the_column("timestamp", frames.names_in(source.frame), {"timestamp": told}, shown(options.file))


def _at_random(source: Source, options: argparse.Namespace) -> Split:
    """Split at random: some of every user's rows, menus or items are for testing."""
    if options.test_share is None:
        if source.about["format"] != "ratings":
            raise InputError(f"--per-user is for ratings, and these are {source.about['format']}; give --test-share")
        per_user = PER_USER if options.per_user is None else options.per_user
        least = MIN_TEST if options.min_test is None else options.min_test
        user, item = str(source.columns["user"]), str(source.columns["item"])
        return split_ratings(source.frame, per_user, least, options.seed, user, item)
    whose, what = _units(source)
    table = {"user": whose, "item": what, "row": np.arange(len(whose))}
    _, held = split_clicks(table, options.test_share, options.seed)
    test = np.isin(table["row"], held["row"])
    if not test.any():
        most = np.bincount(np.unique(np.stack((whose, what)), axis=1)[0]).max()
        few = "no user has more than one" if most == 1 else f"the most rows of a user are {most}; give a larger share"
        raise InputError(f"--test-share is {options.test_share:g}, which holds nothing out: {few}")
    return Split(frames.take(source.frame, ~test), frames.take(source.frame, test))


def _units(source: Source) -> tuple[Any, Any]:
    """Return each row's user, and its unit: the menu, the item or, without these, the vote."""
    n = frames.length(source.frame)
    what = "menu" if "menu" in source.columns else "item"
    named = {role: name for role, name in source.columns.items() if role in ("user", what) and name is not None}
    codes = {
        role: factorize([as_ids(column, f"the {role} (column {named[role]!r})")], role)[1][0]
        for role, column in frames.columns(source.frame, named).items()
    }
    return codes.get("user", np.zeros(n, np.int64)), codes.get(what, np.arange(n))


def _users(part: Any, user: str) -> int:
    return len(different(part, user)) if frames.length(part) else 0


def _show(document: Document, console: Console) -> None:
    def part(name: str) -> str:
        users = f" of {document['users'][name]:,} users" if document["users"] else ""
        return f"{document['rows'][name]:,} rows{users} to {document[name]}"

    left, why = document["left_out"], document["left_out"]["why"]
    nothing = not left["rows"] and not left["users"]
    gone = "nothing" if nothing else f"{left['rows']:,} rows of {left['users']:,} users{f': {why}' if why else ''}"
    facts(console, {"data": as_read(document), "train": part("train"), "test": part("test"), "left out": gone})
    nobody = "" if document["users"] else " --no-user"
    console.print(f"\nNext: rather fit {document['train']} --out model.rather{nobody}")
    console.print(f"      rather evaluate model.rather {document['test']}{nobody}")
