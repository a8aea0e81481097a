"""Comparisons that Spark holds out for calibration: a part of every user's ratings or clicks, shard by shard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..data.clicks import ClickRule, drawn
from ..data.ratings import Levels, Rated
from ..data.rows import Clicks, Pairs, Ratings, share_of_each_row
from ..models.calibration import MOST_PAIRS, SHARES, Aside, Calibration, calibrated
from ..models.exclusions import is_in
from .plan import Plan
from .shard import Shard


@dataclass(frozen=True)
class PutAside:
    """The rest of what people said, and the rows that were put aside."""

    rest: Shard
    held: Any  # a mask over the rows of the whole
    whole: Shard

    def pairs(self, plan: Plan, popularity: Any) -> list[Pairs]:
        """Comparisons put aside, some of each shard: an equal share of as many as there are at most in all."""
        found, most = [], max(1, MOST_PAIRS // plan.n_shards)
        for k, (first, last) in enumerate(pairwise(self.whole.start.tolist())):
            rows = slice(*np.searchsorted(self.whole.user, (first, last)))
            held, size = self.held[rows], (last - first, plan.n_items)
            user, item = self.whole.user[rows] - np.int32(first), self.whole.a[rows]
            if not held.any():
                continue
            rng = np.random.default_rng([plan.params["seed"], self.whole.first + k, 2])
            levels = Ratings(user[held], item[held], self.whole.x[rows][held])
            source: Levels = Rated(*size, levels)
            if plan.kind == "clicks":
                rule = ClickRule(None, plan.unseen, int(rng.integers(2**63)))
                clicks, seen = Clicks(user[held], item[held]), Clicks(user, item)
                against = drawn(*size, clicks, rule, popularity, seen)
                assert isinstance(against, Ratings)
                source = Levels(*size, against)
            some = source.some_pairs(most, rng)
            found.append(replace(some, user=some.user + np.int32(first)))
        return found


def put_aside(plan: Plan, shard: Shard) -> PutAside:
    """A share of every user's rows, the same whichever task has the shard."""
    held = np.zeros(len(shard.user), bool)
    for k, (first, last) in enumerate(pairwise(shard.start.tolist())):
        rows = slice(*np.searchsorted(shard.user, (first, last)))
        rng = np.random.default_rng([plan.params["seed"], shard.first + k, 1])
        held[rows] = share_of_each_row(shard.user[rows] - np.int32(first), last - first, SHARES[1], rng)
    kept = {name: getattr(shard, name)[~held] for name in ("user", "a", "b", "x", "tie")}
    return PutAside(replace(shard, **kept), held, shard)


def margins(aside: PutAside, plan: Plan, popularity: Any, problem: Any, met: Any) -> Any:
    """Return for held-out comparisons the margin, the items the user met, and how many of the two are new."""
    made = [np.empty((0, 3), np.float32)]
    known = problem.store.item_count > 0
    for pairs in aside.pairs(plan, popularity):
        pairs = pairs.take(known[pairs.winner] & known[pairs.loser])
        margin = np.einsum("tr,tr->t", problem.U[pairs.user], problem.V[pairs.winner] - problem.V[pairs.loser])
        new = sum((~is_in(met, pairs.user, item)).astype(np.float32) for item in (pairs.winner, pairs.loser))
        made.append(np.column_stack((margin, np.diff(met[0])[pairs.user], new)).astype(np.float32))
    return np.concatenate(made)


def calibration(rows: Sequence[Sequence[float]], answers: float) -> Calibration:
    """Return the calibration from held-out comparisons, which are worth so many answers."""
    if not len(rows):
        return Calibration(1.0)
    m, n, new = np.array(rows, np.float64).T
    none = np.zeros(len(m), np.int32)
    return calibrated([Aside(Pairs(none, none, none), n, new, answers)], [m], answers)
