"""What goes wrong with the database: 503 and no acknowledgement; and once it is over, the same answer counts once."""

import asyncio
import contextlib
import os
import sqlite3
import subprocess

import pytest

pytest.importorskip("fastapi", reason="what serving needs is not installed: pip install 'rather[serve]'")

import sqlalchemy
from sqlalchemy import event

from rather import InputError
from rather.server import ledger as ledgers
from rather.server.ledger import Ledger, answers, probes, questions
from rather.server.listed import only_ids
from serving_here import HANGS, KINDS, Here, fresh_database

ITEMS = only_ids(range(300))


@pytest.fixture(params=KINDS)
def here(request, tmp_path, monkeypatch):
    monkeypatch.setattr(ledgers, "BUSY", 0.2)
    with fresh_database(request.param, tmp_path) as url, Here(tmp_path / "state", url, listed=ITEMS) as made:
        yield made


def check_refused(here, token):
    """Nothing is acknowledged, nothing is written, and the server says that it is not ready."""
    before = len(here.rows(answers)), len(here.rows(questions))
    for _ in range(2):
        refused = here.answer(token)
        assert refused.status_code == 503 and int(refused.headers["retry-after"]) >= 1
        assert "could not be saved" in refused.json()["error"]
    newcomer = here.post("/api/question", browser=here.another_browser())
    assert newcomer.status_code == 503 and "set-cookie" not in newcomer.headers
    assert "question could not be saved" in newcomer.json()["error"]
    assert here.get("/readyz").status_code == 503 and int(here.get("/readyz").headers["retry-after"]) >= 1
    assert here.get("/livez").status_code == 200
    assert (len(here.rows(answers)), len(here.rows(questions))) == before and not here.rows(probes)
    assert here.get("/api/about").json()["answers"] == before[0]
    assert "rather_writing_fails 1.0" in here.as_admin("/metrics").text


def test_each_refusal_is_about_its_own_request(here, token, monkeypatch):
    """A question, an answer, an undo and a link that cannot be saved are each said to be what they are."""
    given = here.get("/api/answers").json()["answers"][0]["token"]
    said = {}
    with monkeypatch.context() as patch:

        def fail(connection):
            raise OSError("input/output error")

        patch.setattr(here.ledger.engine.dialect, "do_commit", fail)
        asked = {
            "question": here.post("/api/question", browser=here.another_browser()),
            "answer": here.answer(token),
            "undo": here.post("/api/undo", {"token": given}),
            "share": here.post("/api/share"),
        }
        for name, reply in asked.items():
            assert reply.status_code == 503 and int(reply.headers["retry-after"]) >= 1
            said[name] = reply.json()["error"]
    assert said["answer"] == "Your answer could not be saved just now, and does not count yet."
    assert said["question"] == "The next question could not be saved just now, so it is not put yet."
    assert said["undo"] == "Your answer could not be taken back just now, and still counts."
    assert said["share"] == "The link could not be saved just now, so there is none yet."
    check_recovered(here, token)


def check_recovered(here, token):
    """It is ready again, without anybody's having to try; and what was refused is taken, and counts once."""
    assert here.get("/readyz").status_code == 200 and here.get("/readyz").status_code == 200
    assert len(here.rows(probes)) == 1
    first, again = here.answer(token), here.answer(token)
    assert (first.status_code, first.json()["repeated"]) == (200, False)
    assert (again.status_code, again.json()["repeated"]) == (200, True)
    assert [row["token"] for row in here.rows(answers)].count(token) == 1
    assert here.get("/api/about").json()["answers"] == len(here.rows(answers)) == here.ledger.counts(0.0)[1]


@pytest.fixture
def token(here):
    """Of somebody's open question, after an answer."""
    return here.answer(here.question()["token"]).json()["question"]["token"]


def test_a_failing_commit(here, token, monkeypatch):
    with monkeypatch.context() as patch:

        def fail(connection):
            raise OSError("input/output error")

        patch.setattr(here.ledger.engine.dialect, "do_commit", fail)
        check_refused(here, token)
    check_recovered(here, token)


def test_a_locked_database(here, token):
    """Somebody else holds what is to be written for longer than one waits."""
    other = sqlalchemy.create_engine(here.ledger.url)
    with other.connect() as c:
        if here.ledger.is_file:
            c.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            c.exec_driver_sql("LOCK TABLE questions, probes IN SHARE MODE")
        check_refused(here, token)
        c.rollback()
    other.dispose()
    check_recovered(here, token)


def test_a_full_disk(tmp_path, monkeypatch):
    """The database may not grow by another page, as where there is no room: SQLite says so with the same error.

    A page is smaller than the ids of one question, so that no row finds room on a page that is there.
    """
    path, most = tmp_path / "votes.sqlite", 0
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA page_size=512")
        made.execute("VACUUM")
    monkeypatch.setattr(ledgers, "BUSY", 0.2)
    with Here(tmp_path / "state", str(path), listed=only_ids([f"{n:0500}" for n in range(300)])) as here:

        def limit(connection, *_):
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA max_page_count={most or 2**30}")  # of which none are taken back
            cursor.close()

        event.listen(here.ledger.engine, "checkout", limit)
        token = here.answer(here.question()["token"]).json()["question"]["token"]
        with here.ledger.engine.connect() as c:
            assert c.exec_driver_sql("PRAGMA page_size").scalar() == 512
            most = c.exec_driver_sql("PRAGMA page_count").scalar()
        check_refused(here, token)
        assert "full" in here.writer.failing
        most = 0
        check_recovered(here, token)


def until_refused(here, token):
    """Answers as long as there is room on pages that are there; the token of the one that found none."""
    for _ in range(2000):
        reply = here.answer(token)
        if reply.status_code == 503:
            return token
        token = reply.json()["question"]["token"]
    raise AssertionError("it is never full")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk")
def test_a_disk_that_is_really_full(tmp_path):
    """Of half a megabyte in memory, with other files that take the rest; when one of them is gone, all is well."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted")
    try:
        with Here(tmp_path / "state", str(disk / "votes.sqlite"), listed=ITEMS) as here:
            token = here.answer(here.question()["token"]).json()["question"]["token"]
            with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
                while filler.write(b"." * 4096):
                    pass
            token = until_refused(here, token)
            check_refused(here, token)
            (disk / "filler").unlink()
            check_recovered(here, token)
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_commit_that_fails_and_is_there_all_the_same(here, token, monkeypatch):
    """As when the connection is lost before the word that it was committed: the answer counts, and counts once."""
    real = here.ledger.engine.dialect.do_commit

    def commit_and_fail(connection):
        real(connection)
        raise OSError("connection reset")

    with monkeypatch.context() as patch:
        patch.setattr(here.ledger.engine.dialect, "do_commit", commit_and_fail)
        assert here.answer(token).status_code == 503
    assert [row["token"] for row in here.rows(answers)].count(token) == 1
    assert here.answer(token, "right").status_code == 409
    again = here.answer(token).json()
    assert again["repeated"] and again["answered"] == 2 and here.ledger.counts(0.0) == (1, 2)
    assert (here.desk.people, here.desk.answers) == (1, 2)
    assert here.answer(again["question"]["token"]).json()["answered"] == 3


def cut_off(here):
    """End all connections to the database."""
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    other = sqlalchemy.create_engine(here.ledger.url, poolclass=sqlalchemy.NullPool)
    with other.connect() as c:
        c.exec_driver_sql(f"SELECT pg_terminate_backend(pid) {others}")


def test_a_database_that_was_started_again(here, token):
    """All connections are gone: what is said next is refused or taken, and taken when it is said again."""
    if here.ledger.is_file:
        pytest.skip("SQLite is no server")
    cut_off(here)
    assert here.answer(token).status_code == 503 and len(here.rows(answers)) == 1
    check_recovered(here, token)
    cookies = here.browser.cookies
    here.desk.visitors._here.clear()
    here.browser.cookies = cookies
    assert len(here.get("/api/answers").json()["answers"]) == 2


def test_another_process_that_took_the_database_meanwhile(here, token, monkeypatch):
    """Who lost the database to another process writes nothing until that has ended, and then serves again."""
    if here.ledger.is_file:
        pytest.skip("a file stays locked as long as the process is there")
    cut_off(here)
    other = Ledger(here.ledger.url.render_as_string(hide_password=False))
    other.take()
    assert here.answer(token).status_code == 503
    check_refused(here, token)
    with pytest.raises(InputError, match="another process serves"):
        here.ledger.check_taken()
    other.close()
    for _ in range(10 * HANGS):  # its connections end in a moment
        if here.get("/readyz").status_code == 200:
            break
        here.wait(asyncio.sleep(0.1))
    check_recovered(here, token)
    third = Ledger(here.ledger.url.render_as_string(hide_password=False))
    with monkeypatch.context() as patch, pytest.raises(InputError, match="another process serves"):
        patch.setattr("rather.server.locks.WAIT", 0.0)
        third.take()
    third.close()


def test_a_database_that_cannot_be_read(here, token, monkeypatch):
    """Who is not in memory is told to come again; nobody is taken for somebody new."""
    here.desk.visitors._here.clear()

    def broken(*_):
        raise sqlalchemy.exc.OperationalError("select", {}, OSError("input/output error"))

    with monkeypatch.context() as patch:
        patch.setattr(here.ledger.engine, "connect", broken)
        for reply in (
            here.answer(token),
            here.post("/api/question"),
            here.get("/api/ranking"),
            here.get("/api/answers"),
        ):
            assert reply.status_code == 503 and int(reply.headers["retry-after"]) >= 1 and "error" in reply.json()
            assert "set-cookie" not in reply.headers
        assert here.get(f"/api/shared/{'A' * 22}").status_code == 503
        for export in ("csv", "parquet"):
            assert here.as_admin(f"/api/export.{export}").status_code == 503
    assert here.answer(token).json()["answered"] == 2
