"""PaperAltSVM: Algorithm 1 of the paper, unchanged."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..data.comparisons import Comparisons
from ..data.votes import Votes
from ..errors import Domain, InputError
from ..models.altsvm import AltSVM, AltSVMParams
from ..models.checkpoint import Checkpoint
from ..models.fitted import Fit, FittedModel, Published, in_rounds
from ..models.lowrank import LowRank
from ..models.parameters import (
    CALLBACK,
    CHECKPOINT,
    LOSS,
    MOST_RANK,
    N_THREADS,
    ON_INTERRUPT,
    RANK,
    REG_OR_CV,
    ROUNDS,
    SEED,
    TOL,
    VERBOSE,
    Callback,
    Parameter,
    Params,
    accepts,
    allowed,
)
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

PAPER_REG = Parameter(
    REG_OR_CV.domain,
    'Ridge of all user and item vectors. "cv": chosen on held-out answers. None: "cv" for votes and few ratings, else '
    "the factor of AltSVM, which was made for another objective. The value used is ``reg_``.",
)
SOLVER = Parameter(
    Domain(words=tuple(SOLVERS)),
    'Solver of the SVMs. "sdca": Algorithm 1 of the paper, lock-free with several threads and then not reproducible. '
    '"newton": truncated Newton steps on the same objective, with the same bits at any number of threads.',
    "method",
)
PAPER_TOL = Parameter(
    TOL.domain,
    "Gap at which the fit stops: what a round can still gain, relative to the objective, by duality gaps (sdca) or "
    "Newton decrements (newton). None: 3e-4, or 0.02 for clicks.",
    "run",
)


@dataclass(frozen=True)
class PaperAltSVMParams(Params):
    """The parameters of :class:`PaperAltSVM`."""

    rank: int = RANK(100)
    reg: float | Literal["cv"] | None = PAPER_REG(None)
    loss: str = LOSS("squared_hinge")
    solver: str = SOLVER("sdca")
    max_iter: int = ROUNDS(30)
    tol: float | None = PAPER_TOL(None)
    n_threads: int | None = N_THREADS(None)
    seed: int = SEED(0)
    verbose: bool = VERBOSE(False)
    callback: Callback | None = CALLBACK(None)
    on_interrupt: str = ON_INTERRUPT("keep")
    checkpoint: str | Path | None = CHECKPOINT(None)


class PaperAltSVM(LowRank):
    r"""Learn personal rankings by the published algorithm of Park et al. (2015).

    The algorithm alternates support vector machines, solved by stochastic dual coordinate descent, from the random
    start of the authors' program. It has no bias and no weights. A tie is half a vote each way; sides and covariates
    are not used.

    Use it to compare with the paper. :class:`AltSVM` ranks better.

    Parameters
    ----------
    rank : int, default 100
        Number of taste dimensions, the length of the vectors of users and items. A higher rank captures more tastes,
        and needs more answers and more time.
    reg : float, "cv" or None, default None
        Ridge of all user and item vectors. "cv": chosen on held-out answers. None: "cv" for votes and few ratings, else
        the factor of AltSVM, which was made for another objective. The value used is ``reg_``.
    loss : {"squared_hinge", "hinge", "logistic"}, default "squared_hinge"
        Penalty of a comparison whose winner leads by the margin x. It is max(0, 1-x)^2 for "squared_hinge", max(0, 1-x)
        for "hinge" and log(1+e^-x) for "logistic". Choose "logistic" for scores in log-odds.
    solver : {"sdca", "newton"}, default "sdca"
        Solver of the SVMs. "sdca": Algorithm 1 of the paper, lock-free with several threads and then not reproducible.
        "newton": truncated Newton steps on the same objective, with the same bits at any number of threads.
    max_iter : int, default 30
        Largest number of rounds. A round solves for all items, then for all users. A fit that stops here has
        ``converged_`` False; give more rounds if the objective in ``history_`` still falls.
    tol : float or None, default None
        Gap at which the fit stops: what a round can still gain, relative to the objective, by duality gaps (sdca) or
        Newton decrements (newton). None: 3e-4, or 0.02 for clicks.
    n_threads : int or None, default None
        Number of threads. None: as many as the process may keep busy, by its cores, CPU affinity, control groups and
        ``OMP_NUM_THREADS``. The fit returns the same bits with any number.
    seed : int, default 0
        Seed of all random draws. A different seed gives a different start and other held-out answers.
    verbose : bool, default False
        Whether to show a progress bar.
    callback : function of (model, record) or None, default None
        Function called after every round with the model and the new entry of ``history_``. The fit stops if it returns
        True. An estimator with a lambda here cannot be pickled before it is fitted.
    on_interrupt : {"keep", "raise"}, default "keep"
        Effect of Ctrl-C after the first round. "keep": end the fit, and keep the rounds made so far. "raise": keep
        them, and raise KeyboardInterrupt.
    checkpoint : path or None, default None
        File that is rewritten after every round. If it exists, a fit of the same data and parameters continues from it.
        A killed fit loses at most one round, or the search for ``reg``.

    Attributes
    ----------
    users_, items_ : array of id
        Ids of the users and items.
    user_factors_ : array of shape (n_users, rank)
        Vectors of the users.
    item_factors_ : array of shape (n_items, rank)
        Vectors of the items.
    reg_ : float
        Regularisation used.
    history_ : list of dict
        One record for each round: round, seconds, objective, gap. For "sdca" also item_gap and user_gap, the duality
        gaps of the two halves.
    cv_results_ : list of dict
        One record for each setting tried on held-out answers, as in :class:`AltSVM`.
    converged_ : bool
        Whether the last gap was within ``tol``.
    interrupted_ : bool
        Whether Ctrl-C ended the fit.

    See Also
    --------
    AltSVM : The method that this library recommends.
    Convex.plain : The paper's convex program.

    Notes
    -----
    The fit minimises over user vectors and item vectors

    .. math::

        \sum_t L(s_{ij} - s_{ik}) + \tfrac{\text{reg}}{2} \left(\sum_i \|u_i\|^2 + \sum_j \|v_j\|^2\right),
        \quad s_{ij} = u_i \cdot v_j,

    where the sum is over all comparisons t, in which user i prefers item j to item k.

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

    params: PaperAltSVMParams

    @accepts(PaperAltSVMParams)
    def __init__(self, params: PaperAltSVMParams) -> None:
        self.params = params

    def _fit(self, data: Comparisons) -> Fit:
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
        yield Published(self._with_calibration(fitted, data, sure))

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

    # -- files ----------------------------------------------------------------------------------------------------

    def _about(self) -> dict[str, Any]:
        return {**super()._about(), "objective": self._objective()}

    def _restore(self, fitted: FittedModel, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        # Files of AltSVM(solver="sdca") had these among their parameters, and may have a bias.
        given = {name: v for name, v in about.get("objective", about["params"]).items() if name in PUBLISHED}
        fitted.params = {**fitted.params, **given}
        AltSVMParams(loss=self.loss, **self._with(fitted)._objective()).check()
        return super()._restore(fitted, tensors, about)
