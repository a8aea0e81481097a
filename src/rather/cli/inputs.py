"""Input files: the format, given or guessed from the columns, and the comparisons in them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

from ..data.comparisons import Comparisons
from ..data.csv_text import check_delimiter, check_encoding, columns_of, line_of
from ..data.frames import columns as frame_columns
from ..data.frames import names_in
from ..data.table_files import line_in_file, read_file
from ..errors import FileError, InputError
from .answer import Document
from .commands import wrapped
from .ids import check_complete, of_one_kind
from .roles import candidates, option_of, the_column

STANDARD_INPUT = "-"


class Format(NamedTuple):
    """A format of files: its constructor, required and optional columns, and settings."""

    constructor: str
    columns: tuple[str, ...]
    optional: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("accuracy",)


# In the order in which they are guessed: a file of ratings would also do as clicks.
FORMATS = {
    "votes": Format("from_frame", ("user", "winner", "loser"), optional=("weight", "tie", "side")),
    "arena": Format("from_arena", ("user", "left", "right", "outcome"), optional=("weight",)),
    "menus": Format("from_menus", ("user", "menu", "item", "chosen")),
    "ratings": Format("from_ratings", ("user", "item", "rating"), settings=("keep",), metrics=("ndcg", "accuracy")),
    "rankings": Format("from_rankings", ("user", "item", "rank")),
    "clicks": Format("from_clicks", ("user", "item"), settings=("per_user", "unseen"), metrics=("precision",)),
}
COLUMNS = (
    "user", "winner", "loser", "weight", "tie", "side", "left", "right", "outcome", "item", "rating", "menu", "chosen",
    "rank",
)  # fmt: skip
COMPARED = {"votes": ("winner", "loser"), "arena": ("left", "right")}  # columns of items, by format


class Source(NamedTuple):
    """A table that was read, as what, and the names of its columns by role; None where nobody is named."""

    frame: Any
    columns: dict[str, str | None]
    about: Document
    covariates: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    @property
    def format(self) -> Format:
        return FORMATS[self.about["format"]]

    def comparisons(self, **settings: Any) -> Comparisons:
        constructor = getattr(Comparisons, self.format.constructor)
        carried = {"covariates": self.covariates} if self.covariates else {}
        made: Comparisons = constructor(self.frame, **self.columns, **carried, **settings)
        return made


def add_file(parser: Any, required: bool = True) -> None:
    """The argument that names a file of any format."""
    file = "table: .csv, .tsv, .txt (also .gz) or .parquet; - reads CSV text from standard input"
    parser.add_argument("file", metavar="FILE", help=file).required = required


def add_format(parser: Any) -> None:
    """The options that say how such a file is read, all for experts."""
    group = parser.add_argument_group("Advanced (reading FILE)")
    group.add_argument("--format", choices=FORMATS, help="content of FILE (default: guessed from its columns)")
    add_csv(group)
    group = parser.add_argument_group(
        "Advanced (if your columns have other names)",
        wrapped("A column is found by its role or a common spelling of it, such as userId or stars. Name any other."),
    )
    for role in COLUMNS:
        formats = ", ".join(name for name, kind in FORMATS.items() if role in kind.columns + kind.optional)
        group.add_argument(option_of(role), dest=f"{role}_column", metavar="NAME", help=f"in {formats}")
    group.add_argument(
        "--covariate", action="append", default=[], metavar="NAME[=A,B]",
        help="in votes, arena: another influence on the judge, such as length; a column with the winner's number less "
        "the loser's (left less right), or the two columns A and B to subtract; may be repeated",
    )  # fmt: skip
    group.add_argument("--no-user", action="store_true", help="the votes name nobody; all belong to 'everyone'")


def add_csv(parser: Any) -> None:
    """The options that say how CSV text is written."""
    parser.add_argument("--delimiter", metavar="C", help="separator of CSV fields, or tab (default: the one found)")
    parser.add_argument("--encoding", metavar="NAME", help="encoding of CSV, such as latin-1 (default: utf-8)")


def shown(file: str) -> str:
    """A file as sentences name it."""
    return "standard input" if file == STANDARD_INPUT else repr(file)


def read_table(file: str, options: argparse.Namespace) -> Any:
    """The table in a file or, for -, in the CSV text that is piped in."""
    delimiter, encoding = _delimiter(options), options.encoding
    if delimiter is not None:
        check_delimiter(delimiter)
    if encoding is not None:
        check_encoding(encoding)
    if file != STANDARD_INPUT:
        return read_file(file, delimiter, encoding)
    options.piped = raw = sys.stdin.buffer.read()
    if not raw:
        raise FileError("standard input is empty; pipe CSV text into the command")
    return columns_of(raw, "standard input", delimiter, encoding or "utf-8")


def _delimiter(options: argparse.Namespace) -> str | None:
    return "\t" if options.delimiter in ("tab", "\\t") else options.delimiter


@contextmanager
def about(table: str) -> Iterator[None]:
    """Say of an error about a row that it is in the table that an option names."""
    try:
        yield
    except InputError as e:
        e.table = e.table or table
        raise


def place(error: InputError, options: argparse.Namespace) -> str | None:
    """Return the file and the line of an error about a row of a file that was read, as an editor numbers lines."""
    file = getattr(options, error.table or "file", None)
    if error.row is None or file is None:
        return None
    how = error.row, _delimiter(options), options.encoding
    if file == STANDARD_INPUT:
        row, delimiter, encoding = how
        return f"standard input, line {line_of(options.piped, row, file, delimiter, encoding or 'utf-8')}"
    line = line_in_file(file, *how)
    return f"{file}, row {error.row}" if line is None else f"{file}, line {line}"


def read_source(options: argparse.Namespace) -> Source:
    """Read options.file as options.format says or, failing that, as its columns suggest."""
    given = {role: getattr(options, f"{role}_column") for role in COLUMNS}
    if options.no_user and given["user"] is not None:
        raise InputError("--user names a column of users and --no-user says there is none; give one of them")
    frame, file = read_table(options.file, options), shown(options.file)
    present = names_in(frame)
    name = options.format or guess(file, present, given, options.no_user)
    kind = FORMATS[name]
    for role, column in given.items():
        if column is not None and role not in kind.columns + kind.optional:
            raise InputError(
                f"{name} have no {role}, so the column {column!r} cannot be it; leave {option_of(role)} out"
            )
    if name not in COMPARED and (options.no_user or options.covariate):
        option = "--no-user" if options.no_user else "--covariate"
        raise InputError(f"{option} goes with votes and arenas' logs, and {file} holds {name}; leave it out")
    covariates = dict(map(_covariate, options.covariate))
    for column in (column for columns in covariates.values() for column in columns if column not in present):
        raise InputError(f"{file} has no column {column!r} (for a covariate); it has {', '.join(map(repr, present))}")
    columns: dict[str, str | None] = {}
    for role in kind.columns:
        columns[role] = None if role == "user" and options.no_user else the_column(role, present, given, file)
    for role in kind.optional:
        if given[role] or (candidates(role, present, given) and (role != "side" or _is_side(frame, columns))):
            columns[role] = the_column(role, present, given, file)
    check_complete(frame, columns)
    if name in COMPARED:
        frame = of_one_kind(frame, *(str(columns[role]) for role in COMPARED[name]))
    named = {role: column for role, column in columns.items() if column is not None}
    about = {"file": options.file, "format": name, "guessed": options.format is None, "columns": named}
    if covariates:
        about["covariates"] = sorted(covariates)
    return Source(frame, columns, about, covariates)


def _is_side(frame: Any, columns: Mapping[str, str | None]) -> bool:
    """Whether a column 'side' that nobody named can be one: truths about the winner, or the items that stood first."""
    named = {"side": "side", **{role: str(columns[role]) for role in COMPARED["votes"]}}
    said, *items = ({str(value) for value in column} for column in frame_columns(frame, named).values())
    return {word.lower() for word in said} <= {"true", "false"} or said <= items[0] | items[1]


def _covariate(text: str) -> tuple[str, tuple[str, ...]]:
    """A covariate's name and columns: NAME, or NAME=A,B."""
    name, equals, columns = text.partition("=")
    return name, tuple(columns.split(",")) if equals else (name,)


def guess(file: str, present: list[str], given: Mapping[str, str | None], no_user: bool) -> str:
    """The format that a table's columns suggest: one whose roles all have their own names, else by spelling."""
    for role, column in given.items():
        if column is not None and column not in present:
            have = ", ".join(map(repr, present))
            raise InputError(f"{file} has no column {column!r} (for the {role}); it has {have}")
    wanted = {name: [r for r in kind.columns if not (no_user and r == "user")] for name, kind in FORMATS.items()}
    exact = [name for name, roles in wanted.items() if all((given[role] or role) in present for role in roles)]
    spelled = [name for name, roles in wanted.items() if all(candidates(role, present, given) for role in roles)]
    for name in [name for name in exact if name != "clicks"] + spelled:  # whose roles most other files have too
        return name
    if all(candidates(role, present, given) for role in ("winner", "loser")):
        raise InputError(
            f"{file} has a winner and a loser but no user among {', '.join(map(repr, present))}; name the column with "
            "--user, or give --no-user if the votes name nobody"
        )
    if len(present) == 1:
        raise InputError(
            f"{file} has one column alone, {present[0]!r}; say what stands between fields with --delimiter, if it is "
            "neither a comma nor a semicolon nor a tab"
        )
    raise InputError(
        f"{file.strip(chr(39))}: cannot guess the format from the columns {', '.join(present)}; for votes give --user, "
        "--winner and --loser; for two items and an answer give --user, --left, --right and --outcome; or say with "
        "--format what it holds"
    )


def as_read(document: Document) -> str:
    """Return a sentence about how a file was read."""
    guessed = ", guessed" if document["guessed"] else ""
    columns = (name if name == role else f"{name} as {role}" for role, name in document["columns"].items())
    return f"{shown(document['file']).strip(chr(39))} (read as {document['format']}{guessed}: {', '.join(columns)})"
