"""Alternating truncated Newton on the primal: the default solver. Bit-identical at any number of threads."""

from __future__ import annotations

from typing import Any

from .problem import Problem
from .smoothing import Tightening

HIDDEN = 5e-3  # of the objective: more of it that is smoothed away is no convergence


class Newton:
    """Rounds of one Newton-CG step on all items and then one on every user."""

    GROWN: tuple[str, ...] = ()

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.tightening = Tightening(problem)
        self.rounds_done = 0

    def round(self) -> dict[str, float]:
        """One round, V before U.

        Returns the objective after it and ``gap``: the Newton decrements of the two halves over the objective, the
        share of it that the halves' quadratic models saw left to gain.
        """
        problem = self.problem
        coarse = self.tightening.before_round(problem, self.rounds_done)
        gain = problem.item_step() + problem.user_step()
        self.rounds_done += 1
        return record(problem, gain, coarse)

    def state(self) -> dict[str, Any]:
        """Arrays to save, beside U and V, to resume from here."""
        return {"m": self.problem.m}  # scores carried along differ in their last bits from scores computed anew

    def restore(self, state: dict[str, Any], rounds_done: int) -> None:
        self.rounds_done = rounds_done
        self.tightening.resume(self.problem, rounds_done)
        self.problem.m[:] = state["m"]
        self.problem.update_priors()
        self.problem.evaluate()


def record(problem: Problem, gain: float, coarse: bool) -> dict[str, float]:
    """The objective, and the gain that was seen as a share of it: all of it while the smoothing is coarse.

    Where the last smoothing still hides much of the objective, as on few comparisons it may, that is left to gain too.
    """
    objective = problem.objective()
    gap = gain / objective if objective > 0 else 0.0
    hidden = (problem.smoothed_away() / objective) if problem.delta and objective > 0 else 0.0
    return {"objective": objective, "gap": max(gap, 1.0) if coarse else max(gap, hidden if hidden > HIDDEN else 0.0)}
