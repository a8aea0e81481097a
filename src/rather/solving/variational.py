"""The posterior of a vector with a normal prior, given answers, as a normal approximation.

    w ~ N(0, I)        P(answer t) = sigma(z_t),  z_t = x_t . w + c_t        counted m_t times

The normal distribution that is nearest to the posterior, by the Kullback-Leibler divergence, has (M. Opper, C.
Archambeau: The variational Gaussian approximation revisited, 2009)

    precision  H = I + sum_t m_t E sigma'(z_t) x_t x_t'        mean  sum_t m_t E sigma(-z_t) x_t

with expectations over itself. Both are found by damped Newton steps for the mean, each with the H of the last mean,
and E sigma(z) = sigma(mu / sqrt(1 + pi v / 8)) for z ~ N(mu, v) (D. MacKay, 1992). A Laplace approximation has the
curvature at the mode only. This one also takes information from answers that were to be expected, which is most of the
information if people never contradict themselves.

Answers move w only within their span. If there are fewer answers than dimensions, the computation is in that span.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..logistic import sigmoid

MOST_ROUNDS, TOL, ROUGH = 60, 1e-4, 1e-3
KEPT, KEPT_MANY = 0.5, 0.3  # of the curvatures of the round before, of one person and of many at once: without it,
# rounds swing where answers are few and strong


class Normal(NamedTuple):
    """N(mean, I - axes' diag(1 - variance) axes), the axes orthonormal rows.

    ``of_answers`` are, of the answers that say so, the numbers that the mean is a sum of rows by, their margins'
    variances and curvatures: where a search after one more answer begins.
    """

    mean: Any
    axes: Any
    variance: Any
    of_answers: tuple[Any, Any, Any] | None = None

    def variances(self, X: Any) -> Any:
        """Return the variances of x . w for the rows of X."""
        return np.einsum("nq,nq->n", X, X) - np.square(X @ self.axes.T) @ (1 - self.variance)

    def covariances(self, X: Any, Y: Any) -> Any:
        """Return the covariances of x . w and y . w for rows x of X and y of Y."""
        return X @ Y.T - ((X @ self.axes.T) * (1 - self.variance)) @ (Y @ self.axes.T).T

    def draws(self, n: int, rng: np.random.Generator) -> Any:
        """n rows."""
        e = rng.standard_normal((n, len(self.mean)))
        return self.mean + e - ((e @ self.axes.T) * (1 - np.sqrt(self.variance))) @ self.axes


def nothing_said(size: int) -> Normal:
    return Normal(np.zeros(size), np.empty((0, size)), np.empty(0))


def given_answers(
    X: Any, c: Any, m: Any, begin: tuple[Any, Any, Any] | None = None, rounds: int = MOST_ROUNDS
) -> Normal:
    """Return the posterior given answers with rows X, offsets c and counts m.

    ``begin`` are the numbers of the first answers, from a search without the others. They save rounds."""
    n, size = X.shape
    if not n or not size:
        return nothing_said(size)
    basis, Y = None, X
    if n < size:
        basis, R = np.linalg.qr(X.T)
        Y = R.T
    own, mean = np.eye(Y.shape[1]), np.zeros(Y.shape[1])
    mu, v, curvature = c, np.einsum("nq,nq->n", Y, Y), None
    if begin is not None and len(begin[0]) <= n:
        a, before, curved_before = begin
        mean = Y[: len(a)].T @ a
        mu = Y @ mean + c
        v[: len(a)] = before
        curvature = curved(mu, v)
        curvature[: len(a)] = curved_before
    for _ in range(rounds):
        p, curvature = _expected(mu, v, curvature, KEPT)
        H = own + (Y * (m * curvature)[:, None]).T @ Y
        S = np.linalg.inv(H)
        step = S @ (Y.T @ (m * (1 - p)) - mean)
        mean = mean + _damped(Y @ step, v) * step
        before, mu, v = (mu, v), Y @ mean + c, np.einsum("nq,nq->n", Y @ S, Y)
        if _settled(before, (mu, v), TOL):
            break
    held, E = np.linalg.eigh(H)
    axes = E.T if basis is None else E.T @ basis.T
    end = m * sigmoid(-averaged(mu, v)), v, curvature
    return Normal(mean if basis is None else basis @ mean, axes, 1 / held, end)


def margins_given(K: Any, c: Any, m: Any, begin: Any = None) -> tuple[Any, Any, Any]:
    """The same of many people at once, in terms of their answers' margins, which beforehand have the covariance K.

    K is (people, answers, answers), c and m (people, answers), with m = 0 where someone has fewer. Returns (a, A, end):
    a margin whose covariances with those of the answers are k then has the mean k a (beside its own offset) and the
    variance less by k A k'. ``begin`` is the end of an earlier search, for numbers nearby.
    """
    own, prior = np.eye(K.shape[1]), np.einsum("pnn->pn", K)
    a, v, curvature = (np.zeros(c.shape), prior, None) if begin is None else begin
    mu = np.einsum("pnk,pk->pn", K, a) + c
    for _ in range(MOST_ROUNDS):
        p, curvature = _expected(mu, v, curvature, KEPT_MANY)
        root = np.sqrt(m * curvature)
        A = root[:, :, None] * np.linalg.inv(own + root[:, :, None] * K * root[:, None, :]) * root[:, None, :]
        KA, y = K @ A, m * (1 - p) - a  # means are K a; Newton's step of a is (I - A K) y
        step = y - np.einsum("pkn,pk->pn", KA, y)
        a = a + _damped(np.einsum("pnk,pk->pn", K, step), v)[:, None] * step
        before, mu = (mu, v), np.einsum("pnk,pk->pn", K, a) + c
        v = np.maximum(prior - np.einsum("pnk,pnk->pn", KA, K), 0.0)
        if _settled(before, (mu, v), ROUGH):
            break
    return a, A, (a, v, curvature)


def averaged(mean: Any, variance: Any) -> Any:
    """The log-odds of E sigma(z) for z normal (D. MacKay: The evidence framework applied to classification, 1992)."""
    return mean / np.sqrt(1 + np.pi / 8 * variance)


def curved(mean: Any, variance: Any) -> Any:
    """E sigma'(z) for z normal: what an answer adds to the precision along its row."""
    p = sigmoid(averaged(mean, variance))
    return averaged(p * (1 - p), variance)


def _expected(mu: Any, v: Any, before: Any, kept: float) -> tuple[Any, Any]:
    """E sigma(z) and E sigma'(z), the latter not too far from that of the round before."""
    now = curved(mu, v)
    return sigmoid(averaged(mu, v)), now if before is None else (1 - kept) * now + kept * before


def _damped(step: Any, v: Any) -> Any:
    """Return the share of a step to make, so that the divergence does not grow; margins have variances v.

    (F. Bach: Self-concordant analysis for logistic regression, 2010; T. Sun, Q. Tran-Dinh: Generalized
    self-concordant functions, 2019.)
    """
    far = np.abs(averaged(step, v)).max(axis=-1, initial=0.0)
    return np.log1p(far) / np.maximum(far, 1e-9)


def _settled(before: tuple[Any, Any], now: tuple[Any, Any], tol: float) -> bool:
    moved = np.abs(now[0] - before[0]).max(initial=0.0), np.abs(np.sqrt(now[1]) - np.sqrt(before[1])).max(initial=0.0)
    return bool(max(moved) <= tol * (1 + np.abs(now[0]).max(initial=0.0)))
