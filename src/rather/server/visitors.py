"""Visitors in memory: their questions and answers, as the ledger has them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from ..models.belief import Belief
from .knowledge import Knowledge, Said
from .ledger import DECIDED, Ledger, hashed
from .marks import FAST

MOST = 4096  # in memory


@dataclass
class Asked:
    """A question that was put, and what became of it."""

    token: str
    left: str
    right: str
    asked: float  # when, as is ``answered``
    probability: float | None = None
    reply: str | None = None
    answered: float = 0.0
    undone: bool = False

    @property
    def counts(self) -> bool:
        """Whether it stands, says what they prefer, and was not answered as fast as only a script does."""
        return self.reply in DECIDED and not self.undone and self.answered - self.asked >= FAST


@dataclass
class Visitor:
    """``key`` is the hash of what their browser keeps; ``order`` are the tokens of answers as they were given."""

    key: str
    asked: dict[str, Asked] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    share: str | None = None
    in_doubt: bool = False  # whether the ledger may have more than this
    _known: tuple[Knowledge, list[Said], Belief] | None = None

    @property
    def standing(self) -> list[Asked]:
        """The answers that are not undone, in order."""
        return [self.asked[token] for token in self.order if not self.asked[token].undone]

    @property
    def open(self) -> Asked | None:
        """The question that was put last, if it has not been answered."""
        last = next(reversed(self.asked.values()), None)
        return last if last is not None and last.reply is None else None

    def said(self, code: dict[str, int]) -> list[Said]:
        return [Said(code.get(a.left, -1), code.get(a.right, -1), a.reply or "") for a in self.standing]

    def belief(self, knowledge: Knowledge, said: list[Said]) -> Belief:
        """Return the posterior given these answers, starting from that of the first of them."""
        if self._known is not None and self._known[0] is knowledge:
            _, before, belief = self._known
            if before == said:
                return belief
            earlier = belief if before == said[: len(before)] else None
        else:
            earlier = None
        return knowledge.belief(said, earlier)

    def keep(self, knowledge: Knowledge, said: list[Said], belief: Belief) -> None:
        self._known = knowledge, said, belief


class Visitors:
    """Visitors: the latest are in memory, others are read from the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._here: OrderedDict[str, Visitor] = OrderedDict()
        self._coming: dict[str, asyncio.Task[Visitor | None]] = {}

    def __len__(self) -> int:
        return len(self._here)

    async def of(self, told: str | None) -> Visitor | None:
        """Return the visitor whose browser keeps this secret; None if there is none."""
        return None if told is None else await self.keyed(hashed(told))

    async def keyed(self, key: str) -> Visitor | None:
        found = self._here.get(key)
        if found is not None:
            self._here.move_to_end(key)
            return found
        if key not in self._coming:  # two requests at once must get the same visitor
            self._coming[key] = asyncio.create_task(self._read(key))
        return await asyncio.shield(self._coming[key])

    def add(self, visitor: Visitor) -> None:
        self._here[visitor.key] = visitor
        while len(self._here) > MOST:
            key, oldest = self._here.popitem(last=False)
            if oldest.lock.locked():  # who is being written of stays
                self._here[key] = oldest
                break

    def forget_beliefs(self) -> None:
        """There is a newer model: the memory of what was known by the old one would keep it."""
        for visitor in self._here.values():
            visitor._known = None

    async def _read(self, key: str) -> Visitor | None:
        try:
            rows = await asyncio.to_thread(self.ledger.history, key)
            if rows is None:
                return None
            visitor = remembered(key, rows)
            self.add(visitor)
            return visitor
        finally:
            del self._coming[key]


def remembered(key: str, rows: list[Any]) -> Visitor:
    """A visitor as the ledger's rows have them."""
    asked = {
        token: Asked(token, left, right, asked, probability, reply, answered or 0.0, undone is not None)
        for token, left, right, asked, probability, reply, answered, undone in rows
    }
    given = sorted((row.answered, row.token) for row in rows if row.reply is not None)
    return Visitor(key, asked, [token for _, token in given])
