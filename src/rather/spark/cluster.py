"""Checks of a cluster before a fit, and its failures in one sentence each."""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from .. import __version__
from ..addresses import SITE
from ..errors import InputError

TOGETHER, LONGER = 0.4, 3.0  # seconds that a task stays, so that those which can run at the same time are seen to
NO_MODULE = (
    "rather cannot be imported on the executors ({}); install it there, or ship it with the job: see "
    f"{SITE}/guides/spark.html#how-rather-gets-to-the-executors"
)


class ClusterError(RuntimeError):
    """A job failed for no fault of its input, as often as it was tried."""


@dataclass(frozen=True)
class Slots:
    """The number of tasks that run at the same time, and the memory of each (None: not known)."""

    tasks: int
    memory: int | None


def is_connect(spark: Any) -> bool:
    return "connect" in type(spark).__module__


def refuse_settings(spark: Any) -> None:
    """Refuse what Spark would refuse only later, or less clearly."""
    if str(spark.conf.get("spark.dynamicAllocation.enabled", "false")).lower() == "true":
        raise InputError(
            "spark.dynamicAllocation.enabled is true, and Spark runs no barrier stages with it; set it to false, and "
            "spark.executor.instances to what you need"
        )


def bind_address(spark: Any) -> str | None:
    """Return the address that the driver is set to bind to, where tasks run in it."""
    here = spark.conf.get("spark.master", "").startswith("local")
    return spark.conf.get("spark.driver.bindAddress", None) if here else None


def slots(spark: Any, most: int, wanted: int | None = None) -> Slots:
    """Return how many of ``most`` tasks run at the same time, by trying; each must be able to import rather.

    Workers that start late are not seen beside others, so fewer than there should be are tried once more, for longer.
    """
    usual = _parallelism(spark)
    tasks, enough = wanted or min(most, usual), min(wanted or most, usual)
    found = _tried(spark, tasks, TOGETHER)
    return found if found.tasks >= enough else max(found, _tried(spark, tasks, LONGER), key=lambda s: s.tasks)


def _tried(spark: Any, tasks: int, together: float) -> Slots:
    """Return how many tasks run at the same time, if each stays so many seconds."""

    def probe(batches: Any) -> Any:
        import importlib
        import os
        import socket

        for _ in batches:
            pass
        began = time.time()
        said = {"host": socket.gethostname(), "pid": os.getpid(), "began": began}
        try:
            memory = importlib.import_module("rather.memory")
            said["version"] = importlib.import_module("rather").__version__
            said["memory"] = memory.available()
        except Exception as e:
            said["failure"] = f"{type(e).__name__}: {e}"
        time.sleep(max(0.0, began + together - time.time()))
        yield pa.RecordBatch.from_pydict({"text": [json.dumps({**said, "ended": time.time()})]})

    try:
        rows = spark.range(0, tasks, 1, tasks).mapInArrow(probe, "text string").collect()
    except Exception as e:
        raise refusal(e) or e from None
    found = [json.loads(row["text"]) for row in rows]
    for one in found:
        if "failure" in one:
            raise InputError(NO_MODULE.format(one["failure"][:200]))
        if one["version"] != __version__:
            raise InputError(
                f"rather is {__version__} here and {one['version']} on executor {one['host']!r}; install one version"
            )
    by_host: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in found:
        by_host[one["host"]].append(one)
    at_once = {host: _overlap(several) for host, several in by_host.items()}
    known = [one["memory"] / at_once[one["host"]] for one in found if one["memory"] is not None]
    return Slots(sum(at_once.values()), int(min(known)) if known else None)


def _parallelism(spark: Any) -> int:
    """Return how many tasks Spark makes of a range, its estimate of how many run at the same time."""
    if not is_connect(spark):
        return int(spark.sparkContext.defaultParallelism)
    from pyspark.sql import functions as F

    return int(spark.range(100_000).select(F.spark_partition_id()).distinct().count())


def _overlap(several: list[dict[str, Any]]) -> int:
    """The most that were under way at one moment, by one clock."""
    return max(sum(bool(a["began"] <= b["began"] < a["ended"]) for a in several) for b in several)


def power_of_two(n: int) -> int:
    """The largest one that is at most n."""
    return 1 << (n.bit_length() - 1)


# -- failures ---------------------------------------------------------------------------------------------------------

SAID = re.compile(r"(?:^|\n)(?:\S+\.)?InputError: (.*?)(?:\n|$)")
LOST = re.compile(r"(?:^|\n)(?:\S+\.)?GroupError: (.*?)(?:\n|$)")


def refusal(failure: BaseException) -> InputError | None:
    """The sentence that input was refused with in a task, if that is what failed a job."""
    if isinstance(failure, InputError):
        return failure
    text = str(failure)
    if found := SAID.search(text):
        return InputError(found[1])
    if found := re.search(r"No module named '(rather|pyarrow|numpy|scipy)[^']*'", text):
        return InputError(NO_MODULE.format(found[0]))
    if "SPARK-24942" in text or "dynamic resource allocation" in text:
        return InputError(
            "Spark runs no barrier stages with dynamic allocation; set spark.dynamicAllocation.enabled=false"
        )
    return None


def in_short(failure: BaseException) -> str:
    """Return the cause of a failed job in a line."""
    text = str(failure)
    if isinstance(failure, ClusterError):
        return text
    if found := LOST.search(text):
        return found[1]
    for sign, sentence in (
        ("Python worker exited unexpectedly", "a Python worker died"),
        ("ExecutorLostFailure", "an executor was lost"),
        ("executor lost", "an executor was lost"),
        ("Barrier task", "a task of the stage failed"),
        ("ExecutorDeadException", "an executor was lost"),
    ):
        if sign in text:
            return sentence
    return f"{type(failure).__name__}: {' '.join(text.split())[:200]}"


# -- budget -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Budget:
    """The memory and the traffic of a fit, by a small model of its arrays."""

    tasks: int
    shards: int
    memory: int  # bytes a task, about
    traffic: int  # bytes that a task sends in a round, about
    available: int | None  # bytes that a task may have

    def __str__(self) -> str:
        have = "" if self.available is None else f" (of {_bytes(self.available)})"
        return (
            f"{self.tasks} task{'s' * (self.tasks > 1)} of {self.shards // self.tasks} shards: "
            f"{_bytes(self.memory)} memory each{have}, "
            f"{_bytes(self.traffic)} sent by each in a round"
        )


SKEW = 1.3  # the largest task's share of users and rows, over the mean
PYTHON = 150 << 20  # of a Python worker with numpy, scipy and pyarrow


def budget(
    n_users: int, n_items: int, n_rows: int, rank: int, *, shards: int, slots: Slots, kind: str, exposed: bool,
    drawn: int = 0,
) -> Budget:  # fmt: skip
    """Return the budget of a fit; ``drawn`` items are drawn against each user's clicks."""
    tasks, row = slots.tasks, 4 * (-(-(rank + 1) // 16) * 16)
    features = 4 * 112 if exposed else 0
    waiting = (shards // tasks).bit_length()  # item matrices of shards that wait to be added
    item_side = n_items * ((6 + waiting) * row + 3 * features)
    share = SKEW / tasks
    user_side = share * n_users * ((5 if exposed else 1) * row + features + 64)
    entries = share * (n_rows * (2 if kind == "votes" else 1) + n_users * drawn)
    rows_in = share * n_rows * 80  # as Arrow brings them, and in order
    memory = PYTHON + item_side + user_side + 44 * entries + rows_in
    traffic = 2 * (tasks - 1) / tasks * 6.2 * n_items * row  # a gradient and five products with the Hessian, and less
    return Budget(tasks, shards, int(memory), int(traffic), slots.memory)


def require(needed: Budget) -> None:
    """Refuse what cannot fit."""
    if needed.available is not None and needed.memory > needed.available:
        raise InputError(
            f"a task would take about {_bytes(needed.memory)}, and may have {_bytes(needed.available)}; take more and "
            "smaller tasks (numTasks, with executors for them), a smaller rank, or give Python more memory "
            "(spark.executor.memoryOverhead)"
        )


def _bytes(n: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if n < 1000 or unit == "GB":
            return f"{n:.3g} {unit}" if n < 1000 else f"{n:,.0f} {unit}"
        n /= 1000
    raise AssertionError
