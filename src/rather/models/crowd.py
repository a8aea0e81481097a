"""The prior of a person's tastes, estimated from the users of a fit.

In log-odds, the worth of item j to person i is

    L_ij = a b_j + k (mean_i + d_i) . v_j + e_ij

Here d_i is the person's vector less its expectation. It is normal, with the mean and covariance of the users' vectors.
The rest e_ij is normal with mean 0 and variance w / (n_j + 20) + c, where n_j users met item j. It covers the error of
v_j and b_j, and likings for single items that no vector holds. It is the same in all answers of a person, so an answer
about an item is also evidence about its e_ij. k, a, w and c maximise the likelihood of held-out answers, given the
other answers of the same people, so they allow for the errors of fitted items too. Items fit those users best whose
answers they were fitted to. So there are two sets: one for users of the fit, from whom some answers are held out, and
one for new users, from people of whom all answers are held out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy

from ..data.comparisons import Comparisons
from ..data.rows import Pairs, is_tied, random_places, row_starts
from ..data.source import Source
from ..data.votes import Votes
from ..native import FloatArray
from ..solving.variational import MOST_ROUNDS, Normal, averaged, given_answers, margins_given
from .calibration import put_aside
from .scorers import FEW

SOME = 20.0  # people: an item that fewer met is known by its prior
LEAST = 1e-4  # of the largest variance of a direction: in others nobody differs
ANSWERS, PEOPLE = 1500, 300  # put aside in all, and by so many each time
MOST_TRIED = 30  # of one person's answers here
MOST = 3000  # of one person's answers: more change nothing
MOST_RATED = 100  # pairs of one person's ratings
RATING = 3.0  # answers: what a rating says, beside whether it is above another one
NUMBERS = 400_000  # of one covariance of people's margins
TRIES = 60
FOLDS, ASKED, MOST_ASKED = 5, 0.3, 15  # people put aside: one in five; of the answers of each so many are asked
ASKED_ITEMS = 0.4  # of the items that one person rated
# log (k / slope, a / slope, w, c): where they are expected (but items no farther apart than USUAL, in log-odds, and
# no less than a tenth of it), how far from it, and the first steps
USUAL, LEAST_USUAL = 2.0, math.log(0.1)
EXPECTED = np.log([2.0, 1.3, 10.0, 0.05])
SPREAD = np.array([1.0, 0.7, 1.4, 2.0])
STEPS = np.array([0.7, 0.4, 1.0, 1.5])
LARGEST = 1e12


@dataclass(frozen=True)
class Sureness:
    """k, a, w and c."""

    taste: float
    bias: float
    items: float
    own: float

    def is_sound(self) -> bool:
        every = self.taste, self.bias, self.items, self.own
        return all(isinstance(x, float) and 0 < x < LARGEST for x in every)


Both = tuple[Sureness, Sureness]  # of people in the fit, and of newcomers
UNITS: Both = (Sureness(1.0, 1.0, 1.0, 1.0), Sureness(1.0, 1.0, 1.0, 1.0))


@dataclass(frozen=True)
class Crowd:
    """The distribution of users' vectors, and the number of users who met each item.

    ``mean`` and ``covariance`` are of all that is not known of someone, ``beside_mean`` and ``beside`` of what is not
    known where what they met, or their features, say what to expect.
    """

    sureness: Both
    mean: FloatArray
    covariance: FloatArray
    beside_mean: FloatArray
    beside: FloatArray
    count: FloatArray

    def noise(self, newcomer: bool) -> FloatArray:
        """The variance of e_ij."""
        s = self.sureness[newcomer]
        return np.asarray(s.items / (self.count + SOME) + s.own, np.float64)

    # -- files --------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Any]:
        return {f"crowd_{name}": np.asarray(getattr(self, name), np.float32) for name in PARTS}

    @classmethod
    def restored(cls, tensors: dict[str, Any], said: Any, rank: int, n_items: int) -> Crowd:
        """Return the prior from a file; raise a ValueError if its parts do not fit together."""
        members, newcomers = (Sureness(**one) for one in said)
        made = cls((members, newcomers), *(tensors[f"crowd_{name}"] for name in PARTS))
        shapes = (rank,), (rank, rank), (rank,), (rank, rank), (n_items,)
        arrays = [getattr(made, name) for name in PARTS]
        sound = all(
            a.dtype == np.float32 and a.shape == shape and bool((np.abs(a) < LARGEST).all())
            for a, shape in zip(arrays, shapes, strict=True)
        )
        if not sound or not all(one.is_sound() for one in made.sureness) or (made.count < 0).any():
            raise ValueError("what is said of the crowd does not fit together")
        return made


PARTS = "mean", "covariance", "beside_mean", "beside", "count"


@dataclass
class TastePrior:
    """The prior of tastes of one fitted model and what follows from it, computed once and shared by its copies."""

    sureness: Both | None = None
    crowd: Crowd | None = None
    items: dict[tuple[bool, bool], Any] = field(default_factory=dict)  # ``belief.Items``
    expected: Any = None  # of the users


def spread(model: Any, sureness: Both, source: Source | None) -> Crowd:
    """The crowd of a fitted model, from the vectors of its users."""
    n = np.diff(model.seen_[0]).astype(np.float64)
    U, count = model.user_factors_.astype(np.float64), np.bincount(model.seen_[1], minlength=len(model.items_))
    weight = n / (n + FEW)
    expected = None if source is None else model._expected_of(source)
    all_of = _moments(U, weight)
    beside = all_of if expected is None else _moments(U - expected, weight)
    return Crowd(sureness, *all_of, *beside, count.astype(np.float32))


def _moments(U: Any, weight: Any) -> tuple[Any, Any]:
    total = max(float(weight.sum()), 1e-12)
    mean = weight @ U / total
    apart = U - mean
    covariance = (apart * weight[:, None]).T @ apart / total
    return mean.astype(np.float32), covariance.astype(np.float32)


def root(covariance: Any) -> Any:
    """R with R R' = the covariance, without directions of next to nothing."""
    if not len(covariance):
        return np.zeros((0, 0))
    held, E = np.linalg.eigh(np.asarray(covariance, np.float64))
    kept = held > LEAST * held.max(initial=0.0)
    return E[:, kept] * np.sqrt(held[kept])


class Answers:
    """Answers of some people in codes, ordered by person; ``count``: how many answers each row is worth."""

    def __init__(self, source: Source, people: Any, rng: np.random.Generator, sway: Any = (), most: int = MOST) -> None:
        """Prepare the answers. All pairs of a person's ratings together count RATING times the ratings."""
        pairs = source.said_by(people, min(most, MOST_RATED) if source.implied else most, rng)
        self.winner, self.loser, self.count = pairs.winner, pairs.loser, pairs.weights()
        if source.implied:
            drawn, met = np.bincount(pairs.user, minlength=source.n_users), np.diff(source.met()[0])
            self.count = self.count * np.minimum(1.0, RATING * met / np.maximum(drawn, 1))[pairs.user]
        self.begin = row_starts(pairs.user, source.n_users)
        self.swayed = np.zeros(len(pairs.user))
        if pairs.around is not None and len(sway):
            self.swayed = pairs.around @ np.asarray(sway)

    def of(self, person: int) -> tuple[Any, Any, Any, Any]:
        rows = slice(self.begin[person], self.begin[person + 1])
        return self.winner[rows], self.loser[rows], self.count[rows], self.swayed[rows]


class Asked:
    """One person's answers about items, which get numbers of their own: rows of [directions, own liking of each]."""

    def __init__(self, winner: Any, loser: Any) -> None:
        both = np.concatenate((winner, loser))
        self.items = np.array(sorted(set(both.tolist())), both.dtype)  # np.unique, but quick for a few
        self.winner, self.loser = winner, loser

    def places(self, items: Any) -> Any:
        """Return the index of each item among those asked about; -1 for others."""
        if not len(self.items):
            return np.full(len(items), -1)
        at = np.minimum(np.searchsorted(self.items, items), len(self.items) - 1)
        return np.where(self.items[at] == items, at, -1)

    def rows(self, Z: Any, noise: Any, items: Any) -> Any:
        """Rows of items, in directions and in the own likings of those that were asked about."""
        made = np.zeros((len(items), Z.shape[1] + len(self.items)))
        made[:, : Z.shape[1]] = Z[items]
        at = self.places(items)
        there = np.flatnonzero(at >= 0)
        made[there, Z.shape[1] + at[there]] = np.sqrt(noise[items[there]])
        return made

    def said(
        self, Z: Any, noise: Any, offset: Any, count: Any, swayed: Any, begin: Any = None, rounds: int = MOST_ROUNDS
    ) -> Normal:
        """Return the posterior of the person; see ``given_answers``."""
        mine = self.rows(Z, noise, self.items)
        w, x = self.places(self.winner), self.places(self.loser)
        return given_answers(mine[w] - mine[x], offset[self.winner] - offset[self.loser] + swayed, count, begin, rounds)


class _Trial:
    """Held-out answers, with the posterior of their users given the rest of the data.

    What is beforehand known of margins is a sum of three covariances, times k^2, w and c; each is computed once.
    """

    def __init__(self, twin: Any, rest: Source, told: Source, pairs: Pairs, rng: np.random.Generator) -> None:
        """``rest`` is what the twin was fitted to, ``told`` what is known of those whose answers are put aside."""
        people = rng.permutation(np.unique(pairs.user))[:PEOPLE]
        sway = twin._effects_of(told)
        said = Answers(told, people, rng, sway, MOST_TRIED)
        people = people[: max(NUMBERS // max(int(np.diff(said.begin).max()), 1) ** 2, 1)]
        pairs = pairs.take(np.isin(pairs.user, people))
        pairs = pairs.take(rng.permutation(len(pairs.user))[:ANSWERS])
        swayed = np.zeros(len(pairs.user)) if pairs.around is None else pairs.around @ np.asarray(sway)
        people, user = np.unique(pairs.user, return_inverse=True)
        place, size = random_places(user, len(people), rng)
        asked = np.zeros((3, len(people), int(size.max())), np.int64)  # winner, loser, which
        asked[:, user, place] = pairs.winner, pairs.loser, np.arange(1, len(user) + 1)
        given = np.zeros(
            (2, len(people), max((said.begin[p + 1] - said.begin[p] for p in people), default=1)), np.int64
        )
        self.count, around = np.zeros(given.shape[1:]), np.zeros(given.shape[1:])
        for at, person in enumerate(people):
            winner, loser, count, shift = said.of(person)
            given[:, at, : len(winner)] = winner, loser
            self.count[at, : len(winner)], around[at, : len(winner)] = count, shift
        rank, V = twin.rank_, twin.fitted.scorer.V.astype(np.float64)
        crowd, expected = spread(twin, UNITS, rest), twin._expected_of(told)
        means = np.tile(crowd.beside_mean, (len(people), 1)) + (0.0 if expected is None else expected[people])
        Z, rare = V[:, :rank] @ root(crowd.beside), 1 / (crowd.count + SOME)
        self.of_user, self.at = user, place
        self.weight = pairs.weights() / max(float(pairs.weights().mean()), 1e-30)

        def offsets(items: Any, shift: Any) -> tuple[Any, Any]:
            """Return the margins by biases, to be multiplied by a, and by expected vectors, to be multiplied by k."""
            apart = V[items[0]] - V[items[1]]
            return apart[..., rank] + shift, np.einsum("pnr,pr->pn", apart[..., :rank], means)

        self.asked_offsets = offsets(asked[:2], np.where(asked[2] > 0, np.append(0.0, swayed)[asked[2]], 0.0))
        self.given_offsets = offsets(given, around)
        X, Y = (Z[items[0]] - Z[items[1]] for items in (asked[:2], given))
        self.between_given = Y @ np.swapaxes(Y, 1, 2), *(_shared(given, given, e) for e in (rare, np.ones_like(rare)))
        self.between_both = X @ np.swapaxes(Y, 1, 2), *(_shared(asked, given, e) for e in (rare, np.ones_like(rare)))
        alone = rare[asked[0]] + rare[asked[1]]
        self.of_asked = np.einsum("pnq,pnq->pn", X, X), alone, np.full_like(alone, 2.0)
        self.begin: Any = None

    def logits(self, s: Sureness) -> Any:
        """Return the log-odds of the held-out answers, averaged over the posterior."""
        times = s.taste**2, s.items, s.own
        K, both, alone = (
            sum(t * part for t, part in zip(times, parts, strict=True))
            for parts in (self.between_given, self.between_both, self.of_asked)
        )
        asked, given = (s.bias * of[0] + s.taste * of[1] for of in (self.asked_offsets, self.given_offsets))
        a, A, self.begin = margins_given(K, given, self.count, self.begin)
        mean = asked + np.einsum("pmn,pn->pm", both, a)
        variance = alone - np.einsum("pmn,pmn->pm", both @ A, both)
        return averaged(mean, np.maximum(variance, 0.0))[self.of_user, self.at]


def _shared(left: Any, right: Any, variance: Any) -> Any:
    """Covariances of margins through own likings of the items that two answers have in common."""
    (a, b), (c, d) = (x[:, :, None] for x in left[:2]), (x[:, None, :] for x in right[:2])
    same = variance[a] * ((a == c) - 1.0 * (a == d)), variance[b] * ((b == d) - 1.0 * (b == c))
    return same[0] + same[1]


def _apart(model: Any, comparisons: Comparisons) -> tuple[float, float]:
    """Return the typical differences between items, by taste and by the shared ranking, in units of scores."""
    crowd, V = spread(model, UNITS, comparisons.source), model.fitted.scorer.V.astype(np.float64)
    Z = V[:, : model.rank_] @ root(crowd.beside)
    return float(np.sqrt(np.square(Z).sum(axis=1).mean())), float(np.std(V[:, model.rank_]))


def found(model: Any, comparisons: Comparisons) -> Both:
    """Return the scales that maximise the likelihood of held-out answers: for users of the fit, and for others."""
    centre, slope = EXPECTED.copy(), max(model.slope_, 1e-9)
    for at, apart in enumerate(_apart(model, comparisons)):
        centre[at] += math.log(slope)
        if apart > 1e-9:
            most = math.log(USUAL / apart)
            centre[at] = np.clip(centre[at], most + LEAST_USUAL, most)
    answers = comparisons.source.answers()
    return (
        _likeliest(_trials(model, _answers_aside(comparisons, model.seed)), answers, centre),
        _likeliest(_trials(model, _people_aside(comparisons, model.seed)), answers, centre),
    )


def _answers_aside(comparisons: Comparisons, seed: int) -> Iterator[tuple[Comparisons, Source, Pairs]]:
    for rest, aside in put_aside(comparisons, seed):
        yield rest, rest.source, aside.pairs


def _people_aside(comparisons: Comparisons, seed: int) -> Iterator[tuple[Comparisons, Source, Pairs]]:
    """Hold out all answers of some people; give a part of them to the model and ask for the rest."""
    source, rng = comparisons.source, np.random.default_rng([seed % 2**63, 1])
    order = rng.permutation(np.flatnonzero(np.diff(source.met()[0]) > 0))
    for fold in range(FOLDS if len(order) > 1 else 0):
        people = order[fold::FOLDS][:PEOPLE]
        gone = np.zeros(source.n_users, bool)
        gone[people] = True
        rest = comparisons._with(source.of_users(~gone))
        if not len(people) or not len(rest):
            continue
        most = math.ceil(MOST_ASKED / ASKED_ITEMS**2) if source.implied else MOST_TRIED + MOST_ASKED
        pairs = source.said_by(people, most, rng)
        known = rest.store.item_count > 0
        tell, ask = _told_and_asked(pairs, source, rng)
        told = Votes(source.n_users, source.n_items, pairs.take(tell), source.implied, source.effects)
        asked = pairs.take(ask & known[pairs.winner] & known[pairs.loser] & ~is_tied(pairs))
        if len(asked.user):
            yield rest, told, asked


def _told_and_asked(pairs: Pairs, source: Source, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return the answers of each person to give and those to predict, at random.

    Pairs of one person's ratings follow from each other, so items are told of or asked about, never both. A pair of one
    of each is left out: an item on the highest level is above every item on another level. Such pairs are next to
    certain where one item was told of, and scales that are fitted to them grow without bound.
    """
    if source.implied:
        rows = [pairs.user * np.int64(source.n_items) + item for item in (pairs.winner, pairs.loser)]
        _, number = np.unique(np.concatenate(rows), return_inverse=True)
        winner, loser = np.split(rng.random(len(number))[number] < ASKED_ITEMS, 2)
        return ~(winner | loser), winner & loser
    place, size = random_places(pairs.user, source.n_users, rng)
    ask = place < np.clip(np.round(ASKED * size), 1, MOST_ASKED)[pairs.user]
    return ~ask, ask


def _trials(model: Any, aside: Iterable[tuple[Comparisons, Source, Pairs]]) -> list[_Trial]:
    rng, twin, made, n = np.random.default_rng(model.seed), model._twin(), [], 0
    for rest, told, asked in aside:
        twin.fit(rest)
        made.append(_Trial(copy(twin), rest.source, told, asked, rng))
        n += len(made[-1].weight)
        if n >= ANSWERS:
            break
    return made


def _likeliest(trials: list[_Trial], answers: int, centre: Any) -> Sureness:
    """Return the most likely values, or the expected ones if nothing could be held out."""
    if not trials:
        return Sureness(*map(float, np.exp(centre)))
    total = sum(float(trial.weight.sum()) for trial in trials)
    counted = min(1.0, answers / total)  # none counts twice, however often it was put aside

    def value(t: Any) -> float:
        s = Sureness(*map(float, np.exp(np.clip(t, -20.0, 20.0))))
        lost = sum(float(trial.weight @ np.logaddexp(0, -trial.logits(s))) for trial in trials)
        return (counted * lost + 0.5 * float(np.square((t - centre) / SPREAD).sum())) / total

    simplex = np.vstack([centre, centre + np.diag(STEPS)])
    options = {"maxfev": TRIES, "xatol": 0.05, "fatol": 1e-4, "initial_simplex": simplex}
    best = scipy.optimize.minimize(value, centre, method="Nelder-Mead", options=options).x
    return Sureness(*map(float, np.exp(np.clip(best, -20.0, 20.0))))
