"""Where a fit begins, and the scale of its regularisation: the global ranking, and the spectrum of what it leaves.

At X = 1 b' (everyone ranks like the crowd) the loss has the sparse gradient -G, one number per (user, item seen). With
the ridges' shapes divided out, S = diag(p)^-1/2 G diag(q)^-1/2, two numbers say everything about the scale of ``reg``:

* sigma_max(S): for reg at or above it the personal part of the optimum is zero;
* sigma_max(S with random signs): what pure noise of the same size would reach. It is the quantity that the proof of the
  paper's Theorem 3.1 bounds, and the default reg is a fixed fraction of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .native import FloatArray, core, factor
from .problem import Problem, Scales

REG_FRACTION = 0.6  # of the noise level; best on held-out training ratings of MovieLens 1M at 20, 50 and 100 a user
BIAS_FRACTION = 4.0


def noise_level(store: Any, *, loss: str, scales: Scales, n_threads: int) -> float:
    """The largest singular value of the scaled gradient at zero with random signs."""
    zero = Problem(store, rank=0, loss=loss, bias=False, scales=scales, n_threads=n_threads)
    zero.delta = 1.0  # the hinge's slope at margin 0 is 1 either way
    zero.evaluate()
    rng = np.random.default_rng(0)  # one rule for everybody, whatever the seed of the fit
    signs = rng.integers(0, 2, store.n_entries, dtype=np.int8) * np.int8(2) - np.int8(1)
    entries = _scaled_slopes(zero) * signs
    values, _, _ = _singular(store, entries, columns=8, iterations=10, rng=rng, n_threads=n_threads)
    return float(values[0])


def global_ranking(store: Any, *, loss: str, scales: Scales, bias_reg: float, n_threads: int) -> Problem:
    """The problem of rank 0, solved: b alone."""
    problem = Problem(store, rank=0, loss=loss, bias=True, scales=scales, n_threads=n_threads)
    problem.set_reg(1.0, bias_reg)
    if loss == "hinge":
        problem.delta = 0.5
    problem.evaluate()
    for _ in range(20):
        decrement = problem.item_step(cg_steps=20, cg_tol=0.01)
        if decrement <= 1e-6 * problem.loss_value:
            break
    return problem


def spectral(problem: Problem, seed: int) -> None:
    """Start U and V at the shrunk leading singular pairs of S, at the scale that minimises F along them."""
    store, r, n_threads = problem.store, problem.rank, problem.n_threads
    if problem.bias:
        base = global_ranking(
            store, loss=problem.loss_name, scales=problem.scales, bias_reg=problem.bias_reg, n_threads=n_threads
        )
        problem.V[:, r] = base.V[:, 0]
    problem.refresh()
    if r == 0:
        return
    rng = np.random.default_rng(seed)
    entries = _scaled_slopes(problem)
    values, left, right = _singular(store, entries, columns=r, iterations=3, rng=rng, n_threads=n_threads)
    shrunk = np.maximum(values - problem.reg, 0.0)
    root = np.sqrt(shrunk)
    problem.U[:, :r] = left[:, :r] * root / np.sqrt(problem.scales.user_ridge)[:, None]
    problem.V[:, :r] = right[:, :r] * root / np.sqrt(problem.scales.item_ridge)[:, None]
    scale = np.sqrt(_best_scale(problem, problem.reg * float(shrunk.sum())))
    problem.U[:, :r] *= np.float32(scale)
    problem.V[:, :r] *= np.float32(scale)
    problem.refresh()


def uniform(problem: Problem, seed: int) -> None:
    """The start of the authors' program: U uniform in [0, 1] / sqrt(r), so that the first V step ranks globally."""
    r = problem.rank
    rng = np.random.default_rng(seed)
    problem.U[:, :r] = rng.random((problem.store.n_users, r), dtype=np.float32) / np.float32(np.sqrt(max(r, 1)))
    problem.V[:] = 0
    problem.refresh()


def _best_scale(problem: Problem, penalty: float) -> float:
    """The t > 0 that about minimises sum L(base + t * personal) + t * penalty, which is convex in t."""
    base = problem.m.copy()
    fixed = problem.U[:, problem.rank].copy()
    problem.U[:, problem.rank] = 0
    core.scores(problem.store, problem.U, problem.V, problem.m, problem.n_threads)
    problem.U[:, problem.rank] = fixed
    personal = problem.m.copy()
    spread = float(np.sqrt(np.mean(np.square(personal, dtype=np.float64))))
    if spread == 0:
        return 1.0

    def slope(t: float) -> float:
        np.multiply(personal, np.float32(t), out=problem.m)
        problem.m += base
        problem.evaluate()
        return float((problem.c * personal).sum(dtype=np.float64)) + penalty

    low, high = 0.0, 1.0 / spread
    for _ in range(4):
        if slope(high) > 0:
            break
        low, high = high, 2 * high
    for _ in range(3):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return 0.5 * (low + high)


def _scaled_slopes(problem: Problem) -> FloatArray:
    """The entries of S: minus the slopes over the square roots of the ridges' shapes."""
    store, scales = problem.store, problem.scales
    by_user = np.repeat(1 / np.sqrt(scales.user_ridge), np.diff(store.start))
    scale = by_user * (1 / np.sqrt(scales.item_ridge))[store.item]
    return np.asarray(-problem.c * scale, np.float32)


def _singular(
    store: Any, entries: FloatArray, *, columns: int, iterations: int, rng: np.random.Generator, n_threads: int
) -> tuple[npt.NDArray[np.float64], FloatArray, FloatArray]:
    left, right = factor(store.n_users, columns), factor(store.n_items, columns)
    right[:, :columns] = rng.standard_normal((store.n_items, columns), dtype=np.float32)
    values = core.singular(store, entries.astype(np.float32, copy=False), left, right, columns, iterations, n_threads)
    return np.array(values), left, right
