"""RobiRank: clicks as high in the list as can be, the hopeless ones forgiven (Yun et al., NIPS 2014)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..models.clicked import require_clicks
from ..native import core
from .stochastic import Stochastic, click_rows


class RobiRank(Stochastic):
    r"""Learn personal rankings from clicks, by a robust bound on their places.

    This is RobiRank (Yun et al., 2014) with a ridge. It is a baseline: use :class:`ClickRanker`.

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
