"""CofiRank: maximum margin matrix factorisation for rankings (Weimer, Karatzoglou, Le, Smola, NIPS 2007)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.comparisons import Comparisons
from ..data.ratings import Rated
from ..errors import InputError, number, one_of
from ..models.factors import FactorEstimator
from ..models.fitted import Fit, FittedModel, in_rounds
from ..models.parameters import check_bias, check_fit_params, check_rank
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


class CofiRank(FactorEstimator):
    """Low-rank personal rankings from ratings, by a loss of every user's whole list.

    Minimises, over user vectors u_i, item vectors v_j and item biases b_j,

        sum_i l(s_i, y_i) + reg/2 sum_i |u_i|^2 + 1/2 sum_j h_j (reg |v_j|^2 + bias_reg b_j^2)

    with scores s_ij = u_i . v_j + b_j of the items that user i rated y_i, by turns in V and in U: the regularised risk
    of the paper, with biases. The factor h_j = (n_j / n')^item_power, for n_j users who rated item j, is the authors'
    adaptive regularisation. With f for the scores and y for the ratings of one user, the loss l(f, y) is

    - "ndcg": max over orders pi of [1 - NDCG@k(pi, y) + <c, f_pi> - <c', f>], where c_p = (p + 1)^(-1/4) for place p: a
      convex upper bound on 1 - NDCG@k of the order by f. The paper's c' is c in the order of the ratings; here, items
      of equal rating share the mean of theirs, so that their order, which nobody knows, is not learned. The maximum is
      an assignment problem, solved exactly.
    - "ordinal": sum over y_j > y_k of (y_j - y_k) max(0, 1 - f_j + f_k), divided by the sum of (y_j - y_k).
    - "regression": 1/2 sum_j (f_j + o_i - y_j)^2 with an offset o_i for every user; the ratings are brought to a
      standard deviation of 1 around the users' means.

    Each half is convex. For the first two losses both halves are solved by a bundle method (BMRM, as in the paper) to a
    certified gap; for the third they are least squares, solved exactly.

    Parameters
    ----------
    rank : int
        Length of the vectors.
    loss : {"regression", "ordinal", "ndcg"}
    reg : float, optional
        None: 1.8 times the geometric mean of the typical norms of the rows and the columns of the gradient at
        zero. The value used is ``reg_``.
    bias : bool or float
        Whether items have a bias. A number is its ridge; True takes the typical absolute row sum of the gradient at
        zero.
    item_power : float
        How the ridge of an item grows with the number of users who rated it; 0 is the plain model of the paper.
    k : int
        Length of the list that loss "ndcg" looks at.
    max_iter : int
        Rounds (each solves V, then U) at most.
    tol : float
        Stop once a round lowers the objective by at most this share of it.
    gap : float
        Accuracy of each half: how far it may be from its minimum, as a share of it.
    n_threads : int, optional
        All cores by default. The result is the same at any number.
    seed : int
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called after every round with (model, record); the record is the new entry of ``history_``. Returning True
        stops the fit.
    on_interrupt : {"keep", "raise"}
        What Ctrl-C does after the first round: end the fit with the rounds it has made, or then also raise.

    Attributes
    ----------
    user_factors_, item_factors_, item_bias_, users_, items_
        See :class:`FactorEstimator` and :class:`Estimator`.
    reg_, bias_reg_ : float
    history_ : list of dict
        One record per round: round, seconds since the beginning, objective, gap (the share by which the round lowered
        it), and the certified gaps ``item_gap`` and ``user_gap`` of the two halves.
    converged_, interrupted_ : bool
        Whether the last round's gap was within ``tol``; whether Ctrl-C ended the fit early.

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

    def __init__(
        self,
        rank: int = 10,
        loss: str = "regression",
        reg: float | None = None,
        bias: bool | float = True,
        item_power: float = 0.5,
        k: int = 10,
        max_iter: int = 30,
        tol: float = 3e-4,
        gap: float = 1e-3,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
        callback: Callable[[Any, dict[str, float]], Any] | None = None,
        on_interrupt: str = "keep",
    ) -> None:
        self._store_params(locals())

    def _fit(self, data: Comparisons) -> Fit:
        self._check_params()
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

    def _check_params(self) -> None:
        check_rank(self._rank)
        one_of("loss", self.loss, LOSSES)
        check_bias(self.bias)
        number("item_power", self.item_power, at_least=0, at_most=2)
        number("k", self.k, at_least=1, at_most=2**31 - 1, integer=True)
        check_fit_params(self)
        number("gap", self.gap, above=0, below=1)
        threads(self.n_threads)

    def _settled(self) -> dict[str, Any]:
        return {"reg": self.reg_, "bias": self.bias_reg_ if self.bias is not False else False}


def _rated_store(comparisons: Comparisons) -> tuple[Any, npt.NDArray[np.float64]]:
    """The core's view of the ratings behind comparisons, and the rating of each of its entries."""
    r = comparisons.ratings
    if r is None:
        raise InputError(
            "CofiRank learns from ratings, and these comparisons have none behind them (a split by pairs leaves none: "
            "use by='items'); make them with Comparisons.from_ratings or from_rankings, or fit AltSVM"
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
