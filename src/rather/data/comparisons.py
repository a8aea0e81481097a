"""The one data type: who would rather have what than what, with external ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError, number, one_of
from ..native import core
from . import frames, readers, tables, vote_readers
from .clicks import ClickRule
from .ids import Ids, Vocabulary, read_only
from .ratings import LargestGaps
from .rows import Clicks, Mask, Pairs, Ratings
from .source import Source
from .union import Union, united
from .with_features import WithFeatures


class Comparisons(WithFeatures):
    """Comparisons "user i would rather have j than k", with external ids.

    Build one with :meth:`from_frame` (votes) or another constructor. ``len()`` is the number of comparisons; those that
    ratings or clicks imply are never written down one by one.

    Attributes
    ----------
    users, items : arrays
        External ids, which cannot be written to; the position of an id is its code, and its row in ``user_factors_``
        and ``item_factors_``.
    source : Source
        What the comparisons come from, in codes: it holds them for the core, writes them down, splits them, and knows
        the defaults that suit it.
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
        self, users: Ids, items: Ids, source: Source, frame_kind: str = "dict", names: Mapping[str, str] | None = None
    ) -> None:
        self.user_vocabulary = Vocabulary(users, "user")
        self.item_vocabulary = Vocabulary(items, "item")
        self.source = source
        self.frame_kind = frame_kind
        self.names = dict(names or {})  # of the caller's columns, where they are not the usual ones

    # -- constructors -------------------------------------------------------------------------------------------

    @classmethod
    def _read(cls, frame: Any, read: vote_readers.Read, **names: str | None) -> Comparisons:
        own = {role: name for role, name in names.items() if name is not None and name != role}
        return cls(*read, frame_kind=frames.kind_of(frame), names=own)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        user: str | None = "user",
        winner: str = "winner",
        loser: str = "loser",
        weight: str | None = None,
        tie: str | None = None,
        side: str | None = None,
        covariates: vote_readers.Covariates = (),
    ) -> Comparisons:
        """Votes: one row per comparison.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, rather.Table, or dict of columns
        user, winner, loser : str
            Names of the columns with the ids. ``user=None``: nobody is named, and all votes are those of one user
            called "everyone", which gives one ranking.
        weight : str, optional
            Name of a column of weights from 0 to a million; rows of weight 0 are dropped.
        tie : str, optional
            Name of a column that is true where the two items tied. A tie counts half each way, and models learn from
            it how readily people tie (see ``ties`` of :class:`AltSVM`).
        side : str, optional
            Name of a column with the item that stood first (left, on top), or true where the winner did. How much that
            sways people is then estimated, and taken out of the rankings: see :meth:`AltSVM.effects`.
        covariates : names, or {name: (the winner's column, the loser's column)}
            Columns of numbers that may sway people too (length, style, price): each the winner's less the loser's, or
            two columns to take the difference of. In a tie, "winner" and "loser" are but the two columns' names.
        """
        read = vote_readers.votes(frame, user, winner, loser, weight, tie, side, covariates)
        return cls._read(frame, read, user=user, winner=winner, loser=loser)

    @classmethod
    def from_arena(
        cls,
        frame: Any,
        user: str | None = "user",
        left: str = "left",
        right: str = "right",
        outcome: str = "outcome",
        weight: str | None = None,
        covariates: vote_readers.Covariates = (),
        bar: Any = None,
    ) -> Comparisons:
        """An arena's log: one row per battle, of which the left or the right one won, or neither.

        Parameters
        ----------
        frame, user, left, right, weight
            As in :meth:`from_frame`; left and right for winner and loser.
        outcome : str
            Name of a column with "left", "right", "tie", "both good", "both bad" (or "model_a", "model_b" and
            "tie (bothbad)", as logs have it), or the id of the item that won.
        covariates : names, or {name: (the left one's column, the right one's column)}
            As in :meth:`from_frame`, but the left one's less the right one's.
        bar : id, optional
            An item to stand for what is good enough: ties of "both good" are then better than it, of "both bad" worse.

        Examples
        --------
        >>> from rather import Comparisons
        >>> log = {"user": ["ann", "bob"], "left": ["A", "B"], "right": ["B", "C"], "outcome": ["tie", "right"]}
        >>> Comparisons.from_arena(log)
        Comparisons: 2 votes (1 ties) by 2 users over 3 items
        """
        read = vote_readers.arena(frame, user, left, right, outcome, weight, covariates, bar)
        return cls._read(frame, read, user=user)

    @classmethod
    def from_triples(cls, X: Any, y: Any = None, weight: Any = None) -> Comparisons:
        """The paper's Omega and Y: integer triples (i, j, k), and y = +1 where i prefers j to k, -1 where k to j.

        Users and items are the integers from 0 to the largest that occurs; where most of these are unused, those that
        occur. ``weight`` is what each row counts, 1 by default.
        """
        return cls(*readers.triples(X, y, weight))

    @classmethod
    def from_ratings(
        cls,
        frame: Any,
        user: str = "user",
        item: str = "item",
        rating: str = "rating",
        keep: str = "all",
        seed: int = 0,
        allow_empty: bool = False,
    ) -> Comparisons:
        """Ratings: a user prefers what they rated higher; equal ratings say nothing.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, rather.Table, or dict of columns
            One row per rating; a user rates an item at most once.
        keep : {"all", "largest-gap"}
            "all" non-tied pairs, which are never stored one by one; or "largest-gap": for a user with N ratings the N
            pairs whose ratings differ most (the paper's AltSVM-sub), ties at the cut drawn with ``seed``.
        allow_empty : bool
            Whether these are to be joined to earlier ones (:meth:`extended`): they need not compare anything alone.
        """
        one_of("keep", keep, ("all", "largest-gap"))
        number("seed", seed, at_least=0, at_most=2**63 - 1, integer=True)
        users, items, rated = readers.ratings(frame, user, item, rating, alone=not allow_empty)
        source = LargestGaps(rated, seed) if keep == "largest-gap" else rated
        return cls._read(frame, (users, items, source), user=user, item=item, rating=rating)

    @classmethod
    def from_rankings(
        cls, frame: Any, user: str = "user", item: str = "item", rank: str = "rank", allow_empty: bool = False
    ) -> Comparisons:
        """Read rankings: a user prefers items with smaller ranks. :meth:`from_ratings` explains ``allow_empty``."""
        read = readers.ratings(frame, user, item, rank, "rank", better=-1, alone=not allow_empty)
        return cls._read(frame, read, user=user, item=item)

    @classmethod
    def from_menus(
        cls, frame: Any, user: str = "user", menu: str = "menu", item: str = "item", chosen: str = "chosen"
    ) -> Comparisons:
        """Choices from menus: one row per item shown; a chosen item beats every item of its menu that was not.

        A menu belongs to one user: rows with the same (user, menu) form one menu. A menu of which nothing, or
        everything, was chosen says nothing.
        """
        return cls._read(frame, readers.menus(frame, user, menu, item, chosen), user=user, item=item)

    @classmethod
    def from_clicks(
        cls,
        frame: Any,
        user: str = "user",
        item: str = "item",
        per_user: int | None = None,
        seed: int = 0,
        unseen: int | None = None,
        allow_empty: bool = False,
    ) -> Comparisons:
        """Clicks (or plays, purchases): a user prefers what they clicked to what they did not.

        Repeated clicks count once. A user who clicked every item says nothing.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, rather.Table, or dict of columns
            One row per click.
        per_user : int, optional
            The paper's way instead: that many comparisons for each user, of a clicked with an unclicked item, both
            drawn uniformly with replacement.
        seed : int
            Of the draws.
        unseen : int, optional
            Every clicked item is compared with as many items that the user did not click, popular ones drawn more
            often; None: two fifths of all items, at most 1500. These comparisons are never stored one by one.
        allow_empty : bool
            As in :meth:`from_ratings`.
        """
        for name, value in (("per_user", per_user), ("unseen", unseen)):
            if value is not None:
                number(name, value, at_least=1, at_most=2**31 - 1, integer=True)
        if per_user is not None and unseen is not None:
            raise InputError("per_user and unseen are two ways to draw from clicks; give one of them", "per_user")
        number("seed", seed, at_least=0, at_most=2**63 - 1, integer=True)
        read = readers.clicks(frame, user, item, ClickRule(per_user, unseen, seed), alone=not allow_empty)
        return cls._read(frame, read, user=user, item=item)

    # -- what is in it ------------------------------------------------------------------------------------------

    @property
    def users(self) -> Ids:
        return read_only(self.user_vocabulary.ids)

    @property
    def items(self) -> Ids:
        return read_only(self.item_vocabulary.ids)

    @property
    def n_users(self) -> int:
        return len(self.user_vocabulary)

    @property
    def n_items(self) -> int:
        return len(self.item_vocabulary)

    def __len__(self) -> int:
        return len(self.source)

    def __repr__(self) -> str:
        source = f" (from {self.source.name})" if self.source.name else ""
        made = f"Comparisons: {self.source.counted()} by {self.n_users:,} users over {self.n_items:,} items{source}"
        parts = len(self.part_sizes()) if self.source.written else 1  # others take long to build
        return f"{made}, in {parts:,} parts" if parts > 1 else made

    @property
    def store(self) -> Any:
        """The core's view of the comparisons, built once."""
        return self.source.store

    @property
    def anonymous(self) -> bool:
        """Whether nobody is named: all comparisons are those of one user called "everyone", as ``user=None`` reads."""
        return self.n_users == 1 and self.users[0] == vote_readers.EVERYONE

    @property
    def ratings(self) -> Ratings | None:
        return self.source.ratings

    @property
    def clicks(self) -> Clicks | None:
        return self.source.clicks

    @property
    def implied(self) -> bool:
        return self.source.implied

    def parts(self) -> npt.NDArray[np.int32]:
        """Return the number of the connected part that each item is in: 0 is the largest; -1: nobody compared the item.

        Two items are connected if somebody compared them, a tie included, or if each is connected to a third. Items of
        different parts were never compared: their relative places rest on the model alone.

        Examples
        --------
        >>> from rather import Comparisons
        >>> votes = Comparisons.from_frame({"user": [1, 1, 2], "winner": ["A", "D", "B"], "loser": ["B", "E", "C"]})
        >>> votes
        Comparisons: 3 comparisons by 2 users over 5 items, in 2 parts
        >>> dict(zip(votes.items.tolist(), votes.parts().tolist()))
        {'A': 0, 'B': 0, 'C': 0, 'D': 1, 'E': 1}
        """
        found = np.zeros(self.n_items, np.int32)
        core.connected_parts(self.store, found)
        return found

    def part_sizes(self) -> list[int]:
        """Return how many items each connected part has, the largest first."""
        found = self.parts()
        return [int(size) for size in np.bincount(found[found >= 0])]

    def pairs(self) -> Pairs:
        """The comparisons one by one. Those implied by ratings or clicks are written down for the occasion."""
        return self.source.pairs()

    def to_frame(self, kind: str | None = None) -> Any:
        """The comparisons one by one, as the kind of frame they came from (or another), with external ids.

        What votes carry is in the columns weight, tie, side and those of covariates, where they have it.
        """
        p, carried = self.source.rows()
        table = {"user": self.users[p.user], "winner": self.items[p.winner], "loser": self.items[p.loser], **carried}
        own = {self.names.get(role, role): column for role, column in table.items()}
        return tables.make(own, kind or self.frame_kind)

    # -- parts --------------------------------------------------------------------------------------------------

    def split(
        self, test: float = 0.2, seed: int = 0, by: str = "pairs", users: Mask | None = None
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
        rng, source = np.random.default_rng(seed), self.source
        parts = source.split_pairs(test, rng, users) if by == "pairs" else source.split_items(test, rng, seed, users)
        return self._with(parts[0]), self._with(parts[1])

    def hold_out(self, share: float, seed: int, users: Mask | None = None) -> tuple[Comparisons, Comparisons]:
        """The split to tune and calibrate on: by items where that can be, so that nothing of a pair leaks."""
        parts = self.source.hold_out(share, np.random.default_rng(seed), seed, users)
        return self._with(parts[0]), self._with(parts[1])

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
        return self._with(self.source.sample(per_user, np.random.default_rng(seed)))

    # -- more of them -------------------------------------------------------------------------------------------

    def extended(self, new: Comparisons) -> Comparisons:
        """These and newer comparisons of the same kind, which may have users and items of their own.

        Votes and menus are added to votes. A newer rating, or place in a ranking, takes the place of an earlier one of
        the same item by the same user. Clicks must have been made by the same rule, and are drawn against anew.

        Examples
        --------
        >>> from rather import Comparisons
        >>> old = Comparisons.from_frame({"user": ["ann", "bob"], "winner": ["A", "C"], "loser": ["B", "A"]})
        >>> old.extended(Comparisons.from_frame({"user": ["cat"], "winner": ["D"], "loser": ["A"]}))
        Comparisons: 3 comparisons by 3 users over 4 items
        """
        if not isinstance(new, Comparisons):
            raise InputError(f"extended was given a {type(new).__name__}; it takes Comparisons")
        return self.joined(new)[0]

    def joined(self, new: Comparisons) -> tuple[Comparisons, Union]:
        """The same, and the codes in it of both sides' codes."""
        new.refuse_features("old.extended(new).with_features(...), or update(new, item_features=...)")
        union = united((self.users, self.items), (new.users, new.items))
        return self.with_later(new.source, union), union

    def with_later(self, source: Source, union: Union) -> Comparisons:
        """These and those of a later source, as ids are united."""
        joined = self.source.extended(source, union)
        made = Comparisons(union.users.ids, union.items.ids, joined, self.frame_kind, self.names)
        if union.users.ids is self.users:
            made.user_vocabulary = self.user_vocabulary  # with what it has looked up
        if union.items.ids is self.items:
            made.item_vocabulary = self.item_vocabulary
        return self._known_in(made, union)

    def _with(self, source: Source) -> Comparisons:
        """Comparisons of the same users and items, of whom the same is known, from another source."""
        return self._known_in(Comparisons(self.users, self.items, source, self.frame_kind, self.names))


def as_comparisons(X: Any, y: Any, weight: Any = None) -> Comparisons:
    """What an estimator's fit is given: comparisons, or integer triples X = (i, j, k) with y = +-1 and weights."""
    if isinstance(X, Comparisons):
        if y is not None:
            raise InputError("y goes with integer triples X; comparisons already say who won")
        if weight is not None:
            raise InputError("sample_weight goes with integer triples X; comparisons already have weights")
        if not len(X):
            raise InputError("there is nothing to compare: these are to be joined to earlier ones (extended, update)")
        return X
    if y is None and not isinstance(X, np.ndarray):
        raise InputError(
            f"fit was given a {type(X).__name__}; it takes Comparisons (see Comparisons.from_frame) "
            "or integer triples X with y = +-1"
        )
    return Comparisons.from_triples(X, y, weight)
