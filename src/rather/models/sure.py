"""Models with posteriors: ranges of places for one user and for all, and differences between two users."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.embedded import Embedded
from ..data.ids import Codes
from ..data.source import Source
from ..data.tables import Table
from ..errors import InputError, number
from ..native import threads
from . import places
from .belief import Belief, Items, between
from .crowd import Answers, Crowd, TastePrior, found, spread
from .estimator import EVERYONE
from .everyone import moved
from .fitted import FittedModel
from .scorers import Factors
from .swayed import Swayed

NO_COMPARISONS = "the ranges of {what} follow from the comparisons, and this model was read from a file without them"


LOG_ODDS = "log-odds"


class Sure(Swayed):
    """Add posteriors of users' tastes to a factor model: intervals and differences."""

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
            worst with about this probability: ranges end at whole places, and the nearest one is taken. The first
            range of a single user takes as long as a few fits, and :meth:`save` stores what is found. Default: no
            ranges.
        top : int, optional
            Number of first places for the column p_top. Default: 10, or 3 for fewer than twenty items.

        Returns
        -------
        Table
            Columns item, score, rank. With an interval also best and worst, the range of places; p_top, the probability
            of being among the first ``top``; and group. An item is behind the first item of its group with less than
            that probability. The score is then the posterior mean in log-odds, and its order can differ from that of
            :meth:`score`. Report this order, because the ranges belong to it.

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
        if user is EVERYONE or not self.rank_:
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
        among = self._candidates(items)
        places.check(interval, None, len(among))
        mine = self._drawn(self._belief(self._one_code(user)), among)
        if other is EVERYONE:
            theirs = self._items_met(newcomer=self.fitted.said is not None).offset[among][None]
        else:
            u = self._one_code(other)
            theirs = self._drawn(self._belief(u), among, other=u != self._one_code(user))
        return self._apart(mine, theirs, among, interval)

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

    def _drawn(self, belief: Belief, among: Codes, other: bool = False) -> Any:
        rng = np.random.default_rng([self.seed % 2**63, int(other)])
        return belief.draws(places.n_draws(len(among)), among, rng)

    def _everyones_draws(self) -> Any:
        fitted = self.fitted
        if fitted.parent is not None:
            raise InputError("this is a model of newcomers to another; ask that one for everybody's ranking")
        if fitted.training is None:
            raise InputError(NO_COMPARISONS.format(what="everybody's ranking"), remedy="save with, or fold in")
        t = self._prior_variance(fitted.training)  # of scores that are log-odds already
        slope = 1.0
        if t is None:
            found = self._calibrated().fitted.slope.found
            assert found is not None
            slope = found.slope
        rng = np.random.default_rng(self.seed % 2**63)
        n = places.n_draws(len(self.items_))
        return moved(fitted.training.source, self.average_scores(), slope, n, rng, fitted.trust, t)

    def _prior_variance(self, comparisons: Comparisons) -> float | None:
        """Return the prior variance of everybody's scores where these are log-odds; None where they have a slope."""
        return None

    # -- probabilities ------------------------------------------------------------------------------------------

    def probability_interval(
        self, users: Any, left: Any, right: Any, interval: float = 0.9, side: Any = None, covariates: Any = None
    ) -> Table:
        """Predict which of two items a user prefers, with an interval.

        The probability is the posterior mean over the user's taste. It takes into account which items the user compared
        and what the user said about them, where :meth:`probability` takes into account only how many.

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

    def _probability_interval(
        self, users: Any, left: Any, right: Any, interval: float, side: Any, covariates: Any
    ) -> Table:
        u, a, b = self._asked(users, left, right)
        mean, variance = np.empty(len(u)), np.empty(len(u))
        order = np.argsort(u, kind="stable")
        asked, first = np.unique(u[order], return_index=True)
        for belief, rows in zip(self._beliefs(asked), np.split(order, first[1:]), strict=True):
            mean[rows], variance[rows] = belief.margins(a[rows], b[rows])
        columns = between(mean + self._swayed_by(side, covariates, len(u)), variance, interval)
        return self._table(columns, interval=float(interval))

    def _swayed_by(self, side: Any, covariates: Any, n: int) -> Any:
        """Return the effect of the context of n questions, in log-odds."""
        return self._crowd().sureness[0].bias * (
            self._surroundings(side, covariates, n) @ np.array([*self.context_effects_.values()])
        )

    # -- people -------------------------------------------------------------------------------------------------

    def _one_code(self, user: Any) -> int:
        u = self._user_codes(user)
        if len(u) != 1:
            raise InputError(f"this is asked of one user at a time, not of {len(u)}")
        return int(u[0])

    def _belief(self, u: int) -> Belief:
        """Return the posterior of a user."""
        return next(self._beliefs(np.array([u])))

    def _beliefs(self, users: Codes) -> Iterator[Belief]:
        """Yield the posteriors of some users."""
        self._crowd()
        fitted = self.fitted
        newcomers, sure = fitted.said is not None, fitted.taste_prior
        if fitted.said is not None:
            source, items, known = fitted.said
            if source is None:
                of_things()
        elif fitted.training is not None:
            source, items, known = fitted.training.source, None, None
        else:
            raise InputError(NO_COMPARISONS.format(what="a user"), remedy="save with, or fold in")
        if sure.expected is None:
            sure.expected = self._expected_of(source, items, known), self._is_beside(source, items, known)
        expected, beside = sure.expected
        answers = Answers(source, users, np.random.default_rng(self.seed % 2**63), self._effects_of(source))
        for u in users:
            told = self._told_by(answers.of(u), items, u)
            yield self._believed(None if expected is None else expected[u], told, bool(beside[u]), newcomers)

    def _told_by(self, answers: Any, items: Codes | None, u: int | None) -> Any:
        """Return answers in the model's codes, weighted by trust."""
        winner, loser, count, swayed = answers
        if items is not None:
            winner, loser = items[winner], items[loser]
        trust = self.fitted.trust
        if u is not None and trust is not None:
            count = count * float(trust[u])
        return winner, loser, count, swayed

    def _expected_of(self, source: Source, items: Codes | None = None, known: Any = None) -> Any:
        """The vectors expected of the users of a source, from what they met and what is known of them; None: none."""
        described = self.fitted.known.users
        if known is None and items is None and self.fitted.said is None and described is not None:
            known = described.rows[:, : described.encoder.width]
        everything = np.arange(len(self.items_), dtype=np.int32) if items is None else items
        mean = self._newcomers_means(source, everything, threads(self.n_threads), known)
        return None if mean is None else mean[:, : self.rank_].astype(np.float64)

    def _is_beside(self, source: Source, items: Codes | None, known: Any) -> Any:
        """Return for which users the model has prior means: those with chosen items and features."""
        fitted = self.fitted
        described = known is not None or (items is None and fitted.known.users is not None)
        if fitted.user_features is not None and not described:
            return np.zeros(source.n_users, bool)
        if fitted.prior is None and fitted.parent is not None and fitted.parent.prior is not None:
            return np.zeros(source.n_users, bool)  # of people who were asked
        return np.diff(source.store.start) > 0

    def _newcomers_means(self, source: Source, items: Codes, n_threads: int, known: Any) -> Any:
        """Return the prior means of the vectors of new users."""
        return None

    def _believed(
        self, expected: Any = None, answers: Any = None, beside: bool = False, newcomer: bool = True
    ) -> Belief:
        """Return the posterior of a person with this prior mean and these answers."""
        return Belief(self._items_met(beside, newcomer), expected, answers)

    def _items_met(self, beside: bool = False, newcomer: bool = True) -> Items:
        crowd, made, kind = self._crowd(), self.fitted.taste_prior.items, (beside, newcomer)
        if kind not in made:
            made[kind] = Items.of(self._factors, crowd, beside, newcomer)
        found: Items = made[kind]
        return found

    def _crowd(self) -> Crowd:
        """Return the prior of people's tastes."""
        fitted = self.fitted
        sure = fitted.taste_prior
        if sure.crowd is not None:
            return sure.crowd
        if fitted.parent is not None:
            sure.crowd = self._with(fitted.parent)._crowd()
            return sure.crowd
        comparisons = fitted.training
        if comparisons is None:
            raise InputError(
                "this model was saved without the scales of its posterior, and finding them needs the comparisons "
                "that it was fitted to",
                remedy="save with",
            )
        if isinstance(comparisons.source, Embedded):
            of_things()
        known = sure.sureness
        if known is None:
            known = found(self._calibrated(), comparisons)
        sure.sureness = known
        sure.crowd = spread(self, known, comparisons.source)
        return sure.crowd

    # -- files --------------------------------------------------------------------------------------------------

    def _kept_crowd(self) -> Crowd | None:
        """Return the prior that a file would hold; None if it was not estimated."""
        fitted = self.fitted
        known = (fitted.parent or fitted).taste_prior
        return fitted.taste_prior.crowd if known.sureness is None and known.crowd is None else self._crowd()

    def _tensors(self) -> dict[str, Any]:
        crowd = self._kept_crowd()
        return super()._tensors() | ({} if crowd is None else crowd.tensors())

    def _about(self) -> dict[str, Any]:
        crowd = self._kept_crowd()
        return {**super()._about(), **({} if crowd is None else {"sureness": [asdict(one) for one in crowd.sureness]})}

    def _restore(self, fitted: FittedModel, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        if not super()._restore(fitted, tensors, about):
            return False
        if "sureness" in about:
            assert isinstance(fitted.scorer, Factors)
            crowd = Crowd.restored(tensors, about["sureness"], fitted.scorer.rank, len(fitted.items))
            fitted.taste_prior = TastePrior(crowd.sureness, crowd)
        return True


def of_things() -> Any:
    raise InputError("intervals are of items that people meet again; of things that occur once there are none")


def with_more_items(sure: TastePrior, spread_out: Any) -> TastePrior:
    """Return the prior with more items, which nobody has met yet."""
    if sure.crowd is None:
        return TastePrior(sure.sureness)
    return TastePrior(sure.sureness, replace(sure.crowd, count=spread_out(sure.crowd.count[:, None])[:, 0]))
