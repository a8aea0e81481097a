"""What the scripts of this folder share: results as CSV files, means over seeds, and one look for all pictures.

Every script runs an experiment, writes one row per run to ``results/<name>.csv``, and draws from that file
``docs/pictures/<name>.svg``. With ``--draw`` it only draws.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
COLOURS = ("#0b6e4f", "#c8553d", "#3a6ea5", "#b8860b", "#7b4b94", "#555555")

Row = dict[str, Any]


def main(
    name: str, about: str | None, measure: Callable[[int], Iterable[Row]], draw: Callable[[list[Row]], Any], seeds: int
) -> None:
    """Measure with some seeds (each yields rows), write the CSV, draw; what every script's command line is."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=seeds, metavar="N", help=f"({seeds})")
    parser.add_argument("--draw", action="store_true", help="only draw, from the results that are there")
    options = parser.parse_args()
    if not options.draw:
        rows = []
        for seed in range(options.seeds):
            for row in measure(seed):
                rows.append({"seed": seed, **row})
                print("  ".join(f"{key} {text(value)}" for key, value in rows[-1].items()), flush=True)
        write(name, rows)
    draw(read(name))


def write(name: str, rows: Sequence[Row]) -> None:
    """The rows, whole or not at all; a column that a row lacks is empty."""
    RESULTS.mkdir(exist_ok=True)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    beside = RESULTS / f".{name}.csv"
    with beside.open("w", newline="") as f:
        writer = csv.DictWriter(f, columns, restval="")
        writer.writeheader()
        writer.writerows({key: text(value) for key, value in row.items()} for row in rows)
    beside.replace(RESULTS / f"{name}.csv")


def read(name: str) -> list[Row]:
    """The rows of a result, numbers as numbers."""
    with (RESULTS / f"{name}.csv").open(newline="") as f:
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
    PICTURES.mkdir(exist_ok=True)
    figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
    print(f"-> paper/results/{name}.csv, docs/pictures/{name}.svg")


def text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
