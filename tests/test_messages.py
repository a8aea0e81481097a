"""Warnings end in an address of the page of messages, and what the source names on the site exists."""

import ast
import re
import warnings
from pathlib import Path

import pytest

from rather.addresses import MESSAGES
from rather.cli.main import _warn
from rather.warned import warn
from test_prose import FORBIDDEN

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "rather"
PAGE = ROOT / "docs" / "reference" / "errors-and-warnings.md"


def calls():
    """Every call in the package, with its file."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield path.relative_to(SOURCE).as_posix(), node


def test_every_warning_has_an_explanation():
    """The anchors of all warnings are on the page, and no anchor of the page's warnings is left over."""
    used = {}
    for path, call in calls():
        if ast.unparse(call.func) == "warn":
            assert isinstance(call.args[1], ast.Constant), f"{path}: write the anchor itself"
            used[call.args[1].value] = path
    page = PAGE.read_text()
    anchors = re.findall(r"^\((\S+)\)=$", page, re.M)
    explained = re.findall(r"^\((\S+)\)=$", page[page.index("## Warnings") :], re.M)
    assert len(anchors) == len(set(anchors))
    assert set(used) == set(explained)


def test_all_warnings_go_one_way():
    """Only ``warned.warn`` calls ``warnings.warn``, so that none lacks its address."""
    assert [path for path, call in calls() if ast.unparse(call.func) == "warnings.warn"] == ["warned.py"]


def test_named_pages_exist():
    """No module names a file of docs/, which a wheel lacks, or a page that the site has not."""
    pages = [page.read_text() for page in (ROOT / "docs").rglob("*.md")]
    titles = {re.search("^# (.+)$", page, re.M)[1] for page in pages if re.search("^# ", page, re.M)}
    for path in sorted(SOURCE.rglob("*.py")):
        text = " ".join(path.read_text().split())
        assert not re.findall(r"[\w/-]+\.md\b", text), path
        named = re.findall(r'\bpage "([^"]+)" of the site', text)
        assert set(named) <= titles, path
        for page, anchor in re.findall(r"\{SITE\}/([\w/-]+)\.html(?:#([\w-]+))?", text):
            found = (ROOT / "docs" / f"{page}.md").read_text()
            headings = {heading.lower().replace(" ", "-") for heading in re.findall("^#+ (.+)$", found, re.M)}
            assert not anchor or anchor in headings, path


def test_code_is_described_plainly():
    """A docstring says what is done, returned or held; that of a module keeps the rules of plain English."""
    question = re.compile(r"(Of|Who|Whose|Whom|What|Which|Where|How|That|Those|From)\b")
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                assert not question.match(ast.get_docstring(node) or ""), (path, ast.get_docstring(node))
        assert not FORBIDDEN.search(ast.get_docstring(tree) or "."), path


def test_a_warning_is_a_sentence_and_an_address():
    """Its category and the line that it names are the caller's."""
    with pytest.warns(RuntimeWarning) as said:
        warn("2 users were left out", "unknown-user-warning", RuntimeWarning)
    assert str(said[0].message) == f"2 users were left out. See {MESSAGES}#unknown-user-warning"
    assert said[0].filename == __file__


def test_a_warning_on_the_command_line_is_one_line(capsys):
    """First the sentence, then the address."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = _warn
        warn("2 users were\nleft out", "unknown-user-warning")
    assert capsys.readouterr().err == f"rather: 2 users were left out. See {MESSAGES}#unknown-user-warning\n"
