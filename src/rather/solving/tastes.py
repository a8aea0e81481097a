"""Everyone's tastes from everyone's votes: a sampler of the joint posterior of items and people.

    x_ij = m_j + l_j . z_i + e_ij        P(i prefers j to k) = sigma(x_ij - x_ik + c . h)

with z ~ N(0, I), e ~ N(0, s), m ~ N(0, t), l_jc ~ N(0, a_c) and h ~ N(0, 1) in units of the contexts c. The roots of t,
s and a_c are half normal. A point estimate of l collapses to 0 or overfits, so draws of (m, l, s, h) are kept. Given a
draw, the votes of a person leave a posterior that is next to normal. The core has the sampler (``tastes.hpp``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..data.rows import Pairs, row_starts
from ..native import FloatArray, core, threads

SCALES = np.array([2.0, 0.5, 2.0])  # of the roots of t, of a_c and of s
BEGIN = 0.3  # the standard deviation of l before the first sweep
LARGEST = 1e15  # of a number of a draw: effects of minute contexts are large


@dataclass(frozen=True)
class TasteVotes:
    """Votes as the sampler takes them: those of a person about two items, in one context, are one row.

    ``count`` is how many they are, ``lead`` half of what the winner of the row has more.
    """

    n_users: int
    n_items: int
    user: Any
    winner: Any
    loser: Any
    count: Any
    lead: Any
    context: Any

    @classmethod
    def of(cls, n_users: int, n_items: int, pairs: Pairs, weight: Any, context: Any) -> TasteVotes:
        """Return votes in rows; ``context`` has a row of numbers for each pair, its winner's less its loser's."""
        turned = pairs.winner > pairs.loser
        low, high = np.minimum(pairs.winner, pairs.loser), np.maximum(pairs.winner, pairs.loser)
        around = np.where(turned[:, None], -context, context).astype(np.float32)
        keys = *around.T, high, low, pairs.user
        order = np.lexsort(keys)
        new = np.zeros(len(order), bool)
        new[:1] = True
        for key in keys:
            new[1:] |= key[order][1:] != key[order][:-1]
        row, first = np.cumsum(new) - 1, order[new]
        signed = np.where(turned, -weight, weight) / 2
        count, lead = (np.bincount(row, w[order], len(first)).astype(np.float64) for w in (weight, signed))
        user, low, high = (np.ascontiguousarray(each[first]) for each in (pairs.user, low, high))
        return cls(n_users, n_items, user, low, high, count, lead, np.ascontiguousarray(around[first]))

    @cached_property
    def store(self) -> Any:
        """The core's view of the rows."""
        return core.store_from_pairs(
            self.n_users, self.n_items, self.user, self.winner, self.loser, None, None, threads(None)
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "store"}

    @property
    def given(self) -> tuple[Any, ...]:
        """The first arguments of the core's functions."""
        return self.store, self.count, self.lead, self.context


@dataclass(frozen=True)
class ItemDraws:
    """Draws of what is the same for all people: rows (m_j, l_j), effects h, and s. One draw after the other."""

    rows: FloatArray
    effect: FloatArray
    own: FloatArray

    def __len__(self) -> int:
        return len(self.own)

    @property
    def rank(self) -> int:
        """The number of directions of taste."""
        return int(self.rows.shape[2]) - 1

    @cached_property
    def given(self) -> tuple[Any, ...]:
        """The arguments of the core's functions that follow those of votes."""
        every = (np.ascontiguousarray(each, np.float64) for each in (self.rows, self.effect, self.own))
        return self.rank, *every

    def one(self, k: int) -> ItemDraws:
        """Return the k-th draw alone."""
        return ItemDraws(self.rows[k : k + 1], self.effect[k : k + 1], self.own[k : k + 1])

    def is_sound(self, n_items: int) -> bool:
        """Return whether the arrays of a file fit together."""
        arrays, n = (self.rows, self.effect, self.own), len(self.own)
        return (
            all(a.dtype == np.float32 and bool((np.abs(a) < LARGEST).all()) for a in arrays)
            and (self.rows.ndim, self.effect.ndim, self.own.ndim) == (3, 2, 1)
            and n > 0
            and self.rows.shape[:2] == (n, n_items)
            and self.rows.shape[2] > 0
            and len(self.effect) == n
            and bool((self.own > 0).all())
        )


class Sampler:
    """The state of the sampler, which sweeps move."""

    def __init__(self, votes: TasteVotes, rank: int, seed: int, scales: Any = SCALES) -> None:
        self.votes, self.rank, self.seed, self.scales, self.sweeps = votes, rank, seed % 2**63, scales, 0
        rng = np.random.default_rng([self.seed, 0])
        self.rows = np.zeros((votes.n_items, rank + 1))
        self.rows[:, 1:] = BEGIN * rng.standard_normal((votes.n_items, rank))
        self.z = rng.standard_normal((votes.n_users, rank))
        self.e = np.zeros(len(votes.store.item))
        self.unit = np.sqrt(np.square(votes.context, dtype=np.float64).mean(axis=0))
        self.unit[self.unit == 0] = 1.0
        self.effect = np.zeros(len(self.unit))
        self._context = np.ascontiguousarray(votes.context / self.unit, np.float32)
        self.variance = np.concatenate(([1.0, 1.0], np.full(rank, BEGIN)))
        both = np.concatenate((votes.winner, votes.loser))
        pair = np.concatenate((2 * np.arange(len(votes.user)), 2 * np.arange(len(votes.user)) + 1))
        self._pair = np.ascontiguousarray(pair[np.argsort(both, kind="stable")], np.int64)
        self._start = row_starts(both, votes.n_items)

    def sweep(self, n_threads: int) -> float:
        """Draw everything once, and return the log-likelihood of the votes."""
        self.sweeps += 1
        found: float = core.taste_sweep(
            self.votes.store, self.votes.count, self.votes.lead, self._context, self.rank, self.votes.user, self._start,
            self._pair, self.rows, self.z, self.e, self.effect, self.variance, self.scales, self.seed, self.sweeps,
            n_threads,
        )  # fmt: skip
        return found

    def items(self) -> ItemDraws:
        """Return the present draw of the items."""
        parts = self.rows[None], (self.effect / self.unit)[None], self.variance[None, 1]
        return ItemDraws(*(part.astype(np.float32) for part in parts))


def means(votes: TasteVotes, draw: ItemDraws, n_threads: int) -> tuple[FloatArray, FloatArray]:
    """Return the means of everyone's z, and of e for the items of the store, given one draw."""
    z, e = np.zeros((votes.n_users, draw.rank), np.float32), np.zeros(len(votes.store.item), np.float32)
    core.taste_means(*votes.given, *draw.given, z, e, n_threads)
    return z, e


def margins(votes: TasteVotes, draws: ItemDraws, u: Any, left: Any, right: Any, n_threads: int) -> tuple[Any, Any]:
    """Return the mean and the variance of x_ij - x_ik for users u, items j and k, averaged over the draws."""
    order = np.argsort(u, kind="stable").astype(np.int64)
    users, first = np.unique(u[order], return_index=True)
    start = np.append(first, len(u)).astype(np.int64)
    mean, variance = np.empty((2, len(u)))
    sides = (np.ascontiguousarray(side[order], np.int32) for side in (left, right))
    core.taste_margins(*votes.given, *draws.given, users.astype(np.int32), start, *sides, mean, variance, n_threads)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return mean[back], variance[back]


def answers(votes: TasteVotes, draws: ItemDraws, user: int) -> tuple[Any, Any]:
    """Return, for each draw and row of a user, its weight in the mean of the posterior, and its curvature."""
    begin, end = np.searchsorted(votes.user, [user, user + 1])
    slope, curvature = np.empty((2, len(draws), end - begin))
    core.taste_answers(*votes.given, *draws.given, user, slope, curvature)
    return slope, curvature
