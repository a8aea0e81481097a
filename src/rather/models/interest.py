"""The interest of users in items, from which items they met, for lists of items to show.

Scores from ratings predict which of two items a user would prefer, as if the user had met both. Users never take up
most of the items they would like, so lists combine preference and interest. With the features of ``solving.exposure``,

    q_ij = z_i . R_j sqrt(n_j),    z_i = the sum of R_j / sqrt(n_j) over the items that i met

measures how much the items that i chose point to j. It is a low-pass filter on the graph of users and items. It has as
many features as there are singular values above those of chance, and at least LEAST. Lists are ordered by s_ij + q_ij,
each in units of its standard deviation over the items for i.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..native import FloatArray, factor
from .exclusions import Rows

INTEREST = "interest"  # the scale of scores in lists to show
LEAST = 8  # features, as far as there are so many; that all weigh the same was chosen on held-out training ratings


class Interest:
    """``parts`` are R_j / sqrt(n_j), ``weights`` R_j sqrt(n_j): a row an item, a column a feature."""

    TENSORS = "interest_parts", "interest_weights"  # as files call them

    def __init__(self, parts: FloatArray, weights: FloatArray) -> None:
        self.parts, self.weights = parts, weights
        self._made: tuple[Any, FloatArray, Any] | None = None  # V, and what was made of it: one thing for all lists

    def rows(self, U: FloatArray, V: FloatArray, width: int, met: Rows) -> tuple[FloatArray, FloatArray]:
        """Rows of people and of items whose products order lists: ``met`` are the items of those with rows ``U``.

        ``width`` columns of U and V count.
        """
        from scipy.sparse import csr_matrix

        start, item = met
        Z = csr_matrix((np.ones(len(item), np.float32), item, start), shape=(len(U), len(V))) @ self.parts
        right, moments = self._of_items(V, width)
        left = factor(len(U), width + Z.shape[1])
        for at, people, second in zip(self._columns(width), (U[:, :width], Z), moments, strict=True):
            left[:, at] = people / _spread(people, second)[:, None]
        return left, right

    def _of_items(self, V: FloatArray, width: int) -> tuple[FloatArray, Any]:
        made = self._made
        if made is None or made[0] is not V:
            right = factor(len(V), width + self.weights.shape[1])
            for at, items in zip(self._columns(width), (V[:, :width], self.weights), strict=True):
                right[:, at] = items
            made = self._made = V, right, [_second_moment(right[:, at]) for at in self._columns(width)]
        return made[1], made[2]

    def _columns(self, width: int) -> tuple[slice, slice]:
        return slice(width), slice(width, width + self.weights.shape[1])

    def tensors(self) -> dict[str, FloatArray]:
        return dict(zip(self.TENSORS, (self.parts, self.weights), strict=True))

    def is_sound(self, n_items: int, largest: float) -> bool:
        return self.parts.shape == self.weights.shape and all(
            a.dtype == np.float32 and a.ndim == 2 and len(a) == n_items and (np.abs(a) < largest).all()
            for a in (self.parts, self.weights)
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"parts": self.parts, "weights": self.weights, "_made": None}


def _second_moment(items: FloatArray) -> Any:
    about = items.astype(np.float64) - items.mean(axis=0, dtype=np.float64)
    return about.T @ about / len(about)


def _spread(people: FloatArray, second: Any) -> Any:
    """The standard deviation over items of each person's products; where all are alike, 1."""
    people = people.astype(np.float64)
    spread = np.sqrt(np.maximum(((people @ second) * people).sum(axis=1), 0.0))
    return np.where(spread > 0, spread, 1.0)
