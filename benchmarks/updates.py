"""Updates a second of the stochastic methods, SGD and BPR, beside implicit's BPR: clicks of MovieLens 1M, rank 100.

    python benchmarks/updates.py

Each rate is of the difference between a long and a short fit, so that what comes before the first update is left out.
The methods take turns, so that they share what else the machine does. SGD's updates are of pairs drawn before, 500 a
user; the two BPRs draw the other item of every update.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as implicit asks for; before numpy is loaded

from typing import Any

import numpy as np

import rather
from measuring import bench, others, tables
from measuring.smoke import sized

SHORT, LONG = 1, 5


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, tables.cores()}))
    parser.add_argument("--repeats", type=int, default=sized(3, smoke=1))
    options = parser.parse_args()
    train, _ = tables.click_split("ml-1m", seed=0)
    clicked = rather.Comparisons.from_clicks(train, unseen=1)
    compared = rather.Comparisons.from_clicks(train, per_user=500)
    updates = {"BPR": train.num_rows, "SGD": len(compared), "implicit BPR": train.num_rows}
    rows: list[dict[str, Any]] = []

    def seconds(name: str, rounds: int, n_threads: int) -> float:
        if name == "implicit BPR":
            return others.implicit("bpr", factors=100, iterations=rounds)(train, 0, n_threads)[1]
        how: dict[str, Any] = {"rank": 100, "max_iter": rounds, "n_threads": n_threads}
        if name == "BPR":
            return others.timed(lambda: clicked, rather.BPR(**how).fit)[1]
        return others.timed(lambda: compared, rather.SGD(**how, tol=0).fit)[1]

    names = others.runnable(tuple(updates))
    for n_threads in options.threads:
        rates: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(options.repeats):
            for name in names:
                took = seconds(name, LONG, n_threads) - seconds(name, SHORT, n_threads)
                rates[name].append((LONG - SHORT) * updates[name] / took / 1e6)
        for name in names:
            rate = float(np.median(rates[name]))
            rows.append({"method": name, "threads": n_threads, "million updates a second": rate})
    bench.report("updates", rows)


if __name__ == "__main__":
    main()
