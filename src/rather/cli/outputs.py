"""What may be written where: nothing is overwritten that is not ours, unless --force says so."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ..data.table_files import table_destination
from ..data.whole_files import destination
from ..errors import InputError

OURS = "rather-model-"  # how the format of our model files begins, whatever the version


def add_force(parser: Any) -> None:
    parser.add_argument("--force", action="store_true", help="overwrite a file that is there already")


def check_table(path: str, force: bool) -> None:
    """Refuse a table that cannot be written, or whose place is taken."""
    if table_destination(path).exists() and not force:
        raise InputError(f"{path!r} is there already; give another name, or --force to overwrite it")


def check_model(path: str, force: bool) -> None:
    """Refuse a model that cannot be written, or whose place is taken by anything but a model."""
    if destination(path).exists() and not force and not is_model(path):
        raise InputError(
            f"{path!r} is there already and is not a model of rather; give another name, or --force to overwrite it"
        )


def is_model(path: str) -> bool:
    """Whether a file is one of our models, by its format alone."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as f:
            return str((f.metadata() or {}).get("format", "")).startswith(OURS)
    except (SafetensorError, OSError, ValueError, TypeError):
        return False


def check_different(what: str, paths: Iterable[str | None]) -> None:
    """Refuse two files under one name."""
    named = [path for path in paths if path is not None and path != "-"]
    if len({os.path.realpath(path) for path in named}) < len(named):
        raise InputError(f"{what} must be different files, not {', '.join(named)}")
