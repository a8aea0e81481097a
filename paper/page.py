"""Write docs/benchmarks/paper.md: every table and figure from the committed results, and whether each claim held.

rather paper page
"""

from __future__ import annotations

import argparse
from pathlib import Path
from types import ModuleType

import claims
import figure2
import sgd_tables
import table1
import table2
import table3
import table4

from measuring import common, smoke, tables
from measuring.common import Row, shown

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "paper.md"
OPENING = """# The paper, reproduced

You read *Preference Completion* (Park, Neeman, Zhang, Sanghavi, Dhillon, ICML 2015). You get its tables and figures as
measured here, and a verdict on each of its claims.

How to read a table:

- A cell is the mean over seeds ± the standard deviation. Without ± there was one seed. A dash was not run.
- The number in brackets is external. The paper prints it for the nearest of its own methods, and we did not measure it.
- Parameters are the library's defaults. Where a name says tuned, held-out training data of one seed chose them. The
  other seeds split the same ratings, so they overlap with that data.
- MovieLens 10M and Netflix appear where you have their files (`rather data`). Letterboxd, with 19 million ratings,
  stands in for both.
- Seconds belong to the machine that measured the row.

Run it yourself: `rather paper` lists the commands, and each section below names its own. A command writes its results
to the folder `rather-paper`, or to `--results FOLDER`. With `--committed` it works on `paper/results`, from which
`rather paper page` writes this page. A test keeps the page up to date.
"""
SECTIONS: tuple[tuple[str, ModuleType], ...] = (
    ("Table 1: data sets", table1),
    ("Table 2: NDCG@10 from N ratings a user", table2),
    ("Table 3: precision@K from binary data", table3),
    ("Table 4: threads", table4),
    ("Figure 2: quality over time", figure2),
    ("The appendix: stochastic gradient descent", sgd_tables),
)
PLACES = ("data", "panel", "N", "given", "method")  # columns that distinguish cells
CLAIMS = """## What the paper claims of its experiments

Each claim is judged, with related ones that suggest themselves. Means and differences are over the seeds that both
methods have. A difference is level if a t-test at 5 % finds none, or if there is one seed only.

"""
ELSEWHERE = """## Figure 1 and the theory

Figure 1 shows accuracy by the number of comparisons per user on MovieLens 100K. It has [its own page](figure1.md). The
page on [theory](../concepts/theory.md) has the theorems in simulation.
"""


def page() -> str:
    parts = [OPENING, ELSEWHERE]
    for title, script in SECTIONS:
        about = (script.__doc__ or "").split("\n\n", 2)
        rows = common.read(script.NAME)
        parts.append(f"## {title}\n\nCommand: `{about[1].strip()}`. Measured on {seeds(rows)}.\n\n{about[2].strip()}\n")
        parts.append(f"{script.table(rows)}\n" if rows else "Not measured yet.\n")
        if script is figure2 and rows:
            parts.append(f"![NDCG@10 and precision@10 over training time](../pictures/{figure2.NAME}.svg)\n")
    parts.append(CLAIMS + "\n".join(claim.stated() for claim in claims.CLAIMS))
    return "\n".join(parts)


def seeds(rows: list[Row]) -> str:
    """Return which seeds the results have, in words."""
    cells: dict[tuple[object, ...], set[int]] = {}
    for row in rows:
        cells.setdefault(tuple(row.get(place) for place in PLACES), set()).add(row["seed"])
    every = set().union(*cells.values())
    fewer = ", in some cells fewer" if any(found != every for found in cells.values()) else ""
    return tables.seeds(every) + fewer if rows else "no seeds yet"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    smoke.add_option(parser)
    where = smoke.FOLDER / PAGE.name if parser.parse_args().smoke else PAGE
    where.write_text(page())
    print(f"-> {shown(where)}")
