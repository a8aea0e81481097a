"""Turns of visitors: put a question, take an answer, undo an answer.

A visitor's state in memory changes only after the ledger holds the answer, and the turns of one visitor follow one
another.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np

from . import panels
from .knowledge import Knowledge, Question, Said
from .ledger import Ledger, hashed, secret
from .listed import Listed
from .marks import FAST
from .refusal import Refusal
from .visitors import Asked, Visitor, Visitors, remembered
from .writer import NotWritten, Rows, Writer

DRAWING, MOST_DRAWING = 2, 40  # panels drawn at a time; that may wait
MOST_QUESTIONS = 20_000  # that one visitor is ever asked
LONG = 80  # answers after which the next question is worked out beside the other visitors' turns
LATER = 5  # seconds after which to try again
NONE_LEFT = "You have answered everything there is to ask. Thank you."
NOT_YOURS = "There is no such question of yours."
NOT_PUT = "The next question could not be saved just now, so it is not put yet."
NOT_SAVED = "Your answer could not be saved just now, and does not count yet."
NOT_UNDONE = "Your answer could not be taken back just now, and still counts."
NOT_SHARED = "The link could not be saved just now, so there is none yet."
Reply = TypeVar("Reply")


class Desk:
    """``knowledge`` is swapped whole whenever there is a newer model."""

    def __init__(self, ledger: Ledger, writer: Writer, listed: Listed, knowledge: Knowledge, key: bytes) -> None:
        self.ledger, self.writer, self.listed, self.knowledge, self._key = ledger, writer, listed, knowledge, key
        self.code, self.visitors = listed.code, Visitors(ledger)
        self.people, self.answers = ledger.counts(FAST)
        self._drawing, self._waiting = asyncio.Semaphore(DRAWING), 0
        self._everyone: tuple[Knowledge, asyncio.Task[dict[str, Any]]] | None = None

    def swap(self, knowledge: Knowledge) -> None:
        """Use this model from now on."""
        self.knowledge = knowledge
        self.visitors.forget_beliefs()

    # -- turns --------------------------------------------------------------------------------------------------

    async def question(self, told: str | None, address: str) -> tuple[dict[str, Any], str | None]:
        """Return the question to ask now, and the secret of a new visitor."""
        visitor = await self.visitors.of(told)
        if visitor is None:
            told = secret() + secret()
            visitor = Visitor(hashed(told))
            came = {"visitor": visitor.key, "origin": self._origin(address), "came": time.time()}
            news = await self._turn(visitor, partial(self._first, visitor, came))
            self.visitors.add(visitor)
            return news, told
        return await self._turn(visitor, partial(self._asked_now, visitor)), None

    async def answer(self, told: str | None, token: str, reply: str, seconds: float | None) -> dict[str, Any]:
        visitor = await self._known(told)
        return await self._turn(visitor, partial(self._answered, visitor, token, reply, seconds))

    async def undo(self, told: str | None, token: str) -> dict[str, Any]:
        visitor = await self._known(told)
        return await self._turn(visitor, partial(self._undone, visitor, token))

    async def share(self, told: str | None) -> str:
        """A link to the visitor's ranking; the same one as long as the server remembers it."""
        visitor = await self._known(told)
        return await self._turn(visitor, partial(self._shared, visitor))

    async def _turn(self, visitor: Visitor, act: Callable[[], Awaitable[Reply]]) -> Reply:
        """One visitor's turns follow one another; one that has begun is finished, even if nobody waits for it."""

        async def whole() -> Reply:
            async with visitor.lock:
                if visitor.in_doubt:
                    await self._remember(visitor)
                try:
                    return await act()
                except Refusal as e:  # a commit that failed may be there all the same, as when a connection is lost
                    visitor.in_doubt = e.status == 503
                    raise

        return await asyncio.shield(asyncio.ensure_future(whole()))

    async def _remember(self, visitor: Visitor) -> None:
        """Read a visitor from the ledger again."""
        rows = await asyncio.to_thread(self.ledger.history, visitor.key)
        found = remembered(visitor.key, rows or [])
        with self._counted(visitor):
            visitor.asked, visitor.order, visitor.in_doubt = found.asked, found.order, False

    async def _first(self, visitor: Visitor, came: dict[str, Any]) -> dict[str, Any]:
        asked, row = await self._next(visitor, [])
        await self._write({"visitors": [came], "questions": row}, NOT_PUT)
        return self._put(visitor, asked)

    async def _asked_now(self, visitor: Visitor) -> dict[str, Any]:
        """The question that is open, or the next."""
        now = visitor.open
        if now is not None and now.left in self.code and now.right in self.code:
            return self._news(visitor)
        asked, row = await self._next(visitor, visitor.said(self.code))
        await self._write({"questions": row}, NOT_PUT)
        return self._put(visitor, asked)

    async def _answered(self, visitor: Visitor, token: str, reply: str, seconds: float | None) -> dict[str, Any]:
        asked = visitor.asked.get(token)
        if asked is None:
            raise Refusal(404, NOT_YOURS)
        if asked.undone:
            raise Refusal(409, "You took that answer back; the pair may be asked again, by another question.")
        if asked.reply is not None:
            if asked.reply != reply:
                raise Refusal(
                    409, "You have answered that already, and what you said first stands; undo it to change it."
                )
            return {**await self._asked_now(visitor), "repeated": True}
        last = Said(self.code.get(asked.left, -1), self.code.get(asked.right, -1), reply)
        following, row = await self._next(visitor, [*visitor.said(self.code), last])
        now = time.time()
        given = {"token": token, "reply": reply, "seconds": seconds, "answered": now}
        await self._write({"answers": [given], "questions": row}, NOT_SAVED)
        with self._counted(visitor):
            asked.reply, asked.answered = reply, now
            visitor.order.append(token)
        return self._put(visitor, following)

    async def _undone(self, visitor: Visitor, token: str) -> dict[str, Any]:
        """Taken back, and asked again."""
        asked = visitor.asked.get(token)
        if asked is None or asked.reply is None:
            raise Refusal(404, "There is no such answer of yours.")
        if asked.undone:
            return {**await self._asked_now(visitor), "repeated": True}
        now = time.time()
        again = Asked(secret(), asked.left, asked.right, now)
        may_ask = len(visitor.asked) < MOST_QUESTIONS
        rows = [self._row(visitor, again, "again", 1.0, None)] if may_ask else []
        await self._write({"undos": [{"token": token, "undone": now}], "questions": rows}, NOT_UNDONE)
        with self._counted(visitor):
            asked.undone = True
        if not may_ask:
            return self._put(visitor, None)
        if again.left not in self.code or again.right not in self.code:
            visitor.asked[again.token] = again
            return await self._asked_now(visitor)
        return self._put(visitor, again)

    async def _shared(self, visitor: Visitor) -> str:
        if visitor.share is None:
            told = secret()
            row = {"share": hashed(told), "visitor": visitor.key, "shared": time.time()}
            await self._write({"shares": [row]}, NOT_SHARED)
            visitor.share = told
        return visitor.share

    # -- what a turn is made of ---------------------------------------------------------------------------------

    async def _known(self, told: str | None) -> Visitor:
        visitor = await self.visitors.of(told)
        if visitor is None:
            raise Refusal(404, "Nobody has asked you anything yet; ask for a question first.")
        return visitor

    async def _next(self, visitor: Visitor, said: list[Said]) -> tuple[Asked | None, list[dict[str, Any]]]:
        """The question after these answers, and its row."""
        if len(visitor.asked) >= MOST_QUESTIONS:
            return None, []
        long = len(said) > LONG and self.knowledge.of(visitor.key).model is not None
        made = await asyncio.to_thread(self._chosen, visitor, said) if long else self._chosen(visitor, said)
        if made is None:
            return None, []
        question, version = made
        left, right = (self.listed.ids[code] for code in (question.left, question.right))
        asked = Asked(secret(), left, right, time.time(), question.probability)
        return asked, [self._row(visitor, asked, question.policy, question.chance, version)]

    def _chosen(self, visitor: Visitor, said: list[Said]) -> tuple[Question, str | None] | None:
        """Return the next question and the version of the model that chose it."""
        knowledge = self.knowledge.of(visitor.key)
        belief = knowledge.nothing
        if knowledge.model is not None:
            belief = visitor.belief(knowledge, said)
            visitor.keep(knowledge, said, belief)
        made = knowledge.question(belief, said, np.random.default_rng(secrets.randbits(64)))
        return None if made is None else (made, knowledge.version)

    @contextmanager
    def _counted(self, visitor: Visitor) -> Iterator[None]:
        """Update the counts of all answers by a change in one visitor's answers."""
        before = sum(asked.counts for asked in visitor.standing)
        yield
        after = sum(asked.counts for asked in visitor.standing)
        self.people += (after > 0) - (before > 0)
        self.answers += after - before

    def _row(self, visitor: Visitor, asked: Asked, policy: str, chance: float, version: str | None) -> dict[str, Any]:
        return {
            "token": asked.token, "visitor": visitor.key, "left_item": asked.left, "right_item": asked.right,
            "policy": policy, "chance": chance, "probability": asked.probability, "model": version,
            "asked": asked.asked,
        }  # fmt: skip

    async def _write(self, rows: Rows, failed: str) -> None:
        """Rows in the ledger, or a refusal that says what failed."""
        if not any(rows.values()):
            return
        try:
            await self.writer.submit(rows)
        except NotWritten as e:
            raise Refusal(503, failed, LATER) from e

    def _put(self, visitor: Visitor, asked: Asked | None) -> dict[str, Any]:
        if asked is not None:
            visitor.asked[asked.token] = asked
        return self._news(visitor, asked is None)

    def _news(self, visitor: Visitor, none_left: bool = False) -> dict[str, Any]:
        now, answered = visitor.open, len(visitor.standing)
        if now is None or none_left:
            return {"question": None, "answered": answered, "reason": NONE_LEFT, "repeated": False}
        question = {
            "token": now.token, "left": self._document(now.left), "right": self._document(now.right),
            "probability": now.probability,
        }  # fmt: skip
        return {"question": question, "answered": answered, "reason": None, "repeated": False}

    def _document(self, name: str) -> dict[str, str]:
        code = self.code.get(name)
        return {"id": name, "title": name} if code is None else self.listed.documents[code]

    def _origin(self, address: str) -> str:
        return hmac.new(self._key, address.encode(), "blake2b").hexdigest()[:32]

    # -- what is told around ------------------------------------------------------------------------------------

    async def panel(self, told: str | None, draw: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
        """Return a panel for a visitor; unknown visitors get the typical one."""
        visitor = await self.visitors.of(told)
        return await self._drawn(visitor, draw, *arguments)

    async def shared(self, token: str, limit: int) -> dict[str, Any]:
        key = await asyncio.to_thread(self.ledger.shared_by, hashed(token))
        visitor = None if key is None else await self.visitors.keyed(key)
        if visitor is None:
            raise Refusal(404, "There is no such ranking.")
        return await self._drawn(visitor, panels.ranking, limit)

    async def _drawn(self, visitor: Visitor | None, draw: Callable[..., dict[str, Any]], *rest: Any) -> dict[str, Any]:
        knowledge = self.knowledge if visitor is None else self.knowledge.of(visitor.key)
        said = [] if visitor is None else visitor.said(self.code)
        return {**await self._computed(_of_one, draw, knowledge, said, *rest), "answered": len(said)}

    async def whatif(self, told: str | None) -> dict[str, Any]:
        visitor = await self._known(told)
        now = visitor.open
        if now is None or now.left not in self.code or now.right not in self.code:
            raise Refusal(404, "There is no question open.")
        knowledge, said = self.knowledge.of(visitor.key), visitor.said(self.code)
        pair = self.code[now.left], self.code[now.right]
        return {"token": now.token, **await self._computed(_of_one, panels.whatif, knowledge, said, *pair)}

    async def given(self, told: str | None, limit: int) -> dict[str, Any]:
        """A visitor's own answers, the last ones first, with how likely each was by the others."""
        visitor = await self.visitors.of(told)
        if visitor is None:
            return {"answers": []}
        knowledge, said, standing = self.knowledge.of(visitor.key), visitor.said(self.code), visitor.standing
        chances = (await self._computed(_of_one, panels.chances, knowledge, said))["chances"]
        rows = [
            {
                "token": a.token, "reply": a.reply, "left": self._document(a.left), "right": self._document(a.right),
                "probability": p,
            }
            for a, p in zip(standing, chances, strict=True)
        ]  # fmt: skip
        return {"answers": rows[::-1][:limit]}

    async def everyone(self, limit: int) -> dict[str, Any]:
        """Everybody's ranking, computed once for a model."""
        knowledge = self.knowledge
        made = self._everyone
        if made is None or made[0] is not knowledge or (made[1].done() and made[1].exception() is not None):
            made = self._everyone = knowledge, asyncio.create_task(asyncio.to_thread(panels.everyone, knowledge))
        whole = await asyncio.shield(made[1])
        return {**whole, "rows": whole["rows"][:limit], "answered": 0}

    async def crowd(self, limit: int) -> dict[str, Any]:
        return await self._computed(panels.crowd, self.knowledge, limit)

    async def _computed(self, draw: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
        if self._waiting >= MOST_DRAWING:
            raise Refusal(503, "Many people are here just now; ask again in a moment.", LATER)
        self._waiting += 1
        try:
            async with self._drawing:
                return await asyncio.to_thread(draw, *arguments)
        finally:
            self._waiting -= 1


def _of_one(draw: Callable[..., dict[str, Any]], knowledge: Knowledge, said: list[Said], *rest: Any) -> dict[str, Any]:
    """Return a panel for the person who gave these answers."""
    return draw(knowledge, knowledge.belief(said), said, *rest)
