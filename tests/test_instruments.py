"""Every script of benchmarks/ and paper/ runs on tiny data, and what the documentation cites is there."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmarks", "paper")
SCRIPTS = [p for folder in FOLDERS for p in sorted((ROOT / folder).glob("*.py")) if "__main__" in p.read_text()]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RIVALS = ("implicit", "irspack", "lightfm", "evalica", "choix")
WITH_RIVALS = ("benchmarks/peers.py", "benchmarks/serving.py", "paper/table3.py")


def cited():
    """(page, script, arguments) of every command in backticks: a script by its path or its name, or rather paper."""
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S).replace("``", "`")
        for span in re.findall(r"`([^`]+)`", text):
            words = " ".join(span.split()).removeprefix("python ")
            if found := re.match(r"(?:(benchmarks|paper)/)?(\w+\.py)(?= |$)(.*)", words):
                folders = [found[1]] if found[1] else FOLDERS
                places = [ROOT / folder / found[2] for folder in folders]
                there = next((p for p in places if p.exists()), None)
                if (
                    there or found[1] or not list((ROOT / "src").rglob(found[2]))
                ):  # a module of the package is no script
                    yield page.name, there or places[0], found[3]
            elif found := re.match(r"rather paper (\w+)(.*)", words):
                yield page.name, ROOT / "paper" / f"{found[1]}.py", found[2]


CITED = list(cited())
LONG = (  # some seconds even with --smoke
    "asking", "calibrate_needed", "check_needed", "convex", "described", "figure1", "figure2", "pictures", "sameness",
    "sure", "swayed", "table2", "theory_crowd", "theory_kl", "theory_packing", "theory_rate", "turns", "votes",
)  # fmt: skip
COMMANDS = sorted(
    {(path, ()) for path in SCRIPTS}
    | {(path, tuple(shlex.split(rest))) for _, path, rest in CITED if path in SCRIPTS and "[" not in rest}
)


def when(path, arguments):
    """The marks of a command: with arguments it runs in make nightly, and if it is long in make test-all."""
    return [pytest.mark.nightly] if arguments else [pytest.mark.thorough] if path.stem in LONG else []


COMMANDS = [pytest.param(command, marks=when(*command)) for command in COMMANDS]
USAGES = sorted({(path, rest) for _, path, rest in CITED if path in SCRIPTS and "[" in rest})


def named(command):
    path, arguments = command
    return " ".join([f"{path.parent.name}/{path.name}", *arguments])


def run(path, arguments, folder, **environment):
    """A script in a process of its own, with a thread a library, without data sets, and with a folder for its files."""
    known = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "RATHER_DATA": "/nowhere", "MPLBACKEND": "svg"}
    return subprocess.run(
        [sys.executable, str(path), *arguments],
        env={**os.environ, **known, "TMPDIR": str(folder), **environment}, capture_output=True, text=True,
    )  # fmt: skip


def committed():
    """When each file that a script could have written over was changed."""
    folders = [ROOT / "benchmarks" / "results", ROOT / "paper" / "results", ROOT / "docs"]
    return {path: path.stat().st_mtime_ns for folder in folders for path in folder.rglob("*")}


@pytest.fixture
def folder(tmp_path):
    """A folder for temporary files, of which none may be left; nor may committed results be written over."""
    before, temporary = committed(), tmp_path / "temporary"
    temporary.mkdir()
    yield temporary
    assert committed() == before, "a smoke run has written over committed results"
    assert not list(temporary.iterdir()), "a smoke run has left files behind"


@pytest.mark.parametrize("command", COMMANDS, ids=named)
def test_it_runs(command, folder):
    """On tiny data it ends well, and says where its results are."""
    done = run(command[0], [*command[1], "--smoke"], folder)
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(r"^-> .*\.(csv|md)", done.stdout, re.M), done.stdout[-3000:]


@pytest.mark.parametrize("script", WITH_RIVALS)
def test_a_rival_that_is_not_installed_is_skipped(script, folder, tmp_path):
    """It says so and goes on with the others."""
    for rival in RIVALS:
        (tmp_path / f"{rival}.py").write_text(f"raise ImportError('no {rival}')")
    done = run(ROOT / script, ["--smoke"], folder, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    assert "implicit is not installed: skipped" in done.stderr
    assert not re.search(r"^\|? *implicit", done.stdout, re.M)


def test_what_the_documentation_cites_is_there():
    """Every script that a page names exists."""
    assert len(CITED) > 20
    assert not [(page, path.name) for page, path, _ in CITED if not path.exists()]


@pytest.mark.parametrize("script", sorted({path for path, _ in USAGES}), ids=lambda path: path.stem)
def test_options_of_a_usage_exist(script, folder):
    """Every option of a line like ``rather paper table2 [--only ...]`` is known to the script."""
    known = run(script, ["--help"], folder).stdout
    cited = {option for path, rest in USAGES if path == script for option in re.findall(r"--\w+", rest)}
    assert [option for option in cited if f"{option} " not in known] == []
