"""Tables for tasks: ids are mapped in the cluster, users are in shards, and shards are in tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..errors import InputError
from .columns import column
from .plan import ITEM, SAID, USER, in_schema

ROLES = {"votes": ("user", "winner", "loser"), "ratings": ("user", "item", "rating"), "clicks": ("user", "item")}
AS_TEXT = (T.DateType, T.DecimalType, T.BooleanType, T.CharType, T.VarcharType)  # and back again without loss
NUMBERS = "rating", "weight"


@dataclass(frozen=True)
class Said:
    """The data: ``rows`` of user, a and b (item codes), x (rating or weight) and tie; and the ``items``."""

    rows: DataFrame
    items: DataFrame  # a (code), item
    user_type: str  # of ids in rows: bigint or string
    given: dict[str, str]  # the types of ids as they came


def columns_of(frame: DataFrame, kind: str, names: dict[str, str]) -> tuple[DataFrame, dict[str, str]]:
    """The columns of a table under the names of their roles, ids as bigint or string; and the types they came in."""
    types = {field.name: field.dataType for field in frame.schema.fields}
    made, given = [], {}
    for role, name in names.items():
        hint = "; ratings and clicks need source='ratings' or 'clicks'" if role in ("winner", "loser") else ""
        said = column(frame, name, role, hint)
        its_type = types[name]
        what = f"the {role} (column {name!r}) holds values of type {its_type.simpleString()}"
        if role in NUMBERS:
            if not isinstance(its_type, T.NumericType):
                raise InputError(f"{what}; it must hold numbers: cast the column first")
            made.append(said.cast("double").alias("x"))
        elif role == "tie":
            if not isinstance(its_type, T.BooleanType):
                raise InputError(f"{what}; it must be true where the two tied: cast the column to boolean first")
            made.append(F.coalesce(said, F.lit(False)).alias(role))
        else:
            if not isinstance(its_type, (T.StringType, T.IntegralType, *AS_TEXT)):
                raise InputError(f"{what}; ids must be strings or integers: cast the column first")
            given[role] = its_type.simpleString()
            made.append(said.cast(id_type(its_type)).alias(role))
    if kind == "votes" and given["winner"] != given["loser"]:
        raise InputError(
            f"the winner is of type {given['winner']} and the loser of type {given['loser']}; cast them to one type"
        )
    return frame.select(*made), given


def id_type(given: T.DataType) -> str:
    return "bigint" if isinstance(given, T.IntegralType) else "string"


def numbered(table: DataFrame, kind: str) -> DataFrame:
    """All item ids in order, each with its code ``a``."""
    sides = ("winner", "loser") if kind == "votes" else ("item",)
    ids = [table.select(F.col(side).alias("item")) for side in sides]
    every = ids[0] if len(ids) == 1 else ids[0].union(ids[1])
    ids_in_order = F.sort_array(F.collect_set("item"))  # every task has all items anyway
    return every.agg(ids_in_order.alias("ids")).select(F.posexplode("ids").alias("a", "item"))


def coded(table: DataFrame, items: DataFrame, kind: str) -> DataFrame:
    """The rows with codes in place of item ids; a missing id has none."""
    sides = {"a": "winner", "b": "loser"} if kind == "votes" else {"a": "item"}
    for code, side in sides.items():
        of = items.select(F.col("a").alias(f"_{code}"), F.col("item").alias(f"_{side}"))
        table = table.join(of, table[side] == of[f"_{side}"], "left").drop(f"_{side}", side)
        table = table.withColumnRenamed(f"_{code}", code)
    nothing = {"b": "int", "x": "double", "tie": "boolean"}
    for name, its_type in nothing.items():
        if name not in table.columns:
            table = table.withColumn(name, F.lit(None).cast(its_type))
    return table.select("user", "a", "b", "x", "tie")


def in_shards(rows: DataFrame, n_shards: int) -> DataFrame:
    """The rows as they go in, each with its user's shard."""
    shard = F.pmod(F.xxhash64("user"), F.lit(n_shards)).cast("int")
    none = F.array().cast("array<float>").alias("vector")  # not null: Spark would look at all nulls of a batch for each
    return rows.select(
        F.lit(SAID).cast("tinyint").alias("kind"), shard.alias("shard"), "user", "a", "b", "x", "tie", none
    )


def left_over(state: DataFrame) -> DataFrame:
    """The users and items of a fit as they go in again; the items to the first shard."""
    none = {"b": "int", "x": "double", "tie": "boolean"}
    kept = state.where(F.col("kind").isin(USER, ITEM))
    return kept.select(
        "kind", F.coalesce("shard", F.lit(0)).alias("shard"), "user", "a",
        *(F.lit(None).cast(its_type).alias(name) for name, its_type in none.items()), "vector",
    )  # fmt: skip


def in_tasks(rows: DataFrame, n_shards: int, n_tasks: int) -> DataFrame:
    """The rows in so many partitions, each of which has the shards that are its task's."""
    wanted = [field.strip().split()[0] for field in in_schema("string").split(", ")]
    if n_tasks == 1:
        return rows.select(*wanted).repartition(1)
    task = F.floor(F.col("shard") / F.lit(n_shards // n_tasks)).cast("int")
    keys = F.array(*(F.lit(key) for key in task_keys(n_tasks)))
    return rows.withColumn("key", F.element_at(keys, task + 1)).repartition(n_tasks, "key").select(*wanted)


def task_keys(n: int) -> list[int]:
    """For every partition of n a whole number that Spark's hash sends there."""
    found: dict[int, int] = {}
    key = 0
    while len(found) < n:
        found.setdefault(murmur(key) % n, key)
        key += 1
    return [found[partition] for partition in range(n)]


def murmur(key: int, seed: int = 42) -> int:
    """Spark's hash of an int: Murmur3 (A. Appleby) of its four bytes, with a sign."""
    mask = 0xFFFFFFFF

    def turned(x: int, by: int) -> int:
        return ((x << by) | (x >> (32 - by))) & mask

    h = seed ^ turned(key * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    h = (turned(h, 13) * 5 + 0xE6546B64) & mask
    h ^= 4
    for shift, by in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        h = (h ^ (h >> shift)) * by & mask
    return h - 2**32 if h >= 2**31 else h


def as_given(column: Any, given: str) -> Any:
    """Ids in the type they came in."""
    return column.cast(given)
