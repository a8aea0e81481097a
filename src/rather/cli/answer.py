"""What a command gives: one document, and how to show it to a person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    Answer = tuple["Document", Callable[["Document", Console], None]]

Document = dict[str, Any]
DIGITS = ("score", "probability")
LONG = 1000  # rows


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

    right = {name: name == "rank" or name in DIGITS for name in names}
    columns = {name: [f"{r[name]:.4f}" if name in DIGITS else str(r[name]) for r in records] for name in names}
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
