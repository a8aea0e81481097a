"""Bytes of a file, altered: bits, bytes, ends, insertions, parts of another file, and what a header says."""

from __future__ import annotations

import json
import random
from typing import Any

DTYPES = ("F32", "F64", "I32", "I64", "U8", "BOOL", "F16", "BF16", "I128", "")
NUMBERS: tuple[Any, ...] = (
    0,
    1,
    -1,
    2,
    7,
    2**31,
    2**32,
    2**63 - 1,
    2**63,
    2**64,
    30_000_000,
    1e300,
    0.5,
    None,
    "1",
    [],
    True,
)
WORDS = ("rather-model-1", "rather-model-2", "rather-model-3", "rather-checkpoint-4", "", "{}", "null", "\0", "x" * 300)


def mutated(rng: random.Random, content: bytes, other: bytes) -> bytes:
    """The content with one to three alterations, of which one may take bytes of another file."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        content = rng.choice(WAYS)(rng, content, other)
    return content


def _flip(rng: random.Random, content: bytes, other: bytes) -> bytes:
    out = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if out:
            out[_place(rng, out)] ^= 1 << rng.randrange(8)
    return bytes(out)


def _replace(rng: random.Random, content: bytes, other: bytes) -> bytes:
    out = bytearray(content)
    at = _place(rng, out) if out else 0
    n = rng.choice((1, 2, 4, 8, 64))
    filler = rng.choice((bytes(n), b"\xff" * n, rng.randbytes(n), rng.choice((b'"', b"{", b"9", b",", b"\n")) * n))
    out[at : at + n] = filler
    return bytes(out)


def _cut(rng: random.Random, content: bytes, other: bytes) -> bytes:
    return content[: rng.randrange(len(content) + 1)] if rng.random() < 0.7 else content[rng.randrange(9) :]


def _insert(rng: random.Random, content: bytes, other: bytes) -> bytes:
    at, n = rng.randrange(len(content) + 1), rng.choice((1, 2, 8, 100))
    return content[:at] + rng.choice((bytes(n), b" " * n, rng.randbytes(n), content[at : at + n])) + content[at:]


def _drop(rng: random.Random, content: bytes, other: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + content[at + rng.choice((1, 2, 8, 100)) :]


def _splice(rng: random.Random, content: bytes, other: bytes) -> bytes:
    if rng.random() < 0.5:
        at = rng.randrange(min(len(content), len(other)) + 1)
        return content[:at] + other[at:]
    at, n = rng.randrange(len(content) + 1), rng.randrange(1, 200)
    place = rng.randrange(len(other) + 1)
    return content[:at] + other[place : place + n] + content[at + n :]


def _header(rng: random.Random, content: bytes, other: bytes) -> bytes:
    """The header of a safetensors file with one thing in it changed, and its length set right; else bytes replaced."""
    try:
        end = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:end])
        _edit(rng, header)
        text = json.dumps(header).encode()
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError, MemoryError, OverflowError):
        return _replace(rng, content, other)
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[end:]


def _edit(rng: random.Random, header: dict[str, Any]) -> None:
    name = rng.choice(list(header))
    entry = header[name]
    if name == "__metadata__":
        key = rng.choice(list(entry))
        how = rng.randrange(5)
        if how == 0:
            entry[key] = rng.choice(WORDS)
        elif how == 1:
            del entry[key]
        elif how == 2:
            entry["format"] = rng.choice(WORDS)
        elif how == 3:
            about = json.loads(entry.get("about", entry.get("fit", "{}")))
            about[rng.choice(list(about))] = rng.choice(NUMBERS)
            entry["about" if "about" in entry else "fit"] = json.dumps(about)
        else:
            at = rng.randrange(len(entry[key]) + 1)
            entry[key] = entry[key][:at] + rng.choice('0123456789-.e"\\{}[],: ') + entry[key][at + 1 :]
        return
    how = rng.randrange(6)
    if how == 0:
        entry["dtype"] = rng.choice(DTYPES)
    elif how == 1:
        entry["shape"] = entry["shape"][::-1] if rng.random() < 0.3 else [rng.choice(NUMBERS) for _ in entry["shape"]]
    elif how == 2:
        entry["data_offsets"][rng.randrange(2)] = rng.choice(NUMBERS)
    elif how == 3:
        twin = rng.choice([n for n in header if n != "__metadata__"])
        header[name], header[twin] = header[twin], header[name]
    elif how == 4:
        header[rng.choice(("x", "U", "users", name + " "))] = header.pop(name)
    else:
        entry["shape"] = [*entry["shape"], 1] if rng.random() < 0.5 else [int(np_prod(entry["shape"]))]


def np_prod(shape: list[int]) -> int:
    out = 1
    for n in shape:
        out *= n
    return out


def _place(rng: random.Random, content: bytes | bytearray) -> int:
    """A place anywhere, or among the first bytes, where a header is."""
    return rng.randrange(len(content)) if rng.random() < 0.5 else rng.randrange(min(len(content), 400))


WAYS = (_flip, _flip, _replace, _replace, _cut, _insert, _drop, _splice, _header, _header)
