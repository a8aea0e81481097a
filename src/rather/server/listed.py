"""The items of a voting page: ids, titles, descriptions and pictures."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..data import frames
from ..data.ids import as_ids
from ..errors import InputError

LONGEST_ID, LONGEST_TITLE, LONGEST_TEXT = 500, 1000, 5000  # characters; longer titles and descriptions are cut
MOST_ITEMS, MOST_BYTES = 1_000_000, 5_000_000  # items; bytes of a picture
PICTURES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".avif": "image/avif", ".svg": "image/svg+xml",
}  # fmt: skip
COLUMNS = {"item": ("item", "id"), "title": ("title", "name"), "description": ("description",), "picture": ("picture",)}


@dataclass(frozen=True)
class Listed:
    """Items in their order; ``documents`` are what is told of each."""

    ids: list[str]
    documents: list[dict[str, str]]
    pictures: dict[int, Path] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def code(self) -> dict[str, int]:
        return {name: n for n, name in enumerate(self.ids)}


def only_ids(ids: Sequence[Any]) -> Listed:
    """Items of which nothing is known but their ids."""
    return _listed([str(x) for x in ids], None, None, None, "the model", None)


def read(frame: Any, file: str, folder: Path | None) -> Listed:
    """Read a table with the column item (or id, or a single column), and perhaps title, description, picture.

    Pictures are files beside the table, by paths that stay within its ``folder``.
    """
    present = frames.names_in(frame)
    columns = {role: next((n for n in names if n in present), None) for role, names in COLUMNS.items()}
    if columns["item"] is None:
        if len(present) == 1:
            columns["item"] = present[0]
        elif columns["title"] is not None:
            columns["item"] = columns["title"]
        else:
            have = ", ".join(map(repr, present))
            raise InputError(f"{file} has no column 'item'; it has {have}: call one of them 'item'")
    got = frames.columns(frame, {role: name for role, name in columns.items() if name is not None})
    ids = [str(x) for x in as_ids(got["item"], f"the item (column {columns['item']!r})").tolist()]
    title, description, picture = (_texts(got.get(role)) for role in ("title", "description", "picture"))
    return _listed(ids, title, description, picture, file, folder)


def _texts(column: Any) -> list[str] | None:
    """A column as text, with nothing where a value is missing."""
    if column is None:
        return None
    values = np.asarray(column, object).tolist()
    return ["" if v is None or v != v else unicodedata.normalize("NFC", str(v)).strip() for v in values]


def _listed(ids: list[str], titles: Any, descriptions: Any, pictures: Any, file: str, folder: Path | None) -> Listed:
    if len(ids) < 2:
        raise InputError(f"{file} lists {len(ids)} items; there must be at least two to choose from")
    if len(ids) > MOST_ITEMS:
        raise InputError(f"{file} lists {len(ids):,} items; at most {MOST_ITEMS:,} can be served")
    listed: set[str] = set()
    for row, name in enumerate(ids):
        if name in listed:
            raise InputError(f"item {name!r} in row {row} is listed twice; list it once", row=row)
        listed.add(name)
    long = next((x for x in ids if len(x) > LONGEST_ID or not x.strip()), None)
    if long is not None:
        raise InputError(f"{file} has the item id {long[:30]!r}; ids must have 1 to {LONGEST_ID} characters")
    odd = next((x for x in ids if not _is_text(x)), None)
    if odd is not None:
        raise InputError(f"{file} has the item id {odd[:30]!r}, which no database keeps; leave its odd characters out")
    found: dict[int, Path] = {}
    documents = []
    for n, name in enumerate(ids):
        document = {"id": name, "title": _cut((titles and titles[n]) or name, LONGEST_TITLE)}
        if descriptions and descriptions[n]:
            document["description"] = _cut(descriptions[n], LONGEST_TEXT)
        if pictures and pictures[n]:
            found[n] = _picture(pictures[n], name, file, folder)
            document["picture"] = f"/pictures/{n}"
        documents.append(document)
    return Listed(ids, documents, found)


def _is_text(name: str) -> bool:
    """Whether it can be written anywhere: lone surrogates cannot, and PostgreSQL takes no zeros."""
    return "\0" not in name and name.encode("utf-8", "replace").decode() == name


def _cut(text: str, longest: int) -> str:
    """Without lone surrogates, which JSON cannot say."""
    whole = text.encode("utf-8", "replace").decode()
    return whole if len(whole) <= longest else f"{whole[: longest - 1]}…"


def _picture(text: str, name: str, file: str, folder: Path | None) -> Path:
    """The file that a picture is in."""
    what = f"the picture of item {name[:80]!r} in {file} is {text[:200]!r}"
    if "://" in text or text.startswith(("//", "data:")):
        raise InputError(f"{what}; the page asks no other server for anything, so put the file beside the table")
    if folder is None:
        raise InputError(f"{what}, but the table is in no folder; give a file")
    path = (folder / text).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise InputError(f"{what}; pictures must be in the folder of the table, or below")
    if path.suffix.lower() not in PICTURES:
        raise InputError(f"{what}; pictures must be {', '.join(PICTURES)}")
    if not path.is_file():
        raise InputError(f"{what}, which is no file")
    if path.stat().st_size > MOST_BYTES:
        raise InputError(f"{what}, of {path.stat().st_size:,} bytes; at most {MOST_BYTES:,} are shown")
    return path
