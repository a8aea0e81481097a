"""Blocks of numeric columns that features become: standardised, and reduced to principal directions if wide."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import InputError
from ..native import FloatArray
from .feature_columns import CONSTANT, Doubles, Reader, reader_of

WIDEST, NARROWEST, ENTRIES = 1024, 64, 2**28  # columns in all: at most, and fewer where there are many rows
FARTHEST = 1e6  # standard deviations where later values end: finite, and farther than any that was learned from
EXACT = 4096  # rows or columns up to which principal directions are exact
NEGLIGIBLE = 1e-10  # the variance of a direction that is none, in parts of the first
SPARE, ITERATIONS = 16, 4  # of directions that are not exact
PIECE = 2**22  # numbers at a time
LEAST_SPREAD = 1e-6  # of words; that of a value which all but one of 2**31 rows have is more


def _pieces(n: int, width: int) -> Iterator[slice]:
    step = max(1, PIECE // max(width, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _dense(raw: Any, rows: slice) -> Doubles:
    part = raw[rows]
    return np.array(part.toarray() if hasattr(part, "toarray") else part, np.float64)


def _moments(raw: Any) -> tuple[Doubles, Doubles, float]:
    """The mean and the variance of every column, of what is there, and the largest number of all."""
    n, width = raw.shape
    count, total, squares, largest = np.zeros(width), np.zeros(width), np.zeros(width), 0.0
    if hasattr(raw, "toarray"):
        mean = np.asarray(raw.sum(axis=0), np.float64).reshape(-1) / n
        return mean, mean * (1 - mean), 1.0
    for rows in _pieces(n, width):
        x = _dense(raw, rows)
        gone = np.isnan(x)
        x[gone] = 0
        count, total, largest = count + (~gone).sum(axis=0), total + x.sum(axis=0), max(largest, np.abs(x).max())
    mean = total / np.maximum(count, 1)
    for rows in _pieces(n, width):
        squares += np.nansum(np.square(_dense(raw, rows) - mean), axis=0)
    return mean, squares / np.maximum(count, 1), float(largest)


class Block:
    """The columns of a reader, less ``mean``, divided by ``scale``, and projected if they are too many."""

    def __init__(self, reader: Reader, mean: Doubles, scale: Doubles, projection: FloatArray | None = None) -> None:
        self.reader, self.mean, self.scale, self.projection = reader, mean, scale, projection

    @classmethod
    def learned(cls, reader: Reader, raw: Any, said: list[str]) -> Block | None:
        mean, variance, largest = _moments(raw)
        if reader.kind == "numbers":
            return cls(reader, mean, np.sqrt(variance))
        spread = math.sqrt(float(variance.sum()))
        if spread <= CONSTANT * largest * math.sqrt(len(mean)):
            said.append(f"{reader.name}: left out, since all rows have the same")
            return None
        return cls(reader, mean, np.array([spread]))

    @classmethod
    def restored(cls, about: Any, mean: Any, scale: Any, projection: Any) -> Block:
        for array, dtype, dimensions in ((mean, np.float64, 1), (scale, np.float64, 1), (projection, np.float32, 2)):
            if array is None and dimensions == 2:
                continue
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != dimensions or not array.size:
                raise TypeError("an array of a block is missing, or of another type")
            if not np.isfinite(array).all():
                raise ValueError("an array of a block is not finite")
        reader = reader_of(about, len(mean))
        each = len(mean) if reader.kind == "numbers" else 1
        fits = len(reader.labels) == len(mean) and len(scale) == each and scale.min() > 0
        if reader.kind == "words":  # shares of rows
            fits = fits and mean.min() >= 0 and mean.max() <= 1 and scale.min() > LEAST_SPREAD
        if projection is not None:  # directions, of length 1
            fits = fits and projection.shape[1] <= len(mean) == len(projection) and np.abs(projection).max() < 1.001
        if not fits:
            raise ValueError(f"the arrays of the block {reader.name!r} do not fit together")
        return cls(reader, mean, scale, projection)

    @property
    def labels(self) -> list[str]:
        if self.projection is None:
            return self.reader.labels
        return [f"{self.reader.name} direction {k}" for k in range(1, self.projection.shape[1] + 1)]

    def standardised(self, raw: Any, rows: slice) -> FloatArray:
        with np.errstate(over="ignore"):
            z = (_dense(raw, rows) - self.mean) / self.scale
        z[np.isnan(z)] = 0
        return np.clip(z, -FARTHEST, FARTHEST).astype(np.float32)

    def fill(self, raw: Any, out: FloatArray) -> None:
        """The block's columns of some rows."""
        if not hasattr(raw, "toarray"):
            for rows in _pieces(len(out), len(self.mean)):
                z = self.standardised(raw, rows)
                out[rows] = z if self.projection is None else z @ self.projection
        elif self.projection is None:
            out[:] = -self.mean / self.scale
            out[np.repeat(np.arange(len(out)), np.diff(raw.indptr)), raw.indices] += np.float32(1 / self.scale[0])
        else:
            weights = self.projection / np.float32(self.scale[0])
            for rows in _pieces(len(out), weights.shape[1]):
                out[rows] = raw[rows] @ weights - (self.mean @ weights).astype(np.float32)

    def reduced(self, raw: Any, k: int, said: list[str]) -> Block:
        """At most k leading directions of the same."""
        n, width = raw.shape
        if width <= min(n, EXACT):
            held, directions, total = _leading(self._gram(raw), k)
        elif n <= EXACT:
            z = self.standardised(raw, slice(0, n)).astype(np.float64)
            held, left, total = _leading(z @ z.T, min(k, n))
            directions = z.T @ left / np.sqrt(held)
        else:
            held, directions, total = self._iterated(raw, k)
        name, share = self.reader.name, f"{100 * float(held.sum()) / total:.0f} %"
        said.append(
            f"{name}: {width:,} columns, of which the leading {len(held):,} directions hold {share} of the variance"
        )
        return Block(self.reader, self.mean, self.scale, np.ascontiguousarray(directions, np.float32))

    def _gram(self, raw: Any) -> Doubles:
        n, width = raw.shape
        if hasattr(raw, "toarray"):
            together = np.asarray((raw.T @ raw).toarray(), np.float64)
            return np.asarray((together - n * np.outer(self.mean, self.mean)) / self.scale**2)
        out = np.zeros((width, width))
        for rows in _pieces(n, width):
            z = self.standardised(raw, rows)
            out += z.T @ z
        return out

    def _iterated(self, raw: Any, k: int) -> tuple[Doubles, Doubles, float]:
        """Leading directions by subspace iteration, which needs no room for products of columns with columns."""
        n, width = raw.shape
        after = np.random.default_rng(0).standard_normal((width, k + SPARE))
        for _ in range(ITERATIONS):
            basis = np.linalg.qr(after)[0].astype(np.float32)
            after, total = np.zeros(basis.shape), 0.0
            for rows in _pieces(n, width):
                z = self.standardised(raw, rows)
                after += z.T @ (z @ basis)
                total += float(np.vdot(z, z))
        held, turned, _ = _leading(basis.T @ after, k)
        return held, basis @ turned, total


def _leading(square: Doubles, k: int) -> tuple[Doubles, Doubles, float]:
    """The k largest eigenvalues of a symmetric matrix that are any, with their vectors, and the sum of all."""
    values, vectors = np.linalg.eigh((square + square.T) / 2)  # scipy's for some of them fails where many are equal
    kept = np.flatnonzero(values > NEGLIGIBLE * values[-1])[: -k - 1 : -1]
    return values[kept], vectors[:, kept], float(np.trace(square))


def widths(blocks: list[Block], n: int, role: str) -> list[int]:
    """Return how many columns each block may have in the space for all; the widest shrink first."""
    # numbers that have room keep their names, however few the rows
    most = [len(b.mean) if b.reader.kind == "numbers" else min(len(b.mean), n) for b in blocks]
    room = min(WIDEST, max(NARROWEST, ENTRIES // n))
    if sum(most) <= room:
        return most
    if len(blocks) > room:
        raise InputError(f"the {role} features have {len(blocks):,} columns of text; give at most {room:,}")
    level = max(level for level in range(1, room + 1) if sum(min(width, level) for width in most) <= room)
    return [min(width, level) for width in most]
