"""Limited-memory BFGS with backtracking, which never increases a smooth function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..native import FloatArray

REMEMBERED = 8  # steps the curvature is estimated from
SHORTEST = 1e-6  # a step shorter than this share of the full one is not worth another trial


class LBFGS:
    """Minimises a function of a vector, which returns its value and its gradient."""

    def __init__(self, function: Callable[[FloatArray], tuple[float, FloatArray]], x: FloatArray) -> None:
        self.function = function
        self.x = x
        self.value, self.gradient = function(x)
        self.steps: list[FloatArray] = []
        self.changes: list[FloatArray] = []  # of the gradient, over the steps

    def round(self) -> dict[str, float]:
        """One step. Returns the objective after it and ``gap``: by which share of it the step lowered it."""
        before = self.value
        if not self._descend(self._direction()) and self.steps:  # the remembered curvature misled: begin again without
            self.steps, self.changes = [], []
            self._descend(-self.gradient)
        return {"objective": self.value, "gap": (before - self.value) / max(abs(self.value), 1e-30)}

    def _descend(self, direction: FloatArray) -> bool:
        """Step along a direction, shortened until the value falls; whether it did."""
        slope, t, before = _dot(self.gradient, direction), 1.0, self.value
        while slope < 0 and t > SHORTEST:
            step = direction * direction.dtype.type(t)
            trial = self.x + step
            value, gradient = self.function(trial)
            if value <= before + 1e-4 * t * slope:
                self._remember(step, gradient - self.gradient)
                self.x, self.value, self.gradient = trial, value, gradient
                return True
            t *= 0.5
        return False

    def _remember(self, step: FloatArray, change: FloatArray) -> None:
        if _dot(step, change) > 1e-8 * _dot(change, change):  # else the estimate would not be positive definite
            self.steps, self.changes = [*self.steps, step][-REMEMBERED:], [*self.changes, change][-REMEMBERED:]

    def _direction(self) -> FloatArray:
        """Minus the gradient times the estimate of the inverse Hessian, by the two-loop recursion."""
        d = -self.gradient
        past = [(s, y, 1 / _dot(s, y)) for s, y in zip(self.steps, self.changes, strict=True)]
        shares = []
        for s, y, inverse in reversed(past):
            shares.append(d.dtype.type(inverse * _dot(s, d)))
            d -= shares[-1] * y
        if past:
            s, y, inverse = past[-1]
            d *= d.dtype.type(1 / (inverse * _dot(y, y)))
        for (s, y, inverse), share in zip(past, reversed(shares), strict=True):
            d += (share - d.dtype.type(inverse * _dot(y, d))) * s
        return d


def _dot(a: Any, b: Any) -> float:
    return float((a * b).sum(dtype="float64"))  # not BLAS, whose last bits depend on its threads
