"""The outer loop of a fit: rounds with a record each, until there is little left to gain, a callback or Ctrl-C."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from ..solving.rounds import SMALLER, Record, Stop, rounds
from .progress import Progress


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
    before = work._model.__dict__
    with Progress(work.verbose, title or type(work).__name__, work.max_iter) as progress:
        try:
            if work.history_:
                work._publish()
            stop = Stop(tol, work.max_iter)
            for record in rounds(SimpleNamespace(round=one_round), stop, history, began, advice):
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
