"""Coefficients of features in a fitted model, which predict the vectors of users or items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.described import OFF, Described
from ..data.features import Encoder, Features
from ..data.union import widened
from ..native import FloatArray, core, factor
from ..solving.described import NOTHING, Known, alone, by_column

BLOCK = 2**22  # products at a time
LARGEST = 1e15  # of a coefficient


def known_of(comparisons: Comparisons | None) -> Known:
    """Return the features that come with comparisons."""
    return NOTHING if comparisons is None else Known(comparisons.user_features, comparisons.item_features)


@dataclass(frozen=True)
class Learned:
    """The coefficients of one side's features: a row a column of the encoder's, as long as that side's vectors.

    ``coefficients`` are for those of whom nothing else is known, ``beside`` (of people) go with the items they met.
    ``strengths`` are those of the encoder's blocks, ``gains`` by how much each lowered the log loss of what was held
    out, and the standard error of that; None where it was not tried. ``spread`` are the columns' standard deviations
    over what was described. ``own``: whether vectors have a part beside.
    """

    encoder: Encoder
    coefficients: FloatArray
    strengths: tuple[float, ...]
    gains: tuple[tuple[float, float] | None, ...]
    spread: FloatArray
    beside: FloatArray
    alone: float = 1.0
    own: bool = True

    @classmethod
    def of(
        cls, known: Described, beside: FloatArray, rows: FloatArray, count: Any, gains: Any, n_threads: int
    ) -> Learned:
        """Return the learned features, from the coefficients of the blocks in use and from the rows with counts.

        Without a count, the coefficients in the fit stand for those of what nothing else is known of.
        """
        blocks, width = known.encoder.blocks, beside.shape[1]
        in_fit = by_column(known, beside)
        assert in_fit is not None and known.strengths is not None
        by_themselves = in_fit
        if known.own and count is not None:
            by_themselves = alone(known, rows, count, known.alone, n_threads)[:, :width].copy()
        gains = (None,) * len(blocks) if gains is None else gains
        return cls(known.encoder, by_themselves, known.strengths, gains, known.spread, in_fit, known.alone, known.own)

    def units(self) -> FloatArray:
        """Return the change of each column: for a category, having it; else one standard deviation."""
        units = self.encoder.units()
        return np.asarray(np.where(np.isnan(units), self.spread, units), np.float32)

    def used(self) -> Any:
        """Return which of the encoder's columns are in blocks that are in use."""
        out = np.zeros(self.encoder.width, bool)
        for block, strength in zip(self.encoder.blocks, self.strengths, strict=True):
            out[block.start : block.stop] = strength != OFF
        return out

    def means(self, columns: FloatArray, rank: int, n_threads: int, beside: bool = False) -> FloatArray:
        """The vectors that features make, laid out as those of a model of that rank.

        ``beside``: beside what the items that people met make of them.
        """
        wide = factor(len(columns), self.encoder.width)
        wide[:, : self.encoder.width] = columns
        return means(wide, self.beside if beside else self.coefficients, rank, n_threads)

    def of_frame(self, frame: Any) -> Features:
        """Features of a frame, which may lack those that are not in use."""
        every = zip(self.encoder.blocks, self.strengths, strict=True)
        return self.encoder.read(frame, [block.name for block, strength in every if strength == OFF])

    def read(self, comparisons: Comparisons, features: Any) -> tuple[Comparisons, FloatArray]:
        """Comparisons with the people of a table among their users, and the users' columns."""
        read = self.of_frame(features)
        union = widened((comparisons.users, comparisons.items), "user", read.ids)
        if len(union.users) > comparisons.n_users:
            comparisons = comparisons.with_later(comparisons.source.none(), union)
        columns = np.zeros((comparisons.n_users, self.encoder.width), np.float32)
        columns[comparisons.user_vocabulary.codes(read.ids)] = read.columns
        return comparisons, columns

    # -- files --------------------------------------------------------------------------------------------------

    def tensors(self, role: str) -> dict[str, Any]:
        own = {"coefficients": self.coefficients, "beside": self.beside, "spread": self.spread}
        own.update(self.encoder.tensors())
        return {f"{role}_features_{name}": array for name, array in own.items()}

    def about(self) -> dict[str, Any]:
        strengths = [None if s == OFF else s for s in self.strengths]
        return {
            "encoder": self.encoder.about(), "strengths": strengths, "gains": self.gains, "alone": self.alone,
            "own": self.own,
        }  # fmt: skip

    @classmethod
    def restored(cls, role: str, tensors: dict[str, Any], about: dict[str, Any], rows: int) -> Learned:
        """Return the features from a file; raise a ValueError if its parts do not fit together."""
        prefix = f"{role}_features_"
        mine = {name[len(prefix) :]: array for name, array in tensors.items() if name.startswith(prefix)}
        coefficients, beside, spread = (mine.pop(name) for name in ("coefficients", "beside", "spread"))
        encoder = Encoder.restored(about["encoder"], mine)
        strengths = tuple(OFF if s is None else float(s) for s in about["strengths"])
        gains = tuple(None if g is None else (float(g[0]), float(g[1])) for g in about["gains"])
        sound = (
            coefficients.dtype == beside.dtype == spread.dtype == np.float32
            and coefficients.shape == beside.shape == (encoder.width, rows)
            and spread.shape == (encoder.width,)
            and all(bool((np.abs(a) < LARGEST).all()) for a in (coefficients, beside, spread))
            and len(strengths) == len(gains) == len(encoder.blocks)
            and all(s > 0 for s in strengths)
            and all(g is None or all(map(np.isfinite, g)) for g in gains)
            and isinstance(about["own"], bool)
            and type(about["alone"]) is float
            and 0 < about["alone"] < LARGEST
            and (about["own"] or role == "item")
        )
        if not sound:
            raise ValueError(f"what is said of the {role}s' features does not fit together")
        return cls(encoder, coefficients, strengths, gains, spread, beside, about["alone"], about["own"])


def means(features: FloatArray, coefficients: FloatArray, rank: int, n_threads: int) -> FloatArray:
    """The prior means of rows with given features, laid out as those of a model of that rank.

    A row's bits are the same whatever other rows there are, which those of a product by BLAS are not.
    """
    width = coefficients.shape[1]
    wide, out, columns = factor(width, features.shape[1]), factor(len(features), rank + 1), np.arange(width)
    wide[:, : len(coefficients)] = coefficients.T
    size = max(1, BLOCK // max(width, 1))
    for first in range(0, len(features), size):
        rows = np.arange(first, min(first + size, len(features)), dtype=np.int32)
        products, at = np.empty(len(rows) * width, np.float32), np.tile(columns.astype(np.int32), len(rows))
        core.score_pairs(features, np.repeat(rows, width), wide, at, products, n_threads)
        out[rows, :width] = products.reshape(len(rows), width)
    return out
