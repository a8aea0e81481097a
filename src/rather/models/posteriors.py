"""The base class of models with a posterior of each user's utilities: ranges of places, differences, intervals."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ..data.ids import Codes
from ..data.tables import Table
from ..errors import InputError, number
from . import places
from .belief import Posterior
from .estimator import EVERYONE, Estimator

LOG_ODDS = "log-odds"


class Posteriors(Estimator):
    """Add intervals and differences to a model that has a posterior of each user's utilities."""

    # -- rankings -----------------------------------------------------------------------------------------------

    def rank(self, user: Any = EVERYONE, items: Any = None, interval: float | None = None, top: Any = None) -> Table:
        """Rank all items for one user, best first, optionally with ranges of places.

        Use :meth:`recommend` for lists for many users, or to leave out items that a user has seen.

        Parameters
        ----------
        user : id, optional
            The user. Default: nobody in particular, which gives the ranking shared by all users.
        items : list of id, optional
            Items to rank. Default: all items.
        interval : float, optional
            Probability such as 0.9. Adds the columns best, worst, p_top and group. The item's place is from best to
            worst with about this probability: ranges end at whole places, and the nearest one is taken. For AltSVM,
            the first range of a single user takes as long as a few fits, and :meth:`save` stores what is found.
            Default: no ranges.
        top : int, optional
            Number of first places for the column p_top. Default: 10, or 3 for fewer than twenty items.

        Returns
        -------
        Table
            Columns item, score, rank. With an interval also best and worst, the range of places; p_top, the probability
            of being among the first ``top``; and group. An item is behind the first item of its group with less than
            that probability. The score is then the posterior mean in log-odds. For AltSVM its order can differ from
            that of :meth:`score`. Report this order, because the ranges belong to it.

        Raises
        ------
        InputError
            If the user or an item is not in the model, or an interval is asked of a model loaded without its
            comparisons.

        See Also
        --------
        plot.leaderboard : Draw a ranking with its ranges of places.
        AltSVM.difference : Compare two users' preferences.
        Estimator.recommend : Recommend the best items to several users.

        Notes
        -----
        The ranges for one user come from the posterior of the user's taste. The ranges of the shared ranking take into
        account which users happened to answer: answers of one user are correlated, and users are independent. See the
        page "Uncertainty" of the site.

        Two items of different groups may still be in the other order. To check a pair, rank it alone, as in
        ``rank(user, items=[a, b], interval=0.9, top=1)``. Then p_top is the probability of being the better one.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=40, n_items=10, rank=2, per_user=20).comparisons)
        >>> list(model.rank("user 7").columns)
        ['item', 'score', 'rank']
        >>> first = model.rank("user 7", interval=0.9)[0]
        >>> first.best <= first.rank <= first.worst
        True
        """
        if interval is None:
            if top is not None:
                raise InputError("top is told with an interval: rank(user, interval=0.9, top=3)")
            return super().rank(user, items)
        return copy(self)._ranked_within(user, items, interval, top)

    def _ranked_within(self, user: Any, items: Any, interval: float, top: Any) -> Table:
        among = self._candidates(items)
        top = places.check(interval, top, len(among))
        if user is EVERYONE or not self._has_tastes():
            if user is not EVERYONE:
                self._user_codes(user)
            draws = self._everyones_draws()[:, among]
        else:
            draws = self._drawn(self._belief(self._one_code(user)), among)
        return self._placed_table(draws, among, interval, top)

    def difference(self, user: Any, other: Any = EVERYONE, items: Any = None, interval: float = 0.9) -> Table:
        """Compare two users' preferences, most certain differences first.

        Parameters
        ----------
        user : id
            The user.
        other : id, optional
            The user to compare with. Default: the typical user.
        items : list of id, optional
            Items to compare. Default: all items.
        interval : float, default 0.9
            Probability with which each difference is within low and high.

        Returns
        -------
        Table
            Columns item; difference, the item's worth to the user minus its worth to the other, in log-odds; low and
            high, its interval; and probability, with which the difference has this sign. If an interval contains 0, the
            sign is uncertain. Worths are relative to the mean of all the items.

        Raises
        ------
        InputError
            If a user or an item is not in the model, or the model was loaded without its comparisons.

        See Also
        --------
        plot.person : Draw one person's differences from the typical user.
        AltSVM.rank : Rank all items for one user.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=40, n_items=10, rank=2, per_user=20).comparisons)
        >>> list(model.difference("user 7", "user 8").columns)
        ['item', 'difference', 'low', 'high', 'probability']
        """
        return copy(self)._difference(user, other, items, interval)

    def _difference(self, user: Any, other: Any, items: Any, interval: float) -> Table:
        u = self._one_code(user)
        v = None if other is EVERYONE else self._one_code(other)
        return self._different(self._belief(u), None if v is None else self._belief(v), items, interval, v != u)

    def _different(
        self, mine: Posterior, theirs: Posterior | None, items: Any, interval: float, other: bool = True
    ) -> Table:
        """Compare two posteriors; None is the typical user, and ``other`` says whether they are of two people."""
        among = self._candidates(items)
        places.check(interval, None, len(among))
        draws = self._worth_to_all(among) if theirs is None else self._drawn(theirs, among, other=other)
        return self._apart(self._drawn(mine, among), draws, among, interval)

    def _apart(self, mine: Any, theirs: Any, among: Codes, interval: float) -> Table:
        draws = mine - mine.mean(axis=1, keepdims=True) - (theirs - theirs.mean(axis=1, keepdims=True))
        mean, tail = draws.mean(axis=0), (1 - interval) / 2
        low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
        sure = np.where(mean > 0, (draws > 0).mean(axis=0), (draws < 0).mean(axis=0))
        order = np.lexsort((-np.abs(mean), -sure))
        columns = {"item": self.items_[among], "difference": mean, "low": low, "high": high, "probability": sure}
        return self._table({name: column[order] for name, column in columns.items()}, interval=float(interval))

    def _placed_table(self, draws: Any, among: Codes, interval: float, top: int) -> Table:
        found = places.ranked(draws, interval, top)
        item = self.items_[among[found.pop("order")]]
        score = found.pop("score")
        columns = {"item": item, "score": score, "rank": np.arange(1, len(item) + 1), **found}
        return self._table(columns, interval=float(interval), top=top, scale=LOG_ODDS)

    def _drawn(self, belief: Posterior, among: Codes, other: bool = False) -> Any:
        rng = np.random.default_rng([self.seed % 2**63, int(other)])
        return belief.draws(places.n_draws(len(among)), among, rng)

    # -- probabilities ------------------------------------------------------------------------------------------

    def probability_interval(
        self, users: Any, left: Any, right: Any, interval: float = 0.9, side: Any = None, covariates: Any = None
    ) -> Table:
        """Predict which of two items a user prefers, with an interval.

        The probability is the posterior mean over the user's taste. It takes into account which items the user compared
        and what the user said about them, where AltSVM's :meth:`probability` takes into account only how many.

        Parameters
        ----------
        users : id or list of id
            One user, or one for each pair.
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
            Columns probability, low, high. The mean can lie outside a narrow interval, because averaging draws it
            to 0.5. If people may tie, all three are about answers that decide. So the probability and that of the
            reverse sum to 1, and a tie has no part; :meth:`probability` includes it.

        Raises
        ------
        InputError
            If a user or an item is not in the model, or the model was loaded without its comparisons.

        See Also
        --------
        AltSVM.probability : Predict without an interval.
        AltSVM.rank : Rank all items, with ranges of places.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=40, n_items=10, rank=2, per_user=20).comparisons)
        >>> row = model.probability_interval("user 7", "item 1", "item 2")[0]
        >>> 0 < row.low < row.high < 1
        True
        """
        number("interval", interval, above=0.0, below=1.0)
        return copy(self)._probability_interval(users, left, right, interval, side, covariates)

    # -- what a model says ----------------------------------------------------------------------------------------

    def _has_tastes(self) -> bool:
        """Return whether users have rankings of their own."""
        return True

    def _belief(self, u: int) -> Posterior:
        """Return the posterior of a user's utilities."""
        raise NotImplementedError

    def _met_counts(self) -> Any:
        """Return how many users met each item."""
        raise NotImplementedError

    def _everyones_draws(self) -> Any:
        """Return draws of the ranking shared by all users, in log-odds."""
        raise NotImplementedError

    def _worth_to_all(self, among: Codes) -> Any:
        """Return one row: the utilities of some items to the typical user."""
        raise NotImplementedError

    def _probability_interval(
        self, users: Any, left: Any, right: Any, interval: float, side: Any, covariates: Any
    ) -> Table:
        raise NotImplementedError

    # -- people -------------------------------------------------------------------------------------------------

    def _one_code(self, user: Any) -> int:
        u = self._user_codes(user)
        if len(u) != 1:
            raise InputError(f"this is asked of one user at a time, not of {len(u)}")
        return int(u[0])
