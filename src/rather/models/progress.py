"""A progress bar for long fits, on the terminal's error stream."""

from __future__ import annotations

from types import TracebackType
from typing import Any


class Progress:
    """A bar over the rounds of a fit with the objective and the gap; nothing at all if not asked for."""

    def __init__(self, shown: bool, title: str, total: int) -> None:
        self._bar: Any = None
        if shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn(title),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[text]}"),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task(title, total=total, text="starting")

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, record: dict[str, float]) -> None:
        if self._bar is not None:
            text = f"objective {record['objective']:.6g}  gap {record['gap']:.1e}"
            total = record.get("rounds")  # of fits that know only then how many there will be
            self._bar.update(self._task, completed=int(record["round"]), total=total, text=text)
