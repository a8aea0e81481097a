"""How sure a score difference makes us: the slope of P(i prefers j to k) = sigma(slope (s_ij - s_ik)).

A slope fitted on the training comparisons themselves would be far too steep. So a fifth of what a fifth of the users
said (of each one's items, where it came from ratings or clicks) is put aside, a twin of the model is fitted to the
rest, and the one-parameter logistic regression is fitted to what was put aside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.comparisons import Comparisons
from ..errors import InputError
from ..logistic import sigmoid

FEWEST_USERS, MOST_USERS = 100, 2000  # and between them a fifth of all
SHARE = 0.2
MOST_PAIRS = 500_000
STEEPEST = 1e30


@dataclass
class Slope:
    """The slope of one fitted state, once it is found; shared by all that answer from that state."""

    value: float | None = None


def found_slope(twin: Any, comparisons: Comparisons, seed: int) -> float:
    """The slope for a model of the twin's kind fitted to comparisons; the twin is an estimator not fitted yet.

    0 where what was put aside is predicted no better than by a coin.
    """
    n, rng = comparisons.n_users, np.random.default_rng(seed)
    some = np.zeros(n, bool)
    some[rng.permutation(n)[: min(MOST_USERS, max(FEWEST_USERS, n // 5))]] = True
    try:
        rest, aside = comparisons.hold_out(SHARE, seed=seed, users=some)
    except InputError:  # too few comparisons to put any aside: nothing is known of how sure to be
        return 1.0
    if not len(rest) or not len(aside):
        return 1.0
    pairs = aside.source.some_pairs(MOST_PAIRS, rng)
    twin.fit(rest)
    margin = twin.score_codes(pairs.user, pairs.winner) - twin.score_codes(pairs.user, pairs.loser)
    return fit_slope(margin.astype(np.float64), pairs.weights())


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
        p = sigmoid(-a * x)
        slope, curvature = -(w * x * p).sum(), (w * x * x * p * (1 - p)).sum()
        step = slope / max(curvature, 1e-12)
        a -= float(np.clip(step, -1.0, 1.0))  # convex: short steps reach the minimum from anywhere
        if abs(step) <= 1e-9 * max(1.0, abs(a)):
            break
    return min(max(a, 0.0) / typical, STEEPEST)
