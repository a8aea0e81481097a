"""Model files: tensors with ids and parameters beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..data.ids import Ids, Vocabulary
from ..errors import FileError
from ..native import threads
from .calibration import Calibration, Slope
from .fitted import FittedModel
from .kept import packed, unpacked
from .scorers import Scorer
from .tensors import read_tensors, write_tensors

FORMAT, UNCHECKED = "rather-model-2", "rather-model-1"
PLAIN = {  # the parameters of AltSVM that posed the paper's problem
    "start": "uniform", "bias": False, "item_power": 0.0, "user_power": 0.0, "balance": 0.0, "exposure": False,
}  # fmt: skip
SAVED_PARAMS = (str, int, float, bool, type(None))
SMALLEST_RIDGE, LARGEST_RIDGE = 2e-45, 1e38  # in single precision
NAMED = ("user", "item")  # columns of results that may have the caller's own names
NOT_SAVED = {"callback", "checkpoint"}  # a file must not decide what a later fit calls or overwrites


def save_model(model: Any, path: str | Path, comparisons: bool = True) -> None:
    """Write a fitted model; see :meth:`Estimator.save`."""
    fitted = model.fitted
    own = fitted.training if comparisons and fitted.parent is None else None
    rows, said = ({}, None) if own is None else packed(own)
    tensors = {
        **model._tensors(),
        "seen_start": np.asarray(fitted.seen[0], np.int64),
        "seen_item": np.asarray(fitted.seen[1], np.int32),
        **_pack_ids("users", fitted.users.ids),
        **_pack_ids("items", fitted.items.ids),
        **rows,
    }
    about = {
        **about_model(model),
        "ids": {"users": _id_kind(fitted.users.ids), "items": _id_kind(fitted.items.ids)},
        **({} if said is None else {"comparisons": said}),
    }
    write_tensors(path, FORMAT, tensors, {"about": json.dumps(about, sort_keys=True)})


def about_model(model: Any) -> dict[str, Any]:
    """Return the JSON of a model file, without tensors and ids, in the form that ``assembled`` takes."""
    fitted, now = model.fitted, model.get_params()
    given = {name: fitted.params.get(name, value) for name, value in now.items()}  # whatever set_params said since
    params = {k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()}
    parts = {name: getattr(fitted, name.removesuffix("_")) for name in FITTED}
    return {
        "class": type(model).__name__,
        "params": {k: v for k, v in params.items() if isinstance(v, SAVED_PARAMS) and k not in NOT_SAVED},
        **model._about(),
        "slope": None if fitted.slope.found is None else asdict(fitted.slope.found),
        "names": {role: name for role, name in fitted.names.items() if role in NAMED},
        "fitted": {name: value for name, value in parts.items() if value is not None},
        "frame_kind": fitted.frame_kind,
    }


def load_model(path: str | Path, kinds: Mapping[str, type[Any]]) -> Any:
    """A fitted model of one of some kinds, by name; see :func:`rather.load`."""
    tensors, metadata = read_tensors(path, FORMAT, "model", unchecked=UNCHECKED)
    try:
        about = _renamed(json.loads(metadata["about"]), tensors)
        if about["class"] not in kinds:
            raise FileError(
                f"{str(path)!r} holds a {str(about['class'])[:100]!r}, which is none of {', '.join(kinds)}; "
                "if it is a class of your own, give it: load(path, YourClass)"
            )
        ids = (_unpack_ids(tensors, name, about["ids"][name]) for name in ("users", "items"))
        model = assembled(kinds[about["class"]], tensors, about, *ids)
    except FileError:
        raise
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as e:
        raise FileError(f"the model file {str(path)!r} is damaged: {type(e).__name__}: {str(e)[:200]}") from e
    if model is None:
        raise FileError(f"the model file {str(path)!r} is damaged: its parts do not fit together")
    return model


def _renamed(about: dict[str, Any], tensors: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of a file in today's names: AltSVM had the paper's algorithm as an option."""
    given = about["params"]
    plain = all(given.get(name) == value for name, value in PLAIN.items())
    if about["class"] == "AltSVM" and (given.get("solver") == "sdca" or plain):
        rank = tensors["user_factors"].shape[1] if given.get("rank") is None else given["rank"]
        return {**about, "class": "PaperAltSVM", "params": {**given, "rank": rank}}
    return about


def assembled(kind: type[Any], tensors: dict[str, Any], about: dict[str, Any], users: Ids, items: Ids) -> Any:
    """A fitted model from what a file holds of it; None if the parts do not fit together."""
    names = set(kind._param_names()) - NOT_SAVED
    model = kind(**{k: v for k, v in about["params"].items() if k in names})
    threads(model.n_threads)
    fitted = FittedModel(
        {name: value for name, value in model.get_params().items() if name != "callback"}, Vocabulary(users, "user"),
        Vocabulary(items, "item"), about["frame_kind"], about.get("names", {}),
        (tensors["seen_start"], tensors["seen_item"]), Scorer(), None, Slope(_calibration(about["slope"])),
        **{name.removesuffix("_"): value for name, value in about["fitted"].items() if name in FITTED},
    )  # fmt: skip
    sound = _is_sound(fitted, about["fitted"]) and model._restore(fitted, tensors, about)
    if sound and "comparisons" in about:
        fitted.training = unpacked(
            tensors, about["comparisons"], fitted.users, fitted.items, fitted.features,
            frame_kind=fitted.frame_kind, names=fitted.names,
        )  # fmt: skip
        sound = SMALLEST_RIDGE < about["fitted"].get("bias_reg_", 1.0) < LARGEST_RIDGE
    return model._with(fitted) if sound else None


def _is_sound(model: FittedModel, fitted: Any) -> bool:
    """Whether what every model holds is of the right kind and size."""
    users, items = len(model.users), len(model.items)
    start, item = model.seen
    return (
        users > 0
        and items > 0
        and start.dtype == np.int64
        and start.shape == (users + 1,)
        and item.dtype == np.int32
        and item.ndim == 1
        and start[0] == 0
        and start[-1] == len(item)
        and start.min() == 0  # with the next line: differences cannot wrap around
        and bool((np.diff(start) >= 0).all())
        and (not len(item) or (item.min() >= 0 and item.max() < items))
        and (model.slope.found is None or model.slope.found.is_sound())
        and isinstance(model.names, dict)
        and all(role in NAMED and isinstance(name, str) for role, name in model.names.items())
        and model.frame_kind in ("dict", "pandas", "polars", "pyarrow")
        and set(fitted) <= set(FITTED)
        and all(FITTED[name](value) for name, value in fitted.items())
    )


def _calibration(said: Any) -> Calibration | None:
    """Return the calibration in a file; older files have only a slope."""
    if isinstance(said, dict):
        return Calibration(**said)
    return None if said is None else Calibration(float(said))


def is_records(value: Any) -> bool:
    """Whether this is a list of dictionaries from names to numbers, as a history is."""
    return isinstance(value, list) and all(
        isinstance(record, dict) and all(map(_is_number, record.values())) for record in value
    )


def _is_number(value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    return isinstance(value, float) or whole


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


# What else is told about a fit, and what it must be.
FITTED = {
    "history_": is_records, "cv_results_": is_records, "bias_reg_": _is_number, "converged_": _is_flag,
    "interrupted_": _is_flag,
}  # fmt: skip


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
        places = tensors[f"{name}_end"]
        if places.dtype != np.int64 or places.ndim != 1 or len(places) > len(raw) + 1:  # one id at most is empty
            raise ValueError(f"{name} do not end where they should")
        ends = places.tolist()
        ordered = all(a <= b for a, b in pairwise([0, *ends, len(raw)]))
        if kind not in ("int", "str") or raw.dtype != np.uint8 or raw.ndim != 1 or not ordered:
            raise ValueError(f"{name} are not text")
        data = raw.tobytes()
        texts = [data[a:b].decode("utf-8", "surrogatepass") for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        ids = np.array([int(t) for t in texts] if kind == "int" else texts, dtype=object)
    if any(a >= b for a, b in pairwise(ids.tolist())):
        raise ValueError(f"{name} are not in order")
    return ids
