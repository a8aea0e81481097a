"""Estimators and models on disk, as pyspark.ml lays them out: metadata in JSON, factors in Parquet.

The writers of pyspark need a JVM on this side, which a client of Spark Connect has not; these do with DataFrames.
"""

from __future__ import annotations

import json
import time
from typing import Any

from pyspark.ml.util import MLReader, MLWriter
from pyspark.sql import SparkSession

from ..errors import FileError


def _session() -> Any:
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


class ParamsWriter(MLWriter):  # type: ignore[misc]
    """Of what is no more than its parameters."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def save(self, path: str) -> None:
        self.saveImpl(path)

    def saveImpl(self, path: str) -> None:
        self._metadata(path)

    def _metadata(self, path: str) -> None:
        of, spark = self.instance, _session()
        kind = type(of)
        said = {
            "class": f"{kind.__module__}.{kind.__name__}", "timestamp": int(time.time() * 1000),
            "sparkVersion": spark.version, "uid": of.uid,
            "paramMap": {param.name: value for param, value in of._paramMap.items()},
            "defaultParamMap": {param.name: value for param, value in of._defaultParamMap.items()},
        }  # fmt: skip
        self._text(json.dumps(said), f"{path}/metadata")

    def _text(self, text: str, path: str) -> None:
        frame = _session().createDataFrame([(text,)], "value string").coalesce(1)
        frame.write.mode("overwrite" if self.shouldOverwrite else "error").text(path)


class ParamsReader(MLReader):  # type: ignore[misc]
    """Of the same."""

    def __init__(self, kind: type[Any]) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        return self._with_params(self.kind(), path)

    def _with_params(self, made: Any, path: str) -> Any:
        said = self._json(f"{path}/metadata")
        name = said["class"].rsplit(".", 1)[-1]
        if name != self.kind.__name__:
            raise FileError(f"{path!r} holds a {name}, not a {self.kind.__name__}")
        made._resetUid(said["uid"])
        for name, value in said["paramMap"].items():
            made.set(made.getParam(name), value)
        for name, value in said["defaultParamMap"].items():
            made._setDefault(**{name: value})
        return made

    def _json(self, path: str) -> Any:
        (row,) = _session().read.option("wholetext", True).text(path).collect()
        return json.loads(row["value"])


class ModelWriter(ParamsWriter):
    """Of a model: its metadata last, so that what has any is whole."""

    def saveImpl(self, path: str) -> None:
        mode = "overwrite" if self.shouldOverwrite else "error"
        for name in ("users", "items"):
            getattr(self.instance, f"_{name}").write.mode(mode).parquet(f"{path}/{name}")
        self._text(json.dumps(self.instance._about), f"{path}/about")
        self._metadata(path)


class ModelReader(ParamsReader):
    """Of the same."""

    def load(self, path: str) -> Any:
        spark = _session()
        users, items = (spark.read.parquet(f"{path}/{name}") for name in ("users", "items"))
        return self._with_params(self.kind(users, items, self._json(f"{path}/about")), path)
