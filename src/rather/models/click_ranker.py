"""ClickRanker: clicks from two sides, which items go together and which people are alike, added up."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.ids import Codes, read_only
from ..errors import number
from ..native import FloatArray, threads
from ..solving.certificate import Certificate
from ..solving.item_item import ItemWeights, item_weights
from .altsvm import AltSVM
from .clicked import ClickModel, ClickScorer, require_clicks
from .exclusions import Rows, select
from .files import about_model, assembled
from .fitted import FittedModel
from .scorers import LARGEST, in_blocks

SCALED_ON = 512  # people, by whom the two parts are brought to one scale
WEIGHTS = "item_inputs", "item_weights", "item_typical"


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
    """Personal rankings from clicks: item-item weights plus the low-rank model of the comparisons.

        s_ij = z_i . B_j / sigma + mix (u_i . v_j + b_j) / sigma',    z_i = n_i^-1/4 x_i

    x_i are the n_i clicks of person i, zeros and ones; B the weights by which every item's clicks are best predicted
    from a person's other clicks, a ridge regression in closed form (docs/mathematics.md); u, v and b those of
    :class:`AltSVM` on the same comparisons. sigma and sigma' are the standard deviations of the two parts within
    people. The one knows which two items go together, however few clicked both; the other what whole tastes have in
    common. Of held-out clicks the sum finds more than either.

    It takes the memory of B: a row for each of the 10,000 most clicked items or, where there are more than 26,843, of
    2^28 / (number of items), and a column for every item; in all 1 GiB at most, a file as much, a fit about three times
    that; beside it, that of a fit of AltSVM. The other items' clicks count in the low-rank part alone.

    Parameters
    ----------
    rank : int, optional
        Length of the vectors of the low-rank part; None: 100, as for :class:`AltSVM`.
    ridge : float
        Of the item-item weights, times the scale of the data, trace(A) / sqrt(number of clicks).
    mix : float
        The standard deviation of the low-rank part beside that of the other; 0 leaves it out of the scores.
    n_threads : int, optional
        All cores by default. The item-item weights are LAPACK's and BLAS's, which have threads of their own.
    seed : int
        Of the low-rank part's start, and of the clicks put aside for probabilities.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    low_rank_ : AltSVM
        The low-rank part, a model of its own.
    item_weights_ : array of shape (n_inputs, n_items)
        B; its rows are those of the items ``items_[inputs_]``.
    inputs_ : array of shape (n_inputs,)
    users_, items_
        See :class:`Estimator`.

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

    def __init__(
        self,
        rank: int | None = None,
        ridge: float = 1.0,
        mix: float = 0.5,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self._store_params(locals())

    def scorer(self, data: Comparisons) -> ClickScores:
        number("ridge", self.ridge, above=0, at_most=1e6)
        number("mix", self.mix, at_least=0, at_most=1e6)
        require_clicks(data, "ClickRanker")
        own = {"n_threads": self.n_threads, "seed": self.seed, "verbose": self.verbose, "on_interrupt": "raise"}
        low_rank = AltSVM(rank=self._rank, **own).fit(data)
        n_threads, seen = threads(self.n_threads), data.source.met()
        items = item_weights(seen, data.n_items, ridge=self.ridge, n_threads=n_threads)
        made = ClickScores(low_rank, items, items.typical(seen), seen)
        made.parts = made.on_one_scale(float(self.mix), n_threads)
        return made

    @property
    def _click_scores(self) -> ClickScores:
        scorer = self.fitted.scorer
        assert isinstance(scorer, ClickScores)
        return scorer

    @property
    def low_rank_(self) -> AltSVM:
        return self._click_scores.low_rank

    @property
    def item_weights_(self) -> FloatArray:
        return read_only(self._click_scores.items.B)

    @property
    def inputs_(self) -> Codes:
        return read_only(self._click_scores.items.inputs)

    def certificate(self) -> Certificate:
        """How far the low-rank part is, at most, from the best one of any rank: see :class:`Certificate`.

        The item-item part needs none: it is the solution.
        """
        low, fitted = copy(self.low_rank_), self.fitted
        if low.fitted.training is None:
            low = low._with(replace(low.fitted, training=fitted.training))
        return low.certificate()
