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
    from rich.table import Table

    right = {name: name == "rank" or name in DIGITS for name in names}
    rows = [[f"{record[name]:.4f}" if name in DIGITS else str(record[name]) for name in names] for record in records]
    if len(rows) > LONG:  # which would take seconds to fold and colour
        widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
        for row in [list(names), *rows]:
            cells = zip(row, widths, right.values(), strict=True)
            console.out("  ".join(cell.rjust(w) if is_right else cell.ljust(w) for cell, w, is_right in cells).rstrip())
        return
    shown = Table(box=None, padding=(0, 2, 0, 0))
    for name in names:
        shown.add_column(name, justify="right" if right[name] else "left", overflow="fold")
    for row in rows:
        shown.add_row(*row)
    console.print(shown)
