"""The base class of stochastic gradient methods: parameters of the steps, random start, and rounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.rows import Clicks, row_starts
from ..errors import InputError
from ..models.factors import FactorEstimator
from ..models.fitted import Fit, FittedModel, in_rounds
from ..models.scorers import Factors
from ..native import FloatArray, core, factor, threads
from ..solving.rounds import Record, Stop

UPDATES_A_ROW = 50  # a round moves the row of a user or an item about this often at least


class Stochastic(FactorEstimator):
    """Fit a factor model by rounds of random steps that get shorter.

    With several threads the steps race without locks, and results vary from run to run. With ``n_threads=1`` the seed
    determines the result. A subclass defines the start and a round in ``_begin``.
    """

    reg: Any
    step: float
    decay: float
    max_iter: int
    tol: float
    seed: int
    verbose: bool
    callback: Callable[[Any, dict[str, float]], Any] | None
    on_interrupt: str

    def _begin(self, comparisons: Comparisons) -> Steps:
        """Return the factors of the start, what a round does to them, and what the model is to hold beside them."""
        raise NotImplementedError

    def _fit(self, data: Comparisons) -> Fit:
        began = time.perf_counter()
        if not len(data):
            raise InputError(f"there is nothing for {type(self).__name__} to draw: this part holds no comparisons")
        steps = self._begin(data)
        base, n_threads = self._model_of(data, steps.factors, **steps.parts), threads(self.n_threads)

        def assemble() -> FittedModel:
            return replace(base, scorer=steps.factors.copied(n_threads))

        advice = f"the steps are too long; try a step smaller than {self.step}"
        yield from in_rounds(steps, Stop(self.tol, self.max_iter), assemble, began=began, advice=advice)

    def _pass(self, factors: Factors, p: FloatArray, q: FloatArray, updates: int, done: int) -> Any:
        """The next round's steps for the core: its ridges a step, its step lengths and its random stream."""
        stream = int(np.random.SeedSequence((self.seed, done)).generate_state(1, np.uint64)[0])
        return core.Pass(
            p, q, factors.U, factors.V, factors.rank, self.step, self.decay, done, updates, stream,
            threads(self.n_threads),
        )  # fmt: skip

    def _start(self, comparisons: Comparisons, bias: bool) -> Factors:
        """Factors of small random numbers, their products of the order of 0.01."""
        rank, rng = int(self.get_params()["rank"]), np.random.default_rng(self.seed)
        U, V = factor(comparisons.n_users, rank + 1), factor(comparisons.n_items, rank + 1)
        for A in (U, V):
            A[:, :rank] = rng.standard_normal((len(A), rank), dtype=np.float32) * np.float32(0.1 / np.sqrt(rank))
        U[:, rank] = float(bias)
        return Factors.packed(U, V, rank)


class Steps:
    """A solver whose rounds are random steps: ``descend`` makes those of a round, and returns the objective."""

    def __init__(self, factors: Factors, descend: Callable[[int], float], **parts: Any) -> None:
        self.factors, self.parts, self._descend = factors, parts, descend
        self._done, self._objective = 0, 0.0

    def round(self) -> Record:
        before, self._objective = self._objective, self._descend(self._done)
        gap = abs(1 - before / self._objective) if self._done and self._objective else 1.0
        self._done += 1
        return {"objective": self._objective, "gap": gap}


def ridge(factors: Factors, users: Any, items: Any) -> float:
    """1/2 sum_i p_i |u_i|^2 + 1/2 sum_j q_j (|v_j|^2 + b_j^2)."""
    squares = [np.einsum("ij,ij->i", A, A) for A in (factors.user_factors, factors.V)]  # V is padded with zeros
    return 0.5 * float(users @ squares[0] + items @ squares[1])


def at_least_a_round(comparisons: Comparisons, updates: int) -> int:
    """The updates of a round: those asked for, or a number that moves every row, if that is more."""
    return max(updates, UPDATES_A_ROW * (comparisons.n_users + comparisons.n_items))


def counts(comparisons: Comparisons) -> tuple[Any, Any]:
    """In how many comparisons every user and every item takes part."""
    users, items = np.empty(comparisons.n_users), np.empty(comparisons.n_items)
    core.count_comparisons(comparisons.store, users, items)
    return users, items


def click_rows(clicks: Clicks, comparisons: Comparisons) -> Any:
    """The clicks as the core wants them."""
    return core.Clicks(row_starts(clicks.user, comparisons.n_users), clicks.user, clicks.item, comparisons.n_items)
