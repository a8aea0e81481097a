"""The paper's Algorithm 1: stochastic dual coordinate descent on each half in turn, with lock-free threads.

With one thread a fit is reproducible; with several the updates race on purpose, and the result varies from run to run.
Two dual variables per comparison are kept, whether it is written down or not: 8 bytes a comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import memory
from ..native import core
from .problem import Problem


class Sdca:
    """Rounds of as many updates as there are comparisons on the items' duals, and then on the users'."""

    GROWN: tuple[str, ...] = ()

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.seed = seed
        self.rounds_done = 0
        n = problem.store.n_comparisons
        memory.require(8.0 * n, f"the dual variables of {n:,} comparisons", "use solver='newton', which needs none")
        self.user_dual, self.item_dual = np.zeros(n, np.float32), np.zeros(n, np.float32)

    def round(self) -> dict[str, float]:
        """One round, V before U.

        Returns the objective after it, the duality gap of each half after its updates (``item_gap``, ``user_gap``),
        and ``gap``: the gaps that the halves began with, over the objective. Those go to zero only as the alternation
        itself converges.
        """
        problem, weight = self.problem, self.problem.scales.user_weight
        n = problem.store.n_comparisons
        _, item_ridge, item_gap, item_before = core.sdca_items(
            problem.store, problem.loss, weight, problem.q, problem.beta, problem.U, problem.V, self.item_dual,
            problem.rank, n, self._stream(0), problem.n_threads,
        )  # fmt: skip
        loss, user_ridge, user_gap, user_before = core.sdca_users(
            problem.store, problem.loss, weight, problem.p, problem.V, problem.U, self.user_dual,
            problem.rank, n, self._stream(1), problem.n_threads,
        )  # fmt: skip
        self.rounds_done += 1
        problem.loss_value = loss
        objective = loss + item_ridge + user_ridge
        return {
            "objective": objective,
            "gap": (item_before + user_before) / objective if objective > 0 else 0.0,
            "item_gap": item_gap,
            "user_gap": user_gap,
        }

    def state(self) -> dict[str, Any]:
        """Arrays to save, beside U and V, to resume from here."""
        return {"alpha": self.user_dual, "beta": self.item_dual}

    def restore(self, state: dict[str, Any], rounds_done: int) -> None:
        self.rounds_done = rounds_done
        self.user_dual[:], self.item_dual[:] = state["alpha"], state["beta"]

    def _stream(self, half: int) -> int:
        sequence = np.random.SeedSequence((self.seed, self.rounds_done, half))
        return int(sequence.generate_state(1, np.uint64)[0])
