"""Conversion between DataFrames of factors and the tensors of a local model."""

from __future__ import annotations

from copy import copy
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError
from ..models.interest import LEAST
from ..native import FloatArray


def item_tensors(items: pa.Table, about: dict[str, Any]) -> dict[str, Any]:
    """Return the tensors of items for a model file, in the order of codes."""
    r, k = about["rank"], about["k"]
    made = {"item_factors": matrix(items["features"], r), "item_bias": items["bias"].to_numpy().astype(np.float32)}
    if k:
        parts = matrix(items["parts"], k)
        made["exposure_parts"] = parts
        made["exposure_coefficients"] = np.array(about["coefficients"], np.float32).reshape(k, r)
        if about["kind"] == "ratings":
            shown = np.ascontiguousarray(parts[:, : min(max(about["standing"], LEAST), k)])
            count = np.maximum(items["met"].to_numpy(), 1).astype(np.float32)
            made["interest_parts"], made["interest_weights"] = shown, shown * count[:, None]
    return made


def user_tensors(users: pa.Table, about: dict[str, Any]) -> dict[str, Any]:
    """Return the tensors of some users, in this order."""
    met = whole(users["met"])
    size = pc.list_value_length(met).to_numpy(zero_copy_only=False)
    made = {
        "user_factors": matrix(users["features"], about["rank"]),
        "seen_start": np.concatenate(([0], np.cumsum(size))).astype(np.int64),
        "seen_item": flat(met).astype(np.int32),
    }
    if about.get("calibration") and about["calibration"]["tie"]:
        own = pc.fill_null(users["reluctance"], 1.0).to_numpy()
        made["reluctance"] = np.clip(own, 1e-30, 1e30).astype(np.float32)
    return made


def about_local(about: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return the description of a model file beside its tensors."""
    return {
        "params": about["params"], "reg": about["reg"], "loss": about["params"]["loss"],
        "user_rule": about["user_rule"], "slope": about.get("calibration"), "frame_kind": "dict",
        "names": {role: name for role, name in names.items() if name != role},
        "fitted": {
            "history_": about["history"], "cv_results_": about.get("cv_results", []), "bias_reg_": about["bias_reg"],
            "converged_": about["converged"], "interrupted_": False,
        },
    }  # fmt: skip


def frames_of(model: Any, spark: Any) -> tuple[Any, Any, dict[str, Any]]:
    """The DataFrames of a local model's users and items, and what else is to be said."""
    now = copy(model)
    fitted = now.fitted
    if fitted.context_effects:
        raise InputError("a model with a side or covariates cannot be applied on Spark yet: use it locally")
    start, met = fitted.seen
    parts, C = (None, None) if fitted.prior is None else fitted.prior
    found, own = fitted.slope.found, fitted.slope.own
    users = pa.table({
        "id": pa.array(now.users_.tolist()), "features": rows(now.user_factors_), "met": lists(start, met),
        "reluctance": pa.nulls(len(now.users_), pa.float32()) if own is None else pa.array(own, pa.float32()),
    })  # fmt: skip
    count = np.bincount(met, minlength=len(now.items_))
    items = pa.table({
        "code": pa.array(np.arange(len(now.items_)), pa.int32()), "id": pa.array(now.items_.tolist()),
        "features": rows(now.item_factors_), "bias": pa.array(now.item_bias_),
        "parts": rows(np.zeros((len(count), 0), np.float32) if parts is None else parts),
        "met": pa.array(count, pa.int64()),
    })  # fmt: skip
    standing = 0 if fitted.interest is None else fitted.interest.parts.shape[1]
    params = {name: value for name, value in now.get_params().items() if isinstance(value, (str, int, float, bool))}
    about = {
        "rank": now.rank_, "reg": now.reg_, "bias_reg": now.bias_reg_, "history": list(now.history_),
        "converged": now.converged_, "user_rule": asdict(fitted.user_rule), "k": 0 if parts is None else parts.shape[1],
        "standing": standing, "coefficients": None if C is None else C.tolist(),
        "params": {**params, "loss": now.loss_},
        "kind": "votes" if fitted.interest is None else "ratings", "cv_results": list(now.cv_results_),
        "calibration": None if found is None else asdict(found),
    }  # fmt: skip
    return _frame(spark, users), _frame(spark, items), about


def _frame(spark: Any, made: pa.Table) -> Any:
    """A DataFrame of an Arrow table, in whatever way this Spark has."""
    if int(spark.version.split(".")[0]) >= 4:
        return spark.createDataFrame(made)
    schema = ", ".join(f"`{field.name}` {_sql(field.type)}" for field in made.schema)
    return spark.createDataFrame([tuple(row.values()) for row in made.to_pylist()], schema)


def _sql(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"array<{_sql(kind.value_type)}>"
    return {"int64": "bigint", "int32": "int", "float": "float", "string": "string", "large_string": "string"}[
        str(kind)
    ]


def matrix(column: Any, width: int) -> FloatArray:
    if not width:
        return np.zeros((len(column), 0), np.float32)
    return np.asarray(flat(column), np.float32).reshape(-1, width)


def flat(column: Any) -> Any:
    return whole(column).flatten().to_numpy(zero_copy_only=False)


def whole(column: Any) -> pa.Array:
    """A column in one piece."""
    made = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pa.concat_arrays(made.chunks) if isinstance(made, pa.ChunkedArray) else made


def rows(matrix_: FloatArray) -> pa.Array:
    n, width = matrix_.shape
    return lists(np.arange(n + 1) * width, np.ascontiguousarray(matrix_).ravel())


def lists(start: Any, values: Any) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(start, pa.int32()), pa.array(values))


def ids(column: Any) -> Any:
    """As a vocabulary holds them."""
    if pa.types.is_integer(column.type):
        return column.to_numpy().astype(np.int64)
    return np.array([str(value) for value in column.to_pylist()], dtype=object)
