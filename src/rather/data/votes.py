"""Votes: comparisons that are stored one by one, each an answer or a part of one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..native import core, threads
from .rows import SIDE, Mask, Pairs, random_places, some, whole_ties
from .source import NO_GAPS, Counts, Scores, Source, plural
from .union import Union


class Votes(Source):
    """Written pairs. They may have been implied by ratings once, and written down for a split or a sample."""

    written = True

    def __init__(
        self, n_users: int, n_items: int, pairs: Pairs, implied: bool = False, effects: tuple[str, ...] = ()
    ) -> None:
        super().__init__(n_users, n_items)
        self._pairs, self.implied, self.effects = pairs, implied, effects
        if not implied:
            self.reg_factor, self.bias_factor, self.chooses = 1.0, 1.0, True

    def _build(self) -> Any:
        p = self._pairs
        return core.store_from_pairs(
            self.n_users, self.n_items, p.user, p.winner, p.loser, p.weight, p.gap, threads(None)
        )

    def __len__(self) -> int:
        return len(self._pairs.user)

    def pairs(self) -> Pairs:
        return self._pairs

    def rows(self) -> tuple[Pairs, dict[str, Any]]:
        pairs = self._pairs
        if pairs.tied is not None:
            pairs = whole_ties(pairs)
        carried = {"weight": pairs.weight, "tie": pairs.tied}
        for name, values in zip(self.effects, () if pairs.around is None else pairs.around.T, strict=True):
            carried[name] = values > 0 if name == SIDE and (values != 0).all() else values
        return pairs, {name: column for name, column in carried.items() if column is not None}

    def counted(self) -> str:
        tied = self._pairs.tied  # a tie is one, though it is held as two halves
        if tied is None or not tied.any():
            return super().counted()
        ties = int(tied.sum()) // 2
        return f"{self.answers():,} votes ({ties:,} ties)"

    @property
    def unit(self) -> str:  # type: ignore[override]
        return "comparison" if self.implied else "vote"

    def in_words(self) -> str:
        """Return how many votes there are, and how many of them tied."""
        tied = 0 if self._pairs.tied is None else int(self._pairs.tied.sum()) // 2
        return super().in_words() + (f" ({plural(tied, 'tie')})" if tied else "")

    def answers(self) -> int:
        group = self._answer()
        if group is None or not len(group):
            return len(self)
        return 1 + int(np.count_nonzero(np.diff(np.sort(group))))  # not np.unique, which hashes and takes longer

    def some_pairs(self, most: int, rng: np.random.Generator) -> Pairs:
        return self._pairs

    def columns(self) -> list[Any]:
        return self._pairs.columns()

    def description(self) -> str:
        return super().description() + (f" effects={self.effects}" if self.effects else "")

    def ordered(self, scores: Scores, min_gap: float | None, n_threads: int) -> Counts:
        pairs = self._pairs if self._pairs.tied is None else self._pairs.take(~self._pairs.tied)
        if min_gap is not None:
            if pairs.gap is None:
                raise InputError(NO_GAPS, "min_gap")
            pairs = pairs.take(pairs.gap >= min_gap)
        weight = pairs.weights()
        right = weight * (scores(pairs.user, pairs.winner) > scores(pairs.user, pairs.loser))
        return tuple(np.bincount(pairs.user, w, self.n_users).astype(float) for w in (right, weight))  # type: ignore[return-value]

    def largest_gap(self) -> float | None:
        gaps = self._pairs.gap
        return None if gaps is None else float(gaps.max(initial=0))

    def split_pairs(self, share: float, rng: np.random.Generator, users: Mask | None) -> tuple[Source, Source]:
        held = held_pairs(self._pairs, self._groups, share, rng, users)
        return self.without(held), self._of(self._pairs.take(held))

    def of_users(self, users: Mask) -> Source:
        return self.without(~users[self._pairs.user])

    def without_items(self, items: Mask) -> Source:
        return self.without(items[self._pairs.winner] | items[self._pairs.loser])

    def without(self, held: Mask) -> Source:
        return self._of(self._pairs.take(~held))

    def _of(self, pairs: Pairs) -> Source:
        """Other votes of the same kind."""
        return Votes(self.n_users, self.n_items, pairs, self.implied, self.effects)

    def without_ties(self) -> Votes:
        """The same with ties as no more than their halves: an answer of half the weight each way."""
        return Votes(self.n_users, self.n_items, replace(self._pairs, tied=None), self.implied, self.effects)

    def sample(self, per_user: int, rng: np.random.Generator) -> Source:
        return self._of(sampled_pairs(self._pairs, self._groups(self._every()), per_user, self.n_users, rng))

    def kept(self) -> tuple[Any, dict[str, Any]] | None:
        about = {"kind": "votes", "implied": self.implied, "effects": list(self.effects)}
        return (self._pairs, about) if type(self) is Votes else None

    def extended(self, later: Source, union: Union) -> Source:
        if type(later) is not Votes or type(self) is not Votes or later.implied != self.implied:
            return super().extended(later, union)
        names = self.effects + tuple(name for name in later.effects if name not in self.effects)
        pairs = union.voted(*(votes.with_effects(names)._pairs for votes in (self, later)))
        return Votes(*union.size, pairs, self.implied, names)

    def with_effects(self, names: tuple[str, ...]) -> Votes:
        """The same with these effects in this order: 0 for those it has not, and without others."""
        if names == self.effects:
            return self
        around = np.zeros((len(self), len(names)), np.float32)
        for at, name in enumerate(names):
            if self._pairs.around is not None and name in self.effects:
                around[:, at] = self._pairs.around[:, self.effects.index(name)]
        pairs = replace(self._pairs, around=around if names else None)
        return Votes(self.n_users, self.n_items, pairs, self.implied, names)

    def _every(self) -> Mask:
        return np.ones(len(self), bool)

    def _answer(self) -> npt.NDArray[np.int64] | None:
        """Return the numbers that mark pairs from one answer."""
        return self._pairs.group

    def _groups(self, rows: Mask) -> npt.NDArray[np.int64]:
        """Numbers 0, 1, ... for the chosen rows, the same for those that must stay together in a split."""
        group = self._answer()
        if group is None:
            return np.arange(int(rows.sum()))
        return np.unique(group[rows], return_inverse=True)[1].reshape(-1)


def held_pairs(pairs: Pairs, groups: Any, share: float, rng: np.random.Generator, users: Mask | None) -> Mask:
    """Return the pairs to hold out; ``groups`` numbers the answers of a mask of them."""
    held = np.ones(len(pairs.user), bool) if users is None else users[pairs.user]
    group = groups(held)
    held[held] = some(int(group.max()) + 1 if len(group) else 0, share, rng)[group]
    if held.all() or not held.any():
        raise InputError(f"holding out {share} of {len(held)} comparisons leaves one part empty")
    return held


def sampled_pairs(pairs: Pairs, answer: Any, per_user: int, n_users: int, rng: np.random.Generator) -> Pairs:
    """The pairs of ``per_user`` answers of every user, of which ``answer`` has the numbers."""
    asked = np.empty(int(answer.max()) + 1 if len(answer) else 0, pairs.user.dtype)
    asked[answer] = pairs.user  # an answer is one user's
    place, _ = random_places(asked, n_users, rng)
    return pairs.take(place[answer] < per_user)
