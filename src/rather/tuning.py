"""``reg="cv"``: the regularisation chosen on held-out training data, along a warm-started path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import start
from .comparisons import Comparisons
from .metrics import accuracy_of_scores
from .native import core, threads
from .newton import Newton
from .problem import Problem

if TYPE_CHECKING:
    from .altsvm import AltSVM

FRACTIONS = (1.2, 1.0, 0.85, 0.72, 0.6, 0.5, 0.42, 0.35, 0.25)  # of the noise level, from stiff to loose
HELD_OUT = 0.2
ROUNDS = 4  # at each value, from the solution at the one before


def choose_fraction(model: AltSVM, comparisons: Comparisons) -> tuple[list[dict[str, float]], float]:
    """The fraction of the noise level whose fit orders most held-out comparisons rightly, and the path's results.

    A fifth of every user's *ratings* is held out when pairs come from ratings (pairs of the same items would leak),
    of the comparisons otherwise. A tie goes to the stiffer value. The path stops once two values in a row do worse.
    """
    by = "pairs" if comparisons.ratings is None else "items"
    train, test = comparisons.split(test=HELD_OUT, seed=model.seed, by=by)
    n_threads = threads(model.n_threads)
    scaled = model._scales(train)
    noise = start.noise_level(train.store, loss=model.loss, scales=scaled, n_threads=n_threads)
    results: list[dict[str, float]] = []
    best, best_accuracy, worse = start.REG_FRACTION, -1.0, 0
    problem: Problem | None = None
    for fraction in FRACTIONS:
        warm = problem
        problem = model._problem(train.store, scaled, noise, fraction)
        start.spectral(problem, model.seed)
        if warm is not None and warm.V[:, : warm.rank].any():
            problem.U[:], problem.V[:] = warm.U, warm.V
            problem.refresh()
        solver = Newton(problem, model.seed)
        for _ in range(ROUNDS):
            solver.round()
        accuracy = _held_out_accuracy(problem, test)
        results.append({"fraction": fraction, "reg": problem.reg, "accuracy": accuracy})
        if accuracy > best_accuracy:
            best, best_accuracy, worse = fraction, accuracy, 0
        else:
            worse += 1
            if worse == 2:
                break
    return results, best


def _held_out_accuracy(problem: Problem, test: Comparisons) -> float:
    def scores(user: Any, item: Any) -> Any:
        out = np.empty(len(user), np.float32)
        core.score_pairs(problem.U, user, problem.V, item, out, problem.n_threads)
        return out

    return accuracy_of_scores(scores, test, None, problem.n_threads)
