"""How sure a score difference makes us: the slope of P(i prefers j to k) = sigma(slope (s_ij - s_ik)).

A slope fitted on the training comparisons themselves would be far too steep. So a fifth of what a fifth of the users
said (of each one's items, where it came from ratings) is put aside, the fit goes on without it for a few rounds, until
it is forgotten, and the one-parameter logistic regression is fitted to what was put aside.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .comparisons import Comparisons
from .errors import InputError
from .native import core
from .problem import Problem

FEWEST_USERS, MOST_USERS = 100, 2000  # and between them a fifth of all
SHARE = 0.2
ROUNDS = 3


def calibrate(problem: Problem, comparisons: Comparisons, seed: int) -> float:
    """The slope for the fitted factors of a problem and the comparisons they were fitted to."""
    n = comparisons.n_users
    some = np.zeros(n, bool)
    how_many = min(MOST_USERS, max(FEWEST_USERS, n // 5))
    some[np.random.default_rng(seed).permutation(n)[:how_many]] = True
    try:
        by = "pairs" if comparisons.ratings is None else "items"
        rest, aside = comparisons.split(test=SHARE, seed=seed, by=by, users=some)
    except InputError:  # too few comparisons to put any aside
        return fit_slope(*_margins(problem, comparisons))
    if not len(aside) or not len(rest):
        return fit_slope(*_margins(problem, comparisons))
    without = Problem(
        rest.store, rank=problem.rank, loss=problem.loss_name, bias=problem.bias, scales=problem.scales,
        n_threads=problem.n_threads,
    )  # fmt: skip
    without.set_reg(problem.reg, problem.bias_reg)
    without.delta = problem.delta
    without.U[:], without.V[:] = problem.U, problem.V
    without.user_step()
    for _ in range(ROUNDS):
        without.item_step()
        without.user_step()
    return fit_slope(*_margins(without, aside))


def _margins(problem: Problem, comparisons: Comparisons) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Score differences of comparisons, winner minus loser, and their weights."""
    pairs = comparisons.pairs()
    margin = np.empty(len(pairs.user), np.float32)
    loser = np.empty_like(margin)
    core.score_pairs(problem.U, pairs.user, problem.V, pairs.winner, margin, problem.n_threads)
    core.score_pairs(problem.U, pairs.user, problem.V, pairs.loser, loser, problem.n_threads)
    weight = np.ones(len(margin)) if pairs.weight is None else pairs.weight.astype(np.float64)
    return (margin - loser).astype(np.float64), weight


def fit_slope(margin: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]) -> float:
    """The a that minimises sum w log(1 + exp(-a margin)), with one comparison each way added at a typical margin.

    The two added comparisons keep the slope finite when every margin has the right sign, and near 0 when there are few.
    """
    typical = float(np.sqrt(np.average(margin**2, weights=weight))) if len(margin) else 0.0
    if typical == 0:
        return 1.0
    x = np.concatenate((margin, [typical, -typical])) / typical
    w = np.concatenate((weight, [1.0, 1.0]))
    a = 1.0
    for _ in range(100):
        p = 0.5 * (1 - np.tanh(0.5 * a * x))  # sigma(-a x)
        slope, curvature = -(w * x * p).sum(), (w * x * x * p * (1 - p)).sum()
        step = slope / max(curvature, 1e-12)
        a -= float(np.clip(step, -1.0, 1.0))  # convex: short steps reach the minimum from anywhere
        if abs(step) <= 1e-9 * max(1.0, abs(a)):
            break
    return max(a, 0.0) / typical
