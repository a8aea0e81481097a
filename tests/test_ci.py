"""Continuous integration reports what ran: the last line of .ci/run adds up every part's own counts."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest
@pytest.fixture
def broken(): raise OSError
@pytest.mark.parametrize("x", [1, 2, 3])
def test_passes(x): pass
@pytest.mark.skip
def test_skipped(): pass
def test_fails(): assert 0
def test_errs(broken): pass
"""


@pytest.fixture
def project(tmp_path):
    """A checkout that has continuous integration and no parts yet."""
    for name in (".ci/run", "scripts/part"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def finish(project, test_all, test):
    """The exit status and the last line, where each part is a command; one that begins with -1 is no pytest."""
    lines = []
    for target, commands in (("test-all", test_all), ("test", test)):
        names = [f"{target}-{n}" for n in range(len(commands))]
        lines.append(f"{target}: {' '.join(names)}")
        for name, command in zip(names, commands, strict=True):
            rest = command.removeprefix("-1 ")
            lines += [f"{name}:", f"\tbash scripts/part {'-1 ' if rest != command else ''}{name} {rest}"]
    return finish_makefile(project, "\n".join(lines) + "\n")


def finish_makefile(project, makefile, *targets):
    (project / "Makefile").write_text(makefile)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RATHER_", "PYTEST_", "MAKE", "MFLAGS"))}
    done = subprocess.run(["bash", ".ci/run", *targets], cwd=project, env=kept, capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()[-1]


def counted(passed, failed, skipped, status):
    """A command that counts as pytest does."""
    return f"sh -c 'echo {passed} {failed} {skipped} >>$$RATHER_COUNTS; exit {status}'"


def test_counts_are_added_up(project):
    """Every part counts, those after a failure too; a script may run pytest more than once."""
    good, bad = counted(5, 0, 1, 0), counted(2, 1, 0, 1)
    assert finish(project, [good], [good, "-1 true"]) == (0, "11 passed, 0 failed, 2 skipped")
    assert finish(project, [bad, good], [good]) == (1, "12 passed, 1 failed, 2 skipped")
    assert finish(project, [good, bad], [bad, good]) == (1, "14 passed, 2 failed, 2 skipped")


def test_other_targets_can_be_named(project):
    """A target that is named runs instead of the usual ones, and fails as they do."""
    makefile = "test test-all:\n\tfalse\nnightly:\n\tbash scripts/part -1 long {}\n"
    assert finish_makefile(project, makefile.format("true"), "nightly") == (0, "1 passed, 0 failed, 0 skipped")
    assert finish_makefile(project, makefile.format("false"), "nightly") == (1, "0 passed, 1 failed, 0 skipped")


def test_parts_without_counts(project):
    """A part that fails without a failed test, that is skipped, or in which no test was counted is not lost."""
    good = counted(5, 0, 1, 0)
    assert finish(project, [counted(2, 0, 0, 3), "false", "-1 false"], [good]) == (1, "7 passed, 3 failed, 1 skipped")
    assert finish(project, ["-1 sh -c 'exit 77'", "sh -c 'exit 77'"], [good]) == (0, "5 passed, 0 failed, 3 skipped")
    assert finish(project, ["true"], [good]) == (1, "5 passed, 1 failed, 1 skipped")
    assert finish(project, [], []) == (1, "0 passed, 0 failed, 0 skipped")
    assert finish_makefile(project, "test test-all: nowhere\n") == (1, "0 passed, 1 failed, 0 skipped")


@pytest.mark.thorough
@pytest.mark.parametrize("options", ["-p no:xdist", "-n 2"])
def test_pytest_counts_itself(project, options):
    """The counts are those of pytest's closing line, with errors among the failures, in however many processes."""
    if options == "-n 2":
        pytest.importorskip("xdist")
    (project / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "conftest.py", project / "tests")
    (project / "tests" / "test_it.py").write_text(TESTS)
    run = f"{sys.executable} -m pytest -c /dev/null --rootdir=tests -p no:cacheprovider {options} tests"
    assert finish(project, [run], []) == (1, "3 passed, 2 failed, 1 skipped")
