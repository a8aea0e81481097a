"""The free memory of this process, checked before large allocations."""

from __future__ import annotations

import os
from pathlib import Path

from . import cgroups
from .errors import InputError

_MEMINFO = Path("/proc/meminfo")
# The limit of a control group, what is used of it, and what of that is file cache: of version 1 and of version 2.
_FILES = (
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ("memory.max", "memory.current", "inactive_file"),
)


def available() -> int | None:
    """Return the bytes that can be had now, or None where the system does not say."""
    groups = (_of_group(folder, *_FILES[unified]) for folder, unified in cgroups.folders("memory"))
    return min((n for n in (_of_machine(), *groups) if n is not None), default=None)


def _of_group(folder: Path, limit: str, used: str, cache: str) -> int | None:
    try:
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        taken = int((folder / used).read_text()) - int(stat.get(cache, 0))  # the file cache gives way
        return max(int((folder / limit).read_text()) - max(taken, 0), 0)
    except (OSError, ValueError):  # the group has no such file, or its limit is "max"
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
