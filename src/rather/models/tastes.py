"""Scores by draws of a model of tastes, and the posterior of one person's utilities that follows from them.

A draw is all that people share (``solving.tastes.ItemDraws``). Given one, the utilities of a person are normal. All
draws count alike, so means are means over draws, and variances are those within draws and between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ..data.ids import Codes
from ..native import FloatArray, core, factor
from ..solving.tastes import ItemDraws, TasteVotes, answers
from .belief import Posterior
from .crowd import Asked
from .exclusions import Rows, select
from .scorers import LARGEST, Scorer

MOST_DENSE = 500  # items met by one person: of more, votes about an item are taken to say nothing of others' own parts


class TasteScorer(Scorer):
    """Score by the posterior mean of utilities, in log-odds.

    Parameters
    ----------
    draws : ItemDraws
        What all people share.
    U : array of shape (n_users, columns)
        A column of ones, then the means of users' tastes, given one draw after the other, then padding.
    own : array
        Mean of the part of a utility that is a user's own, for each item that a user met.
    seen : (starts, items)
        The items that each user met.
    means : array of shape (n, n_items)
        Draws of the mean utilities of all people.
    votes : TasteVotes or None
        The votes that the users gave, if they are known.

    See Also
    --------
    VoteRanker : Learn the draws from votes.
    """

    def __init__(
        self, draws: ItemDraws, U: FloatArray, own: FloatArray, seen: Rows, means: FloatArray, votes: TasteVotes | None
    ) -> None:
        self.draws, self.U, self.own, self.seen, self.means, self.votes = draws, U, own, seen, means, votes

    @cached_property
    def _V(self) -> FloatArray:
        """Return the factors of rows of U: mean utilities, then the items' directions in each draw."""
        rows = self.draws.rows
        V = np.zeros((rows.shape[1], self.U.shape[1]), np.float32)
        V[:, 0] = rows[:, :, 0].mean(axis=0)
        V[:, 1 : 1 + z_length(self.draws)] = np.moveaxis(rows[:, :, 1:], 0, 1).reshape(len(V), -1) / len(rows)
        return V

    @cached_property
    def _keys(self) -> tuple[Any, Any]:
        """The numbers of users and the items that they met, in order, and their places in ``own``."""
        start, item = self.seen
        key = np.repeat(np.arange(len(start) - 1), np.diff(start)) * np.int64(self.draws.rows.shape[1]) + item
        order = np.argsort(key, kind="stable")
        return key[order], order

    def scores(self, u: Codes, j: Codes, n_threads: int) -> FloatArray:
        """Return the scores of pairs of a user and an item; see :meth:`Scorer.scores`."""
        made = np.empty(len(u), np.float32)
        core.score_pairs(self.U, u, self._V, j, made, n_threads)
        key, order = self._keys
        if len(key):
            asked = u.astype(np.int64) * self.draws.rows.shape[1] + j
            at = np.minimum(np.searchsorted(key, asked), len(key) - 1)
            met = key[at] == asked
            made[met] += self.own[order[at[met]]]
        return made

    def block(self, u: Codes, items: Codes, n_threads: int) -> FloatArray:
        """Return the scores of several items for several users; see :meth:`Scorer.block`."""
        asked = np.repeat(u, len(items)), np.tile(items, len(u))
        made = np.empty((len(u), len(items)), np.float32)
        core.score_pairs(self.U, asked[0], self._V, asked[1], made.reshape(-1), n_threads)
        start, item = self.seen
        rows, met = select((start, item), u)
        _, at = select((start, np.arange(len(item))), u)
        column = np.full(self.draws.rows.shape[1], -1, np.int64)
        column[items] = np.arange(len(items))
        row, place = np.repeat(np.arange(len(u)), np.diff(rows)), column[met]
        made[row[place >= 0], place[place >= 0]] += self.own[at[place >= 0]]
        return made

    def average(self, seen: Rows, n_items: int, n_threads: int) -> FloatArray:
        """Return the mean utility of every item to all people; see :meth:`Scorer.average`."""
        return np.asarray(self.draws.rows[:, :, 0].mean(axis=0), np.float32)

    # -- files --------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Any]:
        """Return the arrays to save; see :meth:`Scorer.tensors`."""
        return {
            "draws": self.draws.rows, "draws_effect": self.draws.effect, "draws_own": self.draws.own,
            "tastes": np.ascontiguousarray(self.U[:, 1 : 1 + z_length(self.draws)]), "own": self.own,
            "means": self.means,
        }  # fmt: skip

    @classmethod
    def restored(cls, tensors: Mapping[str, Any], about: Mapping[str, Any], fitted: Any) -> TasteScorer:
        """Return the scores that a file holds; see :meth:`Scorer.restored`."""
        draws = ItemDraws(*(tensors[name] for name in ("draws", "draws_effect", "draws_own")))
        z, own, means = (tensors[name] for name in ("tastes", "own", "means"))
        n_users, n_items, seen = len(fitted.users), len(fitted.items), fitted.seen
        sound = (
            draws.is_sound(n_items)
            and z.dtype == own.dtype == means.dtype == np.float32
            and z.shape == (n_users, z_length(draws))
            and own.shape == seen[1].shape
            and means.ndim == 2
            and means.shape[1] == n_items
            and len(means) > 0
            and all((np.abs(a) < LARGEST).all() for a in (z, own, means))
        )
        if not sound:
            raise ValueError("the draws do not fit together")
        U = user_rows(n_users, z_length(draws))
        U[:, 1 : 1 + z_length(draws)] = z
        return cls(draws, U, own, seen, means, None)


def user_rows(n_users: int, length: int) -> FloatArray:
    """Return a row for each user: 1, then zeros where as many numbers shall be."""
    U = factor(n_users, 1 + length)
    U[:, 0] = 1.0
    return U


def z_length(draws: ItemDraws) -> int:
    """Return how many numbers a user's tastes are, given all draws."""
    return len(draws) * draws.rank


def own_of(votes: TasteVotes, e: FloatArray, seen: Rows) -> FloatArray:
    """Return numbers of the items of the votes' store for the items that each user met; 0 for others."""
    start, item = seen
    made = np.zeros(len(item), np.float32)
    user = np.repeat(np.arange(len(start) - 1), np.diff(start))
    theirs = np.repeat(np.arange(votes.n_users), np.diff(votes.store.start))
    key, asked = (who * np.int64(votes.n_items) + what for who, what in ((theirs, votes.store.item), (user, item)))
    order = np.argsort(key, kind="stable")
    if len(key):
        at = order[np.minimum(np.searchsorted(key[order], asked), len(key) - 1)]
        made[key[at] == asked] = e[at[key[at] == asked]]
    return made


class TasteBelief(Posterior):
    """The utilities of one person: normal given a draw, with equal weights of all draws.

    Of the k-th draw, an item's utility is linear in numbers whose covariance is ``J[k]``: tastes, and the own parts of
    the items that the person met. The own part of any other is independent of all else, and ``fresh`` is its variance.
    """

    def __init__(self, draws: ItemDraws, votes: TasteVotes | None = None, user: int = 0) -> None:
        self._draws = draws
        rows = np.zeros(0, np.int64) if votes is None else np.flatnonzero(votes.user == user)
        none = np.empty(0, np.int32)
        winner, loser = (none, none) if votes is None else (votes.winner[rows], votes.loser[rows])
        self.asked = Asked(winner, loser)
        slope = curvature = np.zeros((len(draws), 0))
        if votes is not None and len(rows):
            slope, curvature = answers(votes, draws, user)
        self._know(slope, curvature)

    def _know(self, slope: Any, curvature: Any) -> None:
        """Set means and covariances by each vote's weight in the mean, and by its curvature, given each draw."""
        n, (K, r) = len(self.asked.items), (len(self._draws), self._draws.rank)
        a, b = self.asked.places(self.asked.winner), self.asked.places(self.asked.loser)
        rows = self._draws.rows.astype(np.float64)
        self._mu, self._L, self._s = rows[:, :, 0], rows[:, :, 1:], self._draws.own.astype(np.float64)
        L, s = self._L[:, self.asked.items], self._s[:, None]
        force, degree = np.zeros((K, n)), np.zeros((K, n))
        for to, sign in ((a, 1.0), (b, -1.0)):
            for k in range(K):
                force[k] += sign * np.bincount(to, slope[k], n)
                degree[k] += np.bincount(to, curvature[k], n)
        self._z, self._e = np.einsum("knr,kn->kr", L, force), s * force
        self.dense = n <= MOST_DENSE
        if not self.dense:
            self._kept = 1 / (1 + s * degree)
            said = (1 - self._kept) / s
            mean = np.einsum("kn,knr->kr", said, L) / said.sum(axis=1)[:, None]
            apart = L - mean[:, None]
            self._J = np.linalg.inv(np.eye(r) + np.einsum("knr,kn,knq->krq", apart, said, apart))
            return
        W = np.zeros((K, n, n))
        at = np.arange(K)[:, None]
        for x, y, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
            np.add.at(W, (at, x[None], y[None]), sign * curvature)
        prior = np.eye(n) * s[:, :, None] + L @ np.swapaxes(L, 1, 2)
        G = W @ np.linalg.inv(np.eye(n) + prior @ W)
        R = np.concatenate((L, np.eye(n) * s[:, :, None]), axis=2)
        self._J = -np.swapaxes(R, 1, 2) @ (0.5 * (G + np.swapaxes(G, 1, 2))) @ R
        own = np.arange(r + n)
        self._J[:, own, own] += np.concatenate((np.ones((K, r)), np.broadcast_to(s, (K, n))), axis=1)

    @property
    def n_items(self) -> int:
        return int(self._mu.shape[1])

    @property
    def taste(self) -> float:
        return float(np.square(self._L).sum(axis=(1, 2)).mean())

    def _rows(self, items: Any) -> Any:
        """Return the rows that utilities are linear in, for each draw and item."""
        at, L = self.asked.places(items), self._L[:, items]
        there = np.flatnonzero(at >= 0)
        if not self.dense:
            L[:, there] *= self._kept[:, at[there], None]
            return L
        own = np.zeros((len(L), len(items), len(self.asked.items)))
        own[:, there, at[there]] = 1.0
        return np.concatenate((L, own), axis=2)

    def _fresh(self, items: Any) -> Any:
        """The variances of what is independent of all else, for each draw and item."""
        at = self.asked.places(items)
        made = np.repeat(self._s[:, None], len(items), axis=1)
        there = np.flatnonzero(at >= 0)
        made[:, there] *= 0.0 if self.dense else self._kept[:, at[there]]
        return made

    def _means(self, items: Any) -> Any:
        """The mean utilities, for each draw and item."""
        at = self.asked.places(items)
        there = np.flatnonzero(at >= 0)
        made = self._mu[:, items] + np.einsum("knr,kr->kn", self._L[:, items], self._z)
        made[:, there] += self._e[:, at[there]]
        return made

    def expected(self, items: Any) -> Any:
        return self._means(items).mean(axis=0)

    def variances(self, items: Any) -> Any:
        rows = self._rows(items)
        within = np.einsum("knq,kqp,knp->kn", rows, self._J, rows, optimize=True) + self._fresh(items)
        return within.mean(axis=0) + self._means(items).var(axis=0)

    def covariances(self, left: Any, right: Any) -> Any:
        n = len(self._s)
        within = np.tensordot(self._rows(left) @ self._J, self._rows(right), ((0, 2), (0, 2))) / n
        between = [self._means(items) for items in (left, right)]
        apart = [m - m.mean(axis=0) for m in between]
        return within + apart[0].T @ apart[1] / n + (left[:, None] == right) * self._fresh(right).mean(axis=0)

    def worth(self, items: Any) -> tuple[Any, Any, Any]:
        r = self._draws.rank
        across = self._rows(items) @ self._J[:, :, :r]
        told = np.linalg.solve(self._J[:, :r, :r], np.swapaxes(across, 1, 2))
        taste = np.tensordot(across, told, ((0, 2), (0, 1))) / len(self._s)
        return self.expected(items), self.covariances(items, items), taste

    def margins(self, left: Any, right: Any) -> tuple[Any, Any]:
        """Return the mean and the variance of how much more the left ones are worth."""
        apart = self._means(left) - self._means(right)
        rows = self._rows(left) - self._rows(right)
        within = np.einsum("knq,kqp,knp->kn", rows, self._J, rows, optimize=True)
        within += (self._fresh(left) + self._fresh(right)) * (left != right)
        return apart.mean(axis=0), within.mean(axis=0) + apart.var(axis=0)

    def draws(self, n: int, items: Any, rng: np.random.Generator) -> Any:
        """Return n rows of what items may be worth, about equally many by each draw."""
        means, rows, fresh = self._means(items), self._rows(items), self._fresh(items)
        every = np.arange(n) * len(self._s) // n
        made = np.empty((n, len(items)))
        for k in range(len(self._s)):
            of = np.flatnonzero(every == k)
            held, E = np.linalg.eigh(self._J[k])
            w = rng.standard_normal((len(of), len(held))) @ (E * np.sqrt(np.maximum(held, 0.0))).T
            own = np.sqrt(fresh[k]) * rng.standard_normal((len(of), len(items)))
            made[of] = means[k] + w @ rows[k].T + own
        return made
