"""Large data on few cores: Netflix size (simulated), every rating of Letterboxd, and how time grows with ratings.

python benchmarks/scale.py netflix        # 480,000 users, 17,770 items, 100 ratings each: 1.9 billion comparisons
python benchmarks/scale.py letterboxd     # 19.4 million ratings, all used: 4.3 billion comparisons
python benchmarks/scale.py line           # seconds of a fit against ratings, 1/16 to 1/2 of Netflix size
"""

from __future__ import annotations

import time

import rather
from measuring import bench
from measuring.smoke import sized


def fit(name: str, comparisons: rather.Comparisons, threads: int | None) -> dict[str, object]:
    assert comparisons.ratings is not None
    n_ratings = len(comparisons.ratings.user)
    began = time.perf_counter()
    model = rather.AltSVM(rank=100, n_threads=threads).fit(comparisons)
    seconds = time.perf_counter() - began
    return {
        "data": name,
        "users": comparisons.n_users,
        "ratings": n_ratings,
        "comparisons": len(comparisons),
        "rounds": len(model.history_),
        "seconds": seconds,
        "microseconds a rating and round": 1e6 * seconds / n_ratings / len(model.history_),
        "peak MB": bench.peak_megabytes(),
    }


PARTS = ("netflix", "letterboxd", "line")
USERS, ITEMS = sized((480_000, 17_770), smoke=(480, 200))


def simulated(n_users: int) -> rather.Comparisons:
    return rather.simulate(n_users, ITEMS, rank=10, per_user=100, levels=5, seed=0).comparisons


def main() -> None:
    line = bench.parser(__doc__)
    line.add_argument("what", choices=PARTS, nargs="?", help="(one after the other)")
    line.add_argument("--threads", type=int)
    options = line.parse_args()
    for part in [options.what] if options.what else PARTS:
        if part == "netflix":
            rows = [fit("Netflix size, simulated", simulated(USERS), options.threads)]
        elif part == "letterboxd":
            comparisons = rather.Comparisons.from_ratings(bench.ratings("letterboxd"))
            rows = [fit("Letterboxd, all ratings", comparisons, options.threads)]
        else:
            rows = [fit(f"1/{k} of Netflix size", simulated(USERS // k), options.threads) for k in (16, 8, 4, 2)]
        bench.report(f"scale-{part}", rows)


if __name__ == "__main__":
    main()
