"""CofiRank: maximum margin matrix factorisation for rankings (Weimer, Karatzoglou, Le, Smola, NIPS 2007)."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.comparisons import Comparisons
from ..data.ratings import Rated
from ..errors import Domain, InputError
from ..models.factors import FactorEstimator
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
    SWITCH_OR_RIDGE,
    VERBOSE,
    Callback,
    Parameter,
    Params,
    accepts,
)
from ..models.scorers import Factors, with_bias
from ..native import FloatArray, core, factor, threads
from ..solving.reg import gradient_scales
from ..solving.rounds import Record, Stop
from ..solving.scales import scales
from ..solving.singular import singular

LISTS: dict[str, int] = core.LISTS  # losses of whole lists, by their numbers in the core
LOSSES = (*LISTS, "regression")
REG_FACTOR, BIAS_FACTOR = 1.8, 1.0  # times the scales of the gradient at zero; chosen on held-out training data
PLANES = 100  # at most, in one half of a round
LARGEST_RATING = 500  # as for the metric: gains are 2^rating - 1

LIST_LOSS = Parameter(
    Domain(words=LOSSES),
    'Loss of a user\'s whole list: squared errors for "regression", misordered pairs '
    'weighted by their gap for "ordinal", and a bound of NDCG@k for "ndcg".',
)
COFI_REG = Parameter(
    RIDGE_OR_RULE, "Ridge of the vectors. None: 1.8 times the scale of the data. The value used is ``reg_``."
)
COFI_BIAS = Parameter(
    SWITCH_OR_RIDGE,
    "Whether items have a bias. A number is the ridge of the biases; True takes the scale of the data.",
)
TOP = Parameter(Domain(int, at_least=1, at_most=2**31 - 1), 'Length of the list that the loss "ndcg" judges.')
FALL = Parameter(GAP, "Relative fall of the objective in a round at which the fit stops.", "run")
HALF_GAP = Parameter(
    Domain(float, above=0, below=1),
    "Accuracy of each half of a round: its largest distance from the minimum, relative to the objective.",
    "method",
)


@dataclass(frozen=True)
class CofiRankParams(Params):
    """The parameters of :class:`CofiRank`."""

    rank: int = RANK(10)
    loss: str = LIST_LOSS("regression")
    reg: float | None = COFI_REG(None)
    bias: bool | float = COFI_BIAS(True)
    item_power: float = ITEM_POWER(0.5)
    k: int = TOP(10)
    max_iter: int = ROUNDS(30)
    tol: float = FALL(3e-4)
    gap: float = HALF_GAP(1e-3)
    n_threads: int | None = N_THREADS(None)
    seed: int = SEED(0)
    verbose: bool = VERBOSE(False)
    callback: Callback | None = CALLBACK(None)
    on_interrupt: str = ON_INTERRUPT("keep")


class CofiRank(FactorEstimator):
    r"""Learn personal rankings from ratings, by a loss of every user's whole list.

    This is maximum margin matrix factorisation for rankings (Weimer et al., 2007), with biases. It is a baseline: use
    :class:`AltSVM`.

    Parameters
    ----------
    rank : int, default 10
        Number of taste dimensions, the length of the vectors of users and items. A higher rank captures more tastes,
        and needs more answers and more time.
    loss : {"ndcg", "ordinal", "regression"}, default "regression"
        Loss of a user's whole list: squared errors for "regression", misordered pairs weighted by their gap for
        "ordinal", and a bound of NDCG@k for "ndcg".
    reg : float or None, default None
        Ridge of the vectors. None: 1.8 times the scale of the data. The value used is ``reg_``.
    bias : bool or float, default True
        Whether items have a bias. A number is the ridge of the biases; True takes the scale of the data.
    item_power : float, default 0.5
        Exponent of an item's ridge, which grows as n^item_power with the number n of users who compared the item. 0:
        all items have the same ridge, so popular items are shrunk least. 1: popular and rare items are shrunk about
        equally.
    k : int, default 10
        Length of the list that the loss "ndcg" judges.
    max_iter : int, default 30
        Largest number of rounds. A round solves for all items, then for all users. A fit that stops here has
        ``converged_`` False; give more rounds if the objective in ``history_`` still falls.
    tol : float, default 0.0003
        Relative fall of the objective in a round at which the fit stops.
    gap : float, default 0.001
        Accuracy of each half of a round: its largest distance from the minimum, relative to the objective.
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
        One record for each round: round, seconds, objective, gap (the share by which the round lowered it), and
        item_gap and user_gap, the certified gaps of the two halves.
    converged_ : bool
        Whether the last gap was within ``tol``.
    interrupted_ : bool
        Whether Ctrl-C ended the fit.

    See Also
    --------
    AltSVM : Learn a personal ranking for every user from comparisons.
    ndcg : Measure a model on test ratings.

    Notes
    -----
    The fit minimises over user vectors, item vectors and item biases

    .. math::

        \sum_i \ell(s_i, y_i) + \tfrac{\text{reg}}{2} \sum_i \|u_i\|^2
        + \tfrac12 \sum_j h_j \left(\text{reg}\, \|v_j\|^2 + \mathrm{bias\_reg}\, b_j^2\right),
        \quad s_{ij} = u_i \cdot v_j + b_j,

    where y are the user's ratings and :math:`h_j = (n_j / n')^{\mathrm{item\_power}}` for an item that :math:`n_j`
    users rated. For the scores f and the ratings y of one user, the loss is

    - "ndcg": a convex upper bound on 1 - NDCG@k, the largest value over orders :math:`\pi` of
      :math:`1 - \text{NDCG@}k(\pi, y) + \langle c, f_\pi \rangle - \langle c', f \rangle` with
      :math:`c_p = (p + 1)^{-1/4}`. It is an assignment problem and solved exactly. Here, items of equal rating share
      the mean of their weights in c', so that their unknown order is not learned. The paper's c' is c in the order of
      the ratings.
    - "ordinal": the sum over pairs with :math:`y_j > y_k` of :math:`(y_j - y_k) \max(0, 1 - f_j + f_k)`, divided by
      the sum of :math:`y_j - y_k`.
    - "regression": :math:`\tfrac12 \sum_j (f_j + o_i - y_j)^2` with an offset for every user. Ratings are scaled to a
      standard deviation of 1 around the users' means.

    Each half is convex. The first two losses are minimised by a bundle method (BMRM, as in the paper) to a certified
    gap, the third by least squares.

    References
    ----------
    M. Weimer, A. Karatzoglou, Q. Le, A. Smola: CofiRank, Maximum Margin Matrix Factorization for Collaborative Ranking.
    NIPS 2007.

    M. Weimer, A. Karatzoglou, A. Smola: Improving Maximum Margin Matrix Factorization. Machine Learning 72, 2008.

    Examples
    --------
    >>> import rather
    >>> table = {"user": ["ann", "ann", "bob", "bob"], "item": ["A", "B", "A", "B"], "rating": [5, 2, 4, 3]}
    >>> model = rather.CofiRank(rank=2).fit(rather.Comparisons.from_ratings(table))
    >>> model.rank("ann")["item"].tolist()
    ['A', 'B']
    """

    params: CofiRankParams

    @accepts(CofiRankParams)
    def __init__(self, params: CofiRankParams) -> None:
        self.params = params

    def _fit(self, data: Comparisons) -> Fit:
        began = time.perf_counter()
        halves = self._halves(data)
        halves.start(self.seed)
        base = self._model_of(data, halves.factors(), reg=halves.reg, bias_reg=halves.bias_reg)

        def assemble() -> FittedModel:
            return replace(base, scorer=halves.factors().copied(halves.n_threads))

        yield from in_rounds(halves, Stop(self.tol, self.max_iter), assemble, began=began)

    def _title(self, what: str) -> str:
        return f"CofiRank {self.loss}"

    def _halves(self, comparisons: Comparisons) -> Halves:
        """The two halves that these parameters pose, with their ridges."""
        store, rating = _rated_store(comparisons)
        if self.loss == "ndcg" and not 0 <= rating.min() <= rating.max() <= LARGEST_RATING:
            raise InputError(
                f"the ratings are from {rating.min():g} to {rating.max():g}; loss='ndcg' has gains 2^rating - 1 "
                f"and takes 0 to {LARGEST_RATING}: shift or scale them, or use loss='ordinal'"
            )
        model: dict[str, Any] = {
            "rank": int(self._rank), "bias": self.bias is not False, "item_power": self.item_power,
            "n_threads": threads(self.n_threads),
        }  # fmt: skip
        halves: Halves
        if self.loss == "regression":
            halves = Squares(store, rating, **model)
        else:
            halves = Lists(store, rating, loss=self.loss, k=int(self.k), gap=self.gap, **model)
        scale, bias_scale = gradient_scales(
            store, halves.slopes() / np.sqrt(halves.shape)[store.item], halves.n_threads
        )
        halves.set_reg(
            REG_FACTOR * scale if self.reg is None else float(self.reg),
            BIAS_FACTOR * bias_scale if isinstance(self.bias, bool) else float(self.bias),
        )
        return halves

    def _settled(self) -> dict[str, Any]:
        return {"reg": self.reg_, "bias": self.bias_reg_ if self.bias is not False else False}


def _rated_store(comparisons: Comparisons) -> tuple[Any, npt.NDArray[np.float64]]:
    """The core's view of the ratings behind comparisons, and the rating of each of its entries."""
    r = comparisons.ratings
    if r is None:
        raise InputError(
            "CofiRank learns from ratings, and these comparisons have none behind them",
            remedy="ratings, rankings or another model",
        )
    source = comparisons.source
    store = Rated(source.n_users, source.n_items, r).store if source.written else source.store
    if not store.n_entries:
        raise InputError("there is nothing for CofiRank to learn: nobody in this part rated two items differently")
    order = np.lexsort((r.item, r.rating, r.user))  # the order of the store, which leaves out users without comparisons
    return store, np.ascontiguousarray(r.rating[order[(np.diff(store.start) > 0)[r.user[order]]]])


class Halves:
    """The factors, and the two convex problems that a round solves.

    ``slopes`` gives the derivatives of the loss by the scores, one per (user, item rated); ``_items`` and ``_users``
    solve for V, with the bias in its next column, and for U, and give the loss and how far the objective may be from
    the minimum of this half.
    """

    def __init__(self, store: Any, *, rank: int, bias: bool, item_power: float, n_threads: int) -> None:
        self.store, self.rank, self.bias, self.n_threads = store, rank, bias, n_threads
        self.shape = scales(store, user_power=0.0, item_power=item_power, balance=0.0)[0].item_ridge
        self.U, self.V = factor(store.n_users, rank + 1), factor(store.n_items, rank + 1)

    def set_reg(self, reg: float, bias_reg: float) -> None:
        self.reg, self.bias_reg = reg, bias_reg
        self.q, self.beta = np.float32(reg) * self.shape, np.float32(bias_reg) * self.shape

    def start(self, seed: int) -> None:
        """Take the best biases alone, and U at the leading singular vectors of the slopes there."""
        rng, columns = np.random.default_rng(seed), slice(self.rank)
        self.solve_items()
        objective, _ = self.solve_users()
        _, left, _ = singular(
            self.store, self.slopes(), columns=self.rank, iterations=3, rng=rng, n_threads=self.n_threads
        )
        self.U[:, columns] = left[:, columns] * np.float32(np.sqrt(self.store.n_users / self.rank))
        self.objective = objective + 0.5 * self.reg * _square_sum(self.U[:, columns])  # V is 0 in these columns

    def round(self) -> Record:
        """Solve for V, then for U; ``gap`` is the share by which the objective fell."""
        before = self.objective
        _, item_gap = self.solve_items()
        self.objective, user_gap = self.solve_users()
        gap = (before - self.objective) / self.objective if self.objective else 0.0
        return {"objective": self.objective, "gap": gap, "item_gap": item_gap, "user_gap": user_gap}

    def solve_items(self) -> tuple[float, float]:
        """Solve for V; returns the objective, and how much of it there may be left to gain."""
        return self._report(*self._items())

    def solve_users(self) -> tuple[float, float]:
        """Solve for U; returns the objective, and how much of it there may be left to gain."""
        return self._report(*self._users())

    def _report(self, loss: float, gap: float) -> tuple[float, float]:
        r, root = self.rank, np.sqrt(self.shape)[:, None]
        ridge = self.reg * (_square_sum(self.U[:, :r]) + _square_sum(root * self.V[:, :r]))
        objective = loss + 0.5 * (ridge + self.bias_reg * _square_sum(root * self.V[:, r:]))
        return objective, gap / objective if objective else 0.0

    def factors(self) -> Factors:
        """U and V as a model holds them."""
        rows = with_bias(self.U[:, : self.rank], self.V[:, : self.rank], self.V[:, self.rank])
        return Factors.packed(*rows, self.rank)

    def slopes(self) -> FloatArray:
        raise NotImplementedError

    def _items(self) -> tuple[float, float]:
        raise NotImplementedError

    def _users(self) -> tuple[float, float]:
        raise NotImplementedError


class Lists(Halves):
    """Losses of whole lists: both halves by the bundle method."""

    def __init__(
        self, store: Any, rating: npt.NDArray[np.float64], *, loss: str, k: int, gap: float, **model: Any
    ) -> None:
        super().__init__(store, **model)
        self._lists = core.RatedLists(store, LISTS[loss], k, rating)
        self._accuracy = (PLANES, gap, self.n_threads)
        self.U[:, self.rank] = self.bias

    def slopes(self) -> FloatArray:
        m, c = (np.empty(self.store.n_entries, np.float32) for _ in range(2))
        core.scores(self.store, self.U, self.V, m, self.n_threads)
        core.evaluate_lists(self._lists, m, c, self.n_threads)
        return c

    def _items(self) -> tuple[float, float]:
        loss, gap = core.bundle_items(self._lists, self.U, self.V, self.rank, self.q, self.beta, *self._accuracy)
        return loss, gap

    def _users(self) -> tuple[float, float]:
        loss, gap = core.bundle_users(self._lists, self.V, self.U, self.rank, self.reg, *self._accuracy)
        return loss, gap


class Squares(Halves):
    """Squared errors: both halves exactly. The next column of U holds the users' offsets."""

    def __init__(self, store: Any, rating: npt.NDArray[np.float64], **model: Any) -> None:
        super().__init__(store, **model)
        size = np.diff(store.start)
        user = np.repeat(np.arange(store.n_users), size)
        y = rating - (np.bincount(user, rating, minlength=store.n_users) / np.maximum(size, 1))[user]
        self._y = (y / np.sqrt(np.mean(y**2))).astype(np.float32)

    def slopes(self) -> FloatArray:
        m = np.empty(self.store.n_entries, np.float32)
        factors = self.factors()
        core.scores(self.store, factors.U, factors.V, m, self.n_threads)
        m += np.repeat(self.U[:, self.rank], np.diff(self.store.start))
        m -= self._y
        return m

    def _items(self) -> tuple[float, float]:
        loss = core.regress_items(
            self.store, self._y, self.U, self.V, self.rank, self.bias, self.q, self.beta, self.n_threads
        )
        return loss, 0.0

    def _users(self) -> tuple[float, float]:
        loss = core.regress_users(self.store, self._y, self.V, self.U, self.rank, self.reg, self.n_threads)
        return loss, 0.0


def _square_sum(A: FloatArray) -> float:
    return float(np.square(A, dtype=np.float64).sum())
