"""Table 4: seconds to a tolerance of 1e-5 on the binarised MovieLens 1M, by number of threads.

    rather paper table4 [--only sdca newton] [--missing]

The paper's model, rank 100, on C = 5000 drawn comparisons a user, from the paper's random start. The regularisation is
that of the authors' published configuration (github.com/dhpark22/collranking), 1000, and so is the tolerance: stop when
a round lowers the objective by less than 1e-5 of it. ``sdca`` is the paper's algorithm, ``newton`` our default solver
on the same problem. More threads than the machine has cores are skipped. The results here are of one machine with 16
cores, whose time did not reach to the smallest numbers of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial

import common
import smoke
import tables
from common import Row

import rather

NAME = "table4"
DATA = ("ml-1m",)
METHODS = ("sdca", "newton")
DRAWN, REG, TOLERANCE = smoke.sized(5000, 100), 1000.0, 1e-5
PAPER = {1: 963.1, 2: 691.8, 4: 365.1, 8: 188.3, 16: 111.0}


@lru_cache(maxsize=1)
def comparisons(data: str, seed: int) -> rather.Comparisons:
    made = rather.Comparisons.from_clicks(tables.click_split(data, seed)[0], per_user=DRAWN, seed=seed)
    _ = made.store  # not part of the time: the paper's is of the algorithm on pairs that are there
    return made


def settled(model: rather.AltSVM, record: dict[str, float]) -> bool:
    """The authors' rule to stop."""
    if len(model.history_) < 2:
        return False
    before = model.history_[-2]["objective"]
    return bool((before - record["objective"]) / before < TOLERANCE)


def measure(data: str, seed: int, solver: str, n_threads: int) -> Iterator[Row]:
    model = rather.AltSVM.plain(
        solver=solver, reg=REG, tol=0.0, max_iter=300, callback=settled, n_threads=n_threads, seed=seed
    )
    _, _, cost = tables.fitted(model, lambda: comparisons(data, seed))
    last = model.history_[-1]
    yield {"seconds": cost["seconds"], "rounds": last["round"], "objective": last["objective"], "gap": last["gap"]}


def cells(data: str, seed: int) -> Iterator[tables.Cell]:
    for solver in METHODS:
        for n in tables.possible(tuple(PAPER)):
            at = {"data": data, "method": solver, "threads": n}
            yield tables.Cell(at, partial(measure, data, seed, solver, n))


def seconds(rows: list[Row], solver: str) -> dict[int, float]:
    """Mean time by number of threads, of those that were measured."""
    mine = [row for row in rows if row["method"] == solver]
    return {n: common.mean(mine, "seconds", threads=n)[0] for n in PAPER if any(r["threads"] == n for r in mine)}


def table(rows: list[Row]) -> str:
    lines = []
    for who, times in {**{solver: seconds(rows, solver) for solver in METHODS}, "paper": PAPER}.items():
        lines.append([f"{who}, seconds", *(f"{times[n]:.1f}" if n in times else tables.NOTHING for n in PAPER)])
        gain = {n: f"{times[1] / times[n]:.1f}x" for n in times if 1 in times}
        lines.append([f"{who}, speed-up", *(gain.get(n, tables.NOTHING) for n in PAPER)])
        if who in METHODS:
            rounds = [tables.stated(rows, "rounds", digits=0, method=who, threads=n) for n in PAPER]
            lines.append([f"{who}, rounds", *rounds])
    return tables.markdown(["threads", *map(str, PAPER)], lines)


if __name__ == "__main__":
    tables.main(NAME, __doc__, cells, table, data=DATA, methods=METHODS, seeds=1, any_threads=False)
