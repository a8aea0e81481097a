"""Warnings that end in the address of their explanation."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

from .addresses import MESSAGES

PACKAGE = str(Path(__file__).parent / "_").removesuffix("_")


def warn(text: str, anchor: str, category: type[Warning] = UserWarning) -> None:
    """Warn in one sentence, and name the section of the page of messages that explains it.

    The warning points to the line outside this package that led to it.
    """
    warnings.warn(f"{text}. See {MESSAGES}#{anchor}", category, stacklevel=_outside())


def _outside() -> int:
    """Return the level of the caller of this package's outermost function, as ``warn`` counts levels."""
    found, level, frame = 0, 0, inspect.currentframe()
    while frame is not None:
        level += 1
        found = level if frame.f_code.co_filename.startswith(PACKAGE) else found
        frame = frame.f_back
    return found
