"""Global: one ranking for everybody."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.rows import is_tied
from ..errors import one_of
from ..models.calibration import Calibration
from ..models.fitted import Fit, FittedModel, in_rounds
from ..models.newcomers import FoldInModel
from ..models.parameters import allowed, check_fit_params, check_shape
from ..models.scorers import Factors
from ..native import LOSSES, factor, threads
from ..solving.bradley_terry import MOST_STEPS, SETTLED, BradleyTerry
from ..solving.problem import Problem
from ..solving.reg import reg_scales
from ..solving.rounds import Record, Stop
from ..solving.scales import Scales, scales
from ..solving.smoothing import Tightening

REG_FACTOR = 1.5  # times the scale of the bias's ridge, for implied comparisons; chosen on held-out training ratings
# The ridge with which a loss shrinks scores as the ridge 1 does with the logistic loss. A hinge has half the margins.
RIDGES = {"logistic": 1.0, "hinge": 4.0, "squared_hinge": 8.0}


class Global(FoldInModel):
    """One score per item, the same for everybody.

    Minimises, over item scores b_j,

        sum_t w_t L(b_j - b_k) + 1/2 sum_j q_j b_j^2

    over all comparisons t = "user i would rather have j than k", whoever made them: the global ranking that Table 2 of
    Park et al. (2015) compares with, which is their Equation (3) with rank 1 and every u_i fixed to 1. With the
    logistic loss it is the penalised maximum-likelihood estimate of the Bradley-Terry model. A newcomer gets the same
    ranking as everybody.

    Parameters
    ----------
    reg : float, optional
        The ridges are q_j = reg (n_j / n)^item_power, where n_j counts the users who compared item j. None: of votes
        and menus, 1 / reg is the prior variance of scores in log-odds that has the largest marginal likelihood; more
        votes do not make it larger. Of ratings, rankings and clicks, a fixed factor times the typical absolute row sum
        of the gradient at zero. The value used is ``reg_``.
    loss : {"logistic", "squared_hinge", "hinge"}, optional
        None: "logistic" for votes, menus and arenas, "squared_hinge" for ratings, rankings and clicks. The value used
        is ``loss_``.
    item_power : float, optional
        None: 0 with the logistic loss of votes, which is one prior variance for all items; else 1/2.
    balance : float, optional
        All comparisons of a user are weighted by (their number)^-balance. None: as in :class:`AltSVM`.
    max_iter : int
        Newton steps at most.
    tol : float
        Stop once the Newton decrement, what a step has to gain, is at most this share of the objective. (A hinge, which
        is smoothed, comes to 3e-5 at best.) A logistic fit of votes then goes on to the optimum in double precision.
    n_threads : int, optional
        All cores by default; the result is the same with any number.
    seed : int
        Of the draws: the comparisons held out for the slope of probabilities, and intervals.
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called after every step with (model, record); returning True stops the fit.
    on_interrupt : {"keep", "raise"}
        What Ctrl-C does after the first round: end the fit with the rounds it has made, or then also raise.

    Attributes
    ----------
    item_bias_ : array of shape (n_items,)
        The scores.
    users_, items_
        See :class:`Estimator`.
    reg_ : float
    loss_ : str
    history_ : list of dict
        One record per step: round, seconds since the beginning, objective, gap.
    converged_, interrupted_ : bool

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

    def __init__(
        self,
        reg: float | None = None,
        loss: str | None = None,
        item_power: float | None = None,
        balance: float | None = None,
        max_iter: int = 50,
        tol: float = 1e-6,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
        callback: Callable[[Any, dict[str, float]], Any] | None = None,
        on_interrupt: str = "keep",
    ) -> None:
        self._store_params(locals())

    def _fit(self, data: Comparisons) -> Fit:
        votes, source = not data.source.implied, data.source
        loss = self.loss or ("logistic" if votes else "squared_hinge")
        one_of("loss", loss, LOSSES)
        power = self.item_power
        if power is None:
            power = 0.0 if votes and loss == "logistic" else 0.5
        check_shape(power, self.balance)
        check_fit_params(self)
        n_threads = threads(self.n_threads)
        began = time.perf_counter()
        store = data.store
        balance = source.balance if self.balance is None else self.balance
        scaled, rule = scales(store, user_power=0.0, item_power=power, balance=balance)
        summed = _summed(data, scaled) if votes and (self.reg is None or loss == "logistic") else None
        if self.reg is not None:
            reg = float(self.reg)
        elif summed is not None:
            likeliest = summed.likeliest_ridge(scaled.item_ridge.astype(np.float64))
            reg = allowed(RIDGES[loss] * summed.unit * likeliest)
        else:
            _, scale = reg_scales(store, loss=loss, scales=scaled, n_threads=n_threads)
            reg = float(REG_FACTOR * scale)
        stop, stalled = Stop(self.tol, self.max_iter), None
        solver: NewtonOnVotes | NewtonOnStore
        if summed is not None and loss == "logistic":
            ridge = reg / summed.unit * scaled.item_ridge.astype(np.float64)
            solver = NewtonOnVotes(summed, ridge, store.n_users, self.tol)
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


class NewtonOnVotes:
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
        """Return whether single precision allows no more: in three rounds neither objective nor gap got smaller."""
        last = history[self.tightening.steps :][-4:]
        return len(last) == 4 and all(
            min(record[name] for record in last[1:]) >= last[0][name] for name in ("objective", "gap")
        )


def _summed(comparisons: Comparisons, scaled: Scales) -> BradleyTerry:
    pairs = comparisons.pairs()
    weight = pairs.weights() * scaled.user_weight[pairs.user].astype(np.float64)
    return BradleyTerry(comparisons.n_items, pairs.winner, pairs.loser, weight, comparisons.source.answers())
