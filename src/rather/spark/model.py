"""A fitted model whose factors are DataFrames: scores, probabilities, lists, and conversion to a local model."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.ml import Model
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..errors import InputError, number
from ..models.altsvm import AltSVM as LocalAltSVM
from ..models.files import assembled
from ..models.scorers import FEW
from . import table
from .columns import Column, column, quoted, unused
from .files import ModelReader, ModelWriter
from .lists import recommended
from .local import about_local, frames_of, ids, item_tensors, user_tensors
from .params import ColumnParams, FitParams
from .plan import ITEM, USER
from .table import Said


class AltSVMModel(Model, ColumnParams, MLReadable, MLWritable):  # type: ignore[misc]
    """The fitted model of :class:`rather.spark.AltSVM`.

    ``userFactors`` (id, features) and ``itemFactors`` (id, features, bias) are DataFrames; nothing of the size of users
    is on the driver. ``to_local()`` brings all of it here, as the ordinary model.
    """

    def __init__(self, users: DataFrame, items: DataFrame, about: dict[str, Any]) -> None:
        super().__init__()
        self._users, self._items, self._about = users, items, about

    @classmethod
    def from_state(cls, of: FitParams, said: Said, about: dict[str, Any], state: DataFrame) -> AltSVMModel:
        """Return the model from the rows that the last job of a fit wrote."""
        r, k, given = about["rank"], about["k"], said.given
        user = table.as_given(F.col("user"), given["user"]).alias("id")
        users = state.where(F.col("kind") == USER).select(
            user, F.col("vector").alias("features"), "met", F.col("x").cast("float").alias("reluctance")
        )
        rows = state.where(F.col("kind") == ITEM).select("a", "vector", F.col("x").cast("bigint").alias("met"))
        item = table.as_given(F.col("item"), given.get("item", given.get("winner", ""))).alias("id")
        items = rows.join(said.items, "a").select(
            F.col("a").alias("code"), item, F.slice("vector", 1, r).alias("features"),
            F.element_at("vector", r + 1).alias("bias"), F.slice("vector", r + 2, k).alias("parts"), "met",
        )  # fmt: skip
        params = {name: value for name, value in of._local_params().items() if name != "tol" or value is not None}
        made = cls(users, items, {**about, "params": params, "kind": of._get("source")})
        return of._copyValues(made)._resetUid(of.uid)  # type: ignore[no-any-return]

    # -- what is known ----------------------------------------------------------------------------------------------

    @property
    def userFactors(self) -> DataFrame:
        return self._users.select("id", "features")

    @property
    def itemFactors(self) -> DataFrame:
        return self._items.select("id", "features", "bias")

    @property
    def rank(self) -> int:
        return int(self._about["rank"])

    @property
    def reg(self) -> float:
        return float(self._about["reg"])

    @property
    def history(self) -> list[dict[str, float]]:
        """One record per round: round, objective, gap, seconds in the tasks."""
        return list(self._about["history"])

    @property
    def converged(self) -> bool:
        return bool(self._about["converged"])

    @property
    def exposure(self) -> bool:
        """Whether who compared what was learned from."""
        return bool(self._about["k"])

    # -- scores -------------------------------------------------------------------------------------------------------

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """A score for an item; both scores for a winner and a loser; for left and right a probability."""
        self._check_columns()
        present, get = set(dataset.columns), self._get
        if {get("leftCol"), get("rightCol")} <= present:
            return self._probabilities(dataset)
        if get("itemCol") in present:
            return self._with_scores(dataset, {get("predictionCol"): get("itemCol")})
        if {get("winnerCol"), get("loserCol")} <= present:
            return self._with_scores(dataset, {f"{side}Prediction": get(f"{side}Col") for side in ("winner", "loser")})
        raise InputError(
            f"there is nothing to score: the table has neither a column {get('itemCol')!r} nor {get('leftCol')!r} and "
            f"{get('rightCol')!r} nor {get('winnerCol')!r} and {get('loserCol')!r}"
        )

    def _with_scores(self, dataset: DataFrame, wanted: dict[str, str]) -> DataFrame:
        _refuse_twice(dataset, wanted)
        mark = unused(dataset.columns)
        rows = self._joined(dataset, wanted.values(), mark)
        for n, name in enumerate(wanted):
            rows = rows.withColumn(name, self._score(n, mark))
        rows = rows.select(*map(quoted, dataset.columns), *map(quoted, wanted))
        if self._get("coldStartStrategy") == "drop":
            for name in wanted:
                rows = rows.where(~F.isnan(quoted(name)))
        return rows

    def _joined(self, dataset: DataFrame, items: Any, mark: str) -> DataFrame:
        """Return the rows with the vectors of their user and of their items: u, v0, b0, v1, ..., each after a mark."""
        people = self._users.select(
            F.col("id").alias(f"{mark}id"), F.col("features").alias(f"{mark}u"), F.col("met").alias(f"{mark}met"),
            F.col("reluctance").alias(f"{mark}reluctance"),
        )  # fmt: skip
        user = column(dataset, self._get("userCol"), "user")
        rows = dataset.join(people, user == F.col(f"{mark}id"), "left").drop(f"{mark}id")
        for n, item in enumerate(items):
            of = self._items.select(
                F.col("id").alias(f"{mark}id"), F.col("features").alias(f"{mark}v{n}"),
                F.col("bias").alias(f"{mark}b{n}"), F.col("code").alias(f"{mark}c{n}"),
            )  # fmt: skip
            rows = rows.join(of, column(dataset, item, "item") == F.col(f"{mark}id"), "left").drop(f"{mark}id")
        return rows

    def _score(self, n: int, mark: str) -> Column:
        """Return the scores of the n-th items.

        An unknown user or item gives NaN, or everybody's score where that is asked for.
        """
        products = F.zip_with(f"{mark}u", f"{mark}v{n}", lambda x, y: x.cast("double") * y.cast("double"))
        personal = F.aggregate(products, F.lit(0.0), lambda a, x: a + x)
        score = personal + F.col(f"{mark}b{n}").cast("double")
        if self._get("coldStartStrategy") == "everyone":
            score = F.coalesce(score, self._everyone(n, mark), F.lit(0.0))
        return F.coalesce(score, F.lit(float("nan"))).cast("float")

    def _everyone(self, n: int, mark: str) -> Column:
        typical = F.array(*(F.lit(x) for x in self._typical()))
        products = F.zip_with(typical, f"{mark}v{n}", lambda x, y: x * y.cast("double"))
        return F.aggregate(products, F.lit(0.0), lambda a, x: a + x) + F.col(f"{mark}b{n}").cast("double")

    def _typical(self) -> list[float]:
        """The mean of the users' vectors, users counting n / (n + 5), n the items that they met: one job."""
        n = F.when(F.col("met").isNull(), 0).otherwise(F.size("met")).cast("double")
        numbers = self._users.select((n / (n + FEW)).alias("weight"), F.posexplode("features").alias("at", "x"))
        means = numbers.groupBy("at").agg((F.sum(F.col("weight") * F.col("x")) / F.sum("weight")).alias("mean"))
        return [float(row["mean"] or 0.0) for row in means.orderBy("at").collect()]

    def _probabilities(self, dataset: DataFrame) -> DataFrame:
        found = self._about.get("calibration")
        if found is None:
            raise InputError(
                "this model has no probabilities yet; model = estimator.calibrate(model, dataset) learns them from "
                "the data of the fit"
            )
        name = self._get("probabilityCol")
        _refuse_twice(dataset, [name])
        mark = unused(dataset.columns)
        rows = self._joined(dataset, (self._get("leftCol"), self._get("rightCol")), mark)
        met = F.when(F.col(f"{mark}met").isNull(), 0).otherwise(F.size(f"{mark}met"))
        seen = [F.array_contains(f"{mark}met", F.col(f"{mark}c{n}")) for n in range(2)]
        unmet = sum((F.when(one, 0.0).otherwise(1.0) for one in seen), F.lit(0.0))
        known = (1.0 + met) / (1.0 + found["typical"])
        slope = found["slope"] * F.pow(known, F.lit(found["answers"])) * F.exp(found["unmet"] * unmet)
        x = slope * (self._score(0, mark).cast("double") - self._score(1, mark).cast("double"))
        if not found["tie"]:
            rows = rows.withColumn(name, _sigmoid(x).cast("float"))
        else:
            reluctance = found["tie"] * F.coalesce(F.col(f"{mark}reluctance").cast("double"), F.lit(1.0))
            won, lost = _sigmoid(x - reluctance), _sigmoid(-x - reluctance)
            three = {"left": won, "tie": F.greatest(1.0 - won - lost, F.lit(0.0)), "right": lost}
            rows = rows.withColumn(name, F.struct(*(value.cast("float").alias(key) for key, value in three.items())))
        rows = rows.select(*map(quoted, dataset.columns), quoted(name))
        if self._get("coldStartStrategy") == "drop":
            rows = rows.where(~F.isnan(quoted(name) + ".left" * bool(found["tie"])))
        return rows

    # -- lists --------------------------------------------------------------------------------------------------------

    def recommendForAllUsers(
        self, numItems: int, exclude: str | DataFrame | None = None, by: str = "interest"
    ) -> DataFrame:
        """The best items to show every user: user, and recommendations (item, score), best first.

        ``exclude`` and ``by`` are those of :meth:`rather.AltSVM.recommend`: "seen", or a DataFrame of user and item;
        "interest" or "score".
        """
        return self._recommended(self._users, numItems, exclude, by)

    def recommendForUserSubset(
        self, dataset: DataFrame, numItems: int, exclude: str | DataFrame | None = None, by: str = "interest"
    ) -> DataFrame:
        """The same for the users in a column of a DataFrame; those that the fit did not see get no list."""
        wanted = dataset.select(column(dataset, self._get("userCol"), "user").alias("id")).distinct()
        return self._recommended(self._users.join(wanted, "id", "left_semi"), numItems, exclude, by)

    def _recommended(self, users: DataFrame, k: int, exclude: Any, by: str) -> DataFrame:
        number("numItems", k, at_least=1, integer=True)
        if isinstance(exclude, type(users)):
            codes = self._items.select("code", F.col("id").alias("item"))
            columns = (column(exclude, self._get(f"{role}Col"), role) for role in ("user", "item"))
            gone = exclude.select(*(each.alias(name) for each, name in zip(columns, ("id", "item"), strict=True)))
            gone = gone.join(codes, "item").groupBy("id").agg(F.collect_set("code").alias("gone"))
            users = users.join(gone, "id", "left")
        elif not (exclude is None or (isinstance(exclude, str) and exclude == "seen")):
            raise InputError(f"exclude is {exclude!r}; it must be 'seen', a DataFrame of user and item, or None")
        names = self._get("userCol"), self._get("itemCol")
        return recommended(users, self._items, self._about, k, exclude == "seen", by, names)

    # -- here and there ---------------------------------------------------------------------------------------------

    def to_local(self) -> LocalAltSVM:
        """The ordinary model, with all its users and items in the memory of this machine."""
        users, items = _collected(self._users, "id"), _collected(self._items, "code")
        tensors = {**item_tensors(items, self._about), **user_tensors(users, self._about)}
        names = {"user": self._get("userCol"), "item": self._get("itemCol")}
        both = ids(users["id"]), ids(items["id"])
        model = assembled(LocalAltSVM, tensors, about_local(self._about, names), *both)
        if model is None:
            raise InputError("the factors do not fit together; were the files of the model changed?")
        return model  # type: ignore[no-any-return]

    @classmethod
    def from_local(cls, model: LocalAltSVM, spark: Any = None) -> AltSVMModel:
        """A local model, to be applied to DataFrames."""
        from pyspark.sql import SparkSession

        spark = spark or SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        users, items, about = frames_of(model, spark)
        made = cls(users, items, about)
        names = {"userCol": model.fitted.names.get("user", "user"), "itemCol": model.fitted.names.get("item", "item")}
        made._set(**names)
        return made

    def write(self) -> ModelWriter:
        return ModelWriter(self)

    @classmethod
    def read(cls) -> ModelReader:
        return ModelReader(cls)


def _refuse_twice(dataset: DataFrame, wanted: Any) -> None:
    present = {name.lower(): name for name in dataset.columns}  # Spark ignores case by default
    for name in wanted:
        if name.lower() in present:
            raise InputError(f"the table has a column {present[name.lower()]!r}, where {name!r} is added; rename it")


def _sigmoid(x: Column) -> Column:
    return 1.0 / (1.0 + F.exp(-x))


def _collected(frame: DataFrame, order: str) -> pa.Table:
    """All rows, here."""
    if hasattr(frame, "toArrow"):
        made = frame.toArrow()
    else:  # before 4.0
        rows = frame.collect()
        made = pa.table({name: [row[name] for row in rows] for name in frame.columns})
    return made.take(pc.sort_indices(made[order])).combine_chunks()
