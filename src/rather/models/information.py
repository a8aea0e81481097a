"""The information of an answer about a pair of items, and the number of answers that settle the first places.

The information of an answer about items j and k is its entropy less the entropy that would remain if the taste were
known. In log-odds, j is worth m more than k on average, with variance v from uncertain tastes and variance e from
likings of j and k alone, which say nothing about other items:

    information = h(E sigma(z)) - E h(sigma(z)),    z ~ N(q m, q^2 v),    q^2 = 1 / (1 + pi e / 8)

with h the entropy in bits, in the closed form of N. Houlsby et al. (Bayesian active learning for classification and
preference learning, 2011). For the first places, the value of an answer is how much it narrows down the worth of the
items that may be among them, each weighted by that possibility. All items are codes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy

from ..data.ids import Codes
from ..logistic import sigmoid
from ..solving.variational import averaged, curved
from .belief import Posterior

AIMS = "everything", "top"
TOP, CONTENDERS, DRAWS = 10, 60, 400
BEND = np.sqrt(np.pi * np.log(2) / 2)


class Pick(NamedTuple):
    """A pair to ask about: see ``asking.Question``."""

    left: int
    right: int
    probability: float
    information: float
    policy: str
    chance: float


def pick(
    belief: Posterior,
    items: Codes,
    asked: Iterable[tuple[int, int]],
    rng: np.random.Generator,
    aim: str = "everything",
    explore: float = 0.0,
    among: int = 1,
    known: Any = None,
) -> Pick | None:
    """The pair of the items, which are in order, whose answer is worth most; None where all are ``asked``.

    ``known`` says how many know each of the items, if an answer's worth is to count by that.
    """
    value, m, v, information = values(belief, items, aim)
    if known is not None:
        value = value * known[:, None] * known
    left, right = np.triu_indices(len(items), 1)
    open_ = np.flatnonzero(_free(items, asked)[left, right])
    if not len(open_):
        return None
    left, right = left[open_], right[open_]
    worth = value[left, right]
    best = _largest(worth, min(int(among), len(worth)))
    at_random = bool(rng.random() < explore)
    at = int(rng.integers(len(left))) if at_random else int(best[rng.integers(len(best))])
    chance = explore / len(left) + (1 - explore) * float((best == at).any()) / len(best)
    j, k = left[at], right[at]
    if rng.random() < 0.5:
        j, k = k, j
    p = float(sigmoid(averaged(m[j] - m[k], v[j, k])))
    policy = "random" if at_random else aim
    return Pick(int(items[j]), int(items[k]), p, float(information[j, k]), policy, chance)


def _largest(worth: Any, n: int) -> Any:
    """Return the positions of the n largest, in order; the first of equal ones come first."""
    few = np.flatnonzero(worth >= np.partition(worth, len(worth) - n)[len(worth) - n])
    return few[np.argsort(-worth[few], kind="stable")][:n]


def settling(belief: Posterior, items: Codes, top: int, sure: float, most: int, seed: int) -> tuple[float, int | None]:
    """The share of the first ``top`` of the items that is expected to belong there, and how many more answers are
    expected to bring that to ``sure``: by simulation, with the answers to one well-chosen question after the other.

    No pair is asked twice; None says that the pairs left, or ``most`` of them, do not bring it there.
    """
    best = _contenders(belief, items, max(CONTENDERS, 2 * top))
    m, C, _ = belief.worth(best)
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((2, DRAWS, len(best)))
    share = _overlap(m, C, C, first, second, top)
    more: int | None = 0 if share >= sure else None
    open_ = np.triu(_free(best, zip(belief.asked.winner.tolist(), belief.asked.loser.tolist(), strict=True)), 1)
    S, at, last = C.copy(), 0, min(int(most), int(open_.sum()))
    for n in range(1, last + 1):
        if more is not None:
            break
        weight = _top_chances(m, S, top, first)
        v = _apart(S)
        p = sigmoid(averaged(m[:, None] - m, v))
        value = _narrowed(S, v, p * (1 - p), weight)
        j, k = np.unravel_index(int(np.where(open_, value, -1.0).argmax()), value.shape)
        open_[j, k] = False
        S = narrower(S, j, k, curved(m[j] - m[k], v[j, k]), v[j, k])
        if n <= 10 or n >= 1.2 * at or n == last:  # what follows costs more than the rest
            at = n
            more = n if _overlap(m, C, S, first, second, top) >= sure else None
    return share, more


def sheet(belief: Posterior, items: Codes, n: int, each: int) -> list[tuple[int, int, float]]:
    """Pairs of places among the items, with their information, each given that those before it will be answered; fewer
    than n where no more are to be had with each item in at most ``each``."""
    m, C, taste = belief.worth(items)
    own, used = np.maximum(_apart(C) - _apart(taste), 0.0), np.zeros(len(items), int)
    free, rows = np.triu(np.ones((len(items), len(items)), bool), 1), []
    for _ in range(n):
        v = _apart(taste)
        open_ = free & (used < each)[:, None] & (used < each)[None]
        if not open_.any():
            break
        bits = np.where(open_, information_of(m[:, None] - m, v, own), -1.0)
        j, k = np.unravel_index(int(bits.argmax()), bits.shape)
        rows.append((int(j), int(k), float(bits[j, k])))
        free[j, k], used[[j, k]] = False, used[[j, k]] + 1
        variance = v[j, k] + own[j, k]
        taste = narrower(taste, j, k, curved(m[j] - m[k], variance), variance)
    return rows


def narrower(C: Any, j: Any, k: Any, a: float, v: float) -> Any:
    """A covariance after an answer about j and k, which adds the precision a along a difference of the variance v."""
    x = C[:, j] - C[:, k]
    return C - np.outer(x, x) * (a / (1 + a * v))


def _free(items: Codes, asked: Iterable[tuple[int, int]]) -> Any:
    """Return which pairs of candidates have not been answered."""
    free = np.ones((len(items), len(items)), bool)
    place = {int(item): n for n, item in enumerate(items)}
    for a, b in asked:
        if a in place and b in place:
            free[place[a], place[b]] = free[place[b], place[a]] = False
    return free


def values(belief: Posterior, items: Codes, aim: str) -> tuple[Any, Any, Any, Any]:
    """Return for every pair of candidates the value of asking, and mean, variance and information."""
    m, C, taste = belief.worth(items)
    v, by_taste = _apart(C), _apart(taste)
    information = information_of(m[:, None] - m, by_taste, np.maximum(v - by_taste, 0.0))
    if aim == "everything":
        return information, m, v, information
    best = _contenders(belief, np.arange(belief.n_items, dtype=np.int32), CONTENDERS)
    top_m, top_C, _ = belief.worth(best)
    draws = np.random.default_rng(0).standard_normal((DRAWS, len(best)))
    weight = _top_chances(top_m, top_C, min(TOP, len(best)), draws)
    across = belief.covariances(best, items)
    p = sigmoid(averaged(m[:, None] - m, v))
    return _narrowed(across, v, p * (1 - p), weight), m, v, information


def _apart(C: Any) -> Any:
    """Return the variances of differences."""
    d = np.diag(C)
    return np.maximum(d[:, None] + d - 2 * C, 0.0)


def _narrowed(across: Any, v: Any, a: Any, weight: Any) -> Any:
    """Return how much an answer about each pair reduces variances; ``across`` are covariances with candidates."""
    held = (across * weight[:, None]).T @ across
    d = np.diag(held)
    return a / (1 + a * v) * (d[:, None] + d - 2 * held)


def information_of(m: Any, v: Any, e: Any) -> Any:
    """In bits: see the head of this file."""
    q = 1 / (1 + np.pi / 8 * e)
    mean, variance = np.sqrt(np.pi / 8 * q) * m, np.pi / 8 * q * v
    p = scipy.special.ndtr(mean / np.sqrt(1 + variance))
    entropy = -(scipy.special.xlogy(p, p) + scipy.special.xlogy(1 - p, 1 - p)) / np.log(2)
    stays = BEND / np.sqrt(variance + BEND**2) * np.exp(-(mean**2) / (2 * (variance + BEND**2)))
    return np.maximum(entropy - stays, 0.0)


def _contenders(belief: Posterior, items: Codes, most: int) -> Codes:
    """Return the items that may be among the best."""
    if len(items) <= most:
        return items
    may_be = belief.expected(items) + scipy.special.ndtri(0.9) * np.sqrt(belief.variances(items))
    return np.sort(items[np.argpartition(-may_be, most)[:most]])


def _top_chances(m: Any, C: Any, top: int, draws: Any) -> Any:
    """Return each item's probability of being among the first."""
    return _first(m + draws @ _root(C).T, top, draws).mean(axis=0)


def _first(worth: Any, top: int, draws: Any) -> Any:
    """Return the first of every row; equal ones in any order."""
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
