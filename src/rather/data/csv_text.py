"""Read CSV text as columns: by pyarrow if it is installed and the text is long, else by the standard library.

Both readers return equal columns, or equal errors, for a text. If pyarrow meets anything unusual, the
standard library reads the text again, and its result counts.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import memory
from ..errors import FileError, InputError
from .ids import INTEGER

Columns = dict[str, npt.NDArray[Any]]

LONG = 2**20  # bytes from which on importing pyarrow pays
BLOCK = 2**22  # bytes that pyarrow reads at a time
PYARROW, STANDARD_LIBRARY = (3, 27), (1, 130)  # bytes of memory that a byte of text takes, and a field, as measured
INSTEAD = "leave out columns or rows that are not needed, or give a Parquet file"


def columns_of(raw: bytes, name: str, delimiter: str | None = None, encoding: str = "utf-8") -> Columns:
    """The columns of CSV text, by the names in its first row.

    A column is int64 (or objects, beyond 64 bits) if every field is an integer as it is printed, else text. ``name``
    says in errors where the text is from; a delimiter of None is whichever of , ; and tab the first line has most of.
    """
    raw = _as_utf8(raw, name, encoding)
    delimiter = delimiter or _delimiter(raw)
    made = read_by_pyarrow(raw, name, delimiter) if len(raw) >= LONG else None
    return read_by_standard_library(raw, name, delimiter) if made is None else made


def line_of(raw: bytes, row: int, name: str, delimiter: str | None = None, encoding: str = "utf-8") -> int:
    """Return the line, from 1, on which a row of such columns begins."""
    raw = _as_utf8(raw, name, encoding)
    reader = _rows(raw, delimiter or _delimiter(raw))
    next(reader)
    line: int = reader.line_num + 1
    for fields in reader:
        if fields and not row:
            break
        row -= bool(fields)
        line = reader.line_num + 1
    return line


def _delimiter(raw: bytes) -> str:
    """Return whichever of , ; and tab the first line has most of."""
    head = re.split(b"[\r\n]", raw[: 2**16], maxsplit=1)[0]
    return max(",;\t", key=lambda mark: head.count(mark.encode()))


def check_encoding(encoding: str) -> None:
    """Refuse what is not the name of a text encoding."""
    try:
        text = codecs.lookup(encoding)._is_text_encoding
    except (LookupError, ValueError):
        text = False
    if not text:
        raise InputError(
            f"encoding is {encoding!r}; it must be one that Python knows, as utf-8, latin-1 or utf-16", "encoding"
        )


def check_delimiter(delimiter: str) -> None:
    """Refuse what cannot stand between fields."""
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise InputError(f"delimiter is {delimiter!r}; it must be one character, as , or ; or | or a tab", "delimiter")


def _as_utf8(raw: bytes, name: str, encoding: str) -> bytes:
    """Return the text in UTF-8 without a byte order mark; the readers check the encoding."""
    check_encoding(encoding)
    if codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig", "ascii"):
        try:
            raw = raw.decode(encoding).encode()
        except (UnicodeError, OverflowError) as e:
            raise FileError(f"{name} cannot be read as {encoding} text: {e}; name the encoding it has") from e
    return raw.removeprefix(codecs.BOM_UTF8)


def _require(raw: bytes, name: str, delimiter: str, a_byte: int, a_field: int) -> None:
    """Refuse text whose columns would not fit in memory."""
    fields = raw.count(delimiter.encode()) + raw.count(b"\n")
    memory.require(float(a_byte * len(raw) + a_field * fields), f"to read {name}", INSTEAD)


# -- the standard library ---------------------------------------------------------------------------------------------


def _rows(raw: bytes, delimiter: str) -> Any:
    return csv.reader(io.TextIOWrapper(io.BytesIO(raw), "utf-8", newline=""), delimiter=delimiter)


def read_by_standard_library(raw: bytes, name: str, delimiter: str) -> Columns:
    _require(raw, name, delimiter, *STANDARD_LIBRARY)
    rows: list[list[str]] = []
    try:
        reader = _rows(raw, delimiter)
        header: list[str] = next(reader, [])
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                raise FileError(f"line {reader.line_num} of {name} has {len(row)} fields; the header has {len(header)}")
            rows.append(row)
    except UnicodeDecodeError as e:
        raise FileError(
            f"{name} cannot be read as CSV text: {e}; save it as UTF-8, or name its encoding (--encoding latin-1)"
        ) from e
    except csv.Error as e:
        raise FileError(f"{name} cannot be read as CSV text: {e}") from e
    seen: set[str] = set()
    twice = next((column for column in header if column in seen or seen.add(column)), None)  # type: ignore[func-returns-value]
    if twice is not None:
        raise FileError(f"the header of {name} has {twice!r} twice; rename one of the columns")
    if not rows:
        raise FileError(f"{name} has no rows below its header")
    return {column: _typed(fields) for column, fields in zip(header, zip(*rows, strict=True), strict=True)}


def _typed(fields: tuple[str, ...]) -> npt.NDArray[Any]:
    """Fields as integers if every one is one, else as strings; frames.numbers() reads floats from strings."""
    if not all(map(INTEGER.fullmatch, fields)):
        return np.array(fields, dtype=object)
    whole = [int(field) for field in fields]
    fits = all(-(2**63) <= value < 2**63 for value in whole)
    return np.array(whole, dtype=np.int64 if fits else object)


# -- pyarrow ----------------------------------------------------------------------------------------------------------


def read_by_pyarrow(raw: bytes, name: str, delimiter: str, block: int = BLOCK) -> Columns | None:
    """The same columns several times faster; None where pyarrow is not installed or the text is not plain enough."""
    try:
        import pyarrow
        import pyarrow.compute as pc
        import pyarrow.csv as arrow_csv
    except ImportError:
        return None
    # Carriage returns alone and NULs are taken differently by the two.
    if not delimiter.isascii() or b"\0" in raw or raw.count(b"\r") != raw.count(b"\r\n"):
        return None
    _require(raw, name, delimiter, *PYARROW)
    try:
        header: list[str] = next(_rows(raw, delimiter), [])
        if not header or len(set(header)) < len(header):
            return None
        quoted = b'"' in raw
        table = arrow_csv.read_csv(
            pyarrow.BufferReader(raw),
            arrow_csv.ReadOptions(block_size=block),
            arrow_csv.ParseOptions(delimiter=delimiter, quote_char='"' if quoted else False, newlines_in_values=quoted),
            arrow_csv.ConvertOptions(
                column_types={column: pyarrow.string() for column in header}, strings_can_be_null=False
            ),
        )
        if table.column_names != header or not table.num_rows:
            return None
        if any(pc.max(pc.binary_length(table[column])).as_py() > csv.field_size_limit() for column in header):
            return None
        return {column: _typed_by_pyarrow(table[column]) for column in header}
    except (pyarrow.ArrowException, UnicodeDecodeError, csv.Error):
        return None


def _typed_by_pyarrow(fields: Any) -> npt.NDArray[Any]:
    """Return the same as ``_typed``, converting each distinct field once."""
    import pyarrow
    import pyarrow.compute as pc

    if INTEGER.fullmatch(fields[0].as_py()):
        try:
            whole = pc.cast(fields, pyarrow.int64())
            if pc.all(pc.equal(pc.cast(whole, pyarrow.string()), fields)).as_py():
                return _numbers(whole.combine_chunks(), np.int64)
        except pyarrow.ArrowInvalid:
            pass
    encoded = pc.dictionary_encode(fields).combine_chunks()
    different = _typed(tuple(encoded.dictionary.to_pylist()))
    return np.asarray(different[_numbers(encoded.indices, np.int32)])


def _numbers(array: Any, dtype: Any) -> npt.NDArray[Any]:
    """The numbers of an Arrow array, none of them missing. (Its own to_numpy() imports pandas first.)"""
    values = np.frombuffer(array.buffers()[1], dtype, array.offset + len(array))[array.offset :]
    return values.copy() if dtype is np.int64 else values  # which may be written to, as any other column
