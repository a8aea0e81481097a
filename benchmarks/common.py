"""What the benchmarks share: data, the machine's yardstick, tables and CSV files."""

from __future__ import annotations

import csv
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
AUTHORS_SECONDS = (
    74.0  # training time of the authors' program, 2 threads, MovieLens 1M, N = 100, rank 100, to NDCG@10 0.79
)
AUTHORS_YARDSTICK = 0.089  # seconds of yardstick() on the machine where that was measured


def ratings(name: str) -> Any:
    """The ratings of a data set under $RATHER_DATA, as a pyarrow table of user, item, rating."""
    folder = os.environ.get("RATHER_DATA")
    if not folder:
        sys.exit("set RATHER_DATA to the folder with the data sets")
    import pyarrow.parquet

    return pyarrow.parquet.read_table(Path(folder) / name / "ratings.parquet", columns=["user", "item", "rating"])


def yardstick() -> float:
    """Median seconds of a float32 2048 x 2048 x 2048 numpy product: how fast this machine is right now."""
    a = np.random.default_rng(0).standard_normal((2048, 2048), dtype=np.float32)
    return median_seconds(lambda: a @ a, 7)


def median_seconds(run: Callable[[], Any], repeats: int = 5) -> float:
    """The median time of several calls."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def peak_megabytes() -> float:
    """The most memory this process has held."""
    status = Path("/proc/self/status")
    if status.exists():  # not getrusage, which counts what the parent held when it forked
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # macOS: bytes


def report(name: str, rows: list[dict[str, Any]]) -> None:
    """Print rows as a table and write them to results/<name>.csv."""
    columns = list(rows[0])
    texts = [[_text(row[c]) for c in columns] for row in rows]
    widths = [max(len(c), *(len(t[n]) for t in texts)) for n, c in enumerate(columns)]
    for line in [columns, *texts]:
        print("  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)))
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as f:
        writer = csv.writer(f)
        writer.writerows([columns, *texts])
    print(f"-> {RESULTS.name}/{name}.csv")


def _text(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
