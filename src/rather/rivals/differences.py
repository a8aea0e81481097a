"""Differences: low-rank scores whose differences are those of the ratings, by least squares."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from ..data.comparisons import Comparisons
from ..models.certified import Certified
from ..models.fitted import Fit, FittedModel, in_rounds
from ..models.parameters import (
    CALLBACK,
    GAP,
    ITEM_POWER,
    N_THREADS,
    ON_INTERRUPT,
    RANK,
    RIDGE_OR_RULE,
    ROUNDS,
    SEED,
    SHARE,
    VERBOSE,
    Callback,
    Parameter,
    Params,
    accepts,
)
from ..models.posed import Posed
from ..models.scorers import Factors
from ..native import threads
from ..solving.newton import Newton
from ..solving.rounds import Stop
from .gaps import gap_problem, require_gaps

DIFFERENCES_REG = Parameter(
    RIDGE_OR_RULE, "Ridge of all user and item vectors. None: the rule of AltSVM. The value used is ``reg_``."
)
PAIR_BALANCE = Parameter(
    SHARE, "Exponent of the weight N^-balance of each pair of a user who has N pairs of different ratings."
)
DECREMENT = Parameter(
    GAP, "Gap at which the fit stops: the gain that a round can still expect, relative to the objective.", "run"
)


@dataclass(frozen=True)
class DifferencesParams(Params):
    """The parameters of :class:`Differences`."""

    rank: int = RANK(64)
    reg: float | None = DIFFERENCES_REG(None)
    item_power: float = ITEM_POWER(0.5)
    balance: float = PAIR_BALANCE(0.5)
    max_iter: int = ROUNDS(30)
    tol: float = DECREMENT(3e-4)
    n_threads: int | None = N_THREADS(None)
    seed: int = SEED(0)
    verbose: bool = VERBOSE(False)
    callback: Callback | None = CALLBACK(None)
    on_interrupt: str = ON_INTERRUPT("keep")


class Differences(Certified):
    r"""Learn personal rankings from the sizes of rating differences.

    The fit is matrix completion by least squares on differences of a user's ratings. It is the baseline of Figure 1 of
    Park et al. (2015) that sees the ratings themselves. Use :class:`AltSVM` to learn from who won alone.

    Parameters
    ----------
    rank : int, default 64
        Number of taste dimensions, the length of the vectors of users and items. A higher rank captures more tastes,
        and needs more answers and more time.
    reg : float or None, default None
        Ridge of all user and item vectors. None: the rule of AltSVM. The value used is ``reg_``.
    item_power : float, default 0.5
        Exponent of an item's ridge, which grows as n^item_power with the number n of users who compared the item. 0:
        all items have the same ridge, so popular items are shrunk least. 1: popular and rare items are shrunk about
        equally.
    balance : float, default 0.5
        Exponent of the weight N^-balance of each pair of a user who has N pairs of different ratings.
    max_iter : int, default 30
        Largest number of rounds. A round solves for all items, then for all users. A fit that stops here has
        ``converged_`` False; give more rounds if the objective in ``history_`` still falls.
    tol : float, default 0.0003
        Gap at which the fit stops: the gain that a round can still expect, relative to the objective.
    n_threads : int or None, default None
        Number of threads. None: as many as the process may keep busy, by its cores, CPU affinity, control groups and
        ``OMP_NUM_THREADS``. The fit returns the same bits with any number.
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

    params: DifferencesParams

    @accepts(DifferencesParams)
    def __init__(self, params: DifferencesParams) -> None:
        self.params = params

    def _fit(self, data: Comparisons) -> Fit:
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
