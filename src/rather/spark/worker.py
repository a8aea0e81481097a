"""A task of a distributed fit: it reads its shards of users, joins the group, and runs the ordinary fit on its users.

Every task runs the same program. Sums over users are sums over all tasks (``native/shards.hpp``, ``group``), so all
tasks reach the same items and the same decisions, and the state of a user stays in its task. A number in each row in
and out gives its kind: comparisons, or the state of a fit from job to job and at the end.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from .. import __version__
from ..errors import InputError
from ..models.altsvm import AltSVM
from ..models.calibration import Calibration
from ..models.ties import own
from ..native import FloatArray, simd
from ..solving import start
from ..solving.exposure import Exposure, restored
from ..solving.growth import coefficients
from ..solving.newton import Newton
from ..solving.problem import Problem
from ..solving.rounds import SMALLER, Stop, rounds
from .aside import margins, put_aside
from .group import Group, Listener
from .plan import ABOUT, ASIDE, ITEM, USER, Plan, out_fields
from .shard import Shard, read_shards

BATCH = 4096  # rows


def work(plan: Plan, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows that a task makes of its rows."""
    from pyspark import BarrierTaskContext

    task = BarrierTaskContext.get()
    rank, n_threads = task.partitionId(), max(1, task.cpus())
    with _joined(plan, task, rank) as group:
        began = time.perf_counter()
        whole = _agreed(group, lambda: read_shards(plan, rank, batches))
        aside = put_aside(plan, whole) if plan.aside else None
        shard = whole if aside is None else aside.rest
        source = shard.source(plan, group, n_threads)
        source.store.in_shards(shard.start, shard.first, group.sum if group.size > 1 else None, n_threads)
        _check_told_anything(plan, source, group)
        fit = Fit(plan, shard, source, group, n_threads)
        fit.run(began)
        if aside is None:
            yield from fit.rows(rank)
        else:
            popularity = whole.popularity(plan, group)
            yield from aside_rows(whole.users.type, margins(aside, plan, popularity, fit.problem, source.met()))


def _joined(plan: Plan, task: Any, rank: int) -> Group:
    """The group of all tasks, once all are there and alike."""
    here, told = addresses(task.getTaskInfos()[rank].address.rsplit(":", 1)[0], plan.bind)
    with Listener(here, None if plan.ports is None else range(*plan.ports)) as listener:
        me = {"at": f"{told}:{listener.port}", "simd": simd, "version": __version__}
        all_of_us = [json.loads(text) for text in task.allGather(json.dumps(me))]
        for name, sentence in (
            ("version", "the executors have different versions of rather ({}); install the same one everywhere"),
            ("simd", "the executors' processors differ ({}), and so would their last bits; set "
             "spark.executorEnv.RATHER_SIMD to the least of these"),
        ):  # fmt: skip
            found = sorted({other[name] for other in all_of_us} | ({plan.version} if name == "version" else set()))
            if len(found) > 1:
                raise InputError(sentence.format(", ".join(found)))
        return Group(rank, [other["at"] for other in all_of_us], listener, plan.token, plan.timeout)


def addresses(host: str, bind: str | None) -> tuple[str, str]:
    """Return the address that Spark binds to here, to listen on, and the one by which other tasks reach it.

    ``host`` is this machine as the driver sees it, and ``bind`` what the driver is set to bind to, if tasks run there.
    """
    here = bind or os.environ.get("SPARK_LOCAL_IP") or host
    return here, host if here in ("0.0.0.0", "::") else here


def _agreed(group: Group, read: Any) -> Any:
    """Return the result of ``read``; if it fails in any task, raise the same error in all."""
    refusal, made = b"", None
    try:
        made = read()
    except InputError as e:
        refusal = str(e).encode()
    sizes = np.zeros(group.size, np.int64)
    sizes[group.rank] = len(refusal)
    group.sum(sizes)
    if not sizes.any():
        return made
    first = int(np.flatnonzero(sizes)[0])
    text = np.zeros(sizes[first], np.int64)
    if group.rank == first:
        text[:] = np.frombuffer(refusal, np.uint8)
    group.sum(text)
    raise InputError(text.astype(np.uint8).tobytes().decode())


def _check_told_anything(plan: Plan, source: Any, group: Group) -> None:
    """Refuse data that compare nothing, in all tasks alike."""
    n = np.array([source.store.n_comparisons], np.int64)
    group.sum(n)
    if not n[0]:
        why = {
            "votes": "every vote has weight 0", "ratings": "no user rated two items differently",
            "clicks": "every user clicked every item",
        }  # fmt: skip
        raise InputError(f"there is nothing to compare: {why[plan.kind]}")


class Fit:
    """A fit of the users of some shards, in step with those of all others."""

    def __init__(self, plan: Plan, shard: Shard, source: Any, group: Group, n_threads: int) -> None:
        self.plan, self.shard, self.source, self.group, self.n_threads = plan, shard, source, group, n_threads
        self.model = AltSVM(**{**plan.params, "n_threads": n_threads})
        self.begun = plan.begun
        self.history: list[dict[str, float]] = list(self.begun.get("history", ()))
        self.spec = self.model._spec()
        self.scaled, self.rule = self.spec.scales(source)
        self.V, self.parts = self._items()
        self.exposed = self._exposure()
        self.problem = self._problem()
        self.solver = Newton(self.problem, self.model.seed)
        self.solver.tightening.tol = self.tol = self.model._usual_tol(source, self.exposed)
        self.converged = False

    def _items(self) -> tuple[FloatArray | None, FloatArray | None]:
        """The item vectors and parts of features that the job before left, which one task was given."""
        width, k = self.begun.get("rank", -1) + 1, self.begun.get("k", 0)
        if not width:
            return None, None
        rows = np.zeros((self.plan.n_items, width + k), np.float32)
        if len(self.shard.items):
            rows[self.shard.items] = self.shard.item_rows.reshape(len(self.shard.items), width + k)
        self.group.sum(rows)
        return rows[:, :width], rows[:, width:] if k else None

    def _exposure(self) -> Exposure | None:
        if not self.history:
            return self.spec.exposed(self.source)
        if self.parts is None:
            return None
        return restored(self.source, self.parts, self.n_threads, np.array(self.begun["values"]))

    def _problem(self) -> Problem:
        rank = min(self.begun.get("rank", self.plan.params["rank"]), self.source.store.all_users, self.plan.n_items)
        factors = self.begun.get("factors", (None, None))
        problem = self.spec.problem(self.source, self.scaled, self.exposed, rank, *factors)
        if self.history:
            problem.set_reg(self.begun["reg"], self.begun["bias_reg"])
        return problem

    def _start(self) -> None:
        problem, V = self.problem, self.V
        if V is None or V.shape[1] != problem.rank + 1:
            start.spectral(problem, self.model.seed)
            return
        rows = np.zeros_like(problem.V)
        rows[:, : problem.rank + 1] = V
        if not self.history:
            start.from_items(problem, rows, self.model.seed)
            return
        problem.V[:] = rows
        if len(self.shard.state_users):
            problem.U[self.shard.state_users, : problem.rank] = self.shard.user_rows.reshape(-1, problem.rank)
        self.solver.rounds_done = len(self.history)
        self.solver.tightening.resume(problem, self.begun["delta"])
        problem.refresh()

    def run(self, began: float) -> None:
        """Rounds, until there is little left to gain or this job has made its share of them."""
        self._start()
        stop = Stop(self.tol, len(self.history) + self.plan.rounds)
        self.history.extend(rounds(self.solver, stop, tuple(self.history), began, SMALLER))
        self.converged = bool(self.history) and self.history[-1]["gap"] <= self.tol

    # -- rows out -----------------------------------------------------------------------------------------------

    def rows(self, rank: int) -> Iterator[pa.RecordBatch]:
        """The users of this task, and from the first one the items and what is to be said about the fit."""
        problem, shard = self.problem, self.shard
        met_start, met = self.source.met()
        reluctance = self._reluctance()
        C, _ = coefficients(problem, problem.U, problem.V)  # all tasks take part
        for first in range(0, len(shard.users), BATCH):
            at = slice(first, min(first + BATCH, len(shard.users)))
            begin, end = met_start[at.start], met_start[at.stop]
            yield batch(
                shard.users.type, USER, shard=shard.number[at], user=shard.users[at],
                x=None if reluctance is None else reluctance[at],
                vector=vectors(problem.U[at, : problem.rank]),
                met=lists(met_start[at.start : at.stop + 1] - begin, met[begin:end], pa.int32()),
            )  # fmt: skip
        if rank:
            return
        rows = problem.V[:, : problem.rank + 1]
        if self.exposed is not None:
            rows = np.hstack([rows, self.exposed.parts[:, : self.exposed.k]])
        codes = np.arange(len(rows), dtype=np.int32)
        for first in range(0, len(rows), BATCH):
            at = slice(first, first + BATCH)
            yield batch(
                shard.users.type, ITEM, a=codes[at], vector=vectors(rows[at]),
                x=problem.store.item_count[at].astype(np.float64),
            )  # fmt: skip
        yield batch(shard.users.type, ABOUT, text=[json.dumps(self._about(C))])

    def _about(self, C: FloatArray | None) -> dict[str, Any]:
        problem, exposed, store = self.problem, self.exposed, self.problem.store
        return {
            **{name: value for name, value in self.begun.items() if name in ("factors", "cv_results", "calibration")},
            "history": self.history, "converged": self.converged, "rank": problem.rank, "reg": problem.reg,
            "bias_reg": problem.bias_reg, "delta": self.solver.tightening.next, "user_rule": asdict(self.rule),
            "k": 0 if exposed is None else exposed.k,
            "values": [] if exposed is None else exposed.values.tolist(),
            "standing": 0 if exposed is None else exposed.standing,
            "coefficients": None if C is None else C[:, : problem.rank].tolist(),
            "n_users": store.all_users, "n_entries": store.all_entries,
            "group": {"tasks": self.group.size, "calls": self.group.calls, "sent": self.group.sent,
                      "waited": self.group.waited},
        }  # fmt: skip

    def _reluctance(self) -> Any:
        """Each user's own factor of reluctance to decide, where people tie."""
        found = self.begun.get("calibration")
        if found is None or not found["tie"]:
            return None
        pairs, U, V = self.source.pairs(), self.problem.U, self.problem.V
        margins = np.einsum("tr,tr->t", U[pairs.user], V[pairs.winner] - V[pairs.loser])
        sure = Calibration(**found)
        return own(sure.slope * margins, pairs, self.source.n_users, sure.tie, sure.spread)


def aside_rows(user_type: pa.DataType, found: FloatArray) -> Iterator[pa.RecordBatch]:
    for first in range(0, len(found), BATCH):
        yield batch(user_type, ASIDE, vector=vectors(found[first : first + BATCH]))


def batch(user_type: pa.DataType, kind: int, **columns: Any) -> pa.RecordBatch:
    """Rows of one kind; columns that are not given are null."""
    n = len(next(iter(columns.values())))
    made = []
    for name, its_type in out_fields(user_type):
        given = np.full(n, kind, np.int8) if name == "kind" else columns.get(name)
        if given is None:
            made.append(pa.nulls(n, its_type))
        elif isinstance(given, (pa.Array, pa.ChunkedArray)):
            made.append(given)
        else:
            made.append(pa.array(given, its_type))
    return pa.RecordBatch.from_arrays(made, names=[name for name, _ in out_fields(user_type)])


def vectors(rows: FloatArray) -> pa.Array:
    """Rows of a matrix, a list each."""
    n, width = rows.shape
    return lists(np.arange(n + 1) * width, np.ascontiguousarray(rows).ravel(), pa.float32())


def lists(start: Any, values: Any, of: pa.DataType) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(start, pa.int32()), pa.array(values, of))
