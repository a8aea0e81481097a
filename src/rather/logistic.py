"""The logistic function."""

from __future__ import annotations

from typing import Any

import numpy as np


def sigmoid(x: Any) -> Any:
    """1 / (1 + e^-x), in a form that does not overflow."""
    return 0.5 * (1 + np.tanh(0.5 * x))
