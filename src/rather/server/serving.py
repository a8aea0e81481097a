"""The server as a whole: the folder of its state, the ledger, the model, and one process on one port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from ..errors import InputError
from .app import Here, cookie_name, make_app
from .desk import Desk
from .gate import Gate, Rates
from .knowledge import Knowledge
from .ledger import Ledger
from .listed import Listed
from .locks import is_locked, own_file, wait_for
from .metrics import Metrics
from .refits import PEOPLE, Refits, needed, newest
from .wire import Bounded
from .writer import Writer

NEW_VISITORS = 0.1  # of an address' requests that may be of somebody new
LOCAL = ("localhost", "127.0.0.1", "[::1]")
log = logging.getLogger("rather.serve")


@dataclass
class Settings:
    """The settings of a server; see ``rather serve --help``."""

    state: Path
    title: str
    listed: Listed
    base: Knowledge | None = None  # of a model that was given
    base_path: str | None = None  # where that is, if it is to be fitted again
    votes: str | None = None
    refit_every: float | None = None  # seconds; None: never
    host: str = "127.0.0.1"
    port: int = 8000
    allow_hosts: tuple[str, ...] = ()
    per_visitor: float = 5.0
    per_address: float = 50.0
    proxies: tuple[str, ...] = ()
    https: bool = False
    said: Callable[[dict[str, Any]], None] = field(default=lambda _: None)


def kept_secret(path: Path, n_bytes: int = 24) -> str:
    """A secret of this server, made the first time and readable by its owner alone."""
    with contextlib.suppress(FileExistsError):
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "w", encoding="ascii") as f:
            f.write(secrets.token_urlsafe(n_bytes) + "\n")
            f.flush()
            os.fsync(f.fileno())
    found = path.read_text(encoding="ascii", errors="replace").strip()
    if len(found) < 16:
        raise InputError(f"{str(path)!r} holds no secret of at least 16 characters; remove it, and a new one is made")
    return found


def make_folder(path: Path) -> None:
    """One that nobody else looks into: what people said is in it, or beside it."""
    try:
        for folder in (*reversed(path.parents), path):
            if not folder.exists():
                folder.mkdir(mode=0o700)
    except OSError as e:
        raise InputError(f"cannot make the folder {str(path)!r}: {e.strerror}; name another with --state") from e


def _in_url(host: str) -> str:
    """A host as browsers name it."""
    return f"[{host}]" if ":" in host else host


class Served:
    """The running parts of one process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = s = settings
        # What was fitted again from a model is no successor of another one that takes its place.
        models = s.state / ("models" if s.base is None else f"models-{s.base.version}")
        make_folder(models)
        self._state = own_file(s.state / ".serving")
        try:
            self._open(models)
        except BaseException:
            self._state.close()
            raise

    def _open(self, models: Path) -> None:
        s = self.settings
        taken = f"another process serves from the folder {str(s.state)!r}; end it, or name another with --state"
        wait_for(lambda: is_locked(self._state), taken)
        self.admin, key = kept_secret(s.state / "admin-token"), kept_secret(s.state / "address-key")
        self.cookie = cookie_name(kept_secret(s.state / "poll-id", 12), s.https)
        self.ledger = Ledger(s.votes or str(s.state / "votes.sqlite"))
        try:
            self.ledger.take()
            self.ledger.check_lasting()
        except BaseException:
            self.ledger.close()
            raise
        self.metrics = Metrics()
        refits = s.refit_every is not None
        fitted, answers = newest(models, s.listed) if refits else (None, 0)
        knowledge = fitted or s.base or Knowledge(s.listed)
        self.writer = Writer(self.ledger, self.metrics.commits.observe)
        self.desk = Desk(self.ledger, self.writer, s.listed, knowledge, key.encode())
        every = s.refit_every or 0.0
        self.refits = Refits(self.ledger, models, s.listed, s.base_path, every, self._swap, answers) if refits else None
        self._gauges()
        rates = Rates(s.per_visitor), Rates(NEW_VISITORS * s.per_address)
        app = make_app(
            Here(self.desk, self.metrics, s.title, self.admin, self.cookie, s.https, self._collecting, *rates)
        )
        app.router.lifespan_context = self._lifespan
        hosts = frozenset(name.lower() for name in (*LOCAL, _in_url(s.host), *s.allow_hosts))
        self.app = Gate(app, hosts, s.per_address, s.https, self.metrics.count)

    def _swap(self, knowledge: Knowledge) -> None:
        self.desk.swap(knowledge)
        log.info("model %s is in place", knowledge.version)

    def _collecting(self) -> dict[str, int] | None:
        """Return the progress towards a first model in answers and people; None if no model is to come."""
        if self.refits is None or self.desk.knowledge.model is not None:
            return None
        people, answers = self.refits.left_out
        return {
            "answers": max(self.desk.answers - answers, 0), "needed": needed(len(self.desk.listed)),
            "people": max(self.desk.people - people, 0), "people_needed": PEOPLE,
        }  # fmt: skip

    def _missing(self, what: str, want: str) -> int:
        """Return how many of something are missing for a first model."""
        so = self._collecting()
        return 0 if so is None else max(so[want] - so[what], 0)

    def _gauges(self) -> None:
        gauge, desk = self.metrics.gauge, self.desk
        gauge("people", "People with answers that stand", lambda: desk.people)
        gauge("answers", "Answers that stand", lambda: desk.answers)
        gauge("answers_until_first_fit", "Until the first model", lambda: self._missing("answers", "needed"))
        gauge("people_until_first_fit", "People who must answer before the first model",
              lambda: self._missing("people", "people_needed"))  # fmt: skip
        gauge("visitors_in_memory", "Visitors in memory", lambda: len(desk.visitors))
        gauge("waiting_writes", "Turns that wait to be committed", lambda: self.writer.waiting)
        gauge("writing_fails", "1 if the last commit failed", lambda: float(self.writer.failing is not None))
        gauge("refits", "Models put in place", lambda: self.refits.fitted if self.refits else 0)
        gauge("refits_failed", "Fits, or models, that failed", lambda: self.refits.failed if self.refits else 0)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Any) -> AsyncIterator[None]:
        going = asyncio.create_task(self.refits.forever()) if self.refits is not None else None
        yield
        if going is not None:
            going.cancel()
            await going
        await asyncio.to_thread(self.writer.close)
        self.ledger.close()
        self._state.close()


def serve(settings: Settings) -> None:
    """Until it is ended."""
    s = settings
    family = socket.AF_INET6 if ":" in s.host else socket.AF_INET
    # The protocol is named, or asyncio would not know to send small replies at once.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        _bind(listening, s)
        _serve(listening, s)


def _bind(listening: socket.socket, s: Settings) -> None:
    # On Windows, which alone has the former, the latter would let another process listen at the same port.
    option = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
    listening.setsockopt(socket.SOL_SOCKET, option, 1)
    try:
        listening.bind((s.host, s.port))
    except OSError as e:
        raise InputError(f"cannot listen at {s.host} port {s.port}: {e.strerror}; give another --port or --host") from e
    listening.listen(2048)  # from here on, who comes early waits


def _serve(listening: socket.socket, s: Settings) -> None:
    served = Served(s)
    port = listening.getsockname()[1]
    shown = {"0.0.0.0": "localhost"}.get(s.host, _in_url(s.host))
    s.said(
        {
            "url": f"http://{shown}:{port}/", "votes": served.ledger.shown.strip("'"), "state": str(s.state),
            "admin_token": str(s.state / "admin-token"), "items": len(s.listed),
            "model": served.desk.knowledge.version, "answers": served.desk.answers, "people": served.desk.people,
        }
    )  # fmt: skip
    # Not uvloop: it takes one new connection each time around, so that newcomers wait for seconds where many are here.
    config = uvicorn.Config(
        served.app, log_level="warning", access_log=False, server_header=False, backlog=2048,
        proxy_headers=bool(s.proxies), forwarded_allow_ips=list(s.proxies) or None, timeout_keep_alive=30,
        timeout_graceful_shutdown=10, lifespan="on", loop="asyncio", http=Bounded, ws="none",
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listening])
