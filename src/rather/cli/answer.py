"""What a command gives: one document, and how to show it to a person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    Answer = tuple["Document", Callable[["Document", Console], None]]

Document = dict[str, Any]
DIGITS = ("score", "probability")


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

    shown = Table(box=None, padding=(0, 2, 0, 0))
    for name in names:
        shown.add_column(name, justify="right" if name == "rank" or name in DIGITS else "left", overflow="fold")
    for record in records:
        shown.add_row(*(f"{record[name]:.4f}" if name in DIGITS else str(record[name]) for name in names))
    console.print(shown)
