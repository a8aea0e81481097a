"""The ledger: rows are only ever added, commits are on disk, and one process at a time serves it."""

import asyncio
import itertools
import threading

import pytest

pytest.importorskip("fastapi", reason="what serving needs is not installed: pip install 'rather[serve]'")

from sqlalchemy import delete, event, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from rather import InputError
from rather.server import writer as writers
from rather.server.ledger import KEPT, VERSION, Ledger, answers, probes, questions, undos, versions, visitors
from rather.server.writer import NotWritten, Writer
from serving_here import HANGS, KINDS, POSTGRES, fresh_database


@pytest.fixture(params=KINDS)
def database(request, tmp_path):
    with fresh_database(request.param, tmp_path) as url:
        yield url


@pytest.fixture
def ledger(database):
    made = Ledger(database)
    yield made
    made.close()


@pytest.fixture
def writer(ledger):
    made = Writer(ledger)
    yield made
    made.close()


def turn(token, visitor="v", reply=None):
    """The rows of a question, and of its answer."""
    question = {
        "token": token, "visitor": visitor, "left_item": "a", "right_item": "b", "policy": "random", "chance": 0.5,
        "probability": None, "model": None, "asked": 1.0,
    }  # fmt: skip
    rows = {"questions": [question]}
    if reply is not None:
        rows["answers"] = [{"token": token, "reply": reply, "seconds": None, "answered": 2.0}]
    return rows


def arrival(visitor="v"):
    return {"visitors": [{"visitor": visitor, "origin": "o", "came": 0.0}]}


async def outcomes(writer, several):
    """What became of some rows that were submitted at once."""
    return await asyncio.gather(*(writer.submit(rows) for rows in several), return_exceptions=True)


def count(ledger, table):
    with ledger.engine.connect() as c:
        return c.execute(select(func.count()).select_from(table)).scalar()


def fill(ledger):
    """One row in every table."""
    rows = {
        **arrival(), **turn("t", reply="left"), "undos": [{"token": "t", "undone": 3.0}],
        "shares": [{"share": "s", "visitor": "v", "shared": 4.0}], "probes": [{"probe": "p", "room": "."}],
    }  # fmt: skip
    with ledger.engine.begin() as c:
        for table in KEPT:
            c.execute(insert(table), rows[table.name])


@pytest.mark.parametrize("table", KEPT, ids=lambda table: table.name)
def test_rows_are_only_ever_added(ledger, table):
    """The database itself refuses to change or delete a row of any table of the ledger."""
    fill(ledger)
    column = list(table.c)[-1]
    for statement in (update(table).values({column.name: column}), delete(table)):
        with pytest.raises(DBAPIError, match="only ever added"), ledger.engine.begin() as c:
            c.execute(statement)
    assert count(ledger, table) == 1


@pytest.mark.skipif(not POSTGRES, reason="set RATHER_POSTGRES to a server on which databases may be made")
def test_postgres_does_not_truncate_either(tmp_path):
    with fresh_database("postgresql", tmp_path) as url:
        ledger = Ledger(url)
        fill(ledger)
        with pytest.raises(DBAPIError, match="only ever added"), ledger.engine.begin() as c:
            c.execute(text("TRUNCATE answers, undos"))
        ledger.close()


def test_every_connection_synchronises(ledger):
    """Each of many connections, the writer's among them, commits to the disk."""
    with_lasting = {"sqlite": ("wal", 2, 1), "postgresql": ("on", "on", "on")}[ledger.engine.dialect.name]
    asked = (
        ("PRAGMA journal_mode", "PRAGMA synchronous", "PRAGMA foreign_keys")
        if ledger.is_file
        else ("SHOW synchronous_commit", "SHOW fsync", "SHOW full_page_writes")
    )
    connections = [ledger.engine.connect() for _ in range(10)]
    for c in connections:
        assert tuple(c.execute(text(one)).scalar() for one in asked) == with_lasting
        c.close()
    ledger.check_lasting()


def test_what_the_writer_commits_with_is_synchronised(ledger):
    """The connection of the very commit says so, just before it commits."""
    found = []

    @event.listens_for(ledger.engine, "commit")
    def look(c):
        if ledger.is_file:
            found.append(
                (c.exec_driver_sql("PRAGMA journal_mode").scalar(), c.exec_driver_sql("PRAGMA synchronous").scalar())
            )
        else:
            found.append(c.exec_driver_sql("SHOW synchronous_commit").scalar())

    writer = Writer(ledger)
    assert asyncio.run(outcomes(writer, [arrival()])) == [None]
    writer.close()
    assert found == [("wal", 2) if ledger.is_file else "on"]


def test_a_database_that_may_lose_commits_is_refused(ledger, monkeypatch):
    """Where every connection is set to less than full synchronisation, the server does not start."""
    weaker = "PRAGMA synchronous=NORMAL" if ledger.is_file else "SET synchronous_commit TO off"

    @event.listens_for(ledger.engine, "checkout")
    def weaken(connection, *_):
        connection.cursor().execute(weaker)

    with pytest.raises(InputError, match="may be lost"):
        ledger.check_lasting()


@pytest.mark.parametrize("found", [VERSION - 1, VERSION + 1, None])
def test_version(database, ledger, found):
    """A ledger has one version; an older, a newer and a missing one are refused, whoever opens it."""
    assert count(ledger, versions) == 1
    Ledger(database).close()
    assert count(ledger, versions) == 1
    with ledger.engine.begin() as c:
        c.execute(delete(versions))
        if found is not None:
            c.execute(insert(versions).values(version=found))
    with pytest.raises(InputError, match=f"is of version {found}, and this is for {VERSION}"):
        Ledger(database, must_exist=True)
    if found is not None:
        with pytest.raises(InputError, match=f"is of version {found}, and this is for {VERSION}"):
            Ledger(database)


def test_nobody_else_opens_the_lock(tmp_path):
    """Another user could hold a lock file that they may open; a link in its place leads nowhere."""
    ledger = Ledger(str(tmp_path / "votes.sqlite"))
    ledger.take()
    assert (tmp_path / "votes.sqlite.serving").stat().st_mode & 0o077 == 0
    ledger.close()
    (tmp_path / "victim").write_text("kept")
    other = Ledger(str(tmp_path / "other.sqlite"))
    (tmp_path / "other.sqlite.serving").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match="cannot lock"):
        other.take()
    other.close()
    assert (tmp_path / "victim").read_text() == "kept"


def test_one_process_serves(database, ledger, monkeypatch):
    """A second one is refused as long as the first is there, and may read all the same."""
    ledger.take()
    second = Ledger(database)
    with monkeypatch.context() as patch, pytest.raises(InputError, match="another process serves"):
        patch.setattr("rather.server.locks.WAIT", 0.0)
        second.take()
    assert second.counts(0.0) == (0, 0)
    ledger.close()
    second.take()
    second.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://u@h/d", "is of kind 'mysql'"), ("sqlite://", "not in memory"),
        ("sqlite:///:memory:", "not in memory"), ("://", "is no database"), ("oracle://x", "is of kind 'oracle'"),
    ],
)  # fmt: skip
def test_other_databases_are_refused(url, said):
    with pytest.raises(InputError, match=said):
        Ledger(url)


def test_what_is_no_database_is_said_so(tmp_path):
    """A missing file, a file of something else, and an empty database: a sentence each; of a folder, what is in it."""
    (tmp_path / "text").write_text("no database, but long enough to be looked at as one" * 100)
    (tmp_path / "empty").touch()
    for name, said in (("missing", "there is no database"), ("text", "not a database"), ("empty", "no such table")):
        with pytest.raises(InputError, match=said):
            Ledger(str(tmp_path / name), must_exist=True)
    with pytest.raises(InputError, match="there is no database"):
        Ledger(str(tmp_path), must_exist=True)
    Ledger(str(tmp_path / "votes.sqlite")).close()
    Ledger(str(tmp_path), must_exist=True).close()


def test_any_path_is_a_file_of_that_very_name(tmp_path):
    """Also one that would be half a query in a URL; and nobody else may read it."""
    path = tmp_path / "tea or coffee?.csv.served%20 #1"
    Ledger(str(path)).close()
    assert path.is_file() and path.stat().st_mode & 0o077 == 0
    again = Ledger(str(path), must_exist=True)
    assert Ledger(again.address, must_exist=True).url == again.url


def test_a_password_is_not_shown():
    """A server that is not there is said so, without how to get in."""
    pytest.importorskip("psycopg")
    with pytest.raises(InputError, match="does not answer") as e:
        Ledger("postgresql://ann:sesame@127.0.0.1:1/none")
    assert "sesame" not in str(e.value)


# -- the writer -------------------------------------------------------------------------------------------------------


def counting_commits(ledger):
    commits = []
    event.listen(ledger.engine, "commit", lambda _: commits.append(1))
    return commits


def holding(writer, monkeypatch):
    """The writer waits before its next commit until it is let go."""
    go, real = threading.Event(), writer._commit

    def commit(several):
        assert go.wait(HANGS)
        return real(several)

    monkeypatch.setattr(writer, "_commit", commit)
    return go


def test_what_waits_together_is_committed_together(ledger, writer, monkeypatch):
    """A hundred turns that come while one is committed take one more commit, and all are there."""
    assert asyncio.run(outcomes(writer, [arrival()])) == [None]
    commits, go = counting_commits(ledger), holding(writer, monkeypatch)

    async def all_at_once():
        first = writer.submit(turn("first"))
        while writer.waiting:
            await asyncio.sleep(0.001)
        rest = [writer.submit(turn(f"t{n}", reply="tie")) for n in range(100)]
        go.set()
        return await asyncio.gather(first, *rest)

    asyncio.run(all_at_once())
    assert len(commits) == 2 and count(ledger, answers) == 100 and count(ledger, questions) == 101


def test_one_bad_row_fails_alone(ledger, writer, monkeypatch):
    """Of turns that wait together, the one that is there already and the one of nobody are refused, others are not."""
    assert asyncio.run(outcomes(writer, [arrival(), turn("old", reply="left")])) == [None, None]
    go = holding(writer, monkeypatch)
    several = [turn("a"), turn("old"), turn("b", reply="right"), turn("c", visitor="nobody"), turn("d")]

    async def all_at_once():
        first = writer.submit(turn("first"))
        while writer.waiting:
            await asyncio.sleep(0.001)
        rest = asyncio.ensure_future(outcomes(writer, several))
        await asyncio.sleep(0)
        go.set()
        await first
        return await rest

    found = asyncio.run(all_at_once())
    assert [type(x) for x in found] == [type(None), NotWritten, type(None), NotWritten, type(None)]
    assert count(ledger, questions) == 5 and count(ledger, answers) == 2
    assert writer.failing is None  # nothing is wrong with the ledger


def test_all_rows_of_a_turn_or_none(ledger, writer):
    """An answer whose next question cannot be written is not there either."""
    assert asyncio.run(outcomes(writer, [arrival(), turn("t")])) == [None, None]
    rows = {**turn("t"), "answers": [{"token": "t", "reply": "left", "seconds": None, "answered": 1.0}]}
    (found,) = asyncio.run(outcomes(writer, [rows]))
    assert isinstance(found, NotWritten) and count(ledger, answers) == 0


def test_a_failing_commit_acknowledges_nothing(ledger, writer, monkeypatch):
    """What was not committed is said not to be, and is not there; what comes after is written again."""
    real = ledger.engine.dialect.do_commit

    def fail(connection):
        raise OSError("the disk is gone")

    monkeypatch.setattr(ledger.engine.dialect, "do_commit", fail)
    found = asyncio.run(outcomes(writer, [arrival("a"), arrival("b")]))
    assert all(isinstance(x, NotWritten) for x in found) and "the disk is gone" in writer.failing
    with pytest.raises(OSError, match="the disk is gone"):
        writer.probe()
    monkeypatch.setattr(ledger.engine.dialect, "do_commit", real)
    assert count(ledger, visitors) == count(ledger, probes) == 0
    writer.probe()
    assert writer.failing is None and count(ledger, probes) == 1
    assert asyncio.run(outcomes(writer, [arrival("a")])) == [None]


def test_the_queue_is_bounded(ledger, writer, monkeypatch):
    """More than so many waiting turns are refused at once, and those that wait are written."""
    monkeypatch.setattr(writers, "MOST_WAITING", 5)
    go = holding(writer, monkeypatch)

    async def too_many():
        first = writer.submit(arrival("0"))
        while writer.waiting:
            await asyncio.sleep(0.001)
        rest = [writer.submit(arrival(str(n))) for n in range(1, 9)]
        refused = [future.done() for future in rest]
        go.set()
        await first
        return refused, await asyncio.gather(*rest, return_exceptions=True)

    refused, found = asyncio.run(too_many())
    assert refused == [False] * 5 + [True] * 3
    assert [x is None for x in found] == [True] * 5 + [False] * 3 and count(ledger, visitors) == 6


def test_closing_writes_what_waits(ledger, monkeypatch):
    """A writer that is closed writes what it was given first, also for those who do not wait any more."""
    writer = Writer(ledger)
    go = holding(writer, monkeypatch)

    async def leave():
        for n in range(20):
            writer.submit(arrival(str(n)))

    asyncio.run(leave())  # whose loop is closed now
    go.set()
    writer.close()
    assert count(ledger, visitors) == 20


def test_an_answer_is_there_once(ledger):
    """The database itself refuses a second answer to a question, a second undo, and answers to no question."""
    fill(ledger)
    answer = {"token": "t", "reply": "right", "seconds": None, "answered": 9.0}
    rows = ((answers, answer), (undos, {"token": "t", "undone": 9.0}), (answers, {**answer, "token": "forged"}))
    for (table, row), _ in itertools.product(rows, range(2)):
        with pytest.raises(IntegrityError), ledger.engine.begin() as c:
            c.execute(insert(table), [row])
    assert ledger.history("v")[0].reply == "left" and ledger.history("nobody") is None
