"""Person: a new user of a factor model, with scores, rankings, probabilities and intervals."""

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
    """Hold a new user of a model: scores, rankings, probabilities, intervals.

    :meth:`AltSVM.fold_in` returns it. It keeps the state of the model it came from.

    Parameters
    ----------
    model : Estimator
        The model that the user was added to.
    u : array
        The user's vector, with 1 for the bias.
    answers : list
        The answers given.
    met : array of int
        Codes of the items in the answers.
    reluctance : callable
        Returns the user's reluctance to decide.
    believed : callable
        Returns the posterior.

    Attributes
    ----------
    model : Estimator
        The model that the user was added to.
    answers : list of tuple
        The answers: (winner, loser), (item, item, "tie") or (item, rating). For clicks: the items.
    factors : array of shape (rank,)
        The user's vector.

    See Also
    --------
    AltSVM.fold_in : Add a new user from a few answers.
    next_question : Return the most informative pair to ask this user.

    Examples
    --------
    >>> import rather
    >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=100, n_items=30, rank=2).comparisons)
    >>> person = model.fold_in([("item 1", "item 2")])
    >>> person
    Person: 1 answers
    >>> len(person.recommend(k=3, exclude="seen"))
    3
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
        """Reluctance to decide, relative to the typical user; 1 for models without ties."""
        if self.model._knows_ties():
            self.model._calibrated()
        own = self._reluctance()
        return 1.0 if own is None else float(own[0])

    @property
    def factors(self) -> FloatArray:
        """The user's vector, read-only."""
        return read_only(self._u[0, : self.model.rank_])

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
        Person.rank : Rank all items.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=1).fit(rather.simulate(n_users=10, n_items=4, rank=1, per_user=3).comparisons)
        >>> person = model.fold_in([("item 1", "item 2"), ("item 1", "item 3")])
        >>> person.score(["item 1", "item 2"]).shape
        (2,)
        """
        return score_rows(
            self._u, self.model.fitted.scorer.V, threads(self.model.n_threads), self.model._item_codes(items)
        )

    def reward(self, features: Any) -> FloatArray:
        """Score things by their features, for this user.

        Parameters
        ----------
        features : table or array of shape (n, columns)
            Features of the things, as in :meth:`AltSVM.reward`.

        Returns
        -------
        array of float
            One score for each thing.

        See Also
        --------
        AltSVM.reward : The same for users of the model.

        Examples
        --------
        >>> import rather
        >>> comparisons = rather.simulate(n_users=10, n_items=4, rank=1, per_user=3).comparisons
        >>> features = {"item": comparisons.items, "price": [1.0, 2.0, 2.5, 4.0]}
        >>> person = rather.AltSVM(rank=1).fit(comparisons, item_features=features).fold_in([("item 1", "item 2")])
        >>> person.reward({"item": ["new", "newer"], "price": [3.0, 5.0]}).shape
        (2,)
        """
        out: FloatArray = self.model._rewards(self._u, np.zeros(1, np.int32), features)[0]
        return out

    def probability(self, left: Any, right: Any, side: str | None = None, covariates: Any = None) -> Any:
        """Predict which of two items the user prefers, or how likely a tie is.

        Parameters
        ----------
        left : id
            The first item.
        right : id
            The second item.
        side : {"left", "right"}, optional
            Which item stands first, for models that estimated position bias. Default: neither.
        covariates : dict of float, optional
            The left item's value minus the right item's value, by name. Default: 0.

        Returns
        -------
        float or array of shape (3,)
            Probability that the user prefers the left item. For models of votes with ties: left, tie, right.

        See Also
        --------
        Person.probability_interval : Predict with an interval.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=1).fit(rather.simulate(n_users=10, n_items=4, rank=1, per_user=3).comparisons)
        >>> person = model.fold_in([("item 1", "item 2"), ("item 1", "item 3")])
        >>> person.probability("item 1", "item 2") > 0.5
        True
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
        """Posterior of the user's taste, given the answers."""
        return self._believed()

    def rank(self, items: Any = None, interval: float | None = None, top: int | None = None) -> Table:
        """Rank all items for the user, best first, optionally with ranges of places.

        Parameters
        ----------
        items : list of id, optional
            Items to rank. Default: all items.
        interval : float, optional
            Probability such as 0.9. Adds ranges of places, as in :meth:`AltSVM.rank`. Default: no ranges.
        top : int, optional
            Number of first places for the column p_top. Default: 10, or 3 for fewer than twenty items.

        Returns
        -------
        Table
            Columns item, score, rank; with an interval also best, worst, p_top and group.

        See Also
        --------
        AltSVM.rank : The same for users of the model.
        plot.leaderboard : Draw a ranking with its ranges of places.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=1).fit(rather.simulate(n_users=10, n_items=4, rank=1, per_user=3).comparisons)
        >>> person = model.fold_in([("item 1", "item 2"), ("item 1", "item 3")])
        >>> person.rank(["item 2", "item 1"])["item"].tolist()
        ['item 1', 'item 2']
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
        """Compare the user's preferences with another's, most certain differences first.

        Parameters
        ----------
        other : Person, optional
            Another new user of the same model. Default: the typical user.
        items : list of id, optional
            Items to compare. Default: all items.
        interval : float, default 0.9
            Probability with which each difference is within low and high.

        Returns
        -------
        Table
            Columns item, difference, low, high and probability, as in :meth:`AltSVM.difference`.

        See Also
        --------
        AltSVM.difference : The same for users of the model.
        plot.person : Draw the differences from the typical user.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=1).fit(rather.simulate(n_users=10, n_items=4, rank=1, per_user=3).comparisons)
        >>> person = model.fold_in([("item 1", "item 2"), ("item 1", "item 3")])
        >>> person.difference()[0].probability >= 0.5
        True
        """
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
        """Predict which of two items the user prefers, with an interval.

        Parameters
        ----------
        left : id or list of id
            The first item of each pair.
        right : id or list of id
            The second item of each pair.
        interval : float, default 0.9
            Probability that the interval from low to high contains the true probability, which would follow from exact
            knowledge of the user's taste.
        side : {"left", "right"} or list of these, optional
            Which item stands first, for models that estimated position bias. Default: neither.
        covariates : dict of float, or dict of list of float, optional
            The left item's value minus the right item's value, by name. Default: 0.

        Returns
        -------
        Table
            Columns probability, low, high.

        See Also
        --------
        AltSVM.probability_interval : The same for users of the model.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=1).fit(rather.simulate(n_users=10, n_items=4, rank=1, per_user=3).comparisons)
        >>> person = model.fold_in([("item 1", "item 2"), ("item 1", "item 3")])
        >>> found = person.probability_interval("item 1", "item 2", interval=0.8)[0]
        >>> 0 < found.low < found.probability < found.high < 1
        True
        """
        number("interval", interval, above=0.0, below=1.0)
        a, b = self.model._pair_up(self.model._item_codes(left), self.model._item_codes(right), "left", "right")
        mean, variance = self.posterior.margins(a, b)
        swayed = self.model._swayed_by(side, covariates, len(a))
        made: Table = self.model._table(between(mean + swayed, variance, interval), interval=float(interval))
        return made

    def recommend(self, k: int | None = None, exclude: Any = None, items: Any = None, by: str = "interest") -> Table:
        """Recommend the best items to the user.

        Parameters
        ----------
        k : int, optional
            Number of items. Default: 10, or all items if there are fewer.
        exclude : "seen", list of id or table, optional
            Items to leave out. "seen": the items in the answers. Default: none.
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
        Person.rank : Rank all items.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=1).fit(rather.simulate(n_users=10, n_items=4, rank=1, per_user=3).comparisons)
        >>> person = model.fold_in([("item 1", "item 2"), ("item 1", "item 3")])
        >>> person.recommend(k=1, exclude="seen")["item"].tolist()
        ['item 0']
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
