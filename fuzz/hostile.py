"""Tensors and words as no program of ours would write them: wrong types, shapes, numbers, and JSON of all sorts."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np

DTYPES = (np.float64, np.float16, np.int32, np.int64, np.uint8, np.bool_, np.uint64, np.int8, np.float32)
SHAPES = ((30_000_000, 0), (0,), (0, 3), (1,), (3, 0), (2**40, 0), (1, 1, 1), (), (5_000_000,), (2, 100_000))
VALUES = (np.nan, np.inf, -np.inf, 3e38, 1e15, 9.9e14, -9e14, 1e-45, -1, 0, 1, 2**31 - 1, -(2**31), 255)
LEAVES: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2, 0.5, -0.0, 1e308, 1e-320, float("inf"), float("nan"), 2**31, 2**63, 2**70, 10**400,
    4096, 4097, "", "x", "auto", "cv", "pandas", "hinge", "squared_difference", "\ud800", "\0", "x" * 5000,
    "a\nb", [], {}, [[]], [{}], [{"round": 1}], [{"round": 1, "gap": float("nan")}], {"user": 1}, {"user": "item"},
    [1, 2], "AltSVM", "Global", "LCR", "int", "int64", "str",
)  # fmt: skip
DEEP = "[" * 5000 + "]" * 5000


def edited(rng: random.Random, tensors: dict[str, Any], words: Any) -> tuple[dict[str, Any], str]:
    """Copies of both with one to three things made hostile; the words as JSON text."""
    tensors = {name: tensor.copy() for name, tensor in tensors.items()}
    for _ in range(rng.choice((1, 1, 2, 3))):
        if rng.random() < 0.45 and tensors:
            _edit_tensors(rng, tensors)
        else:
            words = _edit_words(rng, words)
    text = json.dumps(words)
    if rng.random() < 0.03:
        text = rng.choice((DEEP, "", "null", "[]", "3", text + "x", text.replace('"', "'"), '{"a":' * 3000))
    return tensors, text


def _edit_tensors(rng: random.Random, tensors: dict[str, Any]) -> None:
    name = rng.choice(list(tensors))
    old = tensors[name]
    how = rng.randrange(9) if old.ndim else rng.randrange(6)
    with np.errstate(all="ignore"):
        if how == 0:
            tensors[name] = old.astype(rng.choice(DTYPES))
        elif how == 1:
            tensors[name] = np.zeros(rng.choice(SHAPES), old.dtype)
        elif how == 2:
            flat = old.reshape(-1)
            if len(flat):
                flat[rng.randrange(len(flat))] = np.float64(rng.choice(VALUES)).astype(old.dtype)
        elif how == 3:
            tensors[name] = np.full_like(old, np.float64(rng.choice(VALUES)).astype(old.dtype))
        elif how == 4:
            del tensors[name]
        elif how == 5:
            tensors[rng.choice(("x", "U", "exposure_parts", "exposure_coefficients", "users_end"))] = old
        elif how == 6:
            tensors[name] = old[:-1] if rng.random() < 0.5 else np.concatenate((old, old[-1:]))
        elif how == 7:
            tensors[name] = old[::-1].copy() if old.ndim else old
        else:
            twin = rng.choice(list(tensors))
            tensors[name], tensors[twin] = tensors[twin], tensors[name]


def _edit_words(rng: random.Random, words: Any) -> Any:
    """JSON with one leaf or branch replaced, dropped or doubled."""
    words = json.loads(json.dumps(words))
    here = words
    while isinstance(here, (dict, list)) and here:
        key: Any = rng.choice(list(here)) if isinstance(here, dict) else rng.randrange(len(here))
        if not isinstance(here[key], (dict, list)) or not here[key] or rng.random() < 0.3:
            how = rng.random()
            if how < 0.75:
                here[key] = rng.choice(LEAVES)
            elif how < 0.9 or isinstance(here, list):
                del here[key]
            else:
                here[rng.choice(("x", "_restore", "fit", "__class__", "users_", "n_threads"))] = here[key]
            return words
        here = here[key]
    return rng.choice(LEAVES)
