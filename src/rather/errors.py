"""Errors for bad input: one sentence with the place, the value, what is accepted and one remedy."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Collection
from typing import Any


class InputError(ValueError):
    """Report input that cannot be used; the message names the value and a remedy.

    See Also
    --------
    NotFittedError : Report a model that is not fitted yet.
    FileError : Report a file that cannot be read.
    """


class NotFittedError(InputError, AttributeError):
    """Report that a model was used before it was fitted.

    If scikit-learn is loaded, the error is also scikit-learn's ``NotFittedError``.

    See Also
    --------
    InputError : Report input that cannot be used.
    """

    def __new__(cls, *args: Any) -> NotFittedError:
        theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
        if theirs is not None and not issubclass(cls, theirs):
            cls = type(cls.__name__, (cls, theirs), {"__module__": cls.__module__})
        return super().__new__(cls, *args)

    def __reduce__(self) -> Any:
        return NotFittedError, self.args


class FileError(InputError):
    """Report a file that is missing, damaged, or not written by this library.

    See Also
    --------
    load : Read a model from a file.
    InputError : Report input that cannot be used.
    """


def one_of(name: str, value: object, allowed: Collection[str]) -> None:
    """Check that a parameter is one of a few words."""
    if not isinstance(value, str) or value not in allowed:
        raise InputError(f"{name} is {value!r}; it must be one of {', '.join(repr(a) for a in allowed)}")


def number(
    name: str,
    value: Any,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    integer: bool = False,
) -> None:
    """Check that a parameter is a finite number (or a whole one) within its limits."""
    kind = "a whole number" if integer else "a number"
    limits = [
        f"{text} {limit}"
        for text, limit in (("at least", at_least), ("above", above), ("at most", at_most), ("below", below))
        if limit is not None
    ]
    wanted = f"it must be {kind}" + (f" {' and '.join(limits)}" if limits else "")
    accepted = numbers.Integral if integer else numbers.Real
    shown = value.item() if hasattr(value, "item") and not getattr(value, "shape", ()) else value
    if isinstance(value, bool) or not isinstance(value, accepted):
        raise InputError(f"{name} is {shown!r}; {wanted}")
    x: Any = value
    if not isinstance(value, numbers.Integral):  # which are compared exactly, whatever their size
        try:
            x = float(value)
        except OverflowError:
            x = float("inf")
    inside = (
        x - x == 0  # neither infinite nor NaN
        and (at_least is None or x >= at_least)
        and (above is None or x > above)
        and (at_most is None or x <= at_most)
        and (below is None or x < below)
    )
    if not inside:
        raise InputError(f"{name} is {shown!r}; {wanted}")
