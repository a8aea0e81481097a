"""Pictures of what a model learned, with matplotlib: ``pip install 'rather[plot]'``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InputError, number

CROWD, OWN, SPREAD = "#4c566a", "#d08770", "#d8dee9"


def tastes(model: Any, user: Any = None, top: int = 20, ax: Any = None) -> Any:
    """What features of items are worth: to everybody (dots), how much people differ (bars), and to a user.

    The features are those that move people most, of ``model.tastes(user)``. Returns the axes.

    Parameters
    ----------
    model : fitted with ``item_features``
    user : id, optional
    top : int
        How many features, at most.
    ax : axes of matplotlib, optional
    """
    number("top", top, at_least=1, integer=True)
    table = model.tastes(user)
    ax = _axes(ax, height=0.6 + 0.28 * min(top, len(table)))
    rows = list(range(min(top, len(table))))[::-1]
    crowd, divides = (np.asarray(table[name], float)[rows] for name in ("crowd", "divides"))
    at = np.arange(len(rows))
    ax.barh(
        at, 2 * divides, left=crowd - divides, color=SPREAD, height=0.7, label="people, within a standard deviation"
    )
    ax.plot(crowd, at, "o", color=CROWD, label="everybody")
    if user is not None:
        ax.plot(np.asarray(table["own"], float)[rows], at, "D", color=OWN, label=f"user {user}")
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(at, [str(table["feature"][row]) for row in rows])
    ax.set_ylim(-0.8, len(rows) - 0.2)
    ax.set_xlabel("worth in log-odds, of a value or of one standard deviation of a number")
    ax.use_sticky_edges = False
    ax.margins(x=0.05)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    return ax


def _axes(ax: Any, height: float) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as e:
        raise InputError("pictures need matplotlib; install it with: pip install 'rather[plot]'") from e
    return plt.subplots(figsize=(8, height), layout="constrained")[1]
