"""Voter: a new user of a VoteRanker, with scores, rankings, probabilities and intervals."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..data.tables import Table
from ..errors import InputError
from .belief import Posterior
from .newcomer import Newcomer
from .tastes import TasteBelief


class Voter(Newcomer):
    """Hold a new user of a VoteRanker: scores, rankings, probabilities, intervals.

    :meth:`VoteRanker.fold_in` returns it. It keeps the state of the model it came from.

    Parameters
    ----------
    model : VoteRanker
        The model whose only user is this one.
    answers : list
        The answers given.

    Attributes
    ----------
    model : VoteRanker
        The model whose only user is this one.
    answers : list of tuple
        The answers: (winner, loser) or (item, item, "tie").

    See Also
    --------
    VoteRanker.fold_in : Add a new user from a few answers.
    next_question : Return the most informative pair to ask this user.

    Examples
    --------
    >>> import rather
    >>> votes = rather.simulate(n_users=40, n_items=10, rank=2, per_user=10).comparisons
    >>> person = rather.VoteRanker(max_iter=40).fit(votes).fold_in([("item 1", "item 2")])
    >>> person
    Voter: 1 answers
    >>> person.probability("item 1", "item 2") > 0.5
    True
    """

    def __init__(self, model: Any, answers: list[Any]) -> None:
        super().__init__(model)
        self._answers = answers

    def __repr__(self) -> str:
        return f"Voter: {len(self._answers)} answers"

    @property
    def answers(self) -> list[Any]:
        """The answers given."""
        return self._answers

    @cached_property
    def posterior(self) -> Posterior:
        """Posterior of the user's utilities, given the answers."""
        scorer = self.model.fitted.scorer
        return TasteBelief(scorer.draws, scorer.votes, 0)

    def probability(self, left: Any, right: Any, side: str | None = None, covariates: Any = None) -> float:
        """Predict which of two items the user prefers.

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
        float
            Probability that the user prefers the left item.

        See Also
        --------
        Voter.probability_interval : Predict with an interval.

        Examples
        --------
        >>> import rather
        >>> world = rather.simulate(n_users=30, n_items=6, rank=2, per_user=15, seed=0)
        >>> model = rather.VoteRanker(rank=2, max_iter=100).fit(world.comparisons)
        >>> voter = model.fold_in([("item 1", "item 2"), ("item 1", "item 3")])
        >>> voter.probability("item 1", "item 2") > 0.5
        True
        """
        told = self.model.probability([self._id], left, right, side, covariates)
        if len(told) != 1:
            raise InputError(f"probability compares one item with one; {len(told)} pairs were given")
        return float(told[0])

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
            Probability that the interval from low to high contains the true probability.
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
        VoteRanker.probability_interval : The same for users of the model.

        Examples
        --------
        >>> import rather
        >>> world = rather.simulate(n_users=30, n_items=6, rank=2, per_user=15, seed=0)
        >>> model = rather.VoteRanker(rank=2, max_iter=100).fit(world.comparisons)
        >>> voter = model.fold_in([("item 1", "item 2"), ("item 1", "item 3")])
        >>> row = voter.probability_interval("item 1", "item 2")[0]
        >>> row.low < row.probability < row.high
        True
        """
        made: Table = self.model.probability_interval([self._id], left, right, interval, side, covariates)
        return made

    def rank(self, items: Any = None, interval: float | None = None, top: int | None = None) -> Table:
        """Rank all items for the user, best first, optionally with ranges of places.

        Parameters
        ----------
        items : list of id, optional
            Items to rank. Default: all items.
        interval : float, optional
            Probability such as 0.9. Adds ranges of places, as in :meth:`VoteRanker.rank`. Default: no ranges.
        top : int, optional
            Number of first places for the column p_top. Default: 10, or 3 for fewer than twenty items.

        Returns
        -------
        Table
            Columns item, score, rank; with an interval also best, worst, p_top and group.

        See Also
        --------
        VoteRanker.rank : The same for users of the model.

        Examples
        --------
        >>> import rather
        >>> world = rather.simulate(n_users=30, n_items=6, rank=2, per_user=15, seed=0)
        >>> model = rather.VoteRanker(rank=2, max_iter=100).fit(world.comparisons)
        >>> voter = model.fold_in([("item 1", "item 2"), ("item 1", "item 3")])
        >>> list(voter.rank(interval=0.9).columns)[:5]
        ['item', 'score', 'rank', 'best', 'worst']
        """
        made: Table = self.model.rank(self._id, items=items, interval=interval, top=top)
        return made

    def difference(self, other: Any = None, items: Any = None, interval: float = 0.9) -> Table:
        """Compare the user's preferences with another's, most certain differences first.

        Parameters
        ----------
        other : Voter, optional
            Another new user of the same model. Default: the typical user.
        items : list of id, optional
            Items to compare. Default: all items.
        interval : float, default 0.9
            Probability with which each difference is within low and high.

        Returns
        -------
        Table
            Columns item, difference, low, high and probability, as in :meth:`VoteRanker.difference`.

        See Also
        --------
        VoteRanker.difference : The same for users of the model.

        Examples
        --------
        >>> import rather
        >>> world = rather.simulate(n_users=30, n_items=6, rank=2, per_user=15, seed=0)
        >>> model = rather.VoteRanker(rank=2, max_iter=100).fit(world.comparisons)
        >>> voter = model.fold_in([("item 1", "item 2"), ("item 1", "item 3")])
        >>> voter.difference()[0].probability > 0.5
        True
        """
        if other is not None and (
            not isinstance(other, Voter)
            or not np.array_equal(other.model.fitted.scorer.means, self.model.fitted.scorer.means)
        ):
            raise InputError("the other must be a Voter of the same model, as fold_in makes them")
        made: Table = self.model._different(self.posterior, None if other is None else other.posterior, items, interval)
        return made
