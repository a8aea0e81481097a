"""Alternating truncated Newton steps on the primal, the default solver: the same bits on any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from .problem import Problem
from .smoothing import Tightening


class Newton:
    """Rounds of one Newton-CG step on all items, then one on every user, and one on the effects."""

    GROWN: tuple[str, ...] = ()

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.tightening = Tightening(problem)
        self.rounds_done = 0

    def go_on(self, delta: float) -> None:
        """Begin where rounds have ended before, with the smoothing that they had come to."""
        self.rounds_done = self.tightening.steps
        self.tightening.resume(self.problem, delta)
        self.problem.evaluate()

    def round(self) -> dict[str, float]:
        """One round, V before U before g.

        Returns the objective after it and ``gap``, over the objective: the Newton decrements of the steps, what
        their quadratic models saw left to gain; and what the smoothing of a hinge hides, which may be left to gain too.
        """
        problem = self.problem
        self.tightening.before_round(problem)
        gain = problem.item_step() + problem.user_step() + problem.effect_step()
        self.rounds_done += 1
        return self.tightening.after_round(problem, self.rounds_done, gain)

    def state(self) -> dict[str, Any]:
        """Arrays to save, beside U and V, to resume from here."""
        delta = np.array([self.tightening.next], np.float64)
        effects = {} if self.problem.around is None else {"effects": self.problem.g}
        tied = {} if self.problem.C is None else {"C": self.problem.C}
        return {
            "m": self.problem.m,
            "delta": delta,
            **effects,
            **tied,
        }  # scores computed anew would differ in their last bits

    def restore(self, state: dict[str, Any], rounds_done: int) -> None:
        self.rounds_done = rounds_done
        self.tightening.resume(self.problem, float(state["delta"][0]))
        self.problem.set_effects(state.get("effects", ()))
        self.problem.refresh(state["m"])
        if self.problem.C is not None and self.problem.priors is not None:
            self.problem.C[:] = state["C"]
            self.problem.priors.items.means(self.problem.C, self.problem.V)
