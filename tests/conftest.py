"""Shared fixtures."""

import os
import shutil
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:  # one of several processes; numpy's threads are counted as it is imported
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")

import numpy as np
import pytest

with suppress(ImportError):  # which environments of few packages lack
    from hypothesis import HealthCheck, settings

    settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy machine")


def pytest_terminal_summary(terminalreporter, config):
    """Add the counts of this run to the file $RATHER_COUNTS (scripts/part); a worker of pytest-xdist adds nothing."""
    file = os.environ.get("RATHER_COUNTS")
    if file and not hasattr(config, "workerinput"):
        kinds = (("passed", "xpassed"), ("failed", "error"), ("skipped", "xfailed"))
        counts = [sum(len(terminalreporter.stats.get(kind, ())) for kind in several) for several in kinds]
        with Path(file).open("a") as f:
            print(*counts, file=f)


@pytest.fixture
def interruptible():
    """Let SIGINT interrupt this test and the processes that it starts; nohup and shells' background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def data():
    """The folder of real data sets; tests that need it are skipped where it is absent."""
    folder = os.environ.get("RATHER_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set RATHER_DATA to the folder with the data sets")
    return Path(folder)


@pytest.fixture(scope="session")
def spark():
    """A small Spark on this machine; a Spark Connect of its own where $SPARK_REMOTE is local[2]."""
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'rather[spark]'")
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        pytest.skip("there is no Java")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # for the workers, which would take the first python3 there is
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.appName("rather")
    if not os.environ.get("SPARK_REMOTE"):
        builder = builder.master("local[2]")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # all is over before better code would pay
        "spark.sql.codegen.wholeStage": "false",  # nor would the code that Spark generates
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Failed to set")  # again, when Spark Connect has already begun with it
        session = builder.getOrCreate()
    if not os.environ.get("SPARK_REMOTE"):
        session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def _files(folder):
    """One small file of each format, with names that say which."""
    import rather
    from rather.data import table_files

    rng = np.random.default_rng(0)
    user, item = (axis.ravel() for axis in np.meshgrid(np.arange(12), np.arange(8), indexing="ij"))
    rating = rng.integers(1, 6, len(user))
    keep = rng.random(len(user)) < 0.7
    votes = rather.simulate(n_users=60, n_items=15, per_user=8).comparisons.to_frame("dict")
    odd = np.arange(len(votes["user"])) % 2 == 1
    order = np.argsort(((-1.0) ** user * item + rng.normal(scale=2, size=len(user))).reshape(12, 8), axis=1)
    tables = {
        "votes": votes,
        "arena": {
            "user": votes["user"],
            "left": np.where(odd, votes["winner"], votes["loser"]),
            "right": np.where(odd, votes["loser"], votes["winner"]),
            "outcome": np.where(rng.random(len(odd)) < 0.2, "tie", np.where(odd, "left", "right")),
        },
        "ratings": {"user": user[keep], "item": item[keep], "rating": rating[keep]},
        "rankings": {"user": user, "item": item, "rank": order.ravel()},
        "menus": {"user": user, "menu": user, "item": item, "chosen": (item == user % 8).astype(int)},
        "clicks": {"user": user[rating > 3], "item": item[rating > 3]},
    }
    for name, table in tables.items():
        table_files.write_table(folder / f"{name}.csv", table)
    return {name: folder / f"{name}.csv" for name in tables}


@pytest.fixture(scope="module")
def brief_search():
    """Search only briefly for the scales of the posterior, which is most of the time of a fit on the command line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rather.models.crowd.TRIES", 8)
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return _files(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def models(files, tmp_path_factory):
    """A model file for each format, fitted by the command line."""
    from rather.cli.main import main

    folder = tmp_path_factory.mktemp("models")
    for name, file in files.items():
        assert main(["fit", str(file), "--out", str(folder / name), "--rank", "4", "--quiet"]) == 0
    return {name: folder / name for name in files}
