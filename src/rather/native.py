"""The C++ core, in the build that suits this processor.

``$RATHER_SIMD`` (``baseline``, ``avx2`` or ``avx512``) selects a build. A build that the processor cannot run is
refused.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from . import cores
from .errors import InputError, number

_processor: Any = importlib.import_module(f"{__package__}._core_processor")

LEVELS = ("baseline", "avx2", "avx512")
best: str = _processor.best_instruction_set(*_processor.processor())  # that this processor can run


def _choose() -> tuple[str, Any]:
    built = [level for level in LEVELS if importlib.util.find_spec(f"{__package__}._core_{level}")]
    fitting = [level for level in built if LEVELS.index(level) <= LEVELS.index(best)]
    wanted = os.environ.get("RATHER_SIMD") or (fitting[-1] if fitting else best)
    if wanted not in LEVELS:
        raise InputError(f"RATHER_SIMD is {wanted!r}; it must be one of {', '.join(LEVELS)}")
    if LEVELS.index(wanted) > LEVELS.index(best):
        raise InputError(f"RATHER_SIMD is {wanted!r}, but this processor offers {best!r} at most; unset it")
    if wanted not in built:
        raise InputError(
            f"the core was built for {', '.join(built)} only, and {wanted!r} is needed; pip install . builds all"
        )
    return wanted, importlib.import_module(f"{__package__}._core_{wanted}")


simd, core = _choose()

FloatArray = npt.NDArray[np.float32]
LOSSES: dict[str, int] = core.LOSSES  # by their numbers in the core
GAP_LOSSES: dict[str, int] = core.GAP_LOSSES  # these see how ratings differ


def threads(n_threads: int | None) -> int:
    """Return the number of threads to use: if None, as many as this process may keep busy."""
    if n_threads is None:
        return cores.default()
    number("n_threads", n_threads, at_least=1, at_most=4096, integer=True)
    return int(n_threads)


def row_length(columns: int) -> int:
    """Floats a row of a factor takes in memory: a whole number of cache lines."""
    pad: int = core.ROW_PAD
    return -(-columns // pad) * pad


def factor(n_rows: int, columns: int) -> FloatArray:
    """A zero matrix whose rows start on cache lines."""
    ld = row_length(columns)
    raw = np.zeros(n_rows * ld + 16, np.float32)
    offset = (-raw.ctypes.data // 4) % 16
    return raw[offset : offset + n_rows * ld].reshape(n_rows, ld)
