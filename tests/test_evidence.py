"""The evidence in the README and the tables of docs/benchmarks are what benchmarks/results say."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_readme_is_up_to_date():
    """The table is the one that the script makes of the committed results."""
    done = subprocess.run([sys.executable, ROOT / "scripts" / "readme_evidence.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_benchmark_pages_are_up_to_date():
    """Every table of docs/benchmarks that a script writes is the one that it would write now."""
    done = subprocess.run([sys.executable, ROOT / "scripts" / "benchmark_pages.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
