"""SGD: plain stochastic gradient descent on the objective of AltSVM (Park et al., ICML 2015, appendix)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..errors import one_of
from ..models.certified import Certified
from ..models.newcomers import FoldInModel
from ..models.posed import Posed
from ..models.scorers import Factors
from ..native import LOSSES, core, threads
from ..solving import start
from ..solving.problem import Problem
from ..solving.reg import reg_scales
from ..solving.scales import scales
from .stochastic import Steps, Stochastic, at_least_a_round, counts

REG_FACTOR = 2.0  # held-out training ratings of MovieLens 1M, 20 to 100 a user, prefer it to 1.7 and 2.5


class SGD(Stochastic, Certified, FoldInModel):
    """Low-rank personal rankings from comparisons, by stochastic gradient descent.

    Minimises the paper's objective (3) over user vectors u_i and item vectors v_j,

        sum_t w_t L(u_i . (v_j - v_k)) + reg/2 (sum_i |u_i|^2 + sum_j |v_j|^2)

    over all comparisons t = "user i would rather have j than k", by drawing comparisons uniformly with replacement. A
    step with slope g = w_t L'(u_i . (v_j - v_k)) is

        u_i <- u_i - eta (g (v_j - v_k) + reg/n_i u_i)      v_j <- v_j - eta (g u_i + reg/n_j v_j)
        v_k <- v_k - eta (-g u_i + reg/n_k v_k)             eta = step / (1 + decay t)

    where n counts the comparisons a user or an item takes part in, so that the shares of the ridge add up to it, and
    t the passes over the comparisons. The ridge's share is taken at the end of the step, which keeps it stable where n
    is small. The paper's third line, which updates v_j, is a slip.

    Parameters
    ----------
    rank : int
        Length of the vectors.
    reg : float, optional
        None: twice the scale of the data, see :class:`rather.AltSVM`. The value used is ``reg_``.
    loss : {"squared_hinge", "hinge", "logistic"}
        max(0, 1 - x)^2, max(0, 1 - x) or log(1 + e^-x).
    step, decay : float
        Length of the steps and how it falls, eta = step / (1 + decay t).
    max_iter : int
        Rounds at most. Each makes a step for every comparison, or 50 for every user and item if that is more.
    tol : float
        Stop once a round changes the objective by no more than this, relatively.
    n_threads : int, optional
        All cores by default. With more than one the steps race without locks, and results vary from run to run.
    seed : int
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called after every round with (model, record); returning True stops the fit.
    on_interrupt : {"keep", "raise"}
        What Ctrl-C does after the first round: end the fit with the rounds it has made, or then also raise.

    Attributes
    ----------
    user_factors_, item_factors_, users_, items_
        See :class:`FactorEstimator` and :class:`Estimator`.
    reg_ : float
    history_ : list of dict
        One record per round: round, seconds since the beginning, objective, and gap, its relative change.
    converged_, interrupted_ : bool
        Whether the last gap was within ``tol``; whether Ctrl-C ended the fit early.

    References
    ----------
    D. Park, J. Neeman, J. Zhang, S. Sanghavi, I. Dhillon: Preference Completion: Large-scale Collaborative Ranking from
    Pairwise Comparisons. ICML 2015. — F. Niu, B. Recht, C. Ré, S. Wright: Hogwild! A Lock-Free Approach to
    Parallelizing Stochastic Gradient Descent. NIPS 2011.

    Examples
    --------
    >>> import rather
    >>> world = rather.simulate(n_users=100, n_items=30, rank=2, per_user=40, seed=0)
    >>> model = rather.SGD(rank=4, n_threads=1).fit(world.comparisons)
    >>> model.recommend("user 7", k=3)["item"].tolist() == model.rank("user 7")["item"][:3].tolist()
    True
    """

    def __init__(
        self,
        rank: int = 64,
        reg: float | None = None,
        loss: str = "squared_hinge",
        step: float = 0.1,
        decay: float = 3.0,
        max_iter: int = 20,
        tol: float = 1e-3,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
        callback: Callable[[Any, dict[str, float]], Any] | None = None,
        on_interrupt: str = "keep",
    ) -> None:
        self._store_params(locals())

    def _begin(self, comparisons: Comparisons) -> Steps:
        store, n_threads, rank = comparisons.store, threads(self.n_threads), int(self.get_params()["rank"])
        scaled, rule = scales(store, user_power=0.0, item_power=0.0, balance=0.0)
        problem = Problem(store, rank=rank, loss=self.loss, bias=False, scales=scaled, n_threads=n_threads)
        reg = REG_FACTOR * reg_scales(store, loss=self.loss, scales=scaled, n_threads=n_threads)[0]
        if self.reg is not None:
            reg = float(self.reg)
        problem.set_reg(reg, 1.0)
        start.uniform(problem, self.seed)
        factors = Factors.packed(problem.U, problem.V, rank)
        p, q = (np.asarray(reg / np.maximum(n, 1), np.float32) for n in counts(comparisons))
        updates = at_least_a_round(comparisons, len(comparisons))

        def descend(done: int) -> float:
            steps = self._pass(factors, p, q, updates, done)
            core.descend_comparisons(store, problem.loss, scaled.user_weight, steps)
            problem.refresh()
            return problem.objective()

        posed = Posed.of(comparisons.source, problem)
        return Steps(factors, descend, loss=self.loss, reg=reg, user_rule=rule, posed=posed)

    def _check_params(self) -> None:
        super()._check_params()
        one_of("loss", self.loss, LOSSES)
