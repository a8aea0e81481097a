"""Data to learn from.

:func:`film_club` and :func:`llmfao` are part of the package and return a :class:`rather.Table`. MovieLens and other
known data sets have names and stay with their publishers: :func:`listing` describes them, :func:`fetch` downloads one,
and :func:`load` reads one.
"""

from .films import film_club
from .judgements import llmfao
from .named import fetch, find, listing, load

__all__ = ["fetch", "film_club", "find", "listing", "llmfao", "load"]
