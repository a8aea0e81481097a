"""The best items for every user: each task has all items and the ordinary model, and takes users in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..errors import InputError, one_of
from ..models.altsvm import AltSVM
from ..models.files import assembled
from .local import about_local, flat, item_tensors, user_tensors, whole
from .table import task_keys
from .worker import lists

USERS_A_TASK, MOST_TASKS = 2000, 200  # each task has a copy of all items
AT_ONCE = 4096  # users


def recommended(
    users: DataFrame, items: DataFrame, about: dict[str, Any], k: int, seen: bool, by: str, names: tuple[str, str]
) -> DataFrame:
    """A row for every user: the id, and its best items with their scores."""
    one_of("by", by, ("interest", "score"))
    n_items = items.count()
    if k > n_items:
        raise InputError(f"numItems is {k}, but there are only {n_items} items; ask for at most {n_items}")
    if "gone" not in users.columns:
        users = users.select("*", *_none(gone="array<int>"))
    n_tasks = min(max(1, users.count() // USERS_A_TASK), MOST_TASKS)
    keys = F.array(*(F.lit(key) for key in task_keys(n_tasks)))
    people = users.select(
        F.lit(1).alias("order"), (F.pmod(F.xxhash64("id"), F.lit(n_tasks)) + 1).cast("int").alias("task"), "id",
        "features", "met", "reluctance", "gone", *_none(code="int", bias="float", parts="array<float>", count="bigint"),
    )  # fmt: skip
    copies = items.withColumn("task", F.explode(F.sequence(F.lit(1), F.lit(n_tasks)))).select(
        F.lit(0).alias("order"), "task", F.lit(None).cast(dict(users.dtypes)["id"]).alias("id"), "features",
        *_none(met="array<int>", reluctance="float", gone="array<int>"), "code", "bias", "parts",
        F.col("met").alias("count"),
    )  # fmt: skip
    rows = copies.unionByName(people).withColumn("task", F.element_at(keys, F.col("task")))
    rows = rows.repartition(n_tasks, "task").sortWithinPartitions("order", "code").drop("task")
    user, item = names

    def best(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return lists_of(batches, about, k, seen, by)

    made = rows.mapInArrow(best, f"id {dict(users.dtypes)['id']}, codes array<int>, scores array<float>")
    every = items.agg(F.sort_array(F.collect_list(F.struct("code", "id")))["id"].alias("ids"))
    named = F.zip_with(
        "codes", "scores", lambda code, score: F.struct(F.element_at("ids", code + 1).alias(item), score.alias("score"))
    )
    return made.crossJoin(F.broadcast(every)).select(F.col("id").alias(user), named.alias("recommendations"))


def _none(**columns: str) -> list[Any]:
    """Columns without a value; lists are empty, since Spark would look at all null ones of a batch, row by row."""
    return [
        (F.array() if its_type.startswith("array") else F.lit(None)).cast(its_type).alias(name)
        for name, its_type in columns.items()
    ]


def lists_of(
    batches: Iterator[pa.RecordBatch], about: dict[str, Any], k: int, seen: bool, by: str
) -> Iterator[pa.RecordBatch]:
    """The lists of a task's users: of its rows, all items come first."""
    items: list[pa.Table] = []
    known: dict[str, Any] | None = None
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        n = int((batch.column("order").to_numpy() == 0).sum())
        if n:
            items.append(rows.slice(0, n).drop_columns(["met"]).rename_columns(_renamed(rows)))
        people = rows.slice(n)
        for first in range(0, len(people), AT_ONCE):
            if known is None:
                known = item_tensors(pa.concat_tables(items).combine_chunks(), about)
            yield _lists(people.slice(first, AT_ONCE), known, about, k, seen, by)


def _renamed(rows: pa.Table) -> list[str]:
    return ["met" if name == "count" else name for name in rows.column_names if name != "met"]


def _lists(people: pa.Table, known: dict[str, Any], about: dict[str, Any], k: int, seen: bool, by: str) -> Any:
    """Return the lists of some users, by a model of these alone with numbers as ids."""
    tensors = {**known, **user_tensors(people, about)}
    n_users, n_items = len(people), len(known["item_bias"])
    model = assembled(AltSVM, tensors, about_local(about, {}), np.arange(n_users), np.arange(n_items))
    gone = whole(people["gone"])
    exclude: Any = "seen" if seen else None
    if len(gone.flatten()):
        size = np.array([0 if one is None else len(one) for one in gone.to_pylist()])
        exclude = {"user": np.repeat(np.arange(n_users), size), "item": flat(gone).astype(np.int64)}
    model.set_params(n_threads=1)
    made = model.recommend(np.arange(n_users), k, exclude=exclude, by=by)
    start = np.searchsorted(made["user"], np.arange(n_users + 1))
    columns = [
        whole(people["id"]), lists(start, made["item"].astype(np.int32), pa.int32()),
        lists(start, made["score"], pa.float32()),
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, names=["id", "codes", "scores"])
