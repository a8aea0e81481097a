"""RobiRank: clicks as high in the list as can be, the hopeless ones forgiven (Yun et al., NIPS 2014)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..data.comparisons import Comparisons
from ..models.clicked import require_clicks
from ..models.parameters import (
    CALLBACK,
    DECAY,
    ON_INTERRUPT,
    RACING_THREADS,
    RANK,
    RIDGE,
    SEED,
    STEP,
    VERBOSE,
    WHOLE,
    Callback,
    Parameter,
    Params,
    accepts,
)
from ..native import core
from .stochastic import Stochastic, click_rows

CLICK_REG = Parameter(RIDGE, "Ridge of the rows of a click. Larger values shrink personal lists towards each other.")
CLICK_ROUNDS = Parameter(WHOLE, "Number of rounds. A round takes every click once, with users in random order.", "run")


@dataclass(frozen=True)
class RobiRankParams(Params):
    """The parameters of :class:`RobiRank`."""

    rank: int = RANK(64)
    reg: float = CLICK_REG(0.05)
    step: float = STEP(0.05)
    decay: float = DECAY(0.2)
    max_iter: int = CLICK_ROUNDS(60)
    n_threads: int | None = RACING_THREADS(None)
    seed: int = SEED(0)
    verbose: bool = VERBOSE(False)
    callback: Callback | None = CALLBACK(None)
    on_interrupt: str = ON_INTERRUPT("keep")


class RobiRank(Stochastic):
    """Personal rankings from clicks, by stochastic gradient steps on a robust bound of the rank of each click.

    Minimises, over user vectors u_i and item vectors v_j, the objective of latent collaborative retrieval (Section 5 of
    the paper) with a ridge,

        1/n sum_e log2(1 + T_e) + reg/2 (|u_i|^2 + |v_j|^2),   T_e = sum_{k != j} log2(1 + e^(s_ik - s_ij))

    over the n clicks e of user i on item j, with s_ij = u_i . v_j (in the paper 2 takes the place of e, which only
    scales s). T_e bounds the number of items ranked above j, and the logarithm grows so slowly that a click far down
    the list is given up rather than paid for by all others.

    By log t <= xi t - log xi - 1 the outer logarithm is linear in T_e once xi_e = 1 / (1 + T_e) is set; then the inner
    sum is sampled, one item k a click. Where the paper sets all xi between passes and draws k uniformly, here a user's
    scores are computed when their turn comes: xi is fresh and k is drawn in proportion to its part in the gradient,
    without which the steps of well-placed clicks are thousands of times too long once in thousands of times.

    Parameters
    ----------
    rank : int, default 64
        Number of taste dimensions, the length of the vectors of users and items. A higher rank captures more tastes,
        and needs more answers and more time.
    reg : float, default 0.05
        Ridge of the rows of a click. Larger values shrink personal lists towards each other.
    step : float, default 0.05
        Length of the first steps. Make it smaller if the objective rises or overflows, and larger if it hardly falls.
    decay : float, default 0.2
        Decay of the steps: in round t they have the length step / (1 + decay t). 0: all rounds take equal steps.
    max_iter : int, default 60
        Number of rounds. A round takes every click once, with users in random order.
    n_threads : int or None, default None
        Number of threads. None: as many as the process may keep busy. With more than one the steps race without locks,
        and results vary from run to run; give 1 to reproduce a fit.
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

    Attributes
    ----------
    user_factors_, item_factors_, users_, items_
        See :class:`FactorEstimator` and :class:`Estimator`.
    history_ : list of dict
        One record per round: round, seconds since the beginning, objective (each click's part when it is its turn), and
        gap, its relative change.
    interrupted_ : bool
        Whether Ctrl-C ended the fit early.

    References
    ----------
    H. Yun, P. Raman, S. V. N. Vishwanathan: Ranking via Robust Binary Classification. NIPS 2014.

    Examples
    --------
    >>> import rather
    >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
    >>> model = rather.RobiRank(rank=2, n_threads=1).fit(rather.Comparisons.from_clicks(clicks))
    >>> model.recommend("cat", k=1, exclude="seen")["item"].tolist()
    ['milk']
    """

    tol = 0.0  # a round that samples its objective too can only seem to change nothing
    params: RobiRankParams

    @accepts(RobiRankParams)
    def __init__(self, params: RobiRankParams) -> None:
        self.params = params

    def _begin(self, comparisons: Comparisons) -> Callable[[], float]:
        clicks = require_clicks(comparisons, "RobiRank")
        self._start(comparisons, bias=False)
        rows, n = click_rows(clicks, comparisons), len(clicks.user)
        users = np.bincount(clicks.user, minlength=comparisons.n_users) * (self.reg / n)
        items = np.bincount(clicks.item, minlength=comparisons.n_items) * (self.reg / n)
        p, q = (np.full(m, self.reg, np.float32) for m in (comparisons.n_users, comparisons.n_items))
        rng = np.random.default_rng(self.seed)

        def make_round() -> float:
            order = rng.permutation(comparisons.n_users).astype(np.int32)
            return float(core.robirank_pass(rows, order, self._pass(p, q, n))) + self._ridge(users, items)

        return make_round
