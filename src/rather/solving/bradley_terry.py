"""The Bradley-Terry model in double precision: Newton's method, and a ridge chosen by the evidence.

    F(b) = sum_t w_t log(1 + exp(b_loser - b_winner)) + 1/2 sum_j r_j b_j^2

Votes on one pair of items are summed first, so a step costs as much as there are different pairs. The ridge is the
precision of a normal prior on the scores. Its logarithm maximises the marginal likelihood times a log-normal prior. The
evidence of n votes grows with n and the ridge does not, so the fit tends to the maximum-likelihood estimate.

The marginal likelihood is Laplace's approximation (D. MacKay: The evidence framework applied to classification
networks, 1992), which takes the votes on every pair of items for Gaussian. That favours large ridges where items have
few votes.
So each pair's factor is integrated as it is, the others being Gaussian (M. Opper, U. Paquet, O. Winther: Perturbative
corrections for approximate inference in Gaussian latent variable models, 2013: their first order). Of pairs that share
no item the result is exact.

Up to ``DENSE`` items are solved by Cholesky's factorisation. More are solved by conjugate gradients, and traces are
then estimated from random signs (M. Hutchinson, 1990).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from ..logistic import sigmoid

DENSE = 2000  # items
PROBES = 16  # random signs that a trace is estimated from
CG_STEPS, CG_TOL, CG_ABOUT = 500, 1e-11, 1e-4  # the last is enough while a ridge is searched for
SETTLED = 1e-9  # the largest move of a score in the last step: the next one would move it by about its square
MOST_STEPS = 100
TYPICAL, SPREAD = 0.3, 0.8  # the prior of the scores' variance: its median, and the spread of its logarithm
FARTHEST = 12.0  # of the logarithm of a ridge from that of the prior's median
ABOUT = 1e-3  # accuracy of the logarithm of a ridge, and of scores while it is searched for
NEAR = 0.01  # between two logarithms of ridges, whose difference is that of a derivative
NODES, SHARES = np.polynomial.hermite_e.hermegauss(16)
SHARES /= SHARES.sum()
BLOCK = 2**16  # pairs that are integrated at a time


class BradleyTerry:
    """Votes summed by pair of items, with scores ``b`` that steps improve; items without votes keep their 0.

    Weights have no unit: they are divided by ``unit``, after which ``answers`` answers weigh 1 on average. Ridges and
    objectives are those of the divided weights.
    """

    def __init__(self, n_items: int, winner: Any, loser: Any, weight: Any, answers: int) -> None:
        self.unit = max(float(weight.sum()) / max(answers, 1), 1e-30)
        weight = weight / self.unit
        low, high = np.minimum(winner, loser).astype(np.int64), np.maximum(winner, loser)
        pair, at = np.unique(low * n_items + high, return_inverse=True)
        first = np.asarray(winner) == low
        self.n, self.j, self.k = n_items, pair // n_items, pair % n_items
        self.won, self.lost = (np.bincount(at, weight * side, len(pair)) for side in (first, ~first))
        self.all = self.won + self.lost
        self.met = np.zeros(n_items, bool)
        self.met[self.j] = self.met[self.k] = True
        rows, ones = np.arange(len(pair)), np.ones(len(pair))
        at_items = np.concatenate((rows, rows)), np.concatenate((self.j, self.k))
        self.B = scipy.sparse.csr_array((np.concatenate((ones, -ones)), at_items), shape=(len(pair), n_items))
        self.b = np.zeros(n_items)

    def objective(self, b: Any, ridge: Any) -> float:
        m = b[self.j] - b[self.k]
        loss = self.won @ np.logaddexp(0, -m) + self.lost @ np.logaddexp(0, m)
        return float(loss + 0.5 * (ridge @ (b * b)))

    def step(self, ridge: Any, tol: float = CG_TOL) -> tuple[float, float, float]:
        """Make one Newton step, halved until it gains; returns its decrement, the largest move and the objective."""
        p = sigmoid(self.b[self.j] - self.b[self.k])
        slope = self.B.T @ (self.lost * p - self.won * (1 - p)) + ridge * self.b
        step = Curvature(self, ridge).solve(slope, tol)
        before, share = self.objective(self.b, ridge), 1.0
        while (now := self.objective(self.b - share * step, ridge)) > before * (1 + 1e-13) and share > 1e-9:
            share /= 2
        self.b = self.b - share * step
        return 0.5 * float(slope @ step), float(np.abs(share * step).max(initial=0.0)), now

    def _settled(self, ridge: Any) -> Curvature:
        """Bring the scores so near to the optimum that the evidence is known; returns the curvature there."""
        for _ in range(MOST_STEPS):
            if self.step(ridge, CG_ABOUT)[1] <= ABOUT:
                break
        return Curvature(self, ridge)

    def _left_by_laplace(self, variance: Any) -> float:
        """Return how much more log-evidence pairs have than Laplace's approximation says, given margins' variances.

        That is log E exp(l(x) - q(x)) over a margin x by its Gaussian posterior, for the pair's log-likelihood l and
        its parabola q at the mode m. It depends on the number of votes alone, not on who won. Nodes are about m, with
        a variance between those with and without the pair.
        """
        m, found = self.b[self.j] - self.b[self.k], 0.0
        for first in range(0, len(m), BLOCK):
            some = slice(first, first + BLOCK)
            mode, votes = m[some, None], self.all[some, None]
            p = sigmoid(mode)
            h = votes * p * (1 - p)
            s2 = np.clip(variance[some, None], 1e-12, 1 / np.maximum(1.001 * h, 1e-12))
            width = 1 / np.sqrt(1 / s2 - h / 2)
            d = width * NODES
            x = mode + d
            gained = votes * (np.logaddexp(0, -mode) - np.maximum(-x, 0) - np.log1p(np.exp(-np.abs(x))))
            gained += (h / 4 * d - votes * (1 - p)) * d
            found += float((np.log(np.exp(gained) @ SHARES) + np.log(width / np.sqrt(s2))[:, 0]).sum())
        return found

    def likeliest_ridge(self, shape: Any) -> float:
        """The r for which ridges r x shape have the largest evidence times prior; ``b`` is then about solved for it."""
        n, usual = int(self.met.sum()), -math.log(TYPICAL)

        def falls(log_r: float) -> float:
            """Return the derivative of the negative log evidence and prior with respect to log r."""
            ridge = math.exp(log_r + NEAR) * shape
            further = self._left_by_laplace(self._settled(ridge).inverse(self.met * ridge)[1])
            ridge = math.exp(log_r) * shape
            curvature, p = self._settled(ridge), sigmoid(self.b[self.j] - self.b[self.k])
            trace, variance = curvature.inverse(self.met * ridge)
            left = (further - self._left_by_laplace(variance)) / NEAR
            moves = self.B @ -curvature.solve(ridge * self.b, CG_ABOUT)  # of margins, with log r
            bends = 0.5 * float((self.all * p * (1 - p) * (1 - 2 * p) * variance) @ moves)
            return 0.5 * float(ridge @ self.b**2) + 0.5 * trace - 0.5 * n + bends - left + (log_r - usual) / SPREAD**2

        at, value = usual, falls(usual)
        while abs(at - usual) < FARTHEST:
            before, at = at, at - math.copysign(1.0, value)
            if falls(at) * value <= 0:
                return math.exp(scipy.optimize.brentq(falls, *sorted((before, at)), xtol=ABOUT))
        return math.exp(at)


class Curvature:
    """The Hessian of F at the scores of a ``BradleyTerry``, as something to solve with."""

    def __init__(self, of: BradleyTerry, ridge: Any) -> None:
        p = sigmoid(of.b[of.j] - of.b[of.k])
        self.of, self.h = of, of.all * p * (1 - p)
        self.diagonal = np.bincount(of.j, self.h, of.n) + np.bincount(of.k, self.h, of.n) + ridge
        self.factor = None
        if of.n <= DENSE:
            H = np.diag(self.diagonal)
            H[of.j, of.k] = H[of.k, of.j] = -self.h
            self.factor = scipy.linalg.cho_factor(H, overwrite_a=True)
        else:
            A = scipy.sparse.csr_array((-self.h, (of.j, of.k)), shape=(of.n, of.n))
            self.H = (A + A.T + scipy.sparse.diags(self.diagonal)).tocsr()

    def solve(self, right: Any, tol: float = CG_TOL) -> Any:
        """H^-1 times a vector, or times the columns of a matrix."""
        if self.factor is not None:
            return scipy.linalg.cho_solve(self.factor, right)
        return self._conjugate_gradients(right.reshape(len(right), -1), tol).reshape(right.shape)

    def inverse(self, weight: Any) -> tuple[float, Any]:
        """The trace of H^-1 times a diagonal of weights, and the variance of every pair's margin."""
        if self.factor is not None:
            C = self.solve(np.eye(self.of.n))
            d = np.diag(C)
            return float(weight @ d), d[self.of.j] + d[self.of.k] - 2 * C[self.of.j, self.of.k]
        signs = np.random.default_rng(0).choice((-1.0, 1.0), (self.of.n, PROBES))
        solved = self.solve(signs, CG_ABOUT)
        trace = float(weight @ (signs * solved).mean(axis=1))
        return trace, ((self.of.B @ signs) * (self.of.B @ solved)).mean(axis=1)

    def _conjugate_gradients(self, right: Any, tol: float) -> Any:
        """All columns at once, preconditioned by the diagonal."""
        by = 1 / self.diagonal[:, None]
        x, r = np.zeros_like(right), right.copy()
        z = by * r
        d, old = z.copy(), (r * z).sum(axis=0)
        enough = tol**2 * old
        for _ in range(CG_STEPS):
            if (old <= enough).all():
                break
            Hd = self.H @ d
            t = old / np.maximum((d * Hd).sum(axis=0), 1e-300)
            x += t * d
            r -= t * Hd
            z = by * r
            new = (r * z).sum(axis=0)
            d = z + new / np.maximum(old, 1e-300) * d
            old = new
        return x
