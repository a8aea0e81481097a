"""Table 1: the data sets, as the paper describes them and as they are here.

    rather paper table1

The paper's 3,900 items of MovieLens 1M are all films in the list of the data set. Ratings exist for 3,706 of them.
Comparisons are all pairs that a user rated differently. The paper does not count comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import rather
from measuring import tables
from measuring.common import Row
from measuring.experiment import Cell

NAME = "table1"
DATA = ("ml-100k", "ml-1m", "letterboxd", "ml-10m", "netflix")
COUNTS = ("users", "items", "ratings")
PAPER = {
    "ml-100k": (943, 1682, 100_000),  # in the text of Section 5.1
    "ml-1m": (6040, 3900, 1_000_209),
    "ml-10m": (71_567, 10_681, 10_000_054),
    "netflix": (480_000, 17_000, 100_000_000),
}


def count(data: str) -> list[Row]:
    table = tables.ratings(data)
    comparisons = rather.Comparisons.from_ratings(table)
    sizes = (comparisons.n_users, comparisons.n_items, table.num_rows)
    return [{**dict(zip(COUNTS, sizes, strict=True)), "comparisons": len(comparisons)}]


def cells(data: str, seed: int) -> Iterator[Cell]:
    yield Cell({"data": data}, partial(count, data))


def table(rows: list[Row]) -> str:
    lines = []
    for data in DATA:
        here = next((row for row in rows if row["data"] == data), None)
        paper = dict(zip(COUNTS, PAPER.get(data, ()), strict=False))
        ours = [f"{here[name]:,}" if here else tables.NOTHING for name in (*COUNTS, "comparisons")]
        printed = [f" ({paper[name]:,})" if name in paper else "" for name in (*COUNTS, "comparisons")]
        lines.append([tables.TITLES[data], *(a + b for a, b in zip(ours, printed, strict=True))])
    return tables.markdown(["", *COUNTS, "comparisons"], lines)


if __name__ == "__main__":
    tables.main(NAME, __doc__, cells, table, data=DATA, seeds=1, any_threads=False)
