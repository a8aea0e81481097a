"""Columns out of, and tables back into, whatever kind of frame the user has: pandas, polars, pyarrow or a dict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import FileError, InputError

Array = npt.NDArray[Any]


def kind_of(frame: Any) -> str:
    """Which kind of frame this is: 'dict', 'pandas', 'polars' or 'pyarrow'."""
    if isinstance(frame, Mapping):
        return "dict"
    root = type(frame).__module__.partition(".")[0]
    if root in ("pandas", "polars", "pyarrow"):
        return root
    raise InputError(
        f"the data is a {type(frame).__name__}; it must be a pandas, polars or pyarrow table or a dict of columns"
    )


def columns(frame: Any, names: Mapping[str, str | None]) -> dict[str, Any]:
    """The named columns of a frame (role -> column), all of one length, roles whose name is None left out."""
    kind = kind_of(frame)
    wanted = {role: name for role, name in names.items() if name is not None}
    have = list(frame) if kind == "dict" else list(_narwhal(frame).columns)
    for role, name in wanted.items():
        if name not in have:
            present = ", ".join(repr(c) for c in have) or "none"
            raise InputError(f"there is no column {name!r} (for the {role}); the columns are {present}")
    if kind == "dict":
        out = {role: frame[name] for role, name in wanted.items()}
        out = {role: v if isinstance(v, (list, np.ndarray)) else np.asarray(v) for role, v in out.items()}
    else:
        narwhal = _narwhal(frame)
        out = {role: narwhal.get_column(name).to_numpy() for role, name in wanted.items()}
    lengths = {role: len(v) for role, v in out.items()}
    if len(set(lengths.values())) > 1:
        raise InputError("the columns differ in length: " + ", ".join(f"{r} has {n}" for r, n in lengths.items()))
    return out


def take(frame: Any, rows: npt.NDArray[np.bool_]) -> Any:
    """The rows of a frame where a mask is true, as the same kind of frame."""
    if kind_of(frame) == "dict":
        return {name: np.asarray(column)[rows] for name, column in frame.items()}
    narwhal = _narwhal(frame)
    import narwhals

    mask = narwhals.new_series("mask", rows, backend=narwhal.implementation)
    return narwhal.filter(mask).to_native()


def make(table: Mapping[str, Any], kind: str) -> Any:
    """A frame of the given kind from a dict of columns."""
    if kind == "dict":
        return dict(table)
    if kind not in ("pandas", "polars", "pyarrow"):
        raise InputError(f"the kind of frame is {kind!r}; it must be 'dict', 'pandas', 'polars' or 'pyarrow'")
    try:
        module = __import__(kind)
    except ImportError as e:
        raise InputError(f"{kind} is not installed; install it, or ask for another kind of frame") from e
    plain = {name: column.tolist() if column.dtype == object else column for name, column in table.items()}
    return module.table(plain) if kind == "pyarrow" else module.DataFrame(plain)


def numbers(values: Any, what: str) -> npt.NDArray[np.float64]:
    """A column of finite numbers as float64."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        for row, value in enumerate(values):
            try:
                float(value)
            except (TypeError, ValueError):
                raise InputError(f"{what} in row {row} is {value!r}; it must be a number") from None
        raise InputError(f"{what} cannot be read as numbers") from None
    if array.ndim != 1:
        raise InputError(f"{what} has {array.ndim} dimensions; it must be a flat column")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise InputError(f"{what} in row {bad[0]} is {array[bad[0]]}; it must be a finite number")
    return array


def flags(values: Any, what: str) -> npt.NDArray[np.bool_]:
    """A column of yes or no (booleans, 0 and 1, or the words true and false in any case) as bool."""
    array = np.asarray(values)
    if array.dtype.kind == "b":
        return array.astype(bool)
    meaning = {0: False, 1: True, "0": False, "1": True, "false": False, "true": True}
    out = np.empty(len(array), bool)
    for row, value in enumerate(array.tolist()):
        key = value.strip().lower() if isinstance(value, str) else value
        if key not in meaning:
            raise InputError(f"{what} in row {row} is {value!r}; it must be true or false (or 1 or 0)")
        out[row] = meaning[key]
    return out


def read_file(path: str | Path) -> Any:
    """A table from a CSV (.csv, .tsv, .txt, optionally .gz) or Parquet file."""
    path = Path(path)
    if not path.exists():
        raise FileError(f"there is no file {str(path)!r}")
    if path.is_dir():
        raise FileError(f"{str(path)!r} is a folder; name a CSV or Parquet file")
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
        raise FileError(f"reading {path.name} needs pyarrow; install it with: pip install 'rather[parquet]'") from e
    try:
        return pyarrow.parquet.read_table(path)
    except pyarrow.ArrowException as e:
        raise FileError(f"the file {str(path)!r} cannot be read as Parquet: {str(e).splitlines()[0]}") from e


def _read_csv(path: Path, delimiter: str | None) -> Any:
    import csv
    import gzip

    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as f:
            head = f.readline()
            if delimiter is None:
                delimiter = max(",;\t", key=head.count)
            f.seek(0)
            reader = csv.reader(f, delimiter=delimiter)
            header = next(reader)
            rows: list[list[str]] = []
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    raise FileError(
                        f"line {reader.line_num} of {str(path)!r} has {len(row)} fields; the header has {len(header)}"
                    )
                rows.append(row)
    except (UnicodeDecodeError, csv.Error, gzip.BadGzipFile, EOFError) as e:
        raise FileError(f"the file {str(path)!r} cannot be read as CSV text: {e}") from e
    if not rows:
        raise FileError(f"the file {str(path)!r} has a header and no rows")
    return {name: _typed(column) for name, column in zip(header, zip(*rows, strict=True), strict=True)}


def _typed(column: tuple[str, ...]) -> Array:
    """A CSV column as integers if every field is one, else as strings; numbers() reads floats from strings."""
    try:
        if all(v.lstrip("-").isdecimal() and (v == "0" or v.lstrip("-")[0] != "0") for v in column):
            return np.array([int(v) for v in column], dtype=np.int64)
    except OverflowError:
        pass
    array = np.empty(len(column), dtype=object)
    array[:] = column
    return array


def _narwhal(frame: Any) -> Any:
    import narwhals

    try:
        return narwhals.from_native(frame, eager_only=True)
    except TypeError as e:
        name = type(frame).__name__
        raise InputError(f"the data is a {name}, which is not a table in memory; collect it first") from e
