"""NDCG@k, precision@k and pairwise accuracy as operations on DataFrames.

The numbers are those of ``rather.ndcg``, ``rather.precision`` and ``rather.pairwise_accuracy`` for the same scores.
Every metric is first a table of users, with the right and wrong parts of each, and with a sentence of trouble where a
row cannot be used. One aggregate over it gives the mean, its standard error and the trouble. One shuffle brings all
rows of a user together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..data.source import NO_GAPS
from ..data.vote_readers import LARGEST_WEIGHT
from ..errors import InputError, number, one_of
from ..judging.mean import Mean
from ..judging.metrics import LARGEST_RATING, _beside
from ..native import core
from .checked import IDS, also, once_each, read, twice, value_of
from .columns import Column
from .files import ParamsReader, ParamsWriter

METRICS = ("ndcg", "pairwiseAccuracy")


def ndcg(
    scored: DataFrame,
    k: int = 10,
    userCol: str = "user",
    itemCol: str = "item",
    ratingCol: str = "rating",
    predictionCol: str = "prediction",
    perUser: bool = False,
) -> Any:
    """Normalised discounted cumulative gain at k, averaged over users: ``rather.ndcg`` of scored test ratings.

    A user whose ratings all have gain 0 does not count; equal scores keep the order of the item ids.

    Parameters
    ----------
    scored : DataFrame
        One row per test rating, with the model's score; a user rates an item at most once.
    k : int
    userCol, itemCol, ratingCol, predictionCol : str
        Names of its columns.
    perUser : bool
        A DataFrame of user and ndcg instead of their mean; rows that cannot be used are found when it is computed.

    Returns
    -------
    Mean
        A float, with ``standard_error`` and ``n_users``.
    """
    number("k", k, at_least=1, integer=True)
    k = int(k)
    names = {"user": userCol, "item": itemCol, "rating": ratingCol, "prediction": predictionCol}
    advice = f", too large for a gain of 2^rating - 1; rescale the ratings to at most {LARGEST_RATING}"
    rows = also(read(scored, names), F.col("rating") > LARGEST_RATING, value_of("rating", names, advice))
    rows = once_each(rows)
    own, true = Window.partitionBy("user"), F.col("rating").cast("float")
    places = {"got": own.orderBy(F.desc("prediction"), "item"), "best": own.orderBy(true.desc(), "item")}
    rows = rows.select("*", *(F.row_number().over(by).alias(name) for name, by in places.items()))
    gain = F.pow(F.lit(2.0), F.col("rating")) - 1
    dcgs = [F.sum(F.when(F.col(name) <= k, gain / F.log2(F.col(name) + 1))).alias(name) for name in places]
    users = _shares(
        rows.groupBy("user").agg(*dcgs, _any_trouble()), F.when(F.col("best") > 0, F.col("got") / F.col("best"))
    )
    if perUser:
        return _each(users, userCol, ndcg=F.col("right"))
    return _mean(users, "NDCG is undefined: no test user has a rating with a gain above 0")


def precision(
    recommended: DataFrame,
    test: DataFrame,
    k: int = 10,
    userCol: str = "user",
    itemCol: str = "item",
    rankCol: str = "rank",
    scoreCol: str | None = None,
    perUser: bool = False,
) -> Any:
    """Share of relevant items among the first k of each list, averaged over users: ``rather.precision`` of given lists.

    The average is over the users that have test items, each over k even where a list is shorter, or there is none.

    Parameters
    ----------
    recommended : DataFrame
        The lists: user, item, and its rank (1 is first); what is beyond k is left out.
    test : DataFrame
        What is relevant: user and item; repeated rows count once.
    k : int
    userCol, itemCol : str
        Names of their columns.
    rankCol : str
        The column of ``recommended`` that orders a list, the smallest first.
    scoreCol : str, optional
        One that does so in its place, the largest first.
    perUser : bool
        A DataFrame of user and precision instead of their mean; rows that cannot be used are found when it is computed.

    Returns
    -------
    Mean
        A float, with ``standard_error`` and ``n_users``.
    """
    number("k", k, at_least=1, integer=True)
    k = int(k)
    order = {"rank": rankCol} if scoreCol is None else {"score": scoreCol}
    names = {"user": userCol, "item": itemCol}
    shown, wanted = read(recommended, {**names, **order}), read(test, names)
    for what in IDS:
        kinds = {isinstance(frame.schema[what].dataType, T.StringType) for frame in (shown, wanted)}
        if len(kinds) > 1:
            raise InputError(f"{what} ids are strings in one table and integers in the other; use one kind")
    key = F.col("rank") if scoreCol is None else -F.col("score")
    rows = shown.select(*IDS, "trouble", key.alias("key"), F.lit(False).alias("relevant")).unionByName(
        wanted.select(*IDS, "trouble", F.lit(None).cast("double").alias("key"), F.lit(True).alias("relevant"))
    )
    place = F.row_number().over(Window.partitionBy("user").orderBy("relevant", "key", "item"))  # lists come first
    listed = ~F.col("relevant")
    pairs = (
        rows.select("*", place.alias("place"))
        .groupBy(*IDS)
        .agg(
            F.max(listed & (F.col("place") <= k)).alias("listed"),
            F.max("relevant").alias("relevant"),
            F.coalesce(F.min("trouble"), F.when(F.sum(listed.cast("int")) > 1, twice())).alias("trouble"),
        )
    )
    hits = F.sum((F.col("listed") & F.col("relevant")).cast("int")).alias("hits")
    sums = pairs.groupBy("user").agg(hits, F.max("relevant").alias("counts"), _any_trouble())
    users = _shares(sums, F.when(F.col("counts"), F.col("hits") / k))
    if perUser:
        return _each(users, userCol, precision=F.col("right"))
    return _mean(users, "there are no test items: the table has no rows")


def pairwise_accuracy(
    scored: DataFrame,
    minGap: float | None = None,
    userCol: str = "user",
    itemCol: str = "item",
    ratingCol: str = "rating",
    predictionCol: str = "prediction",
    winnerPredictionCol: str = "winnerPrediction",
    loserPredictionCol: str = "loserPrediction",
    weightCol: str | None = None,
    perUser: bool = False,
) -> Any:
    """Share of comparisons whose winner is scored strictly higher: ``rather.pairwise_accuracy`` of scored rows.

    Rows are votes, with the scores of both sides, where there is a column ``winnerPredictionCol``; otherwise ratings,
    which are compared with all of the same user's that differ. Equal scores count as wrong.

    Parameters
    ----------
    scored : DataFrame
        Votes: user and the two scores. Ratings: user, item, rating and score; a user rates an item at most once.
    minGap : float, optional
        Count only pairs whose ratings differ by at least this.
    userCol, itemCol, ratingCol, predictionCol, winnerPredictionCol, loserPredictionCol : str
        Names of its columns.
    weightCol : str, optional
        The column with the weights of votes; all are 1 without.
    perUser : bool
        A DataFrame of user, accuracy and comparisons (their weight) instead of the share of all comparisons; rows that
        cannot be used are found when it is computed.

    Returns
    -------
    Mean
        A float, with ``standard_error`` (users, not comparisons, being drawn at random) and ``n_users``.
    """
    if minGap is not None:
        number("minGap", minGap, at_least=0)
        minGap = float(minGap)
    if winnerPredictionCol in scored.columns:
        if minGap is not None:
            raise InputError(NO_GAPS.replace("min_gap", "minGap"))
        names = {"user": userCol, "winner": winnerPredictionCol, "loser": loserPredictionCol}
        users = _judged_votes(scored, names if weightCol is None else {**names, "weight": weightCol})
    elif weightCol is not None:
        raise InputError(f"weightCol is {weightCol!r}, but pairs of ratings have no weights; leave it out")
    else:
        names = {"user": userCol, "item": itemCol, "rating": ratingCol, "prediction": predictionCol}
        users = _judged_ratings(scored, names, minGap or 0.0)
    every = F.col("right") + F.col("wrong")
    users = users.select("user", "trouble", *(F.when(every > 0, F.col(c)).alias(c) for c in ("right", "wrong")))
    if perUser:
        return _each(users, userCol, accuracy=F.col("right") / every, comparisons=every)
    return _mean(users, "there are no test comparisons to judge" + (f" with a gap of {minGap:g}" if minGap else ""))


def _judged_votes(scored: DataFrame, names: Mapping[str, str]) -> DataFrame:
    rows, weight = read(scored, names), F.lit(1.0)
    if "weight" in names:
        weight = F.col("weight").cast("float").cast("double")
        advice = f"; it must be from 0 to {LARGEST_WEIGHT:,.0f}: scale larger weights down"
        beyond = (F.col("weight") < 0) | (F.col("weight") > LARGEST_WEIGHT)
        rows = also(rows, beyond, value_of("weight", names, advice))
    won = F.col("winner") > F.col("loser")
    right, wrong = F.sum(F.when(won, weight).otherwise(0.0)), F.sum(F.when(won, 0.0).otherwise(weight))
    return rows.groupBy("user").agg(right.alias("right"), wrong.alias("wrong"), _any_trouble())


def _judged_ratings(scored: DataFrame, names: Mapping[str, str], min_gap: float) -> DataFrame:
    """Every user's ratings travel to the core as one list each: n log n for n of them, where a join would write n^2."""
    rows = once_each(read(scored, names))
    rated = F.collect_list(F.struct("rating", "prediction")).alias("rated")
    lists = rows.groupBy("user").agg(rated, _any_trouble())
    made = T.StructType([lists.schema["user"], lists.schema["trouble"]]).add("right", "double").add("wrong", "double")
    return lists.mapInArrow(partial(_ordered, min_gap=min_gap), made)


def _ordered(batches: Iterator[Any], min_gap: float) -> Iterator[Any]:
    """Return how many pairs of every user are ordered as the ratings are, and how many are not."""
    import pyarrow

    for batch in batches:
        user, rated, trouble = (batch.column(name) for name in ("user", "rated", "trouble"))
        start = rated.offsets.to_numpy().astype(np.int64)
        rating, score = (np.ascontiguousarray(c.to_numpy(zero_copy_only=False)) for c in rated.flatten().flatten())
        right, every = np.empty(len(user), np.int64), np.empty(len(user), np.int64)
        core.count_ordered(start - start[0], rating, score, min_gap, right, every, 1)
        counts = [pyarrow.array(each.astype(np.float64)) for each in (right, every - right)]
        yield pyarrow.RecordBatch.from_arrays([user, trouble, *counts], ["user", "trouble", "right", "wrong"])


# -- users ------------------------------------------------------------------------------------------------------------


def _any_trouble() -> Column:
    return F.min("trouble").alias("trouble")


def _shares(sums: DataFrame, share: Column) -> DataFrame:
    """Users of whom a share of one is right; null for those that do not count."""
    return sums.select("user", "trouble", share.alias("right"), (1 - share).alias("wrong"))


def _each(users: DataFrame, user: str, **values: Column) -> DataFrame:
    """A table of users and values, which fails where there is trouble."""
    counts = F.col("trouble").isNotNull() | F.col("right").isNotNull()
    checked = {
        _beside(user, name): F.when(F.col("trouble").isNotNull(), F.raise_error(F.col("trouble"))).otherwise(value)
        for name, value in values.items()
    }
    return users.where(counts).select(F.col("user").alias(user), *(c.alias(name) for name, c in checked.items()))


def _mean(users: DataFrame, nothing: str) -> Mean:
    """Return the share of the total that is right, with its standard error.

    With r and w the right and wrong parts of a user, and m the mean, the user is off by r - m (r + w), which is
    (1 - m) r - m w: its squares add up to moments that Spark finds without cancellation, and to 0 where m is 0 or 1.
    """
    r, w = F.col("right"), F.col("wrong")
    moments = F.var_pop(r), F.covar_pop(r, w), F.var_pop(w)
    ((n, right, wrong, rr, rw, ww, trouble),) = users.agg(
        F.count(r), F.sum(r), F.sum(w), *moments, F.min("trouble")
    ).collect()
    if trouble is not None:
        raise InputError(trouble)
    if not n:
        raise InputError(nothing)
    m = right / (right + wrong)
    spread = n * ((1 - m) ** 2 * rr - 2 * m * (1 - m) * rw + m**2 * ww)
    return Mean.from_sums(right, right + wrong, max(spread, 0.0), n)


# -- pyspark.ml -------------------------------------------------------------------------------------------------------


class RankingEvaluator(Evaluator, MLReadable, MLWritable):  # type: ignore[misc]
    """Measure the ranking of scored rows, for ``CrossValidator`` and ``TrainValidationSplit``; more is better.

    Rows without a score are refused: what a model has none for must be left out, as by coldStartStrategy="drop".

    Parameters
    ----------
    metricName : {"ndcg", "pairwiseAccuracy"}
    k : int
        How many places NDCG looks at; 10 by default.
    userCol, itemCol, ratingCol, predictionCol : str
        Names of the columns: user, item, rating and prediction by default.
    """

    metricName = Param(Params._dummy(), "metricName", "ndcg or pairwiseAccuracy", TypeConverters.toString)
    k = Param(Params._dummy(), "k", "how many places ndcg looks at", TypeConverters.toInt)
    userCol = Param(Params._dummy(), "userCol", "the column of users", TypeConverters.toString)
    itemCol = Param(Params._dummy(), "itemCol", "the column of items", TypeConverters.toString)
    ratingCol = Param(Params._dummy(), "ratingCol", "the column of ratings", TypeConverters.toString)
    predictionCol = Param(Params._dummy(), "predictionCol", "the column of scores", TypeConverters.toString)

    def __init__(
        self,
        *,
        metricName: str | None = None,
        k: int | None = None,
        userCol: str | None = None,
        itemCol: str | None = None,
        ratingCol: str | None = None,
        predictionCol: str | None = None,
    ) -> None:
        super().__init__()
        self._setDefault(
            metricName="ndcg", k=10, userCol="user", itemCol="item", ratingCol="rating", predictionCol="prediction"
        )
        self.setParams(
            metricName=metricName, k=k, userCol=userCol, itemCol=itemCol, ratingCol=ratingCol,
            predictionCol=predictionCol,
        )  # fmt: skip

    def setParams(self, **params: Any) -> RankingEvaluator:
        """Set some of them; None leaves one as it is."""
        self._set(**{name: value for name, value in params.items() if value is not None})
        return self

    def write(self) -> ParamsWriter:
        return ParamsWriter(self)

    @classmethod
    def read(cls) -> ParamsReader:
        return ParamsReader(cls)

    def isLargerBetter(self) -> bool:
        return True

    def _evaluate(self, dataset: DataFrame) -> float:
        metric, k = self.getMetricName(), self.getK()
        one_of("metricName", metric, METRICS)
        names = {name: self.getOrDefault(name) for name in ("userCol", "itemCol", "ratingCol", "predictionCol")}
        made: Mean = ndcg(dataset, k, **names) if metric == "ndcg" else pairwise_accuracy(dataset, **names)
        return made

    def setMetricName(self, value: str) -> RankingEvaluator:
        return self.setParams(metricName=value)

    def getMetricName(self) -> str:
        value: str = self.getOrDefault("metricName")
        return value

    def setK(self, value: int) -> RankingEvaluator:
        return self.setParams(k=value)

    def getK(self) -> int:
        value: int = self.getOrDefault("k")
        return value

    def setUserCol(self, value: str) -> RankingEvaluator:
        return self.setParams(userCol=value)

    def getUserCol(self) -> str:
        value: str = self.getOrDefault("userCol")
        return value

    def setItemCol(self, value: str) -> RankingEvaluator:
        return self.setParams(itemCol=value)

    def getItemCol(self) -> str:
        value: str = self.getOrDefault("itemCol")
        return value

    def setRatingCol(self, value: str) -> RankingEvaluator:
        return self.setParams(ratingCol=value)

    def getRatingCol(self) -> str:
        value: str = self.getOrDefault("ratingCol")
        return value

    def setPredictionCol(self, value: str) -> RankingEvaluator:
        return self.setParams(predictionCol=value)

    def getPredictionCol(self) -> str:
        value: str = self.getOrDefault("predictionCol")
        return value
