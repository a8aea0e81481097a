"""External ids (strings, or integers of any size) and the codes 0, 1, 2, ... the core works with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError

CONVERT = ": convert the column first (pandas: .astype('int64'), polars: .cast(pl.Int64))"
BLANK = " \t\r\n\u00a0"  # what looks empty in a table
INTEGER = re.compile("0|-?[1-9][0-9]{0,99}")  # as an integer is printed: 007 is text

Ids = npt.NDArray[Any]
Codes = npt.NDArray[np.int32]


def as_ids(values: Any, what: str) -> Ids:
    """A column of ids as an int64 array, or as an object array of str or of int; anything else is refused."""
    array = _from_list(list(values)) if isinstance(values, (list, tuple)) else np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{what} has {array.ndim} dimensions; ids must be a flat list or column")
    if not len(array):
        return np.empty(0, np.int64)
    if array.dtype.kind == "i":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "u":
        fits = array.dtype.itemsize < 8 or int(array.max()) < 2**63
        return array.astype(np.int64 if fits else object)
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise missing(what, np.flatnonzero(np.isnan(array)).tolist())
    if array.dtype.kind not in "UTO":
        advice = CONVERT if array.dtype.kind == "f" else ""
        raise InputError(
            f"{what} holds values of type {array.dtype} (row 0: {array[0]}); ids must be strings or integers{advice}"
        )
    return _checked_objects(array.astype(object, copy=False), what)


def missing(what: str, rows: Sequence[int]) -> InputError:
    """Return the sentence about rows that lack a value."""
    return InputError(f"{what} is missing in row {rows[0]}{as_in(rows)}; drop such rows first", row=rows[0])


def as_in(rows: Sequence[int]) -> str:
    """Return how many more rows there are than the first; nothing for a single one."""
    more = len(rows) - 1
    return "" if not more else f", as in {more:,} more row{'s' if more > 1 else ''}"


def _from_list(values: list[Any]) -> Ids:
    if all(type(v) is int for v in values):
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            pass
    return np.fromiter(values, object, len(values))


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array, or a view of it, that numpy refuses to write to: what a model hands out is what it works with."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def quoted(value: Any) -> str:
    """An id as an error message shows it: 'ann' or 7, whatever array it comes from."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _checked_objects(array: Ids, what: str) -> Ids:
    values = array.tolist()
    kinds = set(map(type, values))
    if all(issubclass(k, str) for k in kinds):
        rows = [row for row, value in enumerate(values) if not str.strip(value, BLANK)]
        if rows:
            raise InputError(f"{what} in row {rows[0]} is empty{as_in(rows)}; drop such rows", row=rows[0])
        # an enumeration's text, not its name
        return array if kinds <= {str} else np.array([str.__str__(v) for v in values], dtype=object)
    if all(issubclass(k, (int, np.integer)) and not issubclass(k, bool) for k in kinds):
        return _from_list([int(v) for v in array])
    lacking = [row for row, value in enumerate(values) if is_missing(value)]
    if lacking:
        raise missing(what, lacking)
    for row, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, (str, int, np.integer)):
            advice = CONVERT if isinstance(value, (float, np.floating)) else ""
            raise InputError(
                f"{what} in row {row} is {quoted(value)}; ids must be strings or integers{advice}", row=row
            )
    row = next(k for k, v in enumerate(array) if isinstance(v, str) != isinstance(array[0], str))
    first, other = quoted(array[0]), quoted(array[row])
    raise InputError(f"{what} mixes strings and integers (row 0: {first}, row {row}: {other}); use one kind")


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or a library's own mark of a missing value."""
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def factorize(columns: Iterable[Ids], what: str) -> tuple[Ids, list[Codes]]:
    """The sorted distinct ids of several columns, and each column as codes into them."""
    parts = list(columns)
    examples = {_kind(p): p[0] for p in parts if len(p)}
    if len(examples) > 1:
        text, whole = quoted(examples["str"]), quoted(examples["int"])
        raise InputError(
            f"{what} ids are strings in one column and integers in another ({text} and {whole} in row 0); use one kind"
        )
    values = np.concatenate(parts) if len(parts) > 1 else parts[0]
    if values.dtype == np.int64:
        ids, codes = _factorize_integers(values)
    else:
        index: dict[Any, int] = {}
        raw = np.fromiter((index.setdefault(v, len(index)) for v in values.tolist()), np.int64, len(values))
        keys = list(index)
        order = sorted(range(len(keys)), key=keys.__getitem__)
        ids = np.fromiter((keys[k] for k in order), object, len(keys))
        place = np.empty(len(keys), np.int32)
        place[order] = np.arange(len(keys), dtype=np.int32)
        codes = place[raw]
    if len(ids) > 2**31 - 1:
        raise InputError(f"there are {len(ids):,} different {what} ids; at most 2,147,483,647 are supported")
    ends = np.cumsum([len(p) for p in parts])
    return ids, np.split(codes, ends[:-1])


def users_and_items(got: dict[str, Any], user: str, item: str) -> tuple[Ids, Codes, Ids, Codes]:
    """The ids and codes of a table's users, and of its items; the names of the two columns are for sentences."""
    users, (u,) = factorize([as_ids(got["user"], f"the user (column {user!r})")], "user")
    items, (j,) = factorize([as_ids(got["item"], f"the item (column {item!r})")], "item")
    return users, u, items, j


def _kind(ids: Ids) -> str:
    return "int" if ids.dtype == np.int64 or isinstance(ids[0], int) else "str"


def _factorize_integers(values: Ids) -> tuple[Ids, Codes]:
    if not len(values):
        return values, np.empty(0, np.int32)
    low, high = int(values.min()), int(values.max())
    if high - low < 4 * len(values) + 1024:  # dense enough for a table
        present = np.zeros(high - low + 1, bool)
        present[values - low] = True
        table = np.cumsum(present, dtype=np.int32) - np.int32(1)
        return np.flatnonzero(present) + low, table[values - low]
    ids, inverse = np.unique(values, return_inverse=True)
    return ids, inverse.reshape(-1).astype(np.int32)


def _as_text(values: Ids) -> Ids:
    out = np.empty(len(values), object)
    out[:] = [str(v) for v in values.tolist()]
    return out


def _as_integers(values: Ids) -> Ids:
    """Text as the integers it writes, and None for what is none."""
    out = np.empty(len(values), object)
    out[:] = [int(v) if INTEGER.fullmatch(v) else None for v in values.tolist()]
    return out


def alike(values: Ids, known: Ids, what: str) -> Ids:
    """Ids read as the kind that is known; text that is no integer, where integers are known, is refused."""
    if not len(values) or not len(known) or _kind(values) == _kind(known):
        return values
    if _kind(known) == "str":
        return _as_text(values)
    read = _as_integers(values)
    for row, value in enumerate(read.tolist()):
        if value is None:
            raise InputError(
                f"{what} has the id {quoted(values[row])} in row {row}; ids in the comparisons are integers"
            )
    return _from_list(read.tolist())


class Vocabulary:
    """The known ids of one kind, in sorted order; the position of an id is its code."""

    def __init__(self, ids: Ids, what: str) -> None:
        self.ids = read_only(ids)
        self.what = what
        self._index: dict[Any, int] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def codes(self, values: Ids) -> Codes:
        """Codes of ids, -1 for those not known.

        The integer 5 and the text "5" are the same id: what is asked for is read as the kind that is known. (Not so
        "05" or " 5": an integer has one way to be written.)
        """
        if len(values) and len(self.ids) and _kind(values) != _kind(self.ids):
            values = _as_text(values) if _kind(self.ids) == "str" else _as_integers(values)
        if self.ids.dtype == np.int64 and values.dtype == np.int64:
            if not len(self.ids):
                return np.full(len(values), -1, np.int32)
            place = np.searchsorted(self.ids, values)
            place[place == len(self.ids)] = 0
            return np.where(self.ids[place] == values, place, -1).astype(np.int32)
        index = self.index
        return np.fromiter((index.get(v, -1) for v in values.tolist()), np.int32, len(values))

    def other_kind(self, ids: Ids) -> str:
        """Return an example of the ids, if those asked for are whole numbers and these are text, or the reverse."""
        if not len(self.ids) or _kind(ids) == _kind(self.ids):
            return ""
        kind = "text" if _kind(self.ids) == "str" else "whole numbers"
        return f", whose {self.what}s are {kind} such as {quoted(self.ids[0])}"

    @property
    def index(self) -> dict[Any, int]:
        if self._index is None:
            self._index = {v: k for k, v in enumerate(self.ids.tolist())}
        return self._index

    def known(self, values: Any, remedy: str) -> Codes:
        """Return the codes of ids that must all be known; an error names the first that is not, and a remedy."""
        ids = as_ids(values, f"the list of {self.what}s")
        codes = self.codes(ids)
        unknown = np.flatnonzero(codes < 0)
        if len(unknown):
            raise InputError(
                f"{self.what} {quoted(ids[unknown[0]])} is not in the model{self.other_kind(ids)}", remedy=remedy
            )
        return codes
