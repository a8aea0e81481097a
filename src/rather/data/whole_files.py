"""Files that are written whole or not at all, and paths that are refused before any work is done for them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import FileError


def existing(path: str | Path, wanted: str) -> Path:
    """The path of a file that is there to be read; ``wanted`` says what it should be."""
    path = Path(path)
    try:
        if path.is_dir():
            raise FileError(f"{str(path)!r} is a folder; name {wanted}")
        if not path.exists():
            raise FileError(f"there is no file {str(path)!r}; name {wanted}")
    except OSError as e:
        raise FileError(f"cannot read {str(path)!r}: {e.strerror}") from e
    return path


def destination(path: str | Path) -> Path:
    """The path of a file that can be written: its folder is there and open to us, and it is not a folder itself."""
    path = Path(path)
    try:
        if path.is_dir():
            raise FileError(f"{str(path)!r} is a folder; give a file name")
        if path.exists() and not path.is_file():
            raise FileError(f"{str(path)!r} is a device or a pipe; give the name of an ordinary file")
        if not path.parent.is_dir():
            raise FileError(f"there is no folder {str(path.parent)!r} to write {path.name!r} into; make it first")
    except OSError as e:
        raise FileError(f"cannot write {str(path)!r}: {e.strerror}") from e
    if not os.access(path.parent, os.W_OK):
        raise FileError(f"the folder {str(path.parent)!r} may not be written to; give another one")
    return path


@contextmanager
def written_whole(path: str | Path) -> Iterator[IO[bytes]]:
    """A binary file to write to, which takes its final name, flushed to disk, only if the block ends well."""
    path = destination(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as e:
        raise FileError(f"cannot write {str(path)!r}: {e.strerror}") from e
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as f:
            yield f
            f.flush()
            os.fsync(f.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException as e:
        temporary.unlink(missing_ok=True)
        if isinstance(e, OSError) and not isinstance(e, FileError):
            raise FileError(f"cannot write {str(path)!r}: {e.strerror}") from e
        raise
