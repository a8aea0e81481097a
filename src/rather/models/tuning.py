"""The choice of the regularisation, of the ridge of the biases and of the rank on held-out answers.

A candidate is a rank and two factors, one for reg and one for the ridge of the biases. Some of the answers are held
out, several times if there are few. A candidate is fitted to the rest and judged by

    half of (held-out answers x their log loss)  +  a penalty for unusual factors

With many answers the first term decides. With few answers it is mostly noise, and the second keeps the factors near
those that suit most data. For the same reason the result is not the best candidate but the mean of the factors that
were tried, weighted by e^-value. The half accounts for overlap: fits to different parts share most of their answers.

The candidates are a path from strong to weak regularisation at the full rank, and each fit starts from the one before.
If the singular values of the best fit have a gap, weaker regularisation is tried at the rank before the gap, starting
from the singular triples before it. (The nuclear norm shrinks strong directions as much as noise; a limit on the rank
does not.) Other ridges of the biases follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.rows import Pairs
from ..data.source import Source
from ..errors import InputError
from ..native import FloatArray, core
from ..solving import start
from ..solving.effects import swayed
from ..solving.newton import Newton
from ..solving.problem import Problem
from ..solving.rounds import Stop, solve
from ..solving.spec import Spec
from ..solving.spectrum import Singular, decompose, holding
from .calibration import Aside, Calibration, Learned, calibrated, fit_slope, log_loss, put_aside, weights, worth
from .features import known_of

FACTORS = (4.0, 2.8, 2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.25, 0.17, 0.12)  # times the scale of reg, from stiff to loose
RANK = Source.rank  # where none is given, and what is searched with where it is to grow
SPREAD, BIAS_SPREAD = 0.6, 1.2  # of the logarithms of usual factors, about the source's own
BIAS_STEP = 4.0
RANK_COST = 3.0  # a rank below the full one is that unusual
TEMPER = 0.5
WORSE = 2.0  # so much, twice in a row, ends a path
GAP = 1.5  # from one singular value to the next
TOL, FIRST_ROUNDS, ROUNDS = 1e-3, 40, 12  # of a candidate's fits: the first of a path, and those that follow it
LARGE, PART, FEWEST = 1_000_000, 0.1, 500  # from so many answers on, a part of the users stands for all


@dataclass
class Tried:
    """A candidate, its value (the less the better), and its fits: one each time that answers were put aside."""

    value: float
    rank: int
    factor: float
    bias: float
    log_loss: float
    accuracy: float
    fits: list[Problem]
    margins: list[Any]

    def record(self) -> dict[str, float]:
        """As ``cv_results_`` has it."""
        names = "rank", "factor", "bias", "log_loss", "accuracy", "value"
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Choice:
    """The result of the search: rank, factors, initial item vectors, calibration, and all candidates."""

    rank: int
    factors: tuple[float, float]
    V: FloatArray
    calibration: Calibration
    results: list[dict[str, float]]


def choose_if_asked(
    spec: Spec, comparisons: Comparisons, rank: int, *, fixed_rank: bool, ties: bool = False
) -> Choice | None:
    """Return what held-out answers choose, where ``reg`` asks for it or leaves it to the source."""
    if spec.reg != "cv" and (spec.reg is not None or not comparisons.source.chooses):
        return None
    found = choose(spec, comparisons, rank, fixed_rank=fixed_rank, ties=ties)
    if found is None and spec.reg == "cv":
        raise InputError("reg='cv' holds out some of the answers, too few here to compare; give reg a number")
    return found


def choose(spec: Spec, comparisons: Comparisons, rank: int, *, fixed_rank: bool, ties: bool = False) -> Choice | None:
    """The choice for a model of that rank, or of that rank at most; None where there is too little to put aside.

    ``ties`` says whether they are outcomes of their own.

    Of comparisons that are implied only the factor on reg is chosen: what orders rated items well says little of how
    everybody ranks the others, which the biases and the rank decide as well.
    """
    some = part_of(comparisons, spec.seed)
    exposed = spec.exposed(some.source) is not None
    trials = [_Trial(spec, rest, aside, exposed) for rest, aside in put_aside(some, spec.seed)]
    if not trials:
        return None
    search = _Search(trials, some, min(rank, some.n_users, some.n_items))
    best, answered = search.path(search.full, FACTORS, None), not some.source.implied
    if answered and not fixed_rank and (lower := _rank_before_gap(decompose(best.fits[0]))):
        begin = [_cut(fit, lower) for fit in best.fits]
        best = min(best, search.path(lower, [f for f in FACTORS if f <= best.factor], begin), key=lambda t: t.value)
    if answered and spec.bias is True:
        best = min((search.biases(best, step) for step in (BIAS_STEP, 1 / BIAS_STEP)), key=lambda t: t.value)
    factors = search.mean("factor", best), search.mean("bias", best)
    learned = None
    if ties:
        learned = [t.learned(fit) for t, fit in zip(trials, best.fits, strict=True)]
    sure = calibrated([t.aside for t in trials], best.margins, search.answers, learned)
    return Choice(best.rank, factors, best.fits[0].V, sure, [t.record() for t in search.tried])


class _Trial:
    """One set of held-out answers, and the problem of the rest."""

    def __init__(self, spec: Spec, rest: Comparisons, aside: Aside, exposed: bool) -> None:
        self.rest, self.aside, self.seed, self.own_bias = rest.source, aside, spec.seed, spec.bias is not True
        scaled, features = spec.scales(rest.source)[0], spec.exposed(rest.source, exposed)
        self.problem = spec.problem(rest.source, scaled, features, 0, 1.0, 1.0, known_of(rest))

    def fit(self, rank: int, factor: float, bias: float, begin: Problem | None) -> Problem:
        """The problem, solved about: from the start of every fit, or from another of these."""
        made = self.problem.with_rank(rank)
        made.set_reg(factor * self.problem.reg, (1.0 if self.own_bias else bias) * self.problem.bias_reg)
        if begin is None:
            start.spectral(made, self.seed)
        else:
            made.U[:], made.V[:] = begin.U, begin.V
            made.set_effects(begin.g)
            start.grow(made, self.seed)  # columns that a stiffer ridge had kept at zero
        solve(Newton(made, self.seed), Stop(TOL, FIRST_ROUNDS if begin is None else ROUNDS))
        return made

    def margins(self, fit: Problem, pairs: Pairs | None = None) -> Any:
        """Return the margins of the held-out comparisons, or of other pairs."""
        pairs = self.aside.pairs if pairs is None else pairs
        a, b = (np.empty(len(pairs.user), np.float32) for _ in range(2))
        for out, item in ((a, pairs.winner), (b, pairs.loser)):
            core.score_pairs(fit.U, pairs.user, fit.V, item, out, fit.n_threads)
        return a.astype(np.float64) - b + swayed(pairs, fit.effects())

    def learned(self, fit: Problem) -> Learned:
        pairs = self.rest.pairs()
        return Learned(pairs, self.margins(fit, pairs), self.rest.n_users)


class _Search:
    """The search over candidates, all judged on the same trials."""

    def __init__(self, trials: list[_Trial], comparisons: Comparisons, full: int) -> None:
        self.trials, self.full, self.source = trials, full, comparisons.source
        self.answers = worth(comparisons, [trial.aside for trial in trials])
        self.weight = weights([trial.aside for trial in trials])
        self.tried: list[Tried] = []

    def take(self, rank: int, factor: float, bias: float, begin: list[Problem] | None) -> Tried:
        """Try a candidate, from given fits of the same rank."""
        first = [None] * len(self.trials) if begin is None else begin
        fits = [trial.fit(rank, factor, bias, fit) for trial, fit in zip(self.trials, first, strict=True)]
        margins = [trial.margins(fit) for trial, fit in zip(self.trials, fits, strict=True)]
        m = np.concatenate(margins)
        slope = fit_slope(m, self.weight)
        loss, right = log_loss(slope * m, self.weight), float(np.average(m > 0, weights=self.weight))
        unusual = RANK_COST if rank < self.full else 0.0
        for given, usual, spread in (
            (factor, self.source.reg_factor, SPREAD), (bias, self.source.bias_factor, BIAS_SPREAD)
        ):  # fmt: skip
            unusual += 0.5 * (np.log(given / usual) / spread) ** 2
        value = float(TEMPER * self.answers * loss + unusual)
        made = Tried(value, rank, factor, bias, loss, right, fits, margins)
        self.tried.append(made)
        return made

    def path(self, rank: int, factors: Any, begin: list[Problem] | None) -> Tried:
        """The best of a path from stiff to loose. Once the personal part is alive, it ends where it gets worse."""
        best: Tried | None = None
        worse, before = 0, len(self.tried)
        for factor in factors:
            now = self.take(rank, factor, self.source.bias_factor, begin)
            begin = now.fits
            if best is None or now.value < best.value:
                best, worse = now, 0
            elif now.value > best.value + WORSE and now.fits[0].V[:, :rank].any():
                worse += 1
                if worse == 2:
                    break
            for old in self.tried[before:]:  # what is large and not needed further
                if old is not now and old is not best:
                    old.fits, old.margins = [], []
        assert best is not None
        return best

    def biases(self, best: Tried, step: float) -> Tried:
        """The best of ever stiffer, or looser, biases, as long as it gets better."""
        while (other := self.take(best.rank, best.factor, best.bias * step, best.fits)).value < best.value:
            best = other
        return best

    def mean(self, name: str, best: Tried) -> float:
        """The geometric mean of one of the factors over what was tried at the rank of the best and with the same other.

        The path was at the usual bias, the other biases at the best factor of the path.
        """
        alike = [t for t in self.tried if t.rank == best.rank]
        if name == "factor":
            alike = [t for t in alike if t.bias == self.source.bias_factor]
        else:
            alike = [t for t in alike if t.factor == best.factor]
        weight = np.exp(min(t.value for t in alike) - np.array([t.value for t in alike]))
        return float(np.exp(np.average(np.log([getattr(t, name) for t in alike]), weights=weight)))


def _rank_before_gap(found: Singular) -> int:
    """Return the number of singular values before the widest gap in their first half; 0 without a gap."""
    values = found.values[: len(found.values) // 2 + 1]
    if len(values) < 2 or values[0] <= 0:
        return 0
    values = np.maximum(values, 0.01 * values[0])
    ratio = values[:-1] / values[1:]
    return int(ratio.argmax()) + 1 if ratio.max() >= GAP else 0


def _cut(fit: Problem, rank: int) -> Problem:
    """The same problem at the leading singular triples of a fit."""
    found = decompose(fit)
    return holding(fit, Singular(found.left[:, :rank], found.values[:rank], found.right[:, :rank]), rank)


def part_of(comparisons: Comparisons, seed: int, large: int = LARGE, part: float = PART) -> Comparisons:
    """All comparisons, or where there are many those of some users."""
    n = comparisons.n_users
    some = max(int(part * n), FEWEST)
    if comparisons.source.answers() <= large or some >= n:
        return comparisons
    drawn = np.zeros(n, bool)
    drawn[np.random.default_rng(seed).permutation(n)[:some]] = True
    return comparisons._with(comparisons.source.of_users(drawn))
