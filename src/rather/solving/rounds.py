"""The loop over the rounds of a solver, until the gap is small or the rounds are used up."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from ..errors import InputError

Record = dict[str, float]
EVERY_ROUND = -math.inf  # a tolerance that no gap meets
SMALLER = (
    "weights, ratings or reg are too extreme for single precision; try a larger reg, or weights and ratings closer to 1"
)


class Solver(Protocol):
    """Something that comes closer to a minimum round by round."""

    def round(self) -> Record:
        """Make a round; return the objective after it, and ``gap``: what may be left to gain, as a share of it."""


class Stop(NamedTuple):
    """A solver stops once a gap is at most ``tol``, or after ``max_rounds`` rounds."""

    tol: float
    max_rounds: int


def rounds(
    solver: Solver, stop: Stop, history: Sequence[Record] = (), began: float | None = None, advice: str | None = None
) -> Iterator[Record]:
    """Make the rounds that follow a history, and yield the record of each.

    A record gets its number and the seconds since ``began``, which the history's seconds precede. With ``advice`` an
    objective that is not finite is refused with it.
    """
    began = time.perf_counter() if began is None else began
    done, before = len(history), history[-1]["seconds"] if history else 0.0
    gap = history[-1]["gap"] if history else math.inf
    while done < stop.max_rounds and not gap <= stop.tol:
        record = {"round": done + 1, **solver.round()}
        record["seconds"] = before + time.perf_counter() - began
        if advice is not None and not math.isfinite(record["objective"]):
            raise InputError(f"the objective became {record['objective']} in round {record['round']}: {advice}")
        done, gap = done + 1, record["gap"]
        yield record


def solve(solver: Solver, stop: Stop) -> None:
    """Make rounds to the end."""
    for _ in rounds(solver, stop):
        pass
