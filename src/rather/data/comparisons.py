"""Comparisons: users, items and a source, with external ids."""

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
    """Hold comparisons, each "this user prefers this item to that one".

    Estimators are fitted to comparisons, and metrics are computed on comparisons. Build them with one of the
    constructors: :meth:`from_frame` for votes, :meth:`from_arena` for logs with a left and a right side,
    :meth:`from_ratings`, :meth:`from_rankings`, :meth:`from_menus`, :meth:`from_clicks`, :meth:`from_embeddings`, or
    :meth:`from_triples` for integer codes. ``len()`` is the number of comparisons. Comparisons that ratings, rankings
    or clicks imply are counted, but never stored one by one.

    Parameters
    ----------
    users, items : array of ids
        Ids in sorted order. Use a constructor instead of giving these.
    source : Source
        The rows behind the comparisons, in codes.
    frame_kind : str, default "dict"
        Kind of table that results are returned as.
    names : dict, optional
        The caller's column names, where they differ from the default names.

    Attributes
    ----------
    users, items : array of ids
        Ids, which are read-only. The position of an id is its code.
    source : Source
        The rows behind the comparisons, in codes.
    ratings : Ratings or None
        The ratings that imply the comparisons, if there are any.
    clicks : Clicks or None
        The clicks that imply the comparisons, if there are any.
    implied : bool
        Whether ratings, rankings or clicks imply the comparisons.

    See Also
    --------
    AltSVM : Learn a personal ranking for every user from comparisons.
    simulate : Simulate comparisons with a known truth.

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
        """Read votes from a table with one row for each comparison.

        Use :meth:`from_arena` for logs that name a left item, a right item and an outcome.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, Table, or dict of columns
            The votes. Results are later returned as the same kind of table.
        user : str or None, default "user"
            Column of user ids. None: all votes belong to one user called "everyone", which gives one ranking.
        winner : str, default "winner"
            Column of the preferred item.
        loser : str, default "loser"
            Column of the other item.
        weight : str, optional
            Column of weights from 0 to a million. Rows of weight 0 are dropped. Default: every vote has weight 1.
        tie : str, optional
            Column that is true where the two items tied. A tie counts as half a vote each way, and models also learn
            how often users tie.
        side : str, optional
            Column with the item that stood first (left, or on top), or with true where the winner stood first. Models
            then estimate the position bias and remove it from the rankings.
        covariates : list of str or dict, default ()
            Other influences on the vote, such as length or price. A name is a column with the winner's value minus the
            loser's value. A dict maps a name to a pair of columns, the winner's and the loser's.

        Returns
        -------
        Comparisons
            The votes.

        Raises
        ------
        InputError
            If a column is missing, an id is empty, or a row compares an item with itself.

        See Also
        --------
        Comparisons.from_arena : Read a log of left, right and outcome.
        Comparisons.from_menus : Read choices from menus of several items.
        AltSVM.effects : Estimate position bias, covariate effects and ties.

        Examples
        --------
        >>> from rather import Comparisons
        >>> Comparisons.from_frame({"user": ["ann", "bob"], "winner": ["A", "C"], "loser": ["B", "A"]})
        Comparisons: 2 comparisons by 2 users over 3 items
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
        """Read an arena log with one row for each battle: left, right, outcome.

        Position bias and ties are read along with the votes, so models can remove the bias and learn how often users
        tie.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, Table, or dict of columns
            The log.
        user : str or None, default "user"
            Column of user ids. None: all battles belong to one user called "everyone".
        left : str, default "left"
            Column of the item on the left.
        right : str, default "right"
            Column of the item on the right.
        outcome : str, default "outcome"
            Column with "left", "right", "tie", "both good", "both bad", or the id of the item that won. The words
            "model_a", "model_b" and "tie (bothbad)" of public logs are accepted too.
        weight : str, optional
            Column of weights from 0 to a million. Rows of weight 0 are dropped.
        covariates : list of str or dict, default ()
            As in :meth:`from_frame`, with the left item's value minus the right item's value.
        bar : id, optional
            Item that stands for "good enough". Both items of a "both good" tie then beat it, and it beats both items of
            a "both bad" tie.

        Returns
        -------
        Comparisons
            The battles.

        Raises
        ------
        InputError
            If an outcome is not one of the accepted words or ids.

        See Also
        --------
        Comparisons.from_frame : Read votes from columns of winners and losers.
        AltSVM.effects : Estimate position bias, covariate effects and ties.

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
        """Read integer triples (user, item, item), as scikit-learn's tools pass them.

        Users and items are the integers from 0 to the largest that occurs. If most of these are unused, only the
        integers that occur are kept.

        Parameters
        ----------
        X : array of shape (n, 3)
            Integer codes of a user and two items.
        y : array of shape (n,), optional
            +1 where the user prefers the first item, -1 where the user prefers the second. Default: +1 everywhere.
        weight : array of shape (n,), optional
            Weight of each triple, from 0 to a million. Default: 1.

        Returns
        -------
        Comparisons
            One comparison for each triple.

        Raises
        ------
        InputError
            If a code is negative or not whole, or if y holds other numbers than +1 and -1.

        See Also
        --------
        Comparisons.from_frame : Read votes with ids of any kind.

        Examples
        --------
        >>> from rather import Comparisons
        >>> Comparisons.from_triples([[0, 0, 1], [1, 2, 0]], [1, -1])
        Comparisons: 2 comparisons by 2 users over 3 items
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
        """Read ratings: a user prefers the item with the higher rating.

        Equal ratings yield no comparison. All pairs of a user's ratings count, but they are never stored one by one.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, Table, or dict of columns
            One row for each rating. A user rates an item at most once.
        user : str, default "user"
            Column of user ids.
        item : str, default "item"
            Column of item ids.
        rating : str, default "rating"
            Column of ratings, where higher is better.
        keep : {"all", "largest-gap"}, default "all"
            "all" keeps all pairs with different ratings. "largest-gap" keeps N pairs for a user with N ratings: the
            pairs whose ratings differ most, as in the paper's AltSVM-sub.
        seed : int, default 0
            Seed of the choice among pairs of equal gap, for "largest-gap".
        allow_empty : bool, default False
            Whether the ratings may imply no comparison. Set it for new ratings that join earlier ones.

        Returns
        -------
        Comparisons
            The comparisons that the ratings imply.

        Raises
        ------
        InputError
            If a user rates an item twice, a rating is not a number, or no two ratings can be compared.

        See Also
        --------
        Comparisons.from_rankings : Read rankings, where smaller is better.
        split_ratings : Hold out some ratings of every user.

        Examples
        --------
        >>> from rather import Comparisons
        >>> Comparisons.from_ratings({"user": ["ann", "ann", "ann"], "item": ["A", "B", "C"], "rating": [5, 3, 1]})
        Comparisons: 3 comparisons by 1 users over 3 items (from ratings)
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
        """Read rankings: a user prefers the item with the smaller place.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, Table, or dict of columns
            One row for each user and ranked item.
        user : str, default "user"
            Column of user ids.
        item : str, default "item"
            Column of item ids.
        rank : str, default "rank"
            Column of places, where 1 is best. Items with equal places are not compared.
        allow_empty : bool, default False
            Whether the rankings may imply no comparison. Set it for new rankings that join earlier ones.

        Returns
        -------
        Comparisons
            The comparisons that the rankings imply.

        Raises
        ------
        InputError
            If a user ranks an item twice, or no two items can be compared.

        See Also
        --------
        Comparisons.from_ratings : Read ratings, where higher is better.
        Comparisons.from_menus : Read choices from menus of several items.

        Examples
        --------
        >>> from rather import Comparisons
        >>> Comparisons.from_rankings({"user": ["ann"] * 3, "item": ["A", "B", "C"], "rank": [1, 2, 3]})
        Comparisons: 3 comparisons by 1 users over 3 items (from ratings)
        """
        read = readers.ratings(frame, user, item, rank, "rank", better=-1, alone=not allow_empty)
        return cls._read(frame, read, user=user, item=item)

    @classmethod
    def from_menus(
        cls, frame: Any, user: str = "user", menu: str = "menu", item: str = "item", chosen: str = "chosen"
    ) -> Comparisons:
        """Read choices from menus: a chosen item beats every item that was not chosen.

        A menu belongs to one user: rows with the same user and menu form one menu. A menu yields no comparison if all
        of its items, or none of them, were chosen.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, Table, or dict of columns
            One row for each item that was shown.
        user : str, default "user"
            Column of user ids.
        menu : str, default "menu"
            Column of menu ids.
        item : str, default "item"
            Column of item ids.
        chosen : str, default "chosen"
            Column that is true where the item was chosen.

        Returns
        -------
        Comparisons
            The comparisons that the choices imply.

        Raises
        ------
        InputError
            If a menu shows an item twice, or no menu yields a comparison.

        See Also
        --------
        Comparisons.from_frame : Read votes between two items.
        Comparisons.from_rankings : Read whole rankings.

        Examples
        --------
        >>> from rather import Comparisons
        >>> shown = {"user": ["ann"] * 3, "menu": [1] * 3, "item": ["A", "B", "C"], "chosen": [True, False, False]}
        >>> Comparisons.from_menus(shown)
        Comparisons: 2 comparisons by 1 users over 3 items
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
        """Read clicks, plays or purchases: a user prefers clicked to unclicked items.

        Repeated clicks count once. Other columns, such as counts or amounts, are not read. A user who clicked every
        item yields no comparisons.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, Table, or dict of columns
            One row for each click.
        user : str, default "user"
            Column of user ids.
        item : str, default "item"
            Column of item ids.
        per_user : int, optional
            Number of comparisons drawn for each user, as in the paper: a clicked item against an unclicked one, both
            uniformly with replacement. Default: the comparisons follow ``unseen`` instead.
        seed : int, default 0
            Seed of the draws.
        unseen : int, optional
            Number of unclicked items that each clicked item is compared with. Popular items are drawn more often.
            Default: two fifths of all items, at most 1500. These comparisons are never stored one by one.
        allow_empty : bool, default False
            Whether the clicks may imply no comparison. Set it for new clicks that join earlier ones.

        Returns
        -------
        Comparisons
            The comparisons that the clicks imply.

        Raises
        ------
        InputError
            If both ``per_user`` and ``unseen`` are given, or the clicks imply no comparison.

        See Also
        --------
        ClickRanker : Learn a personal ranking for every user from clicks.
        split_clicks : Hold out some clicks of every user.

        Examples
        --------
        >>> from rather import Comparisons
        >>> clicks = {"user": ["ann", "ann", "bob", "cat"], "item": ["tea", "milk", "beer", "tea"]}
        >>> Comparisons.from_clicks(clicks, unseen=1)
        Comparisons: 4 comparisons by 3 users over 3 items (from clicks)
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
        """User ids, read-only. The position of an id is the user's code."""
        return read_only(self.user_vocabulary.ids)

    @property
    def items(self) -> Ids:
        """Item ids, read-only. The position of an id is the item's code."""
        return read_only(self.item_vocabulary.ids)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.user_vocabulary)

    @property
    def n_items(self) -> int:
        """Number of items."""
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
        """The compiled core's view of the comparisons, built on first use."""
        return self.source.store

    @property
    def anonymous(self) -> bool:
        """Whether all comparisons belong to one user, as ``user=None`` reads them."""
        return self.n_users == 1 and self.users[0] == vote_readers.EVERYONE

    @property
    def ratings(self) -> Ratings | None:
        """The ratings that imply the comparisons, or None."""
        return self.source.ratings

    @property
    def clicks(self) -> Clicks | None:
        """The clicks that imply the comparisons, or None."""
        return self.source.clicks

    @property
    def implied(self) -> bool:
        """Whether ratings, rankings or clicks imply the comparisons."""
        return self.source.implied

    def parts(self) -> npt.NDArray[np.int32]:
        """Return the connected part that each item is in.

        Two items are connected if somebody compared them, ties included, or if each is connected to a third item. Items
        of different parts were never compared, so their relative places rest on the model alone.

        Returns
        -------
        array of shape (n_items,)
            Number of the part, in the order of ``items``. 0 is the largest part; -1 marks items that nobody compared.

        See Also
        --------
        Comparisons.part_sizes : Count the items of each part.

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
        """Count the items of each connected part, largest part first.

        Returns
        -------
        list of int
            Number of items in part 0, 1, and so on.

        See Also
        --------
        Comparisons.parts : Return the part that each item is in.

        Examples
        --------
        >>> import rather
        >>> votes = rather.Comparisons.from_frame({"user": ["ann", "bob"], "winner": ["A", "C"], "loser": ["B", "D"]})
        >>> votes.part_sizes()
        [2, 2]
        """
        found = self.parts()
        return [int(size) for size in np.bincount(found[found >= 0])]

    def pairs(self) -> Pairs:
        """Write the comparisons down one by one, in codes.

        Comparisons that ratings or clicks imply are computed for this call, which can take much memory.

        Returns
        -------
        Pairs
            Columns of users, winners and losers, and whatever else the votes carry.

        See Also
        --------
        Comparisons.to_frame : Write the comparisons down with ids.

        Examples
        --------
        >>> import rather
        >>> votes = rather.Comparisons.from_frame({"user": ["ann", "bob"], "winner": ["A", "B"], "loser": ["B", "C"]})
        >>> pairs = votes.pairs()
        >>> pairs.user.tolist(), pairs.winner.tolist(), pairs.loser.tolist()
        ([0, 1], [0, 1], [1, 2])
        """
        return self.source.pairs()

    def to_frame(self, kind: str | None = None) -> Any:
        """Write the comparisons down one by one, with ids, as a table.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow", "dict"}, optional
            Kind of table. Default: the kind that the comparisons were read from.

        Returns
        -------
        table
            Columns user, winner, loser, named as in the input. Votes add weight, tie, side and covariates, if they have
            them.

        See Also
        --------
        Comparisons.from_frame : Read the table again.

        Examples
        --------
        >>> from rather import Comparisons
        >>> ranked = Comparisons.from_rankings({"user": ["ann"] * 2, "item": ["A", "B"], "rank": [2, 1]})
        >>> {name: column.tolist() for name, column in ranked.to_frame("dict").items()}
        {'user': ['ann'], 'winner': ['B'], 'loser': ['A']}
        """
        p, carried = self.source.rows()
        table = {"user": self.users[p.user], "winner": self.items[p.winner], "loser": self.items[p.loser], **carried}
        own = {self.names.get(role, role): column for role, column in table.items()}
        return tables.make(own, kind or self.frame_kind)

    # -- parts --------------------------------------------------------------------------------------------------

    def split(
        self, test: float = 0.2, seed: int = 0, by: str = "pairs", users: Mask | None = None
    ) -> tuple[Comparisons, Comparisons]:
        """Hold out a random share of the comparisons for testing.

        Both parts keep all users and items. Use :func:`split_time` to split a table by time instead.

        Parameters
        ----------
        test : float, default 0.2
            Share to hold out, above 0 and below 1.
        seed : int, default 0
            Seed of the draw.
        by : {"pairs", "items"}, default "pairs"
            "pairs" holds out comparisons. Comparisons that came from one answer, such as a menu, stay together. "items"
            holds out that share of every user's ratings or clicks, so that no held-out pair is partly implied by the
            training data.
        users : array of bool, optional
            Mask over ``users``: hold out answers of these users only. Default: all users.

        Returns
        -------
        train : Comparisons
            The comparisons to fit to.
        test : Comparisons
            The held-out comparisons.

        Raises
        ------
        InputError
            If ``test`` is not between 0 and 1, or ``by="items"`` is asked of votes.

        See Also
        --------
        pairwise_accuracy : Measure how many held-out comparisons a model predicts.
        split_time : Split a table by time.
        split_ratings : Hold out some ratings of every user.

        Examples
        --------
        >>> import rather
        >>> train, test = rather.simulate(n_users=50, n_items=20, per_user=10).comparisons.split(test=0.2)
        >>> len(train), len(test)
        (400, 100)
        """
        number("test", test, above=0, below=1)
        number("seed", seed, at_least=0, at_most=2**63 - 1, integer=True)
        one_of("by", by, ("pairs", "items"))
        rng, source = np.random.default_rng(seed), self.source
        parts = source.split_pairs(test, rng, users) if by == "pairs" else source.split_items(test, rng, seed, users)
        return self._with(parts[0]), self._with(parts[1])

    def hold_out(self, share: float, seed: int, users: Mask | None = None) -> tuple[Comparisons, Comparisons]:
        """Hold out a share by items where that is possible, else by comparisons.

        Models tune and calibrate on this split, because no held-out pair is then implied by the training data.

        Parameters
        ----------
        share : float
            Share to hold out.
        seed : int
            Seed of the draw.
        users : array of bool, optional
            Mask over ``users``: hold out answers of these users only.

        Returns
        -------
        train : Comparisons
            The comparisons to fit to.
        test : Comparisons
            The held-out comparisons.

        See Also
        --------
        Comparisons.split : Hold out comparisons or items, as you choose.

        Examples
        --------
        >>> import rather
        >>> comparisons = rather.simulate(n_users=20, n_items=5, seed=0).comparisons
        >>> train, test = comparisons.hold_out(0.2, seed=0)
        >>> len(train) + len(test) <= len(comparisons)
        True
        """
        parts = self.source.hold_out(share, np.random.default_rng(seed), seed, users)
        return self._with(parts[0]), self._with(parts[1])

    def sample(self, per_user: int, seed: int = 0) -> Comparisons:
        """Draw at most a few comparisons of every user, at random.

        Use samples of different sizes for learning curves. All ids stay. With the same seed, a smaller sample is part
        of every larger one.

        Parameters
        ----------
        per_user : int
            Number of comparisons to keep for each user, without replacement. Comparisons that came from one answer,
            such as a menu, are drawn together and count as one.
        seed : int, default 0
            Seed of the draw.

        Returns
        -------
        Comparisons
            The sample.

        See Also
        --------
        plot.learning_curve : Draw accuracy against the number of answers.

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
        """Join newer comparisons of the same kind to these.

        The newer comparisons may have new users and items. Votes and menus are added. A newer rating, or place in a
        ranking, replaces the earlier one of the same user and item. Clicks must have been read with the same
        ``per_user`` and ``unseen``, and are drawn against anew.

        Parameters
        ----------
        new : Comparisons
            The newer comparisons.

        Returns
        -------
        Comparisons
            Both together.

        Raises
        ------
        InputError
            If the two are of different kinds.

        See Also
        --------
        AltSVM.update : Add newer comparisons to a fitted model.

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
        """Join newer comparisons, and also return how codes were renumbered.

        Parameters
        ----------
        new : Comparisons
            The newer comparisons.

        Returns
        -------
        comparisons : Comparisons
            Both together, as from :meth:`extended`.
        union : Union
            The united ids, and the codes of either side in them.

        See Also
        --------
        Comparisons.extended : Join newer comparisons.

        Examples
        --------
        >>> import rather
        >>> votes = rather.Comparisons.from_frame({"user": ["ann", "bob"], "winner": ["A", "B"], "loser": ["B", "C"]})
        >>> new = rather.Comparisons.from_frame({"user": ["dan"], "winner": ["D"], "loser": ["A"]})
        >>> both, union = votes.joined(new)
        >>> both.items.tolist(), union.items.codes[1].tolist()
        (['A', 'B', 'C', 'D'], [0, 3])
        """
        new.refuse_features("old.extended(new).with_features(...), or update(new, item_features=...)")
        union = united((self.users, self.items), (new.users, new.items))
        return self.with_later(new.source, union), union

    def with_later(self, source: Source, union: Union) -> Comparisons:
        """Join the rows of a later source, with ids united beforehand.

        Parameters
        ----------
        source : Source
            The later rows, in their own codes.
        union : Union
            The united ids, and the codes of either side in them.

        Returns
        -------
        Comparisons
            Both together.

        See Also
        --------
        Comparisons.extended : Join newer comparisons.

        Examples
        --------
        >>> import rather
        >>> votes = rather.Comparisons.from_frame({"user": ["ann", "bob"], "winner": ["A", "B"], "loser": ["B", "C"]})
        >>> new = rather.Comparisons.from_frame({"user": ["dan"], "winner": ["D"], "loser": ["A"]})
        >>> union = votes.joined(new)[1]
        >>> len(votes.with_later(new.source, union))
        3
        """
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
    """Return the arguments of a fit as comparisons; they may be integer triples X = (i, j, k) with y = +-1."""
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
            f"fit was given a {type(X).__name__}; it takes Comparisons "
            "(see Comparisons.from_frame, from_ratings, from_clicks) or integer triples X with y = +-1"
        )
    return Comparisons.from_triples(X, y, weight)
