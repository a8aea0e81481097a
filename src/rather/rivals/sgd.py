"""SGD: plain stochastic gradient descent on the objective of AltSVM (Park et al., ICML 2015, appendix)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..errors import one_of
from ..models.certified import Certified
from ..models.newcomers import FoldInModel
from ..native import LOSSES, core, threads
from ..solving import start
from ..solving.problem import Problem
from ..solving.reg import reg_scales
from ..solving.scales import scales
from .stochastic import Stochastic, at_least_a_round, counts

REG_FACTOR = 2.0  # held-out training ratings of MovieLens 1M, 20 to 100 a user, prefer it to 1.7 and 2.5


class SGD(Stochastic, Certified, FoldInModel):
    r"""Learn personal rankings by plain stochastic gradient descent.

    The objective is that of Park et al. (2015), without biases. It is a baseline: use :class:`AltSVM`, which converges.

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
    users_, items_ : array of id
        Ids of the users and items.
    user_factors_ : array of shape (n_users, rank)
        Vectors of the users.
    item_factors_ : array of shape (n_items, rank)
        Vectors of the items.
    reg_ : float
        Regularisation used.
    history_ : list of dict
        One record for each round: round, seconds, objective and gap, its relative change.
    converged_ : bool
        Whether the last gap was within ``tol``.
    interrupted_ : bool
        Whether Ctrl-C ended the fit.

    See Also
    --------
    AltSVM : Learn a personal ranking for every user from comparisons.
    PaperAltSVM : Minimise the same objective by the paper's algorithm.

    Notes
    -----
    The fit minimises over user vectors and item vectors

    .. math::

        \sum_t w_t L(u_i \cdot (v_j - v_k)) + \tfrac{\text{reg}}{2} \left(\sum_i \|u_i\|^2 + \sum_j \|v_j\|^2\right) .

    Comparisons t are drawn uniformly with replacement. With the slope :math:`g = w_t L'(u_i \cdot (v_j - v_k))`, a step
    is

    .. math::

        u_i &\leftarrow u_i - \eta \left(g (v_j - v_k) + \tfrac{\text{reg}}{n_i} u_i\right) \\
        v_j &\leftarrow v_j - \eta \left(g u_i + \tfrac{\text{reg}}{n_j} v_j\right) \\
        v_k &\leftarrow v_k - \eta \left(-g u_i + \tfrac{\text{reg}}{n_k} v_k\right),

    where n counts the comparisons of a user or an item, and :math:`\eta = \text{step} / (1 + \text{decay}\, t)` after t
    passes. The paper's third line updates the wrong vector. The ridge's share is taken at the end of a step, which is
    stable for small n.

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

    def _begin(self, comparisons: Comparisons) -> Callable[[], float]:
        store, n_threads, rank = comparisons.store, threads(self.n_threads), int(self.get_params()["rank"])
        scaled, self.user_rule_ = scales(store, user_power=0.0, item_power=0.0, balance=0.0)
        problem = Problem(store, rank=rank, loss=self.loss, bias=False, scales=scaled, n_threads=n_threads)
        self.loss_ = self.loss
        self.reg_ = REG_FACTOR * reg_scales(store, loss=self.loss, scales=scaled, n_threads=n_threads)[0]
        if self.reg is not None:
            self.reg_ = float(self.reg)
        problem.set_reg(self.reg_, 1.0)
        start.uniform(problem, self.seed)
        self._set_factors(problem.U, problem.V, rank)
        p, q = (np.asarray(self.reg_ / np.maximum(n, 1), np.float32) for n in counts(comparisons))
        self._pose(comparisons.source, problem)
        updates = at_least_a_round(comparisons, len(comparisons))

        def make_round() -> float:
            core.descend_comparisons(store, problem.loss, scaled.user_weight, self._pass(p, q, updates))
            problem.refresh()
            return problem.objective()

        return make_round

    def _check_params(self) -> None:
        super()._check_params()
        one_of("loss", self.loss, LOSSES)
