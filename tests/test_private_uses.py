"""Uses of other objects' private names become fewer: private-uses.toml has today's count of every file."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "private_uses.py"


def test_the_list_has_the_counts_of_today():
    """No file has more uses than the list allows, and the list allows no more than there are."""
    if subprocess.run([sys.executable, "-m", "ruff", "--version"], capture_output=True).returncode:
        pytest.skip("ruff is not installed")
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
