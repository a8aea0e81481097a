"""Output files: models with the times of their fits, and the check that no other file is overwritten."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from ..data.table_files import table_destination
from ..data.whole_files import destination
from ..errors import InputError
from .answer import Document

OURS = "rather-model-"  # how the format of our model files begins, whatever the version


def add_output(parser: Any, *more: Callable[[Any], None], json: str = "print one JSON document only") -> None:
    """The options that say what is written: a command's own, then those of every command."""
    group = parser.add_argument_group("Output")
    for add in more:
        add(group)
    group.add_argument("--json", action="store_true", help=json)
    group.add_argument("-h", "--help", action="help", help="print this help")


def add_force(parser: Any) -> None:
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


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


# -- models -----------------------------------------------------------------------------------------------------------


def add_slim(parser: Any) -> None:
    parser.add_argument(
        "--slim", action="store_true",
        help="leave the votes out of the file: smaller, but no intervals of users and no updates",
    )  # fmt: skip


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Add the time that a block takes to what its name has taken before."""
    began = perf_counter()
    try:
        yield
    finally:
        seconds[name] = seconds.get(name, 0.0) + perf_counter() - began


def saved(model: Any, path: str, slim: bool, seconds: dict[str, float]) -> Document:
    """Save a model; returns where, how large the file is and whether it holds everybody's answers."""
    with timed(seconds, "saving"):
        model.save(path, comparisons=not slim)
    return {"out": path, "bytes": Path(path).stat().st_size, "answers": model.fitted.training is not None and not slim}


def show_saved(document: Document, named: str, slim: str = "") -> dict[str, str]:
    """Return lines for the times of a command, but for that of the named step, and for the file.

    ``slim`` is what is added about a file without answers.
    """
    times = {f"{name} took": f"{took:.2f} seconds" for name, took in document["seconds"].items() if name != named}
    without = f"without the answers, but with the items that each user met{slim}"
    holds = "with everybody's answers; --slim leaves them out" if document["answers"] else without
    return {**times, "saved": f"{document['out']} ({_shown(document['bytes'])}, {holds})"}


def _shown(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"
