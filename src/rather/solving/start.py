"""The start of a fit: the shared ranking, and the leading singular triples of the gradient there.

At X = 1 b' (one ranking for all users) the loss has the sparse gradient -G, with one number per (user, item seen). With
the ridges' shapes divided out it is S = diag(p)^-1/2 G diag(q)^-1/2. For reg at or above sigma_max(S) the personal part
of the optimum is zero; the shrunk leading singular pairs of S are the start of a fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..native import FloatArray, core
from . import smoothing
from .effects import Around
from .priors import Priors
from .problem import Problem
from .scales import Scales
from .singular import blocks, singular
from .spectrum import scaled_slopes

START_ITERATIONS = 3
USER_STEPS = 3
ABOUT = 1e-3  # a decrement, as a share of the loss


def global_ranking(
    store: Any,
    *,
    loss: str,
    scales: Scales,
    bias_reg: float,
    n_threads: int,
    around: Around | None = None,
    priors: Priors | None = None,
) -> Problem:
    """The problem of rank 0, about solved: b alone, and the effects."""
    problem = Problem(
        store, rank=0, loss=loss, bias=True, scales=scales, n_threads=n_threads, around=around, priors=priors
    )
    problem.set_reg(1.0, bias_reg)
    if smoothing.is_smoothed(problem):
        problem.delta = smoothing.ONCE
    problem.evaluate()
    for _ in range(20):
        if problem.item_step(cg_steps=10) + problem.effect_step() <= ABOUT * problem.loss_value:
            break
    return problem


def spectral(problem: Problem, seed: int) -> None:
    """Start at the global ranking, and U and V at the shrunk leading singular pairs of S there."""
    problem.U[:, : problem.rank], problem.V[:] = 0, 0
    if problem.bias:
        everyone = global_ranking(
            problem.store, loss=problem.loss_name, scales=problem.scales, bias_reg=problem.bias_reg,
            n_threads=problem.n_threads, around=problem.around, priors=problem.priors if problem.tied else None,
        )  # fmt: skip
        problem.V[:, problem.rank] = everyone.V[:, 0]
        problem.set_effects(everyone.g)
        del everyone  # its scalars are large, and not needed further
    grow(problem, seed)


def grow(problem: Problem, seed: int) -> None:
    """Fill the columns that are zero in U or V, which no step could bring to life, from the gradient at the factors.

    They become the leading singular pairs of S there. Nothing changes where no singular value exceeds reg: then more
    columns would not lower F.
    """
    r = problem.rank
    problem.refresh()
    dead = np.flatnonzero(~(problem.user_columns() & problem.V[:, :r].any(axis=0)))
    if not len(dead):
        return
    dead = dead[: min(problem.store.all_users, problem.store.n_items)]  # a matrix has no more singular values
    values, left, right = _steepest(problem, len(dead), np.random.default_rng(seed))
    fill(problem, dead, left, values, right)


def _steepest(problem: Problem, columns: int, rng: np.random.Generator) -> tuple[Any, FloatArray, FloatArray]:
    """About the leading singular values of S, and the rows of U and V that its singular vectors stand for."""
    priors, scales = problem.priors, problem.scales
    roots = 1 / np.sqrt(scales.user_ridge), 1 / np.sqrt(scales.item_ridge)
    if priors is None:
        values, left, right = singular(
            problem.store, scaled_slopes(problem), columns=columns, iterations=START_ITERATIONS, rng=rng,
            n_threads=problem.n_threads,
        )  # fmt: skip
        for rows, root in zip((left, right), roots, strict=True):
            core.scale_rows(rows, root, np.ones(rows.shape[1], np.float32), problem.n_threads)
        return values, left, right
    left, right = blocks(problem.store, columns, rng)
    rest = left, right, columns, START_ITERATIONS, problem.n_threads
    if problem.tied:
        values = core.singular_tied(problem.store, -problem.c, roots[0], priors.users.core, priors.items.core, *rest)
    else:
        values = core.singular_expanded(
            problem.store, -problem.c, roots[0], priors.users.core, roots[1], priors.items.core, *rest
        )
    return np.array(values), left, right


def fill(problem: Problem, columns: Any, left: FloatArray, values: Any, right: FloatArray) -> None:
    """Set columns of U and V to the rows that singular pairs of S stand for, shrunk by reg, at the scale that is best.

    ``left`` and ``right`` are laid out as factors are, and are used up.
    """
    k, shrunk = len(columns), np.maximum(values - problem.reg, 0.0)
    if not shrunk.any():
        return
    n_threads, root = problem.n_threads, np.ones(left.shape[1], np.float32)
    root[:k] = np.sqrt(shrunk)
    for rows in (left, right):
        core.scale_rows(rows, None, root, n_threads)
    added = np.empty_like(problem.m)
    core.scores(problem.store, left, right, added, n_threads)
    scale = np.float32(np.sqrt(best_scale(problem, added, problem.reg * float(shrunk.sum()))))
    for rows, into in ((left, problem.U), (right, problem.V)):
        core.scale_rows(rows, None, np.full_like(root, scale), n_threads)
        into[:, columns] = rows[:, :k]
    problem.refresh()


def from_items(problem: Problem, V: FloatArray, seed: int) -> None:
    """Start at given item vectors, and every user at the best for them."""
    problem.U[:, : problem.rank], problem.V[:] = 0, V
    problem.refresh()
    for _ in range(USER_STEPS):
        problem.user_step()
    grow(problem, seed)


def from_rows(problem: Problem, users: Any, U: FloatArray, items: Any, V: FloatArray) -> None:
    """Start at known rows of some users and items, and the others at their prior means, or at 0 without any."""
    r = problem.rank
    problem.U[users, :r], problem.V[items] = U[:, :r], V
    if not problem.bias:
        problem.V[:, r] = 0
    if problem.priors is not None:
        known_users, known_items = np.zeros(len(problem.U), bool), np.zeros(len(problem.V), bool)
        known_users[users], known_items[items] = True, True
        problem.place(known_users, known_items)
    problem.refresh()


def uniform(problem: Problem, seed: int) -> None:
    """The start of the authors' program: U uniform in [0, 1] / sqrt(r), so that the first V step ranks globally."""
    r = problem.rank
    rng = np.random.default_rng(seed)
    problem.U[:, :r] = rng.random((problem.store.n_users, r), dtype=np.float32) / np.float32(np.sqrt(max(r, 1)))
    problem.V[:] = 0
    problem.refresh()


def best_scale(problem: Problem, added: FloatArray, penalty: float) -> float:
    """Return the t > 0 that about minimises sum L(m + t * added) + t * penalty, which is convex in t."""
    squares = core.square_sum(problem.store, added, problem.n_threads)
    spread = float(np.sqrt(squares / max(problem.store.all_entries, 1)))
    if spread == 0:
        return 1.0

    def rises(t: float) -> bool:
        return problem.slope_along(added, t) + penalty > 0

    low, high = 0.0, 1.0 / spread
    for _ in range(4):
        if rises(high):
            break
        low, high = high, 2 * high
    for step in range(16):
        if step >= 3 and low > 0:
            break
        middle = 0.5 * (low + high)
        low, high = (low, middle) if rises(middle) else (middle, high)
    return 0.5 * (low + high) if low > 0 else 0.0
