"""Examples in docstrings, the README and docs/ run in a folder of their own, so that their files leave no trace."""

from importlib.util import find_spec

import pytest
from _pytest.doctest import DoctestItem

NEEDED = {"pyspark": "spark/*.py", "fastapi": "server/*.py", "matplotlib": "plot.py"}  # without which examples fail
collect_ignore_glob = [f"src/rather/{files}" for name, files in NEEDED.items() if not find_spec(name)]
if not find_spec("matplotlib"):
    collect_ignore_glob += ["docs/guides/uncertainty.md"]
collect_ignore_glob += ["docs/*.py", "docs/_build/*", "docs/api/generated/*", "docs/examples/*"]


@pytest.fixture(autouse=True)
def _examples_run_elsewhere(request, tmp_path, monkeypatch):
    if isinstance(request.node, DoctestItem):
        monkeypatch.chdir(tmp_path)
