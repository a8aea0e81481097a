"""What to show people who came with ratings, and how well what they rated is ordered.

    python benchmarks/lists.py [--seeds 5] [--only SET ...]     # some minutes

The paper's protocol: N ratings of each user to learn from, the others to test. Precision@10: of the ten items that
``recommend`` gives, what was seen left out, those that the user rated 4 or more in the test part. NDCG@10: the order of
the test ratings. Beside the default: its own lists by score alone, popularity (how many rated an item 4 or more), a
model of clicks that are the ratings of 4 and more, the mean rating (``ItemMean``), one ranking of pairs (``Global``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import rather
from measuring import bench
from measuring.smoke import sized

GOOD = 4
SETS = {
    "ml-latest-small": sized((10, 20, 50), (10,)),
    "ml-100k": sized((10, 20, 50), (10,)),
    "ml-1m": sized((20, 50), (10,)),
}
FIRST_SEED = 100  # the form of the lists was chosen on training ratings of this one, and seen on tests of 0 to 2
LIST = 10


class ByScore:
    """A model's lists in the order of its scores."""

    def __init__(self, model: rather.AltSVM) -> None:
        self.users_, self.items_, self._model = model.users_, model.items_, model

    def score(self, users: Any, items: Any) -> Any:
        return self._model.score(users, items)


class Popularity:
    """How many gave an item a good rating."""

    def __init__(self, train: Any) -> None:
        self.users_, self.items_ = (np.unique(train[name].to_numpy()) for name in ("user", "item"))
        item = liked(train)["item"].to_numpy()
        self._count = np.bincount(np.searchsorted(self.items_, item), minlength=len(self.items_))

    def score(self, users: Any, items: Any) -> Any:
        return self._count[np.searchsorted(self.items_, items)].astype(float)


def liked(ratings: Any) -> Any:
    return ratings.filter(pc.greater_equal(ratings["rating"], GOOD))


def clicks(train: Any) -> Any:
    return rather.AltSVM().fit(rather.Comparisons.from_clicks(liked(train).select(["user", "item"])))


METHODS: dict[str, Callable[[Any], Any]] = {
    "default": lambda train: rather.AltSVM().fit(rather.Comparisons.from_ratings(train)),
    "by score": lambda train: ByScore(rather.AltSVM().fit(rather.Comparisons.from_ratings(train))),
    "clicks of 4 and more": clicks,
    "popularity": Popularity,
    "ItemMean": lambda train: rather.ItemMean().fit(rather.Comparisons.from_ratings(train)),
    "Global": lambda train: rather.Global(loss="squared_hinge").fit(rather.Comparisons.from_ratings(train)),
}


def measure(train: Any, test: Any, method: str) -> dict[str, float]:
    began = time.perf_counter()
    model = METHODS[method](train)
    seconds = time.perf_counter() - began
    seen = train.select(["user", "item"])
    shown = rather.precision(model, liked(test), k=LIST, exclude=seen, unknown="everyone")
    ordered = np.nan if method.startswith("clicks") else float(rather.ndcg(model, test, k=10, unknown="everyone"))
    return {"precision@10": float(shown), "NDCG@10": ordered, "seconds": seconds}


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=sized(5, 1))
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    options = parser.parse_args()
    rows = []
    for name in options.only:
        table = bench.ratings(name)
        for n in SETS[name]:
            splits = [rather.split_ratings(table, n, seed=FIRST_SEED + seed) for seed in range(options.seeds)]
            for method in METHODS:
                found = [measure(pa.table(train), pa.table(test), method) for train, test in splits]
                figures = {key: [f[key] for f in found] for key in found[0]}
                mean = {key: float(np.mean(values)) for key, values in figures.items()}
                error = float(np.std(figures["precision@10"], ddof=1)) if len(found) > 1 else 0.0
                row = {"set": name, "N": n, "method": method, "seeds": len(found), "precision@10": mean["precision@10"]}
                kept = {key: mean[key] for key in ("NDCG@10", "seconds") if np.isfinite(mean[key])}
                rows.append({**row, "sd": error, **kept})
                print(*rows[-1].values(), flush=True)
    bench.report("lists", rows)


if __name__ == "__main__":
    main()
