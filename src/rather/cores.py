"""The default number of threads: as many processors as this process may use."""

from __future__ import annotations

import functools
import math
import os

from . import cgroups


def limits() -> dict[str, int]:
    """Return what limits the number of threads, and to how many.

    joblib limits the threads of its workers by setting ``OMP_NUM_THREADS`` in them.
    """
    found = {"cores": _cores()}
    if hasattr(os, "sched_getaffinity"):
        found["affinity"] = len(os.sched_getaffinity(0))
    quota = _quota()
    if quota is not None:
        found["cgroup"] = quota
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()  # a list has one number for each nested level
    if wanted.isdecimal() and int(wanted) >= 1:
        found["OMP_NUM_THREADS"] = int(wanted)
    return found


def default() -> int:
    """Return the smallest of the limits."""
    return min(limits().values())


@functools.cache  # the system call takes as long as a short question to a model
def _cores() -> int:
    return os.cpu_count() or 1


@functools.cache  # reading the files takes longer than most questions to a model
def _quota() -> int | None:
    """Return the processors that the control groups of this process allow, rounded up; None without a quota."""
    quotas = []
    for folder, unified in cgroups.folders("cpu"):
        try:
            if unified:
                time, period = (folder / "cpu.max").read_text().split()
            else:
                time, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
            if int(time) > 0 and int(period) > 0:
                quotas.append(math.ceil(int(time) / int(period)))
        except (OSError, ValueError):  # the group has no such file, or its quota is "max"
            continue
    return min(quotas, default=None)
