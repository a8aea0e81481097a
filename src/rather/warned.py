"""Warnings that end in the address of their explanation."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

from .addresses import MESSAGES

PACKAGE = str(Path(__file__).parent / "_").removesuffix("_")


def warn(text: str, anchor: str, category: type[Warning] = UserWarning) -> None:
    """Warn in one sentence, and name the section of the page of messages that explains it.

    The warning names the line outside the package that called it.
    """
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(f"{text}. See {MESSAGES}#{anchor}", category, stacklevel=level)
