"""scripts/release.py in a repository of its own: what it refuses, what it changes, and what the workflow asks of it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COPIED = (
    "CHANGELOG.md", "CITATION.cff", "docs/project/cite.md", "recipe/recipe.yaml", "scripts/release.py",
    "src/rather/__init__.py",
)  # fmt: skip
CORPUS = """
import sys
from pathlib import Path
folder = Path("tests/corpus") / sys.argv[1]
folder.mkdir(parents=True)
(folder / "said.json").write_text("{}")
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A clone with nothing but what a release changes, and a corpus made in a moment."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Somebody")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "somebody@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    origin = tmp_path / "origin"
    for name in COPIED:
        (origin / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, origin / name)
    (origin / "scripts" / "corpus.py").write_text(CORPUS)
    changelog = origin / "CHANGELOG.md"
    preamble = changelog.read_text().partition("## [")[0]
    changelog.write_text(f"{preamble}## [Unreleased]\n\n### Added\n\n- Wings.\n\n## [0.0.9] - 2020-01-01\n\n- Feet.\n")
    for command in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "All")):
        subprocess.run(["git", *command], cwd=origin, check=True)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(origin), str(clone)], check=True)
    return clone


def run(repository, *arguments):
    """The exit status and what was said."""
    command = [sys.executable, "scripts/release.py", *arguments]
    done = subprocess.run(command, cwd=repository, capture_output=True, encoding="utf-8")
    return done.returncode, (done.stdout + done.stderr).strip()


def git(repository, *arguments):
    return subprocess.run(
        ["git", *arguments], cwd=repository, check=True, capture_output=True, encoding="utf-8"
    ).stdout.strip()


def test_a_release(repository):
    """The changelog, the version and the corpus are in one commit with an annotated tag, and nothing is pushed."""
    status, said = run(repository, "0.3.0")
    assert status == 0 and said.endswith("git push --atomic origin main v0.3.0")
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "log", "-1", "--format=%s") == "Release 0.3.0"
    assert git(repository, "cat-file", "-t", "v0.3.0") == "tag"
    assert git(repository, "rev-list", "--count", "origin/main..main") == "1"
    assert git(repository, "ls-remote", "--tags", "origin") == ""
    changelog = (repository / "CHANGELOG.md").read_text()
    assert re.search(r"## \[Unreleased\]\n\n## \[0\.3\.0\] - \d{4}-\d\d-\d\d\n\n### Added\n\n- Wings\.\n", changelog)
    assert '\n__version__ = "0.3.0"\n' in (repository / "src/rather/__init__.py").read_text()
    assert re.search(r"^version: 0\.3\.0\ndate-released: \d{4}", (repository / "CITATION.cff").read_text(), re.M)
    assert 'version: "0.3.0"' in (repository / "recipe/recipe.yaml").read_text()
    assert "version = {0.3.0}" in (repository / "docs/project/cite.md").read_text()
    assert (repository / "tests/corpus/0.3.0/said.json").exists()


def test_what_the_workflow_asks(repository):
    """A tag is checked against the files, and the notes are the section of its version."""
    run(repository, "0.3.0")
    assert run(repository, "--check", "v0.3.0") == (0, "The files are of version 0.3.0.")
    assert run(repository, "--notes", "v0.3.0") == (0, "### Added\n\n- Wings.")
    status, said = run(repository, "--check", "v0.4.0")
    assert status == 1 and said.endswith("does not declare the version of the tag v0.4.0")


def test_the_next_release(repository):
    """A second release finds the places of the first, and needs something new."""
    run(repository, "0.3.0")
    assert "nothing under Unreleased" in run(repository, "0.3.1")[1]
    path = repository / "CHANGELOG.md"
    path.write_text(path.read_text().replace("[Unreleased]\n", "[Unreleased]\n\n### Fixed\n\n- A feather.\n", 1))
    git(repository, "commit", "-qam", "Mend a feather")
    assert run(repository, "0.3.1")[0] == 0
    assert run(repository, "--notes", "v0.3.1") == (0, "### Fixed\n\n- A feather.")
    assert (repository / "CITATION.cff").read_text().count("date-released") == 1


def test_a_dry_run_changes_nothing(repository):
    """It prints the changes."""
    status, said = run(repository, "0.3.0", "--dry-run")
    assert status == 0 and '+__version__ = "0.3.0"' in said and "+## [0.3.0] - " in said
    assert git(repository, "status", "--porcelain") == git(repository, "tag") == ""


@pytest.mark.parametrize(
    ("prepare", "version", "sentence"),
    [
        (None, "0.3", "three numbers"),
        (None, "0.0.9", "not above 0.0.9"),
        (("tag", "v0.3.0"), "0.3.0", "there is a tag v0.3.0 already"),
        (("checkout", "-qb", "other"), "0.3.0", "check out main"),
        ("CHANGELOG.md", "0.3.0", "commit them first"),
    ],
)
def test_refusals(repository, prepare, version, sentence):
    """A release that must not be made is refused in a sentence, and changes nothing."""
    if isinstance(prepare, tuple):
        git(repository, *prepare)
    elif prepare:
        (repository / prepare).write_text((repository / prepare).read_text() + "\n")
    before = git(repository, "rev-parse", "HEAD")
    status, said = run(repository, version)
    assert status == 1 and sentence in said and "Traceback" not in said
    assert git(repository, "rev-parse", "HEAD") == before and not (repository / "tests").exists()
