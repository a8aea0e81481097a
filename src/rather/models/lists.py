"""The best items by given scores, with exclusions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.ids import Codes
from ..native import FloatArray, core
from .exclusions import Rows


def best_scores(score: Any, k: int, excluded: Rows | None, items: Codes, n_threads: int) -> tuple[Any, ...]:
    """(query, item, score, rank) of the k best of each row of scores, flat; columns stand for ``items``."""
    n_rows, n = score.shape
    score = np.array(score, np.float32)
    if excluded is not None:
        start, gone = excluded
        column = np.full(int(max(items.max(initial=0), gone.max(initial=0))) + 1, -1, np.int64)
        column[items] = np.arange(n)
        row, at = np.repeat(np.arange(n_rows), np.diff(start)), column[gone]
        score[row[at >= 0], at[at >= 0]] = -np.inf
    # What is below a row's k-th best need not be put in order; what ties with it must.
    least = np.partition(score, n - k, axis=1)[:, n - k, None] if k < n else -np.inf
    query, at = np.nonzero((score >= least) & (score > -np.inf))
    value, start = score[query, at], np.searchsorted(query, np.arange(n_rows + 1))
    order = np.empty(len(value), np.int64)
    core.order_rows(start, value, order, n_threads)
    place = np.arange(len(value)) - start[query]
    found, place = order[place < k], place[place < k]
    return query[found], items[at[found]], value[found], place + 1


def best_of_all(scores: FloatArray, n: int, k: int, excluded: Rows | None, items: Codes) -> tuple[Any, ...]:
    """The k best of some items by scores that are everybody's, for each of n people with exclusions of their own."""
    order = items[np.lexsort((items, -scores[items]))]
    parts = []
    for query in range(n):
        gone = () if excluded is None else excluded[1][excluded[0][query] : excluded[0][query + 1]]
        best = order[: k + len(gone)]
        best = best[~np.isin(best, gone)][:k] if len(gone) else best
        parts.append((np.full(len(best), query), best, scores[best], np.arange(1, len(best) + 1)))
    if not parts:
        parts = [(np.empty(0, np.int64), items[:0], scores[:0], np.empty(0, np.int64))]
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
