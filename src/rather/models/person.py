"""What a model says of a newcomer: scores, rankings and probabilities of one vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.ids import Codes
from ..data.tables import Table
from ..errors import InputError
from ..logistic import sigmoid
from ..native import FloatArray, threads
from .factors import FactorModel, best_rows, score_rows


class Person:
    """Made by ``fold_in`` of a model.

    Attributes
    ----------
    factors : array of shape (rank,)
    answers : list of (winner, loser)
    """

    def __init__(self, model: FactorModel, u: FloatArray, answers: list[tuple[Any, Any]]) -> None:
        self.model = model._frozen()  # the state they came from, whatever is fitted later
        self.answers = answers
        self._u = u

    def __repr__(self) -> str:
        return f"Person: {len(self.answers)} answers"

    @property
    def factors(self) -> FloatArray:
        return self._u[0, : self.model.rank_]

    def score(self, items: Any) -> FloatArray:
        """Scores of items."""
        return score_rows(self._u, self.model.V_, threads(self.model.n_threads), self.model._item_codes(items))

    def probability(self, left: Any, right: Any) -> float:
        """Probability of preferring ``left`` to ``right``."""
        a, b = self.score(left), self.score(right)
        if len(a) != 1 or len(b) != 1:
            raise InputError(f"probability compares one item with one, not {len(a)} with {len(b)}")
        return float(sigmoid(self._slope() * (a[0] - b[0])))

    def _slope(self) -> float:
        if self.model.slope_ is None:
            self.model.calibrate()
        slope = self.model.slope_
        assert slope is not None
        return slope

    def rank(self, items: Any = None) -> Table:
        """All items, or only some, best first: columns item, score, rank."""
        among = self.model._candidates(items)
        return self._best(len(among), None, among)

    def recommend(self, k: int = 10, exclude: Any = None, items: Any = None) -> Table:
        """The k best items (of ``items``, if given) without those in ``exclude``: columns item, score, rank."""
        among = self.model._candidates(items)
        self.model._check_k(k, len(among), "items")
        gone = None if exclude is None else self.model._item_codes(exclude)
        return self._best(k, None if gone is None else (np.array([0, len(gone)], np.int64), gone), among)

    def _best(self, k: int, excluded: Any, items: Codes) -> Table:
        model = self.model
        one = np.zeros(1, np.int32)
        _, item, score, place = best_rows(self._u, one, model.V_, k, excluded, items, threads(model.n_threads))
        return model._table({"item": model.items_[item], "score": score, "rank": place})
