"""ClickRanker: the sum of item-item weights and a low-rank model, learned from clicks."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
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
from .clicked import ClickModel, ClickScorer, require_clicks
from .exclusions import Rows, select
from .files import about_model, assembled
from .fitted import FittedModel
from .parameters import MOST_RANK, N_THREADS, SEED, VERBOSE, Parameter, Params, accepts
from .scorers import LARGEST, in_blocks

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


class ClickScores(ClickScorer):
    """The sum of the item-item part and the low-rank part; ``parts`` are what they are multiplied by."""

    def __init__(
        self,
        low_rank: AltSVM,
        items: ItemWeights,
        typical: FloatArray,
        seen: Rows,
        parts: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        self.low_rank, self.items, self.typical, self.seen, self.parts = low_rank, items, typical, seen, parts
        self.n_items = len(typical)

    def of_newcomers(self, seen: Rows, said: Comparisons) -> ClickScores:
        return ClickScores(self.low_rank.fold_in_many(said), self.items, self.typical, seen, self.parts)

    def on_one_scale(self, mix: float, n_threads: int) -> tuple[float, float]:
        """Return what makes the standard deviations of the two parts 1 and ``mix``, over some people."""
        n_users = len(self.seen[0]) - 1
        some = np.unique(np.linspace(0, n_users - 1, min(SCALED_ON, n_users)).astype(np.int32))
        every, varies = np.arange(self.n_items, dtype=np.int32), np.zeros(2)
        for _, u in in_blocks(some, self.n_items):
            both = self.rows(u, n_threads), self.low_rank.fitted.scorer.block(u, every, n_threads)
            for at, part in enumerate(both):
                varies[at] += float(np.var(part, axis=1, dtype=np.float64).sum())
        items, people = ((1.0 / d) if d > 0 else 1.0 for d in np.sqrt(varies / len(some)).tolist())
        return items, mix * people

    def _sum(self, of_items: FloatArray, of_people: FloatArray) -> FloatArray:
        items, people = (np.float32(part) for part in self.parts)
        return items * of_items + people * of_people

    def rows(self, u: Codes, n_threads: int) -> FloatArray:
        """The item-item part of some people's scores of every item; of those without clicks everybody's."""
        clicks = select(self.seen, u)
        scores: FloatArray = self.items.scores(clicks, n_threads)
        scores[np.diff(clicks[0]) == 0] = self.typical
        return scores

    def scores(self, u: Codes, j: Codes, n_threads: int) -> FloatArray:
        low = self.low_rank.fitted.scorer.scores(u, j, n_threads)
        return self._sum(super().scores(u, j, n_threads), low)

    def block(self, u: Codes, items: Codes, n_threads: int) -> FloatArray:
        low = self.low_rank.fitted.scorer.block(u, items, n_threads)
        return self._sum(super().block(u, items, n_threads), low)

    def average(self, seen: Rows, n_items: int, n_threads: int) -> FloatArray:
        return self._sum(self.typical, self.low_rank.average_scores())

    # -- files --------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Any]:
        own = self.items.inputs, self.items.B, self.typical
        return {**self.low_rank._tensors(), **dict(zip(WEIGHTS, own, strict=True))}

    def about(self) -> dict[str, Any]:
        return {"low_rank": about_model(self.low_rank), "parts": list(self.parts)}

    @classmethod
    def restored(cls, tensors: Mapping[str, Any], about: Mapping[str, Any], fitted: FittedModel) -> ClickScores:
        seen = {"seen_start": tensors["seen_start"], "seen_item": tensors["seen_item"]}
        low = assembled(AltSVM, {**tensors, **seen}, about["low_rank"], fitted.users.ids, fitted.items.ids)
        inputs, B, typical = (tensors[name] for name in WEIGHTS)
        items, parts, n = ItemWeights(inputs, B), tuple(map(float, about["parts"])), len(fitted.items)
        sound = (
            low is not None
            and items.is_sound(n, LARGEST)
            and typical.dtype == np.float32
            and typical.shape == (n,)
            and bool((np.abs(typical) < LARGEST).all())
            and len(parts) == 2
            and 0 < parts[0] < LARGEST
            and 0 <= parts[1] < LARGEST
        )
        if not sound:
            raise ValueError("the parts of the scores do not fit together")
        return cls(low, items, typical, fitted.seen, (parts[0], parts[1]))


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
    user's other clicks, in closed form; see the page "Features and clicks" of the site. The two sigmas are the standard
    deviations of the parts within users. B has a row for each of the 10,000 most clicked items, or fewer where it would
    exceed 1 GiB. Clicks on other items count in the low-rank part only.

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

    SCORER = ClickScores

    params: ClickRankerParams

    @accepts(ClickRankerParams)
    def __init__(self, params: ClickRankerParams) -> None:
        self.params = params

    def scorer(self, data: Comparisons) -> ClickScores:
        """Learn both parts of the scores from clicks; :meth:`fit` calls this.

        Parameters
        ----------
        data : Comparisons
            The clicks to learn from.

        Returns
        -------
        ClickScores
            The sum of the item-item part and the low-rank part.

        Raises
        ------
        InputError
            If the comparisons are not clicks.

        See Also
        --------
        Scorer : Score pairs of users and items.

        Examples
        --------
        >>> import numpy as np, rather
        >>> clicks = {"user": ["ann", "ann", "bob", "bob"], "item": ["tea", "milk", "cola", "beer"]}
        >>> scores = rather.ClickRanker(rank=2).scorer(rather.Comparisons.from_clicks(clicks))
        >>> scores.block(np.array([0], np.int32), np.arange(4, dtype=np.int32), n_threads=1).shape
        (1, 4)
        """
        require_clicks(data, "ClickRanker")
        own = {"n_threads": self.n_threads, "seed": self.seed, "verbose": self.verbose, "on_interrupt": "raise"}
        low_rank = AltSVM(rank=self._rank, **own).fit(data)
        n_threads, seen = threads(self.n_threads), data.source.met()
        items = item_weights(seen, data.n_items, ridge=self.ridge, n_threads=n_threads)
        made = ClickScores(low_rank, items, items.typical(seen), seen)
        made.parts = made.on_one_scale(float(self.mix), n_threads)
        return made

    def _facts(self) -> list[str]:
        scores = self._click_scores
        return [f"rank {scores.low_rank.rank_}", f"weights of {plural(len(scores.items.inputs), 'clicked item')}"]

    @property
    def _click_scores(self) -> ClickScores:
        scorer = self.fitted.scorer
        assert isinstance(scorer, ClickScores)
        return scorer

    @property
    def low_rank_(self) -> AltSVM:
        """The low-rank part of the model."""
        return self._click_scores.low_rank

    @property
    def item_weights_(self) -> FloatArray:
        """Item-item weights, with the rows ``inputs_``, read-only."""
        return read_only(self._click_scores.items.B)

    @property
    def inputs_(self) -> Codes:
        """Codes of the items that have a row of weights, read-only."""
        return read_only(self._click_scores.items.inputs)

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

        Examples
        --------
        >>> import rather
        >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
        >>> model = rather.ClickRanker(rank=2).fit(rather.Comparisons.from_clicks(clicks))
        >>> model.certificate().relative_gap < 1
        True
        """
        low, fitted = copy(self.low_rank_), self.fitted
        if low.fitted.training is None:
            low = low._with(replace(low.fitted, training=fitted.training))
        return low.certificate()
