"""Files that are written completely or not at all, and checks of paths before any work is done."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import FileError

LEFTOVER = ".unfinished"
ABANDONED = 3600  # seconds since it was last written to


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
    """The path of a file that can be written: its folder is there and open to us, and it is not a folder itself.

    Of a link, all this is asked of where it leads.
    """
    path = Path(path)
    try:
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
        if target.is_symlink():
            raise FileError(f"{str(path)!r} is a link that leads back to itself; give another name")
        if target.is_dir():
            raise FileError(f"{str(path)!r} is a folder; give a file name")
        if target.exists() and not target.is_file():
            raise FileError(f"{str(path)!r} is a device or a pipe; give the name of an ordinary file")
        if not target.parent.is_dir():
            raise FileError(f"there is no folder {str(target.parent)!r} to write {target.name!r} into; make it first")
        if target.exists() and not target.stat().st_mode & 0o222:
            raise FileError(f"the file {str(target)!r} is read-only; give another name")
    except OSError as e:
        raise cannot_write(path, e) from e
    if not os.access(target.parent, os.W_OK):
        raise FileError(f"the folder {str(target.parent)!r} may not be written to; give another one")
    return path


def cannot_write(path: Path, e: OSError) -> FileError:
    """The sentence about a file that the operating system does not take."""
    return FileError(f"cannot write {str(path)!r}: {e.strerror}")


@contextmanager
def written_whole(path: str | Path) -> Iterator[IO[bytes]]:
    """A binary file to write to, which takes its final name, flushed to disk, only if the block ends well.

    A link is followed, the permissions of a file that is replaced are kept (nobody else reads what is not whole yet),
    and one that may not be written to is refused. What a kill leaves behind is removed by the first write of the same
    file that comes an hour later or more: what is younger may be another's who is writing now.
    """
    path = Path(os.path.realpath(destination(path)))
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    _remove_leftovers(path)
    temporary = path.with_name(f".{_short(path)}.{secrets.token_hex(8)}{LEFTOVER}")
    try:
        with open(temporary, "xb", opener=lambda name, how: os.open(name, how, 0o666 if mode is None else 0o600)) as f:
            yield f
            f.flush()
            os.fsync(f.fileno())
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
    except BaseException as e:
        temporary.unlink(missing_ok=True)
        if isinstance(e, OSError) and not isinstance(e, FileError):
            raise cannot_write(path, e) from e
        raise


def _short(path: Path) -> str:
    """A name for what belongs to a file, not longer than file names may be."""
    return hashlib.blake2b(path.name.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def _remove_leftovers(path: Path) -> None:
    """Remove what writes of this file left behind that last wrote an hour ago or earlier."""
    for leftover in path.parent.glob(f".{_short(path)}.*{LEFTOVER}"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > ABANDONED:
                leftover.unlink()
