"""The control groups of this process, in which Linux limits the processors and the memory of a container."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc/self")


def folders(controller: str) -> Iterator[tuple[Path, bool]]:
    """Yield the folder of each group that may limit this process, and whether it is of cgroup version 2.

    A limit of a group holds for the groups inside it, so every group is followed by those around it. Nothing is yielded
    where there are no control groups.
    """
    try:
        mine = [line.split(":", 2) for line in (_PROC / "cgroup").read_text().splitlines()]
        mounts = [line.split(" - ") for line in (_PROC / "mountinfo").read_text().splitlines()]
    except OSError:
        return
    for number, controllers, group in mine:
        unified = number == "0" and not controllers
        if not unified and controller not in controllers.split(","):
            continue
        for place, kind in mounts:
            filesystem, _, options = kind.split(" ", 2)
            root, point = place.split(" ")[3:5]
            if unified and filesystem == "cgroup2":
                yield from ((folder, True) for folder in _around(Path(point), root, group))
            elif not unified and filesystem == "cgroup" and controller in options.split(","):
                yield from ((folder, False) for folder in _around(Path(point), root, group))


def _around(point: Path, root: str, group: str) -> Iterator[Path]:
    """Yield the folder of a group below its mount point, then the folders around it up to the mount point."""
    try:
        below = Path(group).relative_to(root)
    except ValueError:  # the group's name is one outside the container; the container sees its own group alone
        below = Path()
    folder = point / below
    while folder != point:
        yield folder
        folder = folder.parent
    yield point
