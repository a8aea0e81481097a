"""python -m fuzz [NAME[=N] ...] [--scale X] [--seed S] [--first K] [--write]: run campaigns, say what became of them.

A long run is --scale 1. A failure is told as NAME SEED CASE: ``python -m fuzz NAME=1 --seed SEED --first CASE`` runs
that case again.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys

from .isolated import Outcome, campaign
from .page import write_page

NAMES = ("files", "frames", "fits", "kills", "interrupts", "threads")
ALIKE, LONGEST = 75, 1000  # characters by which failures are alike, and that are shown


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME[=N]", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the cases of a long run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, help="processes at a time; all cores by default")
    parser.add_argument("--write", action="store_true", help="write the counts to docs/project/fuzz.md")
    asked = parser.parse_args(given)
    outcomes: list[Outcome] = []
    for wanted in asked.names or NAMES:
        name, _, n = wanted.partition("=")
        if name not in NAMES:
            parser.error(f"there is no campaign {name!r}; there are {', '.join(NAMES)}")
        full = importlib.import_module(f"fuzz.{name}").FULL
        outcome = campaign(name, int(n or max(1, round(full * asked.scale))), asked.seed, asked.first, asked.jobs)
        outcomes.append(outcome)
        _show(outcome)
    if asked.write:
        write_page(outcomes)
    failures = sum(len(outcome.failures) for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    print(f"{sum(outcome.cases for outcome in outcomes):,} cases, {failures} failed in {seconds:.0f} s")
    return 1 if failures else 0


def _show(outcome: Outcome) -> None:
    counts = ", ".join(f"{n:,} {what}" for what, n in sorted(outcome.counts.items()))
    print(f"{outcome.name}: {outcome.cases:,} cases in {outcome.seconds:.0f} s, {len(outcome.failures)} failures")
    print(f"  {counts}")
    alike: dict[str, list[str]] = {}
    for line in outcome.failures:
        alike.setdefault(re.sub(r"'/[^']*'|[-+.0-9e]+", "#", line)[:ALIKE], []).append(line)
    for lines in sorted(alike.values(), key=len, reverse=True):
        print(f"  {len(lines)} like {lines[0][:LONGEST]}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
