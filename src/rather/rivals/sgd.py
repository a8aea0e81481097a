"""SGD: plain stochastic gradient descent on the objective of AltSVM (Park et al., ICML 2015, appendix)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.comparisons import Comparisons
from ..models.certified import Certified
from ..models.newcomers import FoldInModel
from ..models.parameters import (
    CALLBACK,
    DECAY,
    GAP,
    LOSS,
    ON_INTERRUPT,
    RACING_THREADS,
    RANK,
    RIDGE_OR_RULE,
    SEED,
    STEP,
    VERBOSE,
    WHOLE,
    Callback,
    Parameter,
    Params,
    accepts,
)
from ..models.posed import Posed
from ..models.scorers import Factors
from ..native import core, threads
from ..solving import start
from ..solving.problem import Problem
from ..solving.reg import reg_scales
from ..solving.scales import scales
from .stochastic import Steps, Stochastic, at_least_a_round, counts

REG_FACTOR = 2.0  # held-out training ratings of MovieLens 1M, 20 to 100 a user, prefer it to 1.7 and 2.5

SGD_REG = Parameter(
    RIDGE_OR_RULE, "Ridge of all user and item vectors. None: twice the scale of the data. The value used is ``reg_``."
)
SGD_ROUNDS = Parameter(
    WHOLE,
    "Largest number of rounds. A round makes a step for every comparison, and at least 50 for every user and item.",
    "run",
)
CHANGE = Parameter(GAP, "Relative change of the objective in a round at which the fit stops.", "run")


@dataclass(frozen=True)
class SGDParams(Params):
    """The parameters of :class:`SGD`."""

    rank: int = RANK(64)
    reg: float | None = SGD_REG(None)
    loss: str = LOSS("squared_hinge")
    step: float = STEP(0.1)
    decay: float = DECAY(3.0)
    max_iter: int = SGD_ROUNDS(20)
    tol: float = CHANGE(1e-3)
    n_threads: int | None = RACING_THREADS(None)
    seed: int = SEED(0)
    verbose: bool = VERBOSE(False)
    callback: Callback | None = CALLBACK(None)
    on_interrupt: str = ON_INTERRUPT("keep")


class SGD(Stochastic, Certified, FoldInModel):
    r"""Learn personal rankings by plain stochastic gradient descent.

    The objective is that of Park et al. (2015), without biases. It is a baseline: use :class:`AltSVM`, which converges.

    Parameters
    ----------
    rank : int, default 64
        Number of taste dimensions, the length of the vectors of users and items. A higher rank captures more tastes,
        and needs more answers and more time.
    reg : float or None, default None
        Ridge of all user and item vectors. None: twice the scale of the data. The value used is ``reg_``.
    loss : {"squared_hinge", "hinge", "logistic"}, default "squared_hinge"
        Penalty of a comparison whose winner leads by the margin x. It is max(0, 1-x)^2 for "squared_hinge", max(0, 1-x)
        for "hinge" and log(1+e^-x) for "logistic". Choose "logistic" for scores in log-odds.
    step : float, default 0.1
        Length of the first steps. Make it smaller if the objective rises or overflows, and larger if it hardly falls.
    decay : float, default 3.0
        Decay of the steps: in round t they have the length step / (1 + decay t). 0: all rounds take equal steps.
    max_iter : int, default 20
        Largest number of rounds. A round makes a step for every comparison, and at least 50 for every user and item.
    tol : float, default 0.001
        Relative change of the objective in a round at which the fit stops.
    n_threads : int or None, default None
        Number of threads. None: as many as the process may keep busy. With more than one the steps race without locks,
        and results vary from run to run; give 1 to reproduce a fit.
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

    params: SGDParams

    @accepts(SGDParams)
    def __init__(self, params: SGDParams) -> None:
        self.params = params

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
