"""Tables cut in two, for training and for testing: the paper's splits to the letter, and a split by time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, number, one_of
from . import frames
from .ids import as_ids, factorize
from .rows import places, random_places


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


def split_ratings(frame: Any, per_user: int = 50, min_test: int = 10, seed: int = 0, user: str = "user") -> Split:
    """(train, test): ``per_user`` random ratings of every user for training, the rest for testing.

    Users with fewer than ``per_user + min_test`` ratings are dropped from both (Section 5.2 of the paper: N and 10);
    what is returned says how many, ``left_out``.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table, or dict of columns
        One row per rating. Both parts are frames of the same kind, rows in their original order.
    per_user, min_test, seed : int
    user : str
        Name of the user column.

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
    place, size = _random_places(frame, user, seed)
    enough = size >= per_user + min_test
    if not enough.any():
        raise InputError(
            f"no user has {per_user + min_test} ratings (per_user {per_user} + min_test {min_test}); "
            f"the most any has is {size.max()}"
        )
    train, few = place < per_user, int((~enough & (place == 0)).sum())
    parts = frames.take(frame, enough & train), frames.take(frame, enough & ~train)
    return Split(*parts, few, f"fewer than {per_user + min_test} ratings")


def split_clicks(frame: Any, test: float = 0.1, seed: int = 0, user: str = "user") -> Split:
    """(train, test): a random share of every user's clicks held out, rounded down; the paper's binarised data have 0.1.

    Every user keeps at least one click for training.
    """
    number("test", test, above=0, below=1)
    number("seed", seed, at_least=0, integer=True)
    place, size = _random_places(frame, user, seed)
    held = place < np.minimum(np.floor(size * test + 1e-9), size - 1)
    return Split(frames.take(frame, ~held), frames.take(frame, held))


def split_time(
    frame: Any, test: float = 0.2, time: str = "timestamp", user: str = "user", by: str = "everyone"
) -> Split:
    """(train, test): what was said earlier for training, what was said later for testing, as it is in life.

    Rows of the same time stay together, and go to training where the cut falls among them.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table, or dict of columns
        One row per vote, rating or click; rows keep their order.
    test : float
        Share to test on, above 0 and below 1: about the last of all rows, or of every user's.
    time : str
        Name of the column with the times: numbers, dates or times.
    user : str
        Name of the user column, for ``by="user"``.
    by : {"everyone", "user"}
        "everyone": one moment cuts all rows, so that no training row is later than any test row. "user": every user's
        own rows are cut, and everyone stays in training.

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
    got = frames.columns(frame, {"time": time, **({"user": user} if by == "user" else {})})
    when = frames.times(got["time"], f"the time (column {time!r})")
    if not len(when):
        raise InputError("there is nothing to split: the table has no rows")
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


def _random_places(frame: Any, user: str, seed: int) -> tuple[Any, Any]:
    """For every row its place in a random order of its user's rows, and how many rows that user has."""
    got = frames.columns(frame, {"user": user})
    users, (u,) = factorize([as_ids(got["user"], f"the user (column {user!r})")], "user")
    if not len(u):
        raise InputError("there is nothing to split: the table has no rows")
    place, size = random_places(u, len(users), np.random.default_rng(seed))
    return place, size[u]
