"""The outer loop of a fit: rounds with a record each, until there is little left to gain, a callback or Ctrl-C."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import Any

from ..errors import InputError
from ..progress import Progress


def run_rounds(model: Any, one_round: Callable[[], dict[str, float]], began: float) -> None:
    """Call ``one_round`` until its gap is at most ``model.tol`` or ``model.max_iter`` rounds are done.

    Sets ``history_``, ``converged_`` and ``interrupted_``; ``began`` is when the fit did.
    """
    model.history_, model.converged_, model.interrupted_ = [], False, False
    with Progress(model.verbose, type(model).__name__, model.max_iter) as progress:
        try:
            while len(model.history_) < model.max_iter and not model.converged_:
                record = {"round": len(model.history_) + 1, **one_round()}
                record["seconds"] = time.perf_counter() - began
                if not math.isfinite(record["objective"]):
                    raise InputError(
                        f"the objective became {record['objective']} in round {record['round']}: ratings or reg are "
                        "too extreme for single precision; try a larger reg, or ratings divided by a constant"
                    )
                model.history_.append(record)
                model.converged_ = record["gap"] <= model.tol
                progress.show(record)
                if model.callback is not None and model.callback(model, record):
                    break
        except KeyboardInterrupt:
            model.interrupted_ = True
            warnings.warn(
                f"fit interrupted after {len(model.history_)} rounds; the model is the best so far", stacklevel=3
            )
