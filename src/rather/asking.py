"""What to ask a person next: the pair whose answer says most of their taste, and how many answers settle the top.

An answer about items j and k says of a taste as much as it is uncertain, less what stays uncertain if the taste were
known: with m and v the mean and the variance of how much more j is worth (in log-odds), v of it by tastes that are not
known and e by likings of j and k alone, which say nothing of other items,

    information = h(E sigma(z)) - E h(sigma(z)),    z ~ N(q m, q^2 v),    q^2 = 1 / (1 + pi e / 8)

with h the entropy in bits, in the closed form of N. Houlsby et al. (Bayesian active learning for classification and
preference learning, 2011). Aimed at the top, what counts is how much an answer narrows down the worth of the items that
may be among the best, each as far as it may be.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, xlogy

from .data.ids import Codes
from .data.tables import Table
from .errors import InputError, number, one_of
from .logistic import sigmoid
from .models.belief import Belief
from .models.person import Person
from .solving.variational import averaged, curved

CANDIDATES = 400  # items, those that most people met
TOP, CONTENDERS, DRAWS = 10, 60, 400
MOST_TOP = 50  # that may be settled
LEAST = 1e-12  # of the squares of tastes, in log-odds, that anyone can have
AIMS = "everything", "top"
BEND = np.sqrt(np.pi * np.log(2) / 2)


@dataclass(frozen=True)
class Question:
    """A pair of items to ask a person about.

    ``probability`` is that of preferring ``left``, ``information`` what the answer is expected to say of the person's
    taste, in bits; ``policy`` is how the pair was chosen ("everything", "top" or "random") and ``chance`` with what
    probability among all that could be asked: what an honest evaluation weighs answers by.
    """

    left: Any
    right: Any
    probability: float
    information: float
    policy: str
    chance: float


@dataclass(frozen=True)
class Settled:
    """``share`` of the first ``top`` of a ranking is expected to belong there; ``more`` answers to well-chosen
    questions are expected to bring that to ``sure`` (None: not within ``most`` of them)."""

    top: int
    share: float
    sure: float
    more: int | None


def next_question(
    model: Any,
    person: Any = None,
    candidates: Any = None,
    unknown: Any = (),
    aim: str = "everything",
    explore: float = 0.0,
    among: int = 1,
    familiar: bool = False,
    seed: int = 0,
) -> Question:
    """The pair that a person's answer to is worth most.

    Parameters
    ----------
    model : a fitted AltSVM or Convex
    person : Person or user id, optional
        Of ``model.fold_in(answers, asked=True)``; someone who has not said anything by default.
    candidates : list of items, optional
        What may be asked about: the 400 items that most people met by default, for these are known to most.
    unknown : list of items
        What the person does not know: it is not asked about. Neither is a pair that they have answered.
    aim : {"everything", "top"}
        To learn the whole taste, or which items are the best.
    explore : float
        With this probability a pair at random instead, so that some answers are as if nobody had chosen the questions.
    among : int
        One at random of so many best pairs, for variety.
    familiar : bool
        Prefer pairs of which both items are known to many: an answer's worth counts as often as someone met one, times
        as often as someone met the other. For people who may not know what they are asked about.
    seed : int
        The same seed asks the same person the same.
    """
    one_of("aim", aim, AIMS)
    if not isinstance(familiar, bool):
        raise InputError(f"familiar is {familiar!r}; it must be True or False")
    number("explore", explore, at_least=0.0, at_most=1.0)
    number("among", among, at_least=1, integer=True)
    number("seed", seed, at_least=0, integer=True)
    now, belief, asked = known_of(model, person)
    items = _candidates(now, candidates, unknown)
    rng = np.random.default_rng([int(seed), len(asked)])
    value, m, v, information = _values(belief, items, aim)
    if familiar:
        met = now._crowd().count[items]
        value = value * met[:, None] * met
    free = _free(items, asked)
    left, right = np.triu_indices(len(items), 1)
    open_ = np.flatnonzero(free[left, right])
    if not np.square(belief.Z).sum() > LEAST:
        raise InputError("no answer would tell of a taste: all people that the model knows are alike, or there is one")
    if not len(open_):
        raise InputError("there is no pair left to ask: all candidates are answered, or fewer than two are known")
    left, right = left[open_], right[open_]
    best = np.argsort(-value[left, right], kind="stable")[: int(among)]
    at_random = bool(rng.random() < explore)
    at = int(rng.integers(len(left))) if at_random else int(best[rng.integers(len(best))])
    chance = explore / len(left) + (1 - explore) * float((best == at).any()) / len(best)
    j, k = left[at], right[at]
    if rng.random() < 0.5:
        j, k = k, j
    p = float(sigmoid(averaged(m[j] - m[k], v[j, k])))
    ids = now.items_[items]
    made = [x.item() if hasattr(x, "item") else x for x in (ids[j], ids[k])]
    return Question(made[0], made[1], p, float(information[j, k]), "random" if at_random else aim, chance)


def questionnaire(model: Any, n: int, candidates: Any = None, each: int = 2) -> Table:
    """The same n pairs for everybody, for people with paper: columns question, left, right, information.

    Each pair says most of a typical newcomer's taste, given that those before it will be answered; no item is in more
    than ``each`` of them.
    """
    number("n", n, at_least=1, integer=True)
    number("each", each, at_least=1, integer=True)
    now, belief, _ = known_of(model, None)
    items = _candidates(now, candidates, ())
    m, C, _ = _worth(belief, items)
    own = belief.noise[items]
    taste, used = C - np.diag(own), np.zeros(len(items), int)
    free = np.triu(np.ones((len(items), len(items)), bool), 1)
    rows = []
    for question in range(1, n + 1):
        v = _apart(taste)
        open_ = free & (used < each)[:, None] & (used < each)[None]
        if not open_.any():
            raise InputError(
                f"n is {n}, but {len(items)} candidates make no more than {question - 1} questions with each item in "
                f"at most {each}; ask for fewer, or name more candidates"
            )
        bits = np.where(open_, _information(m[:, None] - m, v, own[:, None] + own), -1.0)
        j, k = np.unravel_index(int(bits.argmax()), bits.shape)
        rows.append((question, j, k, bits[j, k]))
        free[j, k], used[[j, k]] = False, used[[j, k]] + 1
        noise = own[j] + own[k]
        a = curved(m[j] - m[k], v[j, k] + noise)
        x = taste[:, j] - taste[:, k]
        taste = taste - np.outer(x, x) * (a / (1 + a * (v[j, k] + noise)))
    number_of, left, right, bits = (np.array(column) for column in zip(*rows, strict=True))
    ids = now.items_[items]
    made: Table = now._table({"question": number_of, "left": ids[left], "right": ids[right], "information": bits})
    return made


def settled(
    model: Any,
    person: Any = None,
    top: int = 3,
    sure: float = 0.8,
    most: int = 100,
    items: Any = None,
    seed: int = 0,
) -> Settled:
    """How much of a person's top is settled, and how many more answers are expected to settle it.

    The top is that of ``items``, by default the 400 that most people met: of others nobody knows enough.

    By simulation: what is known is narrowed down by the answers to one well-chosen question after the other, among the
    60 items that may be at the top.
    """
    number("sure", sure, above=0.0, below=1.0)
    number("most", most, at_least=1, integer=True)
    number("seed", seed, at_least=0, integer=True)
    now, belief, _ = known_of(model, person)
    every = now._candidates(items) if items is not None else _candidates(now, None, ())
    number("top", top, at_least=1, at_most=min(len(every), MOST_TOP), integer=True)
    best = _contenders(belief, every, max(CONTENDERS, 2 * top))
    m, C, _ = _worth(belief, best)
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((2, DRAWS, len(best)))
    share = _overlap(m, C, C, first, second, top)
    more: int | None = 0 if share >= sure else None
    S, at = C.copy(), 0
    for n in range(1, int(most) + 1):
        if more is not None:
            break
        weight = _top_chances(m, S, top, first)
        v = _apart(S)
        p = sigmoid(averaged(m[:, None] - m, v))
        value = _narrowed(S, v, p * (1 - p), weight)
        j, k = np.unravel_index(int(np.triu(value, 1).argmax()), value.shape)
        a = curved(m[j] - m[k], v[j, k])
        x = S[:, j] - S[:, k]
        S = S - np.outer(x, x) * (a / (1 + a * v[j, k]))
        if n <= 10 or n >= 1.2 * at:  # what follows costs more than the rest
            at = n
            more = n if _overlap(m, C, S, first, second, top) >= sure else None
    return Settled(int(top), share, float(sure), more)


# -- what is known ----------------------------------------------------------------------------------------------------


def known_of(model: Any, person: Any) -> tuple[Any, Belief, list[tuple[int, int]]]:
    """The model of one moment, what is known of the person, and the pairs of codes that they have answered."""
    if not isinstance(person, Person) and not hasattr(model, "_belief"):
        raise InputError(f"{type(model).__name__} does not know how sure it is of a person; use AltSVM")
    if not isinstance(person, Person):
        model._require_fit()
    if isinstance(person, Person) and not np.array_equal(person.model.items_, model.items_):
        raise InputError("the person is of another model; use fold_in of this one")
    now = person.model if isinstance(person, Person) else model._frozen()
    if not now.rank_:
        raise InputError(f"{type(now).__name__} has one ranking for all: no answer tells of a person's taste")
    if isinstance(person, Person):
        belief = person.belief
    else:
        belief = now._believed() if person is None else now._belief(now._one_code(person))
    pairs = zip(belief.asked.winner.tolist(), belief.asked.loser.tolist(), strict=True)
    return now, belief, sorted({(min(a, b), max(a, b)) for a, b in pairs})


def _candidates(model: Any, candidates: Any, unknown: Any) -> Codes:
    if candidates is None:
        count = model._crowd().count
        items = np.argsort(-count, kind="stable").astype(np.int32)
    else:
        items = model._candidates(candidates)
    if isinstance(unknown, (str, bytes)) or not isinstance(unknown, Iterable):
        unknown = [unknown]
    gone = list(unknown)
    if gone:
        items = items[~np.isin(items, model._item_codes(gone))]
    items = items[:CANDIDATES] if candidates is None else items
    if len(items) < 2:
        raise InputError("there is nothing to ask: fewer than two candidates are left; name more")
    if len(items) > 4 * CANDIDATES:
        raise InputError(
            f"there are {len(items):,} candidates; name at most {4 * CANDIDATES:,}, such as well-known ones"
        )
    return np.sort(items)


def _free(items: Codes, asked: list[tuple[int, int]]) -> Any:
    """Which pairs of candidates have not been answered."""
    free = np.ones((len(items), len(items)), bool)
    place = {int(item): n for n, item in enumerate(items)}
    for a, b in asked:
        if a in place and b in place:
            free[place[a], place[b]] = free[place[b], place[a]] = False
    return free


def _worth(belief: Belief, items: Codes) -> tuple[Any, Any, Any]:
    """The mean and the covariance of what items are worth, and as much of the latter as tastes explain."""
    rows, q = belief.rows(items), belief.Z.shape[1]
    C = belief.known.covariances(rows, rows)
    C[np.diag_indices(len(items))] += belief.fresh(items)
    taste = np.eye(q, rows.shape[1])
    across = belief.known.covariances(rows, taste)
    return belief.expected(items), C, across @ np.linalg.solve(belief.known.covariances(taste, taste), across.T)


def _values(belief: Belief, items: Codes, aim: str) -> tuple[Any, Any, Any, Any]:
    """Of every pair of candidates: what it is worth to ask; means, variances of differences, information."""
    m, C, taste = _worth(belief, items)
    v, by_taste = _apart(C), _apart(taste)
    information = _information(m[:, None] - m, by_taste, np.maximum(v - by_taste, 0.0))
    if aim == "everything":
        return information, m, v, information
    best = _contenders(belief, np.arange(len(belief.offset), dtype=np.int32), CONTENDERS)
    top_m, top_C, _ = _worth(belief, best)
    draws = np.random.default_rng(0).standard_normal((DRAWS, len(best)))
    weight = _top_chances(top_m, top_C, min(TOP, len(best)), draws)
    across = belief.known.covariances(belief.rows(best), belief.rows(items))
    same = best[:, None] == items
    across = across + same * belief.fresh(items)
    p = sigmoid(averaged(m[:, None] - m, v))
    return _narrowed(across, v, p * (1 - p), weight), m, v, information


def _apart(C: Any) -> Any:
    """Variances of differences."""
    d = np.diag(C)
    return np.maximum(d[:, None] + d - 2 * C, 0.0)


def _narrowed(across: Any, v: Any, a: Any, weight: Any) -> Any:
    """By how much an answer about each pair narrows down items, of which ``across`` are covariances with candidates."""
    held = (across * weight[:, None]).T @ across
    d = np.diag(held)
    return a / (1 + a * v) * (d[:, None] + d - 2 * held)


def _information(m: Any, v: Any, e: Any) -> Any:
    """In bits: see the head of this file."""
    q = 1 / (1 + np.pi / 8 * e)
    mean, variance = np.sqrt(np.pi / 8 * q) * m, np.pi / 8 * q * v
    p = ndtr(mean / np.sqrt(1 + variance))
    entropy = -(xlogy(p, p) + xlogy(1 - p, 1 - p)) / np.log(2)
    stays = BEND / np.sqrt(variance + BEND**2) * np.exp(-(mean**2) / (2 * (variance + BEND**2)))
    return np.maximum(entropy - stays, 0.0)


def _contenders(belief: Belief, items: Codes, most: int) -> Codes:
    """Items that may be among the best."""
    if len(items) <= most:
        return items
    rows = belief.rows(items)
    variance = belief.known.variances(rows) + belief.fresh(items)
    may_be = belief.offset[items] + rows @ belief.known.mean + ndtri(0.9) * np.sqrt(variance)
    return np.sort(items[np.argpartition(-may_be, most)[:most]])


def _top_chances(m: Any, C: Any, top: int, draws: Any) -> Any:
    """Of each item to be among the first."""
    return _first(m + draws @ _root(C).T, top, draws).mean(axis=0)


def _first(worth: Any, top: int, draws: Any) -> Any:
    """Which are the first of every row; of equal ones, any."""
    worth = worth + 1e-9 * (1 + np.abs(worth).max()) * draws
    made = np.zeros(worth.shape, bool)
    np.put_along_axis(made, np.argpartition(-worth, top - 1, axis=1)[:, :top], True, 1)
    return made


def _overlap(m: Any, before: Any, after: Any, first: Any, second: Any, top: int) -> float:
    """The share of the first by what will be known that belongs there, if what is known narrows down so far."""
    estimate = m + first @ _root(before - after).T
    truth = estimate + second @ _root(after).T
    chosen, right = _first(estimate, top, second[::-1]), _first(truth, top, second)
    return float((chosen & right).sum(axis=1).mean() / top)


def _root(C: Any) -> Any:
    held, E = np.linalg.eigh(C)
    return E * np.sqrt(np.maximum(held, 0.0))
