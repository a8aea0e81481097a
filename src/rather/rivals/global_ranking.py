"""Global: one ranking for all users."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.rows import is_tied
from ..errors import Domain
from ..models.calibration import Calibration
from ..models.fitted import Fit, FittedModel, in_rounds
from ..models.newcomers import FoldInModel
from ..models.parameters import (
    BALANCE,
    CALLBACK,
    GAP,
    N_THREADS,
    ON_INTERRUPT,
    RIDGE_OR_RULE,
    SEED,
    VERBOSE,
    WHOLE,
    Callback,
    Parameter,
    Params,
    accepts,
    allowed,
)
from ..models.scorers import Factors
from ..models.summary import unconverged
from ..native import factor, threads
from ..solving.bradley_terry import MOST_STEPS, SETTLED, BradleyTerry
from ..solving.problem import Problem
from ..solving.reg import reg_scales
from ..solving.rounds import Record, Stop
from ..solving.scales import Scales, scales
from ..solving.smoothing import Tightening

REG_FACTOR = 1.5  # times the scale of the bias's ridge, for implied comparisons; chosen on held-out training ratings
# The ridge with which a loss shrinks scores as the ridge 1 does with the logistic loss. A hinge has half the margins.
RIDGES = {"logistic": 1.0, "hinge": 4.0, "squared_hinge": 8.0}
MOST_IMPLIED = 2**23  # comparisons that are written down, so that a logistic fit is in double precision

GLOBAL_REG = Parameter(
    RIDGE_OR_RULE,
    "Ridge of the scores. None: for votes and menus 1 / reg is the prior variance of the log-odds with the largest "
    "marginal likelihood; else a fixed factor of the data's scale. A larger ridge moves items with few answers "
    "towards the middle. The value used is ``reg_``.",
)
GLOBAL_LOSS = Parameter(
    Domain(words=("logistic", "squared_hinge", "hinge"), none=True),
    'Penalty of a comparison, by its margin. None: "logistic" for votes, menus and arenas, which makes it the '
    'Bradley-Terry model; "squared_hinge" for ratings, rankings and clicks. The value used is ``loss_``.',
)
GLOBAL_POWER = Parameter(
    Domain(float, at_least=0, at_most=2, none=True),
    "Growth of an item's ridge with the number n of users who compared it, as n to this power. None: 0 for votes with "
    "the logistic loss, which is one prior variance for all items; else 0.5.",
)
NEWTON_STEPS = Parameter(WHOLE, "Largest number of Newton steps.", "run")
GLOBAL_TOL = Parameter(
    GAP,
    "Gap at which the fit stops: the gain that a step can still expect, relative to the objective. A hinge, which is "
    "smoothed, reaches 3e-5 at best. A logistic fit then continues to the optimum in double precision, unless ratings, "
    "rankings or clicks imply more than eight million comparisons. Other fits end where single precision gains no "
    "more: ``converged_`` is then False, and the last ``gap`` in ``history_`` is what was reached.",
    "run",
)


@dataclass(frozen=True)
class GlobalParams(Params):
    """The parameters of :class:`Global`."""

    reg: float | None = GLOBAL_REG(None)
    loss: str | None = GLOBAL_LOSS(None)
    item_power: float | None = GLOBAL_POWER(None)
    balance: float | None = BALANCE(None)
    max_iter: int = NEWTON_STEPS(50)
    tol: float = GLOBAL_TOL(1e-6)
    n_threads: int | None = N_THREADS(None)
    seed: int = SEED(0)
    verbose: bool = VERBOSE(False)
    callback: Callback | None = CALLBACK(None)
    on_interrupt: str = ON_INTERRUPT("keep")


class Global(FoldInModel):
    r"""Learn one ranking for all users, from comparisons.

    Every item gets one score. For votes this is the Bradley-Terry model, with a prior variance that the data choose.
    New users get the same ranking.

    Use it where all users should see one leaderboard, and as the baseline that a personal ranking must beat. Use
    :class:`AltSVM` for personal rankings.

    Parameters
    ----------
    reg : float or None, default None
        Ridge of the scores. None: for votes and menus 1 / reg is the prior variance of the log-odds with the largest
        marginal likelihood; else a fixed factor of the data's scale. A larger ridge moves items with few answers
        towards the middle. The value used is ``reg_``.
    loss : {"logistic", "squared_hinge", "hinge"} or None, default None
        Penalty of a comparison, by its margin. None: "logistic" for votes, menus and arenas, which makes it the
        Bradley-Terry model; "squared_hinge" for ratings, rankings and clicks. The value used is ``loss_``.
    item_power : float or None, default None
        Growth of an item's ridge with the number n of users who compared it, as n to this power. None: 0 for votes with
        the logistic loss, which is one prior variance for all items; else 0.5.
    balance : float or None, default None
        Exponent of the weights: each comparison of a user with N comparisons has the weight N^-balance. 0: all
        comparisons count equally. 1: all users count equally. None: 0 for votes, and 0.5 for ratings, rankings and
        clicks. A user's n ratings imply about n^2 / 2 pairs, but not as many independent answers.
    max_iter : int, default 50
        Largest number of Newton steps.
    tol : float, default 1e-06
        Gap at which the fit stops: the gain that a step can still expect, relative to the objective. A hinge, which is
        smoothed, reaches 3e-5 at best. A logistic fit then continues to the optimum in double precision, unless
        ratings, rankings or clicks imply more than eight million comparisons. Other fits end where single precision
        gains no more: ``converged_`` is then False, and the last ``gap`` in ``history_`` is what was reached.
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
    item_bias_ : array of shape (n_items,)
        Scores of the items.
    reg_ : float
        Regularisation used.
    loss_ : str
        Loss used.
    history_ : list of dict
        One record for each step: round, seconds, objective, gap.
    converged_ : bool
        Whether the last gap was within ``tol``.
    interrupted_ : bool
        Whether Ctrl-C ended the fit.

    See Also
    --------
    AltSVM : Learn a personal ranking for every user.
    plot.leaderboard : Draw the ranking with its ranges of places.

    Notes
    -----
    The fit minimises over item scores

    .. math:: \sum_t w_t L(b_j - b_k) + \tfrac12 \sum_j q_j b_j^2

    over all comparisons t of item j, preferred to item k, whoever made them. The ridge of an item is

    .. math:: q_j = \text{reg}\, (n_j / n)^{\mathrm{item\_power}} ,

    where :math:`n_j` users compared the item. Table 2 of Park et al. (2015) compares with this ranking.

    References
    ----------
    D. Park, J. Neeman, J. Zhang, S. Sanghavi, I. Dhillon: Preference Completion: Large-scale Collaborative Ranking from
    Pairwise Comparisons. ICML 2015 (Section 5.2).

    R. A. Bradley, M. E. Terry: Rank analysis of incomplete block designs. Biometrika 39, 1952.

    Examples
    --------
    >>> import rather
    >>> votes = {"user": ["ann", "bob", "cat"], "winner": ["A", "A", "B"], "loser": ["B", "C", "C"]}
    >>> model = rather.Global().fit(rather.Comparisons.from_frame(votes))
    >>> [row.item for row in model.rank("cat")]
    ['A', 'B', 'C']
    """

    params: GlobalParams

    @accepts(GlobalParams)
    def __init__(self, params: GlobalParams) -> None:
        self.params = params

    def _fit(self, data: Comparisons) -> Fit:
        votes, source, loss = not data.source.implied, data.source, self._loss_for(data)
        power = self.item_power
        if power is None:
            power = 0.0 if votes and loss == "logistic" else 0.5
        n_threads = threads(self.n_threads)
        began = time.perf_counter()
        store = data.store
        balance = source.balance if self.balance is None else self.balance
        scaled, rule = scales(store, user_power=0.0, item_power=power, balance=balance)
        exact = loss == "logistic" and (votes or len(data) <= MOST_IMPLIED)
        summed = _summed(data, scaled) if exact or (votes and self.reg is None) else None
        if self.reg is not None:
            reg = float(self.reg)
        elif votes and summed is not None:
            likeliest = summed.likeliest_ridge(scaled.item_ridge.astype(np.float64))
            reg = allowed(RIDGES[loss] * summed.unit * likeliest)
        else:
            _, scale = reg_scales(store, loss=loss, scales=scaled, n_threads=n_threads)
            reg = float(REG_FACTOR * scale)
        stop, stalled = Stop(self.tol, self.max_iter), None
        solver: NewtonOnPairs | NewtonOnStore
        if exact and summed is not None:
            ridge = reg / summed.unit * scaled.item_ridge.astype(np.float64)
            solver = NewtonOnPairs(summed, ridge, store.n_users, self.tol)
        else:
            problem = Problem(store, rank=0, loss=loss, bias=True, scales=scaled, n_threads=n_threads)
            problem.set_reg(1.0, reg)
            problem.evaluate()
            solver = NewtonOnStore(problem, self.tol)
            stalled = solver.stalled
        base = self._model_of(data, solver.factors, loss=loss, reg=reg, user_rule=rule)

        def assemble() -> FittedModel:
            return replace(base, scorer=solver.factors.copied(n_threads))

        yield from in_rounds(solver, stop, assemble, began=began, stalled=stalled)

    def _facts(self) -> list[str]:
        fitted = self.fitted
        own = fitted.training
        likeliest = fitted.params.get("reg") is None and own is not None and not own.implied
        return [*(["chosen by marginal likelihood"] if likeliest else []), *unconverged(fitted)]

    def _loss_for(self, comparisons: Comparisons) -> str:
        return self.loss or ("squared_hinge" if comparisons.source.implied else "logistic")

    # -- how sure it is -----------------------------------------------------------------------------------------

    def _states_log_odds(self, comparisons: Comparisons) -> bool:
        """Return whether scores are log-odds: the evidence chose the ridge, and every answer is about one pair."""
        given = (self.fitted.params.get(name) for name in ("reg", "item_power", "balance"))
        if comparisons.implied or self.loss_ != "logistic" or any(value is not None for value in given):
            return False
        pairs = comparisons.pairs()
        return len(pairs.user) - int(is_tied(pairs).sum()) // 2 == comparisons.source.answers()

    def _found_calibration(self, comparisons: Comparisons) -> Calibration:
        """Return what held-out answers say; scores that are log-odds keep the slope 1."""
        found = super()._found_calibration(comparisons)
        return replace(found, slope=1.0, answers=0.0, unmet=0.0) if self._states_log_odds(comparisons) else found

    def _prior_variance(self, comparisons: Comparisons) -> float | None:
        """Return the prior variance that the fit chose, where scores are log-odds."""
        if not self._states_log_odds(comparisons):
            return None
        return float(comparisons.pairs().weights().sum() / comparisons.source.answers() / self.reg_)


class NewtonOnPairs:
    """The logistic fit: rounds of one Newton step, and once ``tol`` is reached all that are left."""

    def __init__(self, summed: BradleyTerry, ridge: Any, n_users: int, tol: float) -> None:
        self.summed, self.ridge, self.tol = summed, ridge, tol
        summed.b[:] = 0.0  # so that a ridge gives the bits it gives where it was named
        self.factors = Factors.packed(factor(n_users, 1), factor(len(summed.b), 1), 0)
        self.factors.U[:, 0] = 1.0

    def round(self) -> Record:
        for _ in range(MOST_STEPS):
            gain, moved, objective = self.summed.step(self.ridge)
            gap = 0.0 if moved <= SETTLED or objective <= 0 else gain / objective
            if gap == 0 or gap > self.tol:
                break
        self.factors.V[:, 0] = self.summed.b
        return {"objective": objective * self.summed.unit, "gap": gap}


class NewtonOnStore:
    """The other fits: rounds of one Newton step on all items, in the core."""

    def __init__(self, problem: Problem, tol: float) -> None:
        self.problem, self.tightening, self.rounds_done = problem, Tightening(problem, tol), 0
        self.factors = Factors.packed(problem.U, problem.V, 0)

    def round(self) -> Record:
        self.tightening.before_round(self.problem)
        gain = self.problem.item_step(cg_steps=50, cg_tol=0.01)
        self.rounds_done += 1
        return self.tightening.after_round(self.problem, self.rounds_done, gain)

    def stalled(self, history: list[Record]) -> bool:
        """Return whether single precision allows no more."""
        return self.tightening.stalled(self.problem)


def _summed(comparisons: Comparisons, scaled: Scales) -> BradleyTerry:
    pairs = comparisons.pairs()
    weight = pairs.weights() * scaled.user_weight[pairs.user].astype(np.float64)
    return BradleyTerry(comparisons.n_items, pairs.winner, pairs.loser, weight, comparisons.source.answers())
