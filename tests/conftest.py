"""Shared fixtures; puts reference.py and the paper's scripts on the path of the tests."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

PAPER = Path(__file__).parents[1] / "paper"
sys.path[:0] = [str(Path(__file__).parent), str(PAPER)]
collect_ignore = [] if PAPER.is_dir() else ["test_reproduced.py", "test_instruments.py"]  # of a checkout only


@pytest.fixture(scope="session")
def data():
    """The folder of real data sets; tests that need it are skipped where it is absent."""
    folder = os.environ.get("RATHER_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set RATHER_DATA to the folder with the data sets")
    return Path(folder)


def _files(folder):
    """One small file of each format, with names that say which."""
    import rather
    from rather.data import table_files

    rng = np.random.default_rng(0)
    user, item = (axis.ravel() for axis in np.meshgrid(np.arange(12), np.arange(8), indexing="ij"))
    rating = rng.integers(1, 6, len(user))
    keep = rng.random(len(user)) < 0.7
    votes = rather.simulate(n_users=40, n_items=15, per_user=20).comparisons.to_frame("dict")
    odd = np.arange(len(votes["user"])) % 2 == 1
    tables = {
        "votes": votes,
        "arena": {
            "user": votes["user"],
            "left": np.where(odd, votes["winner"], votes["loser"]),
            "right": np.where(odd, votes["loser"], votes["winner"]),
            "outcome": np.where(rng.random(len(odd)) < 0.2, "tie", np.where(odd, "left", "right")),
        },
        "ratings": {"user": user[keep], "item": item[keep], "rating": rating[keep]},
        "rankings": {"user": user, "item": item, "rank": np.argsort(rng.random((12, 8)), axis=1).ravel()},
        "menus": {"user": user, "menu": user, "item": item, "chosen": (item == user % 8).astype(int)},
        "clicks": {"user": user[rating > 3], "item": item[rating > 3]},
    }
    for name, table in tables.items():
        table_files.write_table(folder / f"{name}.csv", table)
    return {name: folder / f"{name}.csv" for name in tables}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return _files(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def models(files, tmp_path_factory):
    """A model file for each format, fitted by the command line."""
    from rather.cli.main import main

    folder = tmp_path_factory.mktemp("models")
    for name, file in files.items():
        assert main(["fit", str(file), "--out", str(folder / name), "--rank", "4", "--quiet"]) == 0
    return {name: folder / name for name in files}
