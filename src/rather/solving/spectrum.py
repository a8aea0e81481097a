"""Singular values: of the sparse gradient by Lanczos, and of the low-rank scores exactly.

Both are taken of scaled matrices. With the shapes of the ridges, p_i = reg pi_i and q_j = reg kappa_j, the gradient G
of the loss with respect to the score matrix is divided by their square roots, S = diag(pi)^-1/2 G diag(kappa)^-1/2, and
the personal part of the scores, U V', is multiplied by them. Then the ridges of the best factors of a matrix add up to
reg times its nuclear norm, and the spectral norm is the dual of that.

Prior means only add rows and columns. The rows of U are L x for x = (own parts times pi^1/2, A times a^1/2), whose
ridges are reg |x|^2, with L = [diag(pi)^-1/2, Z a^-1/2]. S becomes L' G M with such an M for the items, and x takes the
place of the scaled factor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..native import FloatArray, core
from .priors import Prior
from .problem import Problem

Matrix = npt.NDArray[np.float64]
MOST_NUMBERS = 2**25  # of Lanczos's vectors
DENSE = 40  # up to this many rows or columns a matrix is decomposed directly


class Singular(NamedTuple):
    """Singular triples, the largest first: columns of ``left`` and ``right`` belong to ``values``."""

    left: Matrix
    values: npt.NDArray[np.float64]
    right: Matrix


def scaled_slopes(problem: Problem) -> FloatArray:
    """The entries of -S at the problem's scores, in the order of the store."""
    store, scales = problem.store, problem.scales
    entries = np.empty_like(problem.c)
    left, right = -1 / np.sqrt(scales.user_ridge), 1 / np.sqrt(scales.item_ridge)
    core.scaled(store, problem.c, left, right, entries, problem.n_threads)
    return entries


def gradient(problem: Problem) -> Any:
    """-S as a scipy operator, whose leading singular pairs are the directions that lower the loss fastest."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.linalg import aslinearoperator

    store = problem.store
    size = store.n_users, store.n_items
    if problem.priors is None:
        entries = scaled_slopes(problem).astype(np.float64)
        return aslinearoperator(csr_matrix((entries, store.item, store.start), shape=size))
    middle = csr_matrix((-problem.c.astype(np.float64), store.item, store.start), shape=size)
    return _to_rows(problem.priors.users).T @ aslinearoperator(middle) @ _to_rows(problem.priors.items)


def _to_rows(prior: Prior) -> Any:
    """L: takes own parts in scale, and the features' in theirs, to rows."""
    from scipy.sparse.linalg import LinearOperator

    n, k, own = len(prior.shape), prior.k, len(prior.shape) if prior.own else 0
    features, root, shared_root = prior.features[:, :k], np.sqrt(prior.shape.astype(np.float64)), np.sqrt(prior.ridge)

    def forth(x: Matrix) -> Matrix:
        x = x.reshape(own + k, -1)
        shared = features @ (x[own:] / shared_root)
        return np.asarray(x[:own] / root[:, None] + shared if own else shared)

    def back(rows: Matrix) -> Matrix:
        rows = rows.reshape(n, -1)
        return np.vstack([rows[:own] / root[:own, None], features.T @ rows / shared_root])

    return LinearOperator((n, own + k), matvec=forth, rmatvec=back, matmat=forth, rmatmat=back, dtype=np.float64)


def rows_of(problem: Problem, left: Matrix, right: Matrix) -> tuple[Matrix, Matrix]:
    """The rows of U and of V that scaled factors stand for."""
    if problem.priors is not None:
        return _to_rows(problem.priors.users) @ left, _to_rows(problem.priors.items) @ right
    scales = problem.scales
    return left / np.sqrt(scales.user_ridge)[:, None], right / np.sqrt(scales.item_ridge)[:, None]


def decompose(problem: Problem) -> Singular:
    """The singular triples of the scaled personal part of the scores."""
    r, scales = problem.rank, problem.scales
    users, items = problem.priors or (None, None)

    def scaled(rows: FloatArray, shape: FloatArray, prior: Prior | None) -> Matrix:
        shared = []
        if prior is not None:
            C, mean = prior.regress(rows)
            rows, shared = rows - mean, [np.sqrt(prior.ridge) * C[:, :r].astype(np.float64)]
            if not prior.own:
                return np.asarray(shared[0])
        return np.vstack([rows[:, :r].astype(np.float64) * np.sqrt(shape.astype(np.float64))[:, None], *shared])

    left, R = np.linalg.qr(scaled(problem.U, scales.user_ridge, users))
    right, Q = np.linalg.qr(scaled(problem.V, scales.item_ridge, items))
    a, values, b = np.linalg.svd(R @ Q.T, full_matrices=False)
    return Singular(left @ a, values, right @ b.T)


def holding(problem: Problem, held: Singular, rank: int) -> Problem:
    """The same problem at balanced factors that hold the given triples, with columns of zeros up to the rank."""
    made, kept, root = problem.with_rank(rank), len(held.values), np.sqrt(held.values)
    made.U[:, :kept], made.V[:, :kept] = rows_of(problem, held.left * root, held.right * root)
    made.V[:, rank] = problem.V[:, problem.rank]
    return made


def spectral_norm(matrix: Any, tol: float) -> float:
    """The largest singular value, to a relative ``tol``: the Lanczos estimate plus its residual.

    The estimate is never too large. With the residual it is too small only if Lanczos, from its random start, has met a
    singular value below the largest, and then by their difference.
    """
    (a,), (value,), (b,) = (part.T for part in leading(matrix, 1, tol))
    residuals = matrix.T @ a - value * b, matrix @ b - value * a
    return float(value + max(np.linalg.norm(r) for r in residuals))


def sure_norm(matrix: Any, estimate: float, steps: int = 100, chance: float = 1e-6) -> float:
    """A number that the largest singular value exceeds for one random start in a million, at most.

    After t steps of Lanczos on M'M of size n, from a start drawn uniformly from the sphere, the largest Ritz value is
    below (1 - e) times the largest eigenvalue with a probability of at most 1.648 sqrt(n) exp(-sqrt(e) (2 t - 1))
    (J. Kuczynski, H. Wozniakowski: Estimating the largest eigenvalue by the power and Lanczos algorithms with a random
    start. SIAM J. Matrix Anal. Appl. 13, 1992). Where the steps span all that the start has a part in, the value is the
    largest one itself.
    """
    n, m = matrix.shape
    size = min(n, m)
    if size <= DENSE:
        return estimate  # decomposed directly
    steps = min(size, max(20, min(steps, MOST_NUMBERS // size)))

    def product(x: Matrix) -> Matrix:
        return np.asarray(matrix.T @ (matrix @ x) if m <= n else matrix @ (matrix.T @ x)).ravel()

    basis = np.zeros((steps, size))
    basis[0] = np.random.default_rng(1).standard_normal(size)
    basis[0] /= np.linalg.norm(basis[0])
    diagonal, beside = np.zeros(steps), np.zeros(steps)
    done, spanned = steps, steps == size
    for t in range(steps):
        x = product(basis[t])
        diagonal[t] = x @ basis[t]
        for _ in range(2):  # orthogonal to all before, to the last digits
            x -= basis[: t + 1].T @ (basis[: t + 1] @ x)
        beside[t] = np.linalg.norm(x)
        if beside[t] <= 1e-12 * max(diagonal.max(), 1e-300):
            done, spanned = t + 1, True
            break
        if t + 1 < steps:
            basis[t + 1] = x / beside[t]
    tridiagonal = np.diag(diagonal[:done]) + np.diag(beside[: done - 1], 1) + np.diag(beside[: done - 1], -1)
    found = float(np.sqrt(max(np.linalg.eigvalsh(tridiagonal)[-1], 0.0)))
    share = 0.0 if spanned else (np.log(1.648 * np.sqrt(size) / chance) / (2 * done - 1)) ** 2
    return max(estimate, found / np.sqrt(1 - share)) if share < 1 else np.inf


def leading(matrix: Any, k: int, tol: float, known: Singular | None = None) -> Singular:
    """The k leading singular triples of a matrix; of its part orthogonal to the ``known`` ones, if any are given.

    At an optimum all that is in the scores is a singular pair of the gradient with the same value, reg. Lanczos would
    spend itself on telling these apart; what matters is whether anything beyond them exceeds it.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, svds

    n, m = matrix.shape
    if min(n, m) <= max(DENSE, 2 * k):
        dense = matrix @ np.eye(m) if m <= n else (matrix.T @ np.eye(n)).T
        if known is not None:
            dense -= known.left @ (known.left.T @ dense)
            dense -= (dense @ known.right) @ known.right.T
        a, values, b = np.linalg.svd(dense, full_matrices=False)
        return Singular(a[:, :k], values[:k], b[:k].T)
    start = np.random.default_rng(0).standard_normal(min(n, m))
    if not np.any(matrix @ start if m <= n else matrix.T @ start):
        return Singular(np.eye(n, k), np.zeros(k), np.eye(m, k))
    operator = matrix
    if known is not None:
        A, B = known.left, known.right

        def forth(x: Matrix) -> Matrix:
            y = matrix @ (x := x.ravel() - B @ (B.T @ x.ravel()))
            return np.asarray(y - A @ (A.T @ y))

        def back(y: Matrix) -> Matrix:
            x = matrix.T @ (y := y.ravel() - A @ (A.T @ y.ravel()))
            return np.asarray(x - B @ (B.T @ x))

        operator = LinearOperator((n, m), matvec=forth, rmatvec=back, dtype=np.float64)
    try:
        a, values, b = svds(operator, k=k, tol=np.sqrt(tol), v0=start)  # which squares it
    except ArpackNoConvergence:  # the leading values are closer to each other than tol
        return leading(matrix, k, 100 * tol, known)
    order = np.argsort(-values)
    return Singular(a[:, order], values[order], b[order].T)
