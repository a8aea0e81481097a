"""Model files, checkpoints, CSV and Parquet files, altered and hostile: refused in one line, or read as written.

A file that was altered is refused or gives every tensor and word that was saved. A file made hostile on purpose, its
checksum right, is refused or gives a model whose every answer is sound. CSV text is read alike by both readers.
"""

from __future__ import annotations

import json
import random
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rather
from rather import AltSVM, Comparisons, FileError, Global, InputError, PaperAltSVM
from rather.data import frames
from rather.data.csv_text import read_by_pyarrow, read_by_standard_library
from rather.data.table_files import read_file
from rather.models.checkpoint import FORMAT as CHECKPOINT
from rather.models.checkpoint import Checkpoint
from rather.models.files import FORMAT, UNCHECKED
from rather.models.tensors import read_tensors, write_tensors
from rather.testing import small_data

from . import hostile, tables
from .isolated import limit_memory
from .models import check_sound, data_for, fingerprint, small
from .mutations import mutated

FULL, CHUNK, SECONDS = 1_000_000, 25_000, 20.0
MEMORY = 2.0e9
KINDS = {"model": 72, "checkpoint": 10, "hostile model": 5, "hostile checkpoint": 1, "csv": 10, "parquet": 2}
IDS: list[list[Any]] = [[1, 2, 3], [-5, 0, 2**62], [2**63, 2**64 - 1, 2**70], ["été", "日本", "🎬"], ["007", "7", "\0"]]


@dataclass
class Base:
    """A file as it was written, and what it must give if it is read at all."""

    content: bytes
    tensors: dict[str, Any]
    metadata: dict[str, str]
    says: Any = None
    estimator: Any = None

    def is_same(self, tensors: dict[str, Any], metadata: dict[str, str]) -> bool:
        return (
            metadata == self.metadata
            and set(tensors) == set(self.tensors)
            and all(
                t.dtype == self.tensors[n].dtype
                and t.shape == self.tensors[n].shape
                and t.tobytes() == self.tensors[n].tobytes()
                for n, t in tensors.items()
            )
        )


@dataclass
class Shared:
    folder: Path
    models: list[Base]
    checkpoints: list[Base]
    votes: Comparisons
    csv: list[bytes]
    parquet: list[bytes]


def prepare(folder: Path) -> Shared:
    votes = small_data("votes")
    models, checkpoints = [], []
    fitted = [small(name).fit(data_for(name)) for name in rather.ESTIMATORS]
    fitted += [AltSVM(rank=2, exposure=True, max_iter=2, n_threads=1).fit(small_data("ratings")).calibrate()]
    for ids in IDS:
        table = {"user": ids, "winner": ids, "loser": [*ids[1:], ids[0]]}
        fitted.append(Global(n_threads=1).fit(Comparisons.from_frame(table)).calibrate())
    path = folder / "base"
    for model in fitted:
        model.save(path)
        models.append(Base(path.read_bytes(), *read_tensors(path, FORMAT, "model"), says=fingerprint(model)))
    for model in growing():
        model.save(path, comparisons=True)
        models.append(Base(path.read_bytes(), *read_tensors(path, FORMAT, "model"), says=fingerprint(model)))
    fits: tuple[tuple[type[Any], dict[str, Any]], ...] = (
        (AltSVM, {}), (PaperAltSVM, {}), (AltSVM, {"rank": "auto"}), (AltSVM, {"loss": "hinge"})
    )  # fmt: skip
    for kind, params in fits:
        path.unlink()
        usual: dict[str, Any] = {"rank": 2, "max_iter": 2, "tol": 0.0, "n_threads": 1, "checkpoint": path}
        estimator = kind(**{**usual, **params})
        says = fingerprint(estimator.fit(votes))
        base = Base(path.read_bytes(), *read_tensors(path, CHECKPOINT, "checkpoint"), says, estimator)
        checkpoints.append(base)
    csv, parquet = tables.samples()
    limit_memory(MEMORY)
    return Shared(folder, models, checkpoints, votes, csv, parquet)


def growing() -> list[Any]:
    """Models that are saved with their comparisons, of every kind."""
    rated, clicks = small_data("ratings"), small_data("clicks")
    r, c = rated.ratings, clicks.clicks
    assert r is not None and c is not None
    stars = {"user": rated.users[r.user], "item": rated.items[r.item], "rating": r.rating}
    clicked = {"user": clicks.users[c.user], "item": clicks.items[c.item]}
    menus = {"user": ["a"] * 3 + ["b"] * 3, "menu": [1] * 6, "item": list("xyz") * 2, "chosen": [1, 0, 0, 0, 1, 0]}
    weighed = {"user": ["a", "b", "a"], "winner": list("xyz"), "loser": list("yzx"), "weight": [1, 2, 3]}
    every = (
        rated, clicks, small_data("votes"), Comparisons.from_ratings(stars, keep="largest-gap"),
        Comparisons.from_clicks(clicked, per_user=3), Comparisons.from_menus(menus),
        Comparisons.from_frame(weighed, weight="weight"),
    )  # fmt: skip
    return [AltSVM(rank=2, reg=2.0, max_iter=2, n_threads=1).fit(data) for data in every]


def case(shared: Shared, rng: random.Random, count: Counter[str]) -> None:
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    {
        "model": _model, "checkpoint": _checkpoint, "hostile model": _hostile_model,
        "hostile checkpoint": _hostile_checkpoint, "csv": _csv, "parquet": _parquet,
    }[kind](shared, rng, count)  # fmt: skip


def _refused(e: Exception, path: Path) -> None:
    assert "\n" not in str(e), f"an error of several lines: {e!r}"
    assert repr(str(path)) in str(e), f"an error that does not name the file: {e!r}"
    assert len(str(e)) < 2000, f"an error of {len(str(e)):,} characters: {str(e)[:200]!r}"


# -- altered ----------------------------------------------------------------------------------------------------------


def _model(shared: Shared, rng: random.Random, count: Counter[str]) -> None:
    path, base = shared.folder / "m", rng.choice(shared.models)
    path.write_bytes(mutated(rng, base.content, rng.choice(shared.models).content))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rather.NoChecksumWarning)
            model = rather.load(path)
            tensors, metadata = read_tensors(path, FORMAT, "model", unchecked=UNCHECKED)
    except FileError as e:
        _refused(e, path)
        count["altered models refused"] += 1
        return
    metadata.pop("checksum", None)
    same = [one for one in shared.models if one.is_same(tensors, {**metadata, "format": one.metadata["format"]})]
    assert same, "an altered model was read with a changed tensor or word"
    assert fingerprint(model) == same[0].says, "an altered model was read as another"
    count["altered models read as saved"] += 1


def _checkpoint(shared: Shared, rng: random.Random, count: Counter[str]) -> None:
    base = rng.choice(shared.checkpoints)
    path = Path(base.estimator.checkpoint)
    path.write_bytes(mutated(rng, base.content, rng.choice(shared.checkpoints).content))
    try:
        saved = Checkpoint(path, base.estimator, shared.votes).read()
        assert saved is not None
        assert base.is_same(saved.tensors, read_tensors(path, CHECKPOINT, "checkpoint")[1])
        assert fingerprint(base.estimator.fit(shared.votes)) == base.says, "resumed as another"
        count["altered checkpoints read as written"] += 1
    except FileError as e:
        _refused(e, path)
        count["altered checkpoints refused"] += 1


# -- hostile ----------------------------------------------------------------------------------------------------------


def _hostile_model(shared: Shared, rng: random.Random, count: Counter[str]) -> None:
    path, base = shared.folder / "h", rng.choice(shared.models)
    tensors, about = hostile.edited(rng, base.tensors, json.loads(base.metadata["about"]))
    if not _written(path, FORMAT, tensors, {"about": about}):
        return
    try:
        model = rather.load(path)
    except FileError as e:
        _refused(e, path)
        count["hostile models refused"] += 1
        return
    if model.n_threads is not None and model.n_threads > 8:
        model.n_threads = 1
    try:
        check_sound(model)
        if model.fitted.training is not None and isinstance(model, AltSVM):
            model.set_params(max_iter=2)
            check_sound(model.update(model.fitted.training))
            model.certificate()
            model.save(path, comparisons=True)
        else:
            model.save(path)
        assert fingerprint(rather.load(path)) == fingerprint(model), "saved again, it is another"
        count["hostile models sound"] += 1
    except InputError as e:
        assert "\n" not in str(e), f"an error of several lines: {e!r}"
        count["hostile models that then say what is wrong"] += 1


def _hostile_checkpoint(shared: Shared, rng: random.Random, count: Counter[str]) -> None:
    base = rng.choice(shared.checkpoints)
    path = Path(base.estimator.checkpoint)
    tensors, fit = hostile.edited(rng, base.tensors, json.loads(base.metadata["fit"]))
    if not _written(path, CHECKPOINT, tensors, {**base.metadata, "fit": fit}):
        return
    try:
        model = type(base.estimator)(**{**base.estimator.get_params(), "max_iter": 3}).fit(shared.votes)
    except InputError as e:
        assert "\n" not in str(e), f"an error of several lines: {e!r}"
        count["hostile checkpoints refused"] += 1
        return
    check_sound(model)
    count["hostile checkpoints sound"] += 1


def _written(path: Path, form: str, tensors: dict[str, Any], words: dict[str, str]) -> bool:
    """Write a hostile file with a right checksum; False where it cannot even be written."""
    from safetensors import SafetensorError

    try:
        write_tensors(path, form, tensors, words)
        return True
    except (SafetensorError, ValueError, TypeError, UnicodeError):
        return False


# -- tables -----------------------------------------------------------------------------------------------------------


def _csv(shared: Shared, rng: random.Random, count: Counter[str]) -> None:
    path = shared.folder / "t.csv"
    raw = mutated(rng, rng.choice(shared.csv), rng.choice(shared.csv))
    path.write_bytes(raw)
    try:
        table = read_file(path)
    except FileError as e:
        _refused(e, path)
        count["altered CSV files refused"] += 1
        return
    text = raw.removeprefix(b"\xef\xbb\xbf")
    head = text.replace(b"\r", b"\n").split(b"\n", 1)[0]
    mark = max(",;\t", key=lambda c: head.count(c.encode()))
    fast = read_by_pyarrow(text, "t", mark, block=rng.choice((2**22, 4096)))
    if fast is not None:
        slow = read_by_standard_library(text, "t", mark)
        alike = list(fast) == list(slow) and all(
            fast[c].dtype == slow[c].dtype and fast[c].tolist() == slow[c].tolist() for c in slow
        )
        assert alike, "the two readers of CSV text differ"
        count["altered CSV files read alike twice"] += 1
    _compared(table, list(table))
    count["altered CSV files read"] += 1


def _parquet(shared: Shared, rng: random.Random, count: Counter[str]) -> None:
    path = shared.folder / "t.parquet"
    path.write_bytes(mutated(rng, rng.choice(shared.parquet), rng.choice(shared.parquet)))
    try:
        table = read_file(path)
    except FileError as e:
        _refused(e, path)
        count["altered Parquet files refused"] += 1
        return
    _compared(table, frames.names_in(table))
    count["altered Parquet files read"] += 1


def _compared(table: Any, names: list[str]) -> None:
    """Make comparisons of a table, whatever its columns are called now; or be told in one line why not."""
    if len(names) < 3:
        return
    weight = names[3] if len(names) > 3 else None
    try:
        comparisons = Comparisons.from_frame(table, names[0], names[1], names[2], weight)
    except InputError as e:
        assert "\n" not in str(e), f"an error of several lines: {e!r}"
        return
    assert len(comparisons.pairs().user) == len(comparisons) > 0
