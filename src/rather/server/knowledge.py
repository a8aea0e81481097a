"""A model restricted to the listed items: the posterior of a visitor, and the next question.

Without a model, and for items that the model has not met, every item has the same expected worth.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..models.belief import Belief, Items
from ..models.information import pick
from .listed import Listed

POOL, SHORT = 400, 64  # items that are asked about, those most people met; of these, those that tell most of a person
NEW = POOL // 4  # of the pool, for items that the model has not met
EXPLORE, AMONG = 0.1, 5  # share of questions drawn at random; of how many best pairs one is drawn
WORTH = 2.0  # the variance of what an item is worth, in log-odds, where nothing is known
LEAST = 1e-12  # of the squares of tastes
ROUNDS = 8  # of a search after one more answer


class Question(NamedTuple):
    """A pair of codes to ask about; ``chance`` is the probability of being asked it by this policy, ``probability``
    that of preferring the left one."""

    left: int
    right: int
    policy: str
    chance: float
    probability: float | None


class Said(NamedTuple):
    """One reply about two items, by their codes; -1 for one that is not listed any more."""

    left: int
    right: int
    reply: str


class Knowledge:
    """The knowledge from one model, or from none. It never changes; the server swaps it as a whole."""

    def __init__(self, listed: Listed, model: Any = None, version: str | None = None) -> None:
        self.listed, self.model, self.version = listed, model, version
        self.apart: dict[str, Knowledge] = {}  # of visitors in the fit: what fits without them know
        n = len(listed)
        if model is None:
            self.count, self.codes = np.zeros(n), np.full(n, -1)
            self._know(Items(np.zeros((n, 0)), np.zeros(n), np.full(n, WORTH), np.zeros((n, 0)), 0.0), 0.0)
        else:
            code = {str(name): k for k, name in enumerate(model.items_.tolist())}
            self.codes = np.array([code.get(name, -1) for name in listed.ids])
            self.count = np.where(self.codes >= 0, model._crowd().count[self.codes], 0.0)
            self._know(_of_listed(model._items_met(), self.codes), float(model.context_effects_.get("side", 0.0)))
        self.pool = _pool(self.count)

    def _know(self, items: Items, sway: float) -> None:
        self.items, self.sway = items, sway
        self.tells = bool(np.square(items.Z).sum() > LEAST)  # whether answers tell of other items
        self.nothing = Belief(items)  # what is known of somebody who has not said anything

    def by(self, items: Items | None, sway: float = 0.0) -> Knowledge:
        """Return the knowledge of another fit with items in the model's order; None stands for no fit."""
        if items is None:
            return Knowledge(self.listed)
        made = copy.copy(self)
        made._know(_of_listed(items, self.codes), sway)
        return made

    def of(self, visitor: str) -> Knowledge:
        """Return the knowledge without a visitor's own answers, so that these count once in the posterior."""
        return self.apart.get(visitor, self)

    # -- a person -----------------------------------------------------------------------------------------------

    def belief(self, said: Sequence[Said], earlier: Belief | None = None) -> Belief:
        """Return the posterior given answers; starting from ``earlier`` is faster and a little less exact."""
        rows = [one for one in said if one.reply in ("left", "right", "tie") and min(one.left, one.right) >= 0]
        if not rows:
            return self.nothing
        winner, loser, count, sway = [], [], [], []
        for left, right, reply in rows:
            for first, second, half in ((left, right, reply != "right"), (right, left, reply != "left")):
                if half:
                    winner.append(first)
                    loser.append(second)
                    count.append(0.5 if reply == "tie" else 1.0)
                    sway.append(self.sway if first == left else -self.sway)
        answers = np.array(winner), np.array(loser), np.array(count), np.array(sway)
        return (
            Belief(self.items, None, answers) if earlier is None else Belief(self.items, None, answers, earlier, ROUNDS)
        )

    def question(self, belief: Belief, said: Sequence[Said], rng: np.random.Generator) -> Question | None:
        """The next pair: of the best few any, or one of all at random; None where all is asked, or unknown to them.

        Answers are worth what they tell of a person's taste, as often as people know both items. (Questions aimed at
        the first three settled these later, not sooner.)
        """
        pool, done, n_open = self.askable(said)
        if n_open < 1:
            return None
        made = None
        if self.tells:
            short = self._short(belief, pool)
            made = pick(belief, short, done, rng, among=AMONG, known=1.0 + self.count[short])
        if made is not None and rng.random() >= EXPLORE:
            chance = (1 - EXPLORE) * made.chance
            return Question(made.left, made.right, "information", chance, made.probability)
        left, right = _drawn(pool, done, rng)
        p = None if self.model is None else float(belief.probability(np.array([left]), np.array([right]))[0])
        return Question(left, right, "random", (EXPLORE if made is not None else 1.0) / n_open, p)

    def askable(self, said: Sequence[Said]) -> tuple[Any, set[tuple[int, int]], int]:
        """Return the items that may be asked about, the pairs that are answered, and how many pairs are left."""
        unseen = {code for one in said for code in unknown(one)}
        done = {(min(a, b), max(a, b)) for a, b, reply in said if reply in ("left", "right", "tie")}
        pool = self.pool if not unseen else self.pool[~np.isin(self.pool, list(unseen))]
        inside = set(pool.tolist())
        return pool, done, len(pool) * (len(pool) - 1) // 2 - sum(a in inside and b in inside for a, b in done)

    def _short(self, belief: Belief, pool: Any) -> Any:
        """Return the items of the pool about which this person's taste is most uncertain."""
        if len(pool) <= SHORT:
            return pool
        varies = belief.known.variances(belief.rows(pool)) * (1.0 + self.count[pool])
        return np.sort(pool[np.argpartition(-varies, SHORT)[:SHORT]])


def unknown(one: Said) -> tuple[int, ...]:
    """The items that a reply says are not known."""
    which = {"unseen left": (one.left,), "unseen right": (one.right,), "unseen both": (one.left, one.right)}
    return which.get(one.reply, ())


def _of_listed(items: Items, codes: Any) -> Items:
    """Return the rows of listed items; items that the model has not met (-1) get the typical row."""
    new, at = codes < 0, np.maximum(codes, 0)
    parts = {name: getattr(items, name)[at] for name in ("Z", "offset", "noise", "V")}
    parts["Z"][new], parts["V"][new] = 0.0, 0.0
    parts["offset"][new] = items.offset.mean()
    parts["noise"][new] = items.noise.max() + items.offset.var() + np.square(items.Z).sum(axis=1).mean()
    return Items(**parts, sway=items.sway)


def _pool(count: Any) -> Any:
    """Codes, in order: of the items that most people met, and some of those that nobody did."""
    by_fame = np.argsort(-count, kind="stable")
    fresh = by_fame[count[by_fame] == 0]
    met = by_fame[: len(by_fame) - len(fresh)]
    some_new = fresh[: max(NEW, POOL - len(met))]
    return np.sort(np.concatenate((met[: POOL - min(len(some_new), POOL)], some_new))[:POOL]).astype(np.int32)


def _drawn(pool: Any, done: Iterable[tuple[int, int]], rng: np.random.Generator) -> tuple[int, int]:
    """Return a random pair that has not been answered."""
    for _ in range(200):
        left, right = (int(x) for x in rng.choice(pool, 2, replace=False))
        if (min(left, right), max(left, right)) not in done:
            return left, right
    a, b = np.triu_indices(len(pool), 1)  # nearly all are answered
    free = [(x, y) for x, y in zip(pool[a].tolist(), pool[b].tolist(), strict=True) if (x, y) not in done]
    left, right = free[int(rng.integers(len(free)))]
    return (left, right) if rng.random() < 0.5 else (right, left)
