"""Ratings and rankings: a user prefers items with higher ratings. The implied pairs are not written down."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import memory
from ..errors import InputError
from ..native import core, threads
from .rows import Mask, Pairs, Ratings, row_starts, share_of_each_row
from .source import NO_GAPS, Counts, Scores, Source, plural
from .union import Union
from .votes import Votes

BYTES_A_PAIR = 64  # while it is written down
FEW, MANY = 30_000, 1_000_000


class Levels(Source):
    """Items on levels, every one preferred to all of the same user's on lower levels."""

    implied = True

    def __init__(self, n_users: int, n_items: int, levels: Ratings) -> None:
        super().__init__(n_users, n_items)
        self.levels = levels

    def _build(self) -> Any:
        r = self.levels
        return core.store_from_ratings(self.n_users, self.n_items, r.user, r.item, r.rating, threads(None))

    def __len__(self) -> int:
        return int(self.store.n_comparisons)

    def pairs(self) -> Pairs:
        memory.require(
            BYTES_A_PAIR * float(len(self)), f"to write down {len(self):,} comparisons",
            "hold out by='items', or take fewer ratings of each user",
        )  # fmt: skip
        counts = np.empty(self.n_users)
        core.comparisons_per_user(self.store, counts)
        pair_start = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        winner, loser = np.empty(pair_start[-1], np.int64), np.empty(pair_start[-1], np.int64)
        start = row_starts(self.levels.user, self.n_users)
        core.all_pairs(start, self.levels.rating, pair_start, winner, loser, threads(None))
        return _pairs_at(self.levels, winner, loser)

    def said_by(self, people: Any, most: int, rng: np.random.Generator) -> Pairs:
        start, parts = row_starts(self.levels.user, self.n_users), []
        for person in np.unique(people):
            rows = np.arange(start[person], start[person + 1])
            first, second = (
                np.triu_indices(len(rows), 1) if len(rows) ** 2 <= 4 * most else _drawn(len(rows), most, rng)
            )
            apart = self.levels.rating[rows[first]] - self.levels.rating[rows[second]]
            kept = np.flatnonzero(apart)
            kept = np.sort(rng.permutation(kept)[:most]) if len(kept) > most else kept
            up = apart[kept] > 0
            a, b = rows[first[kept]], rows[second[kept]]
            parts.append((np.where(up, a, b), np.where(up, b, a)))
        winner, loser = (np.concatenate([part[k] for part in parts] or [np.empty(0, np.int64)]) for k in (0, 1))
        return _pairs_at(self.levels, winner, loser)

    def some_pairs(self, most: int, rng: np.random.Generator) -> Pairs:
        if len(self) <= most:
            return self.pairs()
        r = self.levels
        size = np.bincount(r.user, minlength=self.n_users)
        first = np.cumsum(size) - size
        a = np.tile(np.arange(len(r.user)), -(-most // len(r.user)))
        b = first[r.user[a]] + (rng.random(len(a)) * size[r.user[a]]).astype(np.int64)
        differ = r.rating[a] != r.rating[b]
        a, b = a[differ], b[differ]
        better = r.rating[a] > r.rating[b]
        return Pairs(r.user[a], r.item[np.where(better, a, b)], r.item[np.where(better, b, a)])

    def columns(self) -> list[Any]:
        return [self.levels.user, self.levels.item, self.levels.rating]

    def ordered(self, scores: Scores, min_gap: float | None, n_threads: int) -> Counts:
        if min_gap is not None and self.ratings is None:
            raise InputError(NO_GAPS, "min_gap")
        r = self.levels
        start, key = row_starts(r.user, self.n_users), scores(r.user, r.item)
        right, every = np.empty(self.n_users, np.int64), np.empty(self.n_users, np.int64)
        core.count_ordered(start, r.rating, key, min_gap or 0.0, right, every, n_threads)
        return right.astype(float), every.astype(float)

    def split_pairs(self, share: float, rng: np.random.Generator, users: Mask | None) -> tuple[Source, Source]:
        return self._as_votes().split_pairs(share, rng, users)

    def of_users(self, users: Mask) -> Source:
        return Levels(self.n_users, self.n_items, self.levels.take(users[self.levels.user]))

    def without_items(self, items: Mask) -> Source:
        return Levels(self.n_users, self.n_items, self.levels.take(~items[self.levels.item]))

    def sample(self, per_user: int, rng: np.random.Generator) -> Source:
        return self._as_votes().sample(per_user, rng)

    def _as_votes(self) -> Votes:
        return Votes(self.n_users, self.n_items, self.pairs(), self.implied)


class Rated(Levels):
    """All pairs of a user's items that they rated differently."""

    name, unit = "ratings", "rating"

    @property
    def chooses(self) -> bool:  # type: ignore[override]
        """The usual factor suits many ratings; of few, held-out ones choose better."""
        return len(self.levels.user) <= FEW and len(self) <= MANY

    @property
    def ratings(self) -> Ratings:  # type: ignore[override]
        return self.levels

    def in_words(self) -> str:
        """Return how many ratings there are; :meth:`answers` leaves some out, and may have to build the store."""
        return plural(len(self.ratings.user), self.unit)

    def is_strict(self) -> bool:
        order = np.lexsort((self.levels.rating, self.levels.user))
        user, rating = self.levels.user[order], self.levels.rating[order]
        return not ((user[1:] == user[:-1]) & (rating[1:] == rating[:-1])).any()

    def met(self) -> tuple[Any, Any]:
        return row_starts(self.ratings.user, self.n_users), self.ratings.item

    def largest_gap(self) -> float | None:
        rows = np.flatnonzero(np.diff(self.ratings.user, prepend=-1))
        rating = self.ratings.rating
        return float((np.maximum.reduceat(rating, rows) - np.minimum.reduceat(rating, rows)).max(initial=0))

    def split_items(self, share: float, rng: np.random.Generator, seed: int, users: Mask | None) -> tuple[Rated, Rated]:
        r = self.ratings
        held = np.ones(len(r.user), bool) if users is None else users[r.user]
        held[held] = share_of_each_row(r.user[held], self.n_users, share, rng)
        return self._with(r.take(~held)), self._with(r.take(held))

    def of_users(self, users: Mask) -> Rated:
        return self._with(self.ratings.take(users[self.ratings.user]))

    def without_items(self, items: Mask) -> Rated:
        return self._with(self.ratings.take(~items[self.ratings.item]))

    def kept(self) -> tuple[Any, dict[str, Any]] | None:
        return self.levels, {"kind": "ratings"}

    def extended(self, later: Source, union: Union) -> Source:
        """A later rating of the same item by the same user takes the earlier one's place."""
        if type(later) is not type(self):
            return super().extended(later, union)
        return Rated(*union.size, union.latest(self.levels, later.levels))

    def _with(self, ratings: Ratings) -> Rated:
        return Rated(self.n_users, self.n_items, ratings)


class LargestGaps(Votes):
    """For a user with N ratings the N pairs whose ratings differ most (the paper's AltSVM-sub), and the ratings."""

    name, unit, implied = "ratings", "rating", True

    def __init__(self, rated: Rated, seed: int) -> None:
        r = rated.ratings
        winner, loser = np.empty(len(r.user), np.int64), np.empty(len(r.user), np.int64)
        core.largest_gaps(row_starts(r.user, rated.n_users), r.rating, seed, winner, loser, threads(None))
        pairs = _pairs_at(r, winner[winner >= 0], loser[loser >= 0])
        super().__init__(rated.n_users, rated.n_items, pairs, implied=True)
        self.rated, self.ratings, self.seed = rated, r, seed

    def columns(self) -> list[Any]:
        return super().columns() + self.rated.columns()

    def met(self) -> tuple[Any, Any]:
        return self.rated.met()

    def split_items(
        self, share: float, rng: np.random.Generator, seed: int, users: Mask | None
    ) -> tuple[Source, Source]:
        rest, held = self.rated.split_items(share, rng, seed, users)
        return LargestGaps(rest, seed), held

    def answers(self) -> int:
        return len(self.rated.ratings.user)

    def of_users(self, users: Mask) -> Source:
        return LargestGaps(self.rated.of_users(users), self.seed)

    def without_items(self, items: Mask) -> Source:
        return LargestGaps(self.rated.without_items(items), self.seed)

    def kept(self) -> tuple[Any, dict[str, Any]] | None:
        return self.rated.levels, {"kind": "largest gaps", "seed": int(self.seed)}

    def extended(self, later: Source, union: Union) -> Source:
        if type(later) is not LargestGaps:
            return super().extended(later, union)
        rated = self.rated.extended(later.rated, union)
        assert isinstance(rated, Rated)
        return LargestGaps(rated, self.seed)


def _pairs_at(r: Ratings, winner: Any, loser: Any) -> Pairs:
    gap = (r.rating[winner] - r.rating[loser]).astype(np.float32)
    return Pairs(r.user[winner], r.item[winner], r.item[loser], gap=gap)


def _drawn(n: int, most: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw distinct pairs of n rows, a few too many, because pairs on one level are dropped later."""
    a, b = rng.integers(0, n, (2, 8 * most))
    pair = np.unique(np.minimum(a, b) * n + np.maximum(a, b))
    pair = pair[pair // n != pair % n]
    return pair // n, pair % n
