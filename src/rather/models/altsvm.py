"""AltSVM: personal rankings from comparisons, by a low-rank model (Park et al., ICML 2015)."""

from __future__ import annotations

import time
from copy import copy
from dataclasses import dataclass, replace
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
from ..solving.growth import FIRST_RANK, Growing
from ..solving.mixed import answering, plainly
from ..solving.newton import Newton
from ..solving.problem import Problem
from ..solving.rounds import Stop
from ..solving.spec import Spec
from .assemble import Assembly, interest_of
from .checkpoint import Checkpoint, Saved
from .features import known_of
from .fitted import Fit, FittedModel, Published, in_rounds
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
from .posed import Posed
from .scorers import Factors
from .strengths import kept, settled
from .tuning import Choice, choose_if_asked
from .update import updated

EXPOSED_TOL, AUTO_TOL = 5e-4, 0.01

AUTO_RANK = Parameter(
    Domain(int, at_least=1, at_most=MOST_RANK, words=("auto",), none=True),
    "Number of taste dimensions, the length of the vectors. It never exceeds the number of users or of items. None: "
    '64, or 100 for clicks; for votes, held-out answers may choose fewer. "auto": grow until a certificate proves that '
    "more would not help. The value used is ``rank_``.",
    "method",
)
TRUST = Parameter(
    FLAG,
    "Whether to down-weight users whose answers look random. A first fit trusts all users equally and finds "
    "``trust_``, each user's probability of answering deliberately. For votes only; a fit takes twice as long.",
)
WARM_START = Parameter(
    FLAG,
    "Whether to start from the factors of the last fit. Users, items and rank must be the same. A checkpoint takes "
    "precedence.",
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
        Number of taste dimensions, the length of the vectors. It never exceeds the number of users or of items. None:
        64, or 100 for clicks; for votes, held-out answers may choose fewer. "auto": grow until a certificate proves
        that more would not help. The value used is ``rank_``.
    reg : float, "cv" or None, default None
        Ridge of all user and item vectors. A larger ridge shrinks personal lists towards the shared one. "cv": a factor
        times the data's scale, chosen on held-out answers. For votes these also choose the ridge of the biases (if
        ``bias`` is True) and the rank (if it is None). None: "cv" for votes and for up to 30,000 ratings with at most a
        million implied comparisons; else the fixed factor 1.7, or about 1.3 for clicks. The choice takes up to ten
        times as long as a fit, but only half as long as one for a million votes or more. The value used is ``reg_``.
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
    trust : bool, default False
        Whether to down-weight users whose answers look random. A first fit trusts all users equally and finds
        ``trust_``, each user's probability of answering deliberately. For votes only; a fit takes twice as long.
    max_iter : int, default 30
        Largest number of rounds. A round solves for all items, then for all users. A fit that stops here has
        ``converged_`` False; give more rounds if the objective in ``history_`` still falls.
    tol : float or None, default None
        Gap at which the fit stops: the gain expected of another round (its Newton decrements), relative to the
        objective. None: 3e-4, 0.02 for clicks, 5e-4 with ``exposure``. With rank="auto" the gap is the certified
        distance from the optimum over all ranks, and None means 0.01. A smaller value makes objectives more exact, but
        predictions no better.
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
    warm_start : bool, default False
        Whether to start from the factors of the last fit. Users, items and rank must be the same. A checkpoint takes
        precedence.

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
        Weight of each user; None without ``trust``.
    slope_ : float or None
        Slope of the probabilities; None until it is estimated.
    history_ : list of dict
        One record for each round: round, seconds, objective, gap. With ``rank="auto"`` also lower_bound and rank.
    cv_results_ : list of dict
        One record for each setting tried on held-out answers: rank, factor, bias, log_loss, accuracy, value. Empty if
        nothing was chosen.
    converged_, interrupted_ : bool
        Whether the last gap was at most ``tol``, and whether Ctrl-C ended the fit.

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

    where the sum is over all comparisons: in comparison t, of weight w_t, user i prefers item j to item k. The fit
    alternates between items and users. While the vectors of one side are fixed, the problem of the other side is a
    support vector machine. The ridge p_i is reg times a power of the number of items that user i compared. The ridge
    q_j is reg times a power of the number of users who compared item j. The page "The
    mathematics" of the site has details.

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

    def _fit(self, data: Comparisons) -> Fit:
        began = time.perf_counter()
        last = self._fitted if self.warm_start else None
        data = self._read(data)
        self._check_identifiable(data.source)
        checkpoint = None if self.checkpoint is None else Checkpoint(self.checkpoint, self, data)
        saved = None if checkpoint is None else checkpoint.read()

        # Held-out answers choose these settings, or the checkpoint has them.
        data, gains = settled(self._spec(), data, saved.features if saved else None)
        spec = replace(self._spec(), trust=self._trusted(data) if self.trust else None)
        source, known = data.source, known_of(data)
        scales, user_rule = spec.scales(source)
        chosen = self._choice(spec, data, last) if saved is None else None
        cv_results = saved.cv_results if saved else chosen.results if chosen else []
        calibration = saved.calibration if saved else chosen.calibration if chosen else None
        reg_factors: tuple[float | None, float | None] = (None, None) if chosen is None else chosen.factors

        # The problem is posed. ``base`` holds what no round changes.
        exposed = spec.exposed(source)
        rank = self._first_rank(data, saved, chosen, last)
        problem = spec.problem(source, scales, exposed, rank, *reg_factors, known=known)
        if saved is not None:
            problem.set_reg(saved.reg, saved.bias_reg)
        base = self._model_of(
            data, Factors.packed(problem.U, problem.V, rank), loss=self.loss, reg=problem.reg,
            bias_reg=problem.bias_reg, user_rule=user_rule, trust=spec.trust, cv_results=cv_results,
            interest=interest_of(exposed, data), posed=Posed.of(source, problem, exposed, known=known),
        )  # fmt: skip
        assembly = Assembly(base, source.store, exposed, known, gains, spec.n_threads)

        # The solver begins at the start, or where the checkpoint left it.
        grows = self._rank == "auto"
        solver = (Growing if grows else Newton)(problem, self.seed)
        history: list[dict[str, float]] = []
        if saved is None:
            self._start(problem, data, chosen, last)
        else:
            history = saved.resume(solver)
        tol = AUTO_TOL if grows and self.tol is None else self._usual_tol(source, exposed)
        if isinstance(solver, Newton):
            solver.tightening.tol = tol
        write = None
        if checkpoint is not None:
            write = partial(checkpoint.write, cv_results, calibration, kept(data, gains), solver)
        stop, assemble = Stop(tol, self.max_iter), partial(assembly.model, solver)
        fitted = yield from in_rounds(solver, stop, assemble, history=history, began=began, keep=write)
        yield Published(self._with_calibration(assembly.last(solver, fitted), data, calibration))

    def _trusted(self, comparisons: Comparisons) -> FloatArray:
        """Return each user's probability of answering deliberately, by a first fit that trusts all users equally."""
        if type(comparisons.source) is not Votes or comparisons.source.implied:
            raise InputError("trust goes with votes: of ratings and clicks there is no telling who gave them at random")
        quiet = {
            "trust": False, "verbose": False, "callback": None, "checkpoint": None, "warm_start": False,
            "on_interrupt": "raise",
        }  # fmt: skip
        first = type(self)(**{**self.get_params(), **quiet}).fit(comparisons)
        source, factors = plainly(comparisons.source), first.fitted.scorer
        effects, n_threads = first._effects_of(source), threads(self.n_threads)
        found = answering(source, factors.U, factors.V, factors.rank, n_threads, effects, coins=True)
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
            Newer comparisons of the same kind. They may have new users and items. A few new ratings or clicks may imply
            no comparison; read them with ``allow_empty=True``.
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
        return self._run("update", updated(copy(self), comparisons, old, item_features, user_features))

    def _settled(self) -> dict[str, Any]:
        fresh = {"checkpoint": None, "warm_start": False}
        return {**super()._settled(), **fresh, "rank": min(max(self.rank_, 1), MOST_RANK)}

    def _choice(self, spec: Spec, comparisons: Comparisons, last: FittedModel | None = None) -> Choice | None:
        """Return what held-out answers choose, or None.

        It is None if ``reg`` is a number, if the source has a fixed factor, or if too few answers can be held out.
        """
        most = comparisons.source.rank if self._rank in (None, "auto") else int(self._rank)
        if self._rank is None and last is not None:
            most = _rank_of(last)
        fixed = self._rank is not None or last is not None
        return choose_if_asked(spec, comparisons, most, fixed_rank=fixed, ties=self._models_ties(comparisons.source))

    def _first_rank(
        self, comparisons: Comparisons, saved: Saved | None, chosen: Choice | None, last: FittedModel | None
    ) -> int:
        """Return the rank of the first round: ``rank`` if it is a number, else that of the fit that this one continues.

        A fit that continues none has the chosen rank, the source's usual rank, or the first rank of a growing solver.
        """
        if self._rank not in (None, "auto"):
            return int(self._rank)
        if saved is not None:
            return saved.rank
        if last is not None:
            return _rank_of(last)
        most = FIRST_RANK if self._rank == "auto" else comparisons.source.rank if chosen is None else chosen.rank
        return min(most, comparisons.n_users, comparisons.n_items)

    def _start(
        self, problem: Problem, comparisons: Comparisons, chosen: Choice | None, last: FittedModel | None
    ) -> None:
        """Set the factors of the start.

        They come from the last fit, from the item vectors of the choice, or from the leading singular vectors.
        """
        if last is not None:
            _warm_start(problem, comparisons, last)
            start.grow(problem, self.seed)  # the last fit may have had a larger ridge, which left columns at zero
        elif chosen is not None and chosen.rank == problem.rank:
            start.from_items(problem, chosen.V, self.seed)
        else:
            start.spectral(problem, self.seed)

    def _usual_tol(self, source: Source, exposed: Exposure | None) -> float:
        """Return ``tol``, or where it is None the default of alternating rounds."""
        usual = source.tol if exposed is None else EXPOSED_TOL
        return usual if self.tol is None else float(self.tol)


def _rank_of(fitted: FittedModel) -> int:
    assert isinstance(fitted.scorer, Factors)
    return fitted.scorer.rank


def _warm_start(problem: Problem, comparisons: Comparisons, last: FittedModel) -> None:
    """Copy the factors of the last fit into the problem."""
    factors = last.scorer
    assert isinstance(factors, Factors)
    same = (
        np.array_equal(last.users.ids, comparisons.users)
        and np.array_equal(last.items.ids, comparisons.items)
        and factors.rank == problem.rank
    )
    if not same:
        raise InputError("warm_start needs the same users, items and rank as the last fit; fit a new model instead")
    problem.U[:, : problem.rank] = factors.user_factors
    problem.V[:] = factors.V
    if not problem.bias:
        problem.V[:, problem.rank] = 0
