"""docs/project/fuzz.md: what a run tried and what became of it."""

from __future__ import annotations

import importlib
from pathlib import Path

from .isolated import Outcome

PAGE = Path(__file__).parents[1] / "docs" / "project" / "fuzz.md"
HEAD = """# Fuzzing

You want to know how robust rather is against bad input. You get what a long run tried, and what became of it.

`make fuzz` tries to break rather for a few minutes; `python -m fuzz --scale 1 --write` is a long run, of a quarter of
an hour, and writes this page. The counts are of the run that the table says. A case is made from the seed and its
number: `python -m fuzz NAME=1 --seed SEED --first CASE` makes it again. A process that crashes or hangs is a failure of
the case it was at. A short version runs in `make test`.

| campaign | cases | failures | seed | minutes |
|---|---|---|---|---|
"""


def write_page(outcomes: list[Outcome]) -> None:
    """Write the page for what these came to."""
    rows = [f"| {o.name} | {o.cases:,} | {len(o.failures):,} | {o.seed} | {o.seconds / 60:.1f} |\n" for o in outcomes]
    PAGE.write_text(HEAD + "".join(rows) + "".join(_part(o) for o in outcomes))


def _part(outcome: Outcome) -> str:
    said = (importlib.import_module(f"fuzz.{outcome.name}").__doc__ or "").strip()
    counts = "".join(f"- {what}: {n:,}\n" for what, n in sorted(outcome.counts.items()))
    failures = "".join(f"- failure: `{line[:300]}`\n" for line in outcome.failures[:20])
    return f"\n## {outcome.name}\n\n{said}\n\n{counts}{failures}"
