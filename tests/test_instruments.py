"""Every script of benchmarks/ and paper/ runs on tiny data, and what the documentation cites is there."""

import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmarks", "paper")
SCRIPTS = [p for folder in FOLDERS for p in sorted((ROOT / folder).glob("*.py")) if "__main__" in p.read_text()]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
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
COMMANDS = sorted(
    {(path, ()) for path in SCRIPTS}
    | {(path, tuple(shlex.split(rest))) for _, path, rest in CITED if path in SCRIPTS and "[" not in rest}
)
USAGES = sorted({(path, rest) for _, path, rest in CITED if path in SCRIPTS and "[" in rest})


def named(command):
    path, arguments = command
    return " ".join([f"{path.parent.name}/{path.name}", *arguments])


def run(path, arguments, **environment):
    """A script in a process of its own, without data sets and with a thread a library."""
    lean = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "RATHER_DATA": "/nowhere", "MPLBACKEND": "svg"}
    return subprocess.run(
        [sys.executable, str(path), *arguments],
        env={**os.environ, **lean, **environment}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def committed():
    """When each file that a script could have written over was changed."""
    folders = [ROOT / "benchmarks" / "results", ROOT / "paper" / "results", ROOT / "docs"]
    return {path: path.stat().st_mtime_ns for folder in folders for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Every command with --smoke, some without rivals, and help; as many at a time as there are cores."""
    elsewhere, stubs, before = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("stubs"), committed()
    for rival in RIVALS:
        (stubs / f"{rival}.py").write_text(f"raise ImportError('no {rival}')")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        here = {"TMPDIR": str(elsewhere)}
        started = {c: pool.submit(run, c[0], [*c[1], "--smoke"], **here) for c in COMMANDS}
        for script in WITH_RIVALS:
            started[script] = pool.submit(run, ROOT / script, ["--smoke"], PYTHONPATH=str(stubs), **here)
        for usage in USAGES:
            started[usage] = pool.submit(run, usage[0], ["--help"])
        yield started
        for future in started.values():
            future.result()
    assert committed() == before, "a smoke run has written over committed results"
    assert not list(elsewhere.iterdir()), "a smoke run has left files behind"


@pytest.mark.parametrize("command", COMMANDS, ids=named)
def test_it_runs(runs, command):
    """On tiny data it ends well, and says where its results are."""
    done = runs[command].result()
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(r"^-> .*\.(csv|md)", done.stdout, re.M), done.stdout[-3000:]


@pytest.mark.parametrize("script", WITH_RIVALS)
def test_a_rival_that_is_not_installed_is_skipped(runs, script):
    """It says so and goes on with the others."""
    done = runs[script].result()
    assert done.returncode == 0, done.stderr[-3000:]
    assert "implicit is not installed: skipped" in done.stderr
    assert not re.search(r"^\|? *implicit", done.stdout, re.M)


def test_what_the_documentation_cites_is_there():
    """Every script that a page names exists."""
    assert len(CITED) > 20
    assert not [(page, path.name) for page, path, _ in CITED if not path.exists()]


@pytest.mark.parametrize("usage", USAGES, ids=lambda usage: usage[0].stem)
def test_options_of_a_usage_exist(runs, usage):
    """Every option of a line like ``rather paper table2 [--only ...]`` is known to the script."""
    known = runs[usage].result().stdout
    assert [option for option in re.findall(r"--\w+", usage[1]) if f"{option} " not in known] == []
