"""Estimators and models on disk, in the layout of pyspark.ml: metadata in JSON, factors in Parquet.

The writers of pyspark need a JVM on this side, which a client of Spark Connect lacks; these use DataFrames.

Each save adds a file with one line to the folder ``metadata``, and the line of the last save counts. A model's factors
are in one of three folders, which the line names. A save writes into a folder that neither the last save nor the model
itself uses, and adds its line at the end. So the last line names a complete model even if a save is killed.

Pipelines and tuned models of pyspark delete their folder before they are saved to it again. So the executors keep the
factors of a model that was read from such a folder.
"""

from __future__ import annotations

import json
import re
import time
from typing import Any

from pyspark.ml.util import MLReader, MLWriter
from pyspark.sql import SparkSession
from pyspark.sql.utils import AnalysisException

from ..errors import FileError

PLACES = "abc"
WITHIN = re.compile(r"/(stages/[0-9]+_[^/]+|bestModel|subModels/.+)/*$")  # a pipeline, or a model that was tuned


def _session() -> Any:
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def last_save(path: str) -> dict[str, Any] | None:
    """Return the line of the last save to a folder, or None where there is none."""
    try:
        lines = [json.loads(row["value"]) for row in _session().read.text(f"{path}/metadata").collect()]
    except AnalysisException:  # nothing is there
        return None
    return max(lines, key=lambda line: line.get("save", 0), default=None)


class ParamsWriter(MLWriter):  # type: ignore[misc]
    """Write the parameters of an estimator or an evaluator."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def save(self, path: str) -> None:
        self.saveImpl(path)

    def saveImpl(self, path: str) -> None:
        last = last_save(path)
        if last is not None and not self.shouldOverwrite:
            raise FileError(f"{path!r} already exists; write().overwrite().save(path) replaces it")
        if last is not None and _name(last) != type(self.instance).__name__:
            last = None
        self._add(path, last, self._factors(path, last))

    def _factors(self, path: str, last: dict[str, Any] | None) -> dict[str, Any]:
        """Write what is not in the line, and return what is to be said of it there."""
        return {}

    def _add(self, path: str, last: dict[str, Any] | None, more: dict[str, Any]) -> None:
        """Add the line of this save, behind the last one of the same kind."""
        of, spark = self.instance, _session()
        kind = type(of)
        said = {
            "class": f"{kind.__module__}.{kind.__name__}", "timestamp": int(time.time() * 1000),
            "sparkVersion": spark.version, "uid": of.uid,
            "paramMap": {param.name: value for param, value in of._paramMap.items()},
            "defaultParamMap": {param.name: value for param, value in of._defaultParamMap.items()},
            "save": 0 if last is None else last.get("save", 0) + 1, **more,
        }  # fmt: skip
        frame = spark.createDataFrame([(json.dumps(said),)], "value string").coalesce(1)
        frame.write.mode("append" if last is not None else self._mode()).text(f"{path}/metadata")

    def _mode(self) -> str:
        return "overwrite" if self.shouldOverwrite else "error"


class ParamsReader(MLReader):  # type: ignore[misc]
    """Read the same."""

    def __init__(self, kind: type[Any]) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        return self._with_params(self.kind(), self._last(path))

    def _last(self, path: str) -> dict[str, Any]:
        said = last_save(path)
        if said is None:
            raise FileError(f"{path!r} holds nothing that was saved; give the folder that save() was given")
        if _name(said) != self.kind.__name__:
            raise FileError(f"{path!r} holds a {_name(said)}, not a {self.kind.__name__}")
        return said

    def _with_params(self, made: Any, said: dict[str, Any]) -> Any:
        made._resetUid(said["uid"])
        for name, value in said["paramMap"].items():
            made.set(made.getParam(name), value)
        for name, value in said["defaultParamMap"].items():
            made._setDefault(**{name: value})
        return made


class ModelWriter(ParamsWriter):
    """Write a model."""

    def _factors(self, path: str, last: dict[str, Any] | None) -> dict[str, Any]:
        of = self.instance
        first = 0 if last is None else PLACES.find(last.get("place", "c")) + 1
        mine = {file.rsplit("/", 3)[-3] for file in of._users.inputFiles()}
        place = next(place for place in (PLACES + PLACES)[first : first + 2] if place not in mine)
        for name in ("users", "items"):
            getattr(of, f"_{name}").write.mode(self._mode()).parquet(f"{path}/{place}/{name}")
        return {"place": place, "about": of._about}


class ModelReader(ParamsReader):
    """Read a model."""

    def load(self, path: str) -> Any:
        said, spark = self._last(path), _session()
        at, about = path, said.get("about")
        if about is None:  # of an older version, which had one place
            (row,) = spark.read.option("wholetext", True).text(f"{path}/about").collect()
            about = json.loads(row["value"])
        else:
            at = f"{path}/{said['place']}"
        users, items = (spark.read.parquet(f"{at}/{name}") for name in ("users", "items"))
        if WITHIN.search(path):
            for frame in (users, items):
                frame.persist().count()
        return self._with_params(self.kind(users, items, about), said)


def _name(said: dict[str, Any]) -> str:
    return str(said["class"].rsplit(".", 1)[-1])
