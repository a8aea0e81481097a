"""Effects of context: numbers beside a comparison, such as position or length, that may influence the answer.

The margin of a comparison t is s_ij - s_ik + g . z_t, with the same g for all users. F gets
sum_t w_t L(margin) + rho / 2 |g|^2. It is still convex in (X, b, g), and is minimised over g as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.rows import Pairs
from ..data.source import Source
from ..native import FloatArray

RIDGE = 0.01  # rho: as a hundredth of an answer at g = 1, a column's numbers being of mean square 1


@dataclass(frozen=True)
class Around:
    """The numbers, one row a comparison (in the order of the store), divided by each column's root mean square."""

    Z: FloatArray
    scale: Any

    @classmethod
    def of(cls, source: Source) -> Around | None:
        """Return the context of a source; None without any."""
        if not source.effects:
            return None
        around = np.asarray(source.pairs().around, np.float64)
        scale = np.sqrt(np.square(around).mean(axis=0))
        scale[scale == 0] = 1.0  # what is left of a split may all be alike
        return cls(np.ascontiguousarray(around / scale, np.float32), scale)

    def offset(self, g: Any) -> FloatArray:
        """Return what the context adds to the margins."""
        return np.asarray(np.einsum("td,d->t", self.Z, g), np.float32)

    def slope(self, slopes: FloatArray) -> Any:
        """The derivative with respect to g of what has these derivatives with respect to the margins."""
        return np.einsum("t,td->d", slopes, self.Z, dtype=np.float64)

    def curvature(self, curvatures: FloatArray) -> Any:
        return np.einsum("td,te->de", self.Z * curvatures[:, None], self.Z, dtype=np.float64)


def swayed(pairs: Pairs, g: Any) -> Any:
    """Return what effects, in the units of ``pairs.around``, add to margins."""
    return 0.0 if pairs.around is None else np.einsum("td,d->t", pairs.around, g, dtype=np.float64)
