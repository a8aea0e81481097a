"""One newcomer, as a model of newcomers says of them: scores, rankings and probabilities."""

from __future__ import annotations

from typing import Any

from ..data.tables import Table
from ..errors import InputError
from ..native import FloatArray
from .exclusions import for_one_person


class Newcomer:
    """Made by ``fold_in`` of a model that is not made of vectors alone.

    Attributes
    ----------
    model : estimator
        The model of this person alone: its one user.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._id = model.users_[0]

    def __repr__(self) -> str:
        return f"Newcomer: {len(self.answers)} clicks"

    @property
    def answers(self) -> list[Any]:
        """The items they clicked, or preferred to something."""
        clicked: list[Any] = self.model.items_[self.model.seen_[1]].tolist()
        return clicked

    def score(self, items: Any) -> FloatArray:
        """Scores of items."""
        scores: FloatArray = self.model.score([self._id], items)
        return scores

    def probability(self, left: Any, right: Any) -> float:
        """Probability of preferring ``left`` to ``right``."""
        told = self.model.probability([self._id], left, right)
        if len(told) != 1:
            raise InputError(f"probability compares one item with one; {len(told)} pairs were given")
        return float(told[0])

    def rank(self, items: Any = None, interval: float | None = None, top: int | None = None) -> Table:
        """All items, or only some, best first: columns item, score, rank. An ``interval`` is refused."""
        if interval is not None or top is not None:
            raise InputError(f"{type(self.model).__name__} does not know how sure it is of places; fit AltSVM")
        made: Table = self.model.rank(self._id, items=items)
        return made

    def recommend(self, k: int | None = None, exclude: Any = None, items: Any = None, by: str = "interest") -> Table:
        """The k best items to show (10 by default), or of ``items``: columns item, score, rank.

        ``exclude`` are items to leave out (a list or a table of items), or "seen": those clicked. ``by`` is as in
        :meth:`Estimator.recommend`.
        """
        names = self.model.fitted.names
        gone = for_one_person(exclude, names)
        made: Table = self.model.recommend([self._id], k=k, exclude=gone, items=items, by=by)
        columns = {name: column for name, column in made.columns.items() if name != names.get("user", "user")}
        return Table(columns, made.frame_kind, made.about)
