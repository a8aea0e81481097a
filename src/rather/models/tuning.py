"""``reg="cv"``: the regularisation chosen on held-out training data, along a warm-started path."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..errors import InputError
from ..native import core
from ..solving import start
from ..solving.newton import Newton
from ..solving.problem import Problem
from .lowrank import LowRank

FACTORS = (4.0, 3.2, 2.6, 2.1, 1.7, 1.4, 1.1, 0.9, 0.7, 0.5, 0.35)  # times the scale of reg, from stiff to loose
HELD_OUT = 0.2
ROUNDS = 4  # at each value, from the solution at the one before


def choose_factor(model: LowRank, comparisons: Comparisons, rank: int) -> tuple[list[dict[str, float]], float]:
    """The factor on the scale of reg whose fit orders most held-out comparisons rightly, and the path's results.

    A fifth of every user's *ratings* or *clicks* is held out when pairs come from them (pairs of the same items would
    leak), of the answers otherwise. A tie goes to the stiffer value. Once the personal part is alive, the path ends
    when two values in a row do worse than the best.
    """
    train, test = comparisons.hold_out(HELD_OUT, seed=model.seed)
    if not len(train) or not len(test):
        raise InputError("reg='cv' holds out a fifth of the answers, too few here to compare; give reg a number")
    scaled, _ = model._scales(train.source)
    exposed = model._exposure(train.source)
    results: list[dict[str, float]] = []
    best, best_accuracy, worse = comparisons.source.reg_factor, -1.0, 0
    problem: Problem | None = None
    for factor in FACTORS:
        warm, problem = problem, model._problem(train.source, scaled, exposed, rank, factor)
        if warm is None:
            start.spectral(problem, model.seed)
        else:
            problem.U[:], problem.V[:] = warm.U, warm.V
            start.grow(problem, model.seed)  # columns that the stiffer ridge had kept at zero
        solver = Newton(problem, model.seed)
        for _ in range(ROUNDS):
            solver.round()
        accuracy = _held_out_accuracy(problem, test)
        results.append({"factor": factor, "reg": problem.reg, "accuracy": accuracy})
        if accuracy > best_accuracy:
            best, best_accuracy, worse = factor, accuracy, 0
        elif accuracy < best_accuracy and problem.V[:, : problem.rank].any():
            worse += 1
            if worse == 2:
                break
    return results, best


def _held_out_accuracy(problem: Problem, test: Comparisons) -> float:
    def scores(user: Any, item: Any) -> Any:
        out = np.empty(len(user), np.float32)
        core.score_pairs(problem.U, user, problem.V, item, out, problem.n_threads)
        return out

    right, every = test.source.ordered(scores, None, problem.n_threads)
    return float(right.sum() / every.sum())
