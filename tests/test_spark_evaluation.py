"""Metrics of DataFrames give the numbers of the local ones, or refuse in a sentence."""

import gc

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'rather[spark]'")

from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder, TrainValidationSplit
from pyspark.sql import functions as F

import rather
from rather import InputError
from rather.spark.checked import once_each, read
from rather.spark.evaluation import RankingEvaluator, ndcg, pairwise_accuracy, precision

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning"),  # of its CrossValidator
]
SAME = {"rel": 1e-12, "abs": 1e-12}
SCORED = "user string, item string, rating double, prediction double"
ODD = ["a", "Z", "é", "ﬀ", "𝒜", "\uffee", "aa", "0", "10", "9"]  # in UTF-16 some of them would change places


class Given:
    """A model whose scores of pairs are given."""

    def __init__(self, rows):
        self.of = {row[:2]: row[-1] for row in rows}

    def score(self, users, items):
        return [self.of[pair] for pair in zip(users.tolist(), items.tolist(), strict=True)]


def some_rows(seed=0, users=40, text=True):
    """(user, item, rating, score): few different scores, some users with one item, some without any gain."""
    rng = np.random.default_rng(seed)
    items = ODD if text else [-3, 0, 7, 11, 100, 2**40, 5, 6, 8, 9]
    rows = []
    for u in range(users):
        user = f"u{u}" if text else u * 10
        for j in rng.permutation(len(items))[: rng.integers(1, len(items) + 1)]:
            rating = float(rng.integers(-1, 6)) if u % 5 else 0.0
            rows.append((user, items[j], rating, float(rng.integers(-2, 3)) / 2))
    return [rows[k] for k in rng.permutation(len(rows))]


def table(rows, *names):
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def frame(spark, rows, schema=SCORED):
    return spark.createDataFrame(rows, schema)


def same(got, expected):
    assert (float(got), got.standard_error) == pytest.approx((float(expected), expected.standard_error), **SAME)
    assert got.n_users == expected.n_users


def same_each(got, expected):
    """A DataFrame with a row for each user, and a local table."""
    assert got.columns == list(expected.columns)
    found = {row[0]: tuple(row[1:]) for row in got.collect()}
    assert set(found) == {row[0] for row in expected}
    for user, *values in expected:
        assert found[user] == pytest.approx(values, **SAME)


@pytest.mark.parametrize("text", [True, False])
def test_ndcg_is_the_local_one(spark, text):
    """With ties of scores, ids of both kinds, users without gain; the table of users too."""
    rows = some_rows(text=text)
    scored = frame(spark, rows, SCORED if text else SCORED.replace("string", "bigint"))
    local, model = table(rows, "user", "item", "rating", "score"), Given(rows)
    for k in (1, 3, 10):
        same(ndcg(scored, k), rather.ndcg(model, local, k))
    same_each(ndcg(scored, 3, perUser=True), rather.ndcg(model, local, 3, per_user=True))


def test_names_of_columns(spark):
    """Columns may have any names, also those of what is computed."""
    rows = some_rows()
    names = {"userCol": "ndcg", "itemCol": "a.`b", "ratingCol": "trouble", "predictionCol": "user"}
    got = frame(spark, rows).toDF(*names.values())
    model, local = Given(rows), table(rows, "ndcg", "item", "rating", "score")
    same(ndcg(got, **names), rather.ndcg(model, local, user="ndcg"))
    same_each(ndcg(got, **names, perUser=True), rather.ndcg(model, local, user="ndcg", per_user=True))


@pytest.mark.parametrize("gap", [None, 2])
def test_accuracy_of_ratings_is_the_local_one(spark, gap):
    """All pairs of ratings that differ, or differ by enough; users with a single one do not count."""
    rows = some_rows(1)
    comparisons = rather.Comparisons.from_ratings(table(rows, "user", "item", "rating", "score"))
    same(pairwise_accuracy(frame(spark, rows), gap), rather.pairwise_accuracy(Given(rows), comparisons, gap))
    expected = rather.pairwise_accuracy(Given(rows), comparisons, gap, per_user=True)
    same_each(pairwise_accuracy(frame(spark, rows), gap, perUser=True), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_accuracy_of_votes_is_the_local_one(spark, weighted):
    """The scores of both sides, and weights, in single precision."""
    rng = np.random.default_rng(2)
    scores = {(f"u{u}", j): float(rng.integers(0, 4)) for u in range(10) for j in range(6)}
    votes = [
        (f"u{u}", *(int(j) for j in rng.permutation(6)[:2]), float(rng.random()))
        for u in rng.integers(0, 10, 200)
    ]  # fmt: skip
    rows = [(u, scores[u, a], scores[u, b], w) for u, a, b, w in votes]
    scored = frame(spark, rows, "user string, winnerPrediction double, loserPrediction double, weight double")
    weight = "weight" if weighted else None
    comparisons = rather.Comparisons.from_frame(table(votes, "user", "winner", "loser", "weight"), weight=weight)
    model = Given([(*pair, score) for pair, score in scores.items()])
    same(pairwise_accuracy(scored, weightCol=weight), rather.pairwise_accuracy(model, comparisons))
    same_each(
        pairwise_accuracy(scored, weightCol=weight, perUser=True),
        rather.pairwise_accuracy(model, comparisons, per_user=True),
    )


def test_all_right_and_all_wrong(spark):
    """Then the standard error is 0, whatever rounding."""
    rows = [(f"u{u}", f"{j:03}", float(j), float(j)) for u in range(9) for j in range(3 + 7 * u)]
    right = pairwise_accuracy(frame(spark, rows))
    wrong = pairwise_accuracy(frame(spark, [(*row[:3], -row[3]) for row in rows]))
    assert (right, right.standard_error, wrong, wrong.standard_error) == (1, 0, 0, 0)


def test_precision_is_the_local_one(spark):
    """Of the same lists, by rank or by score; longer ones are cut, repeated test rows count once."""
    rng = np.random.default_rng(3)
    model = Given([(u, j, float(s)) for u in range(0, 200, 10) for j, s in enumerate(rng.permutation(12))])
    model.items_ = np.arange(12)
    test = [(10 * u, j) for u, j in rng.integers(0, (20, 12), (90, 2)).tolist()]
    lists = [(u, j, 12 - int(s), s) for (u, j), s in model.of.items()]
    shown = frame(spark, lists, "user bigint, item int, rank int, score double")
    wanted, local = frame(spark, test + test[:9], "user int, item bigint"), table(test, "user", "item")
    same(precision(shown, wanted, 1), rather.precision(model, local, 1))
    same(precision(shown.drop("rank"), wanted, 4, scoreCol="score"), rather.precision(model, local, 4))
    same_each(precision(shown, wanted, 4, perUser=True), rather.precision(model, local, 4, per_user=True))
    assert precision(shown.where("user > 0"), wanted, 4) < precision(shown, wanted, 4)  # who got no list counts


# -- what is refused --------------------------------------------------------------------------------------------------

GOOD = ("ann", "tea", 3.0, 0.5)
BAD = {
    "the user (column 'user') is missing in a row; drop such rows first": (None, "tea", 3.0, 0.5),
    "the item (column 'item') is empty in a row; drop such rows": ("ann", "", 3.0, 0.5),
    "the rating (column 'rating') of user 'bob' and item 'tea' is null; it must be a finite number": (
        "bob", "tea", None, 0.5,
    ),
    "the prediction (column 'prediction') of user 'bob' and item 'tea' is NaN; it must be a finite number "
    '(coldStartStrategy="everyone" gives what a model does not know a score, as locally; "drop" leaves it out)': (
        "bob", "tea", 3.0, float("nan"),
    ),
    "the prediction (column 'prediction') of user 'bob' and item 'tea' is Infinity; it must be a finite number "
    '(coldStartStrategy="everyone" gives what a model does not know a score, as locally; "drop" leaves it out)': (
        "bob", "tea", 3.0, 1e39,
    ),
    "user 'ann' has item 'tea' twice; keep one": ("ann", "tea", 2.0, 0.25),
}  # fmt: skip


def test_bad_rows(spark):
    """One sentence says which row it is and what to do, and one of them reaches the caller."""
    scored = frame(spark, [GOOD, *BAD.values()])
    found = once_each(read(scored, {name: name for name in scored.columns})).select("trouble").collect()
    assert {row.trouble for row in found} == {None, *BAD}
    for metric in (ndcg, pairwise_accuracy):
        with pytest.raises(InputError) as caught:
            metric(scored)
        assert str(caught.value) == min(BAD)


def test_bad_rows_of_other_kinds(spark):
    """Ratings too large for a gain, weights out of bounds, a list with an item twice; ids may be integers."""
    numbers = "user int, item int, rating int, prediction float"
    with pytest.raises(InputError, match=r"of user 1 and item 2 is 501.0, too large for a gain of 2\^rating - 1; resc"):
        ndcg(frame(spark, [(1, 2, 501, 0.5)], numbers))
    with pytest.raises(InputError, match=r"is 9.007199254740992E15; whole numbers beyond 2\*\*53 would tie"):
        pairwise_accuracy(frame(spark, [(1, 2, 2**53, 0.5)], numbers.replace("rating int", "rating bigint")))
    votes = frame(spark, [(1, 0.5, 0.25, -1.0)], "user int, winnerPrediction double, loserPrediction double, w double")
    with pytest.raises(
        InputError, match=r"the weight \(column 'w'\) of user 1 is -1.0; it must be from 0 to 1,000,000"
    ):
        pairwise_accuracy(votes, weightCol="w")
    lists = frame(spark, [(1, 2, 1), (1, 2, 9)], "user int, item int, rank int")
    with pytest.raises(InputError, match="user 1 has item 2 twice; keep one"):
        precision(lists, lists.select("user", "item"), 5)


def test_tables_fail_when_computed(spark):
    """Nothing is computed for a DataFrame of users before it is asked for; then the sentence is in the error."""
    each = ndcg(frame(spark, [GOOD, GOOD]), perUser=True)
    with pytest.raises(Exception, match="user 'ann' has item 'tea' twice; keep one"):
        each.collect()


def test_nothing_to_judge(spark):
    """No row, no gain, no pair."""
    none = frame(spark, [GOOD]).limit(0)
    with pytest.raises(InputError, match="NDCG is undefined: no test user has a rating with a gain above 0"):
        ndcg(frame(spark, [("ann", "tea", 0.0, 0.5)]))
    with pytest.raises(InputError, match="there are no test comparisons to judge with a gap of 3"):
        pairwise_accuracy(none, 3)
    with pytest.raises(InputError, match="there are no test items: the table has no rows"):
        precision(none.withColumn("rank", F.lit(1)), none)


def test_bad_arguments(spark):
    """Found before anything is computed."""
    scored = frame(spark, [GOOD])
    with pytest.raises(InputError, match="k is 0; it must be a whole number at least 1"):
        ndcg(scored, 0)
    with pytest.raises(
        InputError, match=r"there is no column 'stars' \(for the rating\); the columns are 'user', 'item'"
    ):
        ndcg(scored, ratingCol="stars")
    with pytest.raises(
        InputError, match=r"the user \(column 'rating'\) holds values of type double; ids must be strings"
    ):
        ndcg(scored, userCol="rating")
    with pytest.raises(
        InputError, match=r"the rating \(column 'item'\) holds values of type string; it must hold numb"
    ):
        pairwise_accuracy(scored, ratingCol="item")
    with pytest.raises(InputError, match="pairs of ratings have no weights"):
        pairwise_accuracy(scored, weightCol="rating")
    with pytest.raises(InputError, match="minGap needs ratings behind the comparisons"):
        pairwise_accuracy(scored.withColumn("winnerPrediction", F.lit(1)), 1)
    with pytest.raises(InputError, match="item ids are strings in one table and integers in the other; use one kind"):
        precision(scored, scored.withColumn("item", F.lit(1)), rankCol="rating")
    with pytest.raises(InputError, match="metricName is 'rmse'; it must be one of 'ndcg', 'pairwiseAccuracy'"):
        RankingEvaluator(metricName="rmse").evaluate(scored)


# -- pyspark.ml -------------------------------------------------------------------------------------------------------


class Signed(Model):
    """Scores that are the ratings, or their opposites."""

    def __init__(self, sign):
        super().__init__()
        self.sign = sign

    def _transform(self, dataset):
        return dataset.withColumn("prediction", self.sign * F.col("rating"))


class Sign(Estimator):
    sign = Param(Params._dummy(), "sign", "1 or -1", TypeConverters.toFloat)

    def _fit(self, dataset):
        return Signed(self.getOrDefault("sign"))


@pytest.mark.parametrize("metric", ["ndcg", "pairwiseAccuracy"])
def test_the_evaluator_chooses(spark, metric):
    """The larger is the better, in cross validation and in a single split."""
    rows, sign = frame(spark, [row for row in some_rows() if row[2]]).drop("prediction"), Sign()
    asked = {
        "estimator": sign,
        "estimatorParamMaps": ParamGridBuilder().addGrid(sign.sign, [-1.0, 1.0]).build(),
        "evaluator": RankingEvaluator(metricName=metric, k=3),
    }
    search = (
        CrossValidator(**asked, numFolds=2, seed=0)
        if metric == "ndcg"
        else TrainValidationSplit(**asked, trainRatio=0.5, seed=0)
    )
    best = search.fit(rows)
    gc.collect()  # its pool of threads, which it does not close: now, while the warning is ignored
    assert best.bestModel.sign == 1
    scores = best.avgMetrics if metric == "ndcg" else best.validationMetrics
    assert scores[0] < scores[1] == pytest.approx(1)


def test_the_evaluator_is_written_and_read(spark, tmp_path):
    """With its parameters; and they are asked and set by name."""
    ours = RankingEvaluator(metricName="pairwiseAccuracy", k=3).setUserCol("who").setPredictionCol("score")
    RankingEvaluator().save(str(tmp_path / "evaluator"))
    with pytest.raises(Exception, match=r"(?i)already.exists"):
        ours.save(str(tmp_path / "evaluator"))
    ours.write().overwrite().save(str(tmp_path / "evaluator"))
    again = RankingEvaluator.load(str(tmp_path / "evaluator"))
    assert again.uid == ours.uid and again.isLargerBetter()
    asked = again.getMetricName(), again.getK(), again.getUserCol(), again.getItemCol(), again.getRatingCol()
    assert (*asked, again.getPredictionCol()) == ("pairwiseAccuracy", 3, "who", "item", "rating", "score")
    rows = some_rows()
    scored = frame(spark, rows).toDF("who", "item", "rating", "score")
    same(again.evaluate(scored), pairwise_accuracy(frame(spark, rows)))
    same(again.evaluate(scored, {again.metricName: "ndcg"}), ndcg(frame(spark, rows), 3))
