"""The rows of new items, fitted while all users and all other items stay fixed: a convex problem.

Comparisons among the new items couple their rows, so they are solved together: by L-BFGS, in coordinates in which the
diagonal of the Hessian is about 1, to the limit of single precision.
"""

from __future__ import annotations

import numpy as np

from ..data.rows import Mask
from ..native import FloatArray, core
from . import smoothing
from .lbfgs import LBFGS
from .problem import Problem

MOST_STEPS = 300  # at each smoothing
SOLVED, AT_REST = 1e-7, 5  # a share of the objective that steps gain less than, so many times in a row


def solve_items(problem: Problem, new: Mask, mean: FloatArray) -> None:
    """Set the rows of V that a mask names to the best for all else in the problem; ridges are about the means."""
    r, n_threads = problem.rank, problem.n_threads
    free = r + 1 if problem.bias else r
    rows = np.flatnonzero(new)
    ridge = np.repeat(problem.q[rows, None], free, axis=1)
    ridge[:, r:] = problem.beta[rows, None]
    sums, expected = np.zeros_like(problem.V), mean[rows, :free]

    def of_items(entries: FloatArray, U: FloatArray) -> FloatArray:
        core.item_products(problem.store, entries, U, sums, n_threads)
        return sums[rows, :free]

    for delta in smoothing.EXACT if smoothing.is_smoothed(problem) else (0.0,):
        problem.delta = delta
        core.scores(problem.store, problem.U, problem.V, problem.m, n_threads)
        problem.evaluate()
        curvature = of_items(problem.d, np.square(problem.U)) + ridge
        root: FloatArray = np.asarray(1 / np.sqrt(curvature), np.float32)

        def value(x: FloatArray, root: FloatArray = root) -> tuple[float, FloatArray]:
            own = x.reshape(root.shape) * root
            problem.V[rows, :free] = own
            core.scores(problem.store, problem.U, problem.V, problem.m, n_threads)
            loss = problem.evaluate()
            pull = ridge * (own - expected)
            total = loss + 0.5 * float((pull * (own - expected)).sum(dtype=np.float64))
            return total, ((of_items(problem.c, problem.U) + pull) * root).ravel()

        solver, quiet = LBFGS(value, np.asarray(problem.V[rows, :free] / root, np.float32).ravel()), 0
        for _ in range(MOST_STEPS):
            quiet = quiet + 1 if solver.round()["gap"] <= SOLVED else 0
            if quiet == AT_REST:
                break
        value(solver.x)  # the last trial may have been another
