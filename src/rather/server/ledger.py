"""The ledger of votes: append-only tables in SQLite or PostgreSQL, with durable commits."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import (
    DDL,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    event,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from ..errors import FileError, InputError
from .locks import is_locked, own_file, wait_for

BUSY = 5.0  # seconds to wait for a database that somebody else has locked
SERVED = 0x7261746865720001  # PostgreSQL's advisory lock of the one process that serves
DECIDED = "left", "right", "tie"  # replies that say what somebody prefers
REPLIES = *DECIDED, "unseen left", "unseen right", "unseen both"  # the others say that they do not know an item

metadata = MetaData()
visitors = Table(
    "visitors", metadata,
    Column("visitor", String(32), primary_key=True),  # the hash of what their browser keeps
    Column("origin", String(32), nullable=False),  # a keyed hash of the address they came from
    Column("came", Float(53), nullable=False),
)  # fmt: skip
questions = Table(
    "questions", metadata,
    Column("token", String(32), primary_key=True),
    Column("visitor", ForeignKey("visitors.visitor"), nullable=False),
    Column("left_item", String, nullable=False),
    Column("right_item", String, nullable=False),
    Column("policy", String(20), nullable=False),
    Column("chance", Float(53), nullable=False),
    Column("probability", Float(53)),
    Column("model", String(32)),
    Column("asked", Float(53), nullable=False),
)  # fmt: skip
answers = Table(
    "answers", metadata,
    Column("token", ForeignKey("questions.token"), primary_key=True),
    Column("reply", String(20), nullable=False),
    Column("seconds", Float(53)),
    Column("answered", Float(53), nullable=False),
)  # fmt: skip
undos = Table(
    "undos", metadata,
    Column("token", ForeignKey("answers.token"), primary_key=True),
    Column("undone", Float(53), nullable=False),
)  # fmt: skip
shares = Table(
    "shares", metadata,
    Column("share", String(32), primary_key=True),  # the hash of what the link has
    Column("visitor", ForeignKey("visitors.visitor"), nullable=False),
    Column("shared", Float(53), nullable=False),
)  # fmt: skip
probes = Table(
    "probes", metadata,
    Column("probe", String(32), primary_key=True),
    Column("room", String, nullable=False),  # as much as many turns take
)  # fmt: skip
versions = Table("versions", metadata, Column("version", Integer, primary_key=True))
Index("questions_of_visitors", questions.c.visitor)

VERSION = 1
KEPT = (visitors, questions, answers, undos, shares, probes)  # in the order in which they refer to each other


def _when(moment: str, dialect: str, statement: str) -> None:
    """A statement of one kind of database, when its tables are made; also when they are there already."""
    made: Any = DDL(statement)  # type: ignore[no-untyped-call]
    event.listen(metadata, moment, made.execute_if(dialect=dialect))


_when(
    "before_create", "postgresql",
    "CREATE OR REPLACE FUNCTION rather_only_added() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'rows are only ever added'; END $$",
)  # fmt: skip
for table in KEPT:
    _when(
        "after_create", "postgresql",
        f"CREATE OR REPLACE TRIGGER only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON {table.name} "
        "FOR EACH STATEMENT EXECUTE FUNCTION rather_only_added()",
    )  # fmt: skip
    for verb in ("update", "delete"):
        _when(
            "after_create", "sqlite",
            f"CREATE TRIGGER IF NOT EXISTS no_{verb}_of_{table.name} BEFORE {verb.upper()} ON {table.name} "
            "BEGIN SELECT RAISE(ABORT, 'rows are only ever added'); END",
        )  # fmt: skip


def secret() -> str:
    """Return a secret of 128 bits."""
    return secrets.token_urlsafe(16)


def hashed(told: str) -> str:
    """Return the hash of a secret, which is all that is kept."""
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class Ledger:
    """A database of votes, by its URL or the path of a file of SQLite."""

    def __init__(self, url: str, must_exist: bool = False) -> None:
        self.url = _url(url)
        self.is_file = self.url.get_backend_name() == "sqlite"
        if self.is_file and must_exist and not Path(self.url.database or "").is_file():
            raise FileError(f"there is no database {self.url.database!r}; name the one that 'rather serve' keeps")
        if self.is_file and not must_exist:
            _private(Path(str(self.url.database)))
        waits = {"timeout": BUSY} if self.is_file else {"connect_timeout": int(BUSY)}
        try:
            self.engine: Engine = create_engine(self.url, connect_args=waits, pool_size=8, max_overflow=8)
        except ModuleNotFoundError as e:
            raise InputError("PostgreSQL needs psycopg; run: pip install 'rather[postgres]'") from e
        event.listen(self.engine, "connect", self._prepare)
        self._lock: Any = None
        self._serves, self._looking = False, threading.Lock()
        try:
            with self.sentences():
                if must_exist:
                    self._check_version()
                else:
                    metadata.create_all(self.engine)
                    self._settle_version()
        except BaseException:
            self.close()
            raise

    def _prepare(self, connection: Any, _: Any) -> None:
        """Every connection's commits are on the disk before they are said to be."""
        cursor = connection.cursor()
        if self.is_file:
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=FULL")
            cursor.execute("PRAGMA foreign_keys=ON")
        else:
            cursor.execute("SET synchronous_commit TO on")
            cursor.execute(f"SET lock_timeout TO {int(1000 * BUSY)}")
            connection.commit()
        cursor.close()

    def check_lasting(self) -> None:
        """Refuse a database whose commits may be lost."""
        with self.sentences(), self.engine.connect() as c:
            if self.is_file:
                found = c.execute(text("PRAGMA journal_mode")).scalar(), c.execute(text("PRAGMA synchronous")).scalar()
                sound = found == ("wal", 2)
            else:
                found = c.execute(text("SHOW synchronous_commit")).scalar(), c.execute(text("SHOW fsync")).scalar()
                sound = found == ("on", "on")
        if not sound:
            raise InputError(f"the database says {found}: what it commits may be lost; use one that writes to disk")

    def _settle_version(self) -> None:
        with self.engine.begin() as c:
            if c.execute(select(func.count()).select_from(versions)).scalar() == 0:
                c.execute(insert(versions).values(version=VERSION))
        self._check_version()

    def _check_version(self) -> None:
        with self.engine.connect() as c:
            found = c.execute(select(func.max(versions.c.version))).scalar()
        if found != VERSION:
            raise InputError(f"the database is of version {found}, and this is for {VERSION}; use the rather it is of")

    @contextlib.contextmanager
    def sentences(self) -> Iterator[None]:
        """Turn errors of the database into one sentence."""
        try:
            yield
        except SQLAlchemyError as e:
            why = " ".join(str(getattr(e, "orig", None) or e).split())
            raise FileError(f"the database {self.shown} does not answer as it should: {why}") from e

    @property
    def address(self) -> str:
        """Return the path or the URL that opens the ledger again."""
        return str(self.url.database) if self.is_file else self.url.render_as_string(hide_password=False)

    @property
    def shown(self) -> str:
        """The URL without a password."""
        return repr(self.url.database if self.is_file else self.url.render_as_string(hide_password=True))

    def take(self) -> None:
        """Be the one process that serves this database."""
        wait_for(self._taken, f"another process serves the votes in {self.shown}; end it, or keep them elsewhere")
        self._serves = True

    def check_taken(self) -> None:
        """After something went wrong: this is still the one process that serves, or is again; or an error."""
        if self.is_file or not self._serves:
            return
        with self._looking:
            if self._lock is not None:
                try:
                    self._lock.execute(text("SELECT 1"))
                    return
                except SQLAlchemyError:  # the connection is lost, and what it had locked with it
                    self._let_go()
            if not self._taken():
                self._let_go()
                raise InputError(f"another process serves the votes in {self.shown} now")

    def _let_go(self) -> None:
        if self._lock is not None:
            with contextlib.suppress(SQLAlchemyError):
                self._lock.close()
            self._lock = None

    def _taken(self) -> bool:
        if not self.is_file:
            self._lock = self._lock or self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            return bool(self._lock.execute(text(f"SELECT pg_try_advisory_lock({SERVED})")).scalar())
        if self._lock is None:
            self._lock = own_file(f"{self.url.database}.serving")
        return is_locked(self._lock)

    def close(self) -> None:
        self._let_go()
        self.engine.dispose()

    # -- reading ------------------------------------------------------------------------------------------------

    def history(self, visitor: str) -> list[Any] | None:
        """Return a visitor's questions in order, with the answers; None if there is no such visitor."""
        joined = questions.outerjoin(answers).outerjoin(undos, undos.c.token == answers.c.token)
        asked = (
            select(
                questions.c.token, questions.c.left_item, questions.c.right_item, questions.c.asked,
                questions.c.probability, answers.c.reply, answers.c.answered, undos.c.undone,
            ).select_from(joined).where(questions.c.visitor == visitor).order_by(questions.c.asked, questions.c.token)
        )  # fmt: skip
        with self.sentences(), self.engine.connect() as c:
            rows = list(c.execute(asked))
            for row in rows:
                if row.reply is not None:
                    self.check_sound(row, row.token)
            there = rows or c.execute(select(visitors.c.came).where(visitors.c.visitor == visitor)).first()
        return rows if there else None

    def shared_by(self, share: str) -> str | None:
        with self.sentences(), self.engine.connect() as c:
            return c.execute(select(shares.c.visitor).where(shares.c.share == share)).scalar()

    def counts(self, fast: float) -> tuple[int, int]:
        """Return the number of people with answers and of their answers, without those given in fewer seconds."""
        live = answers.join(questions).outerjoin(undos, undos.c.token == answers.c.token)
        found = select(func.count(questions.c.visitor.distinct()), func.count()).select_from(live)
        found = found.where(
            undos.c.token.is_(None), answers.c.answered - questions.c.asked >= fast, answers.c.reply.in_(DECIDED)
        )
        with self.sentences(), self.engine.connect() as c:
            people, said = c.execute(found).one()
        return int(people), int(said)

    def check_sound(self, row: Any, which: Any) -> None:
        """Refuse an answer that the server cannot have written; ``which`` names it."""
        wrong = None
        if row.reply not in REPLIES:
            wrong = f"has the reply {row.reply!r}, which must be one of {', '.join(REPLIES)}"
        elif row.left_item == row.right_item:
            wrong = f"compares {row.left_item!r} with itself"
        elif not all(isinstance(when, float | int) and math.isfinite(when) for when in (row.asked, row.answered)):
            wrong = f"was given at {row.answered} to a question of {row.asked}, which must be numbers"
        if wrong:
            raise InputError(f"answer {which!r} in {self.shown} {wrong}; restore the database from a copy")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that sees the ledger of one moment, however often it looks."""
        isolation = "SERIALIZABLE" if self.is_file else "REPEATABLE READ"
        with self.sentences(), self.engine.connect().execution_options(isolation_level=isolation) as c, c.begin():
            if self.is_file:
                c.exec_driver_sql("BEGIN")  # which Python's driver leaves out before a mere select
            yield c


def every_answer(connection: Connection, *names: str, batch: int = 10_000) -> Iterator[Any]:
    """These columns of every answer, also those undone, in the order in which they came."""
    joined = answers.join(questions).join(visitors).outerjoin(undos, undos.c.token == answers.c.token)
    found = select(*(ANSWER[name] for name in names)).select_from(joined).order_by(*ORDER)
    yield from connection.execution_options(stream_results=True, yield_per=batch).execute(found)


ORDER = answers.c.answered, answers.c.token
ANSWER = {
    "user": questions.c.visitor, "left": questions.c.left_item, "right": questions.c.right_item,
    "reply": answers.c.reply, "seconds": answers.c.seconds, "asked": questions.c.asked,
    "answered": answers.c.answered, "undone": undos.c.undone, "policy": questions.c.policy,
    "chance": questions.c.chance, "probability": questions.c.probability, "model": questions.c.model,
    "origin": visitors.c.origin,
}  # fmt: skip


def _private(path: Path) -> None:
    """A file for a database that is not there yet, which only its owner reads; what SQLite puts beside it is alike."""
    with contextlib.suppress(OSError):  # what cannot be made is said by the database
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def _url(given: str) -> Any:
    """A URL of SQLAlchemy: of the kinds we know, or the path of a file."""
    if "://" not in given:
        given = str(Path(given) / "votes.sqlite") if Path(given).is_dir() else given
        return URL.create("sqlite", database=str(Path(given).absolute()))
    try:
        url = make_url(given)
    except ArgumentError as e:
        raise InputError(f"{given!r} is no database; give a file, or postgresql://USER@HOST/NAME") from e
    kind = url.get_backend_name()
    if kind == "sqlite":
        if not url.database or url.database == ":memory:":
            raise InputError("votes are kept in a file, not in memory; give a file, or postgresql://USER@HOST/NAME")
        return url
    if kind not in ("postgresql", "postgres"):
        raise InputError(f"the database is of kind {kind!r}; it must be SQLite (a file) or postgresql://USER@HOST/NAME")
    return url.set(drivername="postgresql+psycopg")
