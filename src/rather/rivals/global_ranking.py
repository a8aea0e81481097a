"""Global: one ranking for everybody."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..data.comparisons import Comparisons
from ..errors import one_of
from ..models.estimator import Estimator
from ..models.newcomers import FoldInModel
from ..models.parameters import check_fit_params, check_shape
from ..models.rounds import run_rounds
from ..native import LOSSES, threads
from ..solving.problem import Problem
from ..solving.reg import reg_scales
from ..solving.scales import scales
from ..solving.smoothing import Tightening

REG_FACTOR = 1.5  # times the scale of the bias's ridge; chosen on training ratings, most of which were held out


class Global(Estimator, FoldInModel):
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
        The ridges are q_j = reg (n_j / n)^item_power, where n_j counts the users who compared item j. None: a fixed
        factor times the typical absolute row sum of the gradient at zero. The value used is ``reg_``.
    loss : {"squared_hinge", "hinge", "logistic"}
    item_power : float
    balance : float, optional
        All comparisons of a user are weighted by (their number)^-balance. None: as in :class:`AltSVM`.
    max_iter : int
        Newton steps at most.
    tol : float
        Stop once the Newton decrement, what a step has to gain, is at most this share of the objective. (A hinge, which
        is smoothed, comes to 3e-5 at best.)
    n_threads : int, optional
        All cores by default; the result is the same with any number.
    seed : int
        Of the comparisons put aside for the slope of probabilities.
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
        See :class:`Model`.
    reg_ : float
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
    >>> model = rather.Global(loss="logistic").fit(rather.Comparisons.from_frame(votes))
    >>> [row.item for row in model.rank("cat")]
    ['A', 'B', 'C']
    """

    def __init__(
        self,
        reg: float | None = None,
        loss: str = "squared_hinge",
        item_power: float = 0.5,
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

    def _fit(self, comparisons: Comparisons) -> bool:
        one_of("loss", self.loss, LOSSES)
        check_shape(self.item_power, self.balance)
        check_fit_params(self)
        n_threads = threads(self.n_threads)
        began = time.perf_counter()
        store = comparisons.store
        balance = comparisons.source.balance if self.balance is None else self.balance
        scaled, self.user_rule_ = scales(store, user_power=0.0, item_power=self.item_power, balance=balance)
        self.reg_ = self.reg
        if self.reg_ is None:
            _, scale = reg_scales(store, loss=self.loss, scales=scaled, n_threads=n_threads)
            self.reg_ = REG_FACTOR * scale
        self.reg_ = float(self.reg_)
        problem = Problem(store, rank=0, loss=self.loss, bias=True, scales=scaled, n_threads=n_threads)
        problem.set_reg(1.0, self.reg_)
        problem.evaluate()
        self.loss_ = self.loss
        self._set_data(comparisons)
        self._set_factors(problem.U, problem.V, 0)
        tightening = Tightening(problem, self.tol)

        def step() -> dict[str, float]:
            tightening.before_round(problem)
            gain = problem.item_step(cg_steps=50, cg_tol=0.01)
            return tightening.after_round(problem, len(self.history_) + 1, gain)

        return run_rounds(self, step, began, tol=self.tol)
