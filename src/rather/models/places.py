"""Ranges of places of items, by draws from the posterior of their worth."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ..errors import InputError, number

NUMBERS, LEAST, MOST = 2**22, 200, 1000  # drawn at most; rows of them


def n_draws(n_items: int) -> int:
    return int(np.clip(NUMBERS // max(n_items, 1), LEAST, MOST))


def refuse_places(model: object) -> NoReturn:
    """Raise an error: this kind of model has no ranges of places."""
    raise InputError(f"{type(model).__name__} has no ranges of places; fit AltSVM")


def check(interval: Any, top: Any, n_items: int) -> int:
    """Return the number of items that count as the top."""
    number("interval", interval, above=0.0, below=1.0)
    if top is None:
        return 10 if n_items >= 20 else min(3, n_items)
    number("top", top, at_least=1, at_most=n_items, integer=True)
    return int(top)


def ranked(draws: Any, interval: float, top: int) -> dict[str, Any]:
    """Rank items by draws of their worth, a row each. Return their order, best first, and for each in that order

    - score: its mean worth,
    - best, worst: the range of places that holds it with about that probability (see ``shortest``),
    - p_top: the probability of being among the first ``top``,
    - group: a number. The best item begins the first group. Every other item joins the group above it while it is
      behind the first item of that group with less than that probability, and else begins a new group.
    """
    n = draws.shape[1]
    mean = draws.mean(axis=0)
    order = np.argsort(-mean, kind="stable")
    place = np.empty(draws.shape, np.int32)
    np.put_along_axis(place, np.argsort(-draws, axis=1, kind="stable"), np.arange(1, n + 1, dtype=np.int32)[None], 1)
    best, worst = shortest(place, interval)
    chance = (place <= top).mean(axis=0)
    return {
        "order": order, "score": mean[order], "best": best[order], "worst": worst[order], "p_top": chance[order],
        "group": groups(draws[:, order], interval),
    }  # fmt: skip


def shortest(place: Any, interval: float) -> tuple[Any, Any]:
    """Return the ends of the range of places whose share of a column is nearest to ``interval``.

    Ranges end at whole places, so they seldom hold exactly that share. The shortest range that holds at least as much
    would hold more on average, by far where there are few items. A range that is one place shorter is taken if its
    share is nearer.
    """
    ordered = np.sort(place.T.astype(np.int64), axis=1)
    n = ordered.shape[1]
    held = min(int(np.ceil(interval * n)), n)
    steps = (ordered[:, held - 1 :] - ordered[:, : n - held + 1]).min(axis=1)  # from its first place to its last
    best, most = _fullest(ordered, steps)
    later, less = _fullest(ordered, steps - 1)
    shorter = (steps > 0) & (interval * n - less < most - interval * n)
    best = np.where(shorter, later, best)
    return best, np.minimum(best + steps - shorter, ordered[:, -1])


def _fullest(ordered: Any, steps: Any) -> tuple[Any, Any]:
    """Return where the range of so many steps that holds most of a row begins, and how many it holds."""
    apart = int(ordered.max(initial=0)) + 1
    from_zero = ordered + 2 * apart * np.arange(len(ordered))[:, None]  # one after another, in order
    ends = np.searchsorted(from_zero.ravel(), (from_zero + steps[:, None]).ravel(), side="right")
    held = ends.reshape(ordered.shape) - np.arange(ordered.size).reshape(ordered.shape)
    at = held.argmax(axis=1)
    rows = np.arange(len(ordered))
    return ordered[rows, at], held[rows, at]


def groups(draws: Any, interval: float) -> Any:
    """Numbers 1, 1, 2, ... of items that are in order."""
    made, first = np.empty(draws.shape[1], np.int64), 0
    number_of = 1
    for j in range(draws.shape[1]):
        if (draws[:, first] > draws[:, j]).mean() >= interval and j > first:
            first, number_of = j, number_of + 1
        made[j] = number_of
    return made
