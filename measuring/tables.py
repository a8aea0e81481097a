"""What the tables share: their command line, data and fits, ours beside the paper's.

What a run measured is shown apart from what the folder of results had before.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import rather
from rather import datasets

from . import common, experiment, smoke
from .common import Row
from .experiment import Cell

TITLES = {
    "ml-100k": "MovieLens 100K",
    "ml-1m": "MovieLens 1M",
    "ml-10m": "MovieLens 10M",
    "netflix": "Netflix",
    "letterboxd": "Letterboxd",
}
NOTHING = "–"
THREADS: int | None = None  # of every fit, as --threads says


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
    counts: Sequence[int] = (),
) -> None:
    """Measure the cells of every data set and seed, keep them, draw and print the table: a script's command line.

    ``counts`` are the numbers of threads that cells are told apart by; ``any_threads``: one number is for all of them.
    """
    parser = common.parser_of(about, seeds)
    parser.add_argument("--data", nargs="+", choices=data, help="data sets (those that are there)")
    if methods:
        parser.add_argument("--only", nargs="+", choices=methods, metavar="METHOD", help=f"of {', '.join(methods)}")
    if counts:
        parser.add_argument("--threads", type=int, nargs="+", choices=counts, help="only cells with so many threads")
    elif any_threads:
        parser.add_argument("--threads", type=int, metavar="N", help="of every fit (all cores)")
    experiment.add_options(parser)
    options = parser.parse_args()
    common.go_to(options)
    threads = getattr(options, "threads", None)
    chosen = {"method": getattr(options, "only", None), "threads": threads if counts else None}
    with experiment.told(name):
        sets = () if options.draw else options.data or (data if options.take else present(data))
        wanted = [
            (Cell(cell.at, partial(_with_threads, None if counts else threads, cell.measure)), seed)
            for one in sets
            for seed in range(options.seeds)
            for cell in cells(one, seed)
            if all(among is None or cell.at[column] in among for column, among in chosen.items())
        ]
        fresh = experiment.fill(name, wanted, options)
        rows = experiment.there(name)
        if draw is not None:
            draw(rows)
        where = common.shown(common.RESULTS / f"{name}.csv")
        if fresh:
            print(f"\nMeasured {'there' if options.take else 'now'}:\n\n{measured(table(fresh))}")
        if len(rows) > len(fresh):
            print(f"\n{'With' if fresh else 'All of'} what {where} has:\n\n{measured(table(rows))}")
        print(f"\n-> {where}")


def _with_threads(threads: int | None, measure: Callable[[], Iterable[Row]]) -> Iterable[Row]:
    global THREADS
    THREADS = threads
    return measure()


def present(data: Iterable[str]) -> list[str]:
    """Those of the data sets that are there; an error says how to get the first where none is."""
    there = [one["name"] for one in datasets.listing() if one["path"]]
    found = [name for name in data if name in there][: smoke.sized(None, 2)]
    if not found:
        datasets.find(next(iter(data)))
    return found


# -- results ----------------------------------------------------------------------------------------------------------


def measured(text: str) -> str:
    """Tables without the lines in which nothing was measured, and without those that have no others."""
    kept = []
    for table in text.split("\n\n"):
        lines = [line for line in table.splitlines() if not re.fullmatch(rf"\|[^|]*(\| {NOTHING}[^|]*)+\|", line)]
        if len(lines) > 2 or not table.startswith("|"):  # more than a header
            kept.append("\n".join(lines))
    return "\n\n".join(kept)


def stated(rows: Iterable[Row], value: str, paper: float | None = None, *, digits: int = 4, **wanted: Any) -> str:
    """Mean ± standard deviation over the rows wanted, the paper's figure in brackets; a dash where there is no row."""
    found = [row for row in rows if all(row[key] == what for key, what in wanted.items())]
    mean, deviation = common.mean(found, value) if found else (0.0, 0.0)
    ours = f"{mean:.{digits}f}" + (f" ± {deviation:.{digits}f}" if len(found) > 1 else "") if found else NOTHING
    return ours if paper is None else f"{ours} ({paper:.{digits}f})"


def seeds(found: Iterable[int]) -> str:
    """Which seeds, in words."""
    first, *others = some = sorted(found)
    if others and others[-1] - first == len(others):
        return f"seeds {first} to {others[-1]}"
    return f"seed{'s' * bool(others)} {', '.join(map(str, some))}"


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
