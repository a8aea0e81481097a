"""Tables in files: read and write CSV or Parquet."""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from .. import memory
from ..errors import FileError, InputError
from . import frames, tables
from .csv_text import INSTEAD, PYARROW, columns_of, line_of
from .whole_files import cannot_write, destination, existing, written_whole

UNPACKED = 4  # bytes of text for a byte of .gz, about
PIECE = 2**24  # bytes that are read at a time


def read_file(path: str | Path, delimiter: str | None = None, encoding: str | None = None) -> Any:
    """A table from a CSV (.csv, .tsv, .txt, optionally .gz) or Parquet file.

    ``delimiter`` and ``encoding`` are for CSV; by default whichever of , ; and tab there is most of, and UTF-8.
    """
    path = existing(path, "a CSV or Parquet file")
    size = path.stat().st_size
    if not size:
        raise FileError(f"the file {str(path)!r} is empty")
    suffixes = [s.lower() for s in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    kind = suffixes[-2] if packed and len(suffixes) > 1 else "".join(suffixes[-1:])
    if kind == ".parquet":
        for what, given in (("delimiter", delimiter), ("encoding", encoding)):
            if given is not None:
                raise InputError(f"the Parquet file {str(path)!r} has no {what}; leave out {given!r}")
        return _read_parquet(path)
    if kind not in (".csv", ".tsv", ".txt"):
        raise FileError(f"the file {str(path)!r} ends in {kind!r}; it must end in .csv, .tsv, .txt or .parquet")
    text = size * UNPACKED if packed else size
    memory.require(float(text * PYARROW[0]), f"to read the file {str(path)!r}", INSTEAD)
    raw = _raw(path, packed)
    if delimiter is None and kind == ".tsv":
        delimiter = "\t"
    return columns_of(raw, f"the file {str(path)!r}", delimiter, encoding or "utf-8")


def line_in_file(path: str | Path, row: int, delimiter: str | None = None, encoding: str | None = None) -> int | None:
    """Return the line, from 1, on which a row of a CSV file begins; None for Parquet, which has no lines."""
    path = Path(path)
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes[-1:] == [".parquet"]:
        return None
    delimiter = "\t" if delimiter is None and ".tsv" in suffixes[-2:] else delimiter
    return line_of(_raw(path, suffixes[-1:] == [".gz"]), row, str(path), delimiter, encoding or "utf-8")


def _raw(path: Path, packed: bool) -> bytes:
    try:
        with (gzip.open if packed else open)(path, "rb") as f:
            return _read(f, f"to read the file {str(path)!r}")
    except (zlib.error, EOFError, OSError) as e:
        raise FileError(f"the file {str(path)!r} cannot be read as CSV text: {e}") from e


def _read(f: Any, what: str) -> bytes:
    """Read a file piece by piece, because the size of a compressed file is unknown beforehand."""
    pieces, size = [], 0
    while piece := f.read(PIECE):
        pieces.append(piece)
        size += len(piece)
        memory.require(float(size * PYARROW[0]), what, INSTEAD)
    return b"".join(pieces)


def _read_parquet(path: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as e:
        raise FileError(f"reading {path.name} needs pyarrow; install it with: pip install pyarrow") from e
    try:
        names = pyarrow.parquet.read_schema(path).names
        twice = next((name for name in names if names.count(name) > 1), None)
        table = pyarrow.parquet.read_table(path) if twice is None else None
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as e:
        reason = str(e).splitlines()[0].partition(". ")[0].rstrip(".")
        raise FileError(f"the file {str(path)!r} cannot be read as Parquet: {reason}") from e
    if twice is not None:
        raise FileError(f"the file {str(path)!r} has the column {twice!r} twice; rename one of the columns")
    return table


def table_destination(path: str | Path) -> Path:
    """The path of a table that can be written, which must end in .csv or .parquet."""
    path = destination(path)
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise FileError(f"the file {str(path)!r} ends in {path.suffix!r}; it must end in .csv or .parquet")
    return path


def write_table(path: str | Path, columns: Any) -> None:
    """A dict of columns, or an Arrow table, as a CSV or Parquet file, by suffix: complete or absent."""
    write_tables({path: columns})


def write_tables(tables: Mapping[Any, Any]) -> None:
    """Tables by path. No file takes its name before all are complete."""
    paths = {table_destination(path): columns for path, columns in tables.items()}
    with ExitStack() as files:
        opened = [(files.enter_context(written_whole(path)), path, columns) for path, columns in paths.items()]
        for f, path, columns in opened:
            try:
                (_write_csv if path.suffix.lower() == ".csv" else _write_parquet)(f, columns)
                f.flush()
                os.fsync(f.fileno())
            except OSError as e:  # which the other files, still open, would take for theirs
                raise cannot_write(path, e) from e


def _write_csv(f: Any, columns: Any) -> None:
    text = io.TextIOWrapper(f, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    names = frames.names_in(columns)
    writer.writerow(names)
    writer.writerows(zip(*(_values(columns[name]) for name in names), strict=True))
    text.detach()


def _values(column: Any) -> list[Any]:
    values: list[Any] = (getattr(column, "to_pylist", None) or column.tolist)()
    return values


def _write_parquet(f: Any, columns: Any) -> None:
    try:
        import pyarrow.parquet
    except ImportError as e:
        raise InputError("writing Parquet needs pyarrow; install it with: pip install pyarrow") from e
    table = tables.make(columns, "pyarrow") if isinstance(columns, Mapping) else columns
    pyarrow.parquet.write_table(table, f)
