"""Panels beside the questions, from the posterior of a visitor: rankings, differences, maps and effects of an answer.

All are documents of plain values, with items in the order of the list.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy

from ..errors import InputError
from ..models.belief import Belief
from ..models.information import settling
from ..models.places import groups, shortest
from .knowledge import Knowledge, Said

INTERVAL, TOP, SURE, MOST = 0.9, 3, 0.8, 100  # answers within which it is told how many more settle the top
NUMBERS, LEAST_DRAWS, MOST_DRAWS = 2**20, 200, 1000  # drawn at most; rows of them
RANKED = 5000  # items at most that places are told among: of more, those that may be the best
MAPPED, MOVED = 400, 5  # items on the map; items told to move


def ranking(knowledge: Knowledge, belief: Belief, said: list[Said], limit: int) -> dict[str, Any]:
    """All items in order, the first ``limit`` told, and how settled the top is, by answers that can be given."""
    among = _contenders(belief, len(knowledge.listed))
    n = int(np.clip(NUMBERS // len(among), LEAST_DRAWS, MOST_DRAWS))
    draws = belief.draws(n, among, np.random.default_rng(0)).astype(np.float32)
    rows = _rows(knowledge, draws, belief.expected(among), among, limit)
    top = min(TOP, len(among))
    left = max(knowledge.askable(said)[2], 0)
    share, more = settling(belief, _known(knowledge, among), top, SURE, min(MOST, left), 0)
    settled = {"top": top, "share": share, "sure": SURE, "more": more, "left": left}
    return {"rows": rows, "interval": INTERVAL, "top_of": top, "of": len(knowledge.listed), "settled": settled}


def everyone(knowledge: Knowledge) -> dict[str, Any]:
    """Everybody's ranking; without intervals where the model's file does not hold what was said."""
    among = np.flatnonzero(knowledge.codes >= 0)
    about = {"interval": INTERVAL, "top_of": min(TOP, len(among)), "of": len(knowledge.listed), "settled": None}
    if knowledge.model is None:
        return {"rows": [], **about}
    codes = knowledge.codes[among]
    try:
        draws = copy(knowledge.model)._everyones_draws()[:, codes].astype(np.float32)
    except InputError:
        scores = knowledge.model.average_scores()[codes]
        order = np.argsort(-scores, kind="stable")
        unsure = {"best": None, "worst": None, "top": None, "group": None}
        rows = [{"place": k + 1, **unsure, "item": _item(knowledge, among[j])} for k, j in enumerate(order.tolist())]
        return {"rows": rows, **about}
    return {"rows": _rows(knowledge, draws, draws.mean(axis=0), among, len(among)), **about}


def _rows(knowledge: Knowledge, draws: Any, mean: Any, among: Any, limit: int) -> list[dict[str, Any]]:
    """The first of a ranking by draws, with places between which each is."""
    order = np.argsort(-mean, kind="stable")[:limit]
    place = np.empty(draws.shape, np.int32)
    by_worth = np.argsort(-draws, axis=1)
    np.put_along_axis(place, by_worth, np.arange(1, draws.shape[1] + 1, dtype=np.int32)[None], 1)
    best, worst = shortest(place[:, order], INTERVAL)
    top = (place[:, order] <= min(TOP, len(among))).mean(axis=0)
    group = groups(draws[:, order], INTERVAL)
    columns = zip(order.tolist(), best.tolist(), worst.tolist(), top.tolist(), group.tolist(), strict=True)
    return [
        {"place": k, "best": b, "worst": w, "top": t, "group": g, "item": _item(knowledge, among[j])}
        for k, (j, b, w, t, g) in enumerate(columns, 1)
    ]


def difference(knowledge: Knowledge, belief: Belief, said: list[Said], limit: int) -> dict[str, Any]:
    """Return where a person's taste certainly differs from the typical one."""
    if knowledge.model is None:
        return {"rows": [], "interval": INTERVAL}  # there is no typical person to differ from
    every = np.arange(len(knowledge.listed), dtype=np.int32)
    R = belief.rows(every)
    R = R - R.mean(axis=0)
    n, fresh = len(every), belief.fresh(every)
    mean = R @ belief.known.mean
    sd = np.sqrt(belief.known.variances(R) + fresh * (1 - 2 / n) + fresh.sum() / n**2)
    far = float(scipy.special.ndtri(0.5 + INTERVAL / 2)) * sd
    certain = np.flatnonzero(np.abs(mean) > far)
    certain = certain[np.argsort(-np.abs(mean[certain]) / sd[certain], kind="stable")][:limit]
    rows = [
        {
            "item": _item(knowledge, j), "difference": float(mean[j]),
            "low": float(mean[j] - far[j]), "high": float(mean[j] + far[j]),
        }
        for j in certain
    ]  # fmt: skip
    return {"rows": rows, "interval": INTERVAL}


def crowd(knowledge: Knowledge, limit: int) -> dict[str, Any]:
    """Return the listed items about which people differ most, and least."""
    items = _known(knowledge, knowledge.pool)
    if not knowledge.tells:
        return {"divides": [], "unites": []}
    spread, mean = np.sqrt(np.square(knowledge.items.Z[items]).sum(axis=1)), knowledge.items.offset[items]
    order = np.argsort(-spread, kind="stable")
    limit = min(limit, len(items) // 2)
    told = [
        {"item": _item(knowledge, items[j]), "mean": float(mean[j] - mean.mean()), "spread": float(spread[j])}
        for j in order
    ]
    return {"divides": told[:limit], "unites": told[::-1][:limit]}


def taste_map(knowledge: Knowledge, belief: Belief, said: list[Said]) -> dict[str, Any]:
    """The two directions in which people differ most: items, where the person may be, and where the crowd is."""
    nobody: dict[str, Any] = {"items": [], "me": None, "crowd": None}
    if not knowledge.tells or knowledge.items.Z.shape[1] < 2:
        return nobody
    items = _known(knowledge, knowledge.pool)
    _, _, axes = np.linalg.svd(knowledge.items.Z[items], full_matrices=False)
    P = axes[:2] * np.where(axes[:2].sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    at = knowledge.items.Z[items] @ P.T
    X = np.zeros((2, len(belief.known.mean)))
    X[:, : P.shape[1]] = P
    (x, y), C = X @ belief.known.mean, belief.known.covariances(X, X)
    told = [{"item": _item(knowledge, j), "x": float(a), "y": float(b)} for j, (a, b) in zip(items, at, strict=True)]
    return {
        "items": told[:MAPPED],
        "me": {"x": float(x), "y": float(y), "sxx": float(C[0, 0]), "sxy": float(C[0, 1]), "syy": float(C[1, 1])},
        "crowd": {"x": 0.0, "y": 0.0, "sxx": 1.0, "sxy": 0.0, "syy": 1.0},
    }


def whatif(knowledge: Knowledge, belief: Belief, said: list[Said], left: int, right: int) -> dict[str, Any]:
    """Return the items that either answer would move most in the list, those at its top first."""
    every = np.arange(len(knowledge.listed), dtype=np.int32)
    before = _places(belief.expected(every))
    told = {}
    for reply in ("left", "right"):
        after = _places(knowledge.belief([*said, Said(left, right, reply)]).expected(every))
        weight = np.abs(np.log(after) - np.log(before))
        most = np.argsort(-weight, kind="stable")[:MOVED]
        told[reply] = [
            {"item": _item(knowledge, j), "from": int(before[j]), "to": int(after[j])}
            for j in most[np.argsort(after[most], kind="stable")]
            if after[j] != before[j]
        ]
    return told


def chances(knowledge: Knowledge, belief: Belief, said: list[Said]) -> dict[str, Any]:
    """Return the probability of each answer given the others; None for ties and unknown items."""
    alone = iter(belief.without_each().tolist())
    told: list[float | None] = []
    for left, right, reply in said:
        counted = reply in ("left", "right", "tie") and min(left, right) >= 0
        if counted and reply == "tie":
            next(alone), next(alone)
        known = next(alone) if counted and reply != "tie" else None
        told.append(None if knowledge.model is None else known)
    return {"chances": told}


def _places(worth: Any) -> Any:
    place = np.empty(len(worth), np.int64)
    place[np.argsort(-worth, kind="stable")] = np.arange(1, len(worth) + 1)
    return place


def _contenders(belief: Belief, n: int) -> Any:
    """All items or, of very many, those that may be the best."""
    every = np.arange(n, dtype=np.int32)
    if n <= RANKED:
        return every
    rows = belief.rows(every)
    sd = np.sqrt(belief.known.variances(rows) + belief.fresh(every))
    may_be = belief.expected(every) + scipy.special.ndtri(0.9) * sd
    return np.sort(np.argpartition(-may_be, RANKED)[:RANKED]).astype(np.int32)


def _known(knowledge: Knowledge, items: Any) -> Any:
    """Return the items that the model has met, if there are enough; if there are many, those of the pool."""
    met = items[knowledge.codes[items] >= 0]
    met = met if len(met) >= TOP else items
    return np.intersect1d(met, knowledge.pool) if len(met) > len(knowledge.pool) else met


def _item(knowledge: Knowledge, code: Any) -> dict[str, str]:
    return knowledge.listed.documents[int(code)]
