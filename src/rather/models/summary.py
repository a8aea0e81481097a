"""A fitted model in one or two lines: which estimator it is, the data, and what the fit chose."""

from __future__ import annotations

from collections.abc import Sequence

from ..data.embedded import Embedded
from ..data.source import plural
from .fitted import FittedModel
from .scorers import Factors


def summary(kind: str, fitted: FittedModel, facts: Sequence[str]) -> str:
    """Return what ``repr`` says of a fitted model. Nothing is fitted or built for it."""
    known = [*_size(fitted), *facts]
    if fitted.interrupted:
        known.append(f"interrupted after {plural(len(fitted.history or ()), 'round')}")
    return f"{kind} {_data(fitted)}" + (f": {', '.join(known)}" if known else "")


def unconverged(fitted: FittedModel) -> list[str]:
    """Return that the fit ended before it converged, if it did; for estimators whose rounds are meant to converge."""
    stopped = fitted.converged is False and not fitted.interrupted
    return [f"not converged in {plural(len(fitted.history or ()), 'round')}"] if stopped else []


def ranked(rank: int, users: int, items: int) -> str:
    """Return the rank in words; no model of so many users and items has more than their smaller number."""
    return f"rank {rank}{', the largest possible' if rank == min(users, items) else ''}"


def _data(fitted: FittedModel) -> str:
    users, items = plural(len(fitted.users.ids), "user"), plural(len(fitted.items.ids), "item")
    if fitted.parent is not None:
        return f"of {users} who joined by fold_in, on {items}"
    own = fitted.training
    if own is None:  # which a file may leave out
        return f"fitted to answers of {users} on {items}"
    if isinstance(own.source, Embedded):
        return f"fitted to {own.source.in_words()} of {users} between embeddings"
    return f"fitted to {own.source.in_words()} {'that name nobody,' if own.anonymous else f'of {users}'} on {items}"


def _size(fitted: FittedModel) -> list[str]:
    """Return the rank and the regularisation, and how they were chosen."""
    tried, scorer = fitted.cv_results or (), fitted.scorer
    users, items = len(fitted.users.ids), len(fitted.items.ids)
    rank = ranked(scorer.rank, users, items) if isinstance(scorer, Factors) and scorer.rank else ""
    if rank and fitted.params.get("rank") == "auto":
        rank += " (grown until no more helped)"
    reg = "" if fitted.reg is None else f"reg {fitted.reg:.3g}"
    if reg and tried:
        answers = "answers" if fitted.training is None else f"{fitted.training.source.unit}s"
        both = "both " if rank and len({row["rank"] for row in tried}) > 1 else ""
        reg += f" ({both}chosen on held-out {answers})"
    return [fact for fact in (rank, reg) if fact]
