"""Write the evidence table of README.md from benchmarks/results.

python scripts/readme_evidence.py            # says whether README.md is up to date, and fails if it is not
python scripts/readme_evidence.py --write    # writes the table
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results"
PLACE = re.compile(r"(?<=<!-- evidence -->\n).*?(?=<!-- /evidence -->)", re.S)
HEAD = """\
Measured on 2 cores of a 2.6 GHz AMD EPYC in November 2026, with the version in
development. Every row is one command; [all results](docs/benchmarks/index.md).

| task | data | rather, defaults | for comparison | `python benchmarks/` |
|---|---|---|---|---|
"""


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a file of results."""
    with (RESULTS / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def percent(value: float) -> str:
    """Return a share as text: 0.7526 as 75.3 %."""
    return f"{100 * value:.1f} %"


def votes() -> str:
    found = {row["method"]: float(row["accuracy"]) for row in rows("votes") if row["set"] == "llmfao, four fifths"}
    ours, crowd, alone = (percent(found[name]) for name in ("default", "everybody", "alone"))
    return (
        f"| predict a judge's next vote | 124 people, 59 language models | **{ours}** right "
        f"| one ranking for all {crowd}; own answers alone {alone} | `votes.py` |"
    )


def ratings() -> str:
    (row,) = (row for row in rows("movielens-quality") if row["N"] == "100")
    return (
        f"| rank films from ratings | MovieLens 1M, 100 ratings each | **{float(row['NDCG@10']):.3f}** NDCG@10 "
        f"| the paper's AltSVM {float(row['paper']):.3f} (as printed) | `movielens.py` |"
    )


def clicks() -> str:
    found = {row["method"]: f"{float(row['@10']):.3f}" for row in rows("clicks-ml-1m")}
    others = f"EASE (our code) {found['EASE']}, SLIM {found['irspack SLIM']}, implicit's ALS {found['implicit ALS']}"
    return (
        f"| recommend from clicks | MovieLens 1M | **{found['ClickRanker']}** precision@10 "
        f"| {others}, all tuned | `clicks.py` |"
    )


def uncertainty() -> str:
    held = [
        100 * float(row["80%"])
        for row in rows("sure-coverage")
        if (row["world"], row["of"], row["items"]) == ("the model's", "places", "all")
    ]
    return (
        f"| state the uncertainty | simulated, 3 to 100 answers each | 80 % intervals hold "
        f"**{min(held):.0f} to {max(held):.0f} %** of places | 80 % would be exact | `sure.py coverage` |"
    )


def scale() -> str:
    (row,) = rows("scale-netflix")
    billions, seconds, gigabytes = (
        float(row["comparisons"]) / 1e9, float(row["seconds"]), float(row["peak MB"]) / 1000,
    )  # fmt: skip
    return (
        f"| scale | {billions:.1f} billion comparisons, rank 100 | **{seconds:.0f} s**, {gigabytes:.1f} GB "
        "| none run | `scale.py netflix` |"
    )


def table() -> str:
    """Return what stands between the two marks in README.md."""
    return HEAD + "\n".join((votes(), ratings(), clicks(), uncertainty(), scale())) + "\n"


def main() -> None:
    text = README.read_text()
    new = PLACE.sub(lambda _: table(), text)
    if "--write" in sys.argv:
        README.write_text(new)
    elif new != text:
        sys.exit("README.md is not up to date: run python scripts/readme_evidence.py --write")


if __name__ == "__main__":
    main()
