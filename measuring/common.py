"""What the paper's scripts share: results as CSV files, means over seeds, and one look for all pictures.

Every script runs an experiment, writes one row per run to ``<name>.csv``, and draws from that file ``<name>.svg``: in a
folder of the user's own (``--results``, rather-paper in the current folder), or, with ``--committed``, in
``paper/results`` and ``docs/pictures``.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import smoke

ROOT = Path(__file__).resolve().parents[1]  # of the checkout, whichever link to this folder was taken
COMMITTED = ROOT / "paper" / "results"
OWN = Path("rather-paper")
RESULTS = COMMITTED  # where results are read and written; what is asked for on a command line goes before it
PICTURES = ROOT / "docs" / "pictures"
COLOURS = ("#0b6e4f", "#c8553d", "#3a6ea5", "#b8860b", "#7b4b94", "#555555")

Row = dict[str, Any]


def parser_of(about: str | None, seeds: int) -> argparse.ArgumentParser:
    """The options that every script has."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    seeds = smoke.sized(seeds, 1)
    parser.add_argument("--seeds", type=int, default=seeds, metavar="N", help=f"seeds 0 to N - 1 (N = {seeds})")
    parser.add_argument("--results", type=Path, default=OWN, metavar="FOLDER", help=f"of your own results ({OWN})")
    parser.add_argument("--committed", action="store_true", help="work on paper/results and docs/pictures instead")
    smoke.add_option(parser)
    return parser


def go_to(options: argparse.Namespace) -> None:
    """Read and write where the command line says."""
    global RESULTS, PICTURES
    if options.smoke:
        RESULTS = PICTURES = smoke.FOLDER
    elif not options.committed:
        RESULTS = PICTURES = options.results


def nothing_yet() -> str:
    return f"nothing was measured yet in {shown(RESULTS)}; --committed has what is part of the checkout"


def shown(path: Path) -> Path:
    """A path as seen from the current folder, if it is in there."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def write(name: str, rows: Sequence[Row]) -> None:
    """The rows, whole or not at all; a column that a row lacks is empty."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    beside = RESULTS / f".{name}.csv"
    with beside.open("w", newline="") as f:
        writer = csv.DictWriter(f, columns, restval="")
        writer.writeheader()
        writer.writerows({key: text(value) for key, value in row.items()} for row in rows)
    beside.replace(RESULTS / f"{name}.csv")


def read(name: str, folder: Path | None = None) -> list[Row]:
    """The rows of a result, numbers as numbers; none where there is no file yet."""
    path = (folder or RESULTS) / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as f:
        return [{key: _number(text) for key, text in row.items()} for row in csv.DictReader(f)]


def mean(rows: Iterable[Row], value: str, **wanted: Any) -> tuple[float, float]:
    """Mean and standard deviation over the rows (seeds) in which every wanted column has its value."""
    found = [row[value] for row in rows if all(row[key] == what for key, what in wanted.items())]
    return float(np.mean(found)), float(np.std(found, ddof=1)) if len(found) > 1 else 0.0


def axes(width: float = 7.2, height: float = 4.2, columns: int = 1) -> tuple[Any, Any]:
    """A figure in the house style and its axes."""
    import matplotlib  # here, because tables can do without

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({
        "font.family": "sans-serif", "font.size": 10.5, "svg.fonttype": "path", "svg.hashsalt": "rather",
        "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e3e3e3",
        "legend.frameon": False,
    })  # fmt: skip
    return plt.subplots(1, columns, figsize=(width, height), layout="constrained")


def save(figure: Any, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
    print(f"-> {shown(RESULTS / name)}.csv, {shown(PICTURES / name)}.svg")


def text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
