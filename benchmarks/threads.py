"""Threads: what they gain, phase by phase, and the same bits at any number of them. The default fit, rank 100.

    python benchmarks/threads.py [ml-1m letterboxd simulated] [--threads 1 2 4 8 16]

MovieLens 1M and Letterboxd with N = 100 ratings a user, and simulated ratings of 20,000 users. Seconds are medians of
three fits (of one on Letterboxd), from comparisons that are there. The phases: ``exposure``, who met what; ``start``,
the global ranking and the spectrum of what it leaves; the two steps of the rounds; and the ``rest``, which is Python's.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

import rather
from measuring import bench, tables
from measuring.smoke import sized
from rather.solving import start
from rather.solving.problem import Problem
from rather.solving.spec import Spec

N, RANK = 100, 100
REPEATS = {"letterboxd": 1}
DATA = ("ml-1m", "letterboxd", "simulated")


class Phases:
    """Seconds by phase; those of a phase within another one are the outer one's."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inside = False
        for name, owner, method in (
            ("exposure", Spec, "exposed"), ("item step", Problem, "item_step"), ("user step", Problem, "user_step")
        ):  # fmt: skip
            setattr(owner, method, self.of(name, getattr(owner, method)))
        setattr(start, "spectral", self.of("start", start.spectral))  # noqa: B010 (a patch)

    def of(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **named: Any) -> Any:
            if self._inside:
                return function(*args, **named)
            self._inside, began = True, time.perf_counter()
            try:
                return function(*args, **named)
            finally:
                self._inside = False
                self.seconds[name] += time.perf_counter() - began

        return timed


def comparisons(data: str) -> rather.Comparisons:
    if data == "simulated":
        n_users, n_items = sized((20_000, 4000), smoke=(100, 200))
        return rather.simulate(n_users, n_items, rank=10, per_user=100, levels=5).comparisons
    return rather.Comparisons.from_ratings(tables.rating_split(data, N, 0)[0])


def bits_of(model: Any) -> list[Any]:
    return [model.user_factors_, model.item_factors_, model.item_bias_]


def main() -> None:
    line = bench.parser(__doc__)
    line.add_argument("data", nargs="*", help=f"of {', '.join(DATA)}: those that are there")
    line.add_argument("--threads", type=int, nargs="+", default=[2**k for k in range(10) if 2**k <= tables.cores()])
    options = line.parse_args()
    phases = Phases()
    rows: list[dict[str, Any]] = []
    for data in options.data or [*tables.present(DATA[:2]), "simulated"]:
        made = comparisons(data)
        _ = made.store  # not part of a fit
        first: rather.AltSVM | None = None
        for n_threads in options.threads:
            fits = []
            for _ in range(sized(REPEATS.get(data, 3), smoke=1)):
                phases.seconds.clear()
                began = time.perf_counter()
                model = rather.AltSVM(rank=sized(RANK, smoke=8), n_threads=n_threads).fit(made)
                fits.append({"seconds": time.perf_counter() - began, **phases.seconds})
            first = first or model
            middle = {name: float(np.median([fit.get(name, 0.0) for fit in fits])) for name in fits[-1]}
            seconds = middle.pop("seconds")
            row: dict[str, Any] = {
                "data": data,
                "threads": n_threads,
                "rounds": len(model.history_),
                "seconds": seconds,
            }
            alone = next((one["seconds"] for one in rows if one["data"] == data), seconds)
            row["speed-up"] = alone / seconds
            row |= middle | {"rest": seconds - sum(middle.values())}
            row["same bits"] = all(map(np.array_equal, bits_of(first), bits_of(model)))
            rows.append(row)
    bench.report("threads", rows)


if __name__ == "__main__":
    main()
