"""Low-rank problems whose loss sees by how much two ratings differ."""

from __future__ import annotations

import numpy as np

from ..data.comparisons import Comparisons
from ..errors import InputError
from ..solving import start
from ..solving.problem import Problem, scales

# Times the scale of the bias's ridge. As start's factors: chosen on held-out training data.
BIAS_FACTORS = {"gap_times_logistic": 2.0, "gap_logistic": 0.4, "squared_difference": 0.4}
LEAST_GAP, LARGEST_GAP = 1e-6, 1e6


def require_gaps(comparisons: Comparisons, what: str) -> None:
    """Refuse comparisons of which only the winner is known, and gaps whose squares single precision cannot hold."""
    gap = _largest_gap(comparisons)
    if gap is None:
        raise InputError(
            f"{what} learns from the ratings behind comparisons, and these have none: they say who won, not by how "
            "much; make them with Comparisons.from_ratings, or fit AltSVM"
        )
    if not LEAST_GAP <= gap <= LARGEST_GAP:
        raise InputError(
            f"the largest difference of two ratings of a user is {gap:g}; for {what} it must be from {LEAST_GAP:g} to "
            f"{LARGEST_GAP:g}: multiply all ratings by a constant"
        )


def _largest_gap(comparisons: Comparisons) -> float | None:
    """The largest difference of two ratings of one user; None where ratings are not known."""
    if comparisons.written:
        gaps = comparisons.pairs().gap
        return None if gaps is None else float(gaps.max(initial=0))
    r = comparisons.ratings
    if r is None:
        return None
    rows = np.flatnonzero(np.diff(r.user, prepend=-1))
    return float((np.maximum.reduceat(r.rating, rows) - np.minimum.reduceat(r.rating, rows)).max(initial=0))


def gap_problem(
    comparisons: Comparisons,
    *,
    rank: int,
    loss: str,
    reg: float | None,
    item_power: float,
    balance: float,
    n_threads: int,
    seed: int,
) -> Problem:
    """The problem of a loss that sees gaps, at its spectral start; ``reg=None`` takes the rule of AltSVM."""
    store = comparisons.store
    scaled, _ = scales(store, user_power=0.0, item_power=item_power, balance=balance)
    problem = Problem(store, rank=rank, loss=loss, bias=True, scales=scaled, n_threads=n_threads)
    scale, bias_scale = start.reg_scales(store, loss=loss, scales=scaled, n_threads=n_threads)
    problem.set_reg(start.REG_FACTOR * scale if reg is None else float(reg), BIAS_FACTORS[loss] * bias_scale)
    start.spectral(problem, seed)
    return problem
