"""The base class of low-rank models whose loss depends on the difference of two ratings."""

from __future__ import annotations

from ..data.source import Source
from ..errors import InputError
from ..solving import start
from ..solving.problem import Problem
from ..solving.reg import reg_scales
from ..solving.scales import scales

# Times the scale of the bias's ridge; chosen on held-out training data.
BIAS_FACTORS = {"gap_times_logistic": 2.0, "gap_logistic": 0.4, "squared_difference": 0.4}
LEAST_GAP, LARGEST_GAP = 1e-6, 1e6


def require_gaps(source: Source, what: str) -> None:
    """Refuse comparisons of which only the winner is known, and gaps whose squares single precision cannot hold."""
    gap = source.largest_gap()
    if gap is None:
        raise InputError(
            f"{what} learns from the ratings behind comparisons, and these have none: they say who won, not by how "
            "much",
            remedy="ratings or another model",
        )
    if not LEAST_GAP <= gap <= LARGEST_GAP:
        raise InputError(
            f"the largest difference of two ratings of a user is {gap:g}; for {what} it must be from {LEAST_GAP:g} to "
            f"{LARGEST_GAP:g}: multiply all ratings by a constant"
        )


def gap_problem(
    source: Source,
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
    store = source.store
    scaled, _ = scales(store, user_power=0.0, item_power=item_power, balance=balance)
    problem = Problem(store, rank=rank, loss=loss, bias=True, scales=scaled, n_threads=n_threads)
    scale, bias_scale = reg_scales(store, loss=loss, scales=scaled, n_threads=n_threads)
    problem.set_reg(Source.reg_factor * scale if reg is None else float(reg), BIAS_FACTORS[loss] * bias_scale)
    start.spectral(problem, seed)
    return problem
