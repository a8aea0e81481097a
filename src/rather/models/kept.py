"""The comparisons of a fit as tensors in the model file, which updates of a loaded model need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from .. import memory
from ..data.clicks import ClickRule, clicked, usual_unseen
from ..data.comparisons import Comparisons
from ..data.described import Described, nothing_else
from ..data.embedded import Embedded
from ..data.ids import Vocabulary
from ..data.ratings import LargestGaps, Rated
from ..data.readers import LARGEST_RATING
from ..data.rows import Clicks, Pairs, Ratings
from ..data.source import Source
from ..data.vote_readers import LARGEST_COVARIATE, LARGEST_WEIGHT
from ..data.votes import Votes
from ..errors import InputError
from ..native import factor
from .features import Learned

PREFIX = "comparisons_"
ROLES = "user", "item"
LARGEST_COLUMN = 1e15
ROWS: dict[str, Any] = {
    "votes": Pairs,
    "embeddings": Pairs,
    "ratings": Ratings,
    "largest gaps": Ratings,
    "clicks": Clicks,
}
CODES = {"user": 0, "item": 1, "winner": 1, "loser": 1}
KINDS = {
    "weight": np.float32, "gap": np.float32, "group": np.int64, "rating": np.float64, "tied": np.bool_,
    "around": np.float32,
}  # fmt: skip
LIMITS = {"weight": LARGEST_WEIGHT, "rating": LARGEST_RATING, "around": 2 * LARGEST_COVARIATE}
MOST = 2**31 - 1


def packed(comparisons: Comparisons) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of comparisons as tensors, and what else is to be said of them."""
    rows, about = _packed_rows(comparisons)
    for role in ROLES:
        known = getattr(comparisons, f"{role}_features")
        if known is not None and known.own:
            rows[f"{PREFIX}{role}_features"] = np.ascontiguousarray(known.rows[:, : known.k])
            rows[f"{PREFIX}{role}_known"] = known.known
    about["described"] = [role for role in ROLES if getattr(comparisons, f"{role}_features") is not None]
    return rows, about


def _packed_rows(comparisons: Comparisons) -> tuple[dict[str, Any], dict[str, Any]]:
    kept = comparisons.source.kept()
    if kept is None:
        raise InputError(
            f"{type(comparisons.source).__name__} does not say what a file must hold of it", remedy="save without"
        )
    rows, about = kept
    columns = {field.name: getattr(rows, field.name) for field in fields(rows)}
    if isinstance(comparisons.source, Embedded):
        columns["embeddings"] = comparisons.source.embeddings
    return {f"{PREFIX}{name}": column for name, column in columns.items() if column is not None}, about


def unpacked(
    tensors: Mapping[str, Any],
    about: Mapping[str, Any],
    users: Vocabulary,
    items: Vocabulary,
    learned: Mapping[str, Learned],
    **read: Any,
) -> Comparisons:
    """The comparisons that a file holds; a ValueError if its parts do not fit together.

    ``learned`` is what the model learned of features, by role.
    """
    kind, size = about["kind"], (len(users), len(items))
    names = [field.name for field in fields(ROWS[kind])]
    columns = {name: tensors[f"{PREFIX}{name}"] for name in names if f"{PREFIX}{name}" in tensors}
    n = len(columns["user"])
    for name, column in columns.items():
        _check(name, column, n, size)
    if not n or (np.diff(columns["user"]) < 0).any():
        raise ValueError("comparisons are missing or not in order")
    rows = ROWS[kind](**columns)
    if kind in ("votes", "embeddings"):
        if (rows.winner == rows.loser).any() or not isinstance(about.get("implied", False), bool):
            raise ValueError("votes compare items with themselves")
        _check_carried(rows, about.get("effects", []))
    else:
        key = np.sort(rows.user.astype(np.int64) * size[1] + rows.item)
        if (key[1:] == key[:-1]).any():
            raise ValueError("a user has an item twice")
    embedded = kind == "embeddings"
    source = _embedded(size, rows, tensors[f"{PREFIX}embeddings"]) if embedded else _source(kind, size, rows, about)
    made = Comparisons(users.ids, items.ids, source, **read)
    made.user_vocabulary, made.item_vocabulary = users, items
    if sorted(about.get("described", [])) != sorted(learned):
        raise ValueError("what is known of the users and items does not fit the model")
    for role, n in zip(ROLES, size, strict=True):
        if role in learned:
            setattr(made, f"{role}_features", _described(role, n, tensors, learned[role], source))
    return made


def _described(role: str, n: int, tensors: Mapping[str, Any], learned: Learned, source: Source) -> Described:
    if not learned.own:
        if not isinstance(source, Embedded):
            raise ValueError("only embeddings are nothing but features")
        return nothing_else(source.differences(learned.encoder))
    columns, known = tensors[f"{PREFIX}{role}_features"], tensors[f"{PREFIX}{role}_known"]
    sound = columns.dtype == np.float32 and columns.shape == (n, learned.encoder.width)
    sound = sound and known.dtype == np.bool_ and known.shape == (n,) and bool((np.abs(columns) < LARGEST_COLUMN).all())
    if not sound:
        raise ValueError(f"the {role}s' features are not what they should be")
    rows = factor(n, learned.encoder.width)
    rows[:, : learned.encoder.width] = columns
    return Described(rows, known, learned.encoder, learned.strengths, learned.alone)


def _embedded(size: tuple[int, int], rows: Pairs, embeddings: Any) -> Source:
    sound = embeddings.dtype == np.float32 and embeddings.ndim == 2 and len(embeddings) == 2 * (size[1] - 1)
    sound = sound and bool((np.abs(embeddings) < LARGEST_COLUMN).all()) and bool((rows.loser == size[1] - 1).all())
    if not sound:
        raise ValueError("the embeddings are not what they should be")
    return Embedded(*size, rows, embeddings)


def _check(name: str, column: Any, n: int, size: tuple[int, int]) -> None:
    sound = column.ndim >= 1 and len(column) == n
    if name in CODES:
        sound = sound and column.dtype == np.int32 and column.ndim == 1
        sound = sound and (not n or (column.min() >= 0 and column.max() < size[CODES[name]]))
    else:
        sound = sound and column.dtype.kind in "biuf" and column.dtype == KINDS.get(name, column.dtype)
        sound = sound and bool((np.abs(column) <= LIMITS.get(name, np.inf)).all())  # also false for what is no number
        sound = sound and column.ndim == (2 if name == "around" else 1)
        sound = sound and (name not in ("weight", "gap") or not (column < 0).any())
    if not sound:
        raise ValueError(f"the column {name} of the comparisons is not what it should be")


def _check_carried(pairs: Pairs, effects: Any) -> None:
    """Check that every column beside votes has a name, and that ties are in two halves."""
    wide = 0 if pairs.around is None else pairs.around.shape[-1]
    sound = isinstance(effects, list) and len(set(map(str, effects))) == len(effects) == wide
    sound = sound and all(isinstance(name, str) for name in effects)
    sound = sound and (pairs.around is None or pairs.around.ndim == 2)
    if sound and pairs.tied is not None:
        sound = pairs.tied.ndim == 1 and pairs.group is not None and pairs.weight is not None
        halves = np.unique(pairs.group[pairs.tied], return_counts=True)[1] if pairs.group is not None else np.zeros(1)
        sound = sound and bool((halves == 2).all())
    if not sound:
        raise ValueError("what the votes carry does not fit together")


def _source(kind: str, size: tuple[int, int], rows: Any, about: Mapping[str, Any]) -> Source:
    if kind == "votes":
        return Votes(*size, rows, about["implied"], tuple(about.get("effects", ())))
    if kind == "ratings":
        return Rated(*size, rows)
    seed = _whole(about["seed"], 0, 2**63 - 1)
    if kind == "largest gaps":
        return LargestGaps(Rated(*size, rows), seed)
    per_user, unseen = (None if about[name] is None else _whole(about[name], 1) for name in ("per_user", "unseen"))
    drawn = per_user or min(unseen or usual_unseen(size[1]), size[1])
    memory.require(32.0 * size[0] * drawn, "to draw what clicks are compared with", "is the file damaged?")
    return clicked(*size, rows, ClickRule(per_user, unseen, seed))


def _whole(value: Any, least: int, most: int = MOST) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{value!r} is no whole number from {least} to {most}")
    return value
