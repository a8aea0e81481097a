"""Fits with a checkpoint, killed at random moments and begun again until done: the factors of the uninterrupted fit.

A case is one fit in processes of its own, each killed by SIGKILL some moments after it began, several times; then it
is let finish. Every bit of the factors must be that of the same fit left alone.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

import rather
from rather.data.whole_files import LEFTOVER

FULL, CHUNK, SECONDS = 75, 15, 300.0
KILLS = 5  # of a fit, or more: until so many hit a fit that was under way
MOST_TRIES = 40
ROOT = Path(__file__).parents[1]
LOSSES = ("squared_hinge", "hinge", "logistic")
FITS: dict[str, dict[str, Any]] = {
    **{f"newton {loss}": {"loss": loss, "reg": 25.0} for loss in LOSSES},
    **{f"paper {loss}": {"loss": loss, "paper": True, "n_threads": 1, "rank": 10, "reg": 5.0} for loss in LOSSES},
    **{f"auto {loss}": {"loss": loss, "rank": "auto", "max_iter": 4, "reg": 25.0} for loss in LOSSES},
    **{f"choice {loss}": {"loss": loss, "rank": None, "max_iter": 12} for loss in LOSSES},
    "choice converged": {"rank": None, "tol": None},
    "choice of ratings": {"rank": None, "data": "ratings", "max_iter": 8},
    **{f"cv {loss}": {"loss": loss, "reg": "cv", "max_iter": 12} for loss in LOSSES},
    "cv auto": {"reg": "cv", "rank": "auto", "max_iter": 4},
    **{f"exposure {loss}": {"loss": loss, "exposure": True, "data": "ratings", "reg": 25.0} for loss in LOSSES},
    "exposure auto": {"exposure": True, "rank": "auto", "max_iter": 4, "data": "ratings"},
    "cv exposure": {"reg": "cv", "exposure": True, "data": "ratings", "max_iter": 8},
    "clicks": {"data": "clicks"},
    "largest gaps": {"data": "largest gaps"},
}


def prepare(folder: Path) -> tuple[Path, dict[str, Any]]:
    return folder, {}


def case(shared: tuple[Path, dict[str, Any]], rng: random.Random, count: Counter[str]) -> None:
    folder, known = shared
    name = rng.choice(list(FITS))
    if name not in known:
        known[name] = _alone(folder, name)
    want, seconds = known[name]
    checkpoint, out = folder / "checkpoint", folder / "killed.npz"
    for path in (checkpoint, out):
        path.unlink(missing_ok=True)
    kills = resumed = 0
    for _ in range(MOST_TRIES):
        threads = rng.choice((1, 2, 3))
        process = _begin(name, threads, checkpoint, out)
        if kills < KILLS:
            time.sleep(seconds * rng.uniform(0, 0.7) * rng.choice((0.1, 1)))
            process.send_signal(signal.SIGKILL)
        said = process.communicate()[1]
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, f"{name}: a restarted fit said {said[-500:]!r}"
        kills += 1
        resumed += checkpoint.exists()
    got = np.load(out)
    for part, tensor in want.items():
        same = got[part].dtype == tensor.dtype and got[part].tobytes() == tensor.tobytes()
        assert same, f"{name}: {part} differs after {kills} kills, {resumed} of them with a checkpoint written"
    for path in folder.glob(f".*{LEFTOVER}"):  # what a kill in the middle of writing leaves
        path.unlink()
        count["temporary files left by kills"] += 1
    count["fits killed and finished"] += 1
    count[f"kills of {name.split()[0]}"] += kills
    count["kills"] += kills
    count["kills after a checkpoint was written"] += resumed


def _alone(folder: Path, name: str) -> tuple[dict[str, Any], float]:
    """The factors of a fit that nothing disturbs and that has no checkpoint, and how long it took."""
    out = folder / "alone.npz"
    process = _begin(name, 1, None, out)
    began = time.perf_counter()
    said = process.communicate()[1]
    assert process.returncode == 0, f"{name}: a fit left alone said {said[-500:]!r}"
    with np.load(out) as file:
        return dict(file), time.perf_counter() - began


def _begin(name: str, threads: int, checkpoint: Path | None, out: Path) -> subprocess.Popen[bytes]:
    """Start a fit and return when it is about to begin."""
    asked = [sys.executable, "-m", "fuzz.kills", name, str(threads), str(checkpoint or ""), str(out)]
    process = subprocess.Popen(asked, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


# -- the process that is killed ---------------------------------------------------------------------------------------


def _data(kind: str) -> Any:
    world = rather.simulate(n_users=600, n_items=150, rank=3, per_user=40, levels=5, seed=1)
    r, users, items = world.comparisons.ratings, world.comparisons.users, world.comparisons.items
    assert r is not None
    if kind == "votes":
        return rather.simulate(n_users=2000, n_items=200, rank=3, per_user=60, seed=1).comparisons
    table = {"user": users[r.user], "item": items[r.item], "rating": r.rating}
    if kind == "clicks":
        high = r.rating >= 3
        return rather.Comparisons.from_clicks({"user": table["user"][high], "item": table["item"][high]})
    return rather.Comparisons.from_ratings(table, keep="largest-gap" if kind == "largest gaps" else "all")


def _fit(name: str, threads: int, checkpoint: str, out: str) -> None:
    params = {"rank": 20, "max_iter": 25, "tol": 0.0, "n_threads": threads, **FITS[name]}
    made: Any = rather.PaperAltSVM if params.pop("paper", False) else rather.AltSVM
    comparisons = _data(params.pop("data", "votes"))
    model = made(**params, checkpoint=checkpoint or None)
    print("about to begin", flush=True)
    model.fit(comparisons)
    parts: dict[str, Any] = {
        "U": model.user_factors_,
        "V": model.item_factors_,
        "b": model.item_bias_,
        "reg": model.reg_,
        "slope": [] if model.fitted.slope.found is None else astuple(model.fitted.slope.found),
    }
    records = [record["objective"] for record in model.history_]
    np.savez(out, **parts, history=records, cv=[r["accuracy"] for r in model.cv_results_])


if __name__ == "__main__":
    _fit(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
