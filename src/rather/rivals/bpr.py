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
from .stochastic import Steps, Stochastic, at_least_a_round, click_rows, counts, ridge


class BPR(Stochastic, FoldInModel):
    """Personal rankings from comparisons or clicks, by stochastic gradient steps on the logistic loss.

    Minimises, over user vectors u_i, item vectors v_j and item biases b_j, BPR-Opt (Section 4.1 of the paper),

        E [log(1 + e^-(s_ij - s_ik)) + reg/2 (|u_i|^2 + |v_j|^2 + b_j^2 + |v_k|^2 + b_k^2)],   s_ij = u_i . v_j + b_j

    over triples "user i would rather have j than k" drawn at random, a step on each (LearnBPR, its Figure 4). From
    clicks, j is a click drawn uniformly and k an item the user has not clicked, drawn uniformly, both anew each time;
    the comparisons that stand for the clicks are not used. Other comparisons are drawn uniformly with replacement.

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
    user_factors_, item_factors_, item_bias_, users_, items_
        See :class:`FactorEstimator` and :class:`Estimator`.
    reg_ : float
    history_ : list of dict
        One record per round: round, seconds since the beginning, objective (its loss the mean of the round's draws
        before their steps), and gap, its relative change.
    interrupted_ : bool
        Whether Ctrl-C ended the fit early.

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
