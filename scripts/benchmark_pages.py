"""Write the tables of docs/benchmarks from benchmarks/results.

    python scripts/benchmark_pages.py            # says which pages are not up to date, and fails if there are any
    python scripts/benchmark_pages.py --write    # writes the tables

A table stands between ``<!-- table: NAME -->`` and ``<!-- /table -->``; ``TABLES`` says what each is made of.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from readme_evidence import ROOT, rows

PAGES = ROOT / "docs" / "benchmarks"
PLACE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- /table -->)", re.S)
TWO_CORES = "2 cores of a 2.6 GHz AMD EPYC"
MONTH = "November 2026"
Row = Mapping[str, str]


def decimals(n: int) -> Callable[[str], str]:
    """Return a format with so many digits after the point; nothing stays nothing."""
    return lambda text: f"{float(text):,.{n}f}" if text else ""


def percent(text: str) -> str:
    return f"{100 * float(text):.0f} %" if text else ""


def thousands(text: str) -> str:
    return f"{float(text):,.0f}" if text else ""


def same(text: str) -> str:
    return text


@dataclass(frozen=True)
class Listing:
    """Some rows and columns of a file of results.

    ``columns`` has a heading and a format for each column of the file; ``where`` says which rows count.
    """

    file: str
    command: str
    columns: Mapping[str, tuple[str, Callable[[str], str]]]
    where: Callable[[Row], bool] = field(default=lambda row: True)
    machine: str = TWO_CORES

    def lines(self) -> list[list[str]]:
        kept = [row for row in rows(self.file) if self.where(row)]
        head = [title for title, _ in self.columns.values()]
        return [head, *([shown(row[name]) for name, (_, shown) in self.columns.items()] for row in kept)]


@dataclass(frozen=True)
class Crossed:
    """One value of a file of results, by a column that names the rows and one that names the columns."""

    file: str
    command: str
    down: str
    across: str
    value: str
    shown: Callable[[str], str]
    names: Mapping[str, str]  # of the columns: as the file has them, and as the page does
    where: Callable[[Row], bool] = field(default=lambda row: True)
    machine: str = TWO_CORES

    def lines(self) -> list[list[str]]:
        kept = [row for row in rows(self.file) if self.where(row)]
        found = {(row[self.down], row[self.across]): row[self.value] for row in kept}
        downs = list(dict.fromkeys(row[self.down] for row in kept))
        body = [[down, *(self.shown(found.get((down, name), "")) for name in self.names)] for down in downs]
        return [[self.down, *self.names.values()], *body]


def clicks(file: str, data: str) -> Listing:
    by_place = {f"@{k}": (f"@{k}", decimals(4)) for k in (1, 5, 10, 100)}
    columns = {"method": ("method", same), **by_place, "seconds": ("seconds", decimals(1)), "MB": ("MB", same)}
    return Listing(file, f"clicks.py --data {data}", columns)


METHODS = {"everybody": "one ranking for all", "alone": "own answers alone", "default": "rather", "oracle": "oracle"}
KNOWN = {
    "one ranking for all": "one ranking for all",
    "slope": "`probability`",
    "what is known": "`probability_interval`",
}
COLD = {
    "who": ("method", same), "NDCG@10": ("NDCG@10", decimals(4)), "accuracy": ("accuracy", decimals(4)),
    "seconds": ("seconds", decimals(0)),
}  # fmt: skip
SCALE = {
    "data": ("data", same), "users": ("users", thousands), "ratings": ("ratings", thousands),
    "comparisons": ("comparisons", thousands), "seconds": ("seconds", decimals(1)), "peak MB": ("peak MB", thousands),
}  # fmt: skip

TABLES: dict[str, Listing | Crossed] = {
    "votes-accuracy": Crossed("votes", "votes.py", "set", "method", "accuracy", decimals(3), METHODS),
    "votes-log-loss": Crossed("votes", "votes.py", "set", "method", "log loss", decimals(3), METHODS),
    "ratings": Listing(
        "movielens-quality", "movielens.py",
        {
            "N": ("ratings each", same), "comparisons": ("comparisons", thousands), "NDCG@10": ("rather", decimals(4)),
            "std": ("standard deviation", decimals(4)), "paper": ("the paper's AltSVM, as printed", decimals(4)),
            "fit seconds": ("seconds of the fit", decimals(2)),
        },
    ),
    "clicks-ml-1m": clicks("clicks-ml-1m", "ml-1m"),
    "clicks-ml-100k": clicks("clicks-ml-100k", "ml-100k"),
    "clicks-ml-latest-small": clicks("clicks-ml-latest-small", "ml-latest-small"),
    "clicks-letterboxd": clicks("clicks-letterboxd", "letterboxd"),
    "cold-ml-1m": Listing("described-cold-ml-1m", "described.py cold", COLD),
    "cold-letterboxd": Listing("described-cold-letterboxd", "described.py cold", COLD),
    "few-answers": Crossed(
        "described-few", "described.py few", "answers", "features", "accuracy", decimals(3),
        {"without": "no features", "items": "of films", "items and people": "of films and people"},
        lambda row: row["set"] == "ml-1m",
    ),
    "rewards": Listing(
        "described-arena", "described.py arena",
        {
            "numbers": ("embeddings", same), "who": ("method", same), "accuracy": ("accuracy", decimals(3)),
            "seconds": ("seconds", decimals(1)),
        },
    ),
    "coverage": Listing(
        "sure-coverage", "sure.py coverage",
        {
            "world": ("world", same), "answers": ("answers each", same), "50%": ("50 %", percent),
            "80%": ("80 %", percent), "95%": ("95 %", percent),
        },
        lambda row: row["of"] == "places" and row["items"] == "all",
    ),
    "coverage-pairs": Listing(
        "sure-coverage", "sure.py coverage",
        {
            "world": ("world", same), "answers": ("answers each", same), "50%": ("50 %", percent),
            "80%": ("80 %", percent), "95%": ("95 %", percent),
        },
        lambda row: row["of"] == "pairs" and row["items"] == "all",
    ),
    "sure-log-loss": Crossed("sure-scores", "sure.py scores", "set", "who", "log loss", decimals(3), KNOWN),
    "asking": Crossed(
        "asking-saved", "asking.py saved", "questions", "policy", "accuracy", decimals(3),
        {
            "random": "random", "information": "information", "top": "for the top",
            "a list made beforehand": "questionnaire",
        },
        lambda row: row["setting"] == "rated" and row["exposure"] == "True",
    ),
    "ties": Listing(
        "swayed-outcomes", "swayed.py",
        {
            "method": ("method", same), "log loss": ("log loss, three outcomes", decimals(3)),
            "decided: log loss": ("decided: log loss", decimals(3)), "decided: ECE": ("decided: ECE", decimals(3)),
            "decided: accuracy": ("decided: accuracy", decimals(3)),
        },
    ),
    "effects": Listing(
        "swayed-effects", "swayed.py",
        {
            "world": ("world", same), "effect": ("effect", same), "truth": ("truth", decimals(2)),
            "estimate": ("mean estimate", decimals(2)), "covered": ("95 % intervals that hold", percent),
        },
    ),
    "one-ranking": Listing(
        "peers-ranking", "peers.py ranking",
        {
            "who": ("method", same), "both": ("seconds", decimals(2)), "peak MB": ("peak MB", thousands),
            "likelihood": ("mean log-likelihood", decimals(4)),
        },
    ),
    "one-ranking-votes": Listing(
        "one-ranking", "one_ranking.py",
        {
            "set": ("set", same), "votes": ("votes", thousands), "Global, users": ("`Global`", decimals(3)),
            "evalica": ("evalica", decimals(3)), "choix, ridge by folds": ("choix, ridge by folds", decimals(3)),
        },
    ),
    "one-ranking-covered": Listing(
        "one-ranking", "one_ranking.py",
        {
            "set": ("world", same), "votes": ("votes", thousands), "covered": ("nobody named", percent),
            "covered, users": ("by 500 users", percent), "covered, most by one": ("one user gave 90 %", percent),
        },
        lambda row: row["covered"] != "",
    ),
    "scale-line": Listing("scale-line", "scale.py line", SCALE),
    "scale-netflix": Listing("scale-netflix", "scale.py netflix", SCALE),
    "scale-netflix-16": Listing("scale-netflix-16-cores", "scale.py netflix", SCALE, machine="16 cores"),
    "scale-letterboxd": Listing("scale-letterboxd", "scale.py letterboxd", SCALE),
    "updates": Listing(
        "arrivals", "arrivals.py",
        {
            "what": ("data", same), "fit": ("seconds of a fit", decimals(2)),
            "update": ("seconds of an update", decimals(3)), "objective": ("relative change of the objective", same),
        },
    ),
}  # fmt: skip


def table(name: str) -> str:
    """Return a table, and below it the command, the file and the machine."""
    made = TABLES[name]
    head, *body = made.lines()
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *body)]
    note = f"`python benchmarks/{made.command}`; benchmarks/results/{made.file}.csv; {made.machine}; {MONTH}."
    return "\n".join([*lines, "", note, ""])


def filled(text: str) -> str:
    """Return a page with its tables."""
    return PLACE.sub(lambda found: f"{found[1]}{table(found[2])}{found[3]}", text)


def main() -> None:
    used: set[str] = set()
    late = []
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text()
        used.update(found[2] for found in PLACE.finditer(text))
        if (new := filled(text)) != text:
            late.append(page.name)
            if "--write" in sys.argv:
                page.write_text(new)
    if unused := set(TABLES) - used:
        sys.exit(f"no page has the tables {', '.join(sorted(unused))}")
    if late and "--write" not in sys.argv:
        sys.exit(f"not up to date: {', '.join(late)}; run python scripts/benchmark_pages.py --write")


if __name__ == "__main__":
    main()
