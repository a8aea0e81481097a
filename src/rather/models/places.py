"""Rankings that say how sure they are: places of items by draws of what they may be worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import number

NUMBERS, LEAST, MOST = 2**22, 200, 1000  # drawn at most; rows of them


def n_draws(n_items: int) -> int:
    return int(np.clip(NUMBERS // max(n_items, 1), LEAST, MOST))


def check(interval: Any, top: Any, n_items: int) -> int:
    """How many items are the top."""
    number("interval", interval, above=0.0, below=1.0)
    if top is None:
        return 10 if n_items >= 20 else min(3, n_items)
    number("top", top, at_least=1, at_most=n_items, integer=True)
    return int(top)


def ranked(draws: Any, interval: float, top: int) -> dict[str, Any]:
    """From draws of the worth of items, a row each: their order, best first, and of each in that order

    - score: what it is worth on average,
    - best, worst: the fewest places that hold it with that probability,
    - p_top: the probability of being among the first ``top``,
    - group: from the first on, items that cannot be told apart from the best of their group: each is behind it with
      less than that probability.
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
    """The ends of the shortest range that holds so much of every column."""
    n, columns = place.shape[0], np.arange(place.shape[1])
    ordered = np.sort(place, axis=0)
    held = min(int(np.ceil(interval * n)), n)
    first = (ordered[held - 1 :] - ordered[: n - held + 1]).argmin(axis=0)
    return ordered[first, columns].astype(np.int64), ordered[first + held - 1, columns].astype(np.int64)


def groups(draws: Any, interval: float) -> Any:
    """Numbers 1, 1, 2, ... of items that are in order."""
    made, first = np.empty(draws.shape[1], np.int64), 0
    number_of = 1
    for j in range(draws.shape[1]):
        if (draws[:, first] > draws[:, j]).mean() >= interval and j > first:
            first, number_of = j, number_of + 1
        made[j] = number_of
    return made
