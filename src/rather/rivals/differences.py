"""Differences: low-rank scores whose differences are those of the ratings, by least squares."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..data.comparisons import Comparisons
from ..models.certified import Certified
from ..models.fitted import Fit, FittedModel, in_rounds
from ..models.parameters import check_fit_params, check_rank, check_shape
from ..models.posed import Posed
from ..models.scorers import Factors
from ..native import threads
from ..solving.newton import Newton
from ..solving.rounds import Stop
from .gaps import gap_problem, require_gaps


class Differences(Certified):
    """Matrix completion from the numerical differences of the ratings of pairs.

    Minimises, over user vectors u_i, item vectors v_j and item biases b_j,

        sum_i w_i sum_(j,k) ((r_ij - r_ik) - (s_ij - s_ik))^2
            + 1/2 sum_i reg |u_i|^2 + 1/2 sum_j (q_j |v_j|^2 + beta_j b_j^2),     s_ij = u_i . v_j + b_j

    by turns in V and in U, each half by conjugate gradients: least squares, so the objective never rises. It is the
    rival of Figure 1 of Park et al. (2015) that sees the ratings themselves.

    With ratings, the sum is over all pairs of a user's items, those rated the same too (a difference of 0). It equals
    n_i times the sum of squares of r_ij - s_ij about their mean over the user's n_i items, so that no pair is ever
    written down. A user whose ratings are all the same is left out. With pairs of ratings that were written down
    (``Comparisons.split``, ``keep="largest-gap"``), the sum is over exactly those.

    The ridges are q_j = reg (n_j / n)^item_power, where n_j counts the users who compared item j, and beta_j of the
    same shape; all pairs of a user with N of different ratings have the weight w_i = N^-balance.

    Parameters
    ----------
    rank : int
        Length of the vectors.
    reg : float, optional
        None: the rule of ``AltSVM``, which held-out training data confirmed for this loss. The value used is ``reg_``.
    item_power : float
    balance : float
    max_iter : int
        Rounds (each V, then U) at most.
    tol : float
        Stop once what the two halves of a round had to gain, relative to the objective, is at most this.
    n_threads : int, optional
        All cores by default; the result is the same with any number.
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
    reg_, bias_reg_ : float
    history_ : list of dict
        One record per round: round, seconds since the beginning, objective, gap.
    converged_, interrupted_ : bool

    References
    ----------
    D. Park, J. Neeman, J. Zhang, S. Sanghavi, I. Dhillon: Preference Completion: Large-scale Collaborative Ranking from
    Pairwise Comparisons. ICML 2015 (Section 5.1).

    Examples
    --------
    >>> import rather
    >>> stars = {"user": list("aaabbbccc"), "item": list("xyzxyzxyz"), "rating": [5, 3, 1, 1, 3, 5, 4, 2, 1]}
    >>> model = rather.Differences(rank=1).fit(rather.Comparisons.from_ratings(stars))
    >>> [row.item for row in model.rank("a")]
    ['x', 'y', 'z']
    """

    def __init__(
        self,
        rank: int = 64,
        reg: float | None = None,
        item_power: float = 0.5,
        balance: float = 0.5,
        max_iter: int = 30,
        tol: float = 3e-4,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
        callback: Callable[[Any, dict[str, float]], Any] | None = None,
        on_interrupt: str = "keep",
    ) -> None:
        self._store_params(locals())

    def _fit(self, data: Comparisons) -> Fit:
        check_rank(self._rank)
        check_shape(self.item_power, self.balance)
        check_fit_params(self)
        n_threads = threads(self.n_threads)
        began = time.perf_counter()
        require_gaps(data.source, "Differences")
        problem = gap_problem(
            data.source, rank=int(self._rank), loss="squared_difference", reg=self.reg,
            item_power=self.item_power, balance=self.balance, n_threads=n_threads, seed=self.seed,
        )  # fmt: skip
        factors = Factors.packed(problem.U, problem.V, problem.rank)
        posed = Posed.of(data.source, problem)
        base = self._model_of(data, factors, reg=problem.reg, bias_reg=problem.bias_reg, posed=posed)

        def assemble() -> FittedModel:
            return replace(base, scorer=factors.copied(n_threads))

        solver = Newton(problem, self.seed)
        yield from in_rounds(solver, Stop(self.tol, self.max_iter), assemble, began=began)
