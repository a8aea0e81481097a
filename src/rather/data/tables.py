"""Small result tables: they print well, iterate, and turn into the kind of frame the user came with."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import InputError


class Table:
    """Named columns of equal length, in order. Iterating gives rows as named tuples; ``table["score"]`` is a column,
    ``table[0]`` a row, ``table[:5]`` a table.

    Attributes
    ----------
    about : dict
        The choices that the columns depend on, by name: "interval", "top" (of how many items), "k", "min_gap", and
        "scale" of scores that are not those of ``model.score`` ("log-odds", "interest" or "cosine").

    Examples
    --------
    >>> table = Table({"item": np.array(["A", "B"], dtype=object), "score": np.array([1.5, -2.0])})
    >>> table
    item    score
    A      1.5000
    B     -2.0000
    >>> [row.item for row in table]
    ['A', 'B']
    >>> table["score"].tolist()
    [1.5, -2.0]
    >>> table[-1].score
    -2.0
    >>> table.head(1)
    item   score
    A     1.5000
    """

    SHOWN = 20

    def __init__(
        self, columns: dict[str, Any], frame_kind: str = "dict", about: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        self.columns = columns
        self.frame_kind = frame_kind
        self.about = dict(about)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.columns:
                raise KeyError(f"there is no column {key!r}; the columns are {', '.join(map(repr, self.columns))}")
            return self.columns[key]
        if isinstance(key, (int, np.integer)):
            row = range(len(self))[key]  # counts from the end, and raises IndexError, as a list does
            return next(iter(self[row : row + 1]))
        return Table({name: column[key] for name, column in self.columns.items()}, self.frame_kind, self.about)

    def __iter__(self) -> Iterator[Any]:
        # A column whose name is no name in Python is called by its place, _0, _1, ...
        Row = namedtuple("Row", list(self.columns), rename=True)  # type: ignore[misc]
        return map(Row._make, zip(*(c.tolist() for c in self.columns.values()), strict=True))

    def head(self, n: int = 5) -> Table:
        """The first n rows."""
        made: Table = self[: max(n, 0)]
        return made

    def to_frame(self, kind: str | None = None) -> Any:
        """The table as a 'pandas', 'polars' or 'pyarrow' table or a 'dict'; by default the kind the data came in."""
        return make(self.columns, kind or self.frame_kind)

    def __repr__(self) -> str:
        shown = {name: [_text(v) for v in c[: self.SHOWN].tolist()] for name, c in self.columns.items()}
        widths = {name: max(map(len, [name, *texts])) for name, texts in shown.items()}
        right = {name: c.dtype.kind in "if" for name, c in self.columns.items()}

        def line(texts: list[str]) -> str:
            cells = (t.rjust(widths[n]) if right[n] else t.ljust(widths[n]) for n, t in zip(shown, texts, strict=True))
            return "  ".join(cells).rstrip()

        lines = [line(list(shown)), *(line(list(row)) for row in zip(*shown.values(), strict=True))]
        if len(self) > self.SHOWN:
            lines.append(f"... {len(self):,} rows")
        if self.about:
            lines.append(f"({self._choices()})")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_text(v))}</td>" for v in row) + "</tr>"
            for row in zip(*(c[: self.SHOWN].tolist() for c in self.columns.values()), strict=True)
        )
        more = f"<p>{len(self):,} rows</p>" if len(self) > self.SHOWN else ""
        about = f"<p>{escape(self._choices())}</p>" if self.about else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}{about}"

    def _choices(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.about.items())


def _text(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, (float, np.floating)) else str(value)


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
    plain = {name: _plain(column) for name, column in table.items()}
    try:
        return module.table(plain) if kind == "pyarrow" else module.DataFrame(plain)
    except (OverflowError, TypeError, ValueError) as e:
        raise InputError(f"{kind} cannot hold these ids ({type(e).__name__})", remedy="other frame") from e


def _plain(column: Any) -> Any:
    """Strings and large integers as the libraries recognise them."""
    if column.dtype != object:
        return column
    if len(column) and isinstance(column[0], int) and column.min() >= 0 and column.max() < 2**64:
        return column.astype(np.uint64)
    return column.tolist()
