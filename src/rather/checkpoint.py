"""Resuming a fit after a kill: the state of the solver, rewritten after every round."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .comparisons import Comparisons
from .errors import FileError
from .files import read_tensors, write_tensors
from .whole_files import destination

if TYPE_CHECKING:
    from .altsvm import AltSVM

FORMAT = "rather-checkpoint-1"
FREE = {"max_iter", "tol", "n_threads", "verbose", "callback", "checkpoint", "warm_start"}  # may differ on resuming


class Checkpoint:
    """A file that a fit of the same data with the same parameters can go on from."""

    def __init__(self, path: str | Path, model: AltSVM, comparisons: Comparisons) -> None:
        self.path = destination(path)
        kept = {k: v for k, v in model.get_params().items() if k not in FREE}
        self._params = json.dumps(kept, sort_keys=True, default=lambda value: value.item())  # numpy's numbers
        self._data = fingerprint(comparisons)

    def exists(self) -> bool:
        return self.path.exists()

    def write(self, solver: Any, history: list[dict[str, float]]) -> None:
        problem = solver.problem
        tensors = {"U": problem.U, "V": problem.V, **solver.state()}
        tensors = {name: np.ascontiguousarray(t) for name, t in tensors.items()}
        metadata = {"format": FORMAT, "params": self._params, "data": self._data, "history": json.dumps(history)}
        write_tensors(self.path, tensors, metadata)

    def resume(self, solver: Any) -> list[dict[str, float]]:
        """Bring a solver to where the file was written; returns the history up to there."""
        tensors, metadata = read_tensors(self.path, FORMAT, "checkpoint")
        for what, own, kept in (
            ("parameters", self._params, metadata.get("params")),
            ("data", self._data, metadata.get("data")),
        ):
            if own != kept:
                raise FileError(
                    f"the checkpoint {str(self.path)!r} was made with other {what}; remove it, or give another path"
                )
        problem = solver.problem
        expected = {"U": problem.U, "V": problem.V, **solver.state()}
        try:
            history: list[dict[str, float]] = json.loads(metadata["history"])
            sound = (
                set(tensors) == set(expected)
                and all(tensors[n].shape == t.shape and tensors[n].dtype == t.dtype for n, t in expected.items())
                and all(np.isfinite(t).all() for t in tensors.values())
                and all({"round", "seconds", "objective", "gap"} <= set(record) for record in history)
            )
        except (KeyError, ValueError, TypeError, RecursionError):
            sound = False
        if not sound:
            raise FileError(f"the checkpoint {str(self.path)!r} is damaged: its parts do not fit together; remove it")
        problem.U[:], problem.V[:] = tensors["U"], tensors["V"]
        solver.restore(tensors, len(history))
        return history


def fingerprint(comparisons: Comparisons) -> str:
    """A hash of ids and comparisons."""
    h = hashlib.blake2b(digest_size=16)
    for ids in (comparisons.users, comparisons.items):
        h.update(ids.tobytes() if ids.dtype == np.int64 else json.dumps(ids.tolist()).encode())
    parts: list[Any] = []
    if comparisons.written:
        p = comparisons.pairs()
        parts += [p.user, p.winner, p.loser, p.weight]
    if comparisons.ratings is not None:
        r = comparisons.ratings
        parts += [r.user, r.item, r.rating]
    for array in parts:
        h.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
    return h.hexdigest()
