"""Nothing is lost: the server is killed again and again while people answer, and every answer that it acknowledged is
in the ledger exactly once.

A few seconds of it here; RATHER_ANSWERS, RATHER_CLIENTS and RATHER_KILLS are for more (scripts/durable).
"""

import asyncio
import contextlib
import os
import random
import subprocess
from collections import Counter
from http.cookiejar import CookieJar, DefaultCookiePolicy

import pytest

pytest.importorskip("fastapi", reason="what serving needs is not installed: pip install 'rather[serve]'")

import httpx
from sqlalchemy import select

from rather.server.ledger import DECIDED, answers, hashed, questions, undos
from rather.server.visitors import remembered
from serving_here import HANGS, KINDS, Process, fresh_database, items_file, opened

ANSWERS = int(os.environ.get("RATHER_ANSWERS", "200"))
CLIENTS = int(os.environ.get("RATHER_CLIENTS", "10"))
KILLS = int(os.environ.get("RATHER_KILLS", "1"))
EACH = 20  # answers of a person, of whom each client is several, one after the other
UNDONE = 0.05  # share of answers that are taken back


class Person:
    """Somebody who answers, and sends again what was not acknowledged, as the page does."""

    def __init__(self, server, seed):
        self.server, self.rng = server, random.Random(seed)
        self.secret, self.acknowledged, self.undone, self.last = None, {}, set(), None
        self.sent_again = 0

    async def send(self, http, path, body):
        """A reply, however long it takes: to the same request, again and again."""
        tries = 0
        while True:
            try:
                cookies = {"cookie": "=".join(self.secret)} if self.secret else {}
                reply = await http.post(f"{self.server.url}{path}", json=body, headers=cookies)
            except httpx.HTTPError:
                reply = None
            if reply is not None and reply.status_code == 200:
                self.sent_again += tries > 0
                self.secret = next(iter(reply.cookies.items()), self.secret)
                return reply.json()
            assert reply is None or reply.status_code == 503, (reply.status_code, reply.text)
            tries += 1
            await asyncio.sleep(self.rng.uniform(0.05, 0.2))

    async def answer(self, http, n):
        """So many questions, each acknowledged, some taken back."""
        news = await self.send(http, "/api/question", {})
        while len(self.acknowledged) < n:
            token, reply = news["question"]["token"], self.rng.choice(DECIDED)
            news = await self.send(http, "/api/answer", {"token": token, "reply": reply, "seconds": 1.0})
            self.acknowledged[token] = reply
            if self.rng.random() < UNDONE:
                news = await self.send(http, "/api/undo", {"token": token})
                self.undone.add(token)
            assert news["answered"] == len(self.acknowledged) - len(self.undone)
        self.last = news["question"]["token"]


async def one_after_the_other(people, http):
    for person in people:
        await person.answer(http, EACH)


async def disturbed(server, people, n_clients, kills, rng):
    """Everybody answers while the server is killed so many times, spread over the answers: how many there were then."""

    def done():
        return sum(len(person.acknowledged) for person in people)

    total, hits = EACH * len(people), []
    nobodys = CookieJar(DefaultCookiePolicy(allowed_domains=[]))  # everybody keeps their own
    limits = httpx.Limits(max_connections=n_clients)
    async with httpx.AsyncClient(timeout=HANGS, limits=limits, cookies=nobodys) as http:
        going = [asyncio.ensure_future(one_after_the_other(people[k::n_clients], http)) for k in range(n_clients)]
        for moment in sorted(rng.uniform(0.02, 0.9) * total for _ in range(kills)):
            while done() < moment and not any(task.done() and task.exception() for task in going):
                await asyncio.sleep(0.005)
            await asyncio.to_thread(server.kill)
            hits.append(done())
            await asyncio.to_thread(server.start)
        await asyncio.wait_for(asyncio.gather(*going), HANGS)
    return hits


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_acknowledged_is_lost(tmp_path, kind):
    """Every acknowledged answer is there exactly once, as it was given; and everybody's questions are a whole chain."""
    rng = random.Random(7)
    # as many items as are never all asked about
    path = items_file(tmp_path, [f"item {n}" for n in range(200)])
    with fresh_database(kind, tmp_path) as database:
        server = Process(path, "--votes", database, "--state", tmp_path / "state", "--refit", 60)
        people = [Person(server, seed) for seed in range(ANSWERS // EACH)]
        server.start()
        try:
            hits = asyncio.run(asyncio.wait_for(disturbed(server, people, CLIENTS, KILLS, rng), 2 * HANGS))
        finally:
            with contextlib.suppress(subprocess.SubprocessError, OSError):
                server.kill()
        assert len(hits) == KILLS and all(0 < n < ANSWERS for n in hits)
        assert KILLS == 0 or sum(person.sent_again for person in people) >= KILLS
        with opened(database) as ledger:
            check(ledger, people)


def check(ledger, people):
    with ledger.engine.connect() as c:
        given = [(row.token, row.reply) for row in c.execute(select(answers.c.token, answers.c.reply))]
        asked = {row.token: row.visitor for row in c.execute(select(questions.c.token, questions.c.visitor))}
        taken_back = {row.token for row in c.execute(select(undos.c.token))}
    acknowledged = {token: reply for person in people for token, reply in person.acknowledged.items()}
    there = Counter(token for token, _ in given)
    assert set(acknowledged) <= set(there), f"{len(set(acknowledged) - set(there))} are lost"
    assert set(there.values()) == {1}, "some are there twice"
    assert dict(given) == acknowledged  # and nothing that was not: everybody sent until they heard of it
    assert taken_back == set().union(*(person.undone for person in people))
    for person in people:
        key = hashed(person.secret[1])
        assert all(asked[token] == key for token in person.acknowledged)
        visitor = remembered(key, ledger.history(key))
        assert visitor.order == list(person.acknowledged)
        unanswered = [a.token for a in visitor.asked.values() if a.reply is None]
        # Every turn left one question: those before an undo are left for the one that is asked again.
        assert visitor.open.token == person.last and len(unanswered) == 1 + len(person.undone)
        assert len(visitor.asked) == 1 + len(person.acknowledged) + len(person.undone)
    assert ledger.counts(0.0) == (len(people), len(acknowledged) - len(taken_back))
