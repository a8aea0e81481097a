"""Parameters in the manner of pyspark.ml: those of the ordinary AltSVM, the names of columns, and how a job is run."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.ml.param import Param, Params, TypeConverters

from ..errors import InputError, one_of
from .table import ROLES

NONE = Params._dummy()
UNKNOWN = ("nan", "drop", "everyone")


def to_reg(value: Any) -> Any:
    """Convert a ridge, which is a word or a number."""
    return (TypeConverters.toString if isinstance(value, str) else TypeConverters.toFloat)(value)


def to_bias(value: Any) -> Any:
    """Convert the ridge of the biases, or whether there are any."""
    return (TypeConverters.toBoolean if isinstance(value, bool) else TypeConverters.toFloat)(value)


def _param(name: str, doc: str, kind: Any) -> Any:
    """Return a parameter that pyspark converts; it knows float64 and int64 of numpy's numbers, and this knows all."""
    return Param(NONE, name, doc, typeConverter=lambda x: kind(x.item() if isinstance(x, np.generic) else x))


class ColumnParams(Params):  # type: ignore[misc]
    """The names of columns, which an estimator and its models share."""

    userCol = _param("userCol", "column of users", TypeConverters.toString)
    itemCol = _param("itemCol", "column of items, of ratings and clicks", TypeConverters.toString)
    ratingCol = _param("ratingCol", "column of ratings", TypeConverters.toString)
    winnerCol = _param("winnerCol", "column of what was preferred", TypeConverters.toString)
    loserCol = _param("loserCol", "column of what it was preferred to", TypeConverters.toString)
    leftCol = _param("leftCol", "column of the first of two items to give a probability for", TypeConverters.toString)
    rightCol = _param("rightCol", "column of the second", TypeConverters.toString)
    predictionCol = _param("predictionCol", "column of scores to add", TypeConverters.toString)
    probabilityCol = _param(
        "probabilityCol", "column of probabilities to add: that the first is preferred; with ties a struct of three",
        TypeConverters.toString,
    )  # fmt: skip
    coldStartStrategy = _param(
        "coldStartStrategy", "users or items that the fit did not see: nan, drop, or everyone (everybody's score)",
        TypeConverters.toString,
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(
            userCol="user", itemCol="item", ratingCol="rating", winnerCol="winner", loserCol="loser", leftCol="left",
            rightCol="right", predictionCol="prediction", probabilityCol="probability", coldStartStrategy="nan",
        )  # fmt: skip

    def _get(self, name: str) -> Any:
        """The value of a parameter, or None where it is not set."""
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None

    def setColdStartStrategy(self, value: str) -> Any:
        """nan, drop or everyone; see the parameter."""
        one_of("coldStartStrategy", value, UNKNOWN)
        return self._set(coldStartStrategy=value)

    def _check_columns(self) -> None:
        one_of("coldStartStrategy", self._get("coldStartStrategy"), UNKNOWN)


class FitParams(ColumnParams):
    """Those of a fit."""

    source = _param("source", "what the rows are: votes, ratings or clicks", TypeConverters.toString)
    weightCol = _param("weightCol", "column of weights, of votes", TypeConverters.toString)
    tieCol = _param("tieCol", "column that is true where the two tied, of votes", TypeConverters.toString)
    rank = _param(
        "rank",
        "length of the vectors (not set: 64, of clicks 100, of votes less where that does better)",
        TypeConverters.toInt,
    )
    regParam = _param("regParam", "the ridge: a number, or 'cv'; not set: a rule, for votes 'cv'", to_reg)
    loss = _param("loss", "squared_hinge, hinge or logistic", TypeConverters.toString)
    bias = _param("bias", "whether items have a bias; a number is its ridge", to_bias)
    itemPower = _param("itemPower", "how an item's ridge grows with the users who compared it", TypeConverters.toFloat)
    userPower = _param("userPower", "how a user's ridge grows with their items", TypeConverters.toFloat)
    balance = _param("balance", "a user's N comparisons weigh N^-balance", TypeConverters.toFloat)
    exposure = _param(
        "exposure", "learn from who compared what (not set: where it says something)", TypeConverters.toBoolean
    )
    ties = _param("ties", "what a tie says: model or half", TypeConverters.toString)
    unseen = _param("unseen", "items that each user's clicks are compared with", TypeConverters.toInt)
    perUser = _param("perUser", "pairs drawn from each user's clicks, in place of unseen", TypeConverters.toInt)
    maxIter = _param("maxIter", "rounds, at most", TypeConverters.toInt)
    tol = _param("tol", "stop when a round has so little to gain, as a share of the objective", TypeConverters.toFloat)
    seed = _param("seed", "of all that is drawn", TypeConverters.toInt)
    numShards = _param(
        "numShards", "shards of users, a power of two: results depend on it, not on the cluster (not set: by the "
        "number of rows)", TypeConverters.toInt,
    )  # fmt: skip
    numTasks = _param("numTasks", "tasks, a power of two (not set: as many as run at once)", TypeConverters.toInt)
    checkpointPath = _param(
        "checkpointPath", "folder that all executors see, to go on from after failures", TypeConverters.toString
    )
    checkpointInterval = _param("checkpointInterval", "rounds from checkpoint to checkpoint", TypeConverters.toInt)
    maxRetries = _param("maxRetries", "failures in a row without a round in between, at most", TypeConverters.toInt)
    timeout = _param("timeout", "seconds without a sign of another task, at most", TypeConverters.toFloat)
    ports = _param("ports", "first and last port that tasks listen on (not set: any)", TypeConverters.toListInt)
    verbose = _param("verbose", "print what a fit will take, and every checkpoint", TypeConverters.toBoolean)

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(
            source="votes", loss="squared_hinge", bias=True, itemPower=0.5, userPower=0.0, ties="model", maxIter=30,
            seed=0, checkpointInterval=10, maxRetries=3, timeout=300.0, verbose=True,
        )  # fmt: skip

    def _names(self) -> dict[str, str]:
        """The columns of the rows, by their roles."""
        kind = self._get("source")
        one_of("source", kind, ROLES)
        roles = {role: self._get(f"{role}Col") for role in ROLES[kind]}
        if kind == "votes":
            extra = {role: self._get(f"{role}Col") for role in ("weight", "tie")}
            roles |= {role: name for role, name in extra.items() if name is not None}
        return roles

    def _local_params(self) -> dict[str, Any]:
        """The parameters of the ordinary AltSVM."""
        named = {"regParam": "reg", "itemPower": "item_power", "userPower": "user_power", "maxIter": "max_iter"}
        same = "rank", "loss", "bias", "balance", "exposure", "ties", "tol", "seed"
        return {named.get(name, name): self._get(name) for name in (*named, *same)}

    def _check(self) -> None:
        """Refuse parameters, before anything is read."""
        self._check_columns()
        for name in ("numShards", "numTasks"):
            n = self._get(name)
            if n is not None and (n < 1 or n & (n - 1)):
                raise InputError(f"{name} is {n}; it must be a power of two")
        shards, tasks = self._get("numShards"), self._get("numTasks")
        if shards is not None and tasks is not None and tasks > shards:
            raise InputError(f"numTasks is {tasks}, but there are only {shards} shards (numShards) to share")
        for name, least in (("checkpointInterval", 1), ("maxRetries", 0), ("timeout", 1)):
            if not self._get(name) >= least:
                raise InputError(f"{name} is {self._get(name)}; it must be at least {least}")
        if (ports := self._get("ports")) is not None and not (len(ports) == 2 and 0 < ports[0] <= ports[1] < 2**16):
            raise InputError(f"ports is {ports}; it must be the first and the last port, from 1 to 65535")
        source = self._get("source")
        for name, kind in (("weightCol", "votes"), ("tieCol", "votes"), ("unseen", "clicks"), ("perUser", "clicks")):
            if source != kind and (value := self._get(name)) is not None:
                raise InputError(f"{name} is {value!r}, but it is for {kind} and source is {source!r}; leave it out")
        if self._get("unseen") is not None and self._get("perUser") is not None:
            raise InputError("give unseen or perUser, not both: they are two ways to draw")
