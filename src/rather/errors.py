"""Errors for bad input: one sentence with the place, the value, what is accepted and one remedy."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

REMEDIES = {
    "clicks or another model": "make them with Comparisons.from_clicks, or fit AltSVM, BPR or SGD, which take any "
    "comparisons",
    "clicks of all": "give the clicks of all users in one table, or allow_empty=True if they join earlier ones",
    "ratings or another model": "make them with Comparisons.from_ratings, or fit AltSVM",
    "ratings, rankings or another model": "make them with Comparisons.from_ratings or from_rankings, split "
    "them by='items' (by pairs leaves no ratings), or fit AltSVM",
    "add item": "check the id, or add it with add_items(comparisons)",
    "fit item": "check the id, or fit again with comparisons that involve it",
    "add person": "use fold_in(...) to add a person from a few answers",
    "add person by clicks": "use fold_in(...) to add a person from their clicks",
    "fit user": "fit again with some of their answers",
    "model of users": "fit AltSVM to votes with named users",
    "judge known users": "a metric needs users of the model, or unknown='everyone' or 'skip'",
    "exclude known items": "leave it out of exclude",
    "other frame": "ask for a 'dict' instead",
    "give old": "give them as old=..., or save the fitted model with comparisons=True",
    "leave old out": "leave old out",
    "old with features": "give old with them: old.with_features(...)",
    "fit all": "fit it again, to old.extended(new) (AltSVM can be updated)",
    "save without": "save with comparisons=False",
    "save with": "fit it again, and save it with comparisons=True",
    "save with, or fold in": "save the fitted model with comparisons=True, or use fold_in(answers)",
    "update": "update(...) takes in more about those it knows",
}


class InputError(ValueError):
    """Report input that cannot be used; the message names the value and a remedy.

    Parameters
    ----------
    fact : str
        The message without the remedy.
    parameter : str, optional
        The parameter at fault; the fact then begins with its name.
    remedy : str, optional
        Key of the remedy in ``REMEDIES``. A shell shows another remedy than Python.
    row : int, optional
        The row at fault, from 0; the fact then has "in row" and its number. A shell shows the line of the file.
    table : str, optional
        The parameter whose table has the row. Default: the data.

    Attributes
    ----------
    fact : str
        The message without the remedy.
    parameter : str or None
        The parameter at fault, if there is one.
    remedy : str or None
        Key of the remedy in ``REMEDIES``, if there is one.
    row : int or None
        The row at fault, if there is one.
    table : str or None
        The parameter whose table has the row, if it is not the data.

    See Also
    --------
    NotFittedError : Report a model that is not fitted yet.
    FileError : Report a file that cannot be read.

    Examples
    --------
    >>> import rather
    >>> votes = rather.Comparisons.from_frame({"user": ["ann", "bob"], "winner": ["A", "B"], "loser": ["B", "C"]})
    >>> try:
    ...     rather.AltSVM(rank=-1).fit(votes)
    ... except rather.InputError as error:
    ...     print(error.parameter)
    rank
    """

    def __init__(
        self,
        fact: str = "",
        parameter: str | None = None,
        remedy: str | None = None,
        row: int | None = None,
        table: str | None = None,
    ) -> None:
        super().__init__(fact if remedy is None else f"{fact}; {REMEDIES[remedy]}")
        self.fact, self.parameter, self.remedy, self.row, self.table = fact, parameter, remedy, row, table

    def __reduce__(self) -> Any:
        return _again, (type(self), str(self), self.__dict__)


def _again(kind: type[InputError], message: str, attributes: dict[str, Any]) -> InputError:
    """Return an error that was pickled."""
    made = kind(message)
    made.__dict__.update(attributes)
    return made


class NotFittedError(InputError, AttributeError):
    """Report that a model was used before it was fitted.

    If scikit-learn is loaded, the error is also scikit-learn's ``NotFittedError``.

    See Also
    --------
    InputError : Report input that cannot be used.

    Examples
    --------
    >>> import rather
    >>> try:
    ...     rather.Global().rank()
    ... except rather.NotFittedError:
    ...     print("call fit first")
    call fit first
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

    Examples
    --------
    >>> import rather
    >>> try:
    ...     rather.load("missing.rather")
    ... except rather.FileError:
    ...     print("fit the model first")
    fit the model first
    """


@dataclass(frozen=True)
class Domain:
    """The values that a parameter may have: numbers within limits, words, truth values, None, or others by a test."""

    number: type[int] | type[float] | None = None
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    words: tuple[str, ...] = ()
    flag: bool = False
    none: bool = False
    other: str = ""  # what ``test`` accepts, in words
    test: Callable[[Any], bool] | None = None

    def __call__(self, name: str, value: object) -> None:
        """Refuse a value that is none of these."""
        if value not in self:
            raise InputError(
                f"{name} is {_shown(value)!r}; it must be {self.in_words()}", name if name.isidentifier() else None
            )

    def __contains__(self, value: object) -> bool:
        if value is None:
            return self.none
        if isinstance(value, bool):
            return self.flag
        if isinstance(value, str) and value in self.words:
            return True
        return self._has_number(value) or (self.test is not None and self.test(value))

    def _has_number(self, value: Any) -> bool:
        if self.number is None or not isinstance(value, numbers.Integral if self.number is int else numbers.Real):
            return False
        x: Any = value
        if not isinstance(value, numbers.Integral):  # which are compared exactly, whatever their size
            try:
                x = float(value)
            except OverflowError:
                return False
        return bool(
            x - x == 0  # neither infinite nor NaN
            and (self.at_least is None or x >= self.at_least)
            and (self.above is None or x > self.above)
            and (self.at_most is None or x <= self.at_most)
            and (self.below is None or x < self.below)
        )

    def in_words(self) -> str:
        """Return what is accepted, as an error says it."""
        words = [repr(word) for word in self.words]
        kinds = []
        if self.number is not None:
            limits = [
                f"{text} {limit}"
                for text, limit in (
                    ("at least", self.at_least), ("above", self.above),
                    ("at most", self.at_most), ("below", self.below),
                )
                if limit is not None
            ]  # fmt: skip
            kind = "a whole number" if self.number is int else "a number"
            kinds.append(f"{kind} {' and '.join(limits)}" if limits else kind)
        kinds += [f"one of {', '.join(words)}"] if len(words) > 1 else words
        kinds += ["True", "False"] if self.flag else []
        kinds += [self.other] if self.other else []
        return _either([*kinds, *(["None"] if self.none else [])])

    def as_type(self) -> str:
        """Return what is accepted, as the type of a parameter in a docstring."""
        words = [f'"{word}"' for word in self.words]
        kinds = ["bool"] if self.flag else []
        kinds += [] if self.number is None else [self.number.__name__]
        kinds += [f"{{{', '.join(words)}}}"] if len(words) > 1 else words
        kinds += [self.other.removeprefix("a ")] if self.other else []
        return _either([*kinds, *(["None"] if self.none else [])])


def _either(kinds: list[str]) -> str:
    return " or ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)


def _shown(value: Any) -> Any:
    """Return a number of numpy as Python's own, which prints as a number."""
    return value.item() if hasattr(value, "item") and not getattr(value, "shape", ()) else value


def one_of(name: str, value: object, allowed: Collection[str]) -> None:
    """Check that a parameter is one of a few words."""
    Domain(words=tuple(allowed))(name, value)


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
    Domain(int if integer else float, at_least, above, at_most, below)(name, value)
