"""AltSVM on Spark: the ordinary fit, on a real cluster of two workers with a core each, and what it does when they die.

    python benchmarks/spark.py [bits faults parity speed memory]

A standalone master and two workers, and a Connect server, are started on loopback and ended with the script.
``bits``: the same factors on local[2], on the cluster and by Connect, and by 1 and 2 tasks. ``faults``: the same
after a kill -9 of a Python worker, of an executor, and of a worker for good, in the middle of a fit with checkpoints;
``notice`` is the seconds from the kill to the driver's warning. ``parity``: objective and NDCG@10 beside
rather.AltSVM. ``speed``: seconds of a round and of a fit of ten, MovieLens 1M with N = 100 and rank 100, and all of
Letterboxd, beside rather.AltSVM on two threads and MLlib's ALS, whose regParam is chosen on held-out training
ratings. ``memory``: the most that the driver's Python and JVM held, by the number of users.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import rather
from measuring import bench, tables
from measuring.smoke import sized

BETWEEN = "worker for good, between stages"
PARTS = ("bits", "faults", "parity", "speed", "memory")
LOOPBACK = "127.0.0.1"
LIMIT = sized(900, smoke=100)
RANK = sized(100, smoke=4)
ROUNDS = sized(10, smoke=3)
REGS = sized((0.03, 0.1, 0.3), smoke=(0.1,))  # of ALS
COMMON = {
    "spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK, "spark.ui.enabled": "false",
    "spark.log.level": "ERROR", "spark.sql.shuffle.partitions": "4", "spark.locality.wait": "0",
    "spark.executor.cores": "1", "spark.executor.memory": sized("4g", smoke="1g"),
    "spark.driver.memory": sized("4g", smoke="1g"),
}  # fmt: skip

Row = dict[str, Any]


# -- processes --------------------------------------------------------------------------------------------------------


def processes() -> dict[int, tuple[int, int, str]]:
    """Of all that run: parent, time of start, command line."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            found[int(entry.name)] = int(fields[1]), int(fields[19]), words
    return found


def below(roots: list[int]) -> dict[int, tuple[int, int, str]]:
    """The processes that some have started, and those that these have, and themselves."""
    all_of_them, kept = processes(), set(roots)
    while more := {pid for pid, (parent, *_) in all_of_them.items() if parent in kept} - kept:
        kept |= more
    return {pid: all_of_them[pid] for pid in kept & all_of_them.keys()}


def peak(pid: int) -> float:
    """The most memory that a process has held, in megabytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3


def _with_us() -> None:
    """In a new process: it is asked to end when this one dies, however that comes about."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


class Ours:
    """What this script has started, in a folder of its own; all of it ends with the script."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rather-spark-"))
        self.started: list[subprocess.Popen[str]] = []
        self.known: dict[int, int] = {}  # and when each began

    def start(self, command: list[str], name: str, **options: Any) -> subprocess.Popen[str]:
        home = importlib.util.find_spec("pyspark").submodule_search_locations[0]  # type: ignore[union-attr,index]
        for folder in ("local", "logs"):
            (self.folder / folder).mkdir(exist_ok=True)
        environment = {
            **os.environ, "SPARK_HOME": home, "SPARK_LOCAL_IP": LOOPBACK, "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_LOG_DIR": str(self.folder / "logs"), "SPARK_DAEMON_MEMORY": "512m", "PYTHONUNBUFFERED": "1",
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        }  # fmt: skip
        environment.pop("SPARK_REMOTE", None)
        if command[0] == "spark-class":
            command = [f"{home}/bin/spark-class", *command[1:]]
        with (self.folder / "logs" / f"{name}.log").open("a") as log:
            options = {"stdout": log, **options}
            made = subprocess.Popen(
                command, stderr=log, env=environment, cwd=self.folder, text=True, preexec_fn=_with_us, **options
            )
        self.started.append(made)
        return made

    def family(self, roots: list[int]) -> dict[int, tuple[int, int, str]]:
        """Those below, which are noted as ours: a parent may die before them."""
        found = below(roots)
        self.known |= {pid: began for pid, (_, began, _) in found.items()}
        return found

    def kill(self, pids: list[int]) -> None:
        """End what is ours, at once."""
        there = processes()
        for pid in pids:
            if pid in there and self.known.get(pid) == there[pid][1]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def end(self, some: list[subprocess.Popen[str]]) -> None:
        self.family([one.pid for one in some if one.poll() is None])
        for one in some:
            if one.poll() is None:
                one.terminate()
        for one in some:
            with suppress(subprocess.TimeoutExpired):
                one.wait(10)
        self.kill([one.pid for one in some if one.poll() is None])
        for one in some:
            one.wait()
            self.started.remove(one)

    def close(self) -> None:
        self.end(list(self.started))
        self.kill(list(self.known))
        time.sleep(0.2)
        shutil.rmtree(self.folder, ignore_errors=True)


def free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as taken:
        return int(taken.getsockname()[1])


def waiting_for(what: str, there: Callable[[], Any], process: subprocess.Popen[str], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        with suppress(OSError, ValueError):
            if there():
                return
        time.sleep(0.2)
    raise RuntimeError(f"{what} did not start within {seconds:g} seconds")


class Standalone:
    """A master and two workers of a core each."""

    def __init__(self, ours: Ours) -> None:
        self.ours, port, self.page = ours, free_port(), free_port()
        self.master = f"spark://{LOOPBACK}:{port}"
        daemon = ["spark-class", "org.apache.spark.deploy.master.Master", "--host", LOOPBACK]
        self.processes = [ours.start([*daemon, "--port", str(port), "--webui-port", str(self.page)], "master")]
        waiting_for("the master", lambda: self.state(), self.processes[0])
        self.workers = [self._worker(n) for n in range(2)]
        self.processes += self.workers
        waiting_for("a worker", lambda: self.state()["aliveworkers"] == 2, self.workers[1])

    def _worker(self, n: int) -> subprocess.Popen[str]:
        daemon = ["spark-class", "org.apache.spark.deploy.worker.Worker", "--host", LOOPBACK, "--webui-port", "0"]
        size = ["--cores", "1", "--memory", "8g"]  # a promise, of which executors take what they ask for
        place = ["--work-dir", str(self.ours.folder / f"worker-{n}"), self.master]
        return self.ours.start([*daemon, *size, *place], f"worker-{n}")

    def state(self) -> Any:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{self.page}/json/", timeout=2) as answer:
            return json.load(answer)

    def executors(self) -> list[int]:
        """The process ids of executors, those of the last worker last."""
        found = []
        for worker in self.workers:
            family = self.ours.family([worker.pid])
            found += [pid for pid, (_, _, words) in family.items() if "CoarseGrainedExecutorBackend" in words]
        return found

    def close(self) -> None:
        self.ours.end(self.processes)


class Connect:
    """A Connect server on local[2]."""

    def __init__(self, ours: Ours) -> None:
        port = free_port()
        self.master, self.ours = f"sc://{LOOPBACK}:{port}", ours
        settings = {**COMMON, "spark.master": "local[2]", "spark.connect.grpc.binding.port": str(port),
                    "spark.connect.grpc.binding.address": LOOPBACK}  # fmt: skip
        command = ["spark-class", "org.apache.spark.deploy.SparkSubmit"]
        command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
        self.server = ours.start(command, "connect")

        def answers() -> bool:
            with socket.create_connection((LOOPBACK, port), 1):
                return True

        waiting_for("the Connect server", answers, self.server)

    def close(self) -> None:
        self.ours.end([self.server])


@contextmanager
def standalone(ours: Ours) -> Iterator[Standalone]:
    made = Standalone(ours)
    try:
        yield made
    finally:
        made.close()


# -- drivers: processes of their own, told what to do in JSON, which say what they did in lines of JSON ----------------


def driven(ours: Ours, name: str, strike: Callable[[threading.Event], None] | None = None, /, **told: Any) -> list[Row]:
    """What a driver says; ``strike`` is called beside it, with what is set when it is over."""
    told["settings"] = COMMON | told.get("settings", {})
    command = [sys.executable, str(Path(__file__).resolve()), "--drive", json.dumps(told)]
    process = ours.start(command, name, stdout=subprocess.PIPE)
    limit, over = threading.Timer(LIMIT, process.kill), threading.Event()
    limit.start()
    if strike is not None:
        threading.Thread(target=strike, args=(over,), daemon=True).start()
    try:
        assert process.stdout is not None
        said = [json.loads(line) for line in process.stdout if line.startswith("{")]
        if process.wait():
            log = (ours.folder / "logs" / f"{name}.log").read_text()
            raise RuntimeError(f"the driver {name} ended with {process.returncode}: {log[-3000:]}")
        return said
    finally:
        limit.cancel()
        over.set()
        ours.end([process])


def fitted(said: list[Row]) -> Row:
    return [one for one in said if one["event"] == "fit"][-1]


def say(event: str, **more: Any) -> None:
    print(json.dumps({"event": event, "at": time.time(), **more}), flush=True)


def drive(told: Row) -> None:
    """Be a driver."""
    warnings.simplefilter("always")
    warnings.showwarning = lambda text, *_: say("warning", text=str(text))
    if told["master"] is None:
        fit_here(told)
        return
    from pyspark.sql import SparkSession

    making = SparkSession.builder.appName("rather")
    if told["master"].startswith("sc://"):
        spark = making.remote(told["master"]).getOrCreate()
    else:
        for name, value in told["settings"].items():
            making = making.config(name, value)
        spark = making.master(told["master"]).getOrCreate()
    say("begun")
    {"fit": fit_there, "als": als}[told.get("what", "fit")](spark, told)
    say("peaks", python=peak(os.getpid()), jvm=max(
        (peak(pid) for pid, (_, _, words) in below([os.getpid()]).items() if "SparkSubmit" in words), default=0.0
    ))  # fmt: skip
    spark.stop()


def seconds_of(history: list[Row]) -> list[float]:
    return [b["seconds"] - a["seconds"] for a, b in pairwise(history)]


def fit_here(told: Row) -> None:
    """By rather.AltSVM on two threads."""
    import pyarrow.parquet as pq

    for _ in range(told.get("fits", 1)):
        train = pq.read_table(told["train"])
        began = time.perf_counter()
        model = rather.AltSVM(n_threads=2, **told["here"]).fit(rather.Comparisons.from_ratings(train))
        seconds = time.perf_counter() - began
    quality = rather.ndcg(model, pq.read_table(told["test"])) if "test" in told else None
    say("fit", seconds=seconds, rounds=seconds_of(model.history_), objective=model.history_[-1]["objective"],
        n_rounds=len(model.history_), ndcg=quality)  # fmt: skip


def fit_there(spark: Any, told: Row) -> None:
    """By rather.spark.AltSVM; the last fit of several counts."""
    import pyarrow.parquet as pq

    import rather.spark

    rows = spark.read.parquet(told["train"])
    for _ in range(told.get("fits", 1)):
        began = time.perf_counter()
        model = rather.spark.AltSVM(**{"source": "ratings", **told["params"]}).fit(rows)
        seconds = time.perf_counter() - began
    history = model.history
    found: Row = {"seconds": seconds, "rounds": seconds_of(history), "objective": history[-1]["objective"],
                  "n_rounds": len(history), "tasks": model._about["group"]["tasks"]}  # fmt: skip
    if told.get("digest", True):
        found["digest"] = digest(model)
    if "test" in told:
        found["ndcg"] = rather.ndcg(model.to_local(), pq.read_table(told["test"]))
    if told.get("transform"):
        scored = model.transform(spark.read.parquet(told["test"])).replace(float("nan"), 0.0, ["prediction"])
        found["ndcg there"] = rather.spark.ndcg(scored)
    say("fit", **found)


def digest(model: Any) -> str:
    """Of all bits of the factors, by id."""
    made = hashlib.sha256()
    for frame in (model.userFactors, model.itemFactors):
        table = frame.toArrow().sort_by("id")
        for name in table.column_names:
            column = table[name].combine_chunks()
            made.update((column.flatten() if name == "features" else column).to_numpy().tobytes())
    return made.hexdigest()


def als(spark: Any, told: Row) -> None:
    """MLlib's ALS, with the regParam that does best on a tenth of the training ratings."""
    from pyspark.ml.recommendation import ALS
    from pyspark.sql import functions as F

    from rather.spark import ndcg

    train, test = (spark.read.parquet(told[name]).persist() for name in ("train", "test"))
    held = F.pmod(F.xxhash64("user", "item"), F.lit(10)) == 0

    def quality(model: Any, rows: Any) -> float:
        return float(ndcg(model.transform(rows).replace(float("nan"), 0.0, ["prediction"])))

    def fit(reg: float, rows: Any) -> Any:
        return ALS(
            **told["params"], regParam=reg, userCol="user", itemCol="item", ratingCol="rating", seed=0,
            numUserBlocks=2, numItemBlocks=2,
        ).fit(rows)  # fmt: skip

    found = {reg: quality(fit(reg, train.where(~held)), train.where(held)) for reg in told["regs"]}
    best = max(found, key=lambda reg: found[reg])
    began = time.perf_counter()
    model = fit(best, train)
    model.userFactors.count()
    say("fit", seconds=time.perf_counter() - began, ndcg=quality(model, test), reg=best, tried=found)


# -- parts ------------------------------------------------------------------------------------------------------------


def split(ours: Ours, data: str, n: int | None) -> dict[str, str]:
    """The files of a data set by the paper's protocol, or of all its ratings."""
    import pyarrow.parquet as pq

    some = tables.rating_split(data, n, 0) if n else (tables.ratings(data),)
    made = {}
    for name, table in zip(("train", "test"), some, strict=False):
        path = ours.folder / f"{data}-{n or 'all'}-{name}.parquet"
        if not path.exists():
            pq.write_table(table.replace_schema_metadata(None), path, row_group_size=1 << 20)
        made[name] = str(path)
    return made


def noted(row: Row) -> Row:
    """A row, of which something is said at once: a part takes minutes."""
    print(", ".join(f"{name} {value}" for name, value in row.items()), file=sys.stderr, flush=True)
    return row


def train_of(files: dict[str, str]) -> dict[str, str]:
    return {"train": files["train"]}


def small(**params: Any) -> Row:
    """Parameters, of tiny data a smaller rank."""
    return sized(params, smoke={"rank": 4, "maxIter": 4, **params})


def bits(ours: Ours) -> list[Row]:
    data, n = "ml-1m", 50
    files, rows = train_of(split(ours, data, n)), []

    def measure(where: str, master: str, tasks: int) -> None:
        got = fitted(driven(ours, f"bits-{where}-{tasks}", master=master, params=small(numTasks=tasks), **files))
        rows.append({
            "data": f"{data} N={n}", "where": where, "tasks": got["tasks"], "rounds": got["n_rounds"],
            "objective": f"{got['objective']:.12g}", "seconds": got["seconds"], "sha256": got["digest"],
        })  # fmt: skip
        rows[-1]["same"] = rows[-1]["sha256"] == rows[0]["sha256"]
        noted(rows[-1])

    for tasks in sized((1, 2), smoke=(2,)):
        measure("local[2]", "local[2]", tasks)
    if sized(False, smoke=True):  # which has little time
        return rows
    with standalone(ours) as cluster:
        for tasks in (1, 2):
            measure("standalone", cluster.master, tasks)
    if importlib.util.find_spec("grpc") is None:
        print("grpcio is not installed: Connect is skipped", file=sys.stderr)
    else:
        server = Connect(ours)
        for tasks in (1, 2):
            measure("Connect", server.master, tasks)
        server.close()
    return rows


class Strike:
    """A kill in the middle of a job, after some checkpoints."""

    def __init__(self, ours: Ours, cluster: Standalone, whom: str, progress: Path, after: int) -> None:
        self.ours, self.cluster, self.whom, self.progress, self.after = ours, cluster, whom, progress, after
        self.at: float | None = None
        self.victims: list[int] = []

    def __call__(self, over: threading.Event) -> None:
        while len(list(self.progress.glob("part-*"))) < self.after and not over.wait(0.02):
            pass
        busy: list[int] = []
        while self.whom != BETWEEN and not busy and not over.is_set():  # until tasks are at work again
            busy = self.busiest()
        if over.is_set():
            return
        self.victims = busy if self.whom == "Python worker" else self.chosen()
        self.at = time.time()
        self.ours.kill(self.victims)

    def chosen(self) -> list[int]:
        executors = self.cluster.executors()
        if self.whom == "executor":
            return executors[-1:]
        family = self.ours.family([self.cluster.workers[-1].pid])
        return sorted(family)[:1] + [pid for pid in executors if pid in family]

    def busiest(self) -> list[int]:
        """The Python worker, of all executors, that works most just now; none where none works."""

        def used() -> dict[int, int]:
            found, all_of_them = {}, self.ours.family([worker.pid for worker in self.cluster.workers])
            for pid, (parent, _, words) in all_of_them.items():
                if "pyspark.daemon" in words and "pyspark.daemon" in all_of_them.get(parent, ("", "", ""))[2]:
                    with suppress(OSError):
                        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                        found[pid] = int(fields[11]) + int(fields[12])
            return found

        before = used()
        time.sleep(0.2)
        after = used()
        ticks = {pid: after[pid] - before.get(pid, after[pid]) for pid in after}
        return [pid for pid in ticks if ticks[pid] == max(ticks.values()) >= 10][:1]


def faults(ours: Ours) -> list[Row]:
    data, n = "ml-1m", 50
    files, reference = train_of(split(ours, data, n)), None
    rows: list[Row] = []
    for whom in ("nobody", "Python worker", "executor", "worker for good", BETWEEN):
        with standalone(ours) as cluster:
            path = ours.folder / f"checkpoints-{len(rows)}"
            params = small(numTasks=2, checkpointPath=str(path), checkpointInterval=2, tol=0.0)
            params["maxIter"] = sized(12, smoke=8)
            strike = Strike(ours, cluster, whom, path / "progress", after=sized(2, smoke=1))
            said = driven(ours, f"faults-{len(rows)}", None if whom == "nobody" else strike, master=cluster.master,
                          params=params, **files)  # fmt: skip
            got, heard = fitted(said), [one for one in said if "rather.spark" in one.get("text", "")]
            reference = reference or got["digest"]
            row: Row = {"killed": whom, "pids": len(strike.victims), "same": got["digest"] == reference,
                        "seconds": got["seconds"], "rounds": got["n_rounds"],
                        "tasks in the end": got["tasks"]}  # fmt: skip
            if strike.at is not None:
                after = [one for one in heard if one["at"] > strike.at]
                row["killed at"] = strike.at - said[0]["at"]
                row["notice"] = after[0]["at"] - strike.at if after else "none"
                row["warnings"] = " | ".join(one["text"] for one in after)
            rows.append(noted(row))
            shutil.rmtree(path, ignore_errors=True)
    return rows


def parity(ours: Ours) -> list[Row]:
    rows = []
    with standalone(ours) as cluster:
        for data, n, transform in (("ml-1m", 50, True), ("letterboxd", 20, False)):
            files = split(ours, data, n)
            here = {name: value for name, value in small().items() if name != "maxIter"}
            if "maxIter" in small():
                here["max_iter"] = small()["maxIter"]
            local = fitted(driven(ours, f"parity-{data}-here", master=None, here=here, **files))
            got = fitted(
                driven(ours, f"parity-{data}", master=cluster.master, params=small(), transform=transform, **files)
            )
            rows.append({
                "data": f"{data} N={n}", "rounds": got["n_rounds"], "rounds here": local["n_rounds"],
                "objective": f"{got['objective']:.10g}", "here": f"{local['objective']:.10g}",
                "relative": f"{abs(got['objective'] / local['objective'] - 1):.1e}",
                "NDCG@10": f"{got['ndcg']:.6f}", "NDCG@10 here": f"{local['ndcg']:.6f}",
                "NDCG@10 there": f"{got['ndcg there']:.6f}" if transform else "",
                "seconds": got["seconds"], "seconds here": local["seconds"],
            })  # fmt: skip
            noted(rows[-1])
    return rows


def speed(ours: Ours) -> list[Row]:
    rows: list[Row] = []

    def add(data: str, who: str, got: Row) -> None:
        row: Row = {"data": data, "who": who, "fit": got["seconds"]}
        if "rounds" in got:
            row["round"] = float(np.median(got["rounds"]))
            row["best round"] = min(got["rounds"])
        row["load"] = os.getloadavg()[0]  # of other work too: two cores are busy at 2
        rows.append(noted({**row, "NDCG@10": got.get("ndcg") or "", "what": got.get("what", "")}))

    with standalone(ours) as cluster:
        files, name = split(ours, "ml-1m", 100), "ml-1m N=100"
        ten = {"rank": RANK, "tol": 0.0}
        here = {"rank": RANK, "max_iter": ROUNDS, "tol": 0.0}
        params = {**ten, "maxIter": ROUNDS, "numTasks": 2}
        told = {"params": params, "digest": False}
        for _ in range(sized(2, smoke=1)):  # by turns, as other work on the machine comes and goes
            add(name, "rather.AltSVM", fitted(driven(ours, "speed-here", master=None, here=here, fits=2, **files)))
            for where, master in (("local[2]", "local[2]"), ("standalone", cluster.master)):
                got = fitted(driven(ours, f"speed-{where}", master=master, fits=2, **told, **files))
                add(name, f"rather.spark, {where}", got)
        told = {"what": "als", "params": {"rank": RANK, "maxIter": ROUNDS}, "regs": REGS}
        got = fitted(driven(ours, "speed-als", master=cluster.master, **told, **files))
        add(name, "ALS, standalone", {**got, "what": f"regParam {got['reg']:g}"})
        files, name = split(ours, "letterboxd", None), "letterboxd, all"
        few = sized(5, smoke=3)
        here = {"max_iter": few, "tol": 0.0, **sized({}, smoke={"rank": 4})}
        params = {"maxIter": few, "tol": 0.0, "numTasks": 2, **sized({}, smoke={"rank": 4})}
        for there in (False, True, False):
            told = {"master": cluster.master if there else None, "here": here, "params": params, "digest": False}
            got = fitted(driven(ours, f"speed-all-{there}", **told, **files))
            add(name, "rather.spark, standalone" if there else "rather.AltSVM", got)
    return rows


def memory(ours: Ours) -> list[Row]:
    import pyarrow.parquet as pq

    rows = []
    with standalone(ours) as cluster:
        for n_users in sized((20_000, 200_000), smoke=(50, 200)):
            path = ours.folder / f"votes-{n_users}.parquet"
            votes = rather.simulate(n_users, sized(1000, smoke=40), rank=4, per_user=10).comparisons
            pq.write_table(votes.to_frame("pyarrow"), path, row_group_size=1 << 18)
            params = {"source": "votes", "rank": sized(32, smoke=4), "regParam": 1.0, "maxIter": 3, "numTasks": 2}
            little = {"spark.driver.memory": "1g"}
            said = driven(ours, f"memory-{n_users}", master=cluster.master, train=str(path), params=params,
                          digest=False, settings=little)  # fmt: skip
            peaks = next(one for one in said if one["event"] == "peaks")
            rows.append({"users": n_users, "votes": len(votes), "python MB": peaks["python"], "JVM MB": peaks["jvm"],
                         "seconds": fitted(said)["seconds"]})  # fmt: skip
            noted(rows[-1])
    return rows


# -- the command line -------------------------------------------------------------------------------------------------


def missing() -> str | None:
    """What is not there that this needs."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed"
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        return "there is no Java"
    return None if Path("/proc/self/stat").exists() else "there is no /proc, by which processes are found"


def main() -> None:
    line = bench.parser(__doc__)
    line.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}: all of them")
    line.add_argument("--drive", help=argparse.SUPPRESS)
    options = line.parse_args()
    if options.drive:
        return drive(json.loads(options.drive))
    if unknown := [part for part in options.parts if part not in PARTS]:
        line.error(f"{unknown[0]!r} is not one of {', '.join(PARTS)}")
    if (why := missing()) is not None:
        print(f"{why}: skipped", file=sys.stderr)
        if sized(False, smoke=True):
            bench.report("spark", [{"skipped": why}])
        return None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    ours = Ours()
    try:
        for part in options.parts or sized(PARTS, smoke=PARTS[:1]):
            bench.report(f"spark-{part}", {"bits": bits, "faults": faults, "parity": parity, "speed": speed,
                                           "memory": memory}[part](ours))  # fmt: skip
    finally:
        ours.close()
    return None


if __name__ == "__main__":
    main()
