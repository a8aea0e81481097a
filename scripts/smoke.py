"""Try the installed package in a few seconds: fit, rank, save, load, fold in, the command line and a Ctrl-C.

The workflow runs it in every wheel: python scripts/smoke.py. It needs nothing but the package, and prints one line.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import rather
from rather import native

COMMAND = (sys.executable, "-m", "rather")


def require(true: bool, what: str) -> None:
    """Stop with a sentence unless it is true."""
    if not true:
        sys.exit(f"smoke test: {what}")


def fit_and_ask(folder: Path) -> None:
    """Fit a model, save it over itself, and read it again."""
    model = rather.fit(rather.Comparisons.from_frame(rather.datasets.film_club()))
    best = model.rank(model.users_[0])["item"].tolist()
    for _ in range(2):  # the second time over a file that is there
        model.save(folder / "Filmclub äöü.rather")
    again = rather.load(folder / "Filmclub äöü.rather")
    require(again.rank(model.users_[0])["item"].tolist() == best, "a loaded model ranks otherwise")
    person = again.fold_in([(best[0], best[-1])])
    require(bool(np.isfinite(person.score(best)).all()), "a newcomer's scores are not finite")
    one, two = (rather.AltSVM(rank=2, max_iter=3, reg=5.0, n_threads=n) for n in (1, 2))
    data = rather.Comparisons.from_frame(rather.datasets.film_club())
    same = np.array_equal(one.fit(data).fitted.scorer.U, two.fit(data).fitted.scorer.U)
    require(same, "two threads give other factors than one")


def command_line(folder: Path) -> None:
    """Run commands as a user does, on a console that knows few characters."""
    env = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    for given in (("doctor",), ("demo",), ("rank", str(folder / "Filmclub äöü.rather"), "--everyone")):
        done = subprocess.run([*COMMAND, *given], env=env, capture_output=True, timeout=600)
        require(done.returncode == 0, f"rather {given[0]} ended with {done.returncode}: {done.stderr.decode('cp1252')}")
        require(b"Traceback" not in done.stderr, f"rather {given[0]} printed a traceback")
    said = subprocess.run([*COMMAND, "doctor", "--json"], capture_output=True, check=True, timeout=600).stdout
    require(json.loads(said)["version"] == rather.__version__, "rather doctor tells another version")


def interrupt() -> None:
    """Press Ctrl-C during a fit: it ends with KeyboardInterrupt and leaves the rounds that were done."""

    def press(model: Any, record: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in the background
    data = rather.Comparisons.from_frame(rather.datasets.film_club())
    model = rather.AltSVM(rank=2, reg=5.0, callback=press, on_interrupt="raise")
    try:
        model.fit(data)
    except KeyboardInterrupt:
        return
    require(False, "Ctrl-C did not end a fit")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        fit_and_ask(Path(name))
        command_line(Path(name))
    interrupt()
    print(f"rather {rather.__version__} works: {platform.platform()}, {platform.python_version()}, {native.simd}")
