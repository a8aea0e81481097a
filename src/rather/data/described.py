"""Features of the items or the users of comparisons: a row for every code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import InputError
from ..native import FloatArray, core, factor, threads
from ..warned import warn
from .features import Encoder, Features
from .ids import Codes, Ids, Vocabulary, quoted
from .rows import Mask
from .union import Sides

OFF = float("inf")
NEGLIGIBLE = 1e-6  # of the largest square of a principal axis


@dataclass(frozen=True, eq=False)
class Described:
    """Features of the users or of the items of comparisons.

    Attributes
    ----------
    rows : array
        One row a code, laid out as a factor is, of which the first ``encoder.width`` columns count; zeros, which is the
        mean, for those that nothing is known of.
    known : array of bool
        Which codes have features.
    encoder : Encoder
        How frames became columns.
    strengths : tuple of float, optional
        How stiff the coefficients of each of the encoder's blocks are, ``OFF`` for those that do not help; None where
        that is still to be chosen.
    alone : float
        How many times as stiff they are for those of whom nothing else is known.
    axes : array, optional
        Of items that are nothing but their features: the columns of ``rows`` are then principal axes, and these are
        they, a column each.
    """

    rows: FloatArray
    known: Mask
    encoder: Encoder
    strengths: tuple[float, ...] | None = None
    alone: float = 1.0
    axes: FloatArray | None = None

    @property
    def own(self) -> bool:
        """Whether what is described has a part of its own beside its features."""
        return self.axes is None

    @property
    def k(self) -> int:
        return self.encoder.width if self.axes is None else int(self.axes.shape[1])

    @cached_property
    def spread(self) -> FloatArray:
        """The standard deviations of the encoder's columns, over what is described."""
        rows = self.rows[self.known, : self.k]
        if self.axes is None:
            return np.asarray(rows.std(axis=0, dtype=np.float64), np.float32)
        moment = rows.T.astype(np.float64) @ rows / max(len(rows), 1)
        return np.asarray(np.sqrt(((self.axes @ moment) * self.axes).sum(axis=1)), np.float32)

    def with_strengths(self, strengths: tuple[float, ...] | None, alone: float = 1.0) -> Described:
        return replace(self, strengths=strengths, alone=alone)

    def among(self, sides: Sides) -> Described:
        """The same where there are more ids: nothing is known of those."""
        if len(sides) == len(self.rows):
            return self
        rows, known = factor(len(sides), self.rows.shape[1]), np.zeros(len(sides), bool)
        rows[sides.codes[0]], known[sides.codes[0]] = self.rows, self.known
        return replace(self, rows=rows, known=known)

    def joined(self, features: Features, codes: Codes) -> Described:
        """The same with other features for some codes."""
        rows, known = self.rows.copy(), self.known.copy()
        rows[codes, : self.encoder.width] = features.columns
        known[codes] = True
        return replace(self, rows=rows, known=known)


def described(features: Features, ids: Ids, role: str, compared: Mask) -> Described:
    """Features by the codes of ids; it is said who has none of those who are compared.

    Where nobody has any, the ids of the two do not fit together.
    """
    codes = Vocabulary(ids, role).codes(features.ids)
    rows, known = factor(len(ids), features.encoder.width), np.zeros(len(ids), bool)
    rows[codes, : features.encoder.width], known[codes] = features.columns, True
    without = ids[compared & ~known]
    if len(without) == int(compared.sum()):
        raise InputError(
            f"none of the {len(without):,} {role}s that were compared, such as {quoted(without[0])}, has a row in "
            f"the table of their features, whose ids are such as {quoted(features.ids[0])}; the ids must be the same"
        )
    if len(without):
        warn(
            f"{len(without):,} of {int(compared.sum()):,} {role}s, such as {quoted(without[0])}, have no row in "
            "the table of their features; they count as average",
            "no-features-row",
        )
    return Described(rows, known, features.encoder)


def nothing_else(features: Features) -> Described:
    """Items that are nothing but their features, in the order of these: in principal axes, without those of nothing."""
    k = features.encoder.width
    rows, axes = factor(len(features.ids), k), np.zeros((k, k))
    rows[:, :k] = features.columns
    held = np.array(core.principal(rows, k, axes, threads(None)))
    kept = int((held > NEGLIGIBLE * held.max(initial=0.0)).sum())
    made = factor(len(rows), kept)
    made[:, :kept] = rows[:, :kept]
    strengths = (1.0,) * len(features.encoder.blocks)
    kept_axes = np.asarray(axes[:, :kept], np.float32)
    return Described(made, np.ones(len(rows), bool), features.encoder, strengths, axes=kept_axes)
