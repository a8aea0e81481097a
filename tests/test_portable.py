"""What other systems have not, or do otherwise, tried here as far as one system can show what another would do."""

import argparse
import ast
import os
import pkgutil
import re
import socket
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import rather
from rather.cli import main as command_line
from rather.cli.grammar import grammar
from rather.data.table_files import write_table
from rather.testing import small_data
from shell import run

SOURCES = Path(rather.__file__).parent
LINUX = {"cgroups.py", "cores.py", "memory.py"}  # read what the kernel says
OPEN = Path("/proc/self/fd")

# A process without what Windows lacks. Its locks are those of a module msvcrt that is made here.
WITHOUT = """
import os, select, signal, socket, sys, types, warnings
import asyncio, multiprocessing, subprocess, tempfile, uuid  # of Python itself; they look at the system for themselves
import numpy, scipy.optimize, scipy.sparse
try:
    import sqlalchemy, uvicorn, fastapi
except ModuleNotFoundError:
    pass
for name in ("fcntl", "resource", "termios", "tty", "pty", "pwd", "grp", "syslog"):
    sys.modules[name] = None
for module, names in (
    (os, "nice sched_getaffinity sysconf fork getuid geteuid getpgid killpg mkfifo setsid O_NOFOLLOW O_DIRECTORY"),
    (select, "poll epoll"),
    (signal, "SIGKILL SIGALRM SIGHUP SIGQUIT SIGUSR1 alarm setitimer pthread_sigmask pthread_kill"),
    (socket, "AF_UNIX"),
):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

held = set()

def locking(descriptor, mode, n):
    place = os.fstat(descriptor).st_ino
    if place in held:
        raise PermissionError(13, "Permission denied")
    held.add(place)

sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2)
"""


def without(code, *arguments):
    """What a process says that has only what every system has."""
    command = [sys.executable, "-c", WITHOUT + code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=SOURCES.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_modules_need_only_what_every_system_has():
    """Every module is imported without what Windows lacks, but for those of Spark, which say so."""
    names = [one.name for one in pkgutil.walk_packages([str(SOURCES)], "rather.") if "._core" not in one.name]
    assert len(names) > 120
    said = without(
        """
from importlib import import_module
for name in sys.argv[1:]:
    try:
        import_module(name)
    except ModuleNotFoundError as e:
        if name.split(".")[1] not in ("server", "spark") or e.name.startswith("rather"):
            raise
    except ImportError as e:
        assert name.startswith("rather.spark") and "needs Linux or macOS" in str(e), name
    else:
        assert not name.startswith("rather.spark")
        print(name)
""",
        *(name for name in names if not name.endswith("__main__")),
    )
    assert len(said.split()) > 100


def test_a_fit_needs_only_what_every_system_has(tmp_path):
    """A model is fitted, saved over itself and read."""
    without(
        """
import rather
data = rather.Comparisons.from_frame(rather.datasets.film_club())
for _ in range(2):
    model = rather.AltSVM(rank=2, reg=5.0, max_iter=2).fit(data)
    model.save(sys.argv[1])
assert rather.load(sys.argv[1]).rank(model.users_[0])["item"][0] == model.rank(model.users_[0])["item"][0]
""",
        tmp_path / "m.rather",
    )


def test_locks_without_fcntl(tmp_path):
    """One process at a time has a database and a folder of models, by the locks of Windows too."""
    pytest.importorskip("sqlalchemy", reason="what serving needs is not installed: pip install 'rather[serve]'")
    said = without(
        """
from pathlib import Path
from rather.errors import InputError
from rather.server import locks
from rather.server.ledger import Ledger
locks.WAIT = 0.0
with locks.alone(Path(sys.argv[1]).with_name("models.fitting")):
    one, two = Ledger(sys.argv[1]), Ledger(sys.argv[1])
    one.take()
    try:
        two.take()
    except InputError as e:
        print(e)
""",
        tmp_path / "votes.sqlite",
    )
    assert "another process serves the votes" in said


def test_a_port_is_not_shared(monkeypatch):
    """Where a system can keep a port to one process, it is asked to; elsewhere an old connection is no hindrance."""
    serving = pytest.importorskip("rather.server.serving", exc_type=ImportError)
    where = mock.Mock(host="127.0.0.1", port=0)
    with socket.socket() as listening:
        serving._bind(listening, where)
        assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_KEEPALIVE, raising=False)  # any other option
    with socket.socket() as listening:
        serving._bind(listening, where)
        assert not listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
        assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_text_files_name_their_encoding():
    """A file of text is read and written as UTF-8 or ASCII, whatever the system's own encoding."""
    nameless = []
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or path.name in LINUX:
                continue
            name = ast.unparse(node.func).rpartition(".")[2]
            mode = node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else "r"
            text = name in ("read_text", "write_text") or (name == "fdopen" and "b" not in mode)
            text |= ast.unparse(node.func) == "open" and "b" not in mode
            if text and "encoding" not in {keyword.arg for keyword in node.keywords}:
                nameless.append(f"{path.name}:{node.lineno}")
    assert not nameless


@pytest.fixture
def no_file_is_replaced_while_open(monkeypatch):
    """Files that this process has open are neither replaced nor removed: Windows refuses both."""
    if not OPEN.exists():
        pytest.skip("the system does not say which files are open")

    def guarded(name):
        real = getattr(Path, name)

        def guard(self, *arguments, **options):
            mapped = {line.split(None, 5)[-1].strip() for line in Path("/proc/self/maps").read_text().splitlines()}
            used = {os.path.realpath(OPEN / one) for one in os.listdir(OPEN)} | mapped  # noqa: PTH208
            for path in (self, *arguments):
                assert os.path.realpath(path) not in used, f"{path} is open"
            return real(self, *arguments, **options)

        monkeypatch.setattr(Path, name, guard)

    for name in ("replace", "rename", "unlink"):
        guarded(name)


@pytest.mark.usefixtures("no_file_is_replaced_while_open", "brief_search")
def test_no_open_file_is_replaced(tmp_path):
    """Models, checkpoints and tables are closed before another takes their place."""
    data, path = small_data("votes"), tmp_path / "m.rather"
    for rounds in (2, 3):
        fitted = rather.AltSVM(rank=1, reg=5.0, max_iter=rounds, checkpoint=tmp_path / "c").fit(data)
        fitted.save(path)
        kept = rather.load(path)
        kept.save(path)
        write_table(tmp_path / "t.csv", {"item": np.array(["ä", "b"], object)})
    write_table(tmp_path / "v.csv", data.to_frame("dict"))
    given = tmp_path / "v.csv", "--rank", 1, "--reg", 5, "--max-iter", 2, "--out", tmp_path / "f"
    for more in ((), ("--force",)):
        assert run("fit", *given, *more)[0] == 0
    assert run("update", tmp_path / "f", tmp_path / "v.csv", "--out", tmp_path / "f", "--force")[0] == 0


def test_the_guard_sees_an_open_file(no_file_is_replaced_while_open, tmp_path):
    (tmp_path / "a").write_text("a")
    with (tmp_path / "a").open(), pytest.raises(AssertionError, match="is open"):
        (tmp_path / "a").unlink()
    (tmp_path / "a").unlink()


def test_lines_end_alike_everywhere(tmp_path):
    """A table has the same bytes on every system."""
    with mock.patch("os.linesep", "\r\n"):
        write_table(tmp_path / "t.csv", {"item": np.array(["ä", "b,c"], object), "n": np.arange(2)})
    assert (tmp_path / "t.csv").read_bytes() == 'item,n\nä,0\n"b,c",1\n'.encode()


def helps(parser):
    """The help of a parser and of the commands in it."""
    yield parser.format_help()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from helps(inner)


def test_help_is_for_every_console():
    """Help is printed by Python's parser, which stops at a character that the console has not."""
    assert not [text for text in helps(grammar()) if not text.isascii()]


def test_a_reader_who_has_gone(monkeypatch):
    """Windows says that the argument is invalid where others say that the pipe is broken."""
    gone = OSError(22, "Invalid argument")
    assert command_line._reader_has_gone(BrokenPipeError()) and not command_line._reader_has_gone(gone)
    monkeypatch.setattr(command_line, "WINDOWS", True)
    assert command_line._reader_has_gone(gone)
    assert not command_line._reader_has_gone(OSError(22, "Invalid argument", "a:b"))


def test_the_core_uses_no_constants_that_windows_lacks():
    """Windows defines M_PI and the like on request alone; the standard library has std::numbers."""
    native = Path(__file__).parents[1] / "native"
    assert not [path.name for path in native.iterdir() if re.search(r"\bM_[A-Z0-9_]+\b", path.read_text())]
