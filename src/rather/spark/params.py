"""Parameters in the style of pyspark.ml: those of AltSVM, the names of columns, and how a job is run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from pyspark.ml.param import Param, Params, TypeConverters

from ..errors import Domain, InputError, one_of
from ..models.altsvm import AltSVMParams
from ..models.parameters import declared
from .table import ROLES

NONE = Params._dummy()
UNKNOWN = ("nan", "drop", "everyone")
NAMES = {"reg": "regParam"}  # parameters of the ordinary AltSVM that pyspark.ml has another word for
ABSENT = {"trust"}  # objectives that Spark does not fit
RUN = {"max_iter", "tol"}  # parameters of a run that mean the same here


def _spelled(name: str) -> str:
    """Return the name of a parameter of the ordinary AltSVM in the spelling of pyspark.ml."""
    first, *rest = name.split("_")
    return NAMES.get(name, first + "".join(part.capitalize() for part in rest))


def _converter(domain: Domain) -> Callable[[Any], Any]:
    """Return what converts a value to one that a parameter may have."""
    number = TypeConverters.toInt if domain.number is int else TypeConverters.toFloat

    def converted(value: Any) -> Any:
        if domain.words and (domain.number is None or isinstance(value, str)):
            return TypeConverters.toString(value)
        if domain.flag and (domain.number is None or isinstance(value, bool)):
            return TypeConverters.toBoolean(value)
        return number(value)

    return converted


def _param(name: str, doc: str, kind: Any) -> Any:
    """Return a parameter that pyspark converts; it knows float64 and int64 of numpy's numbers, and this knows all."""
    return Param(NONE, name, doc, typeConverter=lambda x: kind(x.item() if isinstance(x, np.generic) else x))


DECLARED = declared(AltSVMParams)
LOCAL = {  # parameters of the ordinary AltSVM, by their names here
    _spelled(name): name for name, one in DECLARED.items() if (one.stage != "run" or name in RUN) and name not in ABSENT
}


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
    """The parameters of a fit."""

    source = _param("source", "what the rows are: votes, ratings or clicks", TypeConverters.toString)
    weightCol = _param("weightCol", "column of weights, of votes", TypeConverters.toString)
    tieCol = _param("tieCol", "column that is true where the two tied, of votes", TypeConverters.toString)
    unseen = _param("unseen", "items that each user's clicks are compared with", TypeConverters.toInt)
    perUser = _param("perUser", "pairs drawn from each user's clicks, in place of unseen", TypeConverters.toInt)
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
        usual = {name: getattr(AltSVMParams, local) for name, local in LOCAL.items()}
        self._setDefault(
            source="votes", checkpointInterval=10, maxRetries=3, timeout=300.0, verbose=True,
            **{name: value for name, value in usual.items() if value is not None},
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
        return {local: self._get(name) for name, local in LOCAL.items()}

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


for _name, _local in LOCAL.items():  # pyspark finds parameters among the attributes of the class
    _one, _default = DECLARED[_local], getattr(AltSVMParams, _local)
    _domain = replace(_one.domain, words=()) if _local == "rank" else _one.domain  # no rank grows here
    _doc = f"{_one.brief} (not set: {_one.usual(None)})" if _default is None else _one.brief
    setattr(FitParams, _name, _param(_name, _doc, _converter(_domain)))


def signature() -> inspect.Signature:
    """Return the arguments of an estimator: every parameter by its name."""
    made = FitParams()
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    named = (inspect.Parameter(p.name, inspect.Parameter.KEYWORD_ONLY, default=made._get(p.name)) for p in made.params)
    return inspect.Signature([this, *named])
