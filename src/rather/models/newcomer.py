"""Newcomer: a new user of a click model, with scores, rankings and probabilities."""

from __future__ import annotations

from typing import Any

from ..data.tables import Table
from ..errors import InputError
from ..native import FloatArray
from .exclusions import for_one_person
from .places import refuse_places


class Newcomer:
    """Hold a new user of a click model: scores, rankings and probabilities.

    ``fold_in`` of :class:`ClickRanker`, :class:`EASE` or :class:`RP3beta` returns it.

    Parameters
    ----------
    model : Estimator
        The model whose only user is this one.

    Attributes
    ----------
    model : Estimator
        The model whose only user is this one.

    See Also
    --------
    ClickRanker.fold_in : Add a new user from their clicks.

    Examples
    --------
    >>> import rather
    >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
    >>> person = rather.EASE().fit(rather.Comparisons.from_clicks(clicks)).fold_in(["beer"])
    >>> person.recommend(k=1, exclude="seen")["item"].tolist()
    ['cola']
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._id = model.users_[0]

    def __repr__(self) -> str:
        return f"Newcomer: {len(self.answers)} clicks"

    @property
    def answers(self) -> list[Any]:
        """Items that the user clicked, or preferred to another item."""
        clicked: list[Any] = self.model.items_[self.model.seen_[1]].tolist()
        return clicked

    def score(self, items: Any) -> FloatArray:
        """Return the user's scores of items.

        Parameters
        ----------
        items : id or list of id
            The items.

        Returns
        -------
        array of float
            One score for each item.

        See Also
        --------
        Newcomer.rank : Rank all items.

        Examples
        --------
        >>> import rather
        >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
        >>> person = rather.EASE().fit(rather.Comparisons.from_clicks(clicks)).fold_in(["beer"])
        >>> person.score(["tea", "cola"]).shape
        (2,)
        """
        scores: FloatArray = self.model.score([self._id], items)
        return scores

    def probability(self, left: Any, right: Any) -> float:
        """Predict which of two items the user prefers.

        Parameters
        ----------
        left : id
            The first item.
        right : id
            The second item.

        Returns
        -------
        float
            Probability that the user prefers the left item.

        See Also
        --------
        Newcomer.score : Return scores of items.

        Examples
        --------
        >>> import rather
        >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
        >>> person = rather.EASE().fit(rather.Comparisons.from_clicks(clicks)).fold_in(["beer"])
        >>> person.probability("cola", "tea") > 0.5
        True
        """
        told = self.model.probability([self._id], left, right)
        if len(told) != 1:
            raise InputError(f"probability compares one item with one; {len(told)} pairs were given")
        return float(told[0])

    def rank(self, items: Any = None, interval: float | None = None, top: int | None = None) -> Table:
        """Rank all items for the user, best first.

        Parameters
        ----------
        items : list of id, optional
            Items to rank. Default: all items.
        interval : None
            Refused: click models have no posterior for one user.
        top : None
            Refused, as is ``interval``.

        Returns
        -------
        Table
            Columns item, score, rank.

        See Also
        --------
        Newcomer.recommend : Recommend the best items.

        Examples
        --------
        >>> import rather
        >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
        >>> person = rather.EASE().fit(rather.Comparisons.from_clicks(clicks)).fold_in(["beer"])
        >>> person.rank(["tea", "cola"])["item"].tolist()
        ['cola', 'tea']
        """
        if interval is not None or top is not None:
            refuse_places(self.model)
        made: Table = self.model.rank(self._id, items=items)
        return made

    def recommend(self, k: int | None = None, exclude: Any = None, items: Any = None, by: str = "interest") -> Table:
        """Recommend the best items to the user.

        Parameters
        ----------
        k : int, optional
            Number of items. Default: 10, or all items if there are fewer.
        exclude : "seen", list of id or table, optional
            Items to leave out. "seen": the items the user clicked. Default: none.
        items : list of id, optional
            Items that may be recommended. Default: all items.
        by : {"interest", "score"}, default "interest"
            Order of the list, as in :meth:`Estimator.recommend`.

        Returns
        -------
        Table
            Columns item, score, rank.

        See Also
        --------
        Newcomer.rank : Rank all items.

        Examples
        --------
        >>> import rather
        >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
        >>> person = rather.EASE().fit(rather.Comparisons.from_clicks(clicks)).fold_in(["beer"])
        >>> person.recommend(k=1, exclude="seen")["item"].tolist()
        ['cola']
        """
        names = self.model.fitted.names
        gone = for_one_person(exclude, names)
        made: Table = self.model.recommend([self._id], k=k, exclude=gone, items=items, by=by)
        columns = {name: column for name, column in made.columns.items() if name != names.get("user", "user")}
        return Table(columns, made.frame_kind, made.about)
