"""Users that a model does not know: raise an error, give the shared ranking, or skip them with a warning."""

from __future__ import annotations

from ..errors import one_of
from ..warned import warn

CHOICES = ("error", "everyone", "skip")


class UnknownUserWarning(UserWarning):
    """Warn that users or items are not known to the model and were left out.

    See Also
    --------
    Estimator.recommend : Recommend items, with ``unknown="skip"``.

    Examples
    --------
    >>> import rather, warnings
    >>> votes = {"user": ["ann", "bob", "cat"], "winner": ["A", "A", "B"], "loser": ["B", "C", "C"]}
    >>> model = rather.AltSVM(rank=1).fit(rather.Comparisons.from_frame(votes))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", rather.UnknownUserWarning)
    ...     model.recommend(["ann", "zoe"], k=1, unknown="skip")["user"].tolist()
    ['ann']
    """


def check_unknown(unknown: object) -> None:
    one_of("unknown", unknown, CHOICES)


def left_out(n: int, of: int, what: str) -> None:
    """Say how many were left out."""
    text = f"{n:,} of {of:,} {what} are not known to the model and were left out"
    warn(text, "unknown-user-warning", UnknownUserWarning)
