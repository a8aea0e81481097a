"""Prior means of the rows of a factor, linear in their features: F C, where C is a ridge regression on the rows.

Features come in blocks, each with a strength. The ridge on a coefficient is strength x tr(F'WF) / k over the block's k
columns, with W the shapes of the ridges of the rows that were met. At a strength of 1 a shared coefficient costs on
average as much as the same mean would cost if every row paid for it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..native import FloatArray, core, factor

EXACT = 1e-9  # a ridge, as a share of the largest square of an axis, that leaves what features explain as it is


class Block(NamedTuple):
    """Features of rows, laid out as a factor is, of which the first ``k`` columns count."""

    features: FloatArray
    k: int
    strength: float


class Prior:
    """The means of one factor's rows, with C at its best for the rows.

    ``ridge`` is that on C, in units of that on a row of shape 1. ``met`` says about which rows something was said, all
    by default. ``store``: of whose users they are, if of users. ``own``: whether rows have a part of their own; else
    they are their means.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        shape: FloatArray,
        n_threads: int,
        met: Any = None,
        store: Any = None,
        own: bool = True,
    ) -> None:
        self.shape, self.n_threads, self.own = shape, n_threads, own
        counted = np.ones_like(shape) if not own else shape if met is None else shape * met
        ridges = [_ridge(block, counted, store) for block in blocks]
        self.ridge: float = ridges[0] if len(blocks) == 1 and own else 1.0
        if len(blocks) == 1 and own:  # as they are: they may be large
            self.features, self.k, _ = blocks[0]
            self.scale = np.ones(self.k)
        else:
            self.k = sum(block.k for block in blocks)
            self.features = factor(len(shape), max(self.k, 1))
            self.scale = np.repeat([ridge**-0.5 for ridge in ridges], [block.k for block in blocks])
            ends = np.cumsum([block.k for block in blocks])
            for block, ridge, end in zip(blocks, ridges, ends, strict=True):
                at = self.features[:, end - block.k : end]
                np.multiply(block.features[:, : block.k], np.float32(ridge**-0.5), out=at)
        if own:
            self.core = core.Prior(self.features, self.k, shape, self.ridge, n_threads, store)
        else:  # C is what it takes to make the rows
            most = float(np.einsum("nk,nk->k", self.features, self.features, dtype=np.float64).max(initial=0.0))
            self.core = core.Prior(self.features, self.k, np.ones_like(shape), max(EXACT * most, 1e-30), n_threads)

    def coefficients(self, rows: FloatArray) -> FloatArray:
        """C for some rows, for features as they were given."""
        return np.asarray(self._of(rows) * self.scale[:, None], np.float32)

    def _of(self, rows: FloatArray) -> FloatArray:
        C = np.zeros((self.k, rows.shape[1]), np.float32)
        self.core.regress(rows, C, None, self.n_threads)
        return C

    def means(self, C: FloatArray, out: FloatArray) -> None:
        """The rows that a C stands for."""
        self.core.means(C, out, self.n_threads)

    def regress(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """C for some rows, and their means, laid out as they are."""
        C, mean = self._of(rows), np.zeros_like(rows)
        self.means(C, mean)
        return C, mean

    def means_by(self, rows: FloatArray, met: Any) -> FloatArray:
        """The means of all rows, with C at its best for those that were met."""
        some = core.Prior(self.features, self.k, self.shape * np.float32(met), self.ridge, self.n_threads)
        C, mean = np.zeros((self.k, rows.shape[1]), np.float32), np.zeros_like(rows)
        some.regress(rows, C, mean, self.n_threads)
        return mean

    def squares(self, rows: FloatArray) -> Any:
        """The ridges' squares of rows less their means, and of C, column by column."""
        C, mean = self.regress(rows)
        shared = self.ridge * np.square(C, dtype=np.float64).sum(axis=0)
        return shared + squares(rows - mean, self.shape) if self.own else shared


def _ridge(block: Block, shape: FloatArray, store: Any) -> float:
    held = np.einsum("nk,nk->n", block.features[:, : block.k], block.features[:, : block.k], dtype=np.float64) * shape
    trace = float(held.sum()) if store is None else float(core.sum_users(store, held, 1))
    return max(block.strength * trace / max(block.k, 1), 1e-12)


def squares(rows: FloatArray, shape: FloatArray) -> Any:
    """The squares of rows, times their shapes, summed column by column."""
    return np.einsum("i,ic->c", shape, np.square(rows, dtype=np.float64), dtype=np.float64)


class Priors(NamedTuple):
    """The prior means of the users' and of the items' rows; a side without features has a prior of no columns."""

    users: Prior
    items: Prior
