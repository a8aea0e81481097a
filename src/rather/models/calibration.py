"""Calibrated probabilities: P(i prefers j to k) = sigma(a_ijk (s_ij - s_ik)), fitted on held-out comparisons.

A slope that was fitted on the training comparisons would be far too steep. So a part of the comparisons is held out
(of each user's items, if they come from ratings or clicks), several times if there are few. A twin of the model is
fitted to the rest, and the slope is fitted to the held-out part:

    a_ijk = slope x (n_i / n)^answers x e^(unmet x how many of j and k are new to i)

Here n_i is the number of items that i met, and n is a typical number. The last two parameters stay at 0 unless the
held-out comparisons contradict that.

If users tie, with x = a_ijk (s_ij - s_ik) and a reluctance r_i to decide (Rao and Kupper, 1967),

    P(i prefers j to k) = sigma(x - r_i)        P(i prefers k to j) = sigma(-x - r_i)

and a tie has the remaining probability. r_i is ``tie`` times a factor of the user, which ``ties`` estimates from the
user's answers. ``tie`` and the slope are fitted to the held-out outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from ..data.comparisons import Comparisons
from ..data.rows import Mask, Pairs, beside_ties, each_tie_once, is_tied
from ..errors import InputError
from ..logistic import sigmoid
from .exclusions import Rows, is_in
from .ties import LEAST, MOST, estimated, outcomes

Numbers = npt.NDArray[np.float64]
ENOUGH, AT_A_TIME = 8_000, 800  # answers put aside in all, and each time
MOST_TIMES, ONCE_TIMES = 10, 2
SHARES = 0.05, 0.2  # of the answers, least and most; of items always the most
MOST_PAIRS = 200_000
STEEPEST, TINY = 1e30, 1e-12
USUAL = 0.5  # a reluctance, where nothing is put aside
SPREAD, LARGEST = 0.3, 2.0  # of the two exponents: how far from 0 they are expected, and may be


@dataclass(frozen=True)
class Calibration:
    """A calibration: probabilities from score differences, and their quality on held-out comparisons."""

    slope: float
    answers: float = 0.0
    unmet: float = 0.0
    typical: float = 1.0
    log_loss: float = math.log(2)
    accuracy: float = 0.5
    tie: float = 0.0
    spread: float = 0.0

    def probability(self, margin: Any, answers: Any, unmet: Any) -> npt.NDArray[np.float32]:
        """Return the probability of a preference, by the margin, the items met, and how many of the two are new."""
        return np.asarray(sigmoid(self.logit(margin, answers, unmet)), np.float32)

    def outcomes(self, margin: Any, answers: Any, unmet: Any, reluctance: Any) -> npt.NDArray[np.float32]:
        """Return the probabilities of winning, tying and losing in three columns, given the user's reluctance."""
        return np.asarray(outcomes(self.logit(margin, answers, unmet), self.tie * np.asarray(reluctance)), np.float32)

    def told(self, margin: Any, answers: Any, unmet: Any, reluctance: Any) -> npt.NDArray[np.float32]:
        """The probability, or where people tie those of the three outcomes."""
        if not self.tie:
            return self.probability(margin, answers, unmet)
        return self.outcomes(margin, answers, unmet, reluctance)

    def logit(self, margin: Any, answers: Any, unmet: Any) -> Any:
        """The margin in log-odds."""
        known = (1 + np.asarray(answers, np.float64)) / (1 + self.typical)
        with np.errstate(over="ignore"):  # as sure as can be
            a = self.slope * known**self.answers * np.exp(self.unmet * np.asarray(unmet, np.float64))
            return a * np.asarray(margin, np.float64)

    def is_sound(self) -> bool:
        numbers = (
            self.slope,
            self.answers,
            self.unmet,
            self.typical,
            self.log_loss,
            self.accuracy,
            self.tie,
            self.spread,
        )
        return (
            all(isinstance(x, (int, float)) and math.isfinite(x) for x in numbers)
            and 0 <= self.slope <= STEEPEST
            and max(abs(self.answers), abs(self.unmet)) <= LARGEST
            and 0 <= self.typical <= 1e18
            and 0 <= self.tie <= MOST
            and 0 <= self.spread <= STEEPEST
        )


@dataclass
class Slope:
    """The calibration of one fitted state, once it is found; shared by all that answer from that state."""

    found: Calibration | None = None
    own: npt.NDArray[np.float32] | None = None  # each user's factor of reluctance, where people tied


@dataclass(frozen=True)
class Aside:
    """Comparisons put aside, with how many items the rest knows each one's user to have met, and how many are new."""

    pairs: Pairs
    answers: Numbers
    unmet: Numbers
    worth: float

    def take(self, rows: Mask) -> Aside:
        return Aside(self.pairs.take(rows), self.answers[rows], self.unmet[rows], self.worth)


@dataclass(frozen=True)
class Learned:
    """The data of a model's fit, and the model's margins there."""

    pairs: Pairs
    margins: Any
    n_users: int


def put_aside(comparisons: Comparisons, seed: int) -> Iterator[tuple[Comparisons, Aside]]:
    """(the rest, what was put aside), as often as it takes to put enough aside; never, where there is too little."""
    n, by_items = comparisons.source.answers(), comparisons.ratings is not None or comparisons.clicks is not None
    share = SHARES[1] if by_items else float(np.clip(AT_A_TIME / max(n, 1), *SHARES))
    once = comparisons.item_features is not None and not comparisons.item_features.own  # whose fits are large
    most = ONCE_TIMES if once else MOST_TIMES
    for time in range(min(max(math.ceil(ENOUGH / max(share * n, 1)), 1), most)):
        at = (seed + time) % 2**63
        try:
            rest, held = comparisons.hold_out(share, seed=at)
        except InputError:  # too few comparisons to put any aside
            continue
        pairs = held.source.some_pairs(MOST_PAIRS, np.random.default_rng(at))
        known = (rest.store.item_count > 0) | once  # else, what the rest says nothing of is no question here
        pairs = pairs.take(known[pairs.winner] & known[pairs.loser])
        if len(rest) and len(pairs.user):
            met: Rows = rest.source.met()
            new = sum(~is_in(met, pairs.user, item) for item in (pairs.winner, pairs.loser))
            answers = np.diff(met[0])[pairs.user].astype(np.float64)
            yield rest, Aside(pairs, answers, np.asarray(new, np.float64), share * n)


def by_twins(twin: Any, comparisons: Comparisons, ties: bool) -> Calibration:
    """Calibrate an estimator by fits without the held-out comparisons; ``ties``: whether they are outcomes."""
    asides, margins = [], []
    learned: list[Learned] | None = [] if ties else None
    for rest, aside in put_aside(comparisons, twin.seed):
        twin.fit(rest)
        asides.append(aside)
        margins.append(twin._margins(aside.pairs))
        if learned is not None:
            pairs = rest.pairs()
            learned.append(Learned(pairs, twin._margins(pairs), rest.n_users))
    if not asides:
        return Calibration(1.0, tie=USUAL if ties else 0.0)
    return calibrated(asides, margins, worth(comparisons, asides), learned)


def weights(asides: Sequence[Aside]) -> Numbers:
    """Return the weights of all held-out comparisons, in units of their mean."""
    w = np.concatenate([aside.pairs.weights() for aside in asides])
    return np.asarray(w / w.mean())


def worth(comparisons: Comparisons, asides: Sequence[Aside]) -> float:
    """Return how many answers the held-out comparisons are worth: n ratings count n, and none counts twice."""
    return min(float(comparisons.source.answers()), sum(aside.worth for aside in asides))


def calibrated(
    asides: Sequence[Aside], margins: Sequence[Any], answers: float, learned: Sequence[Learned] | None = None
) -> Calibration:
    """Calibrate on the margins of held-out comparisons, which are worth so many answers.

    With what the models learned from, ties are outcomes of their own: the slope is that of the decided comparisons at
    first, people's reluctance follows from what was learned from, and the outcomes put aside then give ``tie`` and the
    slope; and once more from there.
    """
    if learned is None:
        return _decided(asides, margins, answers)
    decided = [~is_tied(aside.pairs) for aside in asides]
    if not any(d.any() for d in decided):
        return Calibration(0.0, tie=MOST)
    chosen = [a.take(d) for a, d in zip(asides, decided, strict=True)]
    found = _decided(chosen, [m[d] for m, d in zip(margins, decided, strict=True)], answers)
    first = [_outcomes_once(aside.pairs) for aside in asides]
    every = [a.take(f) for a, f in zip(asides, first, strict=True)]
    tied = np.concatenate([is_tied(a.pairs) for a in every])
    w = np.concatenate([a.pairs.weights() for a in every]) * np.where(tied, 2, 1)
    for _ in range(2):
        people = [estimated(found.slope * of.margins, of.pairs, of.n_users) for of in learned]
        own = np.concatenate([p.own[a.pairs.user] for p, a in zip(people, every, strict=True)])
        x = np.concatenate(
            [found.logit(m[f], a.answers, a.unmet) for m, f, a in zip(margins, first, every, strict=True)]
        )
        stretch, tie = _with_ties(x, own, tied, w * (answers / w.sum()))
        spread = float(np.mean([p.spread for p in people]))
        found = replace(found, slope=min(stretch * found.slope, STEEPEST), tie=tie, spread=spread)
    return found


def _with_ties(x: Numbers, own: Numbers, tied: Mask, w: Numbers) -> tuple[float, float]:
    """Return the most likely factor of x and ``tie``, for outcomes that are ties or wins.

    One outcome of each kind is added, at a margin of 0: that keeps ``tie`` finite.
    """

    def value(t: Numbers) -> float:
        p = outcomes(np.exp(t[0]) * x, np.exp(t[1]) * own)
        usual = outcomes(0.0, np.exp(t[1]))
        held = (w * np.log(np.maximum(np.where(tied, p[:, 1], p[:, 0]), TINY))).sum()
        return float(-held - np.log(np.maximum(usual, TINY)).sum() + 0.5 * t[0] ** 2)

    limits = ((-LARGEST, LARGEST), (math.log(LEAST), math.log(MOST)))
    t = scipy.optimize.minimize(value, np.array([0.0, math.log(0.5)]), method="L-BFGS-B", bounds=limits).x
    return float(np.exp(t[0])), float(np.exp(t[1]))


def _outcomes_once(pairs: Pairs) -> Mask:
    """One pair for every outcome: without the other halves of ties, and without what stands beside ties."""
    kept, beside = each_tie_once(pairs), beside_ties(pairs)
    return kept if beside is None else kept & ~beside


def _decided(asides: Sequence[Aside], margins: Sequence[Any], answers: float) -> Calibration:
    """Calibrate on the margins of held-out comparisons, which count as so many answers.

    The slope minimises the log loss, with one comparison each way added at a typical margin: they keep it finite when
    every margin has the right sign, and near 0 when there are few. It is 0 where a coin does no worse. The exponents
    come after it.
    """
    m, w = np.concatenate([np.asarray(margin, np.float64) for margin in margins]), weights(asides)
    slope = fit_slope(m, w)
    loss, right = log_loss(slope * m, w), float(np.average(m > 0, weights=w))
    n, unmet = (np.concatenate([getattr(a, name) for a in asides]) for name in ("answers", "unmet"))
    typical = float(np.exp(np.average(np.log1p(n), weights=w)) - 1)
    if slope == 0 or slope == STEEPEST:
        return Calibration(slope, typical=typical, log_loss=loss, accuracy=right)
    known = np.log1p(n) - np.log1p(typical)
    theta = _exponents(slope * m, np.stack((known, unmet), axis=1), w * (answers / w.sum()))
    slope = float(min(slope * np.exp(theta[0]), STEEPEST))
    return Calibration(slope, float(theta[1]), float(theta[2]), typical, loss, right)


def _exponents(x: Numbers, features: Numbers, w: Numbers) -> Numbers:
    """t that minimises sum w log(1 + exp(-x e^(t0 + t.features))) + |t / SPREAD|^2 / 2, by damped Newton steps."""
    Z = np.column_stack((np.ones(len(x)), features))
    ridge = np.full(3, SPREAD**-2)
    t = np.zeros(3)

    def value(t: Numbers) -> float:
        return float((w * np.logaddexp(0, -x * np.exp(Z @ t))).sum() + 0.5 * (ridge * t * t).sum())

    now = value(t)
    for _ in range(50):
        y = x * np.exp(Z @ t)
        p = sigmoid(-y)
        gradient = -Z.T @ (w * y * p) + ridge * t
        curvature = w * np.maximum(y * y * p * (1 - p) - y * p, y * y * p * (1 - p) * 0.25)  # above 0
        step = np.linalg.solve((Z * curvature[:, None]).T @ Z + np.diag(ridge), gradient)
        shrink = 1.0
        while shrink > 1e-6:
            at = np.clip(t - shrink * step, -LARGEST, LARGEST)
            if (new := value(at)) < now:
                break
            shrink /= 2
        else:
            break
        done, t, now = now - new <= 1e-9 * max(now, 1.0), at, new
        if done:
            break
    return t


def log_loss(x: Any, w: Any) -> float:
    """The mean of log(1 + e^-x)."""
    return float(np.average(np.logaddexp(0, -x), weights=w))


def fit_slope(margin: Numbers, weight: Numbers) -> float:
    """The a >= 0 that minimises sum w log(1 + exp(-a margin)), with the two comparisons that are added."""
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
