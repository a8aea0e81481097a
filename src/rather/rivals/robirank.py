"""RobiRank: a robust ranking loss for clicks (Yun et al., NIPS 2014)."""

from __future__ import annotations

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
from .stochastic import Steps, Stochastic, click_rows, ridge

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
    r"""Learn personal rankings from clicks, by a robust bound on their places.

    This is RobiRank (Yun et al., 2014) with a ridge. It is a baseline: use :class:`ClickRanker`.

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
    history_ : list of dict
        One record for each round: round, seconds, objective (each click's part at its turn) and gap, its relative
        change.
    interrupted_ : bool
        Whether Ctrl-C ended the fit.

    See Also
    --------
    ClickRanker : Learn a personal ranking for every user from clicks.

    Notes
    -----
    The fit minimises over user vectors and item vectors

    .. math::

        \frac1n \sum_e \log_2(1 + T_e) + \tfrac{\text{reg}}{2} (\|u_i\|^2 + \|v_j\|^2),
        \quad T_e = \sum_{k \ne j} \log_2(1 + e^{s_{ik} - s_{ij}}), \quad s_{ij} = u_i \cdot v_j,

    over the n clicks e of user i on item j. T bounds the number of items ranked above the click. The outer logarithm
    grows so slowly that a click far down the list is given up.

    The outer logarithm is linear in T once :math:`\xi_e = 1 / (1 + T_e)` is set, and the inner sum is sampled with one
    item k for each click. The paper sets all :math:`\xi_e` between passes and draws k uniformly. Here a user's scores
    are computed at the user's turn, so :math:`\xi_e` is up to date, and k is drawn in proportion to its part of the
    gradient. Uniform draws would make rare steps thousands of times too long.

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

    def _begin(self, comparisons: Comparisons) -> Steps:
        clicks, factors = require_clicks(comparisons, "RobiRank"), self._start(comparisons, bias=False)
        rows, n = click_rows(clicks, comparisons), len(clicks.user)
        users = np.bincount(clicks.user, minlength=comparisons.n_users) * (self.reg / n)
        items = np.bincount(clicks.item, minlength=comparisons.n_items) * (self.reg / n)
        p, q = (np.full(m, self.reg, np.float32) for m in (comparisons.n_users, comparisons.n_items))
        rng = np.random.default_rng(self.seed)

        def descend(done: int) -> float:
            order = rng.permutation(comparisons.n_users).astype(np.int32)
            loss = float(core.robirank_pass(rows, order, self._pass(factors, p, q, n, done)))
            return loss + ridge(factors, users, items)

        return Steps(factors, descend)
