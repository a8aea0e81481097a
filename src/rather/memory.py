"""What fits into this machine's memory, asked before it is taken."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import InputError

_MEMINFO = Path("/proc/meminfo")
_CONTAINER = (  # the limit of a container, what is used of it, and what of that is files: of both kinds of groups
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current", "inactive_file"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available() -> int | None:
    """Bytes that can be had now, or None where that cannot be told."""
    free = [n for n in (_of_machine(), *(_of_container(*files) for files in _CONTAINER)) if n is not None]
    return min(free) if free else None


def _of_container(folder: Path, limit: str, used: str, files: str) -> int | None:
    try:
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        taken = int((folder / used).read_text()) - int(stat.get(files, 0))  # files give way
        return max(int((folder / limit).read_text()) - max(taken, 0), 0)
    except (OSError, ValueError):  # there is none, or "max"
        return None


def _of_machine() -> int | None:
    try:
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def require(size: float, what: str, instead: str) -> None:
    """Refuse what would take more bytes than there are, with the size and what to do instead."""
    free = available()
    if free is not None and size > free:
        raise InputError(f"{what} would take {_shown(size)}, and {_shown(free)} are free; {instead}")


def _shown(size: float) -> str:
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.0f} MiB"
