"""BPR: Bayesian personalised ranking of comparisons or clicks (Rendle et al., UAI 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.rows import Clicks
from ..models.newcomers import FoldInModel
from ..models.parameters import (
    CALLBACK,
    DECAY,
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
from ..native import LOSSES, core
from ..solving.scales import UserRule
from .stochastic import Steps, Stochastic, at_least_a_round, click_rows, counts, ridge

BPR_REG = Parameter(
    RIDGE_OR_RULE,
    "Ridge of the rows that a step touches. None: 0.01 for clicks, and 0.08 for other comparisons, which contain more "
    "answers about fewer items. The value used is ``reg_``.",
)
BPR_ROUNDS = Parameter(
    WHOLE,
    "Number of rounds. A round makes a step for every click, or for every item that each user compared, and at least "
    "50 for every user and item.",
    "run",
)


@dataclass(frozen=True)
class BPRParams(Params):
    """The parameters of :class:`BPR`."""

    rank: int = RANK(64)
    reg: float | None = BPR_REG(None)
    step: float = STEP(0.05)
    decay: float = DECAY(0.05)
    max_iter: int = BPR_ROUNDS(100)
    n_threads: int | None = RACING_THREADS(None)
    seed: int = SEED(0)
    verbose: bool = VERBOSE(False)
    callback: Callback | None = CALLBACK(None)
    on_interrupt: str = ON_INTERRUPT("keep")


class BPR(Stochastic, FoldInModel):
    r"""Learn personal rankings by stochastic gradient steps on the logistic loss.

    This is Bayesian personalised ranking (Rendle et al., 2009), for comparisons or clicks. It is a baseline: use
    :class:`AltSVM` for comparisons and :class:`ClickRanker` for clicks.

    Parameters
    ----------
    rank : int, default 64
        Number of taste dimensions, the length of the vectors of users and items. A higher rank captures more tastes,
        and needs more answers and more time.
    reg : float or None, default None
        Ridge of the rows that a step touches. None: 0.01 for clicks, and 0.08 for other comparisons, which contain more
        answers about fewer items. The value used is ``reg_``.
    step : float, default 0.05
        Length of the first steps. Make it smaller if the objective rises or overflows, and larger if it hardly falls.
    decay : float, default 0.05
        Decay of the steps: in round t they have the length step / (1 + decay t). 0: all rounds take equal steps.
    max_iter : int, default 100
        Number of rounds. A round makes a step for every click, or for every item that each user compared, and at least
        50 for every user and item.
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
    item_bias_ : array of shape (n_items,)
        Worth of each item to all users.
    reg_ : float
        Regularisation used.
    history_ : list of dict
        One record for each round: round, seconds, objective (of the round's draws) and gap, its relative change.
    interrupted_ : bool
        Whether Ctrl-C ended the fit.

    See Also
    --------
    AltSVM : Learn from comparisons.
    ClickRanker : Learn from clicks.

    Notes
    -----
    The fit minimises the expectation of

    .. math::

        \log(1 + e^{-(s_{ij} - s_{ik})})
        + \tfrac{\text{reg}}{2} \left(\|u_i\|^2 + \|v_j\|^2 + b_j^2 + \|v_k\|^2 + b_k^2\right),
        \quad s_{ij} = u_i \cdot v_j + b_j,

    with a step on each random draw of a user i who prefers item j to item k. From clicks, j is a click and k an item
    that the user has not clicked, both drawn uniformly. Other comparisons are drawn uniformly with replacement.

    References
    ----------
    S. Rendle, C. Freudenthaler, Z. Gantner, L. Schmidt-Thieme: BPR: Bayesian Personalized Ranking from Implicit
    Feedback. UAI 2009.

    Examples
    --------
    >>> import rather
    >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
    >>> model = rather.BPR(rank=2, n_threads=1).fit(rather.Comparisons.from_clicks(clicks))
    >>> model.recommend("cat", k=1, exclude="seen")["item"].tolist()
    ['milk']
    """

    tol = 0.0  # a round that samples its objective too can only seem to change nothing
    params: BPRParams

    @accepts(BPRParams)
    def __init__(self, params: BPRParams) -> None:
        self.params = params

    def _begin(self, comparisons: Comparisons) -> Steps:
        factors, clicks = self._start(comparisons, bias=True), comparisons.clicks
        reg = _default_reg(clicks) if self.reg is None else float(self.reg)
        p, q = (np.full(n, reg, np.float32) for n in (comparisons.n_users, comparisons.n_items))
        if clicks is not None:
            rows, (users, items) = click_rows(clicks, comparisons), _click_shares(clicks, comparisons)
            updates = at_least_a_round(comparisons, len(clicks.user))

            def loss(done: int) -> float:
                return float(core.descend_clicks(rows, self._pass(factors, p, q, updates, done)))

        else:
            store, alike = comparisons.store, np.ones(comparisons.n_users, np.float32)
            users, items = (n / len(comparisons) for n in counts(comparisons))
            updates = at_least_a_round(comparisons, store.n_entries)

            def loss(done: int) -> float:
                steps = self._pass(factors, p, q, updates, done)
                return float(core.descend_comparisons(store, LOSSES["logistic"], alike, steps))

        rule = UserRule(power=0.0, typical=1.0, balance=1.0)  # a step is a mean of losses and a ridge
        return Steps(
            factors, lambda done: loss(done) + ridge(factors, reg * users, reg * items), loss="logistic", reg=reg,
            user_rule=rule,
        )  # fmt: skip


def _default_reg(clicks: Clicks | None) -> float:
    """Return the default, chosen on held-out training data: clicks of MovieLens 1M, ratings of five sets."""
    return 0.08 if clicks is None else 0.01


def _click_shares(clicks: Clicks, comparisons: Comparisons) -> tuple[Any, Any]:
    """Return how often a draw involves each user and each item, on average."""
    n = np.bincount(clicks.user, minlength=comparisons.n_users)
    n[n == comparisons.n_items] = 0  # there is nothing to compare with: never drawn
    lost = n / (comparisons.n_items - n)
    won = np.bincount(clicks.item, n[clicks.user] > 0, minlength=comparisons.n_items)
    not_lost = np.bincount(clicks.item, lost[clicks.user], minlength=comparisons.n_items)
    return n / n.sum(), (won + lost.sum() - not_lost) / n.sum()
