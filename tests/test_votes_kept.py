"""The votes of a ledger: what is learned from, what is taken away, and 'rather fit --votes'."""

import csv
import io

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="what serving needs is not installed: pip install 'rather[serve]'")

from sqlalchemy import insert

import rather
from rather import InputError
from rather.server.ledger import KEPT, Ledger, hashed
from rather.server.listed import only_ids
from rather.server.votes import COLUMNS, as_csv, as_parquet, votes
from serving_here import KINDS, Here, answers, fresh_database, questions, undos
from shell import complaint, document

ODD = [
    "=1+1", "+a", "-b", "@c", "\td", 'quo"te', "com,ma", "new\nline", "émoji 🎉", "'", " spaces ", "-5", "@home", "'=1",
    "\rreturn", "both\r\n", "007", "NA", "None", "\ufeffmark", ";", "0x1F", "1e5",
]  # fmt: skip


@pytest.fixture(params=KINDS)
def database(request, tmp_path):
    with fresh_database(request.param, tmp_path) as url:
        yield url


def say(ledger, rows, visitor="v", pace=5.0, start=0.0):
    """Answers of a visitor, one every so many seconds: (left, right, reply, whether it is undone)."""
    made = {"visitors": [{"visitor": visitor, "origin": f"of {visitor}", "came": start}]}
    for n, (left, right, reply, undone) in enumerate(rows):
        token, asked = f"{visitor}-{n}", start + pace * n
        made.setdefault("questions", []).append(
            {
                "token": token, "visitor": visitor, "left_item": left, "right_item": right, "policy": "random",
                "chance": 0.25, "probability": 0.5, "model": "m", "asked": asked,
            }
        )  # fmt: skip
        answer = {"token": token, "reply": reply, "seconds": 1.0, "answered": asked + pace * 0.9}
        made.setdefault("answers", []).append(answer)
        if undone:
            made.setdefault("undos", []).append({"token": token, "undone": asked + pace * 0.95})
    with ledger.engine.begin() as c:
        for table in KEPT:
            if made.get(table.name):
                c.execute(insert(table), made[table.name])


@pytest.fixture
def ledger(database):
    made = Ledger(database)
    yield made
    made.close()


def test_what_is_undone_or_unseen_is_no_vote(ledger):
    """Preferences and ties are; each with the side on which the preferred one stood."""
    rows = [
        ("a", "b", "left", False), ("b", "c", "right", False), ("a", "c", "tie", False), ("a", "d", "left", True),
        ("d", "b", "unseen left", False), ("d", "b", "unseen right", False), ("d", "b", "unseen both", False),
    ]  # fmt: skip
    say(ledger, rows)
    frame, left_out = votes(ledger)
    assert left_out == 0 and set(frame["user"]) == {"v"}
    told = list(zip(frame["winner"], frame["loser"], frame["tie"], frame["side"], strict=True))
    assert told == [("a", "b", False, True), ("c", "b", False, False), ("a", "c", True, True)]


def test_marked_votes_are_left_out_unless_asked_for(ledger):
    say(ledger, [("a", "b", "left", False), ("c", "a", "right", False)], "person")
    say(ledger, [("a", "b", "left", False), ("b", "a", "right", False)] * 3, "script", pace=0.1)
    frame, left_out = votes(ledger)
    assert left_out == 6 and set(frame["user"]) == {"person"}
    frame, left_out = votes(ledger, marked_too=True)
    assert left_out == 0 and len(frame["user"]) == 8


def test_no_votes_is_said_so(ledger):
    with pytest.raises(InputError, match=r"no votes in .* to learn from$"):
        votes(ledger)
    say(ledger, [("a", "b", "left", False)] * 3, "script", pace=0.01)
    with pytest.raises(InputError, match="but for 3 that look like a script's"):
        votes(ledger)


def test_exports_agree_with_the_rows(tmp_path, database):
    """Both have every answer, also what was undone, as the ledger has it, ids with whatever is in them."""
    parquet = pytest.importorskip("pyarrow.parquet")
    with Here(tmp_path, database, listed=only_ids(ODD)) as here:
        for n in range(30):
            news = here.answer(
                here.question()["token"], ("left", "right", "tie", "unseen both")[n % 4 if n < 8 else n % 3]
            )
            if n % 7 == 0:
                token = here.get("/api/answers").json()["answers"][0]["token"]
                here.post("/api/undo", {"token": token})
            if news.json()["question"] is None:
                break
        said = {row["token"]: row for row in here.rows(answers)}
        put = {row["token"]: row for row in here.rows(questions)}
        back = {row["token"]: row["undone"] for row in here.rows(undos)}
        as_csv, as_parquet = here.as_admin("/api/export.csv"), here.as_admin("/api/export.parquet")
        user = hashed(here.browser.cookies[here.cookie])
    order = sorted(said, key=lambda token: (said[token]["answered"], token))
    table = parquet.read_table(io.BytesIO(as_parquet.content)).to_pylist()
    rows = list(csv.DictReader(io.StringIO(as_csv.content.decode(), newline="")))
    assert len(table) == len(rows) == len(said) > 8 and tuple(rows[0]) == tuple(table[0]) == COLUMNS
    for token, one, text in zip(order, table, rows, strict=True):
        assert (one["left"], one["right"], one["reply"], one["user"]) == (
            put[token]["left_item"], put[token]["right_item"], said[token]["reply"], user
        )  # fmt: skip
        assert (one["asked"], one["answered"], one["undone"]) == (
            put[token]["asked"], said[token]["answered"], back.get(token)
        )  # fmt: skip
        assert one["mark"] == ""
        assert one["outcome"] == (one["reply"] if one["reply"] in ("left", "right", "tie") else "")
        for name in ("left", "right", "reply", "user", "outcome", "policy", "mark"):
            assert text[name] == one[name]
        for name in ("asked", "answered", "undone", "chance", "probability", "seconds"):
            assert (float(text[name]) if text[name] else None) == one[name]
    assert {as_csv.headers["content-type"], as_parquet.headers["content-type"]} == {
        "text/csv; charset=utf-8", "application/vnd.apache.parquet"
    }  # fmt: skip


def exported(ledger):
    return b"".join(as_csv(ledger))


def test_ids_come_back_as_they_are(ledger):
    """Whatever is in an id is quoted, not changed: Python's reader, pandas and our own get the same ids."""
    say(ledger, [(odd, "b", "left", False) for odd in ODD])
    rows = list(csv.DictReader(io.StringIO(exported(ledger).decode(), newline="")))
    assert [row["left"] for row in rows] == ODD and {row["right"] for row in rows} == {"b"}
    pandas = pytest.importorskip("pandas")
    text = {"user": str, "left": str, "right": str, "mark": str}
    table = pandas.read_csv(io.BytesIO(exported(ledger)), dtype=text, keep_default_na=False, na_values={"undone": [""]})
    assert table["left"].tolist() == ODD and set(table["mark"]) == {"one side"} and table["undone"].isna().all()


DAMAGE = {
    "reply": ("answers", {"reply": "bogus"}, "has the reply 'bogus'"),
    "empty reply": ("answers", {"reply": ""}, "has the reply ''"),
    "one item": ("questions", {"right_item": "a"}, "compares 'a' with itself"),
    "time": ("answers", {"answered": float("inf")}, "was given at inf"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_rows_are_refused_with_their_number(tmp_path, database, ledger, damage):
    """Fits, exports and pages refuse an answer that nobody can have given, and say which it is."""
    name, change, said = DAMAGE[damage]
    say(ledger, [("a", "b", "left", False)] * 3)
    row = {
        "questions": {
            "token": "t", "visitor": "v", "left_item": "a", "right_item": "b", "policy": "random", "chance": 0.5,
            "asked": 7.0,
        },
        "answers": {"token": "t", "reply": "left", "answered": 8.0},
    }  # fmt: skip
    row[name] |= change
    with ledger.engine.begin() as c:
        for table in (questions, answers):
            c.execute(insert(table), [row[table.name]])
    number = 4 if damage == "time" else 2  # in the order of their times
    said = rf"answer {number} in .* {said}"
    for read in (votes, exported, lambda ledger: as_parquet(ledger, io.BytesIO())):
        with pytest.raises(InputError, match=said):
            read(ledger)
    with pytest.raises(InputError, match=said.replace(f"answer {number}", "answer 't'")):
        ledger.history("v")
    assert ledger.history("nobody") is None
    ledger.close()
    with Here(tmp_path / "state", database) as here:
        reply = here.as_admin("/api/export.csv")
        assert reply.status_code == 503 and f"answer {number} in" in reply.json()["error"]
        assert here.post("/api/question").status_code == 200  # others go on


def test_an_export_is_of_one_moment(ledger):
    """Answers that come while it is read are not half in it."""
    from rather.server import votes as kept

    say(ledger, [("a", "b", "left", False)] * 50)
    batches = kept._documents(ledger)
    first = next(batches)
    say(ledger, [("a", "b", "right", False)] * 50, "late")
    rest = [row for batch in batches for row in batch]
    assert {row["user"] for row in (*first, *rest)} == {"v"} and len(first) + len(rest) == 50
    assert sum(len(batch) for batch in kept._documents(ledger)) == 100


def test_an_export_of_nothing(tmp_path, database):
    with Here(tmp_path, database) as here:
        assert here.as_admin("/api/export.csv").text == ",".join(f'"{name}"' for name in COLUMNS) + "\n"
        assert here.as_admin("/api/export.parquet").status_code == 200


# -- rather fit --votes -----------------------------------------------------------------------------------------------


@pytest.fixture
def collected(ledger):
    """A ledger of fifteen people who mostly agree about ten items, one of whom is a script."""
    rng = np.random.default_rng(0)
    for k in range(15):
        pairs = [tuple(rng.choice(10, 2, replace=False)) for _ in range(12)]
        rows = [(f"i{a}", f"i{b}", "left" if (a < b) == (rng.random() < 0.9) else "right", False) for a, b in pairs]
        say(ledger, rows, f"p{k}", start=1000.0 * k)
    say(ledger, [("i9", "i0", "left", False), ("i0", "i9", "right", False)] * 200, "script", pace=0.05)


def test_fit_from_a_ledger(tmp_path, database, collected):
    """The model is of the votes that stand, without a script's; with --marked it is of those too."""
    told = document("fit", "--votes", database, "--out", tmp_path / "m", "--rank", 2, "--reg", 5)
    assert told["marked"] == 400
    model = rather.load(tmp_path / "m")
    assert len(model.users_) == 15 and sorted(model.items_.tolist()) == [f"i{n}" for n in range(10)]
    worth = dict(zip(model.items_.tolist(), model.average_scores(), strict=True))
    assert worth["i0"] > worth["i5"] > worth["i9"]
    document("fit", "--votes", database, "--marked", "--out", tmp_path / "all", "--rank", 2, "--reg", 5)
    assert len(rather.load(tmp_path / "all").users_) == 16


def test_what_does_not_go_with_votes(tmp_path, database, ledger):
    """A file beside them, or none of both, columns, formats, and databases that are not there: a sentence each."""
    out = "--out", tmp_path / "m"
    (tmp_path / "votes.csv").write_text("user,winner,loser\na,b,c\n")
    assert "give one of them" in complaint("fit", *out)
    assert "give one of them" in complaint("fit", tmp_path / "votes.csv", "--votes", database, *out)
    assert "--user is about a FILE" in complaint("fit", "--votes", database, "--user", "who", *out)
    assert "--format is about a FILE" in complaint("fit", "--votes", database, "--format", "votes", *out)
    assert "there is no database" in complaint("fit", "--votes", tmp_path / "missing", *out)
    assert "no votes in" in complaint("fit", "--votes", database, *out)
    assert not (tmp_path / "m").exists() and not (tmp_path / "missing").exists()
