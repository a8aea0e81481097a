"""Columns by their exact names. Spark would take a missing name such as ``user`` for a function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..errors import InputError

Column = Any


def column(frame: DataFrame, name: str, role: str, hint: str = "") -> Column:
    """Return the column of a table that has a role, or refuse a table without it."""
    if name not in frame.columns:
        present = ", ".join(map(repr, frame.columns)) or "none"
        raise InputError(f"there is no column {name!r} (for the {role}); the columns are {present}{hint}")
    return F.col(quoted(name))


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def unused(names: Iterable[str]) -> str:
    """Return a prefix that begins none of these names, in upper or lower case."""
    return "_" * (1 + max((len(name) - len(name.lstrip("_")) for name in names), default=0))
