"""The votes that ``rather serve`` keeps, as a source for ``rather fit``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import InputError
from .inputs import COLUMNS, Source
from .roles import option_of

NEEDS = "this needs what 'rather serve' does; run: pip install 'rather[serve]'"


def add_votes(parser: Any) -> None:
    """The options that name a database instead of a file."""
    parser.add_argument(
        "--votes", metavar="DATABASE",
        help="instead of FILE: votes that 'rather serve' keeps, such as FOLDER/votes.sqlite or "
        "postgresql://USER@HOST/NAME",
    )  # fmt: skip
    parser.add_argument("--marked", action="store_true", help="with --votes: also votes that look like a script's")


def kept_file(options: argparse.Namespace) -> str | None:
    """The file that the votes are in, where it is one."""
    if options.votes is None or "://" in options.votes:
        return None
    return str(Path(options.votes) / "votes.sqlite" if Path(options.votes).is_dir() else options.votes)


def read_votes(options: argparse.Namespace) -> Source:
    """The votes that stand."""
    given = next((role for role in COLUMNS if getattr(options, f"{role}_column") is not None), None)
    if given is not None or options.format or options.no_user or options.covariate:
        option = option_of(given) if given else "--format" if options.format else "--no-user or --covariate"
        raise InputError(f"{option} is about a FILE; leave it out with --votes")
    try:
        from ..server.ledger import Ledger
        from ..server.votes import votes
    except ModuleNotFoundError as e:
        raise InputError(NEEDS) from e
    ledger = Ledger(options.votes, must_exist=True)
    try:
        frame, left_out = votes(ledger, options.marked)
    finally:
        ledger.close()
    columns: dict[str, str | None] = {role: role for role in frame}
    about = {"file": ledger.shown.strip("'"), "format": "votes", "guessed": False, "columns": columns}
    return Source(frame, columns, {**about, "marked": left_out})
