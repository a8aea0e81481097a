"""A proof of how far a fitted model is from the best possible one.

The ridges of the best factors of a matrix X add up to reg |X|_*, the nuclear norm (of X scaled by the shapes of the
ridges), so that the problem of a factor model is a convex one in disguise, but for the limit on the rank:

    F(X, b) = sum_t w_t L(s_ij - s_ik) + reg |X|_* + 1/2 sum_j beta_j b_j^2,        S = X + 1 b'

By convex duality, for any multiplier tau with tau |G|_2 <= reg (G the gradient of the loss at the model's scores, in
the same scale, |G|_2 its largest singular value, g_j its column sums),

    min F >= D(tau) = -sum_t w_t L*(tau L'_t) - tau^2 sum_j g_j^2 / (2 beta_j)

and D(1) = F at the optimum. With a constraint |X|_* <= radius in place of the penalty, the bound is
D(tau) - tau radius |G|_2 for any tau; tau = 1 is the gap of Frank and Wolfe.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..native import FloatArray
from .problem import SQUARES, Problem
from .spectrum import decompose, gradient, spectral_norm, sure_norm

LANCZOS_TOL = 1e-8


@dataclass(frozen=True)
class Certificate:
    """Hold the proof of how far a fit can be from the best one of any rank.

    Attributes
    ----------
    objective : float
        Objective of the convex problem at the model's scores.
    lower_bound : float
        Objective that no scores of any rank can go below. It rests on an estimate of ``gradient_norm`` that is right to
        1e-4, unless the estimate missed the largest singular value.
    high_probability_bound : float or None
        The same with a margin that fails for at most one random start in a million. None among the rounds of a fit.
    gradient_norm : float
        Largest singular value of the gradient of the loss. If it is at most ``limit``, a higher rank does not help.
    limit : float
        The regularisation, to compare ``gradient_norm`` with.
    nuclear_norm : float
        Nuclear norm of the personal part of the scores.

    See Also
    --------
    AltSVM.certificate : Prove how good a fit is.
    Convex : Fit until the gap is small.

    Notes
    -----
    ``relative_gap`` is a bound. With too small a rank or too few rounds, it is often much larger than the distance to
    the optimum.

    Examples
    --------
    >>> import rather
    >>> model = rather.AltSVM(rank=1).fit(rather.simulate(n_users=10, n_items=4, rank=1, per_user=3).comparisons)
    >>> proof = model.certificate()
    >>> proof.lower_bound <= proof.objective and proof.relative_gap < 1
    True
    """

    objective: float
    lower_bound: float
    gradient_norm: float
    limit: float
    nuclear_norm: float
    high_probability_bound: float | None = None

    @property
    def relative_gap(self) -> float:
        """Largest possible share of the objective above the best possible one."""
        return (self.objective - self.lower_bound) / self.objective if self.objective > 0 else 0.0

    @property
    def excess(self) -> float:
        """Largest possible excess over the best objective, relative to the lower bound."""
        if self.lower_bound > 0:
            return (self.objective - self.lower_bound) / self.lower_bound
        return np.inf if self.objective > 0 else 0.0

    def __str__(self) -> str:
        sure = (
            ""
            if self.high_probability_bound is None
            else f", but for one chance in a million {self.high_probability_bound:.6g}"
        )
        return (
            f"objective {self.objective:.6g}, at most {100 * self.excess:.2g} % above the smallest that any "
            f"rank allows (which is at least {self.lower_bound:.6g}{sure}); "
            f"gradient norm {self.gradient_norm / self.limit:.4f} reg"
        )


def certify(problem: Problem, radius: float | None = None, tol: float = LANCZOS_TOL) -> Certificate:
    """The certificate of a problem at its scores (which must be up to date: see ``Problem.refresh``).

    With a ``radius`` the problem is the constrained one; the objective is then that of the factors scaled down to it,
    if need be (``within``). ``tol`` is the relative accuracy of the gradient's norm.
    """
    norm = float(decompose(problem).values.sum())
    steepest = spectral_norm(gradient(problem), tol)
    bound = _lower_bound(problem, steepest, radius)
    if radius is None:
        objective = problem.true_loss() + problem.reg * norm
    else:
        objective = problem.true_loss_at(*within(problem, norm, radius))
    objective += problem.bias_penalty()
    return Certificate(objective, min(max(bound, 0.0), objective), steepest, problem.reg, norm)


def made_sure(certificate: Certificate, problem: Problem, radius: float | None = None) -> Certificate:
    """The certificate of a problem at its scores with its ``high_probability_bound``."""
    norm = sure_norm(gradient(problem), certificate.gradient_norm)
    bound = max(_lower_bound(problem, norm, radius), 0.0) if np.isfinite(norm) else 0.0
    return replace(certificate, high_probability_bound=min(bound, certificate.lower_bound))


def within(problem: Problem, norm: float, radius: float) -> tuple[FloatArray, FloatArray]:
    """U and V, scaled down to the radius where the norm exceeds it."""
    U, V = problem.U.copy(), problem.V.copy()
    scale = np.float32(np.sqrt(min(1.0, radius / norm))) if norm > 0 else np.float32(1)
    U[:, : problem.rank] *= scale
    V[:, : problem.rank] *= scale
    return U, V


def _lower_bound(problem: Problem, steepest: float, radius: float | None) -> float:
    """D at its best tau where D is a polynomial, else at the largest tau up to 1."""
    biases = problem.bias_dual()
    most = np.inf if radius is not None or steepest <= 0 else problem.reg / steepest
    price = steepest * radius if radius is not None else 0.0
    tau = min(most, 1.0)
    if problem.loss_name in SQUARES and (square := problem.loss_value + biases) > 0:
        tau = min(most, max(2 * problem.loss_value - problem.slope() - price, 0.0) / (2 * square))
    return problem.dual_value(tau) - tau * price - tau * tau * biases
