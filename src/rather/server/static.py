"""The files of the page, read once and sent plain or compressed."""

from __future__ import annotations

import gzip
import hashlib
from importlib.resources import files
from typing import NamedTuple

KINDS = {"html": "text/html; charset=utf-8", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


class File(NamedTuple):
    body: bytes
    packed: bytes
    kind: str
    tag: str


def page_files() -> dict[str, File]:
    """Every file of the page by its name."""
    made = {}
    for path in files(__package__).joinpath("page").iterdir():
        ending = path.name.rpartition(".")[2]
        if ending in KINDS:
            body = path.read_bytes()
            tag = f'"{hashlib.blake2b(body, digest_size=8).hexdigest()}"'
            made[path.name] = File(body, gzip.compress(body, 9, mtime=0), KINDS[ending], tag)
    return made
