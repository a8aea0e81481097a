"""The pictures of the site are complete in themselves."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
SCRIPTS = sorted((ROOT / "scripts" / "pictures").glob("*.py"))


def test_a_picture_loads_nothing():
    """A page shows a picture without what is outside of it, such as a font."""
    drawn = list(PICTURES.glob("*.svg"))
    assert len(drawn) > 10
    for path in drawn:
        assert not re.search(r"(?:href=[\"']|url\([\"']?)https?:", path.read_text()), path.name


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_imports_what_the_library_has(path):
    """A script that needs a browser is run by hand; a renamed name of the library shows here."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rather":
            exec(ast.unparse(node), {})  # a name or a module
