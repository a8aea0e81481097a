"""LCR: a smooth mixture of low-rank models, each for a neighbourhood of users and items (Lee et al., WWW 2014)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.ids import Codes
from ..errors import Domain
from ..models.estimator import Estimator
from ..models.exclusions import Rows
from ..models.fitted import Fit, FittedModel, in_rounds
from ..models.parameters import (
    CALLBACK,
    GAP,
    N_THREADS,
    ON_INTERRUPT,
    RANK,
    RIDGE_OR_RULE,
    SEED,
    VERBOSE,
    WHOLE,
    Callback,
    Parameter,
    Params,
    accepts,
)
from ..models.scorers import Factors, Scorer, copied, with_bias
from ..native import GAP_LOSSES, FloatArray, core, factor, threads
from ..solving.lbfgs import LBFGS
from ..solving.newton import Newton
from ..solving.problem import Problem
from ..solving.rounds import EVERY_ROUND, Record, Stop, solve
from .gaps import gap_problem, require_gaps

BASE_ROUNDS = 8
LEAST_WEIGHT = 1e-6  # a kernel below it counts as 0

ANCHORS = Parameter(
    Domain(int, at_least=1, at_most=4096), "Number of local models. More fit finer structure, and take longer."
)
BANDWIDTH = Parameter(
    Domain(float, at_least=0.01, at_most=100),
    "Width of the kernels; 1 is the distance of vectors at a right angle, 2 that of opposite vectors. The paper has "
    "0.8; held-out training data prefer 2, with which every local model has some weight nearly everywhere.",
)
GAP_LOSS = Parameter(
    Domain(words=tuple(GAP_LOSSES)),
    "Loss of a pair, where x is the difference of its scores and g > 0 that of its ratings. It is g log(1+e^-x) for "
    '"gap_times_logistic", log(1+e^(g-x)) for "gap_logistic" and (x-g)^2 for "squared_difference". The last one also '
    "counts pairs of equal ratings, with a difference of 0.",
)
LOCAL_REG = Parameter(
    RIDGE_OR_RULE,
    "Ridge of the base model. None: the rule of AltSVM. The local models have this ridge times the mean over the data "
    "of sum_t a_t^2, where a_t are the weights of the local models in a score. The value used is ``reg_``.",
)
LBFGS_STEPS = Parameter(WHOLE, "Largest number of L-BFGS steps.", "run")
STEP_FALL = Parameter(GAP, "Relative fall of the objective in a step at which the fit stops.", "run")


@dataclass(frozen=True)
class LCRParams(Params):
    """The parameters of :class:`LCR`."""

    anchors: int = ANCHORS(10)
    rank: int = RANK(10)
    bandwidth: float = BANDWIDTH(2.0)
    loss: str = GAP_LOSS("gap_times_logistic")
    reg: float | None = LOCAL_REG(None)
    max_iter: int = LBFGS_STEPS(50)
    tol: float = STEP_FALL(1e-4)
    n_threads: int | None = N_THREADS(None)
    seed: int = SEED(0)
    verbose: bool = VERBOSE(False)
    callback: Callback | None = CALLBACK(None)
    on_interrupt: str = ON_INTERRUPT("keep")


class LocalScores(Scorer):
    """The scores of local models.

    Rows of ``U`` and ``V`` are the local models' vectors and biases times the weights, side by side: a product of rows
    is the numerator of a score. That of ``near_users`` and ``near_items``, the weights alone, is the denominator.
    """

    def __init__(
        self,
        base: Factors,
        anchors: Codes,
        near_users: FloatArray,
        near_items: FloatArray,
        U: FloatArray,
        V: FloatArray,
    ) -> None:
        self.base, self.anchors, self.near_users, self.near_items = base, anchors, near_users, near_items
        self.U, self.V = U, V

    def with_rows(self, U: FloatArray, V: FloatArray) -> LocalScores:
        """Return the scores of other local models about the same anchors."""
        return LocalScores(self.base, self.anchors, self.near_users, self.near_items, U, V)

    def scores(self, u: Codes, j: Codes, n_threads: int) -> FloatArray:
        def products(A: FloatArray, B: FloatArray) -> FloatArray:
            out = np.empty(len(u), np.float32)
            core.score_pairs(A, u, B, j, out, n_threads)
            return out

        weight = products(self.near_users, self.near_items)
        near = weight > 0
        scores = products(self.base.U, self.base.V)
        scores[near] = products(self.U, self.V)[near] / weight[near]
        return scores

    def average(self, seen: Rows, n_items: int, n_threads: int) -> FloatArray:
        """Return the biases of the base model."""
        return self.base.item_bias.copy()

    # -- files --------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Any]:
        q, r, base = len(self.anchors), self.base.rank, self.base
        return {
            "anchors": self.anchors,
            "near_users": self.near_users[:, :q],
            "near_items": self.near_items[:, :q],
            "local_users": self.U[:, : q * (r + 1)],
            "local_items": self.V[:, : q * (r + 1)],
            "base_users": base.user_factors,
            "base_items": base.item_factors,
            "base_bias": base.item_bias,
        }

    @classmethod
    def restored(cls, tensors: Mapping[str, Any], about: Mapping[str, Any], fitted: FittedModel) -> LocalScores:
        n_users, n_items = len(fitted.users), len(fitted.items)
        anchors = tensors["anchors"]
        q, r = len(anchors), tensors["base_users"].shape[1]
        shapes = {
            "near_users": (n_users, q),
            "near_items": (n_items, q),
            "local_users": (n_users, q * (r + 1)),
            "local_items": (n_items, q * (r + 1)),
            "base_users": (n_users, r),
            "base_items": (n_items, r),
            "base_bias": (n_items,),
        }
        sound = (
            anchors.dtype == np.int32
            and q >= 1
            and anchors.shape == (q, 2)
            and bool((anchors >= 0).all() and (anchors < (n_users, n_items)).all())
            and all(tensors[name].dtype == np.float32 and tensors[name].shape == shapes[name] for name in shapes)
            and all((np.abs(tensors[name]) < 1e15).all() for name in shapes)  # and so finite, and their products too
            and all(_is_weight(tensors[name]).all() for name in ("near_users", "near_items"))
        )
        if not sound:
            raise ValueError("the local models do not fit together")
        base = Factors.packed(*with_bias(*(tensors[f"base_{name}"] for name in ("users", "items", "bias"))), r)
        rest = (_padded(tensors[name]) for name in ("near_users", "near_items", "local_users", "local_items"))
        return cls(base, anchors, *rest)


class LCR(Estimator):
    r"""Learn personal rankings by several local low-rank models, for ratings.

    This is local collaborative ranking (Lee et al., 2014). Each local model belongs to an anchor, a random user and
    item, and counts for users and items near it. It is a baseline: use :class:`AltSVM`.

    Parameters
    ----------
    anchors : int, default 10
        Number of local models. More fit finer structure, and take longer.
    rank : int, default 10
        Number of taste dimensions, the length of the vectors of users and items. A higher rank captures more tastes,
        and needs more answers and more time.
    bandwidth : float, default 2.0
        Width of the kernels; 1 is the distance of vectors at a right angle, 2 that of opposite vectors. The paper has
        0.8; held-out training data prefer 2, with which every local model has some weight nearly everywhere.
    loss : {"gap_times_logistic", "gap_logistic", "squared_difference"}, default "gap_times_logistic"
        Loss of a pair, where x is the difference of its scores and g > 0 that of its ratings. It is g log(1+e^-x) for
        "gap_times_logistic", log(1+e^(g-x)) for "gap_logistic" and (x-g)^2 for "squared_difference". The last one also
        counts pairs of equal ratings, with a difference of 0.
    reg : float or None, default None
        Ridge of the base model. None: the rule of AltSVM. The local models have this ridge times the mean over the data
        of sum_t a_t^2, where a_t are the weights of the local models in a score. The value used is ``reg_``.
    max_iter : int, default 50
        Largest number of L-BFGS steps.
    tol : float, default 0.0001
        Relative fall of the objective in a step at which the fit stops.
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
    anchors_ : list of (user, item)
        The anchors of the local models.
    reg_ : float
        Regularisation used.
    history_ : list of dict
        One record for each step: round, seconds, objective, gap.
    converged_ : bool
        Whether the last gap was within ``tol``.
    interrupted_ : bool
        Whether Ctrl-C ended the fit.

    See Also
    --------
    AltSVM : Learn a personal ranking for every user from comparisons.

    Notes
    -----
    A score is the mean of the local models :math:`g_t(i, j) = u_i^t \cdot v_j^t + b_j^t`, weighted by their nearness,

    .. math::

        s_{ij} = \frac{\sum_t w_t(i) w_t(j) g_t(i, j)}{\sum_t w_t(i) w_t(j)},
        \quad w_t(i) = \max(0, 1 - (d(i, i_t) / \text{bandwidth})^2),

    where the distance of two users is :math:`2 / \pi` times the angle between their vectors in a base model, and that
    of two items likewise. All local models are fitted jointly, by minimising

    .. math:: \sum_i N_i^{-1/2} \sum_{(j,k):\, r_{ij} > r_{ik}} L(s_{ij} - s_{ik}, r_{ij} - r_{ik})

    plus ridges. Pairs that were written down, by :meth:`Comparisons.split` for instance, are used as they are.

    The authors' program takes gradient steps from a random start. This class uses L-BFGS from the base model, so the
    objective never rises. The base model minimises the same loss with one model for all users; the authors factorise
    the ratings. Local models have a bias. The score is the base model's where no anchor is near; the paper leaves that
    open.

    References
    ----------
    J. Lee, S. Bengio, S. Kim, G. Lebanon, Y. Singer: Local Collaborative Ranking. WWW 2014.

    Examples
    --------
    >>> import rather
    >>> stars = {"user": list("aaabbbccc"), "item": list("xyzxyzxyz"), "rating": [5, 3, 1, 1, 3, 5, 4, 2, 1]}
    >>> model = rather.LCR(anchors=2, rank=1).fit(rather.Comparisons.from_ratings(stars))
    >>> [row.item for row in model.rank("a")]
    ['x', 'y', 'z']
    """

    SCORER = LocalScores
    params: LCRParams

    @accepts(LCRParams)
    def __init__(self, params: LCRParams) -> None:
        self.params = params

    def _fit(self, data: Comparisons) -> Fit:
        n_threads = threads(self.n_threads)
        began = time.perf_counter()
        require_gaps(data.source, "LCR")
        base = gap_problem(
            data.source, rank=int(self._rank), loss=self.loss, reg=self.reg, item_power=0.5, balance=0.5,
            n_threads=n_threads, seed=self.seed,
        )  # fmt: skip
        solve(Newton(base, self.seed), Stop(EVERY_ROUND, BASE_ROUNDS))
        anchors = _draw_anchors(base.store, int(self.anchors), self.seed)
        near_users, near_items = (
            _kernel(vectors[:, : base.rank], own, float(self.bandwidth), n_threads)
            for vectors, own in zip((base.U, base.V), anchors.T, strict=True)
        )
        local = LocalModels(base, near_users, near_items, len(anchors))
        first = LocalScores(
            Factors.packed(base.U, base.V, base.rank), anchors, near_users, near_items, local.U, local.V
        )
        model = self._model_of(data, first, reg=base.reg)

        def assemble() -> FittedModel:
            return replace(model, scorer=first.with_rows(copied(local.U), copied(local.V)))

        yield from in_rounds(LocalDescent(local), Stop(self.tol, self.max_iter), assemble, began=began)

    @property
    def _local_scores(self) -> LocalScores:
        scorer = self.fitted.scorer
        assert isinstance(scorer, LocalScores)
        return scorer

    @property
    def rank_(self) -> int:
        """Number of dimensions of each local model."""
        return self._local_scores.base.rank

    @property
    def anchors_(self) -> list[tuple[Any, Any]]:
        """The users and items of the anchors."""
        fitted = self.fitted
        assert isinstance(fitted.scorer, LocalScores)
        return [(fitted.users.ids[i], fitted.items.ids[j]) for i, j in fitted.scorer.anchors]


class LocalModels:
    """The local models as one function of one vector x.

    x holds the vectors u_i^t, then the vectors v_j^t with the biases b_j^t, each times the square root of its ridge:
    the objective is the loss plus |x|^2 / 2. The start and the data are those of the base problem.
    """

    def __init__(self, base: Problem, near_users: FloatArray, near_items: FloatArray, n_anchors: int) -> None:
        self.base = base
        store, q, r = base.store, n_anchors, base.rank
        columns = q * (r + 1)
        self.U, self.V = factor(store.n_users, columns), factor(store.n_items, columns)
        self._U_slopes, self._V_slopes = np.empty_like(self.U), np.empty_like(self.V)

        weight, squares = self._products(near_users, near_items), self._products(near_users**2, near_items**2)
        near = weight > 0
        self._inverse = np.divide(1, weight, out=np.zeros_like(weight), where=near)
        share = float((squares[near] * self._inverse[near] ** 2).mean(dtype=np.float64)) if near.any() else 1.0
        self._elsewhere = np.where(near, np.float32(0), self._products(base.U, base.V))

        item_ridge = np.column_stack((np.repeat(base.q[:, None], r, axis=1), base.beta))
        self._user_root = np.sqrt(np.float32(share) * base.p)[:, None, None]
        self._item_root = np.sqrt(np.float32(share) * item_ridge)[:, None, :]
        self._near_users, self._near_items = near_users[:, :q, None], near_items[:, :q, None]
        # Rows of U and V by anchor; the bias is against the user's weight alone.
        self._by_anchor(self.U)[:, :, r] = near_users[:, :q]

    def start(self) -> FloatArray:
        """Every local model at the base model, where it has any weight."""
        r = self.base.rank
        U = (self._near_users > 0) * self._user_root * self.base.U[:, None, :r]
        V = (self._near_items > 0) * self._item_root * self.base.V[:, None, : r + 1]
        return np.concatenate((U.ravel(), V.ravel()))

    def place(self, x: FloatArray) -> None:
        """U and V from x."""
        U, V = self._split(x)
        np.multiply(U, self._near_users / self._user_root, out=self._by_anchor(self.U)[:, :, :-1])
        np.multiply(V, self._near_items / self._item_root, out=self._by_anchor(self.V))

    def value_and_gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        base = self.base
        self.place(x)
        core.scores(base.store, self.U, self.V, base.m, base.n_threads)
        base.m *= self._inverse
        base.m += self._elsewhere
        value = base.evaluate() + 0.5 * float(np.square(x, dtype=np.float64).sum())
        slopes = base.c * self._inverse
        core.user_products(base.store, slopes, self.V, self._U_slopes, base.n_threads)
        core.item_products(base.store, slopes, self.U, self._V_slopes, base.n_threads)
        gradient = x.copy()
        U, V = self._split(gradient)
        U += self._by_anchor(self._U_slopes)[:, :, :-1] * (self._near_users / self._user_root)
        V += self._by_anchor(self._V_slopes) * (self._near_items / self._item_root)
        return value, gradient

    def _products(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """A row of A times one of B, for every (user, item seen)."""
        out = np.empty(self.base.store.n_entries, np.float32)
        core.scores(self.base.store, A, B, out, self.base.n_threads)
        return out

    def _by_anchor(self, A: FloatArray) -> FloatArray:
        """A view of the rows of a packed matrix as one row of r + 1 numbers per anchor."""
        q, width = self._near_users.shape[1], self.base.rank + 1
        return A[:, : q * width].reshape(len(A), q, width)

    def _split(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        store, q, r = self.base.store, self._near_users.shape[1], self.base.rank
        users = store.n_users * q * r
        return x[:users].reshape(-1, q, r), x[users:].reshape(-1, q, r + 1)


class LocalDescent:
    """Steps of L-BFGS on all local models at once."""

    def __init__(self, local: LocalModels) -> None:
        self.local, self.descent = local, LBFGS(local.value_and_gradient, local.start())

    def round(self) -> Record:
        try:
            return self.descent.round()
        finally:
            self.local.place(self.descent.x)  # a trial that was interrupted, or not lower, had moved the factors


def _is_weight(near: FloatArray) -> Any:
    """Whether quotients by products of these are finite for factors that a file may hold."""
    return (near == 0) | ((near >= LEAST_WEIGHT) & (near <= 1))


def _draw_anchors(store: Any, n: int, seed: int) -> Codes:
    """(user, item) codes of n entries of the store, or of all if there are fewer."""
    entry = np.random.default_rng(seed).permutation(store.n_entries)[:n]
    user = np.searchsorted(store.start, entry, side="right") - 1
    return np.column_stack((user, store.item[entry])).astype(np.int32)


def _kernel(vectors: FloatArray, anchors: Codes, bandwidth: float, n_threads: int) -> FloatArray:
    """The weight of every row near every anchor's row. A vector of zeros is at a right angle to everything."""
    unit = _padded(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30))
    cosine = np.empty(len(unit) * len(anchors), np.float32)
    rows, columns = np.repeat(np.arange(len(unit), dtype=np.int32), len(anchors)), np.tile(anchors, len(unit))
    core.score_pairs(unit, rows, unit, columns, cosine, n_threads)
    distance = 2 / np.pi * np.arccos(np.clip(cosine, -1, 1))
    weight = 1 - (distance / np.float32(bandwidth)) ** 2
    return _padded(np.where(weight >= LEAST_WEIGHT, weight, 0).reshape(len(unit), -1))


def _padded(A: Any) -> FloatArray:
    out = factor(*A.shape)
    out[:, : A.shape[1]] = A
    return out
