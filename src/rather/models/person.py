"""What a model says of a newcomer: scores, rankings and probabilities of one vector."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..data.ids import Codes, as_ids, read_only
from ..data.tables import Table
from ..errors import InputError, number, one_of
from ..native import FloatArray, threads
from .belief import Belief, between
from .exclusions import exclusions, for_one_person
from .interest import INTEREST
from .places import check
from .scorers import best_rows, score_rows


class Person:
    """Made by ``fold_in`` of a model.

    Attributes
    ----------
    factors : array of shape (rank,)
    answers : list of (winner, loser) and (item, item, "tie"), or of (item, rating)
    """

    def __init__(
        self,
        model: Any,
        u: FloatArray,
        answers: list[Any],
        met: Codes,
        reluctance: Callable[[], FloatArray | None],
        believed: Callable[[], Belief],
    ) -> None:
        self.model = model  # a copy: the model they came from, whatever is fitted later
        self.answers, self._reluctance, self._believed = answers, reluctance, believed
        self._u, self._met = u, met  # the items in the answers

    def __repr__(self) -> str:
        return f"Person: {len(self.answers)} answers"

    @property
    def reluctance(self) -> float:
        """To decide, beside the typical person's; 1 where the model knows nothing of ties."""
        if self.model._knows_ties():
            self.model._calibrated()
        own = self._reluctance()
        return 1.0 if own is None else float(own[0])

    @property
    def factors(self) -> FloatArray:
        return read_only(self._u[0, : self.model.rank_])

    def score(self, items: Any) -> FloatArray:
        """Scores of items."""
        return score_rows(
            self._u, self.model.fitted.scorer.V, threads(self.model.n_threads), self.model._item_codes(items)
        )

    def reward(self, features: Any) -> FloatArray:
        """Scores of things that need not be items of the model, from their features: see :meth:`AltSVM.reward`."""
        out: FloatArray = self.model._rewards(self._u, np.zeros(1, np.int32), features)[0]
        return out

    def probability(self, left: Any, right: Any, side: str | None = None, covariates: Any = None) -> Any:
        """Probability of preferring ``left`` to ``right``; of left, a tie and right where people tied.

        ``side`` and ``covariates`` are as in :meth:`AltSVM.probability`.
        """
        a, b = self.score(left), self.score(right)
        if len(a) != 1 or len(b) != 1:
            raise InputError(f"probability compares one item with one, not {len(a)} with {len(b)}")
        met = set(self._met.tolist())
        unmet = sum(int(self.model._item_codes(item)[0]) not in met for item in (left, right))
        now = self.model._calibrated()
        margin = a[0] - b[0] + now._surroundings(side, covariates, 1)[0] @ np.array([*now.context_effects_.values()])
        told = now.fitted.slope.found.told(margin, len(met), unmet, self.reluctance)
        return told if told.ndim else float(told)

    @cached_property
    def posterior(self) -> Belief:
        """What is known of how much items are worth to them, in the model's codes of items."""
        return self._believed()

    def rank(self, items: Any = None, interval: float | None = None, top: int | None = None) -> Table:
        """All items, or only some, best first: columns item, score, rank.

        With an ``interval`` also how sure that is, as in :meth:`AltSVM.rank`.
        """
        among = self.model._candidates(items)
        if interval is None:
            if top is not None:
                raise InputError("top is told with an interval: rank(interval=0.9, top=3)")
            return self._best(len(among), None, among)
        top = check(interval, top, len(among))
        made: Table = self.model._placed_table(self.model._drawn(self.posterior, among), among, interval, top)
        return made

    def difference(self, other: Any = None, items: Any = None, interval: float = 0.9) -> Table:
        """Where their taste differs from another person's, or from the typical one's: :meth:`AltSVM.difference`."""
        model, among = self.model, self.model._candidates(items)
        if other is not None and (
            not isinstance(other, Person) or not np.array_equal(other.model.items_, model.items_)
        ):
            raise InputError("the other must be a Person of the same model, as fold_in makes them")
        check(interval, None, len(among))
        theirs = (
            model._items_met().offset[among][None]
            if other is None
            else model._drawn(other.posterior, among, other=True)
        )
        made: Table = model._apart(model._drawn(self.posterior, among), theirs, among, interval)
        return made

    def probability_interval(
        self, left: Any, right: Any, interval: float = 0.9, side: Any = None, covariates: Any = None
    ) -> Table:
        """Return the posterior probability of preferring ``left``: see :meth:`AltSVM.probability_interval`."""
        number("interval", interval, above=0.0, below=1.0)
        a, b = self.model._pair_up(self.model._item_codes(left), self.model._item_codes(right), "left", "right")
        mean, variance = self.posterior.margins(a, b)
        swayed = self.model._swayed_by(side, covariates, len(a))
        made: Table = self.model._table(between(mean + swayed, variance, interval), interval=float(interval))
        return made

    def recommend(self, k: int | None = None, exclude: Any = None, items: Any = None, by: str = "interest") -> Table:
        """The k best items to show (10 by default), or of ``items``: columns item, score, rank.

        ``exclude`` are items to leave out (a list or a table of items), or "seen": those in the answers. ``by`` is as
        in :meth:`Estimator.recommend`.
        """
        one_of("by", by, ("interest", "score"))
        among = self.model._candidates(items)
        k = self.model._checked_k(k, len(among), "items")
        seen = np.array([0, len(self._met)], np.int64), self._met
        nobody, names = as_ids([], "the newcomer"), self.model.fitted.names
        excluded, among = exclusions(
            for_one_person(exclude, names), nobody, among, people=self.model.fitted.users,
            items=self.model.fitted.items, seen=lambda: seen, names=names,
        )  # fmt: skip
        return self._best(k, excluded, among, shown=by == "interest")

    def _best(self, k: int, excluded: Any, items: Codes, shown: bool = False) -> Table:
        model = self.model
        rows = self._u, model.fitted.scorer.V
        interest = model.fitted.interest if shown else None
        if interest is not None:
            met = np.unique(self._met)
            rows = interest.rows(*rows, model.rank_ + 1, (np.array([0, len(met)]), met))
        one = np.zeros(1, np.int32)
        _, item, score, place = best_rows(rows[0], one, rows[1], k, excluded, items, threads(model.n_threads))
        scale = {} if interest is None else {"scale": INTEREST}
        made: Table = model._table({"item": model.items_[item], "score": score, "rank": place}, **scale)
        return made
