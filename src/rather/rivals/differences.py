"""Differences: low-rank scores whose differences are those of the ratings, by least squares."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..data.comparisons import Comparisons
from ..models.certified import Certified
from ..models.factors import FactorEstimator
from ..models.parameters import check_fit_params, check_rank, check_shape
from ..models.rounds import run_rounds
from ..native import threads
from ..solving.newton import Newton
from .gaps import gap_problem, require_gaps


class Differences(Certified, FactorEstimator):
    r"""Learn personal rankings from the sizes of rating differences.

    The fit is matrix completion by least squares on differences of a user's ratings. It is the baseline of Figure 1 of
    Park et al. (2015) that sees the ratings themselves. Use :class:`AltSVM` to learn from who won alone.

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
    users_, items_ : array of id
        Ids of the users and items.
    user_factors_ : array of shape (n_users, rank)
        Vectors of the users.
    item_factors_ : array of shape (n_items, rank)
        Vectors of the items.
    item_bias_ : array of shape (n_items,)
        Worth of each item to all users.
    reg_, bias_reg_ : float
        Regularisation used, of the vectors and of the biases.
    history_ : list of dict
        One record for each round: round, seconds, objective, gap.
    converged_ : bool
        Whether the last gap was within ``tol``.
    interrupted_ : bool
        Whether Ctrl-C ended the fit.

    See Also
    --------
    AltSVM : Learn from who won.
    Comparisons.from_ratings : Read ratings.

    Notes
    -----
    The fit minimises over user vectors, item vectors and item biases

    .. math::

        \sum_i w_i \sum_{(j,k)} \left((r_{ij} - r_{ik}) - (s_{ij} - s_{ik})\right)^2
        + \tfrac12 \sum_i \text{reg}\, \|u_i\|^2 + \tfrac12 \sum_j \left(q_j \|v_j\|^2 + \beta_j b_j^2\right),
        \quad s_{ij} = u_i \cdot v_j + b_j,

    by alternating conjugate gradients, so the objective never rises. With ratings, the sum is over all pairs of a
    user's items, equal ratings included, and no pair is written down. A user whose ratings are all equal is left out.
    Pairs that were written down, by :meth:`Comparisons.split` or "largest-gap", are used as they are. The ridge of item
    j is :math:`q_j = \text{reg}\, (n_j / n)^{\mathrm{item\_power}}`, where :math:`n_j` users compared the item. The
    pairs of a user with N pairs of different ratings have weight :math:`N^{-\text{balance}}`.

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

    def _fit(self, comparisons: Comparisons) -> bool:
        check_rank(self._rank)
        check_shape(self.item_power, self.balance)
        check_fit_params(self)
        n_threads = threads(self.n_threads)
        began = time.perf_counter()
        require_gaps(comparisons.source, "Differences")
        problem = gap_problem(
            comparisons.source, rank=int(self._rank), loss="squared_difference", reg=self.reg,
            item_power=self.item_power, balance=self.balance, n_threads=n_threads, seed=self.seed,
        )  # fmt: skip
        self.reg_, self.bias_reg_ = problem.reg, problem.bias_reg
        self._set_data(comparisons)
        self._set_factors(problem.U, problem.V, problem.rank)
        self._pose(comparisons.source, problem)
        return run_rounds(self, Newton(problem, self.seed).round, began, tol=self.tol)
