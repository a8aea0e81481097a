"""ClickRanker: the sum of item-item weights and a low-rank model, learned from clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.ids import Codes, read_only
from ..data.source import plural
from ..errors import Domain
from ..native import FloatArray, threads
from ..solving.certificate import Certificate
from ..solving.item_item import ItemWeights, item_weights
from .altsvm import AltSVM
from .clicked import ClickModel, require_clicks
from .exclusions import select
from .factors import LARGEST
from .files import about_model, assembled
from .parameters import MOST_RANK, N_THREADS, SEED, VERBOSE, Parameter, Params, accepts
from .state import of_one_moment

SCALED_ON = 512  # people, by whom the two parts are brought to one scale
WEIGHTS = "item_inputs", "item_weights", "item_typical"

CLICK_RANK = Parameter(
    Domain(int, at_least=1, at_most=MOST_RANK, none=True),
    "Number of taste dimensions of the low-rank part. None: 100. Fewer make smaller files and faster fits.",
    "method",
)
ITEM_RIDGE = Parameter(
    Domain(float, above=0, at_most=1e6),
    "Ridge of the item-item weights, times the scale of the data, trace(A) / sqrt(number of clicks). Larger values "
    "rely less on rare pairs of items.",
)
MIX = Parameter(
    Domain(float, at_least=0, at_most=1e6),
    "Standard deviation of the low-rank part, relative to the item-item part. 0 leaves it out of the scores.",
)


BLAS_THREADS = Parameter(
    N_THREADS.domain,
    "Number of threads. None: as many as the process may keep busy. LAPACK and BLAS, which compute the item-item "
    "weights, have threads of their own.",
    "run",
)


@dataclass(frozen=True)
class ClickRankerParams(Params):
    """The parameters of :class:`ClickRanker`."""

    rank: int | None = CLICK_RANK(None)
    ridge: float = ITEM_RIDGE(1.0)
    mix: float = MIX(0.5)
    n_threads: int | None = BLAS_THREADS(None)
    seed: int = SEED(0)
    verbose: bool = VERBOSE(False)


class ClickRanker(ClickModel):
    r"""Learn a personal ranking of all items for every user, from clicks.

    A score is the sum of two parts. Item-item weights say which items are clicked together, even if few users clicked
    them. A low-rank model, :class:`AltSVM` on the same clicks, says what whole tastes have in common. On held-out
    clicks the sum is better than either part.

    Use :class:`AltSVM` for votes and ratings. A fit needs memory for the weights: at most 1 GiB, and three times that
    while fitting.

    Parameters
    ----------
    rank : int or None, default None
        Number of taste dimensions of the low-rank part. None: 100. Fewer make smaller files and faster fits.
    ridge : float, default 1.0
        Ridge of the item-item weights, times the scale of the data, trace(A) / sqrt(number of clicks). Larger values
        rely less on rare pairs of items.
    mix : float, default 0.5
        Standard deviation of the low-rank part, relative to the item-item part. 0 leaves it out of the scores.
    n_threads : int or None, default None
        Number of threads. None: as many as the process may keep busy. LAPACK and BLAS, which compute the item-item
        weights, have threads of their own.
    seed : int, default 0
        Seed of all random draws. A different seed gives a different start and other held-out answers.
    verbose : bool, default False
        Whether to show a progress bar.

    Attributes
    ----------
    users_, items_ : array of id
        Ids of the users and items.
    low_rank_ : AltSVM
        The low-rank part, a model of its own.
    item_weights_ : array of shape (n_inputs, n_items)
        The item-item weights. A row says what a click on one item adds to the scores of all items.
    inputs_ : array of shape (n_inputs,)
        Codes of the rows of ``item_weights_``: the most clicked items, at most 10,000.

    See Also
    --------
    Comparisons.from_clicks : Read clicks.
    AltSVM : Learn from votes and ratings.
    EASE : Learn item-item weights alone.
    precision : Measure a model's recommendations.

    Notes
    -----
    The score of item j for user i, who clicked :math:`n_i` items, is

    .. math::

        s_{ij} = \frac{z_i \cdot B_j}{\sigma} + \text{mix}\, \frac{u_i \cdot v_j + b_j}{\sigma'},
        \quad z_i = n_i^{-1/4} x_i .

    The row :math:`x_i` holds the user's clicks as zeros and ones. B is a ridge regression of every item's clicks on a
    user's other clicks, in closed form (docs/mathematics.md). The two sigmas are the standard deviations of the parts
    within users. B has a row for each of the 10,000 most clicked items, or fewer where it would exceed 1 GiB. Clicks on
    other items count in the low-rank part only.

    References
    ----------
    H. Steck: Embarrassingly Shallow Autoencoders for Sparse Data. WWW 2019 (a regression of items on items, of which
    this is a weighted kind).

    Examples
    --------
    >>> import rather
    >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
    >>> model = rather.ClickRanker(rank=2).fit(rather.Comparisons.from_clicks(clicks))
    >>> model.recommend("cat", k=1, exclude="seen")["item"].tolist()
    ['milk']
    >>> model.fold_in(["beer"]).recommend(k=1, exclude="seen")["item"].tolist()
    ['cola']
    """

    low_rank_: AltSVM
    _items: ItemWeights
    _typical_items: FloatArray
    _parts: tuple[float, float]  # what scores of the item-item part and of the low-rank part are multiplied by

    params: ClickRankerParams

    @accepts(ClickRankerParams)
    def __init__(self, params: ClickRankerParams) -> None:
        self.params = params

    # -- fitting ------------------------------------------------------------------------------------------------

    def _fit(self, comparisons: Comparisons) -> bool:
        require_clicks(comparisons, "ClickRanker")
        own = {"n_threads": self.n_threads, "seed": self.seed, "verbose": self.verbose, "on_interrupt": "raise"}
        self.low_rank_ = AltSVM(rank=self._rank, **own).fit(comparisons)
        self._set_data(comparisons)
        n_threads = threads(self.n_threads)
        self._items = item_weights(self.seen_, comparisons.n_items, ridge=self.ridge, n_threads=n_threads)
        self._typical_items = self._items.typical(self.seen_)
        self._parts = self._on_one_scale(comparisons.n_users)
        return True

    def _facts(self) -> list[str]:
        return [f"rank {self.low_rank_.rank_}", f"weights of {plural(len(self._items.inputs), 'clicked item')}"]

    def _on_one_scale(self, n_users: int) -> tuple[float, float]:
        """What makes the standard deviations of the two parts 1 and ``mix``, over some people."""
        some = np.unique(np.linspace(0, n_users - 1, min(SCALED_ON, n_users)).astype(np.int32))
        every, varies = np.arange(len(self.items_), dtype=np.int32), np.zeros(2)
        for _, u in self._in_blocks(some):
            for at, part in enumerate((self._rows(u), self.low_rank_._score_block(u, every))):
                varies[at] += float(np.var(part, axis=1, dtype=np.float64).sum())
        items, people = ((1.0 / d) if d > 0 else 1.0 for d in np.sqrt(varies / len(some)).tolist())
        return items, float(self.mix) * people

    @property
    def item_weights_(self) -> FloatArray:
        """Item-item weights, with the rows ``inputs_``, read-only."""
        return read_only(self._frozen()._items.B)

    @property
    def inputs_(self) -> Codes:
        """Codes of the items that have a row of weights, read-only."""
        return read_only(self._frozen()._items.inputs)

    @of_one_moment
    def certificate(self) -> Certificate:
        """Prove how far the low-rank part can be from the best one of any rank.

        The item-item part needs no proof, because it is an exact solution.

        Returns
        -------
        Certificate
            The proof for the low-rank part.

        Raises
        ------
        InputError
            If the model was loaded without its comparisons.

        See Also
        --------
        AltSVM.certificate : The same for AltSVM.
        """
        self._require_fit()
        low = self.low_rank_._frozen()
        if low._fitted_to is None:
            low._fitted_to = self._fitted_to
        return low.certificate()

    # -- scores -------------------------------------------------------------------------------------------------

    def _rows(self, u: Codes) -> FloatArray:
        """The item-item part of some people's scores of every item; of those without clicks everybody's."""
        clicks = select(self.seen_, u)
        scores = self._items.scores(clicks, threads(self.n_threads))
        scores[np.diff(clicks[0]) == 0] = self._typical_items
        return scores

    def _sum(self, of_items: FloatArray, of_people: FloatArray) -> FloatArray:
        items, people = (np.float32(part) for part in self._parts)
        return items * of_items + people * of_people

    def score_codes(self, u: Codes, j: Codes) -> FloatArray:
        """Return scores of pairs of codes.

        Parameters
        ----------
        u : array of int
            Codes of users.
        j : array of int
            Codes of items, as many as users.

        Returns
        -------
        array of float
            One score for each pair.

        See Also
        --------
        Estimator.score : Return scores of pairs of ids.
        """
        return self._sum(super().score_codes(u, j), self.low_rank_.score_codes(u, j))

    def _score_block(self, u: Codes, items: Codes) -> FloatArray:
        return self._sum(super()._score_block(u, items), self.low_rank_._score_block(u, items))

    @of_one_moment
    def average_scores(self) -> FloatArray:
        """Return the scores of the ranking shared by all users.

        Users about whom nothing is known get this ranking.

        Returns
        -------
        array of shape (n_items,)
            One score for each item, in the order of ``items_``.

        See Also
        --------
        Estimator.rank : Rank all items, by default with these scores.
        """
        self._require_fit()
        return self._sum(self._typical_items, self.low_rank_.average_scores())

    # -- newcomers ----------------------------------------------------------------------------------------------

    def _with_newcomers(self, said: Comparisons) -> dict[str, Any]:
        return {"low_rank_": self.low_rank_.fold_in_many(said)}

    # -- files --------------------------------------------------------------------------------------------------

    def _tensors(self) -> dict[str, Any]:
        own = self._items.inputs, self._items.B, self._typical_items
        return {**self.low_rank_._tensors(), **dict(zip(WEIGHTS, own, strict=True))}

    def _about(self) -> dict[str, Any]:
        return {"low_rank": about_model(self.low_rank_), "parts": list(self._parts)}

    def _restore(self, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        seen = {"seen_start": tensors["seen_start"], "seen_item": tensors["seen_item"]}
        low = assembled(AltSVM, {**tensors, **seen}, about["low_rank"], self.user_vocabulary_.ids, self.items_)
        if low is None:
            return False
        inputs, B, self._typical_items = (tensors[name] for name in WEIGHTS)
        self.low_rank_, self._items = low, ItemWeights(inputs, B)
        items, people = about["parts"]
        self._parts = float(items), float(people)
        return (
            self._items.is_sound(len(self.items_), LARGEST)
            and self._typical_items.dtype == np.float32
            and self._typical_items.shape == (len(self.items_),)
            and bool((np.abs(self._typical_items) < LARGEST).all())
            and 0 < self._parts[0] < LARGEST
            and 0 <= self._parts[1] < LARGEST
        )
