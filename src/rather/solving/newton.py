"""Alternating truncated Newton on the primal: the default solver. Bit-identical at any number of threads."""

from __future__ import annotations

from typing import Any

from ..native import LOSSES
from .problem import Problem

HINGE_DELTAS = [2.0**-k for k in range(8)]  # the hinge is smoothed over [1 - delta, 1], tightened round by round


class Newton:
    """Rounds of one Newton-CG step on all items and then one on every user."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.rounds_done = 0

    def round(self) -> dict[str, float]:
        """One round, V before U.

        Returns the objective after it and ``gap``: the Newton decrements of the two halves over the objective, the
        share of it that the halves' quadratic models saw left to gain.
        """
        problem = self.problem
        tightening = problem.loss == LOSSES["hinge"] and self.rounds_done < len(HINGE_DELTAS)
        if tightening:
            problem.delta = HINGE_DELTAS[self.rounds_done]
            problem.evaluate()
        gain = problem.item_step() + problem.user_step()
        self.rounds_done += 1
        objective = problem.objective()
        gap = gain / objective if objective > 0 else 0.0
        # While the smoothing is still to be tightened, there is more to gain than the current one can see.
        return {"objective": objective, "gap": max(gap, 1.0) if tightening else gap}

    def state(self) -> dict[str, Any]:
        """Arrays to save, beside U and V, to resume from here."""
        return {"m": self.problem.m}  # scores carried along differ in their last bits from scores computed anew

    def restore(self, state: dict[str, Any], rounds_done: int) -> None:
        self.rounds_done = rounds_done
        if self.problem.loss == LOSSES["hinge"] and rounds_done:
            self.problem.delta = HINGE_DELTAS[min(rounds_done, len(HINGE_DELTAS)) - 1]
        self.problem.m[:] = state["m"]
        self.problem.update_priors()
        self.problem.evaluate()
