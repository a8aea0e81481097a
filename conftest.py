"""Examples in docstrings and in the README run in a folder of their own, so that files they write leave no trace."""

from importlib.util import find_spec

import pytest
from _pytest.doctest import DoctestItem

collect_ignore_glob = [] if find_spec("pyspark") else ["src/rather/spark/*.py"]  # which cannot be imported without


@pytest.fixture(autouse=True)
def _examples_run_elsewhere(request, tmp_path, monkeypatch):
    if isinstance(request.node, DoctestItem):
        monkeypatch.chdir(tmp_path)
