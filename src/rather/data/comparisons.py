"""The one data type: who would rather have what than what.

A :class:`Comparisons` holds triples (user, winner, loser), each with a weight. Those implied by ratings are never
written down one by one: the ratings are kept instead, and the core works on them directly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError, number, one_of
from ..native import core, threads
from . import frames
from .ids import Ids, Vocabulary, as_ids, factorize, quoted
from .rows import (
    ClickRule,
    Clicks,
    Pairs,
    Ratings,
    all_pairs,
    by_user,
    drawn_levels,
    drawn_pairs,
    largest_gaps,
    random_places,
    share_of_each_row,
)

LARGEST_RATING = 1e30  # so that single precision holds differences
MOST_UNSEEN = 1000  # if the number is not given: with that or a quarter, held-out clicks came out best for their cost
LARGEST_WEIGHT = 1e6  # so that single precision holds the squares of sums


class Comparisons:
    """Comparisons "user i would rather have j than k", with external ids.

    Build one with :meth:`from_frame` (votes), :meth:`from_ratings`, :meth:`from_menus`, :meth:`from_rankings`,
    :meth:`from_clicks` or :meth:`from_triples`. ``len()`` is the number of comparisons.

    Attributes
    ----------
    ratings : Ratings or None
        The ratings behind the comparisons, for estimators that are entitled to them.
    clicks : Clicks or None
        The clicks behind the comparisons.
    implied : bool
        Whether the comparisons are implied by ratings, rankings or clicks, n of which make of the order of n^2 pairs,
        rather than answers given one by one.

    Examples
    --------
    >>> from rather import Comparisons
    >>> votes = Comparisons.from_frame({"user": ["ann", "bob"], "winner": ["A", "C"], "loser": ["B", "A"]})
    >>> votes
    Comparisons: 2 comparisons by 2 users over 3 items
    >>> votes.items.tolist()
    ['A', 'B', 'C']
    """

    def __init__(
        self,
        users: Ids,
        items: Ids,
        *,
        pairs: Pairs | None = None,
        ratings: Ratings | None = None,
        clicks: Clicks | None = None,
        click_rule: ClickRule | None = None,
        levels: Ratings | None = None,
        implied: bool | None = None,
        frame_kind: str = "dict",
    ) -> None:
        levels = ratings if levels is None else levels
        if pairs is None and levels is None:
            raise InputError("comparisons need pairs or ratings; use one of the from_... constructors")
        self.user_vocabulary = Vocabulary(users, "user")
        self.item_vocabulary = Vocabulary(items, "item")
        self.ratings = ratings
        self.clicks = clicks
        self.implied = levels is not None if implied is None else implied
        self.frame_kind = frame_kind
        self._pairs = pairs
        self._levels = levels  # what implies the comparisons where they are not written down
        self._click_rule = click_rule
        self._store: Any = None

    # -- constructors -------------------------------------------------------------------------------------------

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        user: str = "user",
        winner: str = "winner",
        loser: str = "loser",
        weight: str | None = None,
        tie: str | None = None,
    ) -> Comparisons:
        """Votes: one row per comparison.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, or dict of columns
        user, winner, loser : str
            Names of the columns with the ids.
        weight : str, optional
            Name of a column of weights from 0 to a million; rows of weight 0 are dropped.
        tie : str, optional
            Name of a column that is true where the two items tied. A tie counts half each way.
        """
        got = frames.columns(frame, {"user": user, "winner": winner, "loser": loser}, {"weight": weight, "tie": tie})
        who = as_ids(got["user"], f"the user (column {user!r})")
        win = as_ids(got["winner"], f"the winner (column {winner!r})")
        lose = as_ids(got["loser"], f"the loser (column {loser!r})")
        if not len(who):
            raise InputError("there are no votes: the table has no rows")
        same = np.flatnonzero(win == lose)
        if len(same):
            raise InputError(f"row {same[0]} compares item {quoted(win[same[0]])} with itself; drop such rows")
        w = None
        if weight is not None:
            given = frames.numbers(got["weight"], f"the weight (column {weight!r})")
            bad = np.flatnonzero((given < 0) | (given > LARGEST_WEIGHT))
            if len(bad):
                raise InputError(
                    f"the weight (column {weight!r}) in row {bad[0]} is {given[bad[0]]}; "
                    f"it must be from 0 to {LARGEST_WEIGHT:,.0f}: scale larger weights down"
                )
            w = given.astype(np.float32)
        users, (u,) = factorize([who], "user")
        items, (j, k) = factorize([win, lose], "item")
        group = None
        if tie is not None:
            tied = frames.flags(got["tie"], f"the tie (column {tie!r})")
            w = (np.ones(len(u), np.float32) if w is None else w) * np.where(tied, np.float32(0.5), np.float32(1))
            j, k = np.concatenate((j, k[tied])), np.concatenate((k, j[tied]))
            u, w = np.concatenate((u, u[tied])), np.concatenate((w, w[tied]))
            group = np.concatenate((np.arange(len(tied)), np.flatnonzero(tied)))
        pairs = Pairs(u, j, k, w, group=group)
        if w is not None and not w.all():
            pairs = pairs.take(w > 0)
        made = cls(users, items, pairs=by_user(pairs), frame_kind=frames.kind_of(frame))
        made._require_some("every vote has weight 0")
        return made

    @classmethod
    def from_triples(cls, X: Any, y: Any = None) -> Comparisons:
        """The paper's Omega and Y: integer triples (i, j, k), and y = +1 where i prefers j to k, -1 where k to j.

        Users and items are the integers from 0 to the largest that occurs.
        """
        try:
            triples = np.asarray(X)
        except ValueError:
            raise InputError("X has rows of different lengths; each must be three integers: user, item, item") from None
        if triples.ndim != 2 or triples.shape[1] != 3:
            raise InputError(f"X has shape {triples.shape}; it must have three columns: user, item, item")
        if triples.dtype.kind not in "iu":
            raise InputError(f"X holds values of type {triples.dtype}; it must hold integers (user, item, item)")
        if not len(triples):
            raise InputError("X has no rows; it must have one per comparison")
        negative = np.flatnonzero((triples < 0).any(axis=1))
        if len(negative):
            raise InputError(f"X in row {negative[0]} is {triples[negative[0]].tolist()}; codes must be at least 0")
        large = np.flatnonzero((triples >= 2**31 - 1).any(axis=1))
        if len(large):
            raise InputError(f"X in row {large[0]} is {triples[large[0]].tolist()}; codes must be below 2,147,483,647")
        same = np.flatnonzero(triples[:, 1] == triples[:, 2])
        if len(same):
            raise InputError(f"X in row {same[0]} compares item {triples[same[0], 1]} with itself; drop such rows")
        u, j, k = (triples[:, c].astype(np.int32) for c in range(3))
        if y is not None:
            sign = np.asarray(y)
            if sign.shape != (len(triples),):
                raise InputError(f"y has shape {sign.shape}; it must have one entry per row of X, {len(triples)}")
            bad = np.flatnonzero((sign != 1) & (sign != -1))
            if len(bad):
                raise InputError(f"y in row {bad[0]} is {quoted(sign[bad[0]])}; it must be +1 or -1")
            j, k = np.where(sign == 1, j, k), np.where(sign == 1, k, j)
        users, items = np.arange(u.max() + 1, dtype=np.int64), np.arange(max(j.max(), k.max()) + 1, dtype=np.int64)
        return cls(users, items, pairs=by_user(Pairs(u, j, k)))

    @classmethod
    def from_ratings(
        cls,
        frame: Any,
        user: str = "user",
        item: str = "item",
        rating: str = "rating",
        keep: str = "all",
        seed: int = 0,
    ) -> Comparisons:
        """Ratings: a user prefers what they rated higher; equal ratings say nothing.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, or dict of columns
            One row per rating; a user rates an item at most once.
        keep : {"all", "largest-gap"}
            "all" non-tied pairs, which are never stored one by one; or "largest-gap": for a user with N ratings the N
            pairs whose ratings differ most (the paper's AltSVM-sub), ties at the cut drawn with ``seed``.
        """
        one_of("keep", keep, ("all", "largest-gap"))
        number("seed", seed, at_least=0, at_most=2**63 - 1, integer=True)
        users, items, ratings = _read_ratings(frame, user, item, rating, "rating")
        made = cls(users, items, ratings=ratings, frame_kind=frames.kind_of(frame))
        if keep == "largest-gap":
            made._pairs = largest_gaps(ratings, len(users), seed)
        made._require_some("no user rated two items differently")
        return made

    @classmethod
    def from_rankings(cls, frame: Any, user: str = "user", item: str = "item", rank: str = "rank") -> Comparisons:
        """Rankings: a user prefers what they ranked better (a smaller rank); equal ranks say nothing."""
        users, items, ratings = _read_ratings(frame, user, item, rank, "rank")
        ratings = Ratings(ratings.user, ratings.item, -ratings.rating)
        made = cls(users, items, ratings=ratings, frame_kind=frames.kind_of(frame))
        made._require_some("no user ranked two items differently")
        return made

    @classmethod
    def from_menus(
        cls, frame: Any, user: str = "user", menu: str = "menu", item: str = "item", chosen: str = "chosen"
    ) -> Comparisons:
        """Choices from menus: one row per item shown; a chosen item beats every item of its menu that was not.

        A menu belongs to one user: rows with the same (user, menu) form one menu. A menu of which nothing, or
        everything, was chosen says nothing.
        """
        got = frames.columns(frame, {"user": user, "menu": menu, "item": item, "chosen": chosen})
        users, (u,) = factorize([as_ids(got["user"], f"the user (column {user!r})")], "user")
        items, (j,) = factorize([as_ids(got["item"], f"the item (column {item!r})")], "item")
        menus, (g,) = factorize([as_ids(got["menu"], f"the menu (column {menu!r})")], "menu")
        took = frames.flags(got["chosen"], f"the choice (column {chosen!r})")
        if not len(u):
            raise InputError("there are no menus: the table has no rows")
        order = np.lexsort((~took, g, u))  # menus together, chosen items first
        u, g, j, took = u[order], g[order], j[order], took[order]
        first = np.flatnonzero(np.r_[True, (u[1:] != u[:-1]) | (g[1:] != g[:-1])])
        size = np.diff(np.r_[first, len(u)])
        group = np.repeat(np.arange(len(first)), size)
        repeated = np.lexsort((j, group))
        twice = np.flatnonzero((group[repeated][1:] == group[repeated][:-1]) & (j[repeated][1:] == j[repeated][:-1]))
        if len(twice):
            at = repeated[twice[0]]
            rows = np.sort(order[repeated[twice[0] : twice[0] + 2]])
            raise InputError(
                f"item {quoted(items[j[at]])} is twice in menu {quoted(menus[g[at]])} of user {quoted(users[u[at]])} "
                f"(rows {rows[0]} and {rows[1]}); keep one"
            )
        n_chosen = np.add.reduceat(took.astype(np.int64), first)
        n_left = (size - n_chosen)[group]
        winners = np.flatnonzero(took)
        t = np.repeat(winners, n_left[winners])
        within = np.arange(len(t)) - np.repeat(np.cumsum(n_left[winners]) - n_left[winners], n_left[winners])
        losers = (first + n_chosen)[group[t]] + within
        if not len(t):
            raise InputError("there is nothing to compare: no menu has both a chosen item and one that was not")
        pairs = by_user(Pairs(u[t], j[t], j[losers], group=group[t]))
        return cls(users, items, pairs=pairs, frame_kind=frames.kind_of(frame))

    @classmethod
    def from_clicks(
        cls,
        frame: Any,
        user: str = "user",
        item: str = "item",
        per_user: int | None = None,
        seed: int = 0,
        unseen: int | None = None,
    ) -> Comparisons:
        """Clicks (or plays, purchases): a user prefers what they clicked to what they did not.

        Repeated clicks count once. A user who clicked every item says nothing.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, or dict of columns
            One row per click.
        per_user : int, optional
            The paper's way instead: that many comparisons for each user, of a clicked with an unclicked item, both
            drawn uniformly with replacement.
        seed : int
            Of the draws.
        unseen : int, optional
            Every clicked item is compared with as many items that the user did not click, popular ones drawn more
            often; None: a quarter of all items, at most 1000. These comparisons are never stored one by one.
        """
        for name, value in (("per_user", per_user), ("unseen", unseen)):
            if value is not None:
                number(name, value, at_least=1, at_most=2**31 - 1, integer=True)
        if per_user is not None and unseen is not None:
            raise InputError("per_user and unseen are two ways to draw from clicks; give one of them")
        number("seed", seed, at_least=0, at_most=2**63 - 1, integer=True)
        got = frames.columns(frame, {"user": user, "item": item})
        users, (u,) = factorize([as_ids(got["user"], f"the user (column {user!r})")], "user")
        items, (j,) = factorize([as_ids(got["item"], f"the item (column {item!r})")], "item")
        if not len(u):
            raise InputError("there are no clicks: the table has no rows")
        key = np.sort(u.astype(np.int64) * len(items) + j)  # not np.unique, which hashes: several times slower
        key = key[np.r_[True, key[1:] != key[:-1]]]
        u, j = (key // len(items)).astype(np.int32), (key % len(items)).astype(np.int32)
        rule, clicks = ClickRule(per_user, unseen, seed), Clicks(u, j)
        drawn = _drawn(clicks, clicks, len(users), len(items), rule)
        made = cls(users, items, **drawn, frame_kind=frames.kind_of(frame))
        made._require_some("every user clicked every item")
        return made

    # -- what is in it ------------------------------------------------------------------------------------------

    @property
    def users(self) -> Ids:
        """External ids of the users; the position of an id is its row in ``user_factors_``."""
        return self.user_vocabulary.ids

    @property
    def items(self) -> Ids:
        """External ids of the items; the position of an id is its row in ``item_factors_``."""
        return self.item_vocabulary.ids

    @property
    def n_users(self) -> int:
        return len(self.user_vocabulary)

    @property
    def n_items(self) -> int:
        return len(self.item_vocabulary)

    def __len__(self) -> int:
        if self._pairs is not None:
            return len(self._pairs.user)
        return int(self.store.n_comparisons)

    def __repr__(self) -> str:
        source = " (from ratings)" if self.ratings is not None else " (from clicks)" if self.clicks is not None else ""
        return f"Comparisons: {len(self):,} comparisons by {self.n_users:,} users over {self.n_items:,} items{source}"

    @property
    def store(self) -> Any:
        """The core's view of the comparisons, built once."""
        if self._store is None:
            size, n_threads = (self.n_users, self.n_items), threads(None)
            if self._pairs is not None:
                p = self._pairs
                self._store = core.store_from_pairs(*size, p.user, p.winner, p.loser, p.weight, p.gap, n_threads)
            else:
                r = self._levels
                assert r is not None
                self._store = core.store_from_ratings(*size, r.user, r.item, r.rating, n_threads)
        return self._store

    @property
    def written(self) -> bool:
        """Whether the comparisons are held one by one, rather than implied by ratings or clicks."""
        return self._pairs is not None

    @property
    def balance(self) -> float:
        """The default weight of a user's N comparisons is N^-balance: implied ones are not N independent answers."""
        return 0.5 if self.implied else 0.0

    @property
    def levels(self) -> Ratings | None:
        """What implies the comparisons that are not held one by one: ratings, or clicks (1) and unseen items (0)."""
        return None if self.written else self._levels

    @property
    def against_unseen(self) -> bool:
        """Whether the comparisons are of every click with items that were not clicked."""
        return self.clicks is not None and not self.written

    @property
    def unseen(self) -> int:
        """With how many items that the user did not click each click is compared, at most; 0 if these are not such."""
        return _unseen(self._click_rule, self.n_items) if self.against_unseen and self._click_rule is not None else 0

    def pairs(self) -> Pairs:
        """The comparisons one by one. Those implied by ratings or clicks are written down for the occasion."""
        if self._pairs is not None:
            return self._pairs
        assert self._levels is not None
        return all_pairs(self._levels, self.n_users, self.store)

    def to_frame(self, kind: str | None = None) -> Any:
        """The comparisons one by one, as the kind of frame they came from (or another), with external ids."""
        p = self.pairs()
        table = {"user": self.users[p.user], "winner": self.items[p.winner], "loser": self.items[p.loser]}
        if p.weight is not None:
            table["weight"] = p.weight
        return frames.make(table, kind or self.frame_kind)

    # -- parts --------------------------------------------------------------------------------------------------

    def split(
        self, test: float = 0.2, seed: int = 0, by: str = "pairs", users: npt.NDArray[np.bool_] | None = None
    ) -> tuple[Comparisons, Comparisons]:
        """Hold out a random share: (train, test), both with all the ids.

        Parameters
        ----------
        test : float
            Share to hold out, above 0 and below 1.
        by : {"pairs", "items"}
            "pairs" holds out comparisons, as the paper's first experiment does; those that came from one answer (a
            tie's two halves, a menu, a click) stay together. Pairs that come from ratings share their items, so
            held-out pairs are then partly implied by the rest; "items" holds out that share of every user's *ratings*
            or *clicks*: the test comparisons are those among held-out ratings, or of held-out clicks with items not
            clicked in these data, drawn anew.
        users : array of bool, optional
            A mask over ``self.users``: hold out only what these users said.
        """
        number("test", test, above=0, below=1)
        number("seed", seed, at_least=0, at_most=2**63 - 1, integer=True)
        one_of("by", by, ("pairs", "items"))
        rng = np.random.default_rng(seed)
        if by == "items":
            source = self.ratings or self.clicks
            if source is None:
                raise InputError(
                    "by='items' needs ratings or clicks behind the comparisons, and these have none; use by='pairs'"
                )
            held = np.ones(len(source.user), bool) if users is None else users[source.user]
            held[held] = share_of_each_row(source.user[held], self.n_users, test, rng)
            if isinstance(source, Clicks):
                return self._split_clicks(source, held, rng)
            train, test_part = (source.take(rows) for rows in (~held, held))
            kept = None if self._pairs is None else largest_gaps(train, self.n_users, seed)
            return self._like(ratings=train, pairs=kept), self._like(ratings=test_part)
        if self.against_unseen and self.levels is not None:  # a click's comparisons go together: none is written
            click = self.levels.rating > 0
            held = click.copy() if users is None else click & users[self.levels.user]
            held[held] = _some(int(held.sum()), test, rng)
            if not held.any() or (held == click).all():
                raise InputError(f"holding out {test} of {click.sum()} clicks leaves one part empty")
            train, test_part = self.levels.take(~held), self.levels.take(held | ~click)
            clicked = train.rating > 0
            clicks = Clicks(train.user[clicked], train.item[clicked])
            return self._like(levels=train, clicks=clicks), self._like(levels=test_part)
        pairs = self.pairs()
        held = np.ones(len(pairs.user), bool) if users is None else users[pairs.user]
        group = self._groups(pairs, held)
        held[held] = _some(int(group.max()) + 1 if len(group) else 0, test, rng)[group]
        if held.all() or not held.any():
            raise InputError(f"holding out {test} of {len(held)} comparisons leaves one part empty")
        aside = pairs.take(held)
        return self._like(pairs=pairs.take(~held), clicks=self._clicks_without(aside)), self._like(pairs=aside)

    def hold_out(
        self, share: float, seed: int, users: npt.NDArray[np.bool_] | None = None
    ) -> tuple[Comparisons, Comparisons]:
        """The split to tune and calibrate on: by items where that can be, so that nothing of a pair leaks."""
        by = "pairs" if self.ratings is None and self.clicks is None else "items"
        return self.split(test=share, seed=seed, by=by, users=users)

    def sample(self, per_user: int, seed: int = 0) -> Comparisons:
        """A few comparisons of every user, drawn at random without replacement: what learning curves are made of.

        The ids all stay. With the same seed, a smaller sample is part of every larger one.

        Parameters
        ----------
        per_user : int
            Comparisons kept of each user, all of those who have no more. Those that came from one answer (a tie's two
            halves, a menu) are drawn together and count as one.
        seed : int
            Of the draw.

        Examples
        --------
        >>> import rather
        >>> rather.simulate(n_users=50, n_items=20, per_user=10).comparisons.sample(per_user=4)
        Comparisons: 200 comparisons by 50 users over 20 items
        """
        number("per_user", per_user, at_least=1, at_most=2**31 - 1, integer=True)
        number("seed", seed, at_least=0, at_most=2**63 - 1, integer=True)
        if self.clicks is not None:
            raise InputError(
                "sample draws from comparisons that were made, and these stand for clicks; draw from the table of "
                "clicks, then use Comparisons.from_clicks"
            )
        pairs = self.pairs()
        answer = self._groups(pairs, np.ones(len(pairs.user), bool))
        asked = np.empty(int(answer.max()) + 1 if len(answer) else 0, pairs.user.dtype)
        asked[answer] = pairs.user  # an answer is one user's
        place, _ = random_places(asked, self.n_users, np.random.default_rng(seed))
        return self._like(pairs=pairs.take(place[answer] < per_user))

    def _split_clicks(
        self, clicks: Clicks, held: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> tuple[Comparisons, Comparisons]:
        """Both parts drawn anew: for training, a click that is held out counts as not clicked, as it would in life."""
        rule = self._click_rule
        assert rule is not None
        kept, test = clicks.take(~held), clicks.take(held)
        size = self.n_users, self.n_items
        other = replace(rule, seed=int(rng.integers(2**63)))
        return self._like(**_drawn(kept, kept, *size, rule)), self._like(**_drawn(test, clicks, *size, other))

    def _groups(self, pairs: Pairs, rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Numbers 0, 1, ... for the chosen rows, the same for those that must stay together in a split."""
        group = pairs.group
        if self.clicks is not None:  # all comparisons that one click made
            group = pairs.user.astype(np.int64) * self.n_items + pairs.winner
        if group is None:
            return np.arange(int(rows.sum()))
        return np.unique(group[rows], return_inverse=True)[1].reshape(-1)

    def _clicks_without(self, held: Pairs) -> Clicks | None:
        """The clicks that made none of the held-out comparisons."""
        c = self.clicks
        if c is None:
            return None
        key = c.user.astype(np.int64) * self.n_items + c.item
        rest = ~np.isin(key, held.user.astype(np.int64) * self.n_items + held.winner)
        return Clicks(c.user[rest], c.item[rest])

    def _like(self, **parts: Any) -> Comparisons:
        kept = {"frame_kind": self.frame_kind, "implied": self.implied, "click_rule": self._click_rule}
        return Comparisons(self.users, self.items, **{**kept, **parts})

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_store": None}  # built again where it is needed

    def _require_some(self, why_not: str) -> None:
        if not len(self):
            raise InputError(f"there is nothing to compare: {why_not}")


def _some(n: int, share: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """A mask that picks a share of n at random, rounded."""
    chosen = np.zeros(n, bool)
    chosen[rng.permutation(n)[: round(share * n)]] = True
    return chosen


def _drawn(clicks: Clicks, seen: Clicks, n_users: int, n_items: int, rule: ClickRule) -> dict[str, Any]:
    """Comparisons of clicks with items not seen, as arguments of :class:`Comparisons`."""
    made: dict[str, Any] = {"clicks": clicks, "click_rule": rule}
    if rule.per_user is None:
        return made | {"levels": drawn_levels(clicks, seen, n_users, n_items, _unseen(rule, n_items), rule.seed)}
    return made | {"pairs": drawn_pairs(clicks, seen, n_users, n_items, rule.per_user, rule.seed)}


def _unseen(rule: ClickRule, n_items: int) -> int:
    return rule.unseen or min(MOST_UNSEEN, -(-n_items // 4))


def as_comparisons(X: Any, y: Any) -> Comparisons:
    """What an estimator's fit is given: comparisons, or integer triples X = (i, j, k) with y = +-1."""
    if isinstance(X, Comparisons):
        if y is not None:
            raise InputError("y goes with integer triples X; comparisons already say who won")
        return X
    if y is None and not isinstance(X, np.ndarray):
        raise InputError(
            f"fit was given a {type(X).__name__}; it takes Comparisons (see Comparisons.from_frame) "
            "or integer triples X with y = +-1"
        )
    return Comparisons.from_triples(X, y)


def _read_ratings(frame: Any, user: str, item: str, rating: str, what: str) -> tuple[Ids, Ids, Ratings]:
    got = frames.columns(frame, {"user": user, "item": item, what: rating})
    values = frames.numbers(got[what], f"the {what} (column {rating!r})")
    large = np.flatnonzero(np.abs(values) > LARGEST_RATING)
    if len(large):
        raise InputError(
            f"the {what} (column {rating!r}) in row {large[0]} is {values[large[0]]}; "
            f"it must be from {-LARGEST_RATING:g} to {LARGEST_RATING:g}"
        )
    users, (u,) = factorize([as_ids(got["user"], f"the user (column {user!r})")], "user")
    items, (j,) = factorize([as_ids(got["item"], f"the item (column {item!r})")], "item")
    if not len(u):
        raise InputError(f"there are no {what}s: the table has no rows")
    key = u.astype(np.int64) * len(items) + j
    order = np.argsort(key, kind="stable") if (key[1:] <= key[:-1]).any() else np.arange(len(key))
    key = key[order]
    twice = np.flatnonzero(key[1:] == key[:-1])
    if len(twice):
        a, b = order[twice[0]], order[twice[0] + 1]
        raise InputError(
            f"user {quoted(users[u[a]])} has item {quoted(items[j[a]])} twice (rows {a} and {b}); keep one"
        )
    return users, items, Ratings(u[order], j[order], values[order])
