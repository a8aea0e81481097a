"""Shared fixtures; puts reference.py and the paper's scripts on the path of the tests."""

import os
import sys
from pathlib import Path

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
