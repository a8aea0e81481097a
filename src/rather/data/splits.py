"""Tables cut in two, for training and for testing: the paper's splits to the letter, and a split by time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, number, one_of
from . import frames
from .ids import Codes, Ids, as_ids, factorize, users_and_items
from .rows import once_each, places, random_places


class Split(tuple[Any, Any]):
    """(train, test), which also knows whom it left out.

    Attributes
    ----------
    train, test : frames of the kind that was split
    left_out : int
        Users in neither part.
    why : str
        The reason.
    """

    left_out: int
    why: str

    def __new__(cls, train: Any, test: Any, left_out: int = 0, why: str = "") -> Split:
        made = super().__new__(cls, (train, test))
        made.left_out, made.why = left_out, why
        return made

    @property
    def train(self) -> Any:
        return self[0]

    @property
    def test(self) -> Any:
        return self[1]

    def __repr__(self) -> str:
        left = f"; {self.left_out:,} users left out: {self.why}" if self.left_out else ""
        return f"Split: {frames.length(self.train):,} rows to train on, {frames.length(self.test):,} to test on{left}"


def split_ratings(
    frame: Any, per_user: int = 50, min_test: int = 10, seed: int = 0, user: str = "user", item: str = "item"
) -> Split:
    """(train, test): ``per_user`` random ratings of every user for training, the rest for testing.

    Users with fewer than ``per_user + min_test`` ratings are dropped from both (Section 5.2 of the paper: N and 10);
    what is returned says how many, ``left_out``.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table, or dict of columns
        One row per rating; a user rates an item at most once. Both parts are frames of the same kind, rows in their
        original order.
    per_user, min_test, seed : int
    user, item : str
        Names of its columns.

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
    """(train, test): a random share of every user's clicks held out, rounded down; the paper's binarised data have 0.1.

    Every user keeps at least one click for training. Repeated clicks count once: all their rows are in one part.
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
    """(train, test): what was said earlier for training, what was said later for testing, as it is in life.

    Rows of the same time stay together, and go to training where the cut falls among them. So do a user's rows of one
    menu or about one item, which count as said when the first of them was: nothing that training knows is tested.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table, or dict of columns
        One row per vote, rating or click; rows keep their order.
    test : float
        Share to test on, above 0 and below 1: about the last of all rows, or of every user's.
    time : str
        Name of the column with the times: numbers, dates or times.
    user : str
        Name of the user column, for ``by="user"`` and ``item``.
    by : {"everyone", "user"}
        "everyone": one moment cuts all rows, so that no training row is later than any test row. "user": every user's
        own rows are cut, and everyone stays in training.
    item : str, optional
        Name of the column by which a user's rows stay together. None: "menu", or else "item", where there is one.

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
