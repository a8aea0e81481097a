"""The appendix's tables: stochastic gradient descent on the paper's objective, NDCG@10 from ratings and precision@K.

    rather paper sgd_tables [--only ratings clicks] [--data ml-1m] [--seeds 5] [--processes 16 --threads 1] [--missing]

The fits have the library's defaults, rank 100. The paper took the best of several step lengths. Here held-out training
data chose one rule for all data sets. Clicks are drawn as in the paper, C = 5000 comparisons per user.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import rather
from measuring import smoke, tables
from measuring.common import Row
from measuring.experiment import Cell

NAME = "sgd_tables"
DATA = ("ml-1m", "letterboxd", "ml-10m", "netflix")
SIZES = (20, 50, 100)
RANK, DRAWN = 100, smoke.sized(5000, 100)
METHODS = ("ratings", "clicks")
NDCG = {
    "ml-1m": dict(zip(SIZES, (0.6852, 0.7666, 0.7728), strict=True)),
    "ml-10m": dict(zip(SIZES, (0.6977, 0.7452, 0.7659), strict=True)),
}
PRECISION = dict(zip(tables.TOPS, (0.1556, 0.1498, 0.1236, 0.1031, 0.0441), strict=True))


def from_ratings(data: str, n: int, seed: int) -> Iterator[Row]:
    train, test = tables.rating_split(data, n, seed)
    _, model, cost = tables.fitted(rather.SGD(rank=RANK, seed=seed), lambda: rather.Comparisons.from_ratings(train))
    yield {"measure": "ndcg@10", "value": rather.ndcg(model, test, k=10), **cost}


def from_clicks(data: str, seed: int) -> Iterator[Row]:
    train, test = tables.click_split(data, seed)
    _, model, cost = tables.fitted(
        rather.SGD(rank=RANK, seed=seed), lambda: rather.Comparisons.from_clicks(train, per_user=DRAWN, seed=seed)
    )
    for measure, value in tables.precisions(model, train, test).items():
        yield {"measure": measure, "value": value, **cost}


def cells(data: str, seed: int) -> Iterator[Cell]:
    for n in SIZES:
        yield Cell({"data": data, "method": "ratings", "given": n}, partial(from_ratings, data, n, seed))
    if data == "ml-1m":
        yield Cell({"data": data, "method": "clicks", "given": DRAWN}, partial(from_clicks, data, seed))


def table(rows: list[Row]) -> str:
    lines = []
    for data in (name for name in DATA if any(row["data"] == name for row in rows)):
        paper = NDCG.get(data, {})
        found = [tables.stated(rows, "value", paper.get(n), data=data, method="ratings", given=n) for n in SIZES]
        lines.append([tables.TITLES[data], *found])
    ratings = tables.markdown(["NDCG@10, N =", *map(str, SIZES)], lines)
    found = [
        tables.stated(rows, "value", printed, method="clicks", measure=f"precision@{k}")
        for k, printed in PRECISION.items()
    ]
    return (
        ratings + "\n\n" + tables.markdown(["precision@", *map(str, PRECISION)], [["MovieLens 1M, binarised", *found]])
    )


if __name__ == "__main__":
    tables.main(NAME, __doc__, cells, table, data=DATA, methods=METHODS)
