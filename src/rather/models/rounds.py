"""The outer loop of a fit: rounds with a record each, until there is little left to gain, a callback or Ctrl-C."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import InputError
from .progress import Progress

Record = dict[str, float]
SMALLER = (
    "weights, ratings or reg are too extreme for single precision; try a larger reg, or weights and ratings closer to 1"
)


def run_rounds(
    model: Any,
    one_round: Callable[[], Record],
    began: float,
    *,
    tol: float,
    title: str | None = None,
    advice: str = SMALLER,
    history: Sequence[Record] = (),
    keep: Callable[[list[Record]], None] | None = None,
) -> None:
    """Call ``one_round`` until its gap is at most ``tol`` or ``model.max_iter`` rounds are done.

    Sets ``history_``, ``converged_`` and ``interrupted_``. ``began`` is when the fit did, ``history`` what was done
    before it; ``keep`` is called with the history after every round; ``advice`` is for an objective that overflows.
    """
    model.history_ = list(history)
    model.interrupted_ = False
    elapsed = history[-1]["seconds"] if history else 0.0

    def converged() -> bool:
        return bool(model.history_) and model.history_[-1]["gap"] <= tol

    with Progress(model.verbose, title or type(model).__name__, model.max_iter) as progress:
        try:
            while len(model.history_) < model.max_iter and not converged():
                record = {"round": len(model.history_) + 1, **one_round()}
                record["seconds"] = elapsed + time.perf_counter() - began
                if not math.isfinite(record["objective"]):
                    raise InputError(f"the objective became {record['objective']} in round {record['round']}: {advice}")
                model.history_.append(record)
                if keep is not None:
                    keep(model.history_)
                progress.show(record)
                if model.callback is not None and model.callback(model, record):
                    break
        except KeyboardInterrupt:
            model.interrupted_ = True
            warnings.warn(
                f"fit interrupted after {len(model.history_)} rounds; the model is the best so far", stacklevel=2
            )
    model.converged_ = converged()
