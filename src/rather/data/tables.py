"""Small result tables, which print well, iterate, and convert to the caller's kind of frame."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import InputError


class Table:
    """Hold a small result: named columns of equal length.

    ``table["score"]`` is a column, ``table[0]`` a row, ``table[:5]`` a table. Iterating gives rows as named tuples.
    Call :meth:`to_frame` for a pandas, polars or pyarrow table.

    Parameters
    ----------
    columns : dict of array
        The columns, by name.
    frame_kind : str, default "dict"
        Kind of table that :meth:`to_frame` returns by default.
    about : dict, optional
        The choices that the columns depend on.

    Attributes
    ----------
    about : dict
        The choices that the columns depend on, such as "interval", "top", "k" or "min_gap". "scale" is "log-odds",
        "interest" or "cosine" where scores are on another scale than those of ``model.score``.

    See Also
    --------
    Table.to_frame : Convert to a pandas, polars or pyarrow table.

    Examples
    --------
    >>> table = Table({"item": np.array(["A", "B"], dtype=object), "score": np.array([1.5, -2.0])})
    >>> table
    item    score
    A      1.5000
    B     -2.0000
    >>> [row.item for row in table], table["score"].tolist(), table[-1].score
    (['A', 'B'], [1.5, -2.0], -2.0)
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

    def __getattr__(self, name: str) -> Any:
        columns = self.__dict__.get("columns", {})  # empty while a copy is made
        advice = f"table[{name!r}] is the column" if name in columns else 'to_frame("pandas") makes a data frame'
        raise AttributeError(f"a Table has no attribute {name!r}; {advice}")

    def head(self, n: int = 5) -> Table:
        """Return the first rows.

        Parameters
        ----------
        n : int, default 5
            Number of rows.

        Returns
        -------
        Table
            The first rows.

        See Also
        --------
        Table.to_frame : Convert to a pandas, polars or pyarrow table.

        Examples
        --------
        >>> Table({"item": np.array(["A", "B"], dtype=object), "score": np.array([1.5, -2.0])}).head(1)
        item   score
        A     1.5000
        """
        made: Table = self[: max(n, 0)]
        return made

    def to_frame(self, kind: str | None = None) -> Any:
        """Convert to a pandas, polars or pyarrow table, or to a dict of columns.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow", "dict"}, optional
            Kind of table. Default: the kind that the data were read from.

        Returns
        -------
        table
            The columns in the kind of table asked for.

        Raises
        ------
        InputError
            If the kind is unknown, or its library is not installed.

        See Also
        --------
        Table.head : Return the first rows.

        Examples
        --------
        >>> Table({"item": np.array(["A", "B"], dtype=object)}).to_frame("dict")["item"].tolist()
        ['A', 'B']
        """
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
