"""What people would take up, from who met what: what to show is more than what would be liked.

Scores learned from ratings say which of two items a person would rather have, as if they had met both. Most of what
they would like they will never take up, so lists to show ask for both. With the features of ``solving.exposure``,

    q_ij = z_i . R_j sqrt(n_j),    z_i = the sum of R_j / sqrt(n_j) over the items that i met

is how much i's choice of items points to j: a low-pass filter on the graph of who met what, of as many features as have
singular values above those of chance. Lists are ordered by s_ij + q_ij, both in units of their standard deviation over
the items for i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..native import FloatArray, factor
from .exclusions import Rows

LEAST = 8  # features, as far as there are so many; that the rest have equal weights was chosen on training ratings


class Interest(NamedTuple):
    """``parts`` are R_j / sqrt(n_j), ``weights`` R_j sqrt(n_j): a row an item, a column a feature."""

    parts: FloatArray
    weights: FloatArray

    def rows(self, U: FloatArray, V: FloatArray, met: Rows) -> tuple[FloatArray, FloatArray]:
        """Rows of people and of items whose products order lists: ``met`` are the items of those with rows ``U``."""
        from scipy.sparse import csr_matrix

        start, item = met
        one = np.ones(len(item), np.float32)
        Z = csr_matrix((one, item, start), shape=(len(U), len(V))) @ self.parts
        width = U.shape[1]
        left, right = factor(len(U), width + Z.shape[1]), factor(len(V), width + Z.shape[1])
        for at, people, items in ((slice(width), U, V), (slice(width, width + Z.shape[1]), Z, self.weights)):
            left[:, at] = people / _spread(people, items)[:, None]
            right[:, at] = items
        return left, right

    def is_sound(self, n_items: int, largest: float) -> bool:
        return self.parts.shape == self.weights.shape and all(
            a.dtype == np.float32 and a.ndim == 2 and len(a) == n_items and (np.abs(a) < largest).all() for a in self
        )


def _spread(people: FloatArray, items: FloatArray) -> Any:
    """The standard deviation over items of each person's products; where all are alike, 1."""
    about = items.astype(np.float64) - items.mean(axis=0, dtype=np.float64)
    second = about.T @ about / len(about)
    spread = np.sqrt(np.maximum(np.einsum("ia,ab,ib->i", people, second, people, optimize=True), 0.0))
    return np.where(spread > 0, spread, 1.0)
