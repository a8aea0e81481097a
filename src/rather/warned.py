"""Warnings that end in the address of their explanation."""

from __future__ import annotations

import sys
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
    found, level, frame = 1, 1, sys._getframe(1)
    while frame.f_back is not None:
        level, frame, inside = level + 1, frame.f_back, frame.f_code.co_filename.startswith(PACKAGE)
        found = level if inside else found
    return found
