"""Tables of features of items or users, read as blocks of numeric columns.

Numbers are standardised one by one and form one block. Every other column is a block of its own. Words become one
column of 0 and 1 each; rows of numbers stay as they are. Both are centred and divided by one number, so that the rows
of the block have a mean square norm of 1. Blocks that are too wide are replaced by their leading principal directions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import memory
from ..errors import InputError, one_of
from ..native import FloatArray
from ..warned import warn
from . import frames
from .feature_blocks import WIDEST, Block, widths
from .feature_columns import Column, Doubles, as_, check, readers_of, refused, sort_of, words_of
from .ids import Ids, as_ids, factorize, quoted

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
    frame = frames.opened(frame)
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
        other = int(order[twice[0] + 1])
        raise InputError(
            f"{role} {quoted(ids[other])} has another row of features in row {other}; keep one of them",
            row=other,
            table=f"{role}_features",
        )
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


# -- the encoder ------------------------------------------------------------------------------------------------------


class Encoder:
    """An encoder that turns frames into columns of numbers: learned from one frame, applied to others.

    Examples
    --------
    >>> teas = {"item": ["assam", "sencha", "mate"], "minutes": [4, 2, 6], "leaf": ["black", "green", None]}
    >>> features = Encoder.learned(teas, "item")
    >>> features.encoder.said, features.encoder.labels
    (['leaf: left out, since no value of it has 2 rows or more'], ['minutes'])
    """

    def __init__(
        self, role: str, candidates: Sequence[str], blocks: list[Block], left_out: list[str], said: list[str]
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
            if block := Block.learned(reader, raw, said):
                blocks.append(block)
                raws.append(raw)
        if not blocks:
            why = f" ({'; '.join(said[:3])})" if said else ""
            raise InputError(f"the {role} features tell no two {role}s apart{why}; give others, or leave them out")
        for k, width in enumerate(widths(blocks, len(ids), role)):
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
        """Return which columns belong together."""
        ends = np.cumsum([0] + [len(block.labels) for block in self._blocks]).tolist()
        return [FeatureBlock(b.reader.name, *ends[k : k + 2]) for k, b in enumerate(self._blocks)]

    def is_like(self, other: Encoder) -> bool:
        """Whether another makes the same of every frame."""
        mine, theirs = self.tensors(), other.tensors()
        same = mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)
        return same and self.about()["blocks"] == other.about()["blocks"]

    def units(self) -> Doubles:
        """Return the change of each column if a row gains a category; NaN for other columns."""
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
        each = 1 / np.broadcast_to(block.scale, block.mean.shape)
        A = np.diag(each) if block.projection is None else block.projection * each[:, None]
        return A, -block.mean @ A

    def read(self, frame: Any, optional: Collection[str] = ()) -> Features:
        """Features of another frame, by the same columns and means; what else it has is ignored.

        Blocks that are ``optional`` may be missing, by name.
        """
        may = {name for block in self._blocks if block.reader.name in optional for name in block.reader.sources}
        there = {str(name) for name in frames.names_in(frame)} if frames.kind_of(frame) else set()
        wanted = [name for name in self._sources if name in there or name not in may]
        ids, columns = _table(frame, self._role, self._candidates, wanted)
        for name in self._sources:
            if name not in columns:
                columns[name] = _column(name, [None] * len(ids), None, self._role, ids)
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
        out = self._read(columns, 1)
        for block in self._blocks:
            if block.reader.kind == "words" and not block.reader.about["other"]:
                self._say_unknown(columns[block.reader.name], block.reader.about)
        return out

    def _say_unknown(self, column: Column, about: Mapping[str, Any]) -> None:
        """Warn about a value that the fit did not have."""
        known = about["values"]
        for word in (word for words in words_of(column, about["split"]).sets for word in words if word not in known):
            warn(
                f"{word!r} is none of the values of {column.name!r} that are known ({_quoted_all(known)}); it counts "
                "as average",
                "unknown-category",
            )

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
            blocks.append(Block.restored(kept, mean, scale, projection))
        made = cls(as_(str, about["role"]), texts["ids"], blocks, texts["left_out"], texts["said"])
        fits = made._role in ("item", "user") and blocks and made.width <= WIDEST
        if not fits or made.tensors().keys() != tensors.keys() or len(set(made._sources)) < len(made._sources):
            raise ValueError("the parts of the encoder do not fit together")
        return made
