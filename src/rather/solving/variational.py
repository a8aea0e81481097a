"""What answers say of a vector that is normal beforehand: a normal approximation of what it can then be.

    w ~ N(0, I)        P(answer t) = sigma(x_t . w + c_t)        counted m_t times

The logistic function is bounded from below by a Gaussian of its argument, sigma(z) >= sigma(h) exp((z - h) / 2 -
lambda(h) (z^2 - h^2)) with lambda(h) = tanh(h / 2) / (4 h), which is best at h^2 = E z^2 (T. Jaakkola, M. Jordan:
Bayesian parameter estimation via variational methods, 2000). Then

    precision  H = I + sum_t 2 m_t lambda(h_t) x_t x_t'        mean  H^-1 sum_t m_t (1/2 - 2 lambda(h_t) c_t) x_t

and h_t again from these, until nothing moves. Beside the curvature at the likeliest w this knows that an answer which
was to be expected still says something; where people never contradict themselves that is most of what is known.

Answers move w only within their span: of fewer answers than w has numbers, all is computed in that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

MOST_ROUNDS, TOL, ROUGH = 60, 1e-4, 1e-3
FARTHEST = 0.9  # the ratio of two steps that is believed, when many more are taken at once


class Normal(NamedTuple):
    """N(mean, I - axes' diag(1 - variance) axes), the axes orthonormal rows."""

    mean: Any
    axes: Any
    variance: Any

    def variances(self, X: Any) -> Any:
        """Of x . w for the rows of X."""
        return np.einsum("nq,nq->n", X, X) - np.square(X @ self.axes.T) @ (1 - self.variance)

    def covariances(self, X: Any, Y: Any) -> Any:
        """Of x . w and y . w for rows x of X and y of Y."""
        return X @ Y.T - ((X @ self.axes.T) * (1 - self.variance)) @ (Y @ self.axes.T).T

    def draws(self, n: int, rng: np.random.Generator) -> Any:
        """n rows."""
        e = rng.standard_normal((n, len(self.mean)))
        return self.mean + e - ((e @ self.axes.T) * (1 - np.sqrt(self.variance))) @ self.axes


def nothing_said(size: int) -> Normal:
    return Normal(np.zeros(size), np.empty((0, size)), np.empty(0))


def given_answers(X: Any, c: Any, m: Any) -> Normal:
    """What answers with rows X, offsets c and counts m say."""
    n, size = X.shape
    if not n or not size:
        return nothing_said(size)
    basis, Y = None, X
    if n < size:
        basis, R = np.linalg.qr(X.T)
        Y = R.T
    own = np.eye(Y.shape[1])
    h = np.sqrt(c * c + np.einsum("nq,nq->n", Y, Y))
    step: Any = None
    for _ in range(MOST_ROUNDS):
        twice = bent(h)
        H = own + (Y * (m * twice)[:, None]).T @ Y
        S = np.linalg.inv(H)
        mean = S @ (Y.T @ (m * (0.5 - twice * c)))
        now = np.sqrt(np.square(Y @ mean + c) + np.einsum("nq,nq->n", Y @ S, Y))
        if np.abs(now - h).max() <= TOL * (1 + now.max()):
            break
        h, step = _farther(h, now, step)
    held, E = np.linalg.eigh(H)
    axes = E.T if basis is None else E.T @ basis.T
    return Normal(mean if basis is None else basis @ mean, axes, 1 / held)


def margins_given(K: Any, c: Any, m: Any, bend: Any = None) -> tuple[Any, Any, Any]:
    """The same of many people at once, in terms of their answers' margins, which beforehand have the covariance K.

    K is (people, answers, answers), c and m (people, answers), with m = 0 where someone has fewer. Returns (a, A, h):
    a margin whose covariances with those of the answers are k then has the mean k a (beside its own offset) and the
    variance less by k A k'. ``bend`` is an h to begin from.
    """
    h = np.sqrt(c * c + np.einsum("pnn->pn", K)) if bend is None else bend
    own, step = np.eye(K.shape[1]), None
    for _ in range(MOST_ROUNDS):
        twice = bent(h)
        root = np.sqrt(m * twice)
        inverse = np.linalg.inv(own + root[:, :, None] * K * root[:, None, :])
        A = root[:, :, None] * inverse * root[:, None, :]
        y = m * (0.5 - twice * c)
        KA = K @ A
        a = y - np.einsum("pnk,pk->pn", np.swapaxes(KA, 1, 2), y)
        variance = np.einsum("pnn->pn", K) - np.einsum("pnk,pnk->pn", KA, K)
        now = np.sqrt(np.square(np.einsum("pnk,pk->pn", K, a) + c) + np.maximum(variance, 0.0))
        if np.abs(now - h).max(initial=0.0) <= ROUGH * (1 + now.max(initial=0.0)):
            break
        h, step = _farther(h, now, step)
    return a, A, h


def bent(h: Any) -> Any:
    """2 lambda(h): what an answer at a margin of about h adds to the precision along it."""
    return np.tanh(h / 2) / (2 * np.maximum(h, 1e-9))


def _farther(h: Any, now: Any, before: Any) -> tuple[Any, Any]:
    """Where a step from h to ``now`` leads if steps shrink as they did since the one before (A. Aitken, 1926)."""
    step = now - h
    if before is None:
        return now, step
    held = np.square(before).sum(axis=-1, keepdims=True)
    ratio = np.clip((step * before).sum(axis=-1, keepdims=True) / np.maximum(held, 1e-30), 0.0, FARTHEST)
    return np.maximum(h + step / (1 - ratio), 1e-6), None
