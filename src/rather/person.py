"""A newcomer: a vector solved from a few answers, and what the model says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InputError
from .native import FloatArray, core, threads
from .problem import sigmoid
from .tables import Table

if TYPE_CHECKING:
    from .model import FactorModel


class Person:
    """Made by :meth:`FactorModel.fold_in`.

    Attributes
    ----------
    factors : array of shape (rank,)
    answers : list of (winner, loser)
    """

    def __init__(self, model: FactorModel, u: FloatArray, answers: list[tuple[Any, Any]]) -> None:
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
        return self.model._ranking(self._u)

    def recommend(self, k: int = 10, exclude: Any = None) -> Table:
        """The k best items, those in ``exclude`` (a list of ids) left out: columns item, score, rank."""
        gone = None if exclude is None else self.model._item_codes(exclude)
        starts = None if gone is None else (np.array([0, len(gone)], np.int64), gone)
        table = self.model._recommend(self._u, np.zeros(1, np.int32), np.array([""], dtype=object), k, starts)
        return Table({name: table[name] for name in ("item", "score", "rank")}, table.frame_kind)
