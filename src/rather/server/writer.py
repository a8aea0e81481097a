"""One thread that writes to the ledger: it commits waiting rows together before they are acknowledged."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from .ledger import KEPT, Ledger, secret

MOST_WAITING, MOST_TOGETHER = 2000, 256  # turns
ROOM = 2**14  # characters
Rows = dict[str, list[dict[str, Any]]]  # by the names of tables


class NotWritten(Exception):
    """Nothing of what was to be written is in the ledger."""


class Writer:
    """``submit`` gives a future that is done when the rows are on disk, all or none."""

    def __init__(self, ledger: Ledger, seconds: Callable[[float], None] = lambda _: None) -> None:
        self.ledger, self._seconds = ledger, seconds
        self._queue: queue.SimpleQueue[tuple[Rows, asyncio.Future[None]] | None] = queue.SimpleQueue()
        self.failing: str | None = None  # why the last commit failed
        self._probing = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="rather-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        return self._queue.qsize()

    def submit(self, rows: Rows) -> asyncio.Future[None]:
        made: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.waiting >= MOST_WAITING:
            made.set_exception(NotWritten("too much is waiting to be saved"))
        else:
            self._queue.put((rows, made))
        return made

    def probe(self) -> None:
        """Whether the ledger can be written to, found by writing to it; an error says that it cannot."""
        if not self._probing.acquire(blocking=False):
            raise NotWritten("somebody is finding out already")
        try:
            self._commit([{"probes": [{"probe": secret(), "room": "." * ROOM}]}])
        finally:
            self._probing.release()

    def close(self) -> None:
        """After what waits is written."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        going = True
        while going:
            batch = [self._queue.get()]
            while len(batch) < MOST_TOGETHER and batch[-1] is not None:
                try:
                    batch.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            going = batch[-1] is not None
            told = [one for one in batch if one is not None]
            if told:
                self._write(told)

    def _write(self, batch: list[tuple[Rows, asyncio.Future[None]]]) -> None:
        began = time.perf_counter()
        try:
            self._commit([rows for rows, _ in batch])
            outcomes: list[Exception | None] = [None] * len(batch)
        except IntegrityError:  # one of them was there already: each by itself
            outcomes = [self._alone(rows) for rows, _ in batch]
        except Exception as e:
            outcomes = [self._failed(e)] * len(batch)
        self._seconds(time.perf_counter() - began)
        by_loop: dict[Any, list[tuple[asyncio.Future[None], Exception | None]]] = {}
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            by_loop.setdefault(future.get_loop(), []).append((future, outcome))
        for loop, settled in by_loop.items():
            with contextlib.suppress(RuntimeError):  # a loop that is closed, where nobody waits any more
                loop.call_soon_threadsafe(_settle, settled)

    def _alone(self, rows: Rows) -> Exception | None:
        try:
            self._commit([rows])
        except IntegrityError as e:  # its own fault, not the ledger's
            return NotWritten(str(e.orig))
        except Exception as e:
            return self._failed(e)
        return None

    def _failed(self, e: Exception) -> NotWritten:
        why = getattr(e, "orig", None) or e
        self.failing = f"{type(why).__name__}: {why}"
        return NotWritten(self.failing)

    def _commit(self, several: list[Rows]) -> None:
        if self.failing is not None:
            self.ledger.check_taken()
        with self.ledger.engine.begin() as c:
            for table in KEPT:
                rows = [row for one in several for row in one.get(table.name, ())]
                if rows:
                    c.execute(insert(table), rows)
        self.failing = None


def _settle(settled: list[tuple[asyncio.Future[None], Exception | None]]) -> None:
    for future, outcome in settled:
        if future.done():
            continue
        if outcome is None:
            future.set_result(None)
        else:
            future.set_exception(outcome)
