"""What the tables share: data, cells measured one by one and kept beside those of other runs, ours beside the paper's.

A cell is one method on one data set with one seed. Its rows are written to ``<name>.csv`` in the folder of results as
soon as they are measured, in place of what the file had for that cell; all other rows stay. So a table can be filled in
by parts, on several machines, and a run that was stopped loses one cell. What a run measured is shown apart from what
the folder had before.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import common
import smoke
from common import Row

import rather
from rather.data import datasets

TITLES = {
    "ml-100k": "MovieLens 100K",
    "ml-1m": "MovieLens 1M",
    "ml-10m": "MovieLens 10M",
    "netflix": "Netflix",
    "letterboxd": "Letterboxd",
}
NOTHING = "–"
THREADS: int | None = None  # of every fit, as --threads says


class Cell(NamedTuple):
    """Where in the table (its columns there), and what measures it: the remaining columns of its rows."""

    at: Row
    measure: Callable[[], Iterable[Row]]


# -- the command line -------------------------------------------------------------------------------------------------


def main(
    name: str,
    about: str | None,
    cells: Callable[[str, int], Iterable[Cell]],
    table: Callable[[list[Row]], str],
    *,
    data: Sequence[str],
    methods: Sequence[str] = (),
    seeds: int = 5,
    draw: Callable[[list[Row]], None] | None = None,
    any_threads: bool = True,
) -> None:
    """Measure the cells of every data set and seed, keep them, draw and print the table: a script's command line."""
    global THREADS
    parser = common.parser_of(about, seeds)
    parser.add_argument("--data", nargs="+", choices=data, help="data sets (those that are there)")
    if methods:
        parser.add_argument("--only", nargs="+", choices=methods, metavar="METHOD", help=f"of {', '.join(methods)}")
    if any_threads:
        parser.add_argument("--threads", type=int, metavar="N", help="of every fit (all cores)")
    parser.add_argument("--missing", action="store_true", help="only cells that the results do not have yet")
    parser.add_argument("--draw", action="store_true", help="measure nothing, show the results that are there")
    options = parser.parse_args()
    common.go_to(options)
    only, THREADS = getattr(options, "only", None), getattr(options, "threads", None)
    try:
        fresh: list[Row] = []
        if not options.draw:
            for cell, seed in _wanted(cells, options.data or present(data), options.seeds, only):
                if not (options.missing and _held(read(name), cell.at, seed)):
                    fresh += keep(name, cell.at, seed, cell.measure())
        if not (rows := read(name)):
            raise rather.InputError(common.nothing_yet())
        if draw is not None:
            draw(rows)
        where = common.shown(common.RESULTS / f"{name}.csv")
        if fresh:
            print(f"\nMeasured now:\n\n{measured(table(fresh))}")
        if len(rows) > len(fresh):
            print(f"\n{'With' if fresh else 'All of'} what {where} has:\n\n{measured(table(rows))}")
        print(f"\n-> {where}")
    except rather.InputError as e:
        sys.exit(f"{name}: {e}")
    except ImportError as e:
        sys.exit(f"{name}: {e.name} is not installed; what was measured is kept, and --draw shows it once it is")
    except KeyboardInterrupt:
        sys.exit(f"{name}: interrupted; the cells that were done are kept")


def present(data: Iterable[str]) -> list[str]:
    """Those of the data sets that are there; an error says how to get the first where none is."""
    there = [one["name"] for one in datasets.listing() if one["path"]]
    found = [name for name in data if name in there][: smoke.sized(None, 2)]
    if not found:
        datasets.find(next(iter(data)))
    return found


def _wanted(
    cells: Callable[[str, int], Iterable[Cell]], data: Iterable[str], seeds: int, only: Sequence[str] | None
) -> Iterator[tuple[Cell, int]]:
    for name in data:
        for seed in range(seeds):
            for cell in cells(name, seed):
                if only is None or cell.at["method"] in only:
                    yield cell, seed


# -- results ----------------------------------------------------------------------------------------------------------


def read(name: str) -> list[Row]:
    """The rows of a result, none where there is no file yet."""
    return common.read(name) if (common.RESULTS / f"{name}.csv").exists() else []


def keep(name: str, at: Row, seed: int, measured: Iterable[Row]) -> list[Row]:
    """Put a cell's rows into the result, in place of those it had, and return them."""
    fresh = [{"seed": seed, **at, **row} for row in measured]
    for row in fresh:
        print("  ".join(f"{key} {common.text(value)}" for key, value in row.items()), flush=True)
    others = [row for row in read(name) if not _held([row], at, seed)]
    common.write(name, sorted(others + fresh, key=lambda row: [row[key] for key in at] + [row["seed"]]))
    return fresh


def measured(text: str) -> str:
    """Tables without the lines in which nothing was measured, and without those that have no others."""
    kept = []
    for table in text.split("\n\n"):
        lines = [line for line in table.splitlines() if not re.fullmatch(rf"\|[^|]*(\| {NOTHING}[^|]*)+\|", line)]
        if len(lines) > 2 or not table.startswith("|"):  # more than a header
            kept.append("\n".join(lines))
    return "\n\n".join(kept)


def _held(rows: Iterable[Row], at: Row, seed: int) -> bool:
    cell = {"seed": seed, **at}
    return any(all(row[key] == value for key, value in cell.items()) for row in rows)


def stated(rows: Iterable[Row], value: str, paper: float | None = None, *, digits: int = 4, **wanted: Any) -> str:
    """Mean ± standard deviation over the rows wanted, the paper's figure in brackets; a dash where there is no row."""
    found = [row for row in rows if all(row[key] == what for key, what in wanted.items())]
    mean, deviation = common.mean(found, value) if found else (0.0, 0.0)
    ours = f"{mean:.{digits}f}" + (f" ± {deviation:.{digits}f}" if len(found) > 1 else "") if found else NOTHING
    return ours if paper is None else f"{ours} ({paper:.{digits}f})"


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table for the page, which reads well on a terminal too."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


# -- data and fits ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def ratings(name: str) -> Any:
    """The ratings of a data set as a table of user, item, rating; Letterboxd's half stars as stars."""
    table = datasets.load(name).select(["user", "item", "rating"])
    if name != "letterboxd":
        return table
    import pyarrow
    import pyarrow.compute

    stars = pyarrow.compute.divide(table["rating"].cast(pyarrow.float32()), 2)
    return table.set_column(table.column_names.index("rating"), "rating", stars)


@lru_cache(maxsize=1)
def rating_split(name: str, n: int, seed: int) -> tuple[Any, Any]:
    """Section 5.2: n ratings of every user for training, the rest for testing."""
    return rather.split_ratings(ratings(name), per_user=n, seed=seed)


@lru_cache(maxsize=1)
def click_split(name: str, seed: int) -> tuple[Any, Any]:
    """The binarised data: who rated what, a tenth of every user's held out."""
    return rather.split_clicks(ratings(name).select(["user", "item"]), test=0.1, seed=seed)


TOPS = (1, 2, 5, 10, 100)


def precisions(model: Any, train: Any, test: Any) -> Row:
    """Precision@K of Tables 3 and 6; what a user had in training is not recommended."""
    return {f"precision@{k}": rather.precision(model, test, k=k, exclude=train) for k in TOPS}


def fitted(model: Any, compare: Callable[[], rather.Comparisons]) -> tuple[rather.Comparisons, Any, Row]:
    """The comparisons, the model fitted to them, and what making each took."""
    model.n_threads = THREADS or model.n_threads
    began = time.perf_counter()
    comparisons = compare()
    prepared = time.perf_counter()
    model.fit(comparisons)
    seconds = {"prepare": prepared - began, "seconds": time.perf_counter() - prepared}
    return comparisons, model, {**seconds, "threads": cores(model.n_threads)}


def cores(n_threads: int | None = None) -> int:
    """How many threads a fit has: as many as this process may use cores, unless told."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return n_threads or here or 1


@lru_cache
def possible(counts: tuple[int, ...]) -> list[int]:
    """Those numbers of threads that have a core each here; a note, once, names the others."""
    for n in (n for n in counts if n > cores()):
        print(f"{n} threads skipped: this machine lends {cores()}", file=sys.stderr)
    return [n for n in counts if n <= cores()]


def by_method(methods: Iterable[str], measure: Callable[[str], Row], **at: Any) -> Iterator[Cell]:
    """A cell for each method, of one row."""
    for method in methods:
        yield Cell({**at, "method": method}, partial(_one_row, measure, method))


def _one_row(measure: Callable[[str], Row], method: str) -> list[Row]:
    return [measure(method)]
