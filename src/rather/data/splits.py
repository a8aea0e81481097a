"""The paper's splits, to the letter."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, number
from . import frames
from .ids import as_ids, factorize
from .rows import random_places


def split_ratings(
    frame: Any, per_user: int = 50, min_test: int = 10, seed: int = 0, user: str = "user"
) -> tuple[Any, Any]:
    """(train, test): ``per_user`` random ratings of every user for training, the rest for testing.

    Users with fewer than ``per_user + min_test`` ratings are dropped from both (Section 5.2 of the paper: N and 10).

    Parameters
    ----------
    frame : pandas, polars or pyarrow table, or dict of columns
        One row per rating. Both parts are frames of the same kind, rows in their original order.
    per_user, min_test, seed : int
    user : str
        Name of the user column.
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
    train = place < per_user
    return frames.take(frame, enough & train), frames.take(frame, enough & ~train)


def split_clicks(frame: Any, test: float = 0.1, seed: int = 0, user: str = "user") -> tuple[Any, Any]:
    """(train, test): a random share of every user's clicks held out, rounded down; the paper's binarised data have 0.1.

    Every user keeps at least one click for training.
    """
    number("test", test, above=0, below=1)
    number("seed", seed, at_least=0, integer=True)
    place, size = _random_places(frame, user, seed)
    held = place < np.minimum(np.floor(size * test + 1e-9), size - 1)
    return frames.take(frame, ~held), frames.take(frame, held)


def _random_places(frame: Any, user: str, seed: int) -> tuple[Any, Any]:
    """For every row its place in a random order of its user's rows, and how many rows that user has."""
    got = frames.columns(frame, {"user": user})
    users, (u,) = factorize([as_ids(got["user"], f"the user (column {user!r})")], "user")
    if not len(u):
        raise InputError("there is nothing to split: the table has no rows")
    place, size = random_places(u, len(users), np.random.default_rng(seed))
    return place, size[u]
