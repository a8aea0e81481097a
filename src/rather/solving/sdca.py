"""The paper's Algorithm 1: stochastic dual coordinate descent on users and items in turn, with lock-free threads.

With one thread a fit is reproducible. With several, the updates race on purpose, and the result varies from run to run.
Two dual variables per comparison are stored, whether the comparison is written down or not. One is copied for the gap:
12 bytes a comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import memory
from ..errors import InputError
from ..native import FloatArray, core
from .problem import Problem

EXPLODED = 100  # times the objective of no model at all: a fit that has come there will not come back


class Sdca:
    """Rounds of as many updates as there are comparisons on the items' duals, and then on the users'."""

    GROWN: tuple[str, ...] = ()

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.seed = seed
        self.rounds_done = 0
        n = problem.store.n_comparisons
        memory.require(12.0 * n, f"the dual variables of {n:,} comparisons", "use solver='newton', which needs none")
        self.user_dual, self.item_dual = np.zeros(n, np.float32), np.zeros(n, np.float32)
        self._at_zero = problem.loss_at_zero()

    def round(self) -> dict[str, float]:
        """One round, V before U.

        Returns the objective after it, the duality gap of each half after its updates (``item_gap``, ``user_gap``), and
        ``gap``: what the two halves have left to gain at the factors that the round came to, over the objective. It
        goes to zero only as the alternation itself converges.
        """
        problem = self.problem
        n = problem.store.n_comparisons
        _, item_ridge, item_gap, _ = self._item_half(problem.V, self.item_dual, n)
        loss, user_ridge, user_gap, _ = core.sdca_users(
            problem.store, problem.loss, problem.scales.user_weight, problem.p, problem.V, problem.U, self.user_dual,
            problem.rank, n, self._stream(1), problem.n_threads,
        )  # fmt: skip
        problem.loss_value = loss
        objective = loss + item_ridge + user_ridge
        if objective > EXPLODED * self._at_zero:
            raise InputError(
                f"the objective grew to {objective:.3g}, where no model at all has {self._at_zero:.3g}: with so small "
                "a reg the dual steps do not settle; try a larger reg, or solver='newton'"
            )
        # The items' dual value at the new U bounds what V could come to: no step is made, on copies.
        bound, ridge, slack, _ = self._item_half(problem.V.copy(), self.item_dual.copy(), 0)
        left = loss + item_ridge - (bound + ridge - slack) + user_gap
        self.rounds_done += 1
        return {
            "objective": objective,
            "gap": max(left, 0.0) / objective if objective > 0 else 0.0,
            "item_gap": item_gap,
            "user_gap": user_gap,
        }

    def _item_half(self, V: FloatArray, duals: FloatArray, updates: int) -> tuple[float, float, float, float]:
        """(loss, ridge, gap, gap before) of updates of the items' duals, which set V."""
        problem = self.problem
        report: tuple[float, float, float, float] = core.sdca_items(
            problem.store, problem.loss, problem.scales.user_weight, problem.q, problem.beta, problem.U, V, duals,
            problem.rank, updates, self._stream(0), problem.n_threads,
        )  # fmt: skip
        return report

    def state(self) -> dict[str, Any]:
        """Arrays to save, beside U and V, to resume from here."""
        return {"alpha": self.user_dual, "beta": self.item_dual}

    def restore(self, state: dict[str, Any], rounds_done: int) -> None:
        self.rounds_done = rounds_done
        self.user_dual[:], self.item_dual[:] = state["alpha"], state["beta"]

    def _stream(self, half: int) -> int:
        sequence = np.random.SeedSequence((self.seed, self.rounds_done, half))
        return int(sequence.generate_state(1, np.uint64)[0])
