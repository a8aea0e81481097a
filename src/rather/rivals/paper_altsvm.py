"""PaperAltSVM: Algorithm 1 of the paper, to the letter."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.comparisons import Comparisons
from ..data.votes import Votes
from ..errors import InputError, one_of
from ..models.altsvm import AltSVM
from ..models.checkpoint import Checkpoint
from ..models.fitted import Fit, FittedModel, Published, in_rounds
from ..models.lowrank import LowRank
from ..models.parameters import MOST_RANK, allowed, check_fit_params, check_rank
from ..models.posed import Posed
from ..models.scorers import Factors
from ..models.tuning import choose_if_asked
from ..solving import start
from ..solving.newton import Newton
from ..solving.rounds import Stop
from ..solving.sdca import Sdca

if TYPE_CHECKING:
    from typing_extensions import Self

SOLVERS: dict[str, type[Newton] | type[Sdca]] = {"sdca": Sdca, "newton": Newton}
PUBLISHED = {  # the parameters of AltSVM that give the paper's objective
    "bias": False, "item_power": 0.0, "user_power": 0.0, "balance": 0.0, "exposure": False, "ties": "half",
}  # fmt: skip


class PaperAltSVM(LowRank):
    """The algorithm that Park et al. (2015) published: alternating SVMs by stochastic dual coordinate descent.

    Minimises, over user vectors u_i and item vectors v_j,

        sum_t L(s_ij - s_ik) + reg / 2 (sum_i |u_i|^2 + sum_j |v_j|^2),          s_ij = u_i . v_j

    over all comparisons t = "user i would rather have j than k", by turns in V and in U, from the random start of the
    authors' program. There is no bias and no weighting, a tie is half a vote each way, and sides and covariates are not
    used. :class:`AltSVM` ranks better; this class is for comparisons with the paper.

    Parameters
    ----------
    rank : int
        Length of the vectors.
    reg : float, None or "cv"
        A number is used as it is. "cv" chooses it on held-out training data; None does so for votes and few ratings,
        and else takes the factor of :class:`AltSVM`, which was made for its own objective. The value used is ``reg_``.
    loss : {"squared_hinge", "hinge", "logistic"}
        max(0, 1 - x)^2, max(0, 1 - x) or log(1 + e^-x).
    solver : {"sdca", "newton"}
        "sdca" is the paper's Algorithm 1, lock-free with several threads, and then not reproducible. "newton" minimises
        the same objective by truncated Newton steps, with the same bits at any number of threads.
    max_iter : int
        Rounds (each solves V, then U) at most.
    tol : float, optional
        Stop once what the two halves of a round had to gain, relative to the objective, is at most this: by their
        duality gaps (sdca) or their Newton decrements (newton). None: 3e-4, and 0.02 for clicks against unseen items.
    n_threads : int, optional
        By default as many as the process may keep busy.
    seed : int
        Seed of the random start and of the draws of comparisons.
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called after every round with (model, record); returning True stops the fit.
    on_interrupt : {"keep", "raise"}
        What Ctrl-C does after the first round: end the fit with the rounds it has made, or then also raise.
    checkpoint : path, optional
        File that is rewritten after every round, from which a fit of the same data and parameters goes on.

    Attributes
    ----------
    user_factors_, item_factors_, users_, items_
        See :class:`FactorEstimator` and :class:`Estimator`.
    reg_ : float
    history_ : list of dict
        One record per round: round, seconds since the beginning, objective, gap; for sdca also the duality gaps
        ``item_gap`` and ``user_gap`` of the two halves.
    cv_results_ : list of dict
        All that was tried where ``reg`` was chosen, as in :class:`AltSVM`.
    converged_, interrupted_ : bool

    References
    ----------
    D. Park, J. Neeman, J. Zhang, S. Sanghavi, I. Dhillon: Preference Completion: Large-scale Collaborative Ranking from
    Pairwise Comparisons. ICML 2015 (Algorithm 1).

    Examples
    --------
    >>> import rather
    >>> world = rather.simulate(n_users=100, n_items=30, rank=2, per_user=40, seed=0)
    >>> model = rather.PaperAltSVM(rank=4, reg=10.0, n_threads=1).fit(world.comparisons)
    >>> model.history_[-1]["objective"] < model.history_[0]["objective"]
    True
    """

    bias = False
    item_power = 0.0
    user_power = 0.0
    balance = 0.0
    exposure = False
    ties = "half"

    def __init__(
        self,
        rank: int = 100,
        reg: float | str | None = None,
        loss: str = "squared_hinge",
        solver: str = "sdca",
        max_iter: int = 30,
        tol: float | None = None,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
        callback: Callable[[Any, dict[str, float]], Any] | None = None,
        on_interrupt: str = "keep",
        checkpoint: str | Path | None = None,
    ) -> None:
        self._store_params(locals())

    def _fit(self, data: Comparisons) -> Fit:
        self._check_params()
        began, spec = time.perf_counter(), self._spec()
        data = self._read(data)
        source = data.source
        checkpoint = None if self.checkpoint is None else Checkpoint(self.checkpoint, self, data)
        saved = None if checkpoint is None else checkpoint.read()
        scaled, rule = spec.scales(source)
        chosen = choose_if_asked(spec, data, self._rank, fixed_rank=True) if saved is None else None
        results = saved.cv_results if saved else chosen.results if chosen else []
        factors = (None, None) if chosen is None else chosen.factors
        problem = spec.problem(source, scaled, None, self._rank, *factors)
        if saved is not None:
            problem.set_reg(saved.reg, saved.bias_reg)
        base = self._model_of(
            data, Factors.packed(problem.U, problem.V, problem.rank), loss=self.loss, reg=problem.reg,
            bias_reg=problem.bias_reg, user_rule=rule, cv_results=results, posed=Posed.of(source, problem),
        )  # fmt: skip
        solver = SOLVERS[self.solver](problem, self.seed)
        if saved is None:
            start.uniform(problem, self.seed)
        history = [] if saved is None else saved.resume(solver)
        tol = source.tol if self.tol is None else float(self.tol)
        if isinstance(solver, Newton):
            solver.tightening.tol = tol
        sure = saved.calibration if saved else chosen.calibration if chosen else None
        keep = None if checkpoint is None else partial(checkpoint.write, results, sure, [], solver)

        def assemble() -> FittedModel:
            assert base.posed is not None
            factors = Factors.packed(problem.U, problem.V, problem.rank).copied(spec.n_threads)
            return replace(base, scorer=factors, posed=base.posed.solved_with(problem.delta, problem.g))

        stop = Stop(tol, self.max_iter)
        fitted = yield from in_rounds(solver, stop, assemble, history=history, began=began, keep=keep)
        yield Published(self._sure_of(fitted, data, sure))

    def _title(self, what: str) -> str:
        return f"PaperAltSVM {self.solver}"

    def _read(self, comparisons: Comparisons) -> Comparisons:
        """Return the comparisons without sides and covariates, and with ties as half votes."""
        read = super()._read(comparisons)
        if isinstance(read.source, Votes) and read.source.effects:
            return read._with(read.source.with_effects(()))
        return read

    def _check_features(self, what: str) -> None:
        raise InputError(f"{what} for AltSVM and Convex; PaperAltSVM does not learn from features")

    def _objective(self) -> dict[str, Any]:
        """Return the parameters of AltSVM that give the objective of the fit: those of an old file may be others."""
        return {name: self.fitted.params.get(name, value) for name, value in PUBLISHED.items()}

    def _as_fitted(self) -> Self:
        made = super()._as_fitted()
        for name, value in self._objective().items():
            setattr(made, name, value)
        return made

    def _twin(self) -> AltSVM:
        """The same objective as an AltSVM, which starts where one fit may be compared with another."""
        fitted, objective = {**self.get_params(), **self._fitted_params()}, self._objective()
        shared = {name: fitted[name] for name in ("loss", "max_iter", "tol", "n_threads", "seed")}
        if objective["bias"] is not False:
            objective["bias"] = allowed(self.bias_reg_)
        rank = min(max(self.rank_, 1), MOST_RANK)
        return AltSVM(rank=rank, reg=allowed(self.reg_), on_interrupt="raise", **shared, **objective)

    def _check_params(self) -> None:
        check_rank(self._rank)
        one_of("solver", self.solver, SOLVERS)
        self._check_problem()
        if isinstance(self.reg, str) and self.reg != "cv":
            raise InputError(f"reg is {self.reg!r}; it must be a number above 0, None (a rule) or 'cv'")
        check_fit_params(self, None if isinstance(self.reg, str) else self.reg)

    # -- files ----------------------------------------------------------------------------------------------------

    def _about(self) -> dict[str, Any]:
        return {**super()._about(), "objective": self._objective()}

    def _restore(self, fitted: FittedModel, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        # Files of AltSVM(solver="sdca") had these among their parameters, and may have a bias.
        given = {name: v for name, v in about.get("objective", about["params"]).items() if name in PUBLISHED}
        fitted.params = {**fitted.params, **given}
        self._with(fitted)._as_fitted()._check_problem()
        return super()._restore(fitted, tensors, about)
