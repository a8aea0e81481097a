"""A watch on a job, because a barrier stage that lost its executors waits for others without a word.

Spark checks for enough slots only before a stage, for ten minutes, and not at all once a stage was restarted. So the
driver checks too, and cancels the job if there have been too few slots for some seconds.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, TypeVar

from pyspark import InheritableThread

from .cluster import ClusterError, is_connect, slots

Made = TypeVar("Made")

BEAT = 0.25  # seconds from look to look
SHORT = 3.0  # seconds of too few slots, after which a job is taken back: an executor may be on its way


def watched(spark: Any, tasks: int, job: Callable[[], Made]) -> Made:
    """Run a job with a barrier stage; raise a ClusterError once its tasks cannot run at the same time."""
    tag, made = f"rather-{secrets.token_hex(8)}", Future[Made]()

    def run() -> None:
        try:
            _tag(spark, tag)
            made.set_result(job())
        except BaseException as e:
            made.set_exception(e)

    InheritableThread(target=run, daemon=True, **({"session": spark} if is_connect(spark) else {})).start()
    look = Progress(spark, tasks) if is_connect(spark) else Capacity(spark, tasks)
    enough = time.monotonic()
    try:
        while not wait([made], BEAT).done:
            now = time.monotonic()
            if (found := look()) is None:
                enough = now
            elif now - enough > SHORT:
                text = f"of the {tasks} tasks of a stage only {found} can run now: executors were lost"
                raise ClusterError(text)
        return made.result()
    finally:
        look.close()
        if not made.done():
            threading.Thread(target=_take_back, args=(spark, tag, made), daemon=True).start()


def _tag(spark: Any, tag: str) -> None:
    (spark.addTag if is_connect(spark) else spark.sparkContext.addJobTag)(tag)


def _take_back(spark: Any, tag: str, made: Future[Any]) -> None:
    """Until it is: a job that waits for slots can be cancelled only once it has found them."""
    while not made.done():
        with suppress(Exception):
            (spark.interruptTag if is_connect(spark) else spark.sparkContext.cancelJobsWithTag)(tag)
        wait([made], 1.0)


class Capacity:
    """Return how many tasks can run at the same time by Spark's own count, if they are too few."""

    def __init__(self, spark: Any, tasks: int) -> None:
        self.context, self.tasks = spark.sparkContext._jsc.sc(), tasks

    def __call__(self) -> int | None:
        try:
            profile = self.context.resourceProfileManager().defaultResourceProfile()
            found = int(self.context.maxNumConcurrentTasks(profile))
        except Exception:  # a Spark that counts otherwise
            return None
        return found if found < self.tasks else None

    def close(self) -> None:
        pass


class Progress:
    """The same for a client of Spark Connect: where nothing runs, by trying."""

    def __init__(self, spark: Any, tasks: int) -> None:
        self.spark, self.tasks = spark, tasks
        self.running: dict[str, int] = {}
        self.since: float | None = None  # when it was first seen that nothing runs
        if hasattr(spark, "registerProgressHandler"):
            spark.registerProgressHandler(self.heard)

    def heard(self, stages: Any, inflight_tasks: int, operation_id: str, done: bool) -> None:
        self.running[operation_id] = 0 if done else inflight_tasks

    def __call__(self) -> int | None:
        if not self.running or any(self.running.values()):
            self.since = None
            return None
        self.since = self.since or time.monotonic()
        if time.monotonic() - self.since < SHORT:
            return None
        found = slots(self.spark, self.tasks).tasks
        if found < self.tasks:
            return found
        self.since = None
        return None

    def close(self) -> None:
        if hasattr(self.spark, "removeProgressHandler"):
            with suppress(Exception):
                self.spark.removeProgressHandler(self.heard)
