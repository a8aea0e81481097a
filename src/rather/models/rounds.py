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
    work: Any,
    one_round: Callable[[], Record],
    began: float,
    *,
    tol: float,
    title: str | None = None,
    advice: str = SMALLER,
    history: Sequence[Record] = (),
    keep: Callable[[list[Record]], None] | None = None,
    finish: Callable[[], None] | None = None,
    stalled: Callable[[], bool] | None = None,
) -> bool:
    """Call ``one_round`` until its gap is at most ``tol`` or ``work.max_iter`` rounds are done.

    ``work`` is what a fit works on; after every round it is published, and a callback sees the model. Sets
    ``history_``, ``converged_`` and ``interrupted_``. ``began`` is when the fit did, ``history`` what was done before
    it; ``keep`` is called with the history after every round, ``finish`` after the last; ``advice`` is for an objective
    that overflows. ``stalled`` says after a round whether further rounds would gain nothing.

    Returns whether it was not interrupted. Ctrl-C leaves the state of the last round that was finished, be it before
    this fit, as the model's; before the first one there is nothing to keep, and KeyboardInterrupt goes on.
    """
    if len(history) > work.max_iter:
        text = f"the checkpoint has {len(history)} rounds already, more than max_iter={work.max_iter}; all are kept"
        warnings.warn(text, stacklevel=5)
    work.history_, work.interrupted_ = list(history), False
    work.converged_ = bool(history) and history[-1]["gap"] <= tol
    elapsed = history[-1]["seconds"] if history else 0.0
    before = work._model.__dict__
    with Progress(work.verbose, title or type(work).__name__, work.max_iter) as progress:
        try:
            if work.history_:
                work._publish()
            while len(work.history_) < work.max_iter and not work.converged_:
                record = {"round": len(work.history_) + 1, **one_round()}
                record["seconds"] = elapsed + time.perf_counter() - began
                if not math.isfinite(record["objective"]):
                    raise InputError(f"the objective became {record['objective']} in round {record['round']}: {advice}")
                work.history_ = [*work.history_, record]
                work.converged_ = record["gap"] <= tol
                if keep is not None:
                    keep(work.history_)
                model = work._publish()
                progress.show(record)
                if work.callback is not None and work.callback(model, record):
                    break
                if stalled is not None and stalled():
                    break
            if finish is not None:
                finish()
        except KeyboardInterrupt:
            if work._model.__dict__ is before:  # nothing was published
                raise
            work._publish_interrupted()
            if work.on_interrupt == "raise":
                raise
            return False
    return True
