"""A server as a test runs it: put together in this process, or as a process of its own; on every database there is."""

import asyncio
import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

pytest.importorskip("fastapi", reason="what serving needs is not installed: pip install 'rather[serve]'")
pytest.importorskip("httpx")

import httpx
import sqlalchemy

from rather.server import desk
from rather.server.ledger import Ledger, answers, questions, undos
from rather.server.listed import only_ids
from rather.server.serving import Served, Settings

POSTGRES = os.environ.get("RATHER_POSTGRES")  # of a server on which databases may be made
KINDS = ["sqlite", *(["postgresql"] if POSTGRES else [])]
ITEMS = "apple", "banana", "cherry", "date", "elder", "fig", "grape", "honeydew"
HANGS = 600  # seconds: the limit of tests that hang, and of nothing else
_number = itertools.count()


@contextlib.contextmanager
def fresh_database(kind, folder):
    """The URL of an empty database."""
    if kind == "sqlite":
        yield str(folder / "votes.sqlite")
        return
    name = f"rather_{os.getpid()}_{next(_number)}"
    url = sqlalchemy.make_url(POSTGRES).set(drivername="postgresql+psycopg")
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)
    with engine.connect() as c:
        c.exec_driver_sql(f"CREATE DATABASE {name}")
    try:
        yield url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as c:
            c.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
        engine.dispose()


class Here:
    """A server in this process, and a browser that keeps one visitor's cookie; by its clock, everybody takes their time
    unless they are hasty."""

    clock = itertools.count(time.time(), 2.0)

    def __init__(self, folder, database=None, hasty=False, **settings):
        settings = {"listed": only_ids(ITEMS), "per_visitor": 1e6, "per_address": 1e6, **settings}
        self.served = Served(Settings(folder, "Fruit", votes=database, **settings))
        self.loop = asyncio.new_event_loop()
        self.desk, self.ledger, self.writer = self.served.desk, self.served.ledger, self.served.writer
        self._lifespan = self.served._lifespan(None)
        around = self.served.app.app.state.here
        for rates in (self.served.app.rates, around.turns, around.arrivals):
            rates._clock = lambda: 0.0  # however long the requests of a test take, they come at once
        self.browser = self.another_browser()
        now = time.time if hasty else lambda: next(Here.clock)
        self._clock = mock.patch.object(desk, "time", SimpleNamespace(time=now))

    @property
    def cookie(self):
        """The name of this poll's cookie."""
        return self.served.cookie

    def __enter__(self):
        self._clock.start()
        self.wait(self._lifespan.__aenter__())
        return self

    def __exit__(self, *_):
        self.wait(self._lifespan.__aexit__(None, None, None))
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self._clock.stop()

    def wait(self, coroutine):
        return self.loop.run_until_complete(asyncio.wait_for(coroutine, HANGS))

    def until(self, holds):
        """Go on until something holds, as it must; the limit is for tests that hang."""

        async def look():
            while not holds():
                await asyncio.sleep(0.01)

        self.wait(look())

    def another_browser(self, address="127.0.0.1", base="http://localhost"):
        transport = httpx.ASGITransport(self.served.app, client=(address, 1))
        return httpx.AsyncClient(transport=transport, base_url=base)

    def request(self, method, path, browser=None, **rest):
        return self.wait((browser or self.browser).request(method, path, **rest))

    def get(self, path, **rest):
        return self.request("GET", path, **rest)

    def post(self, path, body=None, **rest):
        return self.request("POST", path, json={} if body is None else body, **rest)

    def question(self, **rest):
        """The question that is put now."""
        return self.post("/api/question", **rest).json()["question"]

    def answer(self, token, reply="left", **rest):
        return self.post("/api/answer", {"token": token, "reply": reply}, **rest)

    def as_admin(self, path, **rest):
        return self.get(path, headers={"authorization": f"Bearer {self.served.admin}"}, **rest)

    def rows(self, table):
        with self.ledger.engine.connect() as c:
            return [row._asdict() for row in c.execute(sqlalchemy.select(table))]


class Process:
    """A server of its own, by the command line."""

    def __init__(self, items, *options):
        self.command = [
            sys.executable, "-c", "import sys, rather_command; sys.exit(rather_command.main())", "serve", str(items),
            "--port", "0", "--visitor-rate", "1e6", "--address-rate", "1e6", "--json", *map(str, options),
        ]  # fmt: skip
        self.process, self.url = None, None

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        said = self.process.stdout.readline()
        assert said, f"it did not start: {self.process.wait()}"
        self.url = json.loads(said)["url"].rstrip("/")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def items_file(folder, ids=ITEMS):
    path = Path(folder) / "fruit.csv"
    path.write_text("item\n" + "".join(f"{name}\n" for name in ids))
    return path


@contextlib.contextmanager
def opened(database):
    ledger = Ledger(database, must_exist=True)
    try:
        yield ledger
    finally:
        ledger.close()


__all__ = [
    "HANGS",
    "ITEMS",
    "KINDS",
    "POSTGRES",
    "Here",
    "Process",
    "answers",
    "fresh_database",
    "items_file",
    "opened",
    "questions",
    "undos",
]
