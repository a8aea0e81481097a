"""A table of plain values as some kind of frame or file, and what its plain values are once it is one."""

from __future__ import annotations

import csv
import gzip
import io
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet

from rather.data.table_files import read_file

KINDS = ("lists", "arrays", "pandas", "polars", "pyarrow", "csv", "parquet")
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,99}")
FLOATS = ("weight", "rating")
Plain = dict[str, list[Any]]


def contained(rng: random.Random, columns: Plain, kinds: dict[str, str], folder: Path) -> tuple[Any, Plain]:
    """(frame, plain values). ``kinds`` says what the ids of a column are; text of a CSV file may become integers."""
    huge = "huge" in kinds.values()
    kind = rng.choice([k for k in KINDS if not huge or k in ("lists", "arrays", "pandas", "csv")])
    plain = {name: list(column) for name, column in columns.items()}
    if kind == "csv":
        return _csv(rng, columns, folder)
    if kind == "lists":
        return {name: rng.choice((list, tuple))(column) for name, column in columns.items()}, plain
    make = {"arrays": _array, "pandas": _pandas, "polars": _polars}.get(kind, _arrow)
    made = {name: make(rng, column, kinds.get(name)) for name, column in columns.items()}
    if kind == "arrays":
        return made, plain
    if kind == "pandas":
        index = rng.choice((None, range(5, 5 + len(columns["user"])), [0] * len(columns["user"])))
        frame = pandas.DataFrame(
            {name: list(column) if index else column for name, column in made.items()}, index=index
        )
        return (frame if index else pandas.DataFrame(made)), plain
    if kind == "polars":
        return polars.DataFrame(made), plain
    table = pyarrow.table(made)
    if rng.random() < 0.3 and len(table) > 1:
        table = pyarrow.concat_tables([table[: len(table) // 2], table[len(table) // 2 :]])
    if kind == "parquet":
        path = folder / "table.parquet"
        pyarrow.parquet.write_table(table, path, row_group_size=rng.choice((None, 3)))
        return read_file(path), plain
    return table, plain


def _numbers(rng: random.Random, ids: str | None, column: list[Any]) -> str:
    """A type of integers that holds the column."""
    if ids == "small":
        return rng.choice(("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"))
    return "uint64" if ids == "unsigned" else "int64"


def _array(rng: random.Random, column: list[Any], ids: str | None) -> Any:
    if None in column or ids == "huge":
        return np.array(column, dtype=object)
    if ids in ("small", "int", "unsigned"):
        return np.array(column, dtype=rng.choice((_numbers(rng, ids, column), object)))
    return np.array(column, dtype=object if ids else None)


def _pandas(rng: random.Random, column: list[Any], ids: str | None) -> Any:
    if ids in ("small", "int", "unsigned"):
        dtype = _numbers(rng, ids, column)
        nullable = dtype.replace("int", "Int").replace("uInt", "UInt")
        if None in column:
            return pandas.Series(
                column, dtype=rng.choice((object, "category") if ids == "unsigned" else (nullable, object))
            )
        whole = np.array(column, dtype=dtype)  # of a list, pandas makes UInt64 by way of floats
        return pandas.Series(whole, dtype=rng.choice((dtype, nullable, object, "category")))
    if ids == "huge":
        return pandas.Series(column, dtype=object)
    if ids:
        return pandas.Series(column, dtype=rng.choice(("object", "string", "category", "string[pyarrow]")))
    return pandas.Series(column)


def _polars(rng: random.Random, column: list[Any], ids: str | None) -> Any:
    if ids in ("small", "int", "unsigned"):
        name = _numbers(rng, ids, column).replace("int", "Int").replace("uInt", "UInt")
        return polars.Series(column, dtype=getattr(polars, name))
    if ids:
        given = [value for value in dict.fromkeys(column) if value is not None]
        return polars.Series(column, dtype=rng.choice((polars.String, polars.Categorical, polars.Enum(given))))
    return polars.Series(column)


def _arrow(rng: random.Random, column: list[Any], ids: str | None) -> Any:
    if ids in ("small", "int", "unsigned"):
        made = pyarrow.array(column, type=getattr(pyarrow, _numbers(rng, ids, column))())
        return made.dictionary_encode() if rng.random() < 0.2 else made
    if ids:
        made = pyarrow.array(column, type=rng.choice((pyarrow.string(), pyarrow.large_string())))
        return made.dictionary_encode() if rng.random() < 0.3 else made
    return pyarrow.array(column)


def _csv(rng: random.Random, columns: Plain, folder: Path) -> tuple[Any, Plain]:
    """A CSV file of some dialect: what was None is empty, and a column of integers only is one of integers."""
    mark, end, suffix = rng.choice(
        ((",", "\n", ".csv"), (";", "\r\n", ".csv"), ("\t", "\n", ".tsv"), (",", "\n", ".txt"))
    )
    text = {name: [_field(name, value) for value in column] for name, column in columns.items()}
    out = io.StringIO()
    writer = csv.writer(out, delimiter=mark, lineterminator=end, quoting=rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)))
    writer.writerow(text)
    writer.writerows(zip(*text.values(), strict=True))
    raw = out.getvalue().encode()
    raw = b"\xef\xbb\xbf" + raw if rng.random() < 0.2 else raw
    if rng.random() < 0.2:
        suffix, raw = f"{suffix}.gz", gzip.compress(raw, 1)
    path = folder / f"table{suffix}"
    path.write_bytes(raw)
    plain: Plain = {}
    for name, fields in text.items():
        whole = all(INTEGER.fullmatch(field) for field in fields)
        plain[name] = [int(f) for f in fields] if whole else list(fields)
        if name == "tie":
            plain[name] = [f.lower() in ("true", "1") for f in fields]
    return read_file(path), plain


def _field(name: str, value: Any) -> str:
    if value is None:
        return ""
    return repr(value) if name in FLOATS else str(value)
