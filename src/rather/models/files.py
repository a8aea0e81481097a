"""Model files: safetensors with ids and parameters inside. Written whole or not at all; reading never executes code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..data.ids import Ids, Vocabulary
from ..data.whole_files import existing, written_whole
from ..errors import FileError
from ..native import threads

FORMAT = "rather-model-1"
SAVED_PARAMS = (str, int, float, bool, type(None))
FITTED = {"history_", "bias_reg_", "converged_", "interrupted_", "cv_results_"}  # what else is told about a fit
NAMED = ("user", "item")  # columns of results that may have the caller's own names
NOT_SAVED = {"callback", "checkpoint"}  # a file must not decide what a later fit calls or overwrites


def save_model(model: Any, path: str | Path) -> None:
    """Write a fitted model; see :meth:`Model.save`."""
    params = {k: v.item() if isinstance(v, np.generic) else v for k, v in model.get_params().items()}
    start, item = model.seen_
    tensors = {
        **{name: np.ascontiguousarray(tensor) for name, tensor in model._tensors().items()},
        "seen_start": np.asarray(start, np.int64),
        "seen_item": np.asarray(item, np.int32),
        **_pack_ids("users", model.users_),
        **_pack_ids("items", model.items_),
    }
    about = {
        "class": type(model).__name__,
        "params": {k: v for k, v in params.items() if isinstance(v, SAVED_PARAMS) and k not in NOT_SAVED},
        **model._about(),
        "slope": model.slope_,
        "names": {role: name for role, name in model.names_.items() if role in NAMED},
        "fitted": {name: getattr(model, name) for name in FITTED if hasattr(model, name)},
        "frame_kind": model.frame_kind_,
        "ids": {"users": _id_kind(model.users_), "items": _id_kind(model.items_)},
    }
    write_tensors(path, tensors, {"format": FORMAT, "about": json.dumps(about)})


def load_model(path: str | Path, kinds: Mapping[str, type[Any]]) -> Any:
    """A fitted model of one of some kinds, by name; see :func:`rather.load`."""
    tensors, metadata = read_tensors(path, FORMAT, "model")
    try:
        about = json.loads(metadata["about"])
        kind = kinds[about["class"]]
        names = set(kind._param_names()) - NOT_SAVED
        model = kind(**{k: v for k, v in about["params"].items() if k in names})
        threads(model.n_threads)
        users = model.user_vocabulary_ = Vocabulary(_unpack_ids(tensors, "users", about["ids"]["users"]), "user")
        items = model.item_vocabulary_ = Vocabulary(_unpack_ids(tensors, "items", about["ids"]["items"]), "item")
        start, item = model.seen_ = tensors["seen_start"], tensors["seen_item"]
        sound = (
            model._restore(tensors, about)
            and start.dtype == np.int64
            and start.shape == (len(users) + 1,)
            and item.dtype == np.int32
            and item.ndim == 1
            and start[0] == 0
            and start[-1] == len(item)
            and start.min() == 0  # with the next line: differences cannot wrap around
            and bool((np.diff(start) >= 0).all())
            and (not len(item) or (item.min() >= 0 and item.max() < len(items)))
            and (about["slope"] is None or 0 <= float(about["slope"]) < np.inf)
            and all(role in NAMED and isinstance(name, str) for role, name in about.get("names", {}).items())
            and about["frame_kind"] in ("dict", "pandas", "polars", "pyarrow")
            and isinstance(about["fitted"], dict)
            and set(about["fitted"]) <= FITTED
        )
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as e:
        raise FileError(f"the model file {str(path)!r} is damaged: {type(e).__name__}: {e}") from e
    if not sound:
        raise FileError(f"the model file {str(path)!r} is damaged: its parts do not fit together")
    model.slope_ = None if about["slope"] is None else float(about["slope"])
    model.frame_kind_, model.names_, model._fitted_to = about["frame_kind"], dict(about.get("names", {})), None
    for name, value in about["fitted"].items():
        setattr(model, name, value)
    return model


# -- tensors on disk --------------------------------------------------------------------------------------------------


def write_tensors(path: str | Path, tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    """A safetensors file, complete under its final name or absent."""
    from safetensors.numpy import save

    with written_whole(path) as f:
        f.write(save(tensors, metadata))


def read_tensors(path: str | Path, form: str, what: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The tensors and metadata of a file written by :func:`write_tensors` with the given format name."""
    from safetensors import SafetensorError, safe_open

    path = existing(path, f"a {what} file")
    try:
        with safe_open(path, framework="numpy") as f:
            metadata = f.metadata() or {}
            if metadata.get("format") != form:
                raise FileError(f"{str(path)!r} is not a {what} file of this version of rather ({form})")
            return {name: f.get_tensor(name) for name in f.keys()}, metadata  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, AttributeError) as e:
        if isinstance(e, FileError):
            raise
        raise FileError(f"{str(path)!r} is damaged or not a {what} file: {' '.join(str(e).split())}") from e


# -- ids --------------------------------------------------------------------------------------------------------------


def _id_kind(ids: Ids) -> str:
    if ids.dtype == np.int64:
        return "int64"
    return "int" if len(ids) and isinstance(ids[0], int) else "str"


def _pack_ids(name: str, ids: Ids) -> dict[str, Any]:
    """int64 as it is; strings and larger integers as UTF-8 bytes with end positions."""
    if ids.dtype == np.int64:
        return {name: ids}
    texts = [str(v).encode("utf-8", "surrogatepass") for v in ids]
    ends = np.cumsum([len(t) for t in texts], dtype=np.int64) if texts else np.zeros(0, np.int64)
    return {name: np.frombuffer(b"".join(texts) or b"\0", np.uint8).copy(), f"{name}_end": ends}


def _unpack_ids(tensors: dict[str, Any], name: str, kind: str) -> Ids:
    raw = tensors[name]
    if kind == "int64":
        if raw.dtype != np.int64 or raw.ndim != 1:
            raise ValueError(f"{name} are not integers")
        ids: Ids = raw
    else:
        ends = tensors[f"{name}_end"].tolist()
        ordered = all(a <= b for a, b in pairwise([0, *ends, len(raw)]))
        if kind not in ("int", "str") or raw.dtype != np.uint8 or raw.ndim != 1 or not ordered:
            raise ValueError(f"{name} are not text")
        data = raw.tobytes()
        texts = [data[a:b].decode("utf-8", "surrogatepass") for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        ids = np.array([int(t) for t in texts] if kind == "int" else texts, dtype=object)
    if any(a >= b for a, b in pairwise(ids.tolist())):
        raise ValueError(f"{name} are not in order")
    return ids
