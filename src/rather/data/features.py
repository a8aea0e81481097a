"""What is known of items and people beside their comparisons: columns of any kind as columns of numbers.

Numbers are standardised, each by itself, and are one block. Every other column is a block of its own: words are one
column of 0 and 1 each, rows of numbers are as they are; both less their means, and over one number so that the rows of
the block have a mean square norm of 1. Blocks that are too wide become their leading principal directions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import memory
from ..errors import InputError, one_of
from ..native import FloatArray
from . import frames
from .feature_columns import CONSTANT, Column, Doubles, Reader, as_, check, reader_of, readers_of, refused, sort_of
from .ids import Ids, as_ids, factorize, quoted

WIDEST, NARROWEST, ENTRIES = 1024, 64, 2**28  # columns in all: at most, and fewer where there are many rows
FARTHEST = 1e6  # standard deviations where later values end: finite, and farther than any that was learned from
EXACT = 4096  # rows or columns up to which principal directions are exact
NEGLIGIBLE = 1e-10  # the variance of a direction that is none, in parts of the first
SPARE, ITERATIONS = 16, 4  # of directions that are not exact
PIECE = 2**22  # numbers at a time
LEAST_SPREAD = 1e-6  # of words; that of a value which all but one of 2**31 rows have is more
SENTENCES = 40  # at most
UNNAMED: Mapping[str, str] = {}


class FeatureBlock(NamedTuple):
    """Columns ``start`` to ``stop`` of the matrix, which share one strength."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True)
class Features:
    """A row of finite numbers for each of some ids, in the frame's order; and how they were made of the frame."""

    ids: Ids
    columns: FloatArray
    encoder: Encoder


# -- frames -----------------------------------------------------------------------------------------------------------


def _table(
    frame: Any, role: str, candidates: Sequence[str], wanted: Collection[str] | None = None
) -> tuple[Ids, dict[str, Column]]:
    """The ids of a table, in the first of the candidate columns that is there, and its others, or those wanted."""
    if frames.kind_of(frame) == "dict":  # whose masked arrays are missing values here
        frame = {name: v.tolist() if isinstance(v, np.ma.MaskedArray) else v for name, v in frame.items()}
    given = frames.names_in(frame)
    present = {str(name): name for name in given}
    if len(present) < len(given):
        raise InputError(f"two columns of the {role} features have the same name among {_quoted_all(given)}")
    key = _id_column(frame, role, candidates, present)
    names = [name for name in present if name != key] if wanted is None else list(wanted)
    lacking = [name for name in names if name not in present]
    if lacking:
        have = _quoted_all(present)
        raise InputError(f"the {role} features lack {_quoted_all(lacking)}, which was learned from; they have {have}")
    got = frames.columns(frame, {name: present[name] for name in ([] if key is None else [key]) + names})
    where = "index" if key is None else f"column {key!r}"
    ids = as_ids(frame.index if key is None else got[key], f"the {role} ({where})")
    codes = factorize([ids], role)[1][0]
    order = np.argsort(codes, kind="stable")
    twice = np.flatnonzero(codes[order[1:]] == codes[order[:-1]])
    if len(twice):
        one, other = order[twice[0] : twice[0] + 2]
        raise InputError(f"{role} {quoted(ids[one])} has two rows of features (rows {one} and {other}); keep one")
    return ids, {name: _column(name, got[name], frame[present[name]], role, ids) for name in names}


def _id_column(frame: Any, role: str, candidates: Sequence[str], present: Mapping[str, Any]) -> str | None:
    """The name of the column of ids, or None where the index of a pandas table holds them."""
    index = frame.index if frames.kind_of(frame) == "pandas" else None
    for name in candidates:
        if name in present or name == getattr(index, "name", None):
            return name if name in present else None
    if index is not None and (index.name is not None or type(index).__name__ != "RangeIndex"):
        return None
    raise InputError(
        f"none of the columns of the {role} features ({_quoted_all(present)}) is known to hold the ids; "
        f"name that column {role!r}"
    )


def _column(name: str, values: Any, native: Any, role: str, ids: Ids | None) -> Column:
    """A column as ``frames.columns`` gives it, and as the frame has it: some types can be told only from that."""
    import narwhals

    series = narwhals.from_native(native, pass_through=True, allow_series=True)
    dtype = series.dtype if isinstance(series, narwhals.Series) else None
    if dtype is not None and dtype == narwhals.Struct:
        raise refused(name, "records")
    categorical = dtype is not None and dtype in (narwhals.Categorical, narwhals.Enum)
    if categorical:
        values = series.to_list()  # numpy's way loses what is missing in some of pyarrow's
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "OUT":
            values = values.tolist()
        elif values.dtype.kind not in "biuf":
            raise refused(name, sort_of(values.dtype.type))
        elif values.ndim > 2:
            raise InputError(f"the column {name!r} has {values.ndim} dimensions; it must have one, or two")
    # the types of pandas and pyarrow that are no series
    return Column(
        name, values, categorical or hasattr(native, "categories") or hasattr(native, "dictionary"), role, ids
    )


def _quoted_all(names: Collection[Any], most: int = 20) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return (", ".join(repr(name) for name in list(names)[:most]) or "none") + more


# -- blocks -----------------------------------------------------------------------------------------------------------


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


class _Block:
    """What a reader reads, less ``mean``, over ``scale``; and perhaps only some directions of that."""

    def __init__(self, reader: Reader, mean: Doubles, scale: Doubles, projection: FloatArray | None = None) -> None:
        self.reader, self.mean, self.scale, self.projection = reader, mean, scale, projection

    @classmethod
    def learned(cls, reader: Reader, raw: Any, said: list[str]) -> _Block | None:
        mean, variance, largest = _moments(raw)
        if reader.kind == "numbers":
            return cls(reader, mean, np.sqrt(variance))
        spread = math.sqrt(float(variance.sum()))
        if spread <= CONSTANT * largest * math.sqrt(len(mean)):
            said.append(f"{reader.name}: left out, since all rows have the same")
            return None
        return cls(reader, mean, np.array([spread]))

    @classmethod
    def restored(cls, about: Any, mean: Any, scale: Any, projection: Any) -> _Block:
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

    def reduced(self, raw: Any, k: int, said: list[str]) -> _Block:
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
        return _Block(self.reader, self.mean, self.scale, np.ascontiguousarray(directions, np.float32))

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


def _widths(blocks: list[_Block], n: int, role: str) -> list[int]:
    """How many columns each block may have, so that all have room: the widest give way first."""
    # numbers that have room keep their names, however few the rows
    most = [len(b.mean) if b.reader.kind == "numbers" else min(len(b.mean), n) for b in blocks]
    room = min(WIDEST, max(NARROWEST, ENTRIES // n))
    if sum(most) <= room:
        return most
    if len(blocks) > room:
        raise InputError(f"the {role} features have {len(blocks):,} columns of text; give at most {room:,}")
    level = max(level for level in range(1, room + 1) if sum(min(width, level) for width in most) <= room)
    return [min(width, level) for width in most]


# -- the encoder ------------------------------------------------------------------------------------------------------


class Encoder:
    """How frames of one kind become columns of numbers: learned from one frame, then applied to others.

    Examples
    --------
    >>> teas = {"item": ["assam", "sencha", "mate"], "minutes": [4, 2, 6], "leaf": ["black", "green", None]}
    >>> features = Encoder.learned(teas, "item")
    >>> features.encoder.said, features.encoder.labels
    (['leaf: left out, since no value of it has 2 rows or more'], ['minutes'])
    """

    def __init__(
        self, role: str, candidates: Sequence[str], blocks: list[_Block], left_out: list[str], said: list[str]
    ) -> None:
        self._role, self._candidates, self._blocks, self._left_out = role, list(candidates), blocks, left_out
        self.said = said
        self.labels: list[str] = [label for block in blocks for label in block.labels]
        self.width = len(self.labels)

    @classmethod
    def learned(cls, frame: Any, role: str, names: Mapping[str, str] = UNNAMED) -> Features:
        """Features of a frame, and how they were made of it; ``names`` are the columns of comparisons by role."""
        one_of("role", role, ("item", "user"))
        candidates = list(dict.fromkeys([names.get(role) or role, role, "id", f"{role}_id", f"{role}Id"]))
        ids, columns = _table(frame, role, candidates)
        if not len(ids):
            raise InputError(f"there are no {role} features: the table has no rows")
        said: list[str] = []
        blocks, raws = [], []
        for reader in readers_of(columns, said):
            raw = reader.read(columns)
            if block := _Block.learned(reader, raw, said):
                blocks.append(block)
                raws.append(raw)
        if not blocks:
            why = f" ({'; '.join(said[:3])})" if said else ""
            raise InputError(f"the {role} features tell no two {role}s apart{why}; give others, or leave them out")
        for k, width in enumerate(_widths(blocks, len(ids), role)):
            if width < len(blocks[k].mean):
                blocks[k] = blocks[k].reduced(raws[k], width, said)
        if len(said) > SENTENCES:
            said = [*said[:SENTENCES], f"and {len(said) - SENTENCES:,} more like these"]
        used = {name for block in blocks for name in block.reader.sources}
        encoder = cls(role, candidates, blocks, [name for name in columns if name not in used], said)
        return Features(ids, encoder._filled(raws, len(ids)), encoder)

    def _filled(self, raws: Iterable[Any], n: int) -> FloatArray:
        what = f"to hold the features of {n:,} {self._role}s"
        memory.require(4.0 * n * self.width, what, "give fewer columns or reduce them beforehand")
        out = np.empty((n, self.width), np.float32)
        for block, place, raw in zip(self._blocks, self.blocks, raws, strict=True):
            block.fill(raw, out[:, place.start : place.stop])
        return out

    def _read(self, columns: Mapping[str, Column], n: int) -> FloatArray:
        for block in self._blocks:
            for name in block.reader.sources:
                check(columns[name], block.reader.kind)
        return self._filled((block.reader.read(columns) for block in self._blocks), n)

    @property
    def _sources(self) -> list[str]:
        return [name for block in self._blocks for name in block.reader.sources]

    @property
    def blocks(self) -> list[FeatureBlock]:
        """Which columns belong together."""
        ends = np.cumsum([0] + [len(block.labels) for block in self._blocks]).tolist()
        return [FeatureBlock(b.reader.name, *ends[k : k + 2]) for k, b in enumerate(self._blocks)]

    def units(self) -> Doubles:
        """What a column changes by where a row gains a value of a category; NaN for columns that are no categories."""
        every = [
            np.full(len(b.labels), 1 / b.scale[0] if b.reader.kind == "words" and b.projection is None else np.nan)
            for b in self._blocks
        ]
        return np.concatenate(every)

    def embedding(self) -> str | None:
        """The name of the column, where all features are rows of numbers in one."""
        one = len(self._blocks) == 1 and self._blocks[0].reader.kind == "dense"
        return self._blocks[0].reader.name if one else None

    def affine(self) -> tuple[Doubles, Doubles]:
        """(A, c) such that the columns of an embedding h are h @ A + c, where all features are that of one column."""
        block = self._blocks[0]
        A = np.diag(np.broadcast_to(1 / block.scale, block.mean.shape))
        A = A if block.projection is None else A @ block.projection
        return A, -block.mean @ A

    def read(self, frame: Any) -> Features:
        """Features of another frame, by the same columns and means; what else it has is ignored."""
        ids, columns = _table(frame, self._role, self._candidates, self._sources)
        return Features(ids, self._read(columns, len(ids)), self)

    def read_one(self, values: Mapping[str, Any]) -> FloatArray:
        """One row: the values of one item or person by column, of which those that are left out are missing."""
        if not isinstance(values, Mapping):
            raise InputError(f"the {self._role}'s features are {values!r}; they must be a dict of values by column")
        for name in values:
            if name not in {*self._sources, *self._left_out, *self._candidates}:
                known = _quoted_all(self._sources)
                raise InputError(f"there is no {self._role} feature {name!r}; the features are {known}")
        columns = {name: _column(name, [values.get(name)], None, self._role, None) for name in self._sources}
        return self._read(columns, 1)

    def about(self) -> dict[str, Any]:
        """All but the large arrays, as JSON has it."""
        kept = {"role": self._role, "ids": self._candidates, "left_out": self._left_out, "said": self.said}
        return {**kept, "blocks": [dict(block.reader.about) for block in self._blocks]}

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """The large arrays, by name."""
        out: dict[str, npt.NDArray[Any]] = {}
        for k, block in enumerate(self._blocks):
            out |= {f"{k}_mean": block.mean, f"{k}_scale": block.scale}
            out |= {} if block.projection is None else {f"{k}_projection": block.projection}
        return out

    @classmethod
    def restored(cls, about: Mapping[str, Any], tensors: Mapping[str, npt.NDArray[Any]]) -> Encoder:
        """The encoder that gave these; a ValueError, KeyError or TypeError where they do not fit together."""
        texts = {name: [as_(str, text) for text in as_(list, about[name])] for name in ("ids", "left_out", "said")}
        blocks = []
        for k, kept in enumerate(as_(list, about["blocks"])):
            mean, scale, projection = (tensors.get(f"{k}_{name}") for name in ("mean", "scale", "projection"))
            blocks.append(_Block.restored(kept, mean, scale, projection))
        made = cls(as_(str, about["role"]), texts["ids"], blocks, texts["left_out"], texts["said"])
        fits = made._role in ("item", "user") and blocks and made.width <= WIDEST
        if not fits or made.tensors().keys() != tensors.keys() or len(set(made._sources)) < len(made._sources):
            raise ValueError("the parts of the encoder do not fit together")
        return made
