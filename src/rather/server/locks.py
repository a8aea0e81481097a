"""Files that one process at a time has locked. The system takes a lock back when its process ends, however it ends."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import FileError, InputError

try:
    _system: Any = import_module("fcntl")
except ModuleNotFoundError:  # on Windows
    _system = import_module("msvcrt")

WAIT = 10.0  # seconds for another process, which was ended, to let go of a file
OWNED = getattr(os, "O_NOFOLLOW", 0)  # a link to elsewhere is refused where the system can


def own_file(path: str | Path) -> Any:
    """Return an open file to lock, which only its owner may open."""
    try:
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | OWNED, 0o600), "r+b")
    except OSError as e:
        raise FileError(f"cannot lock {str(path)!r}: {e.strerror}; remove it, or keep the votes elsewhere") from e


def is_locked(file: Any) -> bool:
    """Lock a file until it is closed; false if another process has."""
    try:
        if hasattr(_system, "flock"):
            _system.flock(file, _system.LOCK_EX | _system.LOCK_NB)
        else:
            _system.locking(file.fileno(), _system.LK_NBLCK, 1)
    except OSError:
        return False
    return True


def wait_for(is_taken: Callable[[], bool], refused: str) -> None:
    """Wait until something is taken; a process that was ended may take a moment to let go."""
    until = time.monotonic() + WAIT
    while not is_taken():
        if time.monotonic() > until:
            raise InputError(refused)
        time.sleep(0.1)


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait, for as long as it takes, until no other process has locked this file."""
    with own_file(path) as held:
        while not is_locked(held):
            time.sleep(0.1)
        yield
