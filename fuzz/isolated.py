"""Cases in processes of their own: a crash, a hang or a failure costs one case, and is told with its number.

A campaign is a module with ``FULL`` (cases of a long run), ``CHUNK`` (cases of one process), ``SECONDS`` (that one case
may take), ``prepare(folder)`` (what all cases share) and ``case(shared, rng, count)``, which raises where something is
wrong. A case depends on the seed and its number alone, except for when signals and threads happen to strike.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FAST = Path("/dev/shm")  # where there is a disk in memory, files go there
MOST_FAILURES = 1000  # of one process: then it is clear enough
EVERY = 1.0  # seconds between reports of a process


@dataclass
class Outcome:
    """What a campaign came to: cases, what became of them, and a line for every failure."""

    name: str
    seed: int
    cases: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def campaign(name: str, n: int, seed: int, first: int = 0, jobs: int | None = None) -> Outcome:
    """Run cases first, first + 1, ... of the campaign of a name, n of them."""
    began = time.perf_counter()
    module = importlib.import_module(f"fuzz.{name}")
    jobs = jobs or min(getattr(module, "JOBS", 64), os.cpu_count() or 1)
    size = max(1, min(module.CHUNK, -(-n // jobs)))
    chunks = [(begin, min(begin + size, first + n)) for begin in range(first, first + n, size)]
    outcome = Outcome(name, seed, n)
    with ThreadPoolExecutor(jobs) as pool:
        for counts, failures in pool.map(lambda chunk: _chunk(name, seed, chunk[0], chunk[1], module.SECONDS), chunks):
            outcome.counts += counts
            outcome.failures += failures
    outcome.seconds = time.perf_counter() - began
    return outcome


def _chunk(name: str, seed: int, begin: int, end: int, limit: float) -> tuple[Counter[str], list[str]]:
    """Some cases in a process, and after a crash in another from the next case on."""
    counts: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=FAST if FAST.is_dir() else None) as folder:
        while begin < end:
            place, out, err = (Path(folder) / part for part in ("place", "out", "err"))
            scratch = Path(folder) / "scratch"
            scratch.mkdir(exist_ok=True)
            place.write_text(str(begin))
            with out.open("w") as o, err.open("w") as e:
                asked = [sys.executable, "-m", "fuzz.isolated", name, str(seed), str(begin), str(end), folder]
                process = subprocess.Popen(asked, cwd=ROOT, stdout=o, stderr=e, start_new_session=True)
                hung = not _ended(process, place, limit)
            for line in out.read_text().splitlines():
                said = json.loads(line)
                counts.update(said["counts"])
                failures += [f"{name} {seed} {n}: {what}" for n, what in said["failures"]]
            if process.returncode == 0 and not hung:
                break
            at = int(place.read_text() or begin)
            tail = " | ".join(err.read_text(errors="replace").strip().splitlines()[-12:])
            what = f"took more than {limit:.0f} s" if hung else f"ended the process with {process.returncode}"
            failures.append(f"{name} {seed} {at}: {what}: {tail}")
            begin = at + 1
    return counts, failures


def _ended(process: subprocess.Popen[bytes], place: Path, limit: float) -> bool:
    """Wait for a process; False, and it is killed, if it stays at one case for too long."""
    at, since = "", time.monotonic()
    while True:
        try:
            process.wait(0.2)
            return True
        except subprocess.TimeoutExpired:
            now = place.read_text()
            if now != at:
                at, since = now, time.monotonic()
            elif time.monotonic() - since > limit:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return False


def limit_memory(more: float) -> None:
    """Refuse this process more than so many bytes beyond what it has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else None
    if pages is not None:
        most = pages * resource.getpagesize() + int(more)
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def _work(name: str, seed: int, begin: int, end: int, folder: Path) -> None:
    """What a process does: report counts and failures once a second, and leave the number of the case in a file."""
    faulthandler.enable()
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "the gap of Convex is")  # fits of few rounds
    module: Any = importlib.import_module(f"fuzz.{name}")
    shared = module.prepare(folder / "scratch")
    counts: Counter[str] = Counter()
    failures: list[tuple[int, str]] = []
    reported, total = time.monotonic(), 0
    place = os.open(folder / "place", os.O_WRONLY)
    for n in range(begin, end):
        os.pwrite(place, str(n).encode(), 0)
        began = time.monotonic()
        try:
            module.case(shared, random.Random(f"{name} {seed} {n}"), counts)
        except Exception as e:
            failures.append((n, f"{type(e).__name__}: {_line(e)}"))
            total += 1
            if total >= MOST_FAILURES:
                failures.append((n, f"stopped after {total:,} failures, {end - n - 1:,} cases before the end"))
        if time.monotonic() - began > module.SECONDS / 2:
            failures.append((n, f"took {time.monotonic() - began:.1f} s"))
        if time.monotonic() - reported > EVERY or n == end - 1 or total >= MOST_FAILURES:
            print(json.dumps({"counts": counts, "failures": failures}), flush=True)
            reported = time.monotonic()
            counts.clear()
            failures.clear()
        if total >= MOST_FAILURES:
            return


def _line(e: BaseException) -> str:
    """An exception and the last lines of ours it passed, in one line."""
    ours = [f for f in traceback.extract_tb(e.__traceback__) if "/fuzz/" in f.filename or "/rather/" in f.filename]
    where = ", ".join(f"{Path(f.filename).name}:{f.lineno}" for f in ours[-4:])
    return f"{' '.join(str(e).split())[:600]} ({where})"


if __name__ == "__main__":
    _work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
