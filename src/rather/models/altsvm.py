"""AltSVM: everyone's scores from everyone's comparisons, through a low-rank model (Park et al., ICML 2015)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..data.comparisons import Comparisons
from ..data.source import Source
from ..data.votes import Votes
from ..errors import Domain, InputError
from ..native import FloatArray, threads
from ..solving import start
from ..solving.exposure import Exposure
from ..solving.growth import FIRST_RANK, Growing, coefficients
from ..solving.mixed import answering, plainly
from ..solving.newton import Newton
from ..solving.problem import Problem
from .checkpoint import Checkpoint, Saved
from .lowrank import LowRank
from .parameters import (
    BALANCE,
    BIAS,
    CALLBACK,
    CHECKPOINT,
    EXPOSURE,
    FLAG,
    ITEM_POWER,
    LOSS,
    MOST_RANK,
    N_THREADS,
    ON_INTERRUPT,
    REG_OR_CV,
    ROUNDS,
    SEED,
    TIES,
    TOL,
    USER_POWER,
    VERBOSE,
    Callback,
    Parameter,
    Params,
    accepts,
)
from .rounds import run_rounds
from .strengths import kept, settled
from .tuning import Choice, choose_if_asked
from .update import updated

EXPOSED_TOL, AUTO_TOL = 5e-4, 0.01

AUTO_RANK = Parameter(
    Domain(int, at_least=1, at_most=MOST_RANK, words=("auto",), none=True),
    "Number of taste dimensions, the length of the vectors; never more than users or items. None: 64, or 100 for "
    'clicks; for votes, held-out answers may choose less. "auto": grow until a certificate proves that more would not '
    "help. The value used is ``rank_``.",
    "method",
)
TRUST = Parameter(
    FLAG,
    "Whether to down-weight users whose answers look random. ``trust_`` is each user's probability of answering "
    "deliberately, from a first fit that trusts all users equally. For votes only; a fit takes twice as long.",
)
WARM_START = Parameter(
    FLAG,
    "Whether to start from the factors of the last fit, whose users, items and rank must be the same. A checkpoint "
    "has precedence.",
    "run",
)


@dataclass(frozen=True)
class AltSVMParams(Params):
    """The parameters of :class:`AltSVM`."""

    rank: int | Literal["auto"] | None = AUTO_RANK(None)
    reg: float | Literal["cv"] | None = REG_OR_CV(None)
    loss: str = LOSS("squared_hinge")
    bias: bool | float = BIAS(True)
    item_power: float = ITEM_POWER(0.5)
    user_power: float = USER_POWER(0.0)
    balance: float | None = BALANCE(None)
    exposure: bool | None = EXPOSURE(None)
    ties: str = TIES("model")
    trust: bool = TRUST(False)
    max_iter: int = ROUNDS(30)
    tol: float | None = TOL(None)
    n_threads: int | None = N_THREADS(None)
    seed: int = SEED(0)
    verbose: bool = VERBOSE(False)
    callback: Callback | None = CALLBACK(None)
    on_interrupt: str = ON_INTERRUPT("keep")
    checkpoint: str | Path | None = CHECKPOINT(None)
    warm_start: bool = WARM_START(False)


class AltSVM(LowRank):
    r"""Learn a personal ranking of all items for every user, from comparisons.

    Every user and every item gets a short vector. A score is the product of the two vectors plus the item's worth to
    all users, and users prefer items with higher scores. All vectors are fitted together, so users with few answers
    borrow from users with similar taste.

    Use :class:`ClickRanker` for clicks, :class:`Global` for one shared ranking, :class:`Convex` for a provable optimum.

    Parameters
    ----------
    rank : int, "auto" or None, default None
        Number of taste dimensions, the length of the vectors; never more than users or items. None: 64, or 100 for
        clicks; for votes, held-out answers may choose less. "auto": grow until a certificate proves that more would not
        help. The value used is ``rank_``.
    reg : float, "cv" or None, default None
        Ridge of all user and item vectors; a larger one shrinks personal lists towards the shared one. "cv": a factor
        of the data's scale, chosen on held-out answers; for votes together with the ridge of the biases (if ``bias`` is
        True) and the rank (if it is None). None: "cv" for votes and for up to 30,000 ratings that imply up to a million
        comparisons; else the fixed factor 1.7, or about 1.3 for clicks. The choice takes as long as up to ten fits, and
        half a fit from a million votes on. The value used is ``reg_``.
    loss : {"squared_hinge", "hinge", "logistic"}, default "squared_hinge"
        Penalty of a comparison whose winner leads by the margin x. It is max(0, 1-x)^2 for "squared_hinge", max(0, 1-x)
        for "hinge" and log(1+e^-x) for "logistic". Choose "logistic" for scores in log-odds.
    bias : bool or float, default True
        Whether items have a bias, the global ranking from which personal lists deviate. A number is the ridge of the
        biases. True: a factor of the data's scale, 2 or, for votes, 1 or what is chosen with ``reg``. Turn it off to
        compare with models that have no bias.
    item_power : float, default 0.5
        Growth of an item's ridge with the number n of users who compared it, as n to this power. 0: all items have the
        same ridge, so popular items are shrunk least. 1: popular and rare items are shrunk about equally.
    user_power : float, default 0.0
        Growth of a user's ridge with the number of items that the user compared, as for ``item_power``.
    balance : float or None, default None
        Exponent of the weight N^-balance of each comparison of a user who has N of them. 0: all comparisons count
        equally. 1: all users count equally. None: 0 for votes, and 0.5 for ratings, rankings and clicks, because n
        ratings imply about n^2 / 2 pairs, but not as many independent answers.
    exposure : bool or None, default None
        Whether to learn also from which items users compared. The prior means of the vectors are then linear in the
        leading singular vectors of the seen items. It helps where users choose what they rate, and hurts where items
        are assigned. None: where the singular values show that users choose.
    ties : {"model", "half"}, default "model"
        Treatment of ties. "model": a third outcome, by the model of Rao and Kupper, with each user's own reluctance to
        decide; :meth:`probability` then has three columns. "half": half a vote each way. Scores take ties as half votes
        in both cases.
    trust : bool, default False
        Whether to down-weight users whose answers look random. ``trust_`` is each user's probability of answering
        deliberately, from a first fit that trusts all users equally. For votes only; a fit takes twice as long.
    max_iter : int, default 30
        Largest number of rounds. A round solves for all items, then for all users. A fit that stops here has
        ``converged_`` False; give more rounds if the objective in ``history_`` still falls.
    tol : float or None, default None
        Gap at which the fit stops: the gain that a round can still expect (its Newton decrements), relative to the
        objective. None: 3e-4, 0.02 for clicks, 5e-4 with ``exposure``. With rank="auto" it is the certified distance
        from the optimum over all ranks (None: 0.01). Make it smaller to compare objectives, not to predict better.
    n_threads : int or None, default None
        Number of threads. None: as many as the process may keep busy, by its cores, CPU affinity, control groups and
        ``OMP_NUM_THREADS``. The fit returns the same bits with any number.
    seed : int, default 0
        Seed of all random draws. A different seed gives a different start and other held-out answers.
    verbose : bool, default False
        Whether to show a progress bar.
    callback : function of (model, record) or None, default None
        Called after every round with the model and the new entry of ``history_``. The fit stops if it returns True. An
        estimator with a lambda here cannot be pickled before it is fitted.
    on_interrupt : {"keep", "raise"}, default "keep"
        Effect of Ctrl-C after the first round. "keep": end the fit, and keep the rounds made so far. "raise": keep
        them, and raise KeyboardInterrupt.
    checkpoint : path or None, default None
        File that is rewritten after every round. A fit of the same data and parameters that finds it continues from it,
        so a killed fit loses at most one round, or the search for ``reg``.
    warm_start : bool, default False
        Whether to start from the factors of the last fit, whose users, items and rank must be the same. A checkpoint
        has precedence.

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
        Number of taste dimensions used.
    reg_, bias_reg_ : float
        Regularisation used, of the vectors and of the biases.
    context_effects_ : dict of float
        Position bias and covariate effects in the fit, in units of scores. :meth:`effects` gives log-odds.
    exposure_ : bool
        Whether the fit learned from which items users compared.
    trust_ : array of shape (n_users,) or None
        Weight of each user, if ``trust`` asked for it.
    slope_ : float or None
        Slope of the probabilities.
    history_ : list of dict
        One record for each round: round, seconds, objective, gap. With ``rank="auto"`` also lower_bound and rank.
    cv_results_ : list of dict
        One record for each setting tried on held-out answers: rank, factor, bias, log_loss, accuracy, value. Empty if
        nothing was chosen.
    converged_, interrupted_ : bool
        Whether the last gap was within ``tol``; whether Ctrl-C ended the fit.

    See Also
    --------
    Convex : Solve the same problem without a limit on the rank.
    Global : Learn one ranking for all users.
    ClickRanker : Learn from clicks.
    next_question : Return the most informative pair to ask a user.

    Notes
    -----
    The fit minimises over user vectors, item vectors and item biases

    .. math::

        \sum_t w_t L(s_{ij} - s_{ik}) + \tfrac12 \sum_i p_i \|u_i\|^2
        + \tfrac12 \sum_j \left(q_j \|v_j\|^2 + \beta_j b_j^2\right), \quad s_{ij} = u_i \cdot v_j + b_j,

    where the sum is over all comparisons t of weight w, in which user i prefers item j to item k. It alternates between
    items and users, and each half is a support vector machine. The ridges are reg times powers of the numbers of items
    that users compared and of users that compared items: see docs/mathematics.md.

    References
    ----------
    D. Park, J. Neeman, J. Zhang, S. Sanghavi, I. Dhillon: Preference Completion: Large-scale Collaborative Ranking from
    Pairwise Comparisons. ICML 2015.

    Examples
    --------
    >>> import rather
    >>> world = rather.simulate(n_users=100, n_items=30, rank=2, per_user=40, seed=0)
    >>> model = rather.AltSVM(rank=4).fit(world.comparisons)
    >>> model.recommend("user 7", k=3)["item"].tolist() == model.rank("user 7")["item"][:3].tolist()
    True
    """

    params: AltSVMParams

    @accepts(AltSVMParams)
    def __init__(self, params: AltSVMParams) -> None:
        self.params = params

    # -- fitting ------------------------------------------------------------------------------------------------

    def _fit(self, comparisons: Comparisons) -> bool:
        began = time.perf_counter()
        comparisons = self._read(comparisons)
        self._check_told_apart(comparisons.source)
        checkpoint = Checkpoint(self.checkpoint, self, comparisons) if self.checkpoint is not None else None
        saved = checkpoint.read() if checkpoint is not None else None
        comparisons = settled(self, comparisons, saved.features if saved else None)
        if self.trust:
            self.trust_ = self._trusted(comparisons)
        scaled, self.user_rule_ = self._scales(comparisons.source)
        chosen = self._choice(comparisons) if saved is None else None
        self.cv_results_: list[dict[str, float]] = saved.cv_results if saved else chosen.results if chosen else []
        exposed = self._exposure(comparisons.source)
        rank = self._first_rank(comparisons, saved, chosen)
        factors = (None, None) if chosen is None else chosen.factors
        problem = self._problem(comparisons.source, scaled, exposed, rank, *factors)
        if saved is not None:
            problem.set_reg(saved.reg, saved.bias_reg)
        self.reg_, self.bias_reg_ = problem.reg, problem.bias_reg
        self._pose(comparisons.source, problem, exposed)
        self._set_interest(exposed, comparisons)
        self._proof = None
        sure = saved.calibration if saved else chosen.calibration if chosen else None
        keep = None if checkpoint is None else partial(checkpoint.write, self.cv_results_, sure, kept(self))
        done = self._run(problem, comparisons, exposed, began, keep, saved, chosen)
        if done and self.converged_ and sure is not None:
            self._slope.own = self._reluctance(comparisons, sure)
            self._slope.found = sure
        return done

    def _trusted(self, comparisons: Comparisons) -> FloatArray:
        """How much each user is to be trusted, by a fit that trusts all alike."""
        if type(comparisons.source) is not Votes or comparisons.source.implied:
            raise InputError("trust goes with votes: of ratings and clicks there is no telling who gave them at random")
        quiet = {"trust": False, "verbose": False, "callback": None, "checkpoint": None, "warm_start": False}
        first = type(self)(**{**self.get_params(), **quiet, "on_interrupt": "raise"}).fit(comparisons)
        source = plainly(comparisons.source)
        sway, n_threads = first._sway_of(source), threads(self.n_threads)
        found = answering(source, first.U_, first.V_, first.rank_, n_threads, sway, coins=True)
        return np.asarray(found.trust, np.float32)

    def update(
        self,
        comparisons: Comparisons,
        old: Comparisons | None = None,
        item_features: Any = None,
        user_features: Any = None,
    ) -> Any:
        """Add newer comparisons to the fitted model, without a full refit.

        The model is then nearly what a fit to all comparisons would give, in a fraction of the time. The rank, the
        rules of the regularisation and the calibration stay as they were. Fit again after many updates, or after much
        new data. An error leaves the model as it was; Ctrl-C keeps the rounds made so far.

        Parameters
        ----------
        comparisons : Comparisons
            Newer comparisons of the same kind. They may have new users and items. Read a few new ratings or clicks with
            ``allow_empty=True``.
        old : Comparisons, optional
            The comparisons of the fit, for a model loaded from a file without them.
        item_features : pandas, polars or pyarrow table, Table, or dict of columns, optional
            Features of new items, or changed features, for models that were fitted with them.
        user_features : pandas, polars or pyarrow table, Table, or dict of columns, optional
            The same for users.

        Returns
        -------
        AltSVM
            The model itself.

        Raises
        ------
        InputError
            If the newer comparisons are of another kind, or the earlier ones are missing.

        See Also
        --------
        AltSVM.fold_in : Add one new user without changing the model.
        AltSVM.add_items : Add new items without changing anything else.
        Comparisons.extended : Join newer comparisons to earlier ones.

        Examples
        --------
        >>> import rather
        >>> votes = {"user": ["ann", "bob", "cat"], "winner": ["A", "A", "B"], "loser": ["B", "C", "C"]}
        >>> model = rather.AltSVM(rank=1).fit(rather.Comparisons.from_frame(votes))
        >>> new = rather.Comparisons.from_frame({"user": ["dan"], "winner": ["D"], "loser": ["A"]})
        >>> model.update(new).users_.tolist()
        ['ann', 'bob', 'cat', 'dan']
        """
        return self._built_apart("update", lambda work: updated(work, comparisons, old, item_features, user_features))

    def _settled(self) -> dict[str, Any]:
        alone = {"checkpoint": None, "warm_start": False}
        return {**super()._settled(), **alone, "rank": min(max(self.rank_, 1), MOST_RANK)}

    def _choice(self, comparisons: Comparisons) -> Choice | None:
        """What held-out answers choose, where ``reg`` asks for it or leaves it to the source."""
        most = comparisons.source.rank if self._rank in (None, "auto") else int(self._rank)
        if self._rank is None and self._goes_on():
            most = int(self._last.rank_)
        return choose_if_asked(self, comparisons, most, fixed_rank=self._rank is not None or self._goes_on())

    def _goes_on(self) -> bool:
        """Whether this fit begins where the last one ended."""
        return bool(self.warm_start and self._last._is_fitted())

    def _first_rank(self, comparisons: Comparisons, saved: Saved | None, chosen: Choice | None) -> int:
        """The rank to begin with; one that was chosen or grows goes on from where the last fit had got to."""
        if self._rank not in (None, "auto"):
            return int(self._rank)
        if saved is not None:
            return saved.rank
        if self._goes_on():
            return int(self._last.rank_)
        most = FIRST_RANK if self._rank == "auto" else comparisons.source.rank if chosen is None else chosen.rank
        return min(most, comparisons.n_users, comparisons.n_items)

    def _run(
        self,
        problem: Problem,
        comparisons: Comparisons,
        exposed: Exposure | None,
        began: float,
        keep: Callable[..., None] | None,
        saved: Saved | None,
        chosen: Choice | None,
    ) -> bool:
        solver = (Growing if self._rank == "auto" else Newton)(problem, self.seed)
        history: list[dict[str, float]] = []
        if saved is not None:
            history = saved.resume(solver)
        elif not (self.warm_start and self._warm_start(problem, comparisons)):
            if chosen is not None and chosen.rank == problem.rank:
                start.from_items(problem, chosen.V, self.seed)
            else:
                start.spectral(problem, self.seed)
        self.loss_ = self.loss
        self._set_data(comparisons)
        tol = AUTO_TOL if self._rank == "auto" and self.tol is None else self._usual_tol(comparisons.source, exposed)
        if isinstance(solver, Newton):
            solver.tightening.tol = tol
        self._take(solver, exposed)

        def one_round() -> dict[str, float]:
            record = solver.round()
            self._take(solver, exposed)
            return record

        def finish() -> None:
            if isinstance(solver, Growing):
                solver.trim()
            self._take(solver, exposed, last=True)

        keep = keep and partial(keep, solver)
        return run_rounds(self, one_round, began, tol=tol, history=history, keep=keep, finish=finish)

    def _usual_tol(self, source: Source, exposed: Exposure | None) -> float:
        usual = source.tol if exposed is None else EXPOSED_TOL
        return usual if self.tol is None else float(self.tol)

    def _take(self, solver: Newton | Growing, exposed: Exposure | None, last: bool = False) -> None:
        """The factors that a solver has come to (of one that grows, the best so far), and what is known about them."""
        store = solver.problem.store
        if isinstance(solver, Growing):
            self._set_factors(*solver.factors)
            self._set_prior(exposed, solver.coefficients, store, last)
            self._proof = solver.proof if solver.rounds_done else None
            self._solved_with(0.0, solver.g)
        else:
            self._solved_with(solver.problem.delta, solver.problem.g)
            problem = solver.problem
            self._set_factors(problem.U, problem.V, problem.rank)
            self._set_prior(exposed, coefficients(problem, problem.U, problem.V), store, last)
        self._set_sway()

    def _warm_start(self, problem: Problem, comparisons: Comparisons) -> bool:
        """Take over the factors of the last fit; False if there was none."""
        last = self._last
        if not last._is_fitted():
            return False
        same = (
            np.array_equal(last.users_, comparisons.users)
            and np.array_equal(last.items_, comparisons.items)
            and last.rank_ == problem.rank
        )
        if not same:
            raise InputError("warm_start needs the same users, items and rank as the last fit; fit a new model instead")
        problem.U[:, : problem.rank] = last.user_factors_
        problem.V[:] = last.V_
        if not problem.bias:
            problem.V[:, problem.rank] = 0
        start.grow(problem, self.seed)  # columns that a stiffer fit had left at zero
        return True
