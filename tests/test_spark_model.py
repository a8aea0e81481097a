"""A model on Spark: names of columns, parameters as pyspark converts them, files that survive a kill, and sockets."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import rather
from rather.errors import InputError

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")
pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

TEMPORARY = [
    "_id",
    "_u",
    "_v0",
    "_v1",
    "_b0",
    "_b1",
    "_c0",
    "_c1",
    "_met",
    "_reluctance",
    "_item",
    "__id",
    "_U",
    "a.`b",
]


@pytest.fixture(scope="module")
def local():
    made = rather.simulate(n_users=30, n_items=8, per_user=12, seed=1).comparisons.to_frame("dict")
    tied = np.arange(len(made["user"])) % 6 == 0
    fitted = rather.AltSVM(rank=2, reg=3.0).fit(rather.Comparisons.from_frame({**made, "tied": tied}, tie="tied"))
    fitted.calibrate()
    return fitted


@pytest.fixture(scope="module")
def model(spark, local):
    from rather.spark import AltSVMModel

    return AltSVMModel.from_local(local, spark)


# -- names of columns -------------------------------------------------------------------------------------------------


def test_a_missing_column_is_refused_by_name(spark, model):
    """Above all ``user``, which Spark has a function for."""
    votes = spark.createDataFrame([("u1", "i1", "i2")], "who string, winner string, loser string")
    items, pairs = votes.selectExpr("who", "winner as item"), votes.toDF("who", "left", "right")
    missing = r"^there is no column 'user' \(for the user\); the columns are 'who', "
    for table in (votes, items, pairs):
        with pytest.raises(InputError, match=missing):
            model.transform(table)
    with pytest.raises(InputError, match=missing):
        model.recommendForAllUsers(1, exclude=items)
    with pytest.raises(InputError, match=missing):
        model.recommendForUserSubset(items, 1)
    with pytest.raises(
        InputError, match=r"^there is no column 'item' \(for the item\); the columns are 'user', 'film'"
    ):
        model.recommendForAllUsers(1, exclude=items.toDF("user", "film"))
    for exclude in (5, ["seen"], {"user": [1]}, "all"):
        with pytest.raises(
            InputError, match=r"^exclude is .*; it must be 'seen', a DataFrame of user and item, or None"
        ):
            model.recommendForAllUsers(1, exclude=exclude)


def test_a_missing_column_of_a_fit_or_a_metric_is_refused_by_name(spark):
    from rather.spark import AltSVM, RankingEvaluator, ndcg, pairwise_accuracy, precision

    types = "user string, item string, rating double, prediction double, rank int"
    whole = spark.createDataFrame([("a", "x", 1.0, 0.5, 1)], types)
    missing = r"^there is no column '{0}' \(for the {0}\); the columns are '"
    for role in ("user", "item", "rating", "prediction", "rank"):
        table, calls = whole.withColumnRenamed(role, "other"), []
        if role in ("user", "item", "rating", "prediction"):
            calls += [ndcg, pairwise_accuracy, RankingEvaluator().evaluate]
        if role in ("user", "item", "rating"):
            calls.append(AltSVM(source="ratings").fit)
        if role in ("user", "item"):
            calls += [AltSVM(source="clicks").fit, lambda table: precision(whole, table, 1)]
        if role in ("user", "item", "rank"):
            calls.append(lambda table: precision(table, whole, 1))
        for call in calls:
            with pytest.raises(InputError, match=missing.format(role)):
                call(table)
    types = "user string, winner string, loser string, w double, t boolean"
    votes = spark.createDataFrame([("a", "x", "y", 1.0, True)], types)
    for role in ("user", "winner", "loser", "weight", "tie"):
        names = {"weight": "w", "tie": "t"}
        table = votes.withColumnRenamed(names.get(role, role), "other")
        with pytest.raises(InputError, match=rf"^there is no column '.*' \(for the {role}\); the columns are '"):
            AltSVM(weightCol="w", tieCol="t").fit(table)
    with pytest.raises(
        InputError, match=r"^weightCol is 'rank', but it is for votes and source is 'ratings'; leave it"
    ):
        AltSVM(source="ratings", weightCol="rank").fit(whole)


@pytest.mark.parametrize(("kind", "cold"), [("items", "everyone"), ("votes", "drop"), ("pairs", "drop")])
def test_columns_of_any_name_pass_through_transform(spark, model, local, kind, cold):
    """Also those which are named like what is joined on the way, and added columns with such names."""
    users, items = local.users_.tolist(), local.items_.tolist()
    rows = [(users[n], items[n % 8], items[(n + 1) % 8]) for n in range(9)]
    names = {"items": ("item", "other"), "votes": ("winner", "loser"), "pairs": ("left", "right")}[kind]
    plain = spark.createDataFrame([(*row, n) for n, row in enumerate(rows)], ["user", *names, "n"])
    extended = plain.selectExpr(
        "*", *(f"n + {k} as `{name.replace('`', '``')}`" for k, name in enumerate(TEMPORARY[:-2]))
    )
    extended = extended.withColumn("x.y", extended["n"])
    added = {"predictionCol": "_v9", "probabilityCol": "p.q"}
    by_name = {model.getParam(name): value for name, value in {**added, "coldStartStrategy": cold}.items()}
    found = model.copy(by_name).transform(extended)
    made = [name for name in found.columns if name not in extended.columns]
    assert made == {"items": ["_v9"], "votes": ["winnerPrediction", "loserPrediction"], "pairs": ["p.q"]}[kind]
    got, given = sorted(found.collect(), key=lambda row: row["n"]), sorted(extended.collect(), key=lambda row: row["n"])
    assert [row[: len(extended.columns)] for row in got] == [tuple(row) for row in given]
    values = np.array([np.ravel(row[len(extended.columns) :]) for row in got])
    user, first, second = zip(*rows, strict=True)
    expected = {
        "items": lambda: local.score(user, first)[:, None],
        "votes": lambda: np.stack([local.score(user, first), local.score(user, second)], 1),
        "pairs": lambda: local.probability(user, first, second),
    }[kind]()
    np.testing.assert_allclose(values, expected, atol=1e-5)
    for name in ("_u", "_v0") if kind != "votes" else ():  # which are temporary where the table has no such names
        other = model.copy({model.predictionCol: name, model.probabilityCol: name}).transform(plain)
        got = [np.ravel(row[-1]) for row in sorted(other.collect(), key=lambda row: row["n"])]
        assert other.columns == [*plain.columns, name]
        np.testing.assert_allclose(got, expected, atol=1e-5)


def test_a_column_is_not_overwritten(spark, model):
    """Not even where its name differs by case alone, which Spark ignores."""
    table = spark.createDataFrame([("u", "i", 1.0)], "user string, item string, Prediction double")
    with pytest.raises(InputError, match="the table has a column 'Prediction', where 'prediction' is added; rename it"):
        model.transform(table)
    with pytest.raises(InputError, match="the table has a column 'prediction', where 'Prediction' is added; rename it"):
        model.copy({model.predictionCol: "Prediction"}).transform(table.withColumnRenamed("Prediction", "prediction"))


def test_a_prefix_that_begins_no_name():
    from rather.spark.columns import unused

    for names in ([], ["a", "b_"], ["_id"], ["_ID", "__x", "y"], ["_", "____"]):
        assert not any(name.startswith(unused(names)) for name in names)
    assert unused([]) == "_"


# -- parameters -------------------------------------------------------------------------------------------------------

CONVERTED = [
    ("regParam", np.float32(10), 10.0), ("regParam", np.int64(10), 10.0), ("regParam", 10, 10.0),
    ("regParam", "cv", "cv"), ("bias", np.float32(0.5), 0.5), ("bias", np.int64(2), 2.0), ("bias", False, False),
    ("bias", np.False_, False), ("bias", 3, 3.0), ("rank", np.int64(3), 3), ("rank", 3.0, 3),
    ("tol", np.float32(0.25), 0.25), ("itemPower", 1, 1.0), ("ports", np.array([41000, 41001]), [41000, 41001]),
    ("ports", (41000, 41001), [41000, 41001]), ("ports", range(41000, 41002), [41000, 41001]),
    ("userCol", np.str_("who"), "who"), ("exposure", False, False), ("exposure", np.True_, True),
    ("numShards", np.int32(8), 8),
]  # fmt: skip


def test_parameters_are_converted(spark, tmp_path):
    """In every way to set them; and what was converted can be saved."""
    from rather.spark import AltSVM, RankingEvaluator

    for name, given, expected in CONVERTED:
        estimator = AltSVM(**{name: given})
        plain = AltSVM()
        changed = plain.copy({plain.getParam(name): given})
        for value in (estimator._get(name), AltSVM().setParams(**{name: given})._get(name), changed._get(name)):
            assert value == expected and type(value) is type(expected), (name, given)
    every = AltSVM(source="ratings", **{name: given for name, given, _ in CONVERTED})
    every.save(str(tmp_path / "estimator"))
    again = AltSVM.load(str(tmp_path / "estimator"))
    assert again._local_params() == every._local_params() and again._get("ports") == [41000, 41001]
    judge = RankingEvaluator(k=np.int64(3), userCol=np.str_("who"))
    judge.save(str(tmp_path / "judge"))
    assert (RankingEvaluator.load(str(tmp_path / "judge")).getK(), judge.getUserCol()) == (3, "who")


@pytest.mark.parametrize(
    ("name", "value"),
    [("regParam", True), ("regParam", [1.0]), ("bias", "yes"), ("bias", [1]), ("rank", 2.5), ("rank", True),
     ("rank", "3"), ("maxIter", np.float32(1.5)), ("exposure", 1), ("exposure", "true"), ("verbose", 0),
     ("ports", 41000), ("ports", [1.5, 2]), ("userCol", 3), ("seed", None.__class__)],
)  # fmt: skip
def test_other_types_are_refused_as_by_pyspark(name, value):
    from rather.spark import AltSVM

    with pytest.raises(TypeError, match=f'Invalid param value given for param "{name}"'):
        AltSVM(**{name: value})


def test_metrics_take_numbers_of_numpy(spark):
    from rather.spark import ndcg, pairwise_accuracy, precision

    rows = [("a", "x", 1.0, 0.5, 1), ("a", "y", 4.0, 1.0, 2), ("a", "z", 2.0, 0.0, 3)]
    table = spark.createDataFrame(rows, "user string, item string, rating double, prediction double, rank int")
    assert ndcg(table, np.int64(2)) == ndcg(table, 2)
    assert precision(table, table.limit(1), np.int32(2)) == 0.5
    assert pairwise_accuracy(table, np.float32(1.5)) == 1


# -- files ------------------------------------------------------------------------------------------------------------


def read_whole(path):
    """The mark of the model that a reader finds, all of whose users and items are of that model."""
    from rather.spark import AltSVMModel

    found = AltSVMModel.load(path)
    users, items = found._users.collect(), found._items.collect()
    assert len(users) == 30 and len(items) == 8
    assert {row["features"][0] for row in users} == {row["bias"] for row in items} == {found._about["mark"]}
    return found._about["mark"]


def marked(model, mark):
    """A model whose numbers are one number."""
    from pyspark.sql import functions as F

    made = model.copy()
    made._users = model._users.withColumn("features", F.array(F.lit(mark).cast("float"), F.lit(0.0).cast("float")))
    made._items = model._items.withColumn("bias", F.lit(mark).cast("float"))
    made._about = {**model._about, "mark": mark}
    return made


class Killed(BaseException):
    """What nothing catches."""


def at_every_write(patch, frame, before, after):
    """Call one function before each table is written, and another one after it."""
    kind = type(frame.write)

    def watched(write):
        def some(*args, **kwargs):
            before()
            write(*args, **kwargs)
            after()

        return some

    for name in ("parquet", "text"):
        patch.setattr(kind, name, watched(getattr(kind, name)))


@pytest.mark.parametrize("finished", [0, 1, 2])
def test_a_write_that_is_killed_leaves_a_whole_model(model, tmp_path, monkeypatch, finished):
    """A model that reads from a folder is saved there, and killed before one of the three writes."""
    from rather.spark import AltSVMModel

    path, done = str(tmp_path / "model"), []

    def before():
        if len(done) == finished:
            raise Killed

    marked(model, 1).save(path)
    again = AltSVMModel.load(path)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        at_every_write(patch, model._users, before, lambda: done.append(1))
        marked(again, 2).write().overwrite().save(path)
    assert read_whole(path) == 1
    marked(again, 3).write().overwrite().save(path)  # what was left half written is no hindrance
    assert read_whole(path) == 3


def test_a_reader_finds_a_whole_model_at_any_moment(model, tmp_path, monkeypatch):
    """The one before until the last write has ended; and a model reads on from where it was loaded."""
    from rather.spark import AltSVMModel, files

    path, met = str(tmp_path / "model"), []

    def look():
        met.append(read_whole(path))

    marked(model, 1).save(path)
    again = AltSVMModel.load(path)
    with monkeypatch.context() as patch:
        at_every_write(patch, model._users, look, look)
        marked(model, 2).write().overwrite().save(path)
    assert met == [1, 1, 1, 1, 1, 2]
    assert (
        len(list((tmp_path / "model" / "metadata").glob("part-*"))) == 2
    )  # none was deleted before the other was there
    monkeypatch.setattr(files, "time", SimpleNamespace(time=lambda: 0.0))  # a clock that was set back
    marked(again, 3).write().overwrite().save(path)
    assert read_whole(path) == 3
    assert {row["bias"] for row in again._items.collect()} == {1}


def test_a_write_over_its_own_path_again_and_again(model, tmp_path):
    """The folder keeps at most three models."""
    from rather.spark import AltSVMModel

    path = str(tmp_path / "model")
    marked(model, 5).save(path)
    again = AltSVMModel.load(path)
    for _ in range(3):
        again.write().overwrite().save(path)
        assert read_whole(path) == 5
    assert {one.name for one in (tmp_path / "model").iterdir()} <= {"metadata", "a", "b", "c"}


def test_a_pipeline_over_its_own_path(model, tmp_path):
    """A model survives that its pipeline's folder is deleted before it is written."""
    from pyspark.ml import PipelineModel

    path = str(tmp_path / "pipeline")
    PipelineModel([marked(model, 5)]).save(path)
    for _ in range(2):
        PipelineModel.load(path).write().overwrite().save(path)
        (stage,) = (tmp_path / "pipeline" / "stages").iterdir()
        assert read_whole(str(stage)) == 5


def test_what_a_write_finds(spark, model, local, tmp_path):
    """A folder that is taken, that holds something else, that is of an older version, or that is not there."""
    import json

    from rather.spark import AltSVM, AltSVMModel, RankingEvaluator

    path = str(tmp_path / "taken")
    AltSVM(rank=3).save(path)
    with pytest.raises(InputError, match=r"taken' already exists; write\(\)\.overwrite\(\)\.save\(path\) replaces it"):
        AltSVM(rank=4).save(path)
    with pytest.raises(InputError, match=r"taken' holds a AltSVM, not a AltSVMModel"):
        AltSVMModel.load(path)
    AltSVM(rank=4).write().overwrite().save(path)
    assert AltSVM.load(path)._get("rank") == 4
    RankingEvaluator(k=7).write().overwrite().save(path)
    assert RankingEvaluator.load(path).getK() == 7
    with pytest.raises(InputError, match="nowhere' holds nothing that was saved"):
        AltSVM.load(str(tmp_path / "nowhere"))

    old, source = tmp_path / "old", marked(model, 4)
    source._users.write.parquet(str(old / "users"))
    source._items.write.parquet(str(old / "items"))
    AltSVM(rank=4).save(str(old))
    (file,) = (old / "metadata").glob("part-*")
    said = json.loads(file.read_text())
    del said["save"]
    (old / "metadata" / f".{file.name}.crc").unlink()
    file.write_text(
        json.dumps({**said, "class": "rather.spark.model.AltSVMModel", "paramMap": {}, "defaultParamMap": {}})
    )
    spark.createDataFrame([(json.dumps(source._about),)], "value string").write.text(str(old / "about"))
    assert read_whole(str(old)) == 4
    again = AltSVMModel.load(str(old))
    for mark in (5, 6):
        marked(again, mark).write().overwrite().save(str(old))
        assert read_whole(str(old)) == mark


SAVES = """
import sys
from pyspark.sql import SparkSession
from rather.spark import AltSVMModel
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
while True:
    AltSVMModel.load(sys.argv[1]).write().overwrite().save(sys.argv[1])
    print("saved", flush=True)
"""


@pytest.mark.nightly
def test_a_process_killed_while_it_saves(model, tmp_path):
    """With its Java, at any moment: what it loaded and wrote is there."""
    path = str(tmp_path / "model")
    marked(model, 1).save(path)
    rng = np.random.default_rng(0)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("SPARK_REMOTE", "PYSPARK"))
    }
    for _ in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", SAVES, path], stdout=subprocess.PIPE, text=True, start_new_session=True,
            env=environment,
        ) as child:  # fmt: skip
            assert child.stdout.readline() == "saved\n"
            time.sleep(2 * rng.random())
            os.killpg(child.pid, signal.SIGKILL)
        assert read_whole(path) == 1


# -- sockets ----------------------------------------------------------------------------------------------------------


def listening():
    """The addresses and ports that this process listens on, by the kernel's tables."""
    import ipaddress

    own, found = set(), set()
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # which was open for this list alone
            own.add(str(link.readlink()))
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            _, place, _, state, *_, inode = line.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in own:
                address, port = place.split(":")
                words = np.frombuffer(bytes.fromhex(address), ">u4").astype("<u4")
                found.add((str(ipaddress.ip_address(words.tobytes())), int(port, 16)))
    return found


linux = pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="the kernel's tables are Linux's")


@linux
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "0.0.0.0", "::1"])
def test_a_listener_listens_at_one_address(host):
    from rather.spark.group import Listener

    if host == "::1":
        try:
            socket.create_server((host, 0), family=socket.AF_INET6).close()
        except OSError:
            pytest.skip("this machine has no IPv6")
    before = listening()
    with Listener(f"[{host}]" if ":" in host else host) as listener:
        assert listening() - before == {(host, listener.port)}
    assert listening() == before


def test_a_listener_needs_an_address_of_this_machine():
    from rather.spark.group import GroupError, Listener

    for host in ("192.0.2.1", "no.such.host.invalid"):
        with pytest.raises(
            GroupError, match=rf"^cannot listen at any port of {host}: .*; .* SPARK_LOCAL_IP on each mach"
        ):
            Listener(host)


def test_tasks_listen_where_spark_binds(monkeypatch):
    """The driver's setting comes before SPARK_LOCAL_IP, as in Spark, and without either it is what the driver sees."""
    from rather.spark.worker import addresses

    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    assert addresses("10.0.0.5", None) == ("10.0.0.5", "10.0.0.5")
    assert addresses("10.0.0.5", "0.0.0.0") == ("0.0.0.0", "10.0.0.5")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.2")
    assert addresses("10.0.0.5", None) == ("127.0.0.2", "127.0.0.2")
    assert addresses("10.0.0.5", "127.0.0.3") == ("127.0.0.3", "127.0.0.3")
    monkeypatch.setenv("SPARK_LOCAL_IP", "::")
    assert addresses("[fd00::5]", None) == ("::", "[fd00::5]")


def test_the_driver_says_what_it_binds_to_where_tasks_run_in_it():
    from types import SimpleNamespace

    from rather.spark.cluster import bind_address

    for said, expected in (
        ({"spark.master": "local[2]", "spark.driver.bindAddress": "127.0.0.2"}, "127.0.0.2"),
        ({"spark.master": "local[2]"}, None),
        ({"spark.master": "spark://host:7077", "spark.driver.bindAddress": "127.0.0.2"}, None),
        ({}, None),
    ):
        assert bind_address(SimpleNamespace(conf=said)) == expected


def meet(plan, batches):
    """What a task that meets the others listens on, before they have met and afterwards."""
    from unittest import mock

    import pyarrow
    from pyspark import BarrierTaskContext

    from rather.spark import worker

    def group(*args):
        found.append(listening())
        return Group(*args)

    found, Group, task = [], worker.Group, BarrierTaskContext.get()
    list(batches)
    before = listening()
    with mock.patch.object(worker, "Group", group), worker._joined(plan, task, task.partitionId()):
        found.append(listening())
    yield pyarrow.RecordBatch.from_pydict({"text": [" ".join(host for host, _ in one - before) for one in found]})


@linux
def test_a_fit_listens_on_the_address_of_spark(spark):
    """All its tasks do while they meet, and none afterwards."""
    from pyspark import cloudpickle

    from rather.spark import AltSVM
    from rather.spark.estimator import Fitting

    ratings = spark.range(40).selectExpr("id % 8 as user", "id div 8 as item", "double(id * 7 % 5) as rating")
    plan = Fitting(AltSVM(source="ratings", rank=1, numTasks=2), ratings)._plan()
    assert plan.bind == "127.0.0.1" and plan.n_tasks == 2  # as the session was told
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        for bind in ("127.0.0.1", "127.0.0.2"):
            tasks = spark.range(0, 2, 1, 2)
            made = tasks.mapInArrow(partial(meet, replace(plan, bind=bind)), "text string", barrier=True).collect()
            assert sorted(row["text"] for row in made) == ["", "", bind, bind]
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
