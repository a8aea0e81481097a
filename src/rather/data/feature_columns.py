"""Kinds of feature columns: numbers, words and rows of numbers, recognised by their values."""

from __future__ import annotations

import datetime
import numbers
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .ids import Ids, quoted

Doubles = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

LARGEST = 1e30  # so that single precision holds what is made of it
BETWEEN, SPLIT = "|", 0.1  # what stands between several values in one text, where this share of the texts has it
RARE, RARE_OF_FEW, FEW = 5, 2, 200  # rows that a value must have; and where there are fewer rows than that
MOST_VALUES = 2000
NAME = 60  # letters, about
CONSTANT = 1e-12  # the standard deviation of what does not vary, in parts of its size
READ_AS = {
    "numbers": ("numbers", "text"),
    "words": ("text", "lists of text", "numbers"),
    "dense": ("lists of numbers",),
}
INSTEAD = {
    "dates or times": "give them as numbers, such as the year",
    "bytes": "decode them to text, or give numbers",
    "complex numbers": "give the real and the imaginary parts as two columns",
    "records": "make their fields columns",
}
ACCEPTED = "give numbers, booleans, text, lists of text or equally long lists of numbers"


class Column(NamedTuple):
    """A column: an array of numbers with one or two dimensions, or else a list.

    ``categorical`` says that even numbers in it are names, ``ids`` whose rows they are: None for one row of nobody.
    """

    name: str
    values: Any
    categorical: bool
    role: str
    ids: Ids | None

    def at(self, row: int) -> str:
        """The place of a value, as errors name it."""
        if self.ids is None:
            return f"the {self.role}'s {self.name!r}"
        return f"the column {self.name!r} in row {row} ({self.role} {quoted(self.ids[row])})"

    def listed(self) -> tuple[list[Any], Mask]:
        """The values as a list, and which are missing."""
        values = self.values if isinstance(self.values, list) else self.values.tolist()
        kinds = set(map(type, values))
        none = {kind for kind in kinds if _is_none(kind)}
        maybe = {kind for kind in kinds if issubclass(kind, (float, np.floating))}
        if not none and not maybe:
            return values, np.zeros(len(values), bool)
        missing = (type(v) in none or (type(v) in maybe and v != v) for v in values)
        return values, np.fromiter(missing, bool, len(values))


def _is_none(kind: type) -> bool:
    return kind is type(None) or kind.__name__ == "NAType"


# -- kinds ------------------------------------------------------------------------------------------------------------


def sort_of(kind: type) -> str:
    """Return a word for the values of a Python type."""
    times = datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64
    if issubclass(kind, times) or kind.__name__ in ("Period", "NaTType"):
        return "dates or times"
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, (numbers.Real, Decimal, np.bool_)):
        return "numbers"
    if issubclass(kind, (list, tuple, set, frozenset, np.ndarray)):
        return "lists"
    if issubclass(kind, (bytes, bytearray)):
        return "bytes"
    return "complex numbers" if issubclass(kind, numbers.Complex) else f"values of type {kind.__name__}"


def refused(name: str, sort: str, row: int = 0) -> InputError:
    """Return the error for a column whose values cannot be used."""
    advice = INSTEAD.get(sort, ACCEPTED)
    return InputError(f"the column {name!r} holds {sort} (row {row}); {advice}, or leave it out")


def sort_in(column: Column) -> str | None:
    """Return the sort of a column: 'numbers', 'text', or lists of either; None if all values are missing."""
    if isinstance(column.values, np.ndarray):
        if column.values.ndim == 2:
            return "lists of numbers" if column.values.size else None
        some = len(column.values) and not (column.values.dtype.kind == "f" and np.isnan(column.values).all())
        return "numbers" if some else None
    values, missing = column.listed()
    rows = np.flatnonzero(~missing).tolist()
    sort = _only(column, {type(values[row]): row for row in reversed(rows)})
    if sort != "lists":
        return sort
    within: dict[type, int] = {}
    for row in rows:
        for kind in _types_in(column, row, values[row]):
            within.setdefault(kind, row)
    inside = _only(column, within, "lists of ")
    if inside == "lists":
        raise InputError(f"the column {column.name!r} holds lists of lists (row {rows[0]}); {ACCEPTED}")
    unordered = next((row for row in rows if inside == "numbers" and isinstance(values[row], (set, frozenset))), None)
    if unordered is not None:
        raise InputError(f"{column.at(unordered)} is a set of numbers; give lists of numbers, or sets of text")
    return inside and f"lists of {inside}"


def _types_in(column: Column, row: int, value: Any) -> set[type]:
    if not isinstance(value, np.ndarray) or value.dtype == object:
        return set(map(type, value))
    if value.ndim != 1:
        raise InputError(f"{column.at(row)} has {value.ndim} dimensions; it must be a flat list")
    return {value.dtype.type} if len(value) else set()


def _only(column: Column, types: Mapping[type, int], of: str = "") -> str | None:
    """Return the one sort of some types, which come with the first row of each."""
    first: dict[str, int] = {}
    for kind, row in sorted(types.items(), key=lambda found: found[1]):
        if not _is_none(kind):
            first.setdefault(sort_of(kind), row)
    for sort, row in first.items():
        if sort not in ("numbers", "text", "lists"):
            raise refused(column.name, of + sort, row)
    if len(first) > 1:
        parts = " and ".join(f"{of}{sort} (row {row})" for sort, row in first.items())
        raise InputError(f"the column {column.name!r} holds {parts}; use one kind")
    return next(iter(first), None)


def check(column: Column, kind: str) -> None:
    """Refuse a column that cannot be read as the kind it was when it was learned from."""
    sort = sort_in(column)
    if sort is not None and sort not in READ_AS[kind]:
        raise InputError(f"the column {column.name!r} holds {sort}; the model learned it from {READ_AS[kind][0]}")


# -- values -----------------------------------------------------------------------------------------------------------


def numbers_of(column: Column) -> Doubles:
    """A column of numbers, NaN where they are missing; text is read as what it writes."""
    if isinstance(column.values, np.ndarray):
        return _finite(column, column.values.astype(np.float64))
    values, missing = column.listed()
    out = np.full(len(values), np.nan)
    for row in np.flatnonzero(~missing).tolist():
        value = values[row]
        try:
            out[row] = np.nan if isinstance(value, str) and not value.strip() else float(value)
        except OverflowError:
            out[row] = np.inf
        except (TypeError, ValueError):
            raise InputError(f"{column.at(row)} is {value!r}; it must be a number") from None
    return _finite(column, out)


def dense_of(column: Column, width: int) -> npt.NDArray[Any]:
    """A column of equally long rows of numbers; NaN where they are missing."""
    if isinstance(column.values, np.ndarray) and column.values.ndim == 2:
        if column.values.shape[1] != width:
            given = column.values.shape[1]
            raise InputError(f"the column {column.name!r} has {given:,} numbers a row; it must have {width:,}")
        return _finite(column, column.values)
    values, missing = column.listed()
    rows = np.flatnonzero(~missing).tolist()
    there = [values[row] for row in rows]
    for row, value in zip(rows, there, strict=True):
        if len(value) != width:
            raise InputError(
                f"{column.at(row)} has {len(value):,} numbers; it must have {width:,}, as the others have "
                "(several values a row that are no coordinates must be text)"
            )
    single = all(isinstance(value, np.ndarray) and value.dtype == np.float32 for value in there)
    out = np.full((len(values), width), np.nan, np.float32 if single else np.float64)
    if rows:
        try:
            out[rows] = np.array(there, out.dtype)
        except TypeError:  # other libraries' marks of what is missing
            out[rows] = np.array([[None if _is_none(type(x)) else x for x in row] for row in there], out.dtype)
    return _finite(column, out)


def _finite(column: Column, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.size and max(np.fmax.reduce(values, None), -float(np.fmin.reduce(values, None))) > LARGEST:
        at = tuple(np.argwhere(np.abs(values) > LARGEST)[0])
        row = int(at[0])
        shown = f"{column.at(row)} {'has' if len(at) > 1 else 'is'} {values[at]:g}"
        raise InputError(
            f"{shown}; numbers must be from {-LARGEST:g} to {LARGEST:g}, or missing",
            row=None if column.ids is None else row,
            table=f"{column.role}_features",
        )
    return values


class Words(NamedTuple):
    """The words of rows: the index of each row's set among the distinct sets, -1 if missing."""

    places: npt.NDArray[np.int64]
    sets: list[tuple[str, ...]]
    split: bool


def words_of(column: Column, split: bool | None = None) -> Words:
    """A column of text, or of lists of text; ``split=None`` finds out whether texts are several values with | between.

    Empty text is missing; an empty list is none of the values.
    """
    values, missing = column.listed()
    rows = np.flatnonzero(~missing)
    index: dict[Any, int] = {}
    keys = map(_hashable, (values[row] for row in rows.tolist()))
    places = np.full(len(values), -1, np.int64)
    places[rows] = np.fromiter((index.setdefault(key, len(index)) for key in keys), np.int64, len(rows))
    if "" in index:
        places[places == index[""]] = -1
    if split is None:
        rows_of = np.bincount(places[places >= 0], minlength=len(index))
        marked = [isinstance(key, str) and BETWEEN in key for key in index]
        split = bool(any(marked) and rows_of[marked].sum() >= SPLIT * rows_of.sum())
    return Words(places, [_parts(key, split) for key in index], split)


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    return tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else value


def _parts(key: Any, split: bool) -> tuple[str, ...]:
    """The different words of a row."""
    if isinstance(key, str) and split:
        key = tuple(part.strip() for part in key.split(BETWEEN))
    parts = key if isinstance(key, tuple) else (key,)
    return tuple(sorted({_text(part) for part in parts if not _is_none(type(part))} - {""}))


def _text(value: Any) -> str:
    """A name as text: the same whether or not a library made a float of an integer."""
    if isinstance(value, str):
        return value if type(value) is str else str.__str__(value)  # an enumeration's text, not its name
    value = value.item() if isinstance(value, np.generic) else value
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# -- readers: what was learned of columns -----------------------------------------------------------------------------


class Reader(NamedTuple):
    """A reader that turns columns of a table into columns of numbers; ``about`` describes it in JSON."""

    kind: str
    name: str
    sources: list[str]
    labels: list[str]
    about: Mapping[str, Any]
    read: Callable[[Mapping[str, Column]], Any]


def readers_of(columns: Mapping[str, Column], said: list[str]) -> list[Reader]:
    """Return the readers of a table: one for all numbers, then one for each other column that is of use."""
    parts: list[list[Any]] = []
    others: list[Reader] = []
    for name, column in columns.items():
        sort = sort_in(column)
        if sort is None:
            said.append(f"{name}: left out, since it has no values")
        elif sort == "lists of numbers":
            flat = isinstance(column.values, np.ndarray)
            missing = np.isnan(column.values).all(axis=1) if flat else column.listed()[1]
            _say_missing(column, int(missing.sum()), said)
            others.append(reader_of({"kind": "dense", "name": name}, len(column.values[int(np.argmin(missing))])))
        elif sort != "numbers" or column.categorical:
            about = _words_learned(column, said)
            others += [] if about is None else [reader_of(about)]
        else:
            parts += _numbers_learned(column, said)
    return [*([reader_of({"kind": "numbers", "parts": parts})] if parts else []), *others]


def reader_of(about: Mapping[str, Any], width: int = 0) -> Reader:
    """The reader that gave this; what does not fit together is a ValueError, KeyError or TypeError."""
    kind = about["kind"]
    if kind == "numbers":
        parts = [(as_(str, name), as_(bool, gone)) for name, gone in as_(list, about["parts"])]
        names = list(dict.fromkeys(name for name, _ in parts))
        labels = [f"{name} is missing" if gone else name for name, gone in parts]
        return Reader(kind, _joined(names), names, labels, about, partial(_read_numbers, parts))
    name = as_(str, about["name"])
    if kind == "dense":
        labels = [f"{name} {k}" for k in range(width)]
        return Reader(kind, name, [name], labels, about, partial(_read_dense, name, width))
    values = [as_(str, value) for value in as_(list, about["values"])]
    other, missing, split = (as_(bool, about[flag]) for flag in ("other", "missing", "split"))
    if kind != "words" or len(set(values)) < len(values):
        raise ValueError(f"the column {name!r} is of no kind that there is, or has a value twice")
    further = [word for word, wanted in (("other", other), ("missing", missing)) if wanted]
    labels = [f"{name}: {v}" for v in [*values, *(f"({word})" if word in values else word for word in further)]]
    return Reader(
        kind, name, [name], labels, about, partial(_read_words, name, split, values, other, missing)
    )  # fmt: skip


def as_(kind: type, value: Any) -> Any:
    """The value, which must be of a type."""
    if not isinstance(value, kind):
        raise TypeError(f"there is a {type(value).__name__} where there should be a {kind.__name__}")
    return value


def _joined(names: list[str]) -> str:
    fit = max(1, sum(length <= NAME for length in np.cumsum([len(name) + 2 for name in names])))
    return ", ".join(names[:fit]) + (f" and {len(names) - fit:,} more" if len(names) > fit else "")


def _say_missing(column: Column, gone: int, said: list[str]) -> None:
    if gone:
        said.append(f"{column.name}: missing in {gone:,} of {len(column.values):,} rows")


def _numbers_learned(column: Column, said: list[str]) -> list[list[Any]]:
    x = numbers_of(column)
    there = x[~np.isnan(x)]
    gone = len(x) - len(there)
    _say_missing(column, gone, said)
    if not len(there):
        return []
    varies = there.std() > CONSTANT * np.abs(there).max()
    if not varies:
        fate = "only whether it is missing is used" if gone else "left out"
        said.append(f"{column.name}: {fate}, since every value is {there[0]:g}")
    return [[column.name, False]] * bool(varies) + [[column.name, True]] * bool(gone)


def _read_dense(name: str, width: int, columns: Mapping[str, Column]) -> npt.NDArray[Any]:
    return dense_of(columns[name], width)


def _read_numbers(parts: list[tuple[str, bool]], columns: Mapping[str, Column]) -> Doubles:
    values = {name: numbers_of(columns[name]) for name, _ in parts}
    return np.stack([np.isnan(values[name]) if gone else values[name] for name, gone in parts], axis=1)


def _words_learned(column: Column, said: list[str]) -> dict[str, Any] | None:
    """Return the frequent values and how to encode the others; None if no value is frequent."""
    words = words_of(column)
    n, gone = len(words.places), int((words.places < 0).sum())
    least = RARE_OF_FEW if n < FEW else RARE
    rows_of = np.bincount(words.places[words.places >= 0], minlength=len(words.sets)).tolist()
    count: Counter[str] = Counter()
    for names, rows in zip(words.sets, rows_of, strict=True):
        count.update(dict.fromkeys(names, rows))
    often = sorted((value for value in count if count[value] >= least), key=lambda value: (-count[value], value))
    kept = set(often[:MOST_VALUES])
    if not kept:
        said.append(f"{column.name}: left out, since no value of it has {least} rows or more")
        return None
    _say_missing(column, gone, said)
    rare = sum(rows for names, rows in zip(words.sets, rows_of, strict=True) if not kept.issuperset(names))
    if rare:
        fate = "are pooled as 'other'" if rare >= least else "count as nothing"
        said.append(f"{column.name}: {len(count) - len(kept):,} rare values, in {rare:,} of {n:,} rows, {fate}")
    flags = {"other": rare >= least, "missing": gone >= least, "split": words.split}
    return {"kind": "words", "name": column.name, "values": sorted(kept), **flags}


def _read_words(
    name: str, split: bool, values: list[str], other: bool, missing: bool, columns: Mapping[str, Column]
) -> Any:
    """Return a sparse matrix of 0 and 1."""
    from scipy.sparse import csr_matrix

    words = words_of(columns[name], split)
    place = {value: k for k, value in enumerate(values)}
    rest = len(place) if other else -1
    found = [{place.get(name, rest) for name in names} - {-1} for names in words.sets]
    found.append({len(place) + other} if missing else set())
    ends = np.cumsum([0, *map(len, found)])
    at = np.fromiter(chain.from_iterable(found), np.int32, int(ends[-1]))
    sets = csr_matrix((np.ones(len(at), np.float32), at, ends), shape=(len(found), len(place) + other + missing))
    return sets[np.where(words.places < 0, len(words.sets), words.places)]
