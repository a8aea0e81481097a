"""Warnings that end in the address of their explanation."""

from __future__ import annotations

import warnings

from .addresses import MESSAGES


def warn(text: str, anchor: str, category: type[Warning] = UserWarning, *, stacklevel: int) -> None:
    """Warn in one sentence, and name the section of the page of messages that explains it.

    ``stacklevel`` counts as if the caller called ``warnings.warn`` itself.
    """
    warnings.warn(f"{text}. See {MESSAGES}#{anchor}", category, stacklevel=stacklevel + 1)
