"""The code on the pages that needs other packages runs where these are installed."""

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ELSEWHERE = {"spark.md", "voting-page.md"}  # test_spark_docs.py runs one; the other needs a server with votes


def snippets():
    """Every block of Python without a prompt, which doctest leaves out."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if page.name not in ELSEWHERE:
            for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S):
                if ">>>" not in block:
                    yield pytest.param(block, id=f"{page.stem}-{block.split()[1]}")


def packages(block):
    """The packages that a block imports."""
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.split(".")[0]


@pytest.mark.filterwarnings("ignore")  # other packages' own
@pytest.mark.parametrize("block", list(snippets()))
def test_the_code_runs(block, tmp_path, monkeypatch):
    """From top to bottom, in a folder of its own."""
    missing = [name for name in packages(block) if find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/runs.db")
    exec(compile(block, "page", "exec"), {})


def test_there_are_such_snippets():
    assert len(list(snippets())) >= 6
