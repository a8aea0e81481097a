"""The choice of the strengths of features, on items and users whose answers are held out.

A fifth of the items and of the users are left out of fits with features of various strengths, several times if there
are few. Answers about them and by them are then predicted from their features alone. All blocks begin at the usual
strength. First all together, then each alone gets weaker or stronger as long as that lowers the log loss by more than
a standard error. A block that does not lower it by as much is switched off. The unit of the standard error is the item
or the user, because answers about one item are correlated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data.comparisons import Comparisons
from ..data.described import OFF, Described
from ..data.rows import Mask, Pairs
from ..data.source import Source
from ..errors import FileError
from ..logistic import sigmoid
from ..native import FloatArray, core
from ..solving import start
from ..solving.described import Known, alone_weight
from ..solving.newton import Newton
from ..solving.rounds import Stop, solve
from ..solving.spec import Spec
from .features import LARGEST, known_of
from .tuning import RANK, part_of

USUAL = 1 / 60  # a column of a block: as wide as it may be, a block is expected to explain as much as any other
STEP, MOST_STEPS = 3.0, 4
APART = 10.0  # weaker and stronger, for a block by itself
SHARE, ENOUGH, MOST_TIMES = 5, 300, 5  # one in five, until so many rows have been left out, so many times at most
TOL, FIRST_ROUNDS, ROUNDS = 1e-3, 12, 5
SURE, FEWEST = 1.0, 5  # standard errors; of so many items or people at least
MOST_PAIRS, FEW_PAIRS, LARGE = 50_000, 2_000, 200_000
ALONE = 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0  # times the strengths in the fit
STEPS = 8  # Newton's, of a logistic regression on two numbers

Strengths = tuple[tuple[float, ...] | None, tuple[float, ...] | None]  # of the users' blocks, and of the items'


@dataclass(frozen=True)
class Chosen:
    """The strengths of one side's blocks, and by how much each lowered the log loss, with its standard error."""

    strengths: tuple[float, ...]
    gains: tuple[tuple[float, float] | None, ...]
    alone: float = 1.0

    @classmethod
    def of(cls, strengths: Any, gains: Any, alone: Any) -> Chosen:
        """Return the choice from JSON."""
        told = tuple(None if g is None else (float(g[0]), float(g[1])) for g in gains)
        return cls(tuple(OFF if s is None else float(s) for s in strengths), told, float(alone))

    def fits(self, described: Described) -> bool:
        numbers = [self.alone, *(x for g in self.gains if g is not None for x in g)]
        return (
            len(self.strengths) == len(self.gains) == len(described.encoder.blocks)
            and all(s > 0 for s in (*self.strengths, self.alone))
            and all(abs(x) < LARGEST for x in numbers)
        )


def settled(
    spec: Spec, comparisons: Comparisons, saved: list[Any] | None = None
) -> tuple[Comparisons, tuple[Any, Any]]:
    """Return the comparisons with settled strengths of their features, and what each block of either side gained.

    ``saved`` is what :func:`kept` made of an earlier choice.
    """
    chosen = choose_strengths(spec, comparisons) if saved is None else _restored(saved, known_of(comparisons))
    if any(chosen):
        found = zip(chosen, known_of(comparisons), strict=True)
        comparisons = comparisons.knowing(*(d.with_strengths(c.strengths, c.alone) if c and d else d for c, d in found))
    return comparisons, (chosen[0] and chosen[0].gains, chosen[1] and chosen[1].gains)


def kept(comparisons: Comparisons, gains: tuple[Any, Any]) -> list[Any]:
    """Return what was chosen, as JSON."""
    return [
        None
        if d is None or own is None or d.strengths is None
        else [[None if s == OFF else s for s in d.strengths], own, d.alone]
        for d, own in zip(known_of(comparisons), gains, strict=True)
    ]


def _restored(saved: list[Any], known: Known) -> tuple[Chosen | None, Chosen | None]:
    try:
        made = [None if one is None or d is None else Chosen.of(*one) for one, d in zip(saved, known, strict=True)]
        sound = all(d is None or one is None or one.fits(d) for one, d in zip(made, known, strict=True))
    except (TypeError, ValueError, LookupError, OverflowError):
        sound = False
    if not sound:
        raise FileError("the checkpoint is damaged: its parts do not fit together; remove it")
    return made[0], made[1]


def choose_strengths(spec: Spec, comparisons: Comparisons) -> tuple[Chosen | None, Chosen | None]:
    """For the features of the users and of the items; None where there are none, or they are settled."""
    known = known_of(comparisons)
    asked = tuple(d is not None and d.strengths is None for d in known)
    if not any(asked):
        return None, None
    some = part_of(comparisons, spec.seed, LARGE, LARGE / max(comparisons.source.answers(), 1))
    exposed = spec.exposed(some.source) is not None
    trials = [_Trial(spec, some, known, asked, exposed, time) for time in range(_times(some, asked))]
    search = _Search([trial for trial in trials if trial.stands], known, asked)
    return search.chosen(0), search.chosen(1)


def _times(comparisons: Comparisons, asked: Sequence[bool]) -> int:
    begin, met = comparisons.source.met()
    compared = int((np.diff(begin) > 0).sum()), len(np.unique(met))
    fewest = min(n for n, wanted in zip(compared, asked, strict=True) if wanted)
    return int(np.clip(-(-ENOUGH * SHARE // max(fewest, 1)), 1, MOST_TIMES))


class Fit(NamedTuple):
    """The parts of a fit that are kept, because a problem is large."""

    U: FloatArray
    V: FloatArray
    g: Any
    rank: int
    n_threads: int


class _Trial:
    """Answers by users, and about items, that are left out of fits."""

    def __init__(
        self, spec: Spec, comparisons: Comparisons, known: Known, asked: Sequence[bool], exposed: bool, time: int
    ) -> None:
        source, order = comparisons.source, np.random.default_rng(spec.seed)
        size = source.n_users, source.n_items
        out = []
        for described, wanted, n in zip(known, asked, size, strict=True):
            fold = (order.permutation(n) + time) % SHARE == 0
            out.append(fold & described.known if wanted and described is not None else np.zeros(n, bool))
        self.spec, self.known = spec, known
        self.regressions: dict[int, _Alone] = {}
        self.out = users, items = out[0], out[1]
        self.rest = source.without_items(items).of_users(~users)
        store = self.rest.store
        self.stands = bool(store.n_entries)
        if not self.stands:
            return
        self.scaled = spec.scales(self.rest)[0]
        self.exposed = spec.exposed(self.rest, exposed)
        alive, told = np.diff(store.start) > 0, (store.item_count > 0) | items | known.tied

        def asked_of(part: Source, people: Mask, both: Mask) -> Pairs:
            pairs = part.some_pairs(MOST_PAIRS, np.random.default_rng([spec.seed, time]))
            return pairs.take(people[pairs.user] & both[pairs.winner] & both[pairs.loser])

        about = asked_of(source.without_items(~items), alive, items)  # of new ones with one another
        if len(about.user) < FEW_PAIRS:
            about = asked_of(source, alive, told)
            about = about.take(items[about.winner] | items[about.loser])
        by = asked_of(source.without_items(items).of_users(users), users, told)
        self.tests = _Test(by, None), _Test(about, items)

    def fit(self, strengths: Strengths, begin: Fit | None) -> Fit:
        """The rest, about solved, with the usual regularisation; from another of these."""
        spec, both = self.spec, zip(self.known, strengths, strict=True)
        known = Known(*(d if d is None or d.strengths == s else d.with_strengths(s) for d, s in both))
        rank = min(RANK, self.rest.n_users, self.rest.n_items)
        problem = spec.problem(self.rest, self.scaled, self.exposed, rank, known=known)
        if begin is None:
            start.spectral(problem, spec.seed)
        else:
            problem.U[:], problem.V[:] = begin.U, begin.V
            problem.set_effects(begin.g)
            start.grow(problem, spec.seed)
        solve(Newton(problem, spec.seed), Stop(TOL, FIRST_ROUNDS if begin is None else ROUNDS))
        return Fit(problem.U, problem.V, problem.g, problem.rank, problem.n_threads)

    def losses(self, side: int, fit: Fit, strengths: Strengths) -> tuple[Any, float]:
        """The log loss of every answer of a side's test, and with how many times the strengths it is least."""
        rows, own, width = (fit.U, fit.V)[side], strengths[side], fit.rank + side
        assert own is not None
        regression, made = self._alone(side), rows.copy()
        found: list[tuple[float, Any, float]] = []
        for times in ALONE if any(s != OFF for s in own) else (1.0,):
            made[self.out[side], :width] = regression.predicted(rows[:, :width], [s * times for s in own])
            losses = self.tests[side].losses(*((made, fit.V) if side == 0 else (fit.U, made)), fit.n_threads)
            found.append((float(self.tests[side].weight @ losses), losses, times))
        return min(found, key=lambda one: one[0])[1:]

    def _alone(self, side: int) -> _Alone:
        if side not in self.regressions:
            store, described = self.rest.store, self.known[side]
            assert described is not None
            count = np.asarray((np.diff(store.start), store.item_count)[side])
            self.regressions[side] = _Alone(described, count, self.out[side])
        return self.regressions[side]


class _Alone:
    """``solving.described.alone`` for many strengths: what they have in common is computed once.

    By BLAS, whose last bits depend on its threads: nothing but a choice of a grid follows from it.
    """

    def __init__(self, described: Described, count: Any, out: Mask) -> None:
        met, k = np.flatnonzero(count), described.encoder.width
        columns, weight = described.rows[met, :k], alone_weight(count[met])
        self.blocks, self.met, self.out = described.encoder.blocks, met, described.rows[out, :k]
        self.weighted = columns * weight[:, None]
        self.gram = (self.weighted.T @ columns).astype(np.float64)

    def predicted(self, rows: FloatArray, strengths: Sequence[float]) -> FloatArray:
        """The rows of those left out, by the others'."""
        every = [np.arange(b.start, b.stop) for b, s in zip(self.blocks, strengths, strict=True) if s != OFF]
        if not every:
            return np.zeros((len(self.out), rows.shape[1]), np.float32)
        used, held = np.concatenate(every), np.diag(self.gram)
        ridges = [s * held[b.start : b.stop].mean() for b, s in zip(self.blocks, strengths, strict=True) if s != OFF]
        normal = self.gram[np.ix_(used, used)]
        normal[np.diag_indices(len(used))] += np.repeat(np.maximum(ridges, 1e-12), [len(one) for one in every])
        C = np.linalg.solve(normal, (self.weighted.T @ rows[self.met])[used].astype(np.float64))
        return np.asarray(self.out[:, used] @ C.astype(np.float32))


class _Test:
    """Answers by people, or about items, who were left out; ``clusters`` are those, and -1 where there is no second."""

    def __init__(self, pairs: Pairs, items: Mask | None) -> None:
        self.pairs, self.weight = pairs, pairs.weights().astype(np.float64)
        if items is None:
            self.clusters, self.new = [pairs.user], np.zeros(len(pairs.user))
        else:
            self.clusters = [np.where(items[side], side, -1) for side in (pairs.winner, pairs.loser)]
            self.new = items[pairs.winner].astype(np.float64) - items[pairs.loser]

    def losses(self, U: FloatArray, V: FloatArray, n_threads: int) -> Any:
        """The log loss of every answer, by some factors."""
        scores = [np.empty(len(self.pairs.user), np.float32) for _ in range(2)]
        for out, item in zip(scores, (self.pairs.winner, self.pairs.loser), strict=True):
            core.score_pairs(U, self.pairs.user, V, item, out, n_threads)
        m = scores[0].astype(np.float64) - scores[1]
        return np.logaddexp(0, -_stretched(m, self.new, self.weight))

    def spread(self, values: Any) -> tuple[float, int]:
        """The variance of a weighted sum of values about 0, and of how many items or people they are.

        Answers that share one are correlated: all products of two such count, those of an answer with itself once.
        """
        held, total, seen = self.weight * values, 0.0, 0
        every = np.concatenate(self.clusters)
        sums = np.bincount(every + 1, np.tile(held, len(self.clusters)))[1:]
        seen = len(np.unique(every[every >= 0]))
        both = np.logical_and.reduce([c >= 0 for c in self.clusters]) if len(self.clusters) > 1 else np.zeros(1, bool)
        total = float(np.square(sums).sum()) - float(np.square(held[both]).sum() if both.any() else 0.0)
        return max(total, float(np.square(held).sum())), seen


@dataclass
class _Tried:
    """Strengths of both sides, the fits of all trials, and the losses of each side's tests in them."""

    strengths: Strengths
    fits: list[Fit]
    losses: tuple[list[Any], list[Any]]
    alone: tuple[float, float]


class _Search:
    def __init__(self, trials: list[_Trial], known: Known, asked: Sequence[bool]) -> None:
        self.trials, self.asked, self.known = trials, asked, known
        self.blocks = [0 if d is None else len(d.encoder.blocks) for d in known]
        self.best: list[_Tried] = []
        self.gains: list[dict[int, tuple[float, float]]] = [{}, {}]
        if not trials:
            return
        self.sides = [side for side in (0, 1) if asked[side] and any(len(t.tests[side].pairs.user) for t in trials)]
        first = self._take(self._usual(), None)
        self.best = [first, first]
        for step in (STEP, 1 / STEP):
            self._together(first, step)
        for side in self.sides:
            self._one_by_one(side)

    def chosen(self, side: int) -> Chosen | None:
        if not self.asked[side]:
            return None
        n = self.blocks[side]
        if not self.best or side not in self.sides:
            return Chosen((OFF,) * n, (None,) * n)
        best = self.best[side]
        gains = tuple(self.gains[side].get(block) for block in range(n))
        return Chosen(best.strengths[side] or (), gains, best.alone[side])

    def _usual(self) -> Strengths:
        made = [
            None if d is None else tuple(USUAL * (b.stop - b.start) for b in d.encoder.blocks) if want else d.strengths
            for want, d in zip(self.asked, self.known, strict=True)
        ]
        return made[0], made[1]

    def _take(self, strengths: Strengths, begin: _Tried | None) -> _Tried:
        first = [None] * len(self.trials) if begin is None else begin.fits
        fits = [trial.fit(strengths, fit) for trial, fit in zip(self.trials, first, strict=True)]
        losses: tuple[list[Any], list[Any]] = [], []
        times = [1.0, 1.0]
        for side in self.sides:
            every = [trial.losses(side, fit, strengths) for trial, fit in zip(self.trials, fits, strict=True)]
            losses[side].extend(held for held, _ in every)
            times[side] = float(np.exp(np.mean(np.log([t for _, t in every]))))
        return _Tried(strengths, fits, losses, (times[0], times[1]))

    def _together(self, now: _Tried, step: float) -> None:
        """All blocks of both sides, by steps, as long as either side gains."""
        for _ in range(MOST_STEPS):
            tried = self._take(_times_all(now.strengths, step, self.asked), now)
            better = [side for side in self.sides if self._gains(side, self.best[side], tried)]
            for side in better:
                self.best[side] = tried
            if not better:
                break
            now = tried

    def _one_by_one(self, side: int) -> None:
        """Try each block of a side alone: stronger and weaker regularisation, if there are several blocks, and off."""
        for block in range(self.blocks[side]):
            now = self.best[side]
            for times in (APART, 1 / APART) if self.blocks[side] > 1 else ():
                tried = self._take(_replaced(now.strengths, side, block, times), now)
                if self._gains(side, self.best[side], tried):
                    self.best[side] = tried
            now = self.best[side]
            without = self._take(_replaced(now.strengths, side, block, OFF), now)
            self.gains[side][block] = gain, error = self._gain(side, without, now)
            if gain <= SURE * error:
                self.best[side] = without

    def _gains(self, side: int, old: _Tried, new: _Tried) -> bool:
        gain, error = self._gain(side, old, new)
        return gain > SURE * error

    def _gain(self, side: int, without: _Tried, having: _Tried) -> tuple[float, float]:
        """Return the decrease of the mean log loss and its standard error; too few items or users give no gain."""
        tests = [trial.tests[side] for trial in self.trials]
        apart = [a - b for a, b in zip(without.losses[side], having.losses[side], strict=True)]
        n = sum(float(test.weight.sum()) for test in tests)
        mean = sum(float(test.weight @ a) for test, a in zip(tests, apart, strict=True)) / n
        found = [test.spread(a - mean) for test, a in zip(tests, apart, strict=True)]
        if sum(seen for _, seen in found) < FEWEST:
            return mean, abs(mean)
        return mean, float(np.sqrt(sum(total for total, _ in found))) / n


def _stretched(m: Any, new: Any, w: Any) -> Any:
    """Return margins in log-odds, a m + d new, with the most likely a and d; d is the worth of being new."""
    typical = float(np.sqrt(np.average(m**2, weights=w))) if len(m) else 0.0
    Z = np.stack((m / (typical or 1.0), new), axis=1)
    t = np.zeros(2)
    for _ in range(STEPS):
        p = sigmoid(-(Z @ t))
        gradient = -Z.T @ (w * p) + t
        t -= np.linalg.solve((Z * (w * p * (1 - p))[:, None]).T @ Z + np.eye(2), gradient)
    return Z @ np.array([max(t[0], 0.0), t[1]])


def _times_all(strengths: Strengths, times: float, asked: Sequence[bool]) -> Strengths:
    made = [own and tuple(s * times for s in own) if want else own for own, want in zip(strengths, asked, strict=True)]
    return made[0], made[1]


def _replaced(strengths: Strengths, side: int, block: int, times: float) -> Strengths:
    """Strengths with a block's so many times as large."""
    own = list(strengths[side] or ())
    own[block] *= times
    return (tuple(own), strengths[1]) if side == 0 else (strengths[0], tuple(own))
