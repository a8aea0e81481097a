"""The README and the pages of docs/ keep the rules of plain English, and what they point to exists."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import rather
from rather.cli.commands import TEXTS
from rather.cli.grammar import grammar

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
SKIPPED = {"_build", "examples", "generated"}
PAGES = [README, *(page for page in sorted(DOCS.rglob("*.md")) if not SKIPPED & set(page.relative_to(DOCS).parts))]

FRONT = [README, *sorted((DOCS / "start").glob("*.md"))]
LONGEST, MEAN = 40, 20  # words of a sentence
FORBIDDEN = re.compile(r"\btold apart\b|\bput aside\b|\bstiff\b|\ba coin's\b|\bhow sure\b|\bas it comes\b")
RENAMED = re.compile(
    r"\bsureness\(|\beveryone\(\)|\bsettled\(|\bneeded\(|\bUncheckedWarning\b|\bUnknownWarning\b|\bFactorModel\b"
    r"|\bsway_|\bfeatures_notes_|\bamong=|\bmore=|--updatable|AltSVM\.plain"
)
LARGEST_PICTURE = 250_000  # bytes


def named(page):
    return page.relative_to(ROOT).as_posix()


def paragraphs(page):
    """The running text of a page, an item of a list or a paragraph each, without code, tables and headings."""
    text = re.sub(r"^---\n.*?^---\n", "", page.read_text(), count=1, flags=re.M | re.S)
    text = re.sub(
        r"^(`{3,}|:{3,}).*?$(?:.*?^\1$)?", lambda m: m[0] if m[0].startswith(":") else "", text, flags=re.M | re.S
    )
    text = re.sub(r"^:{3,}.*$|^<!--.*?-->$|^\(\S+\)=$", "", text, flags=re.M)
    for part in re.split(r"\n\s*\n|\n(?=[-*] |\d+\. |: )", text):
        if part.strip() and not re.match(r"\s{4}|\s*[|#>:]", part):
            part = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(part.split()))
            yield re.sub(r"`[^`]*`", "CODE", re.sub(r"^[-*] |^\d+\. ", "", part)).replace("**", "")


def sentences(page):
    for part in paragraphs(page):
        yield from (one for one in re.split(r"(?<=[.!?])\s+(?=[A-Z*\"(])", part) if re.search(r"\w", one))


def words(sentence):
    return len(re.findall(r"[\w'’./=-]+", sentence))


def test_the_readme_is_one_screen():
    """At most 110 lines, and code that no window cuts off."""
    lines = README.read_text().splitlines()
    code = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert len(lines) <= 110
    assert not [line for block in code for line in block.splitlines() if len(line) > 88]


@pytest.mark.parametrize("page", FRONT, ids=named)
def test_the_front_door_is_easy_to_read(page):
    """Sentences have at most 20 words on average."""
    counts = [words(one) for one in sentences(page)]
    assert sum(counts) / len(counts) <= MEAN


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_plain_english(page):
    """Short sentences, none that begins with Of, Who or What, and none of the phrases that the rules forbid."""
    said = list(sentences(page))
    assert not [one for one in said if words(one) > LONGEST]
    assert not [one for one in said if re.match(r"(Of|Who|What)\b(?!.*\?$)", one)]
    assert not [one for one in said if FORBIDDEN.search(one)]


@pytest.mark.parametrize("page", sorted((ROOT / "src/rather/server/page").glob("*.*s")), ids=named)
def test_the_voting_page_has_no_forbidden_phrase(page):
    assert not FORBIDDEN.findall(page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_page_has_an_old_name(page):
    assert not RENAMED.findall(page.read_text())


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent not in (ROOT, DOCS)], ids=named)
def test_a_page_opens_with_the_reader(page):
    """Its first paragraph says what the reader has, wants or gets."""
    if "{include}" not in page.read_text():
        assert re.search(r"\b[Yy]ou\b", next(paragraphs(page)))


def anchors(page):
    """The anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page):
    """Every link to a file of this repository, and to a heading in it."""
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


def test_pictures_are_small_and_described():
    """Every picture that a page shows has an alternative text, and none is large."""
    shown = [
        (page, alternative, target)
        for page in PAGES
        for alternative, target in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", page.read_text())
    ]
    assert len(shown) > 10
    assert not [(named(page), target) for page, alternative, target in shown if len(alternative.split()) < 3]
    large = [path.name for path in (DOCS / "pictures").iterdir() if path.stat().st_size > LARGEST_PICTURE]
    assert not large


def test_the_api_index_has_every_public_name():
    """What the page of the API lists of rather is ``rather.__all__``, but for its modules."""
    blocks = re.findall(r"```\{eval-rst\}\n(.*?)```", (DOCS / "api" / "index.md").read_text(), re.S)
    listed = [
        name
        for block in blocks
        if ".. currentmodule:: rather\n" in block
        for name in re.findall(r"^   (\w+)$", block, re.M)
    ]
    assert sorted(listed) == sorted(set(rather.__all__) - {"datasets", "plot"})


def test_the_page_of_the_command_line_has_every_command():
    """The table of texts, from which the page is made, names the commands that ``rather`` has."""
    (commands,) = (action for action in grammar()._actions if action.choices)
    assert sorted(TEXTS) == sorted(commands.choices)


def test_spelling():
    """codespell finds nothing."""
    if shutil.which("codespell") is None:
        pytest.skip("codespell is not installed")
    pages = [str(page) for page in PAGES]
    done = subprocess.run(["codespell", "-L", "als,ines", *pages], capture_output=True, text=True)
    assert not done.stdout
