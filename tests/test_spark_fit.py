"""AltSVM on Spark: the same model as the ordinary one, the same bits whatever the tasks, and what goes wrong."""

import datetime
import re
import warnings

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


@pytest.fixture(scope="module")
def stars():
    """Ratings of some 200 people who choose what they rate."""
    rng = np.random.default_rng(0)
    taste, kind = rng.normal(size=(200, 2)), rng.normal(size=(60, 2))
    liked = taste @ kind.T
    met = rng.random(liked.shape) < 1 / (1 + np.exp(1.5 - liked))
    user, item = np.nonzero(met)
    rating = np.clip(np.round(3 + liked[user, item] + rng.normal(size=len(user))), 1, 5)
    return {"user": user + 100, "item": item + 7, "rating": rating}


@pytest.fixture(scope="module")
def votes():
    made = rather.simulate(n_users=150, n_items=25, per_user=20, seed=2).comparisons.to_frame("dict")
    tied = np.random.default_rng(0).random(len(made["user"])) < 0.15
    return {**made, "tied": tied, "weight": np.where(tied, 2.0, 1.0)}


def frame(spark, table, schema):
    return spark.createDataFrame(list(zip(*(column.tolist() for column in table.values()), strict=True)), schema)


@pytest.fixture(scope="module")
def rated(spark, stars):
    return frame(spark, stars, "user long, item long, rating double")


@pytest.fixture(scope="module")
def voted(spark, votes):
    return frame(spark, votes, "user string, winner string, loser string, tied boolean, weight double")


def bits(model):
    local = model.to_local()
    return local.fitted.scorer.U.tobytes(), local.fitted.scorer.V.tobytes()


@pytest.fixture(scope="module")
def model(rated):
    from rather.spark import AltSVM

    return AltSVM(source="ratings", rank=5, regParam=20.0, exposure=True, numTasks=2).fit(rated)


def test_the_same_model_as_the_ordinary_one(model, stars):
    local = rather.AltSVM(rank=5, reg=20.0, exposure=True).fit(rather.Comparisons.from_ratings(stars))
    assert model.converged and model.exposure and model.rank == 5
    assert len(model.history) == len(local.history_)
    assert model.history[-1]["objective"] == pytest.approx(local.history_[-1]["objective"], rel=1e-6)
    there = model.to_local()
    assert there.items_.tolist() == local.items_.tolist() and there.users_.tolist() == local.users_.tolist()
    np.testing.assert_allclose(there.score(*_all(local)), local.score(*_all(local)), atol=2e-3)
    np.testing.assert_array_equal(there.seen_[0], local.seen_[0])
    assert there.fold_in([(7, 8), (9, 8)]).rank()["item"].tolist() == pytest.approx(
        local.fold_in([(7, 8), (9, 8)]).rank()["item"].tolist()
    )


def _all(model):
    n, m = len(model.users_), len(model.items_)
    return np.repeat(model.users_, m), np.tile(model.items_, n)


def test_the_same_bits_whatever_the_tasks(rated, model):
    from rather.spark import AltSVM

    one = AltSVM(source="ratings", rank=5, regParam=20.0, exposure=True, numTasks=1).fit(rated.repartition(3))
    assert bits(one) == bits(model)


def test_checkpoints_decide_bits_and_failures_do_not(rated, tmp_path, spark):
    """A fit that finds half of itself goes on, to the bits it would have come to."""
    from rather.spark import AltSVM

    def fitted(path, rounds):
        made = AltSVM(
            source="ratings", rank=5, regParam=20.0, exposure=True, checkpointPath=str(path), checkpointInterval=2,
            maxIter=rounds, tol=0.0,
        )  # fmt: skip
        return made.fit(rated)

    whole = fitted(tmp_path / "a", 4)
    again = fitted(tmp_path / "a", 4)  # all of it is there
    assert bits(whole) == bits(again) and len(whole.history) == 4
    lines = spark.read.text(str(tmp_path / "a" / "progress")).collect()
    (line,) = (line for line in lines if '"rounds": 2' in line["value"])
    spark.createDataFrame([line]).write.text(str(tmp_path / "b" / "progress"))
    import shutil

    name = line["value"].split('"fit": "')[1].split('"')[0]
    shutil.copytree(tmp_path / "a" / name, tmp_path / "b" / name)
    shutil.rmtree(tmp_path / "b" / name / "round-4")
    assert bits(fitted(tmp_path / "b", 4)) == bits(whole)


def test_votes_choose_their_ridge_and_know_ties(voted, votes, spark):
    from rather.spark import AltSVM

    model = AltSVM(weightCol="weight", tieCol="tied", numTasks=2).fit(voted)
    local = rather.AltSVM().fit(rather.Comparisons.from_frame(votes, weight="weight", tie="tied"))
    assert model.converged
    assert 0.3 < model.reg / local.reg_ < 3  # the same rule, on answers that were put aside by other draws
    one = tuple(votes[name][0] for name in ("user", "winner", "loser"))
    asked = spark.createDataFrame([one], "user string, left string, right string")
    (row,) = model.transform(asked).collect()
    there = model.to_local().probability(*([each] for each in one))[0]
    np.testing.assert_allclose(list(row["probability"]), there, atol=1e-5)
    assert sum(row["probability"]) == pytest.approx(1, abs=1e-5)
    plain = {"bias": model._about["bias_reg"], "rank": model.rank, "ties": "half", "exposure": False}
    same, expected = AltSVM(regParam=model.reg, tieCol="tied", **plain), rather.AltSVM(reg=model.reg, **plain)
    unweighted = {name: column for name, column in votes.items() if name != "weight"}
    expected.fit(rather.Comparisons.from_frame(unweighted, tie="tied"))
    got = same.fit(voted)
    assert got.history[-1]["objective"] == pytest.approx(expected.history_[-1]["objective"], rel=1e-6)


def test_clicks(spark, stars):
    from rather.spark import AltSVM

    liked = stars["rating"] >= 4
    clicks = {"user": stars["user"][liked], "item": stars["item"][liked]}
    table = frame(spark, clicks, "user int, item int")
    one, two = (AltSVM(source="clicks", rank=4, numTasks=n, seed=3).fit(table) for n in (1, 2))
    assert bits(one) == bits(two) and one.converged
    local = rather.AltSVM(rank=4, seed=3).fit(rather.Comparisons.from_clicks(clicks))
    assert one.reg == pytest.approx(local.reg_, rel=0.2)  # other items are drawn
    pairs = AltSVM(source="clicks", rank=4, perUser=10).fit(table)
    assert pairs.history[-1]["objective"] > 0


@pytest.mark.parametrize("source", ["ratings", "clicks"])
def test_how_sure_to_be(spark, stars, rated, source):
    from rather.spark import AltSVM

    kept = stars["rating"] >= (0 if source == "ratings" else 4)
    table = rated if source == "ratings" else rated.where("rating >= 4").select("user", "item")
    estimator = AltSVM(source=source, rank=4, regParam=20.0, numTasks=2)
    model = estimator.fit(table)
    asked = spark.createDataFrame([(100, 7, 8), (101, 9, 7)], "user long, left long, right long")
    with pytest.raises(InputError, match="calibrate"):
        model.transform(asked)
    model = estimator.calibrate(model, table)
    rows = {name: column[kept] for name, column in stars.items()}
    if source == "ratings":
        local = rather.AltSVM(rank=4, reg=20.0).fit(rather.Comparisons.from_ratings(rows))
    else:
        local = rather.AltSVM(rank=4, reg=20.0).fit(
            rather.Comparisons.from_clicks({"user": rows["user"], "item": rows["item"]})
        )
    local.calibrate()
    assert model._about["calibration"]["slope"] == pytest.approx(local.slope_, rel=0.25)  # other rows are put aside
    got = [row["probability"] for row in model.transform(asked).orderBy("user").collect()]
    np.testing.assert_allclose(got, model.to_local().probability([100, 101], [7, 9], [8, 7]), atol=1e-5)


def test_transform_is_the_local_score(model, rated, spark):
    local, rows = model.to_local(), model.transform(rated.limit(200)).collect()
    expected = local.score([row["user"] for row in rows], [row["item"] for row in rows])
    np.testing.assert_allclose([row["prediction"] for row in rows], expected, atol=1e-5)
    strangers = spark.createDataFrame([(100, 7), (-1, 7), (100, -1)], "user long, item long")
    scored = {(row["user"], row["item"]): row["prediction"] for row in model.transform(strangers).collect()}
    assert np.isfinite(scored.pop((100, 7))) and np.isnan(list(scored.values())).all()
    kept = model.copy({model.coldStartStrategy: "drop"})
    assert kept.transform(strangers).count() == 1
    for_all = model.copy({model.coldStartStrategy: "everyone"}).transform(strangers)
    by = {(row["user"], row["item"]): row["prediction"] for row in for_all.collect()}
    assert by[-1, 7] == pytest.approx(local.average_scores()[0], abs=1e-6) and by[100, -1] == 0


@pytest.mark.parametrize("exclude", [None, "seen"])
@pytest.mark.parametrize("by", ["interest", "score"])
def test_lists_are_the_local_ones(model, exclude, by):
    local = model.to_local()
    there = {row["user"]: row["recommendations"] for row in model.recommendForAllUsers(4, exclude, by).collect()}
    here = local.recommend(local.users_, 4, exclude=exclude, by=by)
    assert set(there) == set(local.users_.tolist())
    for user in local.users_[:50].tolist():
        mine = here["user"] == user
        assert [one["item"] for one in there[user]] == here["item"][mine].tolist()


def test_lists_of_some_users_without_some_items(model, rated, spark):
    some = spark.createDataFrame([(100,), (101,), (-5,)], "user long")
    gone = spark.createDataFrame([(100, item) for item in range(7, 60)], "user long, item long")
    lists = {row["user"]: row["recommendations"] for row in model.recommendForUserSubset(some, 3, gone).collect()}
    assert set(lists) == {100, 101}
    assert all(one["item"] >= 60 for one in lists[100]) and len(lists[101]) == 3
    with pytest.raises(InputError, match="numItems is 1000"):
        model.recommendForAllUsers(1000)


def test_write_and_read(model, rated, tmp_path):
    from rather.spark import AltSVM, AltSVMModel

    model.write().overwrite().save(str(tmp_path / "m"))
    again = AltSVMModel.load(str(tmp_path / "m"))
    assert bits(again) == bits(model) and again.history == model.history
    assert again.transform(rated.limit(3)).columns == ["user", "item", "rating", "prediction"]
    estimator = AltSVM(source="clicks", rank=7, bias=2.0)
    estimator.write().overwrite().save(str(tmp_path / "e"))
    estimator.write().overwrite().save(str(tmp_path / "e"))
    assert AltSVM.load(str(tmp_path / "e"))._local_params() == estimator._local_params()
    with pytest.raises(Exception, match="exist"):
        estimator.write().save(str(tmp_path / "e"))


def test_write_and_read_in_a_pipeline(rated, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel

    from rather.spark import AltSVM

    estimator = AltSVM(source="ratings", rank=3, regParam=5.0, maxIter=3, exposure=False)
    piped = Pipeline(stages=[estimator]).fit(rated)
    piped.write().overwrite().save(str(tmp_path / "pipe"))
    again = PipelineModel.load(str(tmp_path / "pipe"))
    assert bits(again.stages[0]) == bits(piped.stages[0])


@pytest.mark.parametrize("folds", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_validation_chooses(rated, folds):
    """Among two ridges, by one split or by two folds."""
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder, TrainValidationSplit

    from rather.spark import AltSVM, RankingEvaluator

    estimator = AltSVM(source="ratings", rank=3, maxIter=3, exposure=False, coldStartStrategy="drop")
    asked = {
        "estimator": estimator,
        "estimatorParamMaps": ParamGridBuilder().addGrid(estimator.regParam, [5.0, 500.0]).build(),
        "evaluator": RankingEvaluator(metricName="ndcg", k=5),
        "seed": 1,
    }
    found = (TrainValidationSplit(**asked) if folds == 1 else CrossValidator(**asked, numFolds=folds)).fit(rated)
    values = found.validationMetrics if folds == 1 else found.avgMetrics
    assert values[0] != values[1] and 0.5 < max(values) <= 1
    assert found.bestModel.reg == (5.0, 500.0)[int(np.argmax(values))]


def test_ids_of_any_type(spark, stars):
    from rather.spark import AltSVM

    day = datetime.date(2020, 1, 1)
    rows = [(bool(u % 2), day + datetime.timedelta(int(i)), float(r)) for u, i, r in zip(*stars.values(), strict=True)]
    once = list({(u, i): (u, i, r) for u, i, r in rows}.values())
    table = spark.createDataFrame(once, "user boolean, item date, rating double")
    model = AltSVM(source="ratings", rank=2, regParam=1.0, exposure=False).fit(table)
    assert dict(model.userFactors.dtypes)["id"] == "boolean" and dict(model.itemFactors.dtypes)["id"] == "date"
    assert model.transform(table).where("isnan(prediction)").count() == 0


def test_from_local(spark, model, rated):
    from rather.spark import AltSVMModel

    local = model.to_local()
    there = AltSVMModel.from_local(local, spark)
    assert bits(there) == bits(model)
    both = (each.transform(rated.where("user < 103")).orderBy("user", "item").collect() for each in (there, model))
    here, expected = ([row["prediction"] for row in rows] for rows in both)
    np.testing.assert_allclose(here, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "params", "sentence"),
    [
        ("user = null", {}, "has no user"),
        ("twice", {}, "twice; keep one"),
        ("user double", {}, "ids must be strings or integers"),
        ("", {"itemCol": "film"}, "there is no column 'film'"),
        ("", {"rank": 0}, "rank"),
        ("", {"regParam": -1.0}, "reg"),
        ("", {"numTasks": 3}, "power of two"),
        ("", {"numTasks": 8, "numShards": 8}, "of them run at the same time"),
        ("", {"source": "stars"}, "source is 'stars'"),
        ("", {"unseen": 3}, "for clicks"),
        ("none", {}, "no rows"),
        ("alike", {}, "nothing to compare: no user rated two items differently"),
    ],
)
def test_bad_input_is_one_sentence(spark, rated, change, params, sentence):
    from pyspark.sql import functions as F

    from rather.spark import AltSVM

    table = rated.limit(300)
    if " = null" in change:
        name = change.split()[0]
        table = table.withColumn(name, F.when(F.col("user") == 105, None).otherwise(F.col(name)))
    elif change == "twice":
        table = table.union(table.limit(5))
    elif change == "user double":
        table = table.withColumn("user", F.col("user").cast("double"))
    elif change == "alike":
        table = table.withColumn("rating", F.lit(3.0))
    elif change == "none":
        table = table.where("user < 0")
    with warnings.catch_warnings(), pytest.raises(InputError, match=sentence) as caught:
        warnings.simplefilter("ignore")
        AltSVM(**{"source": "ratings", **params}).fit(table)
    assert "\n" not in str(caught.value)


class Settings:
    """A session as far as its settings go."""

    def __init__(self, **said):
        self.said, self.conf = said, self

    def get(self, name, default=None):
        return self.said.get(name.replace(".", "_"), default)


def test_clusters_that_cannot(spark, rated, monkeypatch):
    from rather.spark import AltSVM, cluster

    with pytest.raises(InputError, match="dynamicAllocation"):
        cluster.refuse_settings(Settings(spark_dynamicAllocation_enabled="true"))
    cluster.refuse_settings(Settings())
    monkeypatch.setattr(cluster, "__version__", "9.9")
    with pytest.raises(InputError, match=r"rather is 9\.9 here and .* on executor"):
        AltSVM(source="ratings").fit(rated)
    for text, sentence in (
        ("x\nModuleNotFoundError: No module named 'rather'\n", "cannot be imported on the executors"),
        ("  raise\nrather.errors.InputError: the thing is wrong\n\n\tat org", "^the thing is wrong$"),
    ):
        assert re.search(sentence, str(cluster.refusal(RuntimeError(text))))
    lost = RuntimeError("rather.spark.group.GroupError: lost the connection to h:1; it failed\n")
    assert cluster.refusal(lost) is None and cluster.in_short(lost) == "lost the connection to h:1; it failed"


def test_the_hash_is_sparks(spark):
    from pyspark.sql import functions as F

    from rather.spark.table import murmur, task_keys

    rows = spark.range(-3, 50).select(F.col("id").cast("int").alias("n"), F.hash(F.col("id").cast("int")).alias("h"))
    assert all(murmur(row["n"] & 0xFFFFFFFF) == row["h"] for row in rows.collect())
    assert [murmur(key) % 8 for key in task_keys(8)] == list(range(8))


def test_a_budget_is_told_and_kept(rated):
    from rather.spark import AltSVM
    from rather.spark.cluster import Slots, budget, require

    made = AltSVM(source="ratings", rank=5).budget(rated)
    assert made.memory > 1e8 and "memory each" in str(made)
    large = budget(
        10**9, 10**7, 10**11, 100, shards=4096, slots=Slots(64, 10**9), kind="ratings", exposed=True
    )  # fmt: skip
    with pytest.raises(InputError, match="a task would take about"):
        require(large)
