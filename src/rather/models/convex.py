"""Convex: the paper's convex program, solved to a proven gap."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

from ..data.comparisons import Comparisons
from ..data.source import Source
from ..errors import InputError, number
from ..solving import start
from ..solving.growth import FIRST_RANK, Proximal
from ..solving.rounds import Stop
from .assemble import Assembly, interest_of
from .features import known_of
from .fitted import Fit, Published, in_rounds
from .lowrank import LowRank
from .parameters import check_fit_params
from .posed import Posed
from .scorers import Factors
from .strengths import settled
from .tuning import RANK, Choice, choose

SLACK = 0.9  # a norm below this share of the radius does not touch the constraint
FEW_ROUNDS, STUCK = 8, 0.9  # a gap that keeps this share over the last quarter of the rounds falls no more


class Convex(LowRank):
    """Personal rankings from comparisons, by a convex program: no rank to choose, no local optima.

    With ``lam``, the paper's constrained program over all score matrices X (users x items) and item biases b,

        min  sum_t w_t L(s_ij - s_ik) + 1/2 sum_j beta_j b_j^2      s.t. |X|_* <= sqrt(lam n_users n_items)

    and without it the regularised one,

        min  sum_t w_t L(s_ij - s_ik) + reg |X|_* + 1/2 sum_j beta_j b_j^2,          s_ij = X_ij + b_j

    over all comparisons t = "user i would rather have j than k" of weight w_t. |X|_* is the nuclear norm, the sum of
    the singular values of X, with the rows and columns scaled by the square roots of the shapes of the ridges of
    :class:`AltSVM`. So the second program is AltSVM's, freed of its limit on the rank; with the logistic loss it is
    the penalised likelihood of the Bradley-Terry-Luce model. ``Convex.plain(lam=...)`` is the paper's to the letter.

    X is kept as the product of two thin factors. Rounds of Newton steps on them alternate with a few singular vectors
    of the sparse gradient, which prove how far the objective is from the optimum and say in which directions the
    factors must grow (docs/mathematics.md).

    Parameters
    ----------
    lam : float, optional
        The constrained program. For a matrix of rank r whose entries have the mean square a, lam = r a is enough;
        what predicts best is less. Scores of comparisons from ratings come out small with the hinge losses: try 0.01 to
        1. Where lam is so large that the constraint does not bind, there is little to prove and no convergence.
    reg : float, optional
        The regularised program. Neither: as ``AltSVM`` has it, for votes and few ratings chosen on held-out answers.
    loss : {"squared_hinge", "hinge", "logistic"}
        max(0, 1 - x)^2, max(0, 1 - x) or log(1 + e^-x).
    bias, item_power, user_power, balance, exposure, ties
        As in :class:`AltSVM`.
    max_iter : int
        Rounds (each a growth of the factors and five Newton steps on both) at most.
    tol : float
        Stop once the objective is proven to be at most this share above the optimum. Single precision limits it to
        1e-5 or 1e-4. The hinge, which is smoothed to descend on, may need more rounds than ``max_iter``. A fit that
        ends above ``tol`` warns, and gives the reason and a remedy.
    n_threads : int, optional
        All cores by default; the result is the same with any number.
    seed : int
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called after every round with (model, record); returning True stops the fit.
    on_interrupt : {"keep", "raise"}
        What Ctrl-C does after the first round: end the fit with the rounds it has made, or then also raise.

    Attributes
    ----------
    user_factors_, item_factors_, item_bias_, users_, items_
        See :class:`FactorEstimator`. The factors have ``rank_`` columns; columns that hold next to nothing are dropped
        between rounds.
    reg_, bias_reg_ : float
        With ``lam``, ``reg_`` is the multiplier of the constraint: with it the regularised program has the same
        optimum.
    cv_results_ : list of dict
        What was tried where ``reg`` was chosen, as in :class:`AltSVM`.
    history_ : list of dict
        One record per round: round, seconds since the beginning, objective, lower_bound, gap and rank. The gap is
        certified: (objective - lower_bound) / objective.
    converged_, interrupted_ : bool
        Whether the last gap was within ``tol``; whether Ctrl-C ended the fit early.

    References
    ----------
    D. Park, J. Neeman, J. Zhang, S. Sanghavi, I. Dhillon: Preference Completion: Large-scale Collaborative Ranking from
    Pairwise Comparisons. ICML 2015 (equation 2). — S. Laue: A Hybrid Algorithm for Convex Semidefinite Optimization.
    ICML 2012.

    Examples
    --------
    >>> import rather
    >>> world = rather.simulate(n_users=100, n_items=30, rank=2, per_user=40, seed=0)
    >>> model = rather.Convex().fit(world.comparisons)
    >>> proof = model.certificate()
    >>> proof.lower_bound <= proof.objective and proof.relative_gap <= 1e-3
    True
    """

    def __init__(
        self,
        lam: float | None = None,
        reg: float | None = None,
        loss: str = "squared_hinge",
        bias: bool | float = True,
        item_power: float = 0.5,
        user_power: float = 0.0,
        balance: float | None = None,
        exposure: bool | None = None,
        ties: str = "model",
        max_iter: int = 100,
        tol: float = 1e-3,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
        callback: Callable[[Any, dict[str, float]], Any] | None = None,
        on_interrupt: str = "keep",
    ) -> None:
        self._store_params(locals())

    @classmethod
    def plain(cls, lam: float, **params: Any) -> Convex:
        """The paper's program to the letter: no bias, the plain nuclear norm, all comparisons alike."""
        published: dict[str, Any] = {
            "bias": False,
            "item_power": 0.0,
            "user_power": 0.0,
            "balance": 0.0,
            "exposure": False,
        }
        return cls(**{**published, **params, "lam": lam})

    _warns = True

    def _twin(self) -> Any:
        twin = super()._twin()
        twin._warns = False
        return twin

    def _run(self, what: str, steps: Fit) -> Any:
        super()._run(what, steps)
        now = copy(self)
        ended = now.converged_ or now.interrupted_ or len(now.history_) < now.max_iter  # or by a callback
        if now._warns and not ended:
            warnings.warn(now._why_short_of_tol(), stacklevel=3)
        return self

    def _why_short_of_tol(self) -> str:
        """Return why the last gap is above tol, and a remedy."""
        gaps = [record["gap"] for record in self.history_]
        rounds, gap, before = len(gaps), gaps[-1], gaps[-1 - len(gaps) // 4]
        proof = self.fitted.proof
        if proof is not None and self.lam is not None and proof.nuclear_norm < SLACK * self._radius():
            why = f"lam={self.lam:g} is so large that the constraint does not bind; give a smaller lam"
        elif rounds >= FEW_ROUNDS and gap > STUCK * before:
            limit = "the smoothing of the hinge" if self.loss == "hinge" else "single precision"
            why = f"{limit} keeps it there; set tol to {1.1 * gap:.1e} or more"
        else:
            why = f"it still falls; set max_iter above {self.max_iter}"
        return f"the gap of Convex is {gap:.1e} after {rounds} rounds, above tol={self.tol:g}: {why}"

    def _radius(self) -> float:
        """Return the largest nuclear norm that lam allows."""
        return math.sqrt(self.lam * self.user_factors_.shape[0] * self.item_factors_.shape[0]) if self.lam else math.inf

    def _fit(self, data: Comparisons) -> Fit:
        self._check_params()
        began = time.perf_counter()
        data = self._read(data)
        self._check_told_apart(data.source)
        spec = self._spec()
        data, gains = settled(spec, data)
        source, n, m = data.source, data.n_users, data.n_items
        radius = None if self.lam is None else math.sqrt(self.lam * n * m)
        scaled, rule = spec.scales(source)
        exposed = spec.exposed(source)
        chosen: Choice | None = None
        if self.reg is None and self.lam is None and source.chooses:
            chosen = choose(spec, data, RANK, fixed_rank=True, ties=self._models_ties(source))
        factors: tuple[float | None, float | None] = (None if self.lam is None else Source.reg_factor, None)
        if chosen is not None:
            factors = chosen.factors
        problem = spec.problem(source, scaled, exposed, min(FIRST_RANK, n, m), *factors, known=known_of(data))
        start.spectral(problem, self.seed)
        solver = Proximal(problem, self.seed, radius, self.tol)
        base = self._model_of(
            data, Factors.packed(problem.U, problem.V, problem.rank), loss=self.loss, user_rule=rule,
            cv_results=[] if chosen is None else chosen.results, interest=interest_of(exposed, data),
            posed=Posed.of(source, problem, exposed, radius, known_of(data)),
        )  # fmt: skip

        def assembly() -> Assembly:
            posed = Posed.of(source, solver.problem, exposed, radius, known_of(data))  # whose reg moves
            at = replace(base, reg=solver.proof.limit, bias_reg=solver.problem.bias_reg, posed=posed)
            return Assembly(at, source.store, exposed, known_of(data), gains, spec.n_threads)

        stop = Stop(self.tol, self.max_iter)
        fitted = yield from in_rounds(solver, stop, lambda: assembly().model(solver), began=began)
        fitted = assembly().last(solver, fitted)
        yield Published(self._sure_of(fitted, data, None if chosen is None else chosen.calibration))

    def _settled(self) -> dict[str, Any]:
        """The multiplier of the constraint for the penalty."""
        return {**super()._settled(), "lam": None, "tol": max(self.tol, 0.01)}

    def _check_params(self) -> None:
        if self.lam is not None and self.reg is not None:
            raise InputError("lam poses the constrained program and reg the regularised one; give one of them")
        if self.lam is not None:
            number("lam", self.lam, above=0, at_most=1e30)
        self._check_problem()
        check_fit_params(self)
