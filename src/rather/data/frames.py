"""Columns of any kind of frame: pandas, polars, pyarrow, a dict or a table of this package."""

from __future__ import annotations

import contextlib
import datetime
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .ids import INTEGER
from .tables import Table

Array = npt.NDArray[Any]
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
FRACTION = re.compile(r"(.*?\d\d:?\d\d:?\d\d)[.,](\d+)(.*)")  # of a second, in an ISO time
EXACT = 2**53  # up to which float64 has every whole number


def opened(frame: Any) -> Any:
    """Return a :class:`Table` as the dict of its columns, and any other frame as it is."""
    return frame.columns if isinstance(frame, Table) else frame


def kind_of(frame: Any) -> str:
    """Return the kind of a frame: 'dict', 'pandas', 'polars' or 'pyarrow'. A :class:`Table` is a dict of columns."""
    if isinstance(frame, (Mapping, Table)):
        return "dict"
    root = type(frame).__module__.partition(".")[0]
    if root in ("pandas", "polars", "pyarrow"):
        return root
    raise InputError(
        f"the data is of type {type(frame).__name__}; "
        "it must be a pandas, polars or pyarrow table, a rather.Table or a dict of columns"
    )


def columns(frame: Any, names: Mapping[str, str], optional: Mapping[str, str | None] | None = None) -> dict[str, Any]:
    """The named columns of a frame (role -> column), all of one length; optional ones named None are left out."""
    wanted = {**names, **{role: name for role, name in (optional or {}).items() if name is not None}}
    table = opened(frame) if kind_of(frame) == "dict" else _narwhal(frame)
    have = names_in(table)
    for role, name in wanted.items():
        if name not in have:
            present = ", ".join(repr(c) for c in have) or "none"
            raise InputError(f"there is no column {name!r} (for the {role}); the columns are {present}")
    read = _column_of_dict if isinstance(table, Mapping) else _column_of_narwhal
    out = {role: read(table, name) for role, name in wanted.items()}
    lengths = {role: len(v) for role, v in out.items()}
    if len(set(lengths.values())) > 1:
        raise InputError("the columns differ in length: " + ", ".join(f"{r} has {n}" for r, n in lengths.items()))
    return out


def names_in(frame: Any) -> list[str]:
    """The names of a frame's columns."""
    if isinstance(frame, Mapping):
        return list(frame)
    try:
        return list(getattr(frame, "column_names", None) or frame.columns)
    except UnicodeDecodeError as e:
        raise InputError(f"the names of the columns cannot be read: {e}") from e


def _column_of_dict(table: Any, name: str) -> Any:
    column = table[name]
    if isinstance(column, (list, tuple)):
        return list(column)
    if isinstance(column, np.ma.MaskedArray) and np.ma.getmaskarray(column).any():
        row = int(np.argmax(np.ma.getmaskarray(column)))
        raise InputError(f"the column {name!r} is missing in row {row}; drop such rows first", row=row)
    array = np.asarray(column)
    if array.ndim == 0:
        raise InputError(f"the column {name!r} is {column!r}; it must be a list or an array")
    return array


def _column_of_narwhal(table: Any, name: str) -> Any:
    import narwhals

    column = table.get_column(name)
    # Text as Python's own: numpy's is as wide as the longest and drops NULs at the end. It has no integers of 128 bits.
    own = narwhals.String, narwhals.Categorical, narwhals.Enum, narwhals.Int128, narwhals.UInt128
    try:
        return column.to_list() if column.dtype in own else column.to_numpy()
    except (ValueError, TypeError) as e:  # text that is none, for instance
        raise InputError(f"the column {name!r} cannot be read: {' '.join(str(e).split())[:200]}") from e


def length(frame: Any) -> int:
    """The number of a frame's rows."""
    if isinstance(frame, Mapping):
        return len(next(iter(frame.values()), ()))
    return len(frame)


def take(frame: Any, rows: npt.NDArray[np.bool_]) -> Any:
    """The rows of a frame where a mask is true, as the same kind of frame."""
    if kind_of(frame) == "dict":
        got = columns(frame, {name: name for name in names_in(frame)})
        return {
            name: list(compress(column, rows)) if isinstance(column, list) else column[rows]
            for name, column in got.items()
        }
    narwhal = _narwhal(frame)
    import narwhals

    mask = narwhals.new_series("mask", rows, backend=narwhal.implementation)
    return narwhal.filter(mask).to_native()


def numbers(values: Any, what: str) -> npt.NDArray[np.float64]:
    """A column of finite numbers as float64."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "mMc":
        raise InputError(f"{what} holds values of type {values.dtype} (row 0: {values[0]}); it must hold numbers")
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        for row, value in enumerate(values):
            try:
                float(value)
            except (TypeError, ValueError):
                raise InputError(f"{what} in row {row} is {value!r}; it must be a number", row=row) from None
        raise InputError(f"{what} cannot be read as numbers") from None
    if array.ndim != 1:
        raise InputError(f"{what} has {array.ndim} dimensions; it must be a flat column")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise InputError(f"{what} in row {bad[0]} is {array[bad[0]]}; it must be a finite number", row=int(bad[0]))
    if not (isinstance(values, np.ndarray) and values.dtype.kind == "f"):
        for row in np.flatnonzero(np.abs(array) >= EXACT).tolist():
            value = str(values[row])
            if INTEGER.fullmatch(value) and abs(int(value)) > EXACT:
                raise InputError(
                    f"{what} in row {row} is {value}; whole numbers beyond 2**53 would tie: rescale them", row=row
                )
    return array


def times(values: Any, what: str) -> Array:
    """A column of times that can be compared, to their last digit: numbers, dates and times, or text that reads so."""
    array = np.asarray(values)
    if isinstance(values, list) and array.dtype.kind == "f" and set(map(type, values)) != {float}:
        array = np.fromiter(values, object, len(values))  # whole numbers among others keep their last digit
    if array.dtype.kind == "M":
        missing = np.flatnonzero(np.isnat(array))
        if len(missing):
            raise InputError(f"{what} is missing in row {missing[0]}; drop such rows first", row=int(missing[0]))
        return array
    if array.dtype.kind in "iu":
        return array
    if array.dtype.kind == "f":
        return numbers(array, what)
    read = [_time(value, row, what) for row, value in enumerate(array.tolist())]
    if len({dated for dated, _ in read}) > 1:
        raise InputError(f"{what} has both numbers and dates; use one kind")
    out = np.fromiter((value for _, value in read), object, len(read))  # which compare exactly, whatever their size
    return np.unique(out, return_inverse=True)[1]


def _time(value: Any, row: int, what: str) -> tuple[bool, Any]:
    """Return whether a value is a time, and an exact number: for a time, the nanoseconds since 1970, in UTC by default.

    Text may be either; it has at most nine digits of a second.
    """
    read = _from_text(value.strip()) if isinstance(value, str) else (value, 0)
    time, fraction = read or (None, 0)
    if isinstance(time, datetime.date) and not isinstance(time, datetime.datetime):
        time = datetime.datetime(time.year, time.month, time.day)
    if isinstance(time, datetime.datetime) and time == time:
        since = (time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)) - EPOCH
        seconds, smaller = 86400 * since.days + since.seconds, 1000 * since.microseconds + fraction
        return True, 10**9 * seconds + smaller + getattr(since, "nanoseconds", 0)  # which pandas' have
    if isinstance(time, (int, np.integer)) and not isinstance(time, bool):
        return False, int(time)
    if isinstance(time, Decimal) and time.is_finite():
        return False, time
    if isinstance(time, (float, np.floating)) and math.isfinite(time):
        return False, float(time)
    raise InputError(
        f"{what} in row {row} is {value!r}; it must be a number, or a date or time such as 2024-02-29 12:00", row=row
    )


def _from_text(text: str) -> tuple[Any, int] | None:
    """A number, or a moment and its nanoseconds; None for anything else."""
    with contextlib.suppress(ArithmeticError):
        return Decimal(text), 0
    text = f"{text[:-1]}+00:00" if text[-1:] in ("z", "Z") else text
    whole, digits, zone = found.groups() if (found := FRACTION.fullmatch(text)) else (text, "", "")
    digits = digits.rstrip("0")
    if len(digits) > 9 or {".", ","} & set(whole):
        return None
    with contextlib.suppress(ValueError):
        return datetime.datetime.fromisoformat(whole + zone), int(digits.ljust(9, "0"))
    return None


def flags(values: Any, what: str) -> npt.NDArray[np.bool_]:
    """A column of yes or no (booleans, 0 and 1, or the words true and false in any case) as bool."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{what} has {array.ndim} dimensions; it must be a flat column")
    if array.dtype.kind == "b":
        return array.astype(bool)
    meaning = {0: False, 1: True, "0": False, "1": True, "false": False, "true": True}
    out = np.empty(len(array), bool)
    for row, value in enumerate(array.tolist()):
        key = value.strip().lower() if isinstance(value, str) else value
        if key not in meaning:
            raise InputError(f"{what} in row {row} is {value!r}; it must be true or false (or 1 or 0)", row=row)
        out[row] = meaning[key]
    return out


def _narwhal(frame: Any) -> Any:
    import narwhals

    try:
        return narwhals.from_native(frame, eager_only=True)
    except TypeError as e:
        name = type(frame).__name__
        raise InputError(f"the data is of type {name}; it must be a table in memory, so collect a lazy one") from e
    except ValueError as e:
        raise InputError(f"the table cannot be read: {' '.join(str(e).split())}") from e
