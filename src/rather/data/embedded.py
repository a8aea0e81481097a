"""Choices between things that occur once and have only embeddings.

A choice enters a fit as the difference of its two embeddings. This difference is the features of an item, which is
preferred to an item with the embedding 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ..native import FloatArray
from .features import Encoder, Features
from .ids import Ids, as_ids, factorize
from .rows import Pairs, by_user
from .source import Source
from .union import Union
from .vote_readers import weights_in
from .votes import Votes

COLUMN = "embedding"  # as the table of them has it


class Embedded(Votes):
    """Votes on differences: ``embeddings`` has two rows for each, of what was chosen and of what was not.

    Item t is the difference in row t of what the votes were made of; the last item is 0.
    """

    name, unit, exposes = "embeddings", "choice", False

    def __init__(self, n_users: int, n_items: int, pairs: Pairs, embeddings: FloatArray) -> None:
        super().__init__(n_users, n_items, pairs)
        self.embeddings = embeddings

    def differences(self, encoder: Encoder | None = None) -> Features:
        """The features of the items, by an encoder that is known or as they are learned from the embeddings."""
        frame = {"item": np.arange(len(self.embeddings), dtype=np.int64), COLUMN: self.embeddings}
        read = Encoder.learned(frame, "item") if encoder is None else encoder.read(frame)
        columns = np.zeros((self.n_items, read.columns.shape[1]), np.float32)
        np.subtract(read.columns[0::2], read.columns[1::2], out=columns[:-1])
        return Features(np.arange(self.n_items, dtype=np.int64), columns, read.encoder)

    def columns(self) -> list[Any]:
        return [*super().columns(), self.embeddings]

    def _of(self, pairs: Pairs) -> Source:
        return Embedded(self.n_users, self.n_items, pairs, self.embeddings)

    def kept(self) -> tuple[Any, dict[str, Any]] | None:
        return self._pairs, {"kind": "embeddings"}

    def extended(self, later: Source, union: Union) -> Source:
        if isinstance(later, Embedded) and not len(later) and union.size[1] == self.n_items:
            return Embedded(*union.size, union.voted(self._pairs, later._pairs), self.embeddings)
        raise InputError("choices of embeddings cannot be joined; make them together, with Comparisons.from_embeddings")


def embedded(user: Any, chosen: Any, rejected: Any, weight: Any = None) -> tuple[Ids, Ids, Embedded]:
    """(users, items, source)."""
    sides = {"chosen": _matrix(chosen, "chosen"), "rejected": _matrix(rejected, "rejected")}
    n, k = sides["chosen"].shape
    if sides["rejected"].shape != (n, k):
        raise InputError(f"chosen has shape {(n, k)} and rejected {sides['rejected'].shape}; they must be alike")
    if not n or not k:
        raise InputError(f"chosen has shape {(n, k)}; there must be choices, and columns")
    one = isinstance(user, (str, int, np.integer))
    ids = as_ids([user] * n if one else user, "the list of users")
    if len(ids) != n:
        raise InputError(f"there are {len(ids):,} users and {n:,} choices; give one for each, or one for all")
    same = np.flatnonzero((sides["chosen"] == sides["rejected"]).all(axis=1))
    if len(same):
        raise InputError(f"in row {same[0]} what was chosen and what was not have the same embedding")
    w = None if weight is None else weights_in(weight, "weight")
    if w is not None and len(w) != n:
        raise InputError(f"there are {len(w):,} weights and {n:,} choices; give one for each")
    columns = np.empty((2 * n, k), np.float32)
    columns[0::2], columns[1::2] = sides["chosen"], sides["rejected"]
    items = np.arange(n + 1, dtype=np.int64)
    users, (code,) = factorize([ids], "user")
    at = np.arange(n, dtype=np.int32)
    pairs = Pairs(code, at, np.full(n, n, np.int32), w)
    pairs = by_user(pairs if w is None else pairs.take(w > 0))
    return users, items, Embedded(len(users), n + 1, pairs, columns)


def _matrix(values: Any, what: str) -> Any:
    """Rows of finite numbers."""
    try:
        flat = values if isinstance(values, np.ndarray) and values.dtype != object else list(values)
        array = np.asarray(flat, np.float32)
    except (TypeError, ValueError):
        raise InputError(f"{what} cannot be read as a matrix of numbers: rows must be of one length") from None
    if array.ndim != 2:
        raise InputError(f"{what} has {array.ndim} dimensions; it must be a matrix with a row for every choice")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        raise InputError(f"{what} in row {bad[0][0]}, column {bad[0][1]} is not finite; all numbers must be")
    return array
