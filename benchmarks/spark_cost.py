"""What a fit on Spark costs: a model of its seconds, bytes and memory, checked against fits on local[2]; and what it
says of sizes that were not tried.

    python benchmarks/spark_cost.py

A round of a task takes

    a E row + b E + c U row (1 + k) + d I row (1 + k) + e I row s  seconds, over what its threads gain,

for E ratings and U users of the task, I items, s shards, rows of so many floats (the rank and the bias, padded) and k
features of who met what; and the bytes it sends over the bandwidth, and a latency for every exchange, of which a sum
takes log2(tasks), and a large one twice as many. Bytes and memory are those of ``rather.spark.cluster.budget``. The
constants a to e are found by least squares from rounds in two processes at once, one thread each, on simulated people
who choose what they rate; bandwidth and latency from two processes that add arrays up over loopback. Rounds are of five
CG steps, as they are of real ratings that say who met what.

``spark-cost-machine``: the constants. ``spark-cost``: predicted and measured. ``cpu s`` is the CPU time of a task's
Python worker in a round, which other processes on the machine hardly touch; it and the bytes are differences between
fits of different lengths. Memory is the most that a Python worker held. ``read s`` is what came before the first round,
less the start: Spark hands a task its rows. ``spark-cost-sizes``: what the model says of machines with 16 cores, 64 GB
for Python and 10 Gbit/s, as few of them as have the memory; nothing there was measured.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spark import below, missing, peak

from measuring import bench
from measuring.smoke import sized
from rather.data.ratings import Rated
from rather.data.rows import Ratings
from rather.models.altsvm import AltSVM
from rather.solving import start

Row = dict[str, Any]

FEATURES = 112  # floats of a row of them: 100, padded
WARM, ROUNDS = 1, sized(3, smoke=1)  # before the clock runs, and on it
SHORT, LONG = sized((2, 6), smoke=(1, 2))  # rounds of the two fits of a check
LARGE_SUM = sized(1 << 25, smoke=1 << 17)  # bytes
CORES, GAIN = 16, 9.4  # of a machine, and what they gain over one: benchmarks/results/threads-16-cores.csv, Letterboxd
MEMORY, NETWORK, WIRE = 64e9, 1.25e9, 1e-4  # of it: bytes, bytes a second, seconds of an exchange beside loopback's
OF_A_FIT = 8  # rounds


class Shape(NamedTuple):
    """A fit: ratings by ``users`` of ``each`` items, in so many tasks and shards."""

    users: int
    items: int
    each: int
    rank: int
    tasks: int
    shards: int

    @property
    def ratings(self) -> int:
        return self.users * self.each

    @property
    def row(self) -> int:
        return -(-(self.rank + 1) // 16) * 16

    @property
    def matrix(self) -> int:
        """Bytes of all items' rows."""
        return 4 * self.items * self.row

    def work(self) -> Any:
        """What the five constants are of, in a task."""
        entries, users = self.ratings / self.tasks, self.users / self.tasks
        both, features, shards = (users, self.items), 1 + FEATURES, self.shards // self.tasks
        of_rows = [n * self.row * features for n in both]
        return np.array([entries * self.row, entries, *of_rows, self.items * self.row * shards])

    def budget(self) -> Any:
        from rather.spark.cluster import Slots, budget

        return budget(
            self.users, self.items, self.ratings, self.rank, shards=self.shards, slots=Slots(self.tasks, None),
            kind="ratings", exposed=True,
        )  # fmt: skip

    def columns(self) -> Row:
        return {name: value for name, value in self._asdict().items() if name != "each"} | {"ratings": self.ratings}


MEASURED = sized(
    (
        Shape(20_000, 30_000, 100, 64, 1, 4), Shape(20_000, 30_000, 100, 15, 1, 4), Shape(50_000, 10_000, 20, 64, 1, 1),
        Shape(10_000, 100_000, 100, 64, 1, 2), Shape(3000, 100_000, 100, 64, 1, 1), Shape(3000, 100_000, 100, 64, 1, 8),
        Shape(20_000, 10_000, 100, 100, 1, 2),
    ),
    smoke=(Shape(60, 50, 10, 4, 1, 1), Shape(60, 50, 10, 20, 1, 2), Shape(120, 50, 10, 4, 1, 1)),
)  # fmt: skip
CHECKED = sized(
    (
        Shape(30_000, 10_000, 100, 64, 2, 8), Shape(60_000, 30_000, 100, 64, 2, 8),
        Shape(60_000, 100_000, 100, 64, 2, 8), Shape(150_000, 20_000, 20, 100, 2, 8),
    ),
    smoke=(Shape(80, 50, 10, 4, 2, 8),),
)  # fmt: skip
SIZES = sized((10**6, 10**7, 10**8, 10**9), smoke=(1000,))


def rated(shape: Shape) -> Ratings:
    """Ratings by people who choose what they rate: of four times as many items, popular ones first, those they like."""
    rng = np.random.default_rng(0)
    taste, kind = (rng.standard_normal((n, 5), np.float32) for n in (shape.users, shape.items))
    columns = []
    for first in range(0, shape.users, 4096):
        own = taste[first : first + 4096]
        met = np.sort((shape.items * rng.random((len(own), 4 * shape.each)) ** 2).astype(np.int32), axis=1)
        liked = np.einsum("uk,uik->ui", own, kind[met])
        wish = liked + rng.gumbel(size=liked.shape)
        wish[:, 1:][met[:, 1:] == met[:, :-1]] = -np.inf
        best = np.argpartition(-wish, shape.each, axis=1)[:, : shape.each]
        item, liked, wish = (np.take_along_axis(of, best, axis=1) for of in (met, liked, wish))
        user = np.broadcast_to(np.arange(first, first + len(own), dtype=np.int32)[:, None], item.shape)
        rating = np.clip(np.round(3 + 0.7 * liked + rng.standard_normal(liked.shape)), 1, 5)
        columns.append([column[wish > -np.inf] for column in (user, item, rating)])
    return Ratings(*(np.concatenate(column) for column in zip(*columns, strict=True)))


# -- constants --------------------------------------------------------------------------------------------------------


class Machine(NamedTuple):
    """What the model knows of one."""

    rates: Any  # seconds: a to e
    calls: float  # sums in a round
    large: float  # those of them that are of all items' rows
    exchange: float  # seconds
    bandwidth: float  # bytes a second, there and back at the same time
    start: float  # what comes before the first round, in rounds

    def seconds(
        self, shape: Shape, gain: float = 1.0, bandwidth: float = np.inf, wire: float = 0.0
    ) -> dict[str, float]:
        """Of a round: with the ratings and users of a task, with all items, and to add up."""
        each = self.rates * shape.work() / gain
        exchanges = np.log2(shape.tasks) * (self.calls + self.large)
        traffic = shape.budget().traffic / min(self.bandwidth, bandwidth) + exchanges * (self.exchange + wire)
        return {"users s": float(each[:3].sum()), "items s": float(each[3:].sum()), "traffic s": float(traffic)}


def two_at_once(work: Callable[..., Any], *args: Any) -> list[Any]:
    """What two processes return, each told which it is."""
    context = multiprocessing.get_context("fork")

    def send(n: int, end: Any) -> None:
        end.send(work(n, *args))

    ends = [context.Pipe() for _ in range(2)]
    started = [context.Process(target=send, args=(n, there)) for n, (_, there) in enumerate(ends)]
    for one in started:
        one.start()
    for _, there in ends:
        there.close()  # so that the end of a process is seen
    try:
        return [here.recv() for here, _ in ends]
    finally:
        for one in started:
            one.join()


def some_rounds(_: int, shape: Shape) -> dict[str, float]:
    """CPU seconds of a round, and how often and how many bytes are added up in it."""
    sums: list[int] = []
    source = Rated(shape.users, shape.items, rated(shape))
    shards = np.linspace(0, shape.users, shape.shards + 1).astype(np.int64)
    source.store.in_shards(shards, 0, lambda x: sums.append(x.nbytes), 1)
    model, began = AltSVM(rank=shape.rank, exposure=True, n_threads=1), time.process_time()
    spec = model._spec()
    problem = spec.problem(source, spec.scales(source)[0], spec.exposed(source), shape.rank)
    start.spectral(problem, 0)
    before = time.process_time() - began
    for n in range(WARM + ROUNDS):
        if n == WARM:
            sums.clear()
            began = time.process_time()
        problem.item_step(cg_tol=0.0)
        problem.user_step(cg_tol=0.0)
    seconds = (time.process_time() - began) / ROUNDS
    large = sum(size == shape.matrix for size in sums)
    return {
        "seconds": seconds, "start": before / seconds, "calls": len(sums) / ROUNDS, "large": large / ROUNDS,
        "matrices": sum(sums) / shape.matrix / ROUNDS,
    }  # fmt: skip


def added_up(rank: int, listeners: Any) -> list[float]:
    """The least seconds of a sum of 8 bytes, and of a large one, with the other process."""
    from rather.spark.group import Group

    addresses = [f"127.0.0.1:{listener.port}" for listener in listeners]
    least = []
    with Group(rank, addresses, listeners[rank], "cost") as group:
        for array, repeats in ((np.ones(1), 300), (np.ones(LARGE_SUM // 4, np.float32), 12)):
            times = []
            for _ in range(repeats):
                began = time.perf_counter()
                group.sum(array)
                times.append(time.perf_counter() - began)
            least.append(min(times))
    return least


def machine() -> Machine:
    """This one."""
    from scipy.optimize import nnls

    from rather.spark.group import Listener

    found = []
    for shape in MEASURED:
        got = two_at_once(some_rounds, shape)
        found.append({name: float(np.mean([one[name] for one in got])) for name in got[0]})
    work, seconds = np.array([shape.work() for shape in MEASURED]), np.array([one["seconds"] for one in found])
    rates = nnls(work / seconds[:, None], np.ones(len(seconds)))[0]
    with Listener("127.0.0.1") as one, Listener("127.0.0.1") as other:
        small, large = np.mean(two_at_once(added_up, (one, other)), axis=0).tolist()
    mean = {name: float(np.mean([of[name] for of in found])) for name in found[0]}
    bandwidth = LARGE_SUM / max(large - 2 * small, 1e-9)
    made = Machine(rates, mean["calls"], mean["large"], small, bandwidth, mean["start"])
    rows: list[Row] = [
        {"what": "a round, CPU seconds", **shape.columns(), "measured": of, "model": float(shape.work() @ rates)}
        for shape, of in zip(MEASURED, seconds.tolist(), strict=True)
    ]
    rows += [{"what": f"{name}, ns", "measured": 1e9 * float(rate)} for name, rate in zip("abcde", rates, strict=True)]
    rows += [
        {"what": "start, in rounds", "measured": made.start},
        {"what": "sums in a round", "measured": made.calls},
        {"what": "of all items' rows", "measured": made.large},
        {"what": "their bytes, over items x row", "measured": mean["matrices"]},
        {"what": "an exchange over loopback, us", "measured": 1e6 * made.exchange},
        {"what": "a sum over loopback, MB/s", "measured": made.bandwidth / 1e6},
    ]
    bench.report("spark-cost-machine", rows)
    return made


# -- fits on local[2] -------------------------------------------------------------------------------------------------


class Workers:
    """The Python workers below this process while something runs: CPU seconds of all, most megabytes of one."""

    def __init__(self) -> None:
        self.ticks: dict[int, int] = {}
        self.megabytes: dict[int, float] = {}
        self._over = threading.Event()

    def __enter__(self) -> Workers:
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watching.join()

    def _watch(self) -> None:
        while not self._over.wait(0.03):
            for pid, (_, _, words) in below([os.getpid()]).items():
                if "pyspark.daemon" in words or "pyspark/daemon" in words:
                    with suppress(OSError, StopIteration):  # it is gone
                        self.megabytes[pid] = peak(pid)
                        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                        self.ticks[pid] = int(fields[11]) + int(fields[12])

    def seconds(self) -> float:
        return sum(self.ticks.values()) / os.sysconf("SC_CLK_TCK")


@contextmanager
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    os.environ.pop("SPARK_REMOTE", None)
    making = SparkSession.builder.appName("rather").master("local[2]")
    for name, value in {
        "spark.ui.enabled": "false", "spark.log.level": "ERROR", "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": sized("4g", smoke="1g"), "spark.python.worker.reuse": "false",
        "spark.ui.showConsoleProgress": "false",
        **sized({}, smoke={"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}),
    }.items():  # fmt: skip
        making = making.config(name, value)
    session = making.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def fitted(session: Any, file: str, shape: Shape, rounds: int) -> tuple[Any, Workers]:
    from rather.spark import AltSVM as There

    estimator = There(
        source="ratings", rank=shape.rank, exposure=True, maxIter=rounds, tol=0.0, numTasks=shape.tasks,
        numShards=shape.shards, verbose=False,
    )  # fmt: skip
    with Workers() as workers:
        model = estimator.fit(session.read.parquet(file))
    return model, workers


def checked(here: Machine, shape: Shape, session: Any, folder: str) -> Row:
    """What the model says of a fit, and what came of it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    said, file = rated(shape), f"{folder}/{shape.users}-{shape.items}.parquet"
    pq.write_table(
        pa.table({"user": said.user, "item": said.item, "rating": said.rating}), file, row_group_size=1 << 19
    )
    (short, before), (long, after) = (fitted(session, file, shape, rounds) for rounds in (SHORT, LONG))
    rounds, needed, model = LONG - SHORT, shape.budget(), here.seconds(shape)
    sent = [one._about["group"]["sent"] for one in (short, long)]
    one_round = float(np.median([b["seconds"] - a["seconds"] for a, b in pairwise(long.history)]))
    return {
        **shape.columns(), "model s": sum(model.values()), "measured s": one_round,
        "cpu s": (after.seconds() - before.seconds()) / rounds / shape.tasks,
        "read s": long.history[0]["seconds"] - (1 + here.start) * one_round,
        "model MB sent": needed.traffic / 1e6, "measured MB sent": (sent[1] - sent[0]) / rounds / 1e6,
        "model MB": needed.memory / 1e6, "measured MB": max(after.megabytes.values()),
    }  # fmt: skip


# -- other sizes ------------------------------------------------------------------------------------------------------


def foretold(here: Machine, users: int, threads: int, rows_a_second: float) -> Row:
    """As few machines as have the memory, with tasks of so many threads."""
    from rather.spark.cluster import power_of_two
    from rather.spark.estimator import LEAST_SHARDS, MOST_SHARDS, ROWS_A_SHARD

    each, on_one = sized(100, smoke=10), CORES // threads
    shards = min(max(LEAST_SHARDS, 2 * power_of_two(max(1, users * each // ROWS_A_SHARD))), MOST_SHARDS)
    shape = Shape(users, sized(100_000, smoke=50), each, 64, on_one, max(shards, on_one))
    while shape.budget().memory > MEMORY / on_one:
        shape = shape._replace(tasks=2 * shape.tasks, shards=max(shape.shards, 2 * shape.tasks))
    seconds = here.seconds(shape, GAIN / on_one, NETWORK / on_one, WIRE)
    reading, one_round = shape.ratings / shape.tasks / rows_a_second, sum(seconds.values())
    return {
        **shape.columns(), "threads": threads, "machines": shape.tasks // on_one,
        "GB a task": shape.budget().memory / 1e9, "MB a round": shape.budget().traffic / 1e6,
        "read s": reading, "round s": one_round, **seconds,
        "fit min": (reading + (here.start + OF_A_FIT) * one_round) / 60,
    }  # fmt: skip


def main() -> None:
    bench.parser(__doc__).parse_args()
    if (why := missing()) is not None:
        print(f"{why}: skipped", file=sys.stderr)
        if sized(False, smoke=True):
            bench.report("spark-cost", [{"skipped": why}])
        return
    here = machine()
    with tempfile.TemporaryDirectory() as folder, spark() as session:
        found = []
        for shape in CHECKED:
            found.append(checked(here, shape, session, folder))
            print(found[-1], flush=True)
    bench.report("spark-cost", found)
    speed = float(np.median([one["ratings"] / one["tasks"] / max(one["read s"], 1e-3) for one in found]))
    bench.report("spark-cost-sizes", [foretold(here, n, threads, speed) for n in SIZES for threads in (16, 4, 1)])


if __name__ == "__main__":
    main()
