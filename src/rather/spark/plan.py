"""The instructions to the tasks of a job, and the schemas of the rows that go in and out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from .. import __version__

# Kinds of rows: what people said; of a fit its users, its items, and all else; comparisons that were put aside.
SAID, USER, ITEM, ABOUT, ASIDE = range(5)


@dataclass(frozen=True)
class Plan:
    """The instructions to every task of a job."""

    params: dict[str, Any]  # of the ordinary AltSVM
    kind: str  # votes, ratings or clicks
    n_items: int
    n_shards: int
    n_tasks: int
    rounds: int  # to make in this job, at most
    token: str = ""
    aside: bool = False  # whether some of it is put aside, to learn how sure to be
    weighted: bool = False
    unseen: int | None = None  # of clicks
    per_user: int | None = None
    timeout: float = 300.0
    ports: tuple[int, int] | None = None
    bind: str | None = None  # where tasks listen, if the driver knows it
    begun: dict[str, Any] = field(default_factory=dict)  # what the job before said about its end
    version: str = __version__


def in_schema(user: str) -> str:
    """The columns of rows that go in; ``user`` is the type of ids."""
    return f"kind tinyint, shard int, user {user}, a int, b int, x double, tie boolean, vector array<float>"


def out_schema(user: str) -> str:
    """Return the columns of rows that come out."""
    return f"kind tinyint, shard int, user {user}, a int, x double, vector array<float>, met array<int>, text string"


def out_fields(user: pa.DataType) -> list[tuple[str, pa.DataType]]:
    """The same, for Arrow."""
    return [
        ("kind", pa.int8()), ("shard", pa.int32()), ("user", user), ("a", pa.int32()), ("x", pa.float64()),
        ("vector", pa.list_(pa.float32())), ("met", pa.list_(pa.int32())), ("text", pa.string()),
    ]  # fmt: skip
