"""Convex: the paper's convex program, solved to a proven gap."""

from __future__ import annotations

import math
import time
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from ..data.comparisons import Comparisons
from ..data.source import Source
from ..errors import Domain, InputError
from ..solving import start
from ..solving.growth import FIRST_RANK, Proximal
from ..solving.rounds import Stop
from ..warned import warn
from .assemble import Assembly, interest_of
from .features import known_of
from .fitted import Fit, Published, in_rounds
from .lowrank import LowRank
from .parameters import (
    BALANCE,
    BIAS,
    CALLBACK,
    EXPOSURE,
    GAP,
    ITEM_POWER,
    LOSS,
    N_THREADS,
    ON_INTERRUPT,
    RIDGE_OR_RULE,
    SEED,
    TIES,
    USER_POWER,
    VERBOSE,
    WHOLE,
    Callback,
    Parameter,
    Params,
    accepts,
)
from .posed import Posed
from .scorers import Factors
from .strengths import settled
from .tuning import RANK, Choice, choose

SLACK = 0.9  # a norm below this share of the radius does not touch the constraint
FEW_ROUNDS, STUCK = 8, 0.9  # a gap that keeps this share over the last quarter of the rounds falls no more

LAM = Parameter(
    Domain(float, above=0, at_most=1e30, none=True),
    "Bound on the nuclear norm, for the constrained program. For scores of rank r and mean square a, lam = r a is "
    "enough; less often predicts better. For ratings with a hinge loss, try 0.01 to 1. A bound that is too large to "
    "bind leaves the fit without convergence.",
)
CONVEX_REG = Parameter(
    RIDGE_OR_RULE,
    "Penalty of the nuclear norm, for the regularised program. None, without ``lam``: as for AltSVM, chosen on "
    "held-out answers for votes and few ratings. The value used is ``reg_``.",
)
PROOFS = Parameter(
    WHOLE,
    "Largest number of rounds. A round lets the factors grow and makes five Newton steps on both.",
    "run",
)
PROVEN_TOL = Parameter(
    GAP,
    "Proven gap at which the fit stops: the distance from the optimum, relative to the objective. Single precision "
    "limits it to 1e-5 or 1e-4. A fit that ends above it warns, and gives the reason and a remedy.",
    "run",
)


@dataclass(frozen=True)
class ConvexParams(Params):
    """The parameters of :class:`Convex`."""

    lam: float | None = LAM(None)
    reg: float | None = CONVEX_REG(None)
    loss: str = LOSS("squared_hinge")
    bias: bool | float = BIAS(True)
    item_power: float = ITEM_POWER(0.5)
    user_power: float = USER_POWER(0.0)
    balance: float | None = BALANCE(None)
    exposure: bool | None = EXPOSURE(None)
    ties: str = TIES("model")
    max_iter: int = PROOFS(100)
    tol: float = PROVEN_TOL(1e-3)
    n_threads: int | None = N_THREADS(None)
    seed: int = SEED(0)
    verbose: bool = VERBOSE(False)
    callback: Callback | None = CALLBACK(None)
    on_interrupt: str = ON_INTERRUPT("keep")

    def check(self) -> None:
        if self.lam is not None and self.reg is not None:
            raise InputError("lam poses the constrained program and reg the regularised one; give one of them", "lam")
        super().check()


class Convex(LowRank):
    r"""Learn personal rankings by a convex program, solved to a proven gap.

    There is no rank to choose and no local optimum: the fit reports how far its objective can be from the best possible
    one. By default the problem is that of :class:`AltSVM` without a limit on the rank. With ``lam`` it is the
    constrained program of Park et al. (2015).

    Use :class:`AltSVM` for speed.

    Parameters
    ----------
    lam : float or None, default None
        Bound on the nuclear norm, for the constrained program. For scores of rank r and mean square a, lam = r a is
        enough; less often predicts better. For ratings with a hinge loss, try 0.01 to 1. A bound that is too large to
        bind leaves the fit without convergence.
    reg : float or None, default None
        Penalty of the nuclear norm, for the regularised program. None, without ``lam``: as for AltSVM, chosen on
        held-out answers for votes and few ratings. The value used is ``reg_``.
    loss : {"squared_hinge", "hinge", "logistic"}, default "squared_hinge"
        Penalty of a comparison whose winner leads by the margin x. It is max(0, 1-x)^2 for "squared_hinge", max(0, 1-x)
        for "hinge" and log(1+e^-x) for "logistic". Choose "logistic" for scores in log-odds.
    bias : bool or float, default True
        Whether items have a bias, the global ranking from which personal lists deviate. A number is the ridge of the
        biases. True: a factor times the data's scale. The factor is 2; for votes it is chosen with ``reg``, or is 1.
        False: no bias, to compare with models that have none.
    item_power : float, default 0.5
        Exponent of an item's ridge, which grows as n^item_power with the number n of users who compared the item. 0:
        all items have the same ridge, so popular items are shrunk least. 1: popular and rare items are shrunk about
        equally.
    user_power : float, default 0.0
        Exponent of a user's ridge, which grows as n^user_power with the number n of items that the user compared.
    balance : float or None, default None
        Exponent of the weights: each comparison of a user with N comparisons has the weight N^-balance. 0: all
        comparisons count equally. 1: all users count equally. None: 0 for votes, and 0.5 for ratings, rankings and
        clicks. A user's n ratings imply about n^2 / 2 pairs, but not as many independent answers.
    exposure : bool or None, default None
        Whether to learn also from which items users compared. The prior means of the vectors are then linear in the
        leading singular vectors of the matrix of users and the items they compared. This helps if users choose what
        they rate, and hurts if items are assigned to them. None: only if the singular values show that users choose.
    ties : {"model", "half"}, default "model"
        Treatment of ties. "model": a third outcome, by the model of Rao and Kupper, with each user's own reluctance to
        decide; :meth:`probability` then has three columns. "half": half a vote each way. Scores treat a tie as half a
        vote each way in both cases.
    max_iter : int, default 100
        Largest number of rounds. A round lets the factors grow and makes five Newton steps on both.
    tol : float, default 0.001
        Proven gap at which the fit stops: the distance from the optimum, relative to the objective. Single precision
        limits it to 1e-5 or 1e-4. A fit that ends above it warns, and gives the reason and a remedy.
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

    Attributes
    ----------
    users_, items_ : array of id
        Ids of the users and items.
    user_factors_ : array of shape (n_users, rank)
        Vectors of the users.
    item_factors_ : array of shape (n_items, rank)
        Vectors of the items.
    item_bias_ : array of shape (n_items,)
        Worth of each item to all users.
    rank_ : int
        Number of taste dimensions of the solution.
    reg_, bias_reg_ : float
        Regularisation used. With ``lam``, ``reg_`` is the multiplier of the constraint.
    cv_results_ : list of dict
        One record for each setting tried on held-out answers, as in :class:`AltSVM`.
    history_ : list of dict
        One record for each round: round, seconds, objective, lower_bound, gap, rank. The gap is certified.
    converged_, interrupted_ : bool
        Whether the last gap was within ``tol``; whether Ctrl-C ended the fit.

    See Also
    --------
    AltSVM : Solve the problem at a fixed rank, faster.
    Certificate : Hold the proof of how good a fit is.

    Notes
    -----
    With ``lam`` the program, over score matrices X and item biases b, is

    .. math::

        \min \sum_t w_t L(s_{ij} - s_{ik}) + \tfrac12 \sum_j \beta_j b_j^2
        \quad \text{subject to} \quad \|X\|_* \le \sqrt{\text{lam}\; n_\text{users}\, n_\text{items}},

    and without it

    .. math:: \min \sum_t w_t L(s_{ij} - s_{ik}) + \text{reg}\, \|X\|_* + \tfrac12 \sum_j \beta_j b_j^2,

    with scores :math:`s_{ij} = X_{ij} + b_j`. The nuclear norm is that of X with rows and columns scaled by the shapes
    of AltSVM's ridges. With the logistic loss, the second program is the penalised likelihood of the Bradley-Terry-Luce
    model. X is stored as the product of two thin factors. Newton steps on them alternate with singular vectors of the
    gradient, which give the lower bound and new directions. The page "The mathematics" of the site has details.

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

    params: ConvexParams

    @accepts(ConvexParams)
    def __init__(self, params: ConvexParams) -> None:
        self.params = params

    @classmethod
    def plain(cls, lam: float, **params: Any) -> Convex:
        """Return the paper's program: no bias, plain nuclear norm, equal weights.

        Parameters
        ----------
        lam : float
            Bound on the nuclear norm, as in the constructor.
        **params
            Other parameters of the constructor.

        Returns
        -------
        Convex
            An estimator that is not fitted.

        See Also
        --------
        PaperAltSVM : The algorithm that the paper published.

        Examples
        --------
        >>> import rather
        >>> rather.Convex.plain(lam=0.1).get_params()["bias"]
        False
        """
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
            warn(now._why_short_of_tol(), "gap-above-tol")
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
        began = time.perf_counter()
        data = self._read(data)
        self._check_identifiable(data.source)
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
        yield Published(self._with_calibration(fitted, data, None if chosen is None else chosen.calibration))

    def _settled(self) -> dict[str, Any]:
        """The multiplier of the constraint for the penalty."""
        return {**super()._settled(), "lam": None, "tol": max(self.tol, 0.01)}
