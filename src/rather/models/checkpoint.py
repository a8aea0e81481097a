"""Checkpoints: the state of the solver, written after every round, from which a fit resumes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.whole_files import destination
from ..errors import FileError
from .calibration import Calibration
from .estimator import Estimator
from .files import LARGEST_RIDGE, is_records
from .parameters import of_stages
from .scorers import LARGEST
from .tensors import read_tensors, write_tensors

FORMAT = "rather-checkpoint-7"


@dataclass(frozen=True)
class Saved:
    """The content of a checkpoint: the chosen regularisation and the state of the rounds."""

    path: Path
    tensors: dict[str, Any]
    reg: float
    bias_reg: float
    rank: int
    cv_results: list[dict[str, float]]
    calibration: Calibration | None
    history: list[dict[str, float]]
    features: list[Any]

    def resume(self, solver: Any) -> list[dict[str, float]]:
        """Bring a solver to where the file was written; returns the history up to there."""
        problem = solver.problem
        expected = {"U": problem.U, "V": problem.V, **solver.state()}
        fits = set(self.tensors) == set(expected) and all(
            (self.tensors[n].shape == t.shape or n in solver.GROWN)
            and self.tensors[n].dtype == t.dtype
            and self.tensors[n].ndim == t.ndim
            for n, t in expected.items()
        )
        if not fits:
            raise _damaged(self.path)
        problem.U[:], problem.V[:] = self.tensors["U"], self.tensors["V"]
        try:
            solver.restore(self.tensors, len(self.history))
        except (ValueError, IndexError, OverflowError, np.linalg.LinAlgError) as e:
            raise _damaged(self.path) from e
        return self.history


class Checkpoint:
    """A file that a fit of the same data with the same parameters can go on from."""

    def __init__(self, path: str | Path, model: Estimator, comparisons: Comparisons) -> None:
        self.path = destination(path)
        kept = of_stages(type(model.params), "objective", "method")  # the others may differ on resuming
        self._params = json.dumps({name: _plain(getattr(model.params, name)) for name in kept}, sort_keys=True)
        self._data = fingerprint(comparisons)

    def write(
        self,
        cv_results: list[dict[str, float]],
        calibration: Calibration | None,
        features: list[Any],
        solver: Any,
        history: list[dict[str, float]],
    ) -> None:
        problem = solver.problem
        tensors = {"U": problem.U, "V": problem.V, **solver.state()}
        fit = {
            "reg": problem.reg, "bias_reg": problem.bias_reg, "rank": problem.rank, "cv_results": cv_results,
            "calibration": calibration and asdict(calibration), "history": history, "features": features,
        }  # fmt: skip
        write_tensors(self.path, FORMAT, tensors, {"params": self._params, "data": self._data, "fit": json.dumps(fit)})

    def read(self) -> Saved | None:
        """Return the content of the file, or None without a file; refuse one of another fit."""
        if not self.path.exists():
            return None
        tensors, metadata = read_tensors(self.path, FORMAT, "checkpoint")
        for what, own, kept in (
            ("parameters", self._params, metadata.get("params")),
            ("data", self._data, metadata.get("data")),
        ):
            if own != kept:
                raise FileError(
                    f"the checkpoint {str(self.path)!r} was made with other {what}; remove it, or give another path"
                )
        try:
            fit = json.loads(metadata["fit"])
            sure = fit.pop("calibration")
            saved = Saved(self.path, tensors, calibration=None if sure is None else Calibration(**sure), **fit)
            sound = (
                all((np.abs(t) < LARGEST).all() for t in tensors.values())
                and tensors["U"].ndim == 2
                and is_records(saved.history)
                and is_records(saved.cv_results)
                and isinstance(saved.features, list)
                and (saved.calibration is None or saved.calibration.is_sound())
                and all({"round", "seconds", "objective", "gap"} <= set(record) for record in saved.history)
                and all(isinstance(x, float) and 1e-300 < x <= LARGEST_RIDGE for x in (saved.reg, saved.bias_reg))
                and type(saved.rank) is int  # which True is not
                and 0 <= saved.rank <= tensors["U"].shape[1]
            )
        except (KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError):
            sound = False
        if not sound:
            raise _damaged(self.path)
        return saved


def _damaged(path: Path) -> FileError:
    return FileError(f"the checkpoint {str(path)!r} is damaged: its parts do not fit together; remove it")


def _plain(value: Any) -> Any:
    """A parameter as JSON holds it, numbers alike whatever their type: 1, 1.0 and numpy's."""
    value = value.item() if isinstance(value, np.generic) else value
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def fingerprint(comparisons: Comparisons) -> str:
    """A hash of the ids and of everything that the source is made of."""
    h = hashlib.blake2b(digest_size=16)
    for ids in (comparisons.users, comparisons.items):
        h.update(ids.tobytes() if ids.dtype == np.int64 else json.dumps(ids.tolist()).encode())
    h.update(comparisons.source.description().encode())
    known = [d for d in (comparisons.user_features, comparisons.item_features) if d is not None]
    for described in known:
        h.update(json.dumps(described.encoder.about()).encode())
    for array in (*comparisons.source.columns(), *(rows for d in known for rows in (d.rows, d.known))):
        h.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
    return h.hexdigest()
