"""RobiRank: clicks as high in the list as can be, the hopeless ones forgiven (Yun et al., NIPS 2014)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..models.clicked import require_clicks
from ..native import core
from .stochastic import Steps, Stochastic, click_rows, ridge


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
    rank : int
        Length of the vectors.
    reg : float
        Ridge of the rows of a click.
    step, decay : float
        Length of the steps and how it falls with the rounds t, step / (1 + decay t).
    max_iter : int
        Rounds. Each takes every click once, users in random order.
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

    _reg_by_rule = False

    def __init__(
        self,
        rank: int = 64,
        reg: float = 0.05,
        step: float = 0.05,
        decay: float = 0.2,
        max_iter: int = 60,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
        callback: Callable[[Any, dict[str, float]], Any] | None = None,
        on_interrupt: str = "keep",
    ) -> None:
        self._store_params(locals())

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
