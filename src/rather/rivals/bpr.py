"""BPR: Bayesian personalised ranking of comparisons or clicks (Rendle et al., UAI 2009)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.rows import Clicks
from ..models.newcomers import FoldInModel
from ..native import LOSSES, core
from ..solving.scales import UserRule
from .stochastic import Stochastic, at_least_a_round, click_rows, counts


class BPR(Stochastic, FoldInModel):
    r"""Learn personal rankings by stochastic gradient steps on the logistic loss.

    This is Bayesian personalised ranking (Rendle et al., 2009), for comparisons or clicks. It is a baseline: use
    :class:`AltSVM` for comparisons and :class:`ClickRanker` for clicks.

    Parameters
    ----------
    rank : int
        Length of the vectors.
    reg : float, optional
        Ridge of the rows that a step touches. None: 0.01 for clicks, 0.08 for other comparisons, which say more of the
        same few items. The value used is ``reg_``.
    step, decay : float
        Length of the steps and how it falls with the rounds t, step / (1 + decay t). The paper has decay = 0.
    max_iter : int
        Rounds. Each makes a step for every click, or for every item that each user compared, or 50 for every
        user and item if that is more.
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

    def __init__(
        self,
        rank: int = 64,
        reg: float | None = None,
        step: float = 0.05,
        decay: float = 0.05,
        max_iter: int = 100,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
        callback: Callable[[Any, dict[str, float]], Any] | None = None,
        on_interrupt: str = "keep",
    ) -> None:
        self._store_params(locals())

    def _begin(self, comparisons: Comparisons) -> Callable[[], float]:
        self._start(comparisons, bias=True)
        clicks = comparisons.clicks
        self.loss_, self.reg_ = "logistic", _default_reg(clicks) if self.reg is None else float(self.reg)
        self.user_rule_ = UserRule(power=0.0, typical=1.0, balance=1.0)  # a step is a mean of losses and a ridge
        p, q = (np.full(n, self.reg_, np.float32) for n in (comparisons.n_users, comparisons.n_items))
        if clicks is not None:
            rows, (users, items) = click_rows(clicks, comparisons), _click_shares(clicks, comparisons)
            updates = at_least_a_round(comparisons, len(clicks.user))

            def descend() -> float:
                return float(core.descend_clicks(rows, self._pass(p, q, updates)))

        else:
            store, alike = comparisons.store, np.ones(comparisons.n_users, np.float32)
            users, items = (n / len(comparisons) for n in counts(comparisons))
            updates = at_least_a_round(comparisons, store.n_entries)

            def descend() -> float:
                return float(core.descend_comparisons(store, LOSSES["logistic"], alike, self._pass(p, q, updates)))

        return lambda: descend() + self._ridge(self.reg_ * users, self.reg_ * items)


def _default_reg(clicks: Clicks | None) -> float:
    """Chosen on held-out training data: clicks of MovieLens 1M; ratings of five sets, simulated ones among them."""
    return 0.08 if clicks is None else 0.01


def _click_shares(clicks: Clicks, comparisons: Comparisons) -> tuple[Any, Any]:
    """How often a draw involves each user and each item, on average."""
    n = np.bincount(clicks.user, minlength=comparisons.n_users)
    n[n == comparisons.n_items] = 0  # there is nothing to compare with: never drawn
    lost = n / (comparisons.n_items - n)
    won = np.bincount(clicks.item, n[clicks.user] > 0, minlength=comparisons.n_items)
    not_lost = np.bincount(clicks.item, lost[clicks.user], minlength=comparisons.n_items)
    return n / n.sum(), (won + lost.sum() - not_lost) / n.sum()
