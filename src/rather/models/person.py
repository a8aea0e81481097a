"""A newcomer: a vector solved from a few answers, and what the model says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.tables import Table
from ..errors import InputError
from ..logistic import sigmoid
from ..native import FloatArray, core, threads
from .factors import best_rows

if TYPE_CHECKING:
    from .newcomers import FoldInModel


class Person:
    """Made by :meth:`FoldInModel.fold_in`.

    Attributes
    ----------
    factors : array of shape (rank,)
    answers : list of (winner, loser)
    """

    def __init__(self, model: FoldInModel, u: FloatArray, answers: list[tuple[Any, Any]]) -> None:
        self.model = model
        self.answers = answers
        self._u = u

    def __repr__(self) -> str:
        return f"Person: {len(self.answers)} answers"

    @property
    def factors(self) -> FloatArray:
        return self._u[0, : self.model.rank_]

    def score(self, items: Any) -> FloatArray:
        """Scores of items."""
        j = self.model._item_codes(items)
        out = np.empty(len(j), np.float32)
        core.score_pairs(self._u, np.zeros(len(j), np.int32), self.model.V_, j, out, threads(self.model.n_threads))
        return out

    def probability(self, left: Any, right: Any) -> float:
        """Probability of preferring ``left`` to ``right``."""
        a, b = self.score(left), self.score(right)
        if len(a) != 1 or len(b) != 1:
            raise InputError(f"probability compares one item with one, not {len(a)} with {len(b)}")
        return float(sigmoid(self.model.slope_ * (a[0] - b[0])))

    def rank(self) -> Table:
        """All items, best first: columns item, score, rank."""
        return self._best(len(self.model.items_), None)

    def recommend(self, k: int = 10, exclude: Any = None) -> Table:
        """The k best items, those in ``exclude`` (a list of ids) left out: columns item, score, rank."""
        self.model._check_k(k, len(self.model.items_), "items")
        gone = None if exclude is None else self.model._item_codes(exclude)
        return self._best(k, None if gone is None else (np.array([0, len(gone)], np.int64), gone))

    def _best(self, k: int, excluded: Any) -> Table:
        model = self.model
        one = np.zeros(1, np.int32)
        _, item, score, place = best_rows(self._u, one, model.V_, k, excluded, threads(model.n_threads))
        return Table({"item": model.items_[item], "score": score, "rank": place}, model.frame_kind_)
