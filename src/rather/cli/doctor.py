"""rather doctor: check versions, processor, optional packages, and a fit that must not depend on threads."""

from __future__ import annotations

import argparse
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__, cores, native
from ..data.simulate import simulate
from ..datasets.named import cache
from ..models.altsvm import AltSVM

if TYPE_CHECKING:
    from rich.console import Console

    from .answer import Answer

# Each optional package, what it is for, and what to install to get it.
OPTIONAL = {
    "pandas": ("pandas frames", "pandas"),
    "polars": ("polars frames", "polars"),
    "pyarrow": ("Parquet files and Arrow tables", "pyarrow"),
    "matplotlib": ("pictures", "matplotlib"),
    "scikit-learn": ("cross-validation with its tools", "scikit-learn"),
}


def doctor(options: argparse.Namespace) -> Answer:
    return examine(), show


def examine() -> dict[str, Any]:
    """Everything the doctor reports; ``ok`` is whether the self-check passed."""
    packages = {name: _version(name) for name in OPTIONAL}
    check = self_check()
    return {
        "version": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": _version("scipy"),
        "system": platform.platform(),
        "threads": cores.default(),
        "thread_limits": cores.limits(),
        "simd": native.simd,
        "best_simd": native.best,
        "packages": packages,
        "install": sorted({f"pip install {OPTIONAL[name][1]}" for name, found in packages.items() if found is None}),
        "data": os.environ.get("RATHER_DATA"),
        "cache": str(cache()),
        "self_check": check,
        "ok": check == "ok",
    }


def self_check() -> str:
    """'ok', or how the answers of one thread and of two differed."""
    try:
        votes = simulate(n_users=100, n_items=50, per_user=30).comparisons
        one, two = (AltSVM(rank=8, n_threads=n).fit(votes) for n in (1, 2))
    except Exception as e:  # whatever it is, the installation is not sound and the report must still appear
        return f"failed: {type(e).__name__}: {e}"
    if all(map(np.array_equal, one.fitted.scorer.tensors().values(), two.fitted.scorer.tensors().values())):
        return "ok"
    return "failed: fits with 1 and 2 threads differ"


def show(document: dict[str, Any], console: Console) -> None:
    """The report for a person."""
    from rich.table import Table

    table = Table.grid(padding=(0, 3))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("rather", document["version"])
    table.add_row("Python", f"{document['python']}, numpy {document['numpy']}, scipy {document['scipy']}")
    table.add_row("system", document["system"])
    table.add_row("processor", f"{document['simd']} (best here: {document['best_simd']})")
    table.add_row("threads", _threads(document["threads"], document["thread_limits"]))
    for name, found in document["packages"].items():
        table.add_row(name, found or f"not installed ({OPTIONAL[name][0]})")
    table.add_row("data", document["data"] or "$RATHER_DATA is not set")
    table.add_row("cache", document["cache"])
    table.add_row("self-check", document["self_check"], style="green" if document["ok"] else "bold red")
    console.print(table)
    if document["install"]:
        console.print("\nTo get what is missing:")
        for command in document["install"]:
            console.print(f"  {command}")


def _threads(default: int, limits: dict[str, int]) -> str:
    """Say how many threads are used by default, and which limit decides."""
    deciding = " and ".join(name for name, limit in limits.items() if limit == default)
    return f"{default} by default, limited by {deciding} ({', '.join(f'{n}: {k}' for n, k in limits.items())})"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
