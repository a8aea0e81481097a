"""A fitted model as JSON, with all that a page needs to add a new user and to choose questions."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..data.whole_files import written_whole
from ..errors import InputError
from .crowd import Crowd, root
from .fitted import FittedModel
from .scorers import Factors

FORMAT = "rather-json-1"


def write_json(path: str | Path, fitted: FittedModel, crowd: Crowd, typical: Any) -> None:
    """Write a model with what is known of people, and the vector of someone who has not answered yet."""
    if not np.square(crowd.covariance).sum():
        raise InputError("all people of the model are alike, so no answer tells of a taste; use save")
    text = json.dumps(_document(fitted, crowd, typical), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    with written_whole(path) as f:
        f.write(text.encode())


def _document(fitted: FittedModel, crowd: Crowd, typical: Any) -> dict[str, Any]:
    factors, rule = fitted.scorer, fitted.user_rule
    assert isinstance(factors, Factors) and rule is not None
    sureness = crowd.sureness[True]
    return {
        "format": FORMAT,
        "items": fitted.items.ids.tolist(),
        "item_factors": _shortest(factors.item_factors),
        "item_bias": _shortest(factors.item_bias),
        "loss": fitted.loss,
        "reg": fitted.reg,
        "user_rule": asdict(rule),
        "typical": _shortest(typical[: factors.rank]),
        "people": {
            "mean": _shortest(crowd.mean),
            "spread": _shortest(_directions(factors.item_factors, crowd.covariance)),
            "taste": sureness.taste,
            "bias": sureness.bias,
            "noise": _shortest(crowd.noise(newcomer=True)),
        },
        "met": crowd.count.astype(int).tolist(),
    }


def _directions(V: Any, covariance: Any) -> Any:
    """Return R with R R' = the covariance, whose first columns are the directions in which items differ most."""
    R = root(covariance)
    _, _, axes = np.linalg.svd(V @ R, full_matrices=False)
    return R @ (axes * np.where(axes.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)).T


def _shortest(array: Any) -> Any:
    """Return nested lists of the shortest numbers that are the same in single precision."""
    if array.ndim > 1:
        return [_shortest(row) for row in array]
    return [float(str(x)) for x in array.astype(np.float32)]
