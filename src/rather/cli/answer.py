"""The document that a command returns, shown to a person or written for a program."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    Answer = tuple["Document", Callable[["Document", Console], None]]

Document = dict[str, Any]
DIGITS = ("score", "probability")
PLACES = ("rank", "best", "worst", "group")
LONG = 1000  # rows


def choices(ranked: Any) -> Document:
    """Return the choices that a ranking depends on, read from its table."""
    about = ranked.about
    return {"interval": about.get("interval"), "top_of": about.get("top"), "scale": about.get("scale")}


def percent(share: float) -> str:
    return f"{100 * share:g}%"


def facts(console: Console, rows: dict[str, str]) -> None:
    """Names and values, one pair a line."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in rows.items():
        grid.add_row(name, value)
    console.print(grid)


def table(console: Console, records: list[Document], names: Sequence[str]) -> None:
    """Records as rows under a heading."""
    from rich.segment import Segment, Segments
    from rich.table import Table

    right = {name: name in PLACES + DIGITS for name in names}
    columns = {
        name: [f"{r[name]:.4f}" if name in DIGITS and not isinstance(r[name], str) else str(r[name]) for r in records]
        for name in names
    }
    if len(records) > LONG:  # which would take seconds to fold and colour
        padded = [_padded([name, *column], right[name]) for name, column in columns.items()]
        text = "".join(f"{'  '.join(row)}\n" for row in zip(*padded, strict=True))
        console.print(Segments([Segment(text)]), crop=False, end="")
        return
    shown = Table(box=None, padding=(0, 2, 0, 0))
    for name in names:
        shown.add_column(name, justify="right" if right[name] else "left", overflow="fold")
    for row in zip(*columns.values(), strict=True):
        shown.add_row(*row)
    console.print(shown)


def _padded(cells: list[str], right: bool) -> list[str]:
    """Cells of one width."""
    width = max(map(len, cells))
    return [cell.rjust(width) if right else cell.ljust(width) for cell in cells]


# -- to a person or a program -----------------------------------------------------------------------------------------


def in_json(document: Document, indent: int | None) -> str:
    """A document as a program reads it."""
    return json.dumps(_finite(document), indent=indent, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """Return the document with null in place of NaN and infinity, which JSON lacks."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def in_words(document: Document, show: Callable[[Document, Console], None]) -> str:
    """A document as a person reads it."""
    from rich.console import Console

    width = None if sys.stdout is not None and sys.stdout.isatty() else 200
    console = Console(markup=False, emoji=False, highlight=False, width=width)
    with console.capture() as captured:
        show(document, console)
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


def write(text: str) -> None:
    """All of the text, or an error: an unbuffered stream may take less than it is given without a word."""
    if sys.stdout is None:  # closed by the caller
        return
    encoding = sys.stdout.encoding or "utf-8"
    raw = getattr(sys.stdout, "buffer", None)
    if raw is None:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    else:
        sys.stdout.flush()
        left = memoryview(text.encode(encoding, "replace"))
        while left:
            left = left[raw.write(left) :]
    sys.stdout.flush()
