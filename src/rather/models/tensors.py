"""Tensors in files: safetensors with a checksum over everything, written completely or not at all.

Reading executes no code. It returns what was written or raises an error: a file that was altered, cut short or written
by another program is refused before anything is built from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..data.whole_files import existing, written_whole
from ..errors import FileError
from ..warned import warn

UNCHECKED_KEYS = {"format", "about"}  # all that files without a checksum have


class NoChecksumWarning(UserWarning):
    """Warn that a file of an earlier version has no checksum.

    Such a file is read, but damage to it may go unnoticed. Save the model again to add a checksum.

    See Also
    --------
    load : Read a model from a file.

    Examples
    --------
    >>> import rather, warnings
    >>> rather.Global().fit(rather.simulate(n_users=20, n_items=5).comparisons).save("model.rather")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", rather.NoChecksumWarning)  # refuse such files
    ...     model = rather.load("model.rather")
    """


def write_tensors(path: str | Path, form: str, tensors: Mapping[str, Any], metadata: Mapping[str, str]) -> None:
    """Write tensors and text under a format name."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    said = {**metadata, "format": form}
    said["checksum"] = _checksum(arrays, said)
    data = memoryview(save(arrays, said))
    end = 8 + int.from_bytes(data[:8], "little")
    # safetensors writes metadata in an arbitrary order: in order, the same model gives the same bytes.
    header = json.dumps({**json.loads(bytes(data[8:end])), "__metadata__": dict(sorted(said.items()))}).encode()
    header += b" " * (-len(header) % 8)
    with written_whole(path) as f:
        f.write(len(header).to_bytes(8, "little") + header)
        f.write(data[end:])


def read_tensors(path: str | Path, form: str, what: str, unchecked: str = "") -> tuple[dict[str, Any], dict[str, str]]:
    """The tensors and text of a file written under a format name.

    ``unchecked`` names an earlier format, without a checksum, which is taken with a warning.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    path = existing(path, f"a {what} file")
    if not path.is_file():
        raise FileError(f"{str(path)!r} is not an ordinary file; name a {what} file")
    try:
        data = path.read_bytes()  # not a memory map: the file may be written to meanwhile
    except OSError as e:
        raise FileError(f"cannot read the {what} file {str(path)!r}: {e.strerror}") from e
    try:
        tensors = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        metadata = {str(key): str(value) for key, value in header.get("__metadata__", {}).items()}
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise FileError(f"{str(path)!r} is damaged or not a {what} file: {' '.join(str(e).split())[:200]}") from e
    found = metadata.get("format")
    if found == unchecked and set(metadata) == UNCHECKED_KEYS:
        text = f"{path.name} was written by an earlier version and has no checksum; save it again to add one"
        warn(text, "no-checksum-warning", NoChecksumWarning)
    elif found != form:
        raise FileError(f"{str(path)!r} is not a {what} file of this version of rather ({form})")
    elif metadata.pop("checksum", None) != _checksum(tensors, metadata):
        raise FileError(f"the {what} file {str(path)!r} is damaged: it is not what was written (its checksum differs)")
    return tensors, metadata


def _checksum(tensors: Mapping[str, Any], metadata: Mapping[str, str]) -> str:
    h = hashlib.blake2b(digest_size=32)
    for name in sorted(tensors):
        tensor = tensors[name]
        h.update(json.dumps([name, tensor.dtype.str, tensor.shape]).encode())
        h.update(memoryview(tensor).cast("B") if tensor.size else b"")
    h.update(json.dumps(sorted(metadata.items())).encode())
    return h.hexdigest()
