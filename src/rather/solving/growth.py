"""Newton rounds with a growing rank: towards the global optimum, with a certificate after every round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..native import FloatArray, core, factor
from . import smoothing, start
from .certificate import LANCZOS_TOL, Certificate, certify, within
from .newton import Newton
from .problem import Problem
from .rounds import EVERY_ROUND, Stop, solve
from .spectrum import Singular, decompose, gradient, holding, leading, rows_of

FIRST_RANK = 16
STEPS = 5  # Newton's rounds between two certificates
NEGLIGIBLE = 1e-4  # columns that hold less than this share of the largest one's singular value are dropped
LOOSE = 1e-4  # relative accuracy of directions to grow in
STRIDE = 2.0  # log reg moves by this much at most
LEAST_REG = 1e-9  # of the first one

Coefficients = tuple[FloatArray | None, FloatArray | None]


class Growing:
    """Rounds that grow the factors where the gradient says that it helps, from the second on, and then descend on them.

    Growth adds the leading singular pairs of the gradient beyond those that the factors hold already, as many as
    exceed reg: the direction a step of Frank and Wolfe would take, several at once. Descent on the factors
    then does what such steps alone are slow at.

    With a ``radius`` the problem is the constrained one, whose optimum is that of the regularised one for some reg:
    reg moves from round to round until the nuclear norm is the radius.
    """

    GROWN = "best_U", "best_V"  # of the state, whose size is not that of the problem

    def __init__(self, problem: Problem, seed: int, radius: float | None = None) -> None:
        self.newton = Newton(problem, seed)
        self.radius, self.accuracy = radius, LANCZOS_TOL
        self.factors = problem.U, problem.V, problem.rank  # of the best scores so far
        self.coefficients: Coefficients = None, None  # of the prior means there
        self.g = problem.g  # and the effects there
        self.newton.tightening.steps = 0  # its own schedule knows nothing of gaps
        if smoothing.is_smoothed(problem):
            problem.delta = smoothing.COARSEST
            problem.evaluate()
        self.first_reg = problem.reg
        self._norm = 0.0
        self.proof = Certificate(np.inf, 0.0, 0.0, problem.reg, 0.0)
        self._stride = STRIDE
        self._last = np.log(problem.reg), 0.0  # log reg of the round before, and that of its norm over the radius
        self.rounds_done = 0

    @property
    def problem(self) -> Problem:
        return self.newton.problem

    def round(self) -> dict[str, float]:
        """One round. Returns the objective of the convex problem, its lower bound, their relative gap, and the rank."""
        if self.rounds_done:
            if self.radius is not None:
                self._move_reg(self.radius)
            self._tighten()
            self._grow()
        solve(self.newton, Stop(EVERY_ROUND, STEPS))
        self.rounds_done += 1
        self.problem.refresh()
        self._keep(certify(self.problem, self.radius, self.accuracy))
        return {
            "objective": self.proof.objective, "gap": self.proof.relative_gap, "lower_bound": self.proof.lower_bound,
            "rank": self.factors[2],
        }  # fmt: skip

    def _keep(self, proof: Certificate) -> None:
        """Take note of a round: earlier bounds stay bounds, and the best factors (within the radius) are kept."""
        bound, self._norm = max(proof.lower_bound, self.proof.lower_bound), proof.nuclear_norm
        if proof.objective <= self.proof.objective:
            problem, U, V = self.problem, self.problem.U, self.problem.V  # left alone from here: growth makes new ones
            if self.radius is not None:
                U, V = within(problem, self._norm, self.radius)
                proof = replace(proof, nuclear_norm=min(self._norm, self.radius))
            self.factors, self.g = (U, V, problem.rank), problem.g
            self.coefficients = coefficients(problem, U, V)
        else:
            proof = self.proof
        self.proof = replace(proof, lower_bound=min(bound, proof.objective))

    def _tighten(self) -> None:
        """Halve the smoothing of the hinge as long as it is most of what the gap consists of."""
        problem, proof = self.problem, self.proof
        if problem.delta > smoothing.FINEST:  # another loss has none
            share = problem.true_loss() - problem.slope() - problem.dual_value(1.0)
            if share >= 0.5 * (proof.objective - proof.lower_bound):
                problem.delta *= 0.5
                problem.evaluate()

    def trim(self) -> None:
        """Drop the columns of the factors that hold next to nothing."""
        U, V, rank = self.factors
        problem = self.problem.with_rank(rank)
        problem.U[:], problem.V[:] = U, V
        held = _held(problem)
        problem = holding(problem, held, len(held.values))
        self.factors = problem.U, problem.V, problem.rank
        self.coefficients = coefficients(problem, problem.U, problem.V)

    def _grow(self) -> None:
        """Balance the factors, drop columns that hold next to nothing, and add those that lower the objective."""
        old, slopes = self.problem, gradient(self.problem)
        held = _held(old)
        kept = len(held.values)
        most, found = min(old.store.n_users, old.store.n_items) - kept, _first(held, 0)
        if most > 0 and leading(slopes, 1, LOOSE, held).values[0] > old.reg:
            found = leading(slopes, min(most, kept // 2 + 8), LOOSE, held)
            found = _first(found, int((found.values > old.reg).sum()))
        self.newton.problem = self._extended(held, found, slopes)

    def _extended(self, held: Singular, found: Singular, slopes: Any) -> Problem:
        """Return the problem at the held triples and those found, shrunk by reg."""
        old, kept, added = self.problem, len(held.values), len(found.values)
        problem = holding(old, held, kept + added)
        problem.refresh()
        if added:
            left, right = _rows(old, found)
            start.fill(problem, np.arange(kept, kept + added), left, found.values, right)
        return problem

    def _move_reg(self, radius: float) -> None:
        """Move reg, by the secant through its last two values, to where the nuclear norm is about the radius."""
        x, excess = np.log(self.problem.reg), np.log(max(self._norm, 0.01 * radius) / radius)
        last_x, last_excess = self._last
        self._last = x, excess
        steepness = (last_excess - excess) / (x - last_x) if x != last_x else 0.0
        step = excess / steepness if steepness > 0.2 else excess  # the norm falls as reg grows, about as 1 / reg
        passed = excess * last_excess < 0  # the norm lags behind: unless steps shrink, reg could swing for ever
        self._stride = abs(x - last_x) / 2 if passed else min(1.5 * self._stride, STRIDE)
        lowest = LEAST_REG * self.first_reg  # the optimum may lie inside the radius, where reg is 0
        self.problem.set_reg(
            max(float(np.exp(x + np.clip(step, -self._stride, self._stride))), lowest), self.problem.bias_reg
        )

    def state(self) -> dict[str, Any]:
        U, V, rank = self.factors
        proof = self.proof
        known = proof.objective, proof.lower_bound, proof.gradient_norm, proof.limit, proof.nuclear_norm
        numbers = [self.problem.delta, self._norm, *known, rank]
        return {
            **self.newton.state(),
            "growth": np.array(numbers, np.float64),
            "best_U": U,
            "best_V": V,
            "best_g": self.g,
        }

    def restore(self, state: dict[str, Any], rounds_done: int) -> None:
        delta, norm, *proof, rank = (float(x) for x in state["growth"])
        best = self.problem.with_rank(min(max(int(rank), 0), len(self.problem.U)))
        for mine, saved in ((best.U, state["best_U"]), (best.V, state["best_V"])):
            if mine.shape != saved.shape:
                raise ValueError("the best factors do not fit")
            mine[:] = saved
        self.rounds_done = rounds_done
        self.newton.restore(state, STEPS * rounds_done)
        self.problem.delta, self._norm = min(max(delta, 0.0), smoothing.COARSEST), norm
        self.problem.evaluate()
        self.proof = Certificate(*proof)
        self.factors, self.coefficients = (best.U, best.V, best.rank), coefficients(best, best.U, best.V)
        self.g = np.array(state["best_g"])


class Proximal(Growing):
    """Rounds that grow the factors, and step along the gradient within what they hold as well.

    Newton's steps on one factor move a column in proportion to what the other holds of it. Columns that hold little
    hardly move, and promise less than single precision can see, while the gradient's norm there still exceeds reg.
    """

    def __init__(self, problem: Problem, seed: int, radius: float | None, tol: float) -> None:
        super().__init__(problem, seed, radius)
        self.accuracy = max(0.1 * tol, LANCZOS_TOL)

    def _extended(self, held: Singular, found: Singular, slopes: Any) -> Problem:
        """Return the problem after a step along what exceeds reg of the gradient among the held and the found vectors.

        X = A S B' becomes A (S + t E) B', with E the positive part of the symmetric part of A' G B - reg. S + t E stays
        positive, so that its trace is the nuclear norm. The slope along the step alone determines t.
        """
        old = self.problem
        left, right = np.hstack([held.left, found.left]), np.hstack([held.right, found.right])
        inner = left.T @ (slopes @ right)
        excess, turn = np.linalg.eigh(0.5 * (inner + inner.T) - old.reg * np.eye(len(inner)))
        excess, turn = excess[excess > 0], turn[:, excess > 0]
        problem = holding(old, held, len(held.values))
        problem.refresh()
        if not len(excess):
            return problem
        step = _scores(old, Singular(left @ turn, excess, right @ turn))
        scale = start.best_scale(problem, step, old.reg * float(excess.sum()))
        S = np.diag(np.pad(held.values, (0, len(found.values)))) + scale * (turn * excess) @ turn.T
        values, turn = np.linalg.eigh(S)
        problem = holding(old, Singular(left @ turn, np.maximum(values, 0), right @ turn), len(values))
        problem.refresh()
        return problem


def coefficients(problem: Problem, U: FloatArray, V: FloatArray) -> Coefficients:
    """Return the coefficients of the users' and the items' prior means at some factors."""
    if problem.priors is None:
        return None, None
    return problem.priors.users.coefficients(U), problem.priors.items.coefficients(V)


def _first(triples: Singular, k: int) -> Singular:
    return Singular(triples.left[:, :k], triples.values[:k], triples.right[:, :k])


def _rows(problem: Problem, triples: Singular) -> tuple[FloatArray, FloatArray]:
    """Return the rows of U and V that the vectors stand for, laid out as factors are."""
    k = len(triples.values)
    left, right = factor(problem.store.n_users, k), factor(problem.store.n_items, k)
    left[:, :k], right[:, :k] = rows_of(problem, triples.left, triples.right)
    return left, right


def _scores(problem: Problem, triples: Singular) -> FloatArray:
    """Return the scores that the triples add up to."""
    left, right = _rows(problem, Singular(triples.left * triples.values, triples.values, triples.right))
    scores = np.empty_like(problem.m)
    core.scores(problem.store, left, right, scores, problem.n_threads)
    return scores


def _held(problem: Problem) -> Singular:
    """The singular triples of the scaled scores, without those that hold next to nothing."""
    found = decompose(problem)
    return _first(found, int((found.values > NEGLIGIBLE * found.values.max(initial=0.0)).sum()))
