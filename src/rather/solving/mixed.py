"""A mixed logistic regression of answers, given the items: shared effects, reluctance to decide, and tastes.

Fitted factors are shrunk, and agree too well with the answers they were fitted to, so effects read from them are
biased. They are estimated in a model of their own, with the items' vectors v_j and biases b_j as given (see the page
"Uncertainty" of the site):

    P(i prefers j to k) = sigma(x - r_i)        x = g . z + a (b_j - b_k) + (mu + u_i) . (v_j - v_k)
    P(i prefers k to j) = sigma(-x - r_i)       and a tie has the remaining probability

Here u_i is normal with mean 0 and an estimated covariance, and log r_i, the reluctance of a person to decide, is normal
too (r_i = 0 if nobody ties). A variational EM solves it: ``core.mixed_pass`` computes the posterior of every person and
sums over people, and the sums give the coefficients and the covariance. Differences of items are projected out of the
columns of z, so that g does not depend on the items' biases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from ..data.rows import beside_ties
from ..data.source import Source
from ..data.votes import Votes
from ..logistic import sigmoid
from ..native import FloatArray, core, factor
from .effects import Around

MOST_RANK, LEAST_SHARE = 16, 0.1  # of directions of taste: how many, and how strong beside the strongest
ANSWERS = 5  # of a person, for each of them
PASSES, FIRST_STEPS, STEPS = 200, 10, 3
TOL, SLACK, LITTLE = 1e-4, 1e-5, 1e-6
CLUSTERS = 20  # people, from which on errors allow for people who differ in what the model has alike
FLOOR = 1e-4  # of variances
LEAST_TRUST, CHANGED = 1e-3, 0.01
LEAST_KNOWN = 1e-3  # of the information
START, FIRST_SPREAD = 0.5, 0.2  # reluctance, and that of its logarithm
PRIOR = 0.05  # the precision of effects about 0 (columns being of mean square 1), and of log r about its start
ALIKE = 1e-3  # of a column's squares that no difference of items has: less is chance


@dataclass(frozen=True)
class Answering:
    """The estimates. Effects are in log-odds for one unit of a covariate.

    ``covariance`` is of the random coefficients, the last of which is log r_i where there are ties, and ``people`` has
    what is known of each person's. ``trust`` is how probable it is that a person's answers are not a coin's.
    """

    names: tuple[str, ...]
    estimate: Any
    error: Any
    covariance: Any
    people: Any
    trust: Any

    @property
    def directions(self) -> int:
        """Return the number of directions of taste."""
        return len(self.covariance) - ("tie" in self.names)


def trusted(evidence: Any, said: Any) -> Any:
    """The probability of each person's answers not to be a coin's, by the evidence for that and the share of coins.

    The share is that among those who have said something.
    """
    share = 0.9
    for _ in range(100):
        trust = sigmoid(np.clip(evidence + np.log(share / (1 - share)), -500, 500))
        before, share = share, float(np.clip(trust[said].mean(), 0.01, 0.99))
        if abs(share - before) <= 1e-6:
            break
    return trust


def answering(
    source: Source,
    U: FloatArray,
    V: FloatArray,
    rank: int,
    n_threads: int,
    g: Any = (),
    coins: bool = False,
    directions: int | None = None,
    ties: bool | None = None,
) -> Answering:
    """Estimated from written comparisons, given the factors of a fit and its effects g, in units of scores.

    ``coins``: whether some may answer by a coin; people then count by how probable it is that they do not.
    ``directions`` of taste: None takes those that are strong. ``ties``: whether people may tie; None: where they did.
    """
    em = _EM(source, U, V, rank, n_threads, g, directions, ties)
    em.run(coins)
    return em.found(coins)


class _EM:
    """The state of the variational EM: coefficients, covariance and everyone's posterior."""

    def __init__(
        self,
        source: Source,
        U: FloatArray,
        V: FloatArray,
        rank: int,
        n_threads: int,
        g: Any,
        directions: int | None,
        ties: bool | None,
    ) -> None:
        self.source, self.n_threads = source, n_threads
        pairs, around = source.pairs(), Around.of(source)
        self.said = np.bincount(pairs.user, minlength=source.n_users) > 0
        self.most = int(source.answers() / (ANSWERS * max(self.said.sum(), 1)))
        self.items, self.rank = _leading(U, V, rank, directions, min(self.most, MOST_RANK))
        halves = np.zeros(len(source), np.uint8) if pairs.tied is None else pairs.tied.astype(np.uint8)
        self.tied = halves if (halves.any() if ties is None else ties) else None
        self.scale = np.ones(0) if around is None else around.scale
        self.Z = np.empty((len(source), 0), np.float32)
        if around is not None:
            self.Z, nearest = _own(pairs, around.Z, source.n_items)
            self.items[:, self.rank] += nearest @ (np.asarray(g) * self.scale)
        self.ties, self.d = int(self.tied is not None), self.Z.shape[1]
        self.told = self.d + self.ties  # of the coefficients, those that are told of
        n_random, n_fixed = self.rank + self.ties, self.told + 1 + self.rank
        self.fixed, self.covariance = np.zeros(n_fixed), np.eye(n_random)
        self.fixed[self.told] = 1.0
        if self.ties:
            self.fixed[self.d] = np.log(START)
            self.covariance[-1, -1] = FIRST_SPREAD**2 if self.most else FLOOR
        self.usual, self.prior = self.fixed.copy(), np.zeros(n_fixed)
        self.prior[: self.told] = PRIOR
        self.people, self.variance = np.zeros((source.n_users, n_random + 1)), np.zeros(len(source), np.float32)
        self.people[:, -1] = self.covariance[-1, -1] if n_random else 0.0  # of the last of them
        self.count, self.coin = self.said.astype(np.float64), _coin(pairs, source.n_users)

    def sums(self, people: Any, variance: Any, count: Any, steps: int) -> tuple[Any, ...]:
        """Bring people and variances up to date; returns moments, gradient, information, squares and bounds."""
        r, f = len(self.covariance), len(self.fixed)
        shapes: list[Any] = [(r, r), f, (f, f), (f, f), self.source.n_users]
        out = tuple(np.empty(shape) for shape in shapes)
        core.mixed_pass(
            self.source.store, self.items, self.rank, self.tied, self.Z, self.fixed, self.precision, people, variance,
            count, steps, *out, self.n_threads,
        )  # fmt: skip
        return out

    def run(self, coins: bool) -> None:
        """Passes until little changes. A step that makes the bound fall is taken back by halves."""
        best, step, wider = -np.inf, np.zeros_like(self.fixed), np.zeros_like(self.covariance)
        for n in range(PASSES):
            self.precision = np.linalg.inv(self.covariance)
            now = self.people.copy(), self.variance.copy()
            moments, gradient, information, squares, bound = self.sums(*now, self.count, STEPS if n else FIRST_STEPS)
            half = 0.5 * np.linalg.slogdet(self.precision)[1]
            value = float(self.count @ bound) + self.count.sum() * half
            if not value >= best - SLACK * abs(best) and np.abs(step).max() > TOL:
                step, wider = step / 2, wider / 2
                self.fixed, self.covariance = self.fixed - step, self.covariance - wider
                continue
            gain, best, (self.people, self.variance) = value - best, value, now
            self.information, self.squares = information, squares
            if coins and n >= FIRST_STEPS:
                before, self.count = self.count, np.where(self.said, trusted(bound + half - self.coin, self.said), 0.0)
                if np.abs(self.count - before).max() > CHANGED:
                    gain, best = np.inf, -np.inf  # the sums are of others now
            step = self.inverse(information) @ (gradient - self.prior * (self.fixed - self.usual))
            step /= max(1.0, float(np.abs(step[: self.told]).max(initial=0.0)))
            if n > FIRST_STEPS and (np.abs(step[: self.told + 1]).max() <= TOL or gain <= LITTLE * abs(value)):
                break
            wider = moments / max(self.count.sum(), 1.0) + FLOOR * np.eye(len(moments)) - self.covariance
            if self.most == 0:  # nor is there any telling how reluctant each one is
                wider[:] = 0.0
            self.fixed, self.covariance = self.fixed + step, self.covariance + wider

    def inverse(self, information: Any) -> Any:
        return np.linalg.inv(information + np.diag(self.prior) + 1e-6 * np.eye(len(information)))

    def squared_errors(self, coins: bool) -> Any:
        """Return the squared standard errors of the reported coefficients."""
        inverse, n = self.inverse(self.information), self.count.sum()
        if coins:  # who throws a coin is not known for sure, which takes from what is known of the rest (Louis, 1982)
            doubt = np.sqrt(self.count * (1 - self.count))
            unsure = self.sums(self.people.copy(), self.variance.copy(), doubt, STEPS)[3]
            values, vectors = np.linalg.eigh(self.information - unsure)
            values = np.maximum(values, LEAST_KNOWN * np.diag(self.information).max())
            inverse = self.inverse((vectors * values) @ vectors.T)
        squared = np.diag(inverse)
        if n >= CLUSTERS:
            squared = np.maximum(squared, np.diag(inverse @ self.squares @ inverse * (n / (n - 1))))
        return np.maximum(squared[: self.told], 0)

    def found(self, coins: bool) -> Answering:
        estimate, error = self.fixed[: self.told].copy(), np.sqrt(self.squared_errors(coins))
        estimate[: self.d] /= self.scale
        error[: self.d] /= self.scale
        if self.ties:
            estimate[-1] = np.exp(estimate[-1])
            error[-1] *= estimate[-1]
        names = self.source.effects + ("tie",) * self.ties
        trust = np.maximum(np.where(self.said, self.count, 1.0), LEAST_TRUST) if coins else None
        return Answering(names, estimate, error, self.covariance, self.people[:, : len(self.covariance)], trust)


def plainly(source: Source) -> Source:
    """Votes as answers: of weight 1 in the mean, and without what stands beside ties, where nobody could have tied."""
    if not isinstance(source, Votes):
        return source
    beside = beside_ties(source.pairs())
    pairs = source.pairs() if beside is None else source.pairs().take(~beside)
    whole = pairs.weights() * (1.0 if pairs.tied is None else np.where(pairs.tied, 2.0, 1.0))
    if beside is None and (pairs.weight is None or abs(whole.mean() - 1) < 1e-6):
        return source
    weight = None if pairs.weight is None else (pairs.weights() / whole.mean()).astype(np.float32)
    return Votes(source.n_users, source.n_items, replace(pairs, weight=weight), source.implied, source.effects)


def alike(source: Source) -> list[str]:
    """The effects whose numbers are all but differences of the items' own."""
    around = Around.of(source)
    if around is None or len(around.Z) <= source.n_items:
        return []
    own, _ = _own(source.pairs(), around.Z, source.n_items)
    left = np.square(own, dtype=np.float64).mean(axis=0)
    return [name for name, share in zip(source.effects, left, strict=True) if share < ALIKE]


def _leading(U: FloatArray, V: FloatArray, rank: int, wanted: int | None, most: int) -> tuple[FloatArray, int]:
    """V's directions of taste, strongest first, as many as are wanted or strong; then its biases: (rows, how many)."""
    right, left = V[:, :rank].astype(np.float64), U[:, :rank].astype(np.float64)
    sizes, Q = np.linalg.eigh(np.einsum("jr,js->rs", right, right))
    kept = sizes > 1e-10 * sizes.max(initial=0.0)
    root, Q = np.sqrt(sizes[kept]), Q[:, kept]
    strength, E = np.linalg.eigh((Q * root).T @ np.einsum("ir,is->rs", left, left) @ (Q * root))
    strength, E = np.sqrt(np.maximum(strength[::-1], 0)), E[:, ::-1]
    strong = int((strength > LEAST_SHARE * strength.max(initial=0.0)).sum())
    k = min(strong, most) if wanted is None else min(wanted, len(strength))
    made = factor(len(V), k + 1)
    made[:, :k] = np.sqrt(len(V)) * right @ (Q / root) @ E[:, :k]
    made[:, k] = V[:, rank]
    return made, k


def _own(pairs: Any, Z: FloatArray, n_items: int) -> tuple[FloatArray, Any]:
    """The columns of Z less the differences of items that come nearest to them, by least squares; and those items."""
    from scipy.sparse.linalg import cg

    rows = np.arange(len(Z))
    ones = np.ones(len(Z))
    B = scipy.sparse.csr_array(
        (np.concatenate((ones, -ones)), (np.concatenate((rows, rows)), np.concatenate((pairs.winner, pairs.loser)))),
        shape=(len(Z), n_items),
    )
    weighted = B.T.multiply(pairs.weights()).tocsr()
    normal = weighted @ B + scipy.sparse.diags_array(np.full(n_items, 1e-3))
    made, nearest = np.empty_like(Z), np.empty((n_items, Z.shape[1]))
    for k in range(Z.shape[1]):
        nearest[:, k] = cg(normal, weighted @ Z[:, k].astype(np.float64), rtol=1e-6, maxiter=500)[0]
        made[:, k] = Z[:, k] - B @ nearest[:, k]
    return made, nearest


def _coin(pairs: Any, n_users: int) -> Any:
    """Return the log-probability of each person's answers if they were random, with any rate of ties."""
    w = pairs.weights()
    tied = np.zeros(len(w), bool) if pairs.tied is None else pairs.tied
    ties, decided = (np.bincount(pairs.user, w * kind, n_users) for kind in (tied, ~tied))
    among = scipy.special.betaln(ties + 1, decided + 1) if tied.any() else 0.0
    return decided * np.log(0.5) + among
