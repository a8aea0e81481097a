"""What the benchmarks share: data, the machine's yardstick, figures from elsewhere, tables and CSV files."""

from __future__ import annotations

import argparse
import csv
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import smoke

RESULTS = smoke.FOLDER if smoke.ON else Path(__file__).resolve().parents[1] / "benchmarks" / "results"


class External(NamedTuple):
    """A rival's time that cannot be measured again here, what it is of, and yardstick() where it was measured."""

    who: str
    seconds: float
    source: str
    yardstick: float

    def row(self, here: float) -> dict[str, Any]:
        """A line of a table beside ours: scaled by the yardstick, which takes so many seconds here."""
        scaled = self.seconds * here / self.yardstick
        return {"who": f"{self.who} (external)", "seconds": scaled, "source": f"{self.seconds:g} s: {self.source}"}


ELSEWHERE = 0.089  # seconds of yardstick() on the machine where these were measured, on 2 threads
AUTHORS = External(
    "the authors' program", 74.0, "github.com/dhpark22/collranking, MovieLens 1M, N = 100, rank 100, to NDCG@10 0.79",
    ELSEWHERE,
)  # fmt: skip
AUTHORS_ON_CLICKS = External(
    "the authors' program", 163.0, "github.com/dhpark22/collranking, 30 million drawn pairs, to precision@10 0.218",
    ELSEWHERE,
)  # fmt: skip
PRIMAL_CR = External(
    "Primal-CR++", 54.0, "Wu, Hsieh, Sharpnack, KDD 2017, their program: ten rounds of about 5.4 s", ELSEWHERE
)  # fmt: skip
AUTHORS_UPDATES = 0.8e6  # a second and core, by the authors' loop, on a 2.8 GHz Xeon with AVX-512


def parser(about: str | None) -> argparse.ArgumentParser:
    """A command line that says what the script does."""
    made = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    smoke.add_option(made)
    return made


def ratings(name: str) -> Any:
    """The ratings of a data set under $RATHER_DATA, as a pyarrow table of user, item, rating."""
    return table(name).select(["user", "item", "rating"])


def table(name: str, file: str | None = None) -> Any:
    """A file of a data set, its main one by default."""
    import rather
    from rather import datasets

    try:
        return datasets.load(name, file)
    except rather.InputError as e:
        sys.exit(str(e))


def yardstick() -> float:
    """Median seconds of a float32 2048 x 2048 x 2048 numpy product: how fast this machine is right now."""
    n = smoke.sized(2048, 256)
    a = np.random.default_rng(0).standard_normal((n, n), dtype=np.float32)
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
    """Print rows as a table and write them to results/<name>.csv; a column that a row lacks is empty."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    texts = [[_text(row.get(c, "")) for c in columns] for row in rows]
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
