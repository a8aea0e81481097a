"""Examples in docstrings and in the README run in a folder of their own, so that files they write leave no trace."""

import pytest
from _pytest.doctest import DoctestItem


@pytest.fixture(autouse=True)
def _examples_run_elsewhere(request, tmp_path, monkeypatch):
    if isinstance(request.node, DoctestItem):
        monkeypatch.chdir(tmp_path)
