"""Each user's reluctance to decide, estimated from margins and the answers at them.

With x a margin in log-odds and r_i = r e^(e_i) (Rao and Kupper, 1967; one r for all if e_i = 0)

    P(won) = sigma(x - r_i)        P(lost) = sigma(-x - r_i)        P(tied) = 1 - P(won) - P(lost)

so that -log P(tied) = -log sigma(r_i - x) - log sigma(r_i + x) - log(1 - e^(-2 r_i)): a tie is like two answers, one
each way, that need not exceed the reluctance. Users differ much in reluctance, sometimes more than in taste. e_i is
normal with an estimated spread, and each user gets the posterior mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.rows import Pairs, beside_ties, is_tied
from ..logistic import sigmoid

LEAST, MOST = 1e-4, 30.0
ROUNDS, STEPS = 30, 4
FIRST_SPREAD, LEAST_SPREAD = 0.5, 1e-3
FARTHEST = 10.0  # that an e_i may be from 0
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reluctance:
    """r, the spread of the e_i, and e^(e_i) of every person."""

    typical: float
    spread: float
    own: Numbers


def outcomes(x: Any, reluctance: Any) -> Numbers:
    """The probabilities of the three outcomes: columns won, tied, lost."""
    won, lost = sigmoid(x - reluctance), sigmoid(-x - reluctance)
    return np.stack((won, np.maximum(1 - won - lost, 0.0), lost), axis=-1)


def estimated(x: Any, pairs: Pairs, n_users: int) -> Reluctance:
    """Estimate the reluctance from all answers, in which ties are halves, and their margins."""
    answers = _Answers(x, pairs, n_users)
    level, spread, e = np.log(0.5), FIRST_SPREAD, np.zeros(n_users)
    for _ in range(ROUNDS):
        e, variance = answers.likeliest(e, level, spread)
        shift = float(e[answers.said].mean()) if answers.said.any() else 0.0
        level, e = level + shift, np.where(answers.said, e - shift, 0.0)
        square = float((e**2 + variance)[answers.said].mean()) if answers.said.any() else 0.0
        before, spread = spread, max(np.sqrt(square), LEAST_SPREAD)
        if abs(shift) + abs(spread - before) <= 1e-4:
            break
    return Reluctance(float(np.clip(np.exp(level), LEAST, MOST)), float(spread), np.exp(e))


def own(x: Any, pairs: Pairs, n_users: int, typical: float, spread: float) -> Numbers:
    """e^(e_i) of people of whom no more is known than these answers and their margins."""
    answers = _Answers(x, pairs, n_users)
    e = np.zeros(n_users)
    for _ in range(ROUNDS // STEPS):
        e, _ = answers.likeliest(e, np.log(max(typical, LEAST)), max(spread, LEAST_SPREAD))
    return np.where(answers.said, np.exp(e), 1.0)


class _Answers:
    """Margins with their users and whether each is a tie; halves of ties count whole here."""

    def __init__(self, x: Any, pairs: Pairs, n_users: int) -> None:
        beside, x = beside_ties(pairs), np.asarray(x, np.float64)
        if beside is not None:  # where nobody could have tied
            x, pairs = x[~beside], pairs.take(~beside)
        self.x, self.user, self.n, self.tied = x, pairs.user, n_users, is_tied(pairs)
        self.w = pairs.weights() * np.where(self.tied, 2.0, 1.0)
        self.ties = 0.5 * np.bincount(self.user, self.w * self.tied, n_users).astype(np.float64)
        self.said = np.bincount(self.user, minlength=n_users) > 0

    def likeliest(self, e: Numbers, level: float, spread: float) -> tuple[Numbers, Numbers]:
        """A few Newton steps on every e_i, and one over the curvatures there."""
        precision = spread**-2
        for _ in range(STEPS):
            r = np.clip(np.exp(level + e), LEAST, MOST)
            sign = np.where(self.tied, 1.0, -1.0)
            p = sigmoid(-(self.x + sign * r[self.user]))
            slope = np.bincount(self.user, self.w * sign * p, self.n).astype(np.float64)
            curvature = np.bincount(self.user, self.w * p * (1 - p), self.n).astype(np.float64)
            rest = -np.expm1(-2 * r)
            slope += self.ties * 2 * np.exp(-2 * r) / rest
            curvature += self.ties * 4 * np.exp(-2 * r) / rest**2
            H = curvature * r * r + precision
            e = np.clip(e + np.clip((slope * r - precision * e) / H, -1.0, 1.0), -FARTHEST, FARTHEST)
        return e, 1 / H
