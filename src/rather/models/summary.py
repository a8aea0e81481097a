"""A fitted model in one or two lines: which estimator it is, the data, and what the fit chose."""

from __future__ import annotations

from typing import Any

from ..data.embedded import Embedded
from ..data.source import plural


def summary(model: Any) -> str:
    """Return what ``repr`` says of a fitted model. Nothing is fitted or built for it."""
    facts = [*_size(model), *model._facts()]
    if vars(model).get("interrupted_"):
        facts.append(f"interrupted after {plural(len(model.history_), 'round')}")
    return f"{type(model).__name__} {_data(model)}" + (f": {', '.join(facts)}" if facts else "")


def unconverged(model: Any) -> list[str]:
    """Return that the fit ended before it converged, if it did; for estimators whose rounds are meant to converge."""
    state = vars(model)
    stopped = not state.get("converged_", True) and not state.get("interrupted_")
    return [f"not converged in {plural(len(model.history_), 'round')}"] if stopped else []


def _data(model: Any) -> str:
    users, items = plural(len(model.users_), "user"), plural(len(model.items_), "item")
    if "_are_newcomers" in vars(model):
        return f"of {users} who joined by fold_in, on {items}"
    own = model._fitted_to
    if own is None:  # which a file may leave out
        return f"fitted to answers of {users} on {items}"
    if isinstance(own.source, Embedded):
        return f"fitted to {own.source.in_words()} of {users} between embeddings"
    return f"fitted to {own.source.in_words()} {'that name nobody,' if own.anonymous else f'of {users}'} on {items}"


def _size(model: Any) -> list[str]:
    """Return the rank and the regularisation, and how they were chosen."""
    state = vars(model)
    asked, tried = state.get("_fitted_with", {}).get("rank"), state.get("cv_results_", ())
    rank = f"rank {state['rank_']}" if state.get("rank_") else ""
    if rank and asked == "auto":
        rank += " (grown until no more helped)"
    reg = f"reg {state['reg_']:.3g}" if "reg_" in state else ""
    if reg and tried:
        own = model._fitted_to
        answers = "answers" if own is None else f"{own.source.unit}s"
        both = "both " if rank and len({row["rank"] for row in tried}) > 1 else ""
        reg += f" ({both}chosen on held-out {answers})"
    return [fact for fact in (rank, reg) if fact]
