"""Splits of tables into training and test data: the paper's protocols, and a split by time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, number, one_of
from . import frames
from .ids import Codes, Ids, as_ids, factorize, users_and_items
from .rows import once_each, places, random_places


class Split(tuple[Any, Any]):
    """Hold the two parts of a split table: ``train, test = split``.

    Attributes
    ----------
    train : table
        The rows to fit to, as the kind of table that was split.
    test : table
        The held-out rows.
    left_out : int
        Number of users in neither part.
    why : str
        Why these users were left out.

    See Also
    --------
    split_ratings : Hold out all but a few ratings of every user.
    split_clicks : Hold out a share of every user's clicks.
    split_time : Split by time.

    Examples
    --------
    >>> import rather
    >>> ratings = {"user": ["ann"] * 3 + ["bob"], "item": ["A", "B", "C", "A"], "rating": [5, 3, 1, 4]}
    >>> split = rather.split_ratings(ratings, per_user=2, min_test=1)
    >>> train, test = split
    >>> len(train), len(test), split.left_out
    (3, 3, 1)
    """

    left_out: int
    why: str

    def __new__(cls, train: Any, test: Any, left_out: int = 0, why: str = "") -> Split:
        made = super().__new__(cls, (train, test))
        made.left_out, made.why = left_out, why
        return made

    @property
    def train(self) -> Any:
        """The rows to fit to."""
        return self[0]

    @property
    def test(self) -> Any:
        """The held-out rows."""
        return self[1]

    def __repr__(self) -> str:
        left = f"; {self.left_out:,} users left out: {self.why}" if self.left_out else ""
        return f"Split: {frames.length(self.train):,} rows to train on, {frames.length(self.test):,} to test on{left}"


def split_ratings(
    frame: Any, per_user: int = 50, min_test: int = 10, seed: int = 0, user: str = "user", item: str = "item"
) -> Split:
    """Keep a few random ratings of every user for training, the rest for testing.

    This is the paper's protocol for ratings. Use :func:`split_time` where the future should be predicted, and
    :meth:`Comparisons.split` for votes.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table, Table, or dict of columns
        One row for each rating. A user rates an item at most once.
    per_user : int, default 50
        Number of ratings to keep for training, for each user.
    min_test : int, default 10
        Smallest number of test ratings. Users with fewer than ``per_user + min_test`` ratings are left out.
    seed : int, default 0
        Seed of the draw.
    user : str, default "user"
        Column of user ids.
    item : str, default "item"
        Column of item ids.

    Returns
    -------
    Split
        Two tables of the kind given, train and test, with rows in their original order.

    Raises
    ------
    InputError
        If no user has enough ratings, or a user rates an item twice.

    See Also
    --------
    split_time : Split by time.
    ndcg : Measure a model on test ratings.

    Examples
    --------
    >>> import rather
    >>> table = {"user": ["ann", "ann", "ann", "bob"], "item": ["A", "B", "C", "A"], "rating": [5, 3, 1, 4]}
    >>> rather.split_ratings(table, per_user=2, min_test=1)
    Split: 2 rows to train on, 1 to test on; 1 users left out: fewer than 3 ratings
    """
    number("per_user", per_user, at_least=1, integer=True)
    number("min_test", min_test, at_least=0, integer=True)
    number("seed", seed, at_least=0, integer=True)
    users, u, items, j = _read(frame, user, item)
    once_each(users, u, items, j)
    place, size = random_places(u, len(users), np.random.default_rng(seed))
    size = size[u]
    enough = size >= per_user + min_test
    if not enough.any():
        raise InputError(
            f"per_user is {per_user}, but no user has {per_user + min_test} ratings, the {min_test} to test on "
            f"included; the most any has is {size.max()}",
            "per_user",
        )
    train, few = place < per_user, int((~enough & (place == 0)).sum())
    parts = frames.take(frame, enough & train), frames.take(frame, enough & ~train)
    return Split(*parts, few, f"fewer than {per_user + min_test} ratings")


def split_clicks(frame: Any, test: float = 0.1, seed: int = 0, user: str = "user", item: str = "item") -> Split:
    """Hold out a random share of every user's clicks.

    The number held out is rounded down, and every user keeps at least one click. Repeated clicks count once: all their
    rows are in one part.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table, Table, or dict of columns
        One row for each click.
    test : float, default 0.1
        Share to hold out, above 0 and below 1.
    seed : int, default 0
        Seed of the draw.
    user : str, default "user"
        Column of user ids.
    item : str, default "item"
        Column of item ids.

    Returns
    -------
    Split
        Two tables of the kind given, train and test, with rows in their original order.

    Raises
    ------
    InputError
        If the table has no rows.

    See Also
    --------
    split_time : Split by time.
    precision : Measure a model on test clicks.

    Examples
    --------
    >>> import rather
    >>> rather.split_clicks({"user": ["ann"] * 4, "item": ["tea", "milk", "cola", "beer"]}, test=0.25)
    Split: 3 rows to train on, 1 to test on
    """
    number("test", test, above=0, below=1)
    number("seed", seed, at_least=0, integer=True)
    users, u, items, j = _read(frame, user, item)
    first = _first_rows(u, j, len(items))
    click = np.flatnonzero(first == np.arange(len(first)))
    place, size = random_places(u[click], len(users), np.random.default_rng(seed))
    size = size[u[click]]
    held = np.zeros(len(u), bool)
    held[click] = place < np.minimum(np.floor(size * test + 1e-9), size - 1)
    held = held[first]
    return Split(frames.take(frame, ~held), frames.take(frame, held))


def split_time(
    frame: Any,
    test: float = 0.2,
    time: str = "timestamp",
    user: str = "user",
    by: str = "everyone",
    item: str | None = None,
) -> Split:
    """Split by time: earlier rows for training, later rows for testing.

    Rows of equal time stay together, in training if the cut falls among them. A user's rows of one menu, or about one
    item, also stay together and have the time of the first of them. No test row is then known from training.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table, Table, or dict of columns
        One row for each vote, rating or click.
    test : float, default 0.2
        Approximate share to test on, above 0 and below 1.
    time : str, default "timestamp"
        Column of times: numbers, dates or datetimes.
    user : str, default "user"
        Column of user ids. Used for ``by="user"`` and ``item`` only.
    by : {"everyone", "user"}, default "everyone"
        "everyone" cuts all rows at one moment. "user" cuts every user's rows at a moment of the user's own, so that
        every user stays in training.
    item : str, optional
        Column by which a user's rows stay together. Default: "menu", or else "item", if the table has it.

    Returns
    -------
    Split
        Two tables of the kind given, train and test, with rows in their original order.

    Raises
    ------
    InputError
        If no row is later than the training rows.

    See Also
    --------
    Comparisons.split : Hold out comparisons at random.
    split_ratings : Hold out all but a few ratings of every user.

    Examples
    --------
    >>> import rather
    >>> votes = {"user": ["ann", "bob", "ann"], "winner": list("ABC"), "loser": list("BCA"), "timestamp": [3, 1, 2]}
    >>> train, test = rather.split_time(votes, test=0.4)
    >>> train["timestamp"], test["timestamp"]
    ([1, 2], [3])
    """
    number("test", test, above=0, below=1)
    one_of("by", by, ("everyone", "user"))
    frames.kind_of(frame)
    present = frames.names_in(frame)
    if item is None and user in present:
        item = next((name for name in ("menu", "item") if name in present), None)
    whose = {"user": user} if by == "user" or item is not None else {}
    got = frames.columns(frame, {"time": time, **whose}, {"item": item})
    when = frames.times(got["time"], f"the time (column {time!r})")
    if not len(when):
        raise InputError("there is nothing to split: the table has no rows")
    if item is not None:
        _, u, items, j = users_and_items(got, user, item)
        order = np.argsort(when, kind="stable")
        earliest = np.empty_like(order)
        earliest[order] = order[_first_rows(u[order], j[order], len(items))]
        when = when[earliest]
    row = np.zeros(len(when), np.int32)
    if by == "user":
        _, (row,) = factorize([as_ids(got["user"], f"the user (column {user!r})")], "user")
    n_rows = int(row.max()) + 1
    order = np.lexsort((when, row))
    place, size = places(row, n_rows, order)
    kept = np.maximum(size - np.round(test * size).astype(np.int64), 1)  # of every row at least the first
    last = np.zeros(n_rows, when.dtype)  # the latest time of training
    at = place == kept[row] - 1
    last[row[at]] = when[at]
    held = when > last[row]
    if not held.any():
        raise InputError(f"there is nothing later to test on: {'every user has' if by == 'user' else 'all rows have'} "
                         f"the same time where {1 - test:g} of the rows end")  # fmt: skip
    return Split(frames.take(frame, ~held), frames.take(frame, held))


def _read(frame: Any, user: str, item: str) -> tuple[Ids, Codes, Ids, Codes]:
    """The ids and codes of a table's users and items."""
    read = users_and_items(frames.columns(frame, {"user": user, "item": item}), user, item)
    if not len(read[1]):
        raise InputError("there is nothing to split: the table has no rows")
    return read


def _first_rows(u: Codes, j: Codes, n_items: int) -> Any:
    """For every row the first one of the same user and item."""
    _, first, which = np.unique(u.astype(np.int64) * n_items + j, return_index=True, return_inverse=True)
    return first[which.reshape(-1)]
