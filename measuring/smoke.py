"""``--smoke``: does a script still run? Tiny made-up data under the real names, one seed, results thrown away.

Importing this module with ``--smoke`` on the command line points ``$RATHER_DATA`` at the made-up data sets, so that
scripts, and processes that they start, read them as they would read the real ones.
"""

from __future__ import annotations

import argparse
import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, TypeVar

OPTION = "--smoke"
ON = OPTION in sys.argv
USERS, ITEMS, RATED = 24, 160, 120  # the paper's protocol asks for 110 ratings a user at N = 100
STARS = {"ml-100k": 5, "ml-1m": 5, "ml-latest-small": 5, "ml-10m": 5, "netflix": 5, "letterboxd": 10}

Thing = TypeVar("Thing")


def sized(usual: Thing, smoke: Thing) -> Thing:
    """A constant of a script, and what it is with --smoke."""
    return smoke if ON else usual


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(OPTION, action="store_true", help="tiny made-up data, results thrown away: does it run?")


def folder() -> Path:
    """A folder for this process, thrown away when it ends."""
    made = Path(tempfile.mkdtemp(prefix="rather-smoke-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def write_data(place: Path) -> None:
    """A folder like the one that ``$RATHER_DATA`` names."""
    import numpy as np

    import rather

    def write(name: str, **columns: Any) -> None:
        import pyarrow
        import pyarrow.parquet

        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.table(columns), path)

    for seed, (name, levels) in enumerate(STARS.items()):
        said = rather.simulate(USERS, ITEMS, rank=2, per_user=RATED, levels=levels, seed=seed).comparisons.ratings
        assert said is not None
        write(f"{name}/ratings.parquet", user=said.user, item=said.item, rating=said.rating.astype(np.int8))
    rng = np.random.default_rng(0)
    for part, n in (("a", 10), ("b", 10)):
        order = np.argsort(rng.random((USERS, n)) + np.arange(n) / n).ravel()
        who, place_of = np.repeat(np.arange(USERS), n), np.tile(np.arange(n), USERS)
        write(f"sushi/rankings_{part}.parquet", user=who, item=order, rank=place_of)
    votes = rather.simulate(USERS, 12, rank=2, per_user=30).comparisons.to_frame("dict")
    left = np.where(rng.random(len(votes["winner"])) < 0.5, votes["winner"], votes["loser"])
    for file in ("llmfao/comparisons", "colours/votes"):
        write(f"{file}.parquet", **{name: list(column) for name, column in votes.items()}, left=list(left))
    won = np.where(rng.random(len(left)) < 0.3, "tie", np.where(left == votes["winner"], "left", "right"))
    right = np.where(left == votes["winner"], votes["loser"], votes["winner"])
    judged: dict[str, Any] = {
        "worker": list(votes["user"]),
        "left": list(left),
        "right": list(right),
        "winner": list(won),
    }
    write("llmfao/judgements.parquet", **judged)


if ON:
    FOLDER = folder()
    write_data(FOLDER / "data")
    os.environ["RATHER_DATA"] = os.environ["RATHER_CACHE"] = str(FOLDER / "data")
