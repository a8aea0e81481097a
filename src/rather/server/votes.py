"""The votes in a ledger, read for fits and for export."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from sqlalchemy import Connection

from ..errors import InputError
from .ledger import Ledger, every_answer
from .marks import marked

COLUMNS = (
    "user", "left", "right", "reply", "outcome", "seconds", "asked", "answered", "undone", "policy", "chance",
    "probability", "model", "mark",
)  # fmt: skip
KEPT = tuple(name for name in COLUMNS if name not in ("outcome", "mark"))
OUTCOME = {"left": "left", "right": "right", "tie": "tie"}
BATCH = 10_000


def votes(ledger: Ledger, marked_too: bool = False) -> tuple[dict[str, Any], int]:
    """Return a table of votes, with ties and sides if there are any, and the number left out as a script's.

    Answers that were undone, or that say an item is unknown, are left out.
    """
    taken, out = _taken(ledger, marked_too)
    if not taken:
        left_out = f", but for {out:,} that look like a script's" if out else ""
        raise InputError(f"there are no votes in {ledger.shown} to learn from{left_out}")
    user, left, right, reply, _ = (np.array(column, object) for column in zip(*taken, strict=True))
    won = reply != "right"
    frame: dict[str, Any] = {"user": user, "winner": np.where(won, left, right), "loser": np.where(won, right, left)}
    if (reply == "tie").any():
        frame["tie"] = reply == "tie"
    if won.any() and not won.all():
        frame["side"] = won
    return frame, out


def counted(ledger: Ledger) -> tuple[int, int]:
    """Return how many people, and how many of their answers, a fit would learn from."""
    taken, _ = _taken(ledger, marked_too=False)
    return len({row[0] for row in taken}), len(taken)


def _taken(ledger: Ledger, marked_too: bool) -> tuple[list[Any], int]:
    """Return the valid preferences, and the number left out as a script's."""
    with ledger.snapshot() as c:
        mark = _marks(ledger, c)
        rows = list(every_answer(c, "user", "left", "right", "reply", "undone"))
    stands = [n for n, row in enumerate(rows) if row.reply in OUTCOME and row.undone is None]
    taken = [rows[n] for n in stands if marked_too or not mark[n]]
    return taken, len(stands) - len(taken)


def _marks(ledger: Ledger, c: Connection) -> Any:
    """The mark of each answer; a damaged one is refused with its number, from 1."""
    names = "user", "origin", "reply", "asked", "answered"
    rows = list(every_answer(c, *names, "left", "right"))
    for number, row in enumerate(rows, 1):
        ledger.check_sound(row, number)
    return marked(*zip(*(row[: len(names)] for row in rows), strict=True)) if rows else np.empty(0, object)


def _documents(ledger: Ledger) -> Iterator[list[dict[str, Any]]]:
    """Every answer with its mark, in batches, of one moment."""
    with ledger.snapshot() as c:
        mark, batch = _marks(ledger, c), []
        for row, its in zip(every_answer(c, *KEPT), mark, strict=True):
            told = dict(zip(KEPT, row, strict=True))
            told["outcome"], told["mark"] = OUTCOME.get(told["reply"], ""), its
            batch.append({name: told[name] for name in COLUMNS})
            if len(batch) == BATCH:
                yield batch
                batch = []
        yield batch


def as_csv(ledger: Ledger) -> Iterator[bytes]:
    """Every answer as CSV, in parts; all text is quoted and none is changed."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    for batch in _documents(ledger):
        writer.writerows(batch)
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()


def as_parquet(ledger: Ledger, file: Any) -> None:
    """Every answer, written to an open file."""
    import pyarrow
    from pyarrow import parquet

    number, word = pyarrow.float64(), pyarrow.string()
    numbers = {"seconds", "asked", "answered", "undone", "chance", "probability"}
    schema = pyarrow.schema([(name, number if name in numbers else word) for name in COLUMNS])
    with parquet.ParquetWriter(file, schema) as writer:
        for batch in _documents(ledger):
            writer.write_table(pyarrow.Table.from_pylist(batch, schema))
