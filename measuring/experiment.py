"""Cells: measured one by one or several at once, and kept beside those of other runs.

A cell is one method on one data set with one seed, or whatever else can be measured apart. Its rows are written to
``<name>.csv`` in the folder of results as soon as they are measured, in place of what the file had for that cell; all
other rows stay. So a table can be filled in by parts, on several machines (``--take`` puts in what another measured),
and a run that was stopped loses the cells under way. With ``--processes`` every cell is measured in a process of its
own, which loads its data itself; one that dies takes no other with it.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple, cast

import rather

from . import common
from .common import Row


class Cell(NamedTuple):
    """Where in the result (its columns there), and what measures it: the remaining columns of its rows."""

    at: Row
    measure: Callable[[], Iterable[Row]]


Wanted = Sequence[tuple[Cell, int]]  # cells and their seeds


# -- the command line -------------------------------------------------------------------------------------------------


def main(
    name: str,
    about: str | None,
    measure: Callable[..., Iterable[Row]],
    draw: Callable[[list[Row]], Any],
    seeds: int,
    places: Sequence[Row] = ({},),
) -> None:
    """Measure every place with every seed, keep the rows, draw: the command line of a script without tables."""
    parser = common.parser_of(about, seeds)
    add_options(parser)
    options = parser.parse_args()
    common.go_to(options)
    wanted = [(Cell(at, partial(measure, seed, **at)), seed) for seed in range(options.seeds) for at in places]
    with told(name):
        fill(name, wanted, options)
        draw(there(name))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="cells measured at once (1)")
    parser.add_argument("--missing", action="store_true", help="only cells that the results do not have yet")
    parser.add_argument("--draw", action="store_true", help="measure nothing, show the results that are there")
    parser.add_argument("--take", type=Path, metavar="FOLDER", help="measure nothing, put in the results of a folder")


def fill(name: str, wanted: Wanted, options: argparse.Namespace) -> list[Row]:
    """Measure the cells or take those of a folder, as the options say, keep them and return their rows."""
    if options.take:
        return put(name, tuple(wanted[0][0].at), common.read(name, options.take)) if wanted else []
    if options.draw:
        return []
    if options.missing:
        rows = common.read(name)
        wanted = [(cell, seed) for cell, seed in wanted if not _held(rows, {"seed": seed, **cell.at})]
    fresh: list[Row] = []
    for cell, seed, rows in several(name, wanted, options.processes) if options.processes > 1 else one_by_one(wanted):
        fresh += keep(name, cell.at, seed, rows)
    return fresh


def there(name: str) -> list[Row]:
    """The rows of a result; an error where there are none."""
    if not (rows := common.read(name)):
        raise rather.InputError(common.nothing_yet())
    return rows


@contextmanager
def told(name: str) -> Iterator[None]:
    """What ends a script early is one line."""
    try:
        yield
    except rather.InputError as e:
        sys.exit(f"{name}: {e}")
    except ImportError as e:
        sys.exit(f"{name}: {e.name} is not installed; what was measured is kept, and --draw shows it once it is")
    except KeyboardInterrupt:
        sys.exit(f"{name}: interrupted; the cells that were done are kept")


# -- measuring --------------------------------------------------------------------------------------------------------


def one_by_one(wanted: Wanted) -> Iterator[tuple[Cell, int, list[Row]]]:
    for cell, seed in wanted:
        yield cell, seed, list(cell.measure())


def several(name: str, wanted: Wanted, n: int) -> Iterator[tuple[Cell, int, list[Row]]]:
    """Each cell's rows as it is done, n at a time, the longest first; those that were lost are named at the end."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of the processes started here
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a time-out ends as Ctrl-C does
    spawn, known = multiprocessing.get_context("spawn"), common.read(name, common.COMMITTED)
    waiting = sorted(wanted, key=lambda one: _took(known, one[0].at), reverse=True)
    running: dict[Any, tuple[Cell, int, Any]] = {}  # by the end of its pipe
    lost = []
    while waiting or running:
        while waiting and len(running) < n:
            cell, seed = waiting.pop(0)
            here, its = spawn.Pipe(duplex=False)
            process = spawn.Process(target=_send, args=(cell.measure, its), daemon=True)
            process.start()
            its.close()  # so that the end of the process is the end of the pipe
            running[here] = cell, seed, process
        for end in wait(list(running)):
            cell, seed, process = running.pop(end)
            try:
                rows = cast(Connection, end).recv()
            except EOFError:
                lost.append(_line({"seed": seed, **cell.at}))
            else:
                yield cell, seed, rows
            process.join()
    if lost:
        print("\n".join(["Lost, for their processes died:", *lost]), file=sys.stderr)


def _send(measure: Callable[[], Iterable[Row]], to: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which then ends this process
    to.send(list(measure()))


def _took(rows: Iterable[Row], at: Row) -> float:
    """The most seconds that a cell is known to have taken; one that is not known may take longest."""
    found = [row["seconds"] if "seconds" in row else row.get("time", 0.0) for row in rows if _held([row], at)]
    return max(found, default=math.inf)


# -- results ----------------------------------------------------------------------------------------------------------


def keep(name: str, at: Row, seed: int, measured: Iterable[Row]) -> list[Row]:
    """Put a cell's rows into the result, in place of those it had, and return them."""
    fresh = [{"seed": seed, **at, **row} for row in measured]
    for row in fresh:
        print(_line(row), flush=True)
    return put(name, tuple(at), fresh)


def put(name: str, places: Sequence[str], fresh: list[Row]) -> list[Row]:
    """Put rows into the result, in place of those it had of the same cells: seeds and places."""

    def cell(row: Row) -> tuple[Any, ...]:
        return (*(row.get(place, "") for place in places), row["seed"])

    replaced = set(map(cell, fresh))
    others = [row for row in common.read(name) if cell(row) not in replaced]
    common.write(name, sorted(others + fresh, key=cell))
    return fresh


def _held(rows: Iterable[Row], cell: Row) -> bool:
    return any(all(row.get(key) == value for key, value in cell.items()) for row in rows)


def _line(row: Row) -> str:
    return "  ".join(f"{key} {common.text(value)}" for key, value in row.items())
