"""docs/benchmarks/paper.md: every table and figure from the committed results, and whether each claim held.

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

Every table and figure of *Preference Completion* (Park, Neeman, Zhang, Sanghavi, Dhillon, ICML 2015), each by one
command; `rather paper` lists them. Ours is the mean over seeds ± the standard deviation (one seed where there is no ±),
the figure the paper prints for the nearest of its own methods stands in brackets, a dash is for what was not run.
Parameters are the library's defaults or, where it says tuned, were chosen on held-out training data of one seed; the
other seeds' splits of the same ratings overlap with these. MovieLens 10M and Netflix are used where their files are
given (`rather data`); Letterboxd, 19 million ratings, stands in for them. Seconds are of whichever machine made a row.

The figures in brackets are external: the paper's own, not measured here. The commands write to a folder of your own
(`--results`, `rather-paper` unless told) and show what they measured; with `--committed` they work on `paper/results`,
from which `rather paper page` writes this page. A test sees to it that it is up to date.
"""
SECTIONS: tuple[tuple[str, ModuleType], ...] = (
    ("Table 1: data sets", table1),
    ("Table 2: NDCG@10 from N ratings a user", table2),
    ("Table 3: precision@K from binary data", table3),
    ("Table 4: threads", table4),
    ("Figure 2: quality over time", figure2),
    ("The appendix: stochastic gradient descent", sgd_tables),
)
PLACES = ("data", "panel", "N", "given", "method")  # columns that tell cells apart
CLAIMS = """## What the paper claims of its experiments

Each claim, and those next to it that suggest themselves. Means and differences are over the seeds that both have; a
difference that a t-test at 5 % cannot tell from none, or that rests on one seed, is level.

"""
ELSEWHERE = """## Figure 1 and the theory

Figure 1, accuracy by the number of comparisons a user on MovieLens 100K: [its own page](figure1.md). The theorems in
simulation: [theory](../concepts/theory.md).
"""


def page() -> str:
    parts = [OPENING, ELSEWHERE]
    for title, script in SECTIONS:
        about = (script.__doc__ or "").split("\n\n", 2)
        rows = common.read(script.NAME)
        parts.append(f"## {title}\n\n`{about[1].strip()}`: {seeds(rows)}.\n\n{about[2].strip()}\n")
        parts.append(f"{script.table(rows)}\n" if rows else "Not measured yet.\n")
        if script is figure2 and rows:
            parts.append(f"![NDCG@10 and precision@10 over training time](../pictures/{figure2.NAME}.svg)\n")
    parts.append(CLAIMS + "\n".join(claim.stated() for claim in claims.CLAIMS) + "\n")
    return "\n".join(parts)


def seeds(rows: list[Row]) -> str:
    """Which seeds the results have."""
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
