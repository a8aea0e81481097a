"""Tables in files: CSV or Parquet in, CSV or Parquet out."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import FileError, InputError
from . import frames
from .whole_files import destination, existing, written_whole

_INTEGER = re.compile("0|-?[1-9][0-9]{0,99}")  # as an integer is printed: 007 stays text


def read_file(path: str | Path) -> Any:
    """A table from a CSV (.csv, .tsv, .txt, optionally .gz) or Parquet file."""
    path = existing(path, "a CSV or Parquet file")
    if not path.stat().st_size:
        raise FileError(f"the file {str(path)!r} is empty")
    suffixes = [s.lower() for s in path.suffixes]
    kind = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else "".join(suffixes[-1:])
    if kind == ".parquet":
        return _read_parquet(path)
    if kind in (".csv", ".tsv", ".txt"):
        return _read_csv(path, "\t" if kind == ".tsv" else None)
    raise FileError(f"the file {str(path)!r} ends in {kind!r}; it must end in .csv, .tsv, .txt or .parquet")


def _read_parquet(path: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as e:
        raise FileError(f"reading {path.name} needs pyarrow; install it with: pip install pyarrow") from e
    try:
        return pyarrow.parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as e:
        reason = str(e).splitlines()[0].partition(". ")[0].rstrip(".")
        raise FileError(f"the file {str(path)!r} cannot be read as Parquet: {reason}") from e


def _read_csv(path: Path, delimiter: str | None) -> Any:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as f:
            head = f.readline()
            if delimiter is None:
                delimiter = max(",;\t", key=head.count)
            f.seek(0)
            reader = csv.reader(f, delimiter=delimiter)
            header = next(reader, [])
            rows: list[list[str]] = []
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    raise FileError(
                        f"line {reader.line_num} of {str(path)!r} has {len(row)} fields; the header has {len(header)}"
                    )
                rows.append(row)
    except (UnicodeDecodeError, csv.Error, zlib.error, EOFError, OSError) as e:
        raise FileError(f"the file {str(path)!r} cannot be read as CSV text: {e}") from e
    twice = next((name for k, name in enumerate(header) if name in header[:k]), None)
    if twice is not None:
        raise FileError(f"the header of {str(path)!r} has {twice!r} twice; rename one of the columns")
    if not rows:
        raise FileError(f"the file {str(path)!r} has no rows below its header")
    return {name: _typed(column) for name, column in zip(header, zip(*rows, strict=True), strict=True)}


def _typed(column: tuple[str, ...]) -> npt.NDArray[Any]:
    """A CSV column as integers if every field is one, else as strings; numbers() reads floats from strings."""
    if not all(map(_INTEGER.fullmatch, column)):
        return np.array(column, dtype=object)
    whole = [int(v) for v in column]
    fits = all(-(2**63) <= v < 2**63 for v in whole)
    return np.array(whole, dtype=np.int64 if fits else object)


def table_destination(path: str | Path) -> Path:
    """The path of a table that can be written, which must end in .csv or .parquet."""
    path = destination(path)
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise FileError(f"the file {str(path)!r} ends in {path.suffix!r}; it must end in .csv or .parquet")
    return path


def write_table(path: str | Path, columns: Mapping[str, Any]) -> None:
    """Columns as a CSV or Parquet file, by suffix: complete under its final name or absent."""
    path = table_destination(path)
    with written_whole(path) as f:
        (_write_csv if path.suffix.lower() == ".csv" else _write_parquet)(f, columns)


def _write_csv(f: Any, columns: Mapping[str, Any]) -> None:
    text = io.TextIOWrapper(f, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    text.detach()


def _write_parquet(f: Any, columns: Mapping[str, Any]) -> None:
    try:
        import pyarrow.parquet
    except ImportError as e:
        raise InputError("writing Parquet needs pyarrow; install it with: pip install pyarrow") from e
    pyarrow.parquet.write_table(frames.make(columns, "pyarrow"), f)
