"""The parts of rather.spark that need no cluster: counts of slots, budgets, a job under watch, and rows of a shard."""

import itertools
import threading
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

import pyarrow as pa

from rather.errors import InputError
from rather.models.altsvm import AltSVMParams
from rather.spark import cluster, watch
from rather.spark.cluster import Budget, ClusterError, Slots
from rather.spark.params import LOCAL, FitParams, signature
from rather.spark.plan import ITEM, SAID, USER, Plan
from rather.spark.shard import read_shards

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


# -- slots ------------------------------------------------------------------------------------------------------------


def test_powers_of_two():
    assert [cluster.power_of_two(n) for n in (1, 2, 3, 4, 7, 8, 1023)] == [1, 2, 2, 4, 4, 8, 512]


def test_how_many_run_at_once():
    """A task that begins when another has ended does not run beside it."""
    spans = [(0.0, 2.0), (1.0, 3.0), (2.0, 4.0), (3.5, 5.0)]
    assert cluster._overlap([{"began": began, "ended": ended} for began, ended in spans]) == 2
    assert cluster._overlap([{"began": 1.0, "ended": 2.0}]) == 1


@pytest.mark.parametrize(
    ("most", "wanted", "found", "tried"),
    [
        (8, None, [4], [(4, cluster.TOGETHER)]),  # as many as Spark makes of a range
        (2, None, [2], [(2, cluster.TOGETHER)]),  # no more than there are shards
        (8, 8, [4], [(8, cluster.TOGETHER)]),  # more are wanted than Spark counts
        (8, None, [3, 4], [(4, cluster.TOGETHER), (4, cluster.LONGER)]),  # some began late
        (8, None, [3, 2], [(4, cluster.TOGETHER), (4, cluster.LONGER)]),
        (8, 2, [1, 2], [(2, cluster.TOGETHER), (2, cluster.LONGER)]),
    ],
)
def test_slots_are_tried_twice_where_some_are_missing(monkeypatch, most, wanted, found, tried):
    calls = []

    def try_some(spark, tasks, together):
        calls.append((tasks, together))
        return Slots(found[len(calls) - 1], None)

    monkeypatch.setattr(cluster, "_tried", try_some)
    spark = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=4))
    assert cluster.slots(spark, most, wanted) == Slots(max(found), None)
    assert calls == tried


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("x\nrather.spark.group.GroupError: lost h:1\n  more", "lost h:1"),
        ("Python worker exited unexpectedly (crashed)", "a Python worker died"),
        ("ExecutorLostFailure (executor 1 exited)", "an executor was lost"),
        ("executor lost", "an executor was lost"),
        ("ExecutorDeadException: The relative remote executor is dead", "an executor was lost"),
        ("Could not recover from a failed barrier: Barrier task 1 failed", "a task of the stage failed"),
        ("some  other\nthing", "RuntimeError: some other thing"),
        ("x" * 300, f"RuntimeError: {'x' * 200}"),
    ],
)
def test_failures_in_short(text, short):
    assert cluster.in_short(RuntimeError(text)) == short
    assert cluster.refusal(RuntimeError(text)) is None


def test_failures_that_no_retry_mends():
    for text in ("[SPARK-24942]: Barrier execution mode", "does not support dynamic resource allocation"):
        assert "spark.dynamicAllocation.enabled=false" in str(cluster.refusal(RuntimeError(text)))
    for name in ("rather.memory", "pyarrow", "numpy", "scipy.sparse"):
        found = cluster.refusal(RuntimeError(f"ModuleNotFoundError: No module named '{name}'\n"))
        assert str(found).startswith("rather cannot be imported on the executors")
    same = InputError("as it is")
    assert cluster.refusal(same) is same and cluster.in_short(ClusterError("as it is")) == "as it is"


def test_a_budget_grows_with_what_it_is_for():
    sizes = {"n_users": 10**6, "n_items": 10**5, "n_rows": 10**8, "rank": 64}
    more = {"shards": 64, "slots": Slots(8, 10**10), "kind": "ratings", "exposed": False}
    usual = cluster.budget(**sizes, **more)
    assert (usual.tasks, usual.shards, usual.available) == (8, 64, 10**10)
    for name, value in sizes.items():
        assert cluster.budget(**{**sizes, name: 2 * value}, **more).memory > usual.memory
    for changed in ({"kind": "votes"}, {"exposed": True}, {"drawn": 100}):
        assert cluster.budget(**sizes, **{**more, **changed}).memory > usual.memory
    nobody = {**sizes, "n_users": 0, "n_rows": 0}
    known, exposed = (cluster.budget(**nobody, **{**more, "exposed": flag}).memory for flag in (False, True))
    assert exposed - known == 10**5 * 3 * 4 * 112  # three matrices of the items' features
    halved = cluster.budget(**sizes, **{**more, "slots": Slots(16, None)})
    assert halved.memory < usual.memory and halved.available is None
    alone = cluster.budget(**sizes, **{**more, "slots": Slots(1, None)})
    assert alone.traffic == 0 < usual.traffic < halved.traffic < 2 * usual.traffic
    rows = 4 * 80  # a row of 65 numbers, in whole vectors of 16
    assert usual.traffic == int(2 * 7 / 8 * 6.2 * 10**5 * rows)
    ratio = (alone.memory - cluster.PYTHON) / (usual.memory - cluster.PYTHON)
    assert 4 < ratio < 8  # users and rows are shared, items are not


def test_a_budget_is_kept_to_the_byte():
    cluster.require(Budget(1, 8, 1000, 0, 1000))
    cluster.require(Budget(1, 8, 1000, 0, None))
    with pytest.raises(
        InputError, match="a task would take about 1 kB, and may have 999 B; take more and smaller tasks"
    ):
        cluster.require(Budget(1, 8, 1000, 0, 999))
    assert (
        str(Budget(1, 8, 2_500_000, 0, None)) == "1 task of 8 shards: 2.5 MB memory each, 0 B sent by each in a round"
    )
    assert str(Budget(2, 8, 10**9, 1, 3 * 10**12)).startswith(
        "2 tasks of 4 shards: 1 GB memory each (of 3,000 GB), 1 B"
    )


# -- a job under watch ------------------------------------------------------------------------------------------------


def test_a_job_under_watch_ends_as_it_would(spark):
    assert watch.watched(spark, 2, lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        watch.watched(spark, 2, lambda: 1 / 0)


def test_a_job_without_its_slots_is_taken_back(spark, monkeypatch):
    """Once there have been too few of them for long enough, at one stretch."""
    end, taken, closed, ticks = threading.Event(), threading.Event(), [], itertools.count()

    class Look:
        def __init__(self, spark, tasks):
            assert tasks == 2

        def __call__(self):
            try:
                return next(said)
            except StopIteration:
                end.set()

        def close(self):
            closed.append(True)

    monkeypatch.setattr(watch, "BEAT", 0.01)
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: float(next(ticks))))  # a second a look
    for kind in ("Capacity", "Progress"):
        monkeypatch.setattr(watch, kind, Look)
    monkeypatch.setattr(watch, "_take_back", lambda *_: taken.set())
    assert watch.SHORT == 3.0
    said = iter([None, 1, 1, 1, None, 1, 1, None])  # they come back in time
    watch.watched(spark, 2, lambda: end.wait(60))
    assert closed == [True] and not taken.is_set()
    end.clear()
    said = iter([None, 1, 1, 1, 1])
    with pytest.raises(ClusterError, match=r"^of the 2 tasks of a stage only 1 can run now: executors were lost$"):
        watch.watched(spark, 2, lambda: end.wait(60))
    assert closed == [True, True] and taken.wait(60)
    end.set()


def test_a_job_is_taken_back_until_it_ends():
    """Cancelling what has not begun has no effect."""
    from concurrent.futures import Future

    made, tags = Future(), []

    def cancel(tag):
        tags.append(tag)
        if len(tags) == 3:
            made.set_result(None)
        raise RuntimeError("not there yet")

    watch._take_back(SimpleNamespace(sparkContext=SimpleNamespace(cancelJobsWithTag=cancel)), "mine", made)
    assert tags == ["mine"] * 3


def test_capacity():
    """Only where tasks are missing is there something to say."""

    def capacity(found):
        manager = SimpleNamespace(
            resourceProfileManager=lambda: SimpleNamespace(defaultResourceProfile=lambda: "usual")
        )
        manager.maxNumConcurrentTasks = {"usual": found}.__getitem__
        return watch.Capacity(
            SimpleNamespace(sparkContext=SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: manager))), 4
        )

    assert [capacity(n)() for n in (0, 3, 4, 5)] == [0, 3, None, None]
    assert capacity("many")() is None


def test_progress_over_connect(monkeypatch):
    """Slots are tried where a job is under way of which nothing runs for a while."""
    now, free = [100.0], [4]
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(watch, "slots", lambda spark, tasks: Slots(free[0], None))
    look = watch.Progress(SimpleNamespace(), 4)
    free[0] = 1
    assert look() is None  # nothing was heard
    look.heard([], 2, "job", False)
    now[0] += 100
    assert look() is None  # it runs
    look.heard([], 0, "job", False)
    assert look() is None  # for no time yet
    now[0] += watch.SHORT - 0.5
    assert look() is None
    now[0] += 1
    assert look() == 1
    free[0] = 4
    assert look() is None  # there are enough, and it is asked again only after a while
    free[0] = 1
    assert look() is None
    now[0] += watch.SHORT + 0.5
    assert look() == 1
    look.heard([], 3, "other", False)
    assert look() is None
    look.heard([], 3, "other", True)
    now[0] += watch.SHORT / 2
    assert look() is None  # the while begins anew
    now[0] += watch.SHORT
    assert look() == 1  # what has ended does not run


# -- rows of a shard --------------------------------------------------------------------------------------------------


def plan(kind="ratings", **more):
    return Plan({"ties": "model", "seed": 0}, kind, 5, 4, 2, 1, **more)


def said(rows, kind=SAID):
    """Rows of shard, user, a, b, x, tie as Spark hands them over."""
    columns = list(zip(*rows, strict=True))
    types = {
        "shard": pa.int32(),
        "user": pa.string(),
        "a": pa.int32(),
        "b": pa.int32(),
        "x": pa.float64(),
        "tie": pa.bool_(),
    }
    made = {name: pa.array(column, of) for (name, of), column in zip(types.items(), columns, strict=True)}
    made["kind"] = pa.array([kind] * len(rows), pa.int8())
    made["vector"] = pa.array([[]] * len(rows), pa.list_(pa.float32()))
    return pa.RecordBatch.from_pydict(made)


ROWS = [
    (3, "zoe", 1, None, 4.0, None), (2, "eve", 0, None, 1.0, None), (2, "ann", 3, None, 5.0, None),
    (2, "ann", 1, None, 2.0, None), (3, "bob", 4, None, 3.0, None), (3, "zoe", 0, None, 2.5, None),
]  # fmt: skip


def test_a_shard_is_the_same_in_whatever_order_its_rows_come():
    """Users are in the order of their shards and ids, what they said in that of items."""
    for order in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 0, 4, 1, 5, 3]):
        rows = [ROWS[k] for k in order]
        found = read_shards(plan(), 1, iter([said(rows[:2]), said(rows[2:])]))
        assert found.users.to_pylist() == ["ann", "eve", "bob", "zoe"] and found.number.tolist() == [2, 2, 3, 3]
        assert found.first == 2 and found.start.tolist() == [0, 2, 4]
        assert found.user.tolist() == [0, 0, 1, 2, 3, 3] and found.a.tolist() == [1, 3, 0, 4, 0, 1]
        assert found.x.tolist() == [2.0, 5.0, 1.0, 3.0, 2.5, 4.0]


def test_a_task_without_rows():
    found = read_shards(plan(), 1, iter([]))
    assert len(found.users) == len(found.user) == 0 and found.start.tolist() == [0, 0, 0]


def test_what_is_said_twice():
    """Clicks count once, votes each time, and ratings are refused."""
    twice = [(0, "ann", 1, None, 2.0, None)] * 2 + [(0, "ann", 2, None, 2.0, None), (0, "bob", 1, None, 2.0, None)]
    with pytest.raises(InputError, match=r"^user 'ann' rates an item twice; keep one$"):
        read_shards(plan(), 0, iter([said(twice)]))
    clicks = read_shards(plan("clicks"), 0, iter([said(twice)]))
    assert (clicks.user.tolist(), clicks.a.tolist()) == ([0, 0, 1], [1, 2, 1])
    votes = read_shards(plan("votes"), 0, iter([said([(0, "ann", 1, 2, 1.0, None)] * 2)]))
    assert votes.a.tolist() == [1, 1] and votes.b.tolist() == [2, 2]


def test_votes_of_one_pair_are_in_one_order():
    """By their weights, and ties after the rest; a weight of 0 says nothing, and a tie counts for both sides."""
    rows = [
        (0, "ann", 1, 2, 3.0, False), (0, "ann", 1, 2, 1.0, True), (0, "ann", 1, 2, 1.0, False),
        (0, "ann", 0, 2, 0.0, False),
    ]  # fmt: skip
    for some in (rows, rows[::-1]):
        found = read_shards(plan("votes", weighted=True), 0, iter([said(some)]))
        assert found.x.tolist() == [0.0, 1.0, 1.0, 3.0] and found.tie.tolist() == [False, False, True, False]
        pairs = found._pairs(weighted=True)
        assert sorted(zip(pairs.winner.tolist(), pairs.loser.tolist(), pairs.weight.tolist(), strict=True)) == [
            (1, 2, 0.5), (1, 2, 1.0), (1, 2, 3.0), (2, 1, 0.5),
        ]  # fmt: skip
        assert pairs.tied.sum() == 2


@pytest.mark.parametrize(
    ("kind", "row", "sentence"),
    [
        ("ratings", (0, "ann", None, None, 1.0, None), "has no item; drop such rows first"),
        (
            "ratings",
            (0, "ann", 1, None, None, None),
            "has a rating that is missing or not finite; drop such rows first",
        ),
        (
            "ratings",
            (0, "ann", 1, None, np.inf, None),
            "has a rating that is missing or not finite; drop such rows first",
        ),
        (
            "ratings",
            (0, "ann", 1, None, -(2.0**53), None),
            r"has a rating beyond 2\*\*53, where whole numbers tie; rescale",
        ),
        ("votes", (0, "ann", 1, None, 1.0, None), "has no loser; drop such rows first"),
        ("votes", (0, "ann", 1, 1, 1.0, None), "compares an item with itself; drop such rows"),
        ("votes", (0, "ann", 1, 2, -1.0, None), "has a weight that is not from 0 to 1,000,000"),
        ("votes", (0, "ann", 1, 2, 1e6 + 1, None), "has a weight that is not from 0 to 1,000,000"),
        ("votes", (0, "ann", 1, 2, None, None), "has a weight that is not from 0 to 1,000,000"),
    ],
)
def test_rows_that_say_nothing_are_refused(kind, row, sentence):
    good = (0, "bob", 1, 2, 1e6 if kind == "votes" else 2.0**53 - 1, None)
    read_shards(plan(kind, weighted=True), 0, iter([said([good])]))
    with pytest.raises(InputError, match=f"^a row of user 'ann' {sentence}"):
        read_shards(plan(kind, weighted=True), 0, iter([said([good, row])]))


def test_rows_of_other_shards_and_without_users():
    for shard in (1, 4):
        with pytest.raises(InputError, match="Spark's hash is not the one that is known here"):
            read_shards(plan(), 1, iter([said([(shard, "ann", 1, None, 1.0, None)])]))
    with pytest.raises(InputError, match=r"^a row has no user; drop such rows first$"):
        read_shards(plan(), 0, iter([said([(0, None, 1, None, 1.0, None)])]))


def state(users, vectors, kind):
    """What a job before left of its users or items."""
    rows = said(
        [(0, user if kind == USER else None, user if kind == ITEM else None, None, None, None) for user in users], kind
    )
    made = {name: rows.column(name) for name in rows.schema.names}
    return pa.RecordBatch.from_pydict({**made, "vector": pa.array(vectors, pa.list_(pa.float32()))})


def test_what_the_job_before_left_finds_its_users():
    given = [(0, "bob", 1, None, 2.0, None), (0, "ann", 1, None, 2.0, None)]
    left = state(["bob", "ann"], [[1.0, 2.0], [3.0, 4.0]], USER)
    items = state([3, 1], [[5.0], [6.0]], ITEM)
    found = read_shards(plan(), 0, iter([left, said(given), items]))
    assert found.users.to_pylist() == ["ann", "bob"]
    assert found.state_users.tolist() == [1, 0] and found.user_rows.tolist() == [1, 2, 3, 4]
    assert found.items.tolist() == [3, 1] and found.item_rows.tolist() == [5, 6]
    for users in (["bob"], ["bob", "eve"]):
        with pytest.raises(InputError, match="the users of the checkpoint are not those of the data"):
            read_shards(plan(), 0, iter([state(users, [[1.0]] * len(users), USER), said(given)]))


# -- parameters -------------------------------------------------------------------------------------------------------


def test_parameters_are_the_ordinary_ones():
    """The parameters of the ordinary AltSVM come with its defaults, in the spelling of pyspark.ml."""
    assert LOCAL["regParam"] == "reg" and LOCAL["itemPower"] == "item_power" and "nThreads" not in LOCAL
    made, usual = FitParams(), AltSVMParams()
    assert made._local_params() == {name: getattr(usual, name) for name in LOCAL.values()}
    made._set(rank=np.int64(3), regParam="cv", bias=2, itemPower=1)
    assert [made._get(name) for name in ("rank", "regParam", "bias", "itemPower")] == [3, "cv", 2.0, 1.0]
    with pytest.raises(TypeError, match="rank"):
        made._set(rank="auto")
    assert list(signature().parameters) == ["self", *(param.name for param in made.params)]
