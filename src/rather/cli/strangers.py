"""Users that a model does not know: refuse them, give them the shared ranking, or skip and count them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..models.unknown import CHOICES, UnknownUserWarning
from .answer import Document
from .ids import known_users, strange


class Strangers(NamedTuple):
    """The number of unknown users that a command got, and their treatment."""

    unknown: int
    of: int
    choice: str

    @property
    def about(self) -> Document:
        """For the document."""
        counts = {"skip": "skipped", "everyone": "as_everyone"}
        return {name: self.unknown if choice == self.choice else 0 for choice, name in counts.items()}

    def say(self) -> None:
        """A line on standard error where some were skipped."""
        if self.unknown and self.choice == "skip":
            print(
                f"rather: {self.unknown:,} of {self.of:,} users are not known to the model and were skipped",
                file=sys.stderr,
            )


def add_unknown(parser: Any, everyone: str) -> None:
    """The option; ``everyone`` says what "everyone" does to unknown users."""
    parser.add_argument(
        "--unknown",
        choices=CHOICES,
        default="error",
        help=f"people that the model does not know: stop, {everyone}, or leave them out (default: error)",
    )


def find(model: Any, users: Any, choice: str, advice: str) -> Strangers:
    """Count the users that a model does not know; where they are an error, name the first and give the advice."""
    known = known_users(model, users)
    if choice == "error" and not known.all():
        raise strange(model, "user", users[int(np.argmin(known))], advice)
    return Strangers(int((~known).sum()), len(known), choice)


@contextmanager
def counted() -> Iterator[None]:
    """Without the library's warning about those it left out, who are counted here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownUserWarning)
        yield
