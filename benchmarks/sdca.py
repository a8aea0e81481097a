"""The paper's algorithm: updates a second of ``PaperAltSVM`` by number of threads, MovieLens 1M, N = 100, rank 100.

    python benchmarks/sdca.py [--threads 1 2 4 8 16]

A round makes two updates for every comparison, one of each half; what it does beside them (the factors rebuilt from the
duals, the objective and the gaps, under a hundredth) is in its time. The start is not. The authors' program makes 0.8
million updates a second and core on a 2.8 GHz Xeon with AVX-512 (external: not measured here). What the machine itself
gains from its threads is measured beside: fused multiply-adds in registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import rather
from measuring import bench, tables
from measuring.smoke import sized
from rather.native import core


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=[2**k for k in range(10) if 2**k <= tables.cores()])
    parser.add_argument("--rounds", type=int, default=sized(5, smoke=2), help="the first is not counted")
    parser.add_argument("--simulate", action="store_true", help="simulated ratings of the same size, not the data set")
    options = parser.parse_args()
    if options.simulate:
        comparisons = rather.simulate(2711, 3492, rank=10, per_user=100, levels=5).comparisons
    else:
        comparisons = rather.Comparisons.from_ratings(tables.rating_split("ml-1m", 100, seed=0)[0])
    rows: list[dict[str, Any]] = []
    machine = core.most_flops(options.threads[0])
    for n_threads in options.threads:
        model = rather.PaperAltSVM(reg=2000.0, n_threads=n_threads, max_iter=options.rounds, tol=0).fit(comparisons)
        seconds = float(np.median(np.diff([record["seconds"] for record in model.history_])))
        rate = 2 * len(comparisons) / seconds
        rows.append({
            "threads": n_threads,
            "million updates a second": rate / 1e6,
            "speed-up": rate / (rows[0]["million updates a second"] * 1e6) if rows else 1.0,
            "speed-up of fused multiply-adds": core.most_flops(n_threads) / machine,
            "over the authors', a core (external)": rate / n_threads / bench.AUTHORS_UPDATES,
        })  # fmt: skip
    bench.report("sdca", rows)


if __name__ == "__main__":
    main()
