"""rather serve: what is served, what is refused in a sentence, and a server that ends well."""

import json
import signal
import socket
import sys

import pytest

pytest.importorskip("fastapi", reason="what serving needs is not installed: pip install 'rather[serve]'")

import httpx

from rather import AltSVM, Comparisons, InputError
from rather.cli import serve
from rather.cli.grammar import grammar
from rather.server import serving
from rather.server.ledger import Ledger
from rather.server.listed import LONGEST_TEXT, LONGEST_TITLE, only_ids, read
from serving_here import HANGS, ITEMS, Process, items_file, opened
from shell import complaint

PIXEL = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def items(tmp_path):
    return items_file(tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--port", "70000"), "--port is 70000"),
        (("--port", "-1"), "--port is -1"),
        (("--visitor-rate", "0"), "--visitor-rate is 0"),
        (("--visitor-rate", "nan"), "--visitor-rate is nan"),
        (("--address-rate", "-1"), "--address-rate is -1"),
        (("--refit", "0"), "--refit is 0"),
        (("--allow-host", "example.org:443"), "'example.org:443'; it must be a name alone"),
        (("--allow-host", "https://example.org"), "'https://example.org'; it must be a name alone"),
        (("--items", "x.csv"), "is a table of items already; leave --items out"),
        (("--votes", "mysql://u@h/d"), "is of kind 'mysql'"),
        (("--votes", "sqlite://"), "not in memory"),
        (("--host", "203.0.113.7"), "cannot listen at 203.0.113.7 port 0"),
    ],
)
def test_options_that_do_not_go(items, options, said):
    """One sentence each, before anything is served."""
    assert said in complaint("serve", items, "--port", 0, *options)


def test_what_cannot_be_served(items, tmp_path, monkeypatch):
    """What is not there, is no model, does not fit together, or is served already."""
    assert "there is no file" in complaint("serve", tmp_path / "missing")
    (tmp_path / "text.rather").write_text("no model")
    complaint("serve", tmp_path / "text.rather")
    (tmp_path / "file").touch()
    assert "cannot make the folder" in complaint("serve", items, "--state", tmp_path / "file" / "below")
    frame = {"user": [1, 1, 2, 2], "winner": ["a", "b", "a", "c"], "loser": ["b", "c", "c", "b"]}
    model = AltSVM(rank=1, reg=5.0).fit(Comparisons.from_frame(frame, user="user", winner="winner", loser="loser"))
    model.save(tmp_path / "bare.rather", comparisons=False)
    assert "fit it again" in complaint("serve", tmp_path / "bare.rather")
    model.calibrate()
    model._crowd()
    model.save(tmp_path / "m.rather", comparisons=False)
    assert "without --slim" in complaint("serve", tmp_path / "m.rather", "--refit")
    assert "knows none of the items" in complaint("serve", tmp_path / "m.rather", "--items", items)
    monkeypatch.setattr("rather.server.locks.WAIT", 0.0)
    (tmp_path / "fruit.csv.served").mkdir()
    ledger = Ledger(str(tmp_path / "fruit.csv.served" / "votes.sqlite"))
    ledger.take()
    assert "another process serves" in complaint("serve", items, "--port", 0)
    ledger.close()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "give another --port" in complaint("serve", items, "--port", taken.getsockname()[1])


def test_without_what_serving_needs(items, monkeypatch):
    monkeypatch.setitem(sys.modules, "rather.server.serving", None)
    monkeypatch.setattr("rather.server.serving", None, raising=False)
    monkeypatch.delattr("rather.server.serving")
    assert "pip install 'rather[serve]'" in complaint("serve", items)


@pytest.mark.usefixtures("interruptible")
def test_it_ends_well(items, tmp_path):
    """Asked to end, it answers what is under way, lets go of the database, and what was said is in it."""
    server = Process(items, "--state", tmp_path / "state")
    server.start()
    with httpx.Client(base_url=server.url) as browser:
        assert browser.get("/readyz").json() == {"ok": True} and "<title>" in browser.get("/").text
        token = browser.post("/api/question", json={}).json()["question"]["token"]
        assert browser.post("/api/answer", json={"token": token, "reply": "tie"}).status_code == 200
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(HANGS) == 130
    server.process.stdout.close()
    with opened(str(tmp_path / "state" / "votes.sqlite")) as ledger:
        assert ledger.counts(0.0) == (1, 1)
        ledger.take()  # nobody has it any more


# -- items ------------------------------------------------------------------------------------------------------------


def listed(folder, **columns):
    return read(columns, "'items.csv'", folder)


def test_items_and_what_is_said_of_them(tmp_path):
    """Ids, titles, descriptions and pictures, where the table has them."""
    (tmp_path / "below").mkdir()
    for name in ("a.png", "below/b.JPG"):
        (tmp_path / name).write_bytes(PIXEL)
    found = listed(
        tmp_path, item=["a", "b", "c"], title=["Apple", None, " Cherry "], description=["red", "", None],
        picture=["a.png", "below/b.JPG", None],
    )  # fmt: skip
    assert found.documents == [
        {"id": "a", "title": "Apple", "description": "red", "picture": "/pictures/0"},
        {"id": "b", "title": "b", "picture": "/pictures/1"},
        {"id": "c", "title": "Cherry"},
    ]
    assert found.pictures == {0: tmp_path / "a.png", 1: tmp_path / "below" / "b.JPG"}
    assert [d["title"] for d in listed(None, title=["x", "y"], rest=[1, 2]).documents] == ["x", "y"]
    assert listed(None, whatever=[1, 2]).ids == ["1", "2"] and len(only_ids([7, 8])) == 2


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"item": ["a"]}, "lists 1 items; there must be at least two"),
        ({"item": []}, "lists 0 items"),
        ({"item": ["a", "b", "a"]}, "item 'a' in row 2 is listed twice"),
        ({"item": [1, "1"]}, "item"),
        ({"item": ["a", "x" * 501]}, "ids must have 1 to 500 characters"),
        ({"item": ["a", "  "]}, "in row 1 is empty"),
        ({"item": ["a", "b\0c"]}, "no database keeps"),
        ({"item": ["a", "b\ud800"]}, "no database keeps"),
        ({"item": ["a", None]}, "missing"),
        ({"item": [1.5, 2.5]}, "ids must be strings or integers"),
        ({"one": ["a", "b"], "two": ["c", "d"]}, "has no column 'item'"),
    ],
)
def test_bad_tables_of_items(columns, said):
    with pytest.raises(InputError, match=said):
        listed(None, **columns)


@pytest.mark.parametrize(
    ("picture", "said"),
    [
        ("http://evil.example/a.png", "no other server"), ("//evil.example/a.png", "no other server"),
        ("data:image/png;base64,AAAA", "no other server"), ("file:///etc/passwd", "no other server"),
        ("../secret.png", "in the folder of the table"), ("/etc/passwd", "in the folder of the table"),
        ("below/../../secret.png", "in the folder of the table"), ("link.png", "in the folder of the table"),
        ("missing.png", "which is no file"), ("folder.png", "which is no file"), ("items.csv", "pictures must be .png"),
        ("page.html", "pictures must be .png"), ("huge.png", "at most 5,000,000 are shown"),
    ],
)  # fmt: skip
def test_pictures_that_are_refused(tmp_path, picture, said):
    """Of other servers, outside the folder by whatever way, of other kinds, too large, or not there."""
    folder = tmp_path / "items"
    for path in (folder / "below", folder / "folder.png"):
        path.mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(PIXEL)
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    for name in ("page.html", "items.csv"):
        (folder / name).touch()
    with (folder / "huge.png").open("wb") as huge:
        huge.truncate(5_000_001)
    with pytest.raises(InputError, match=said):
        listed(folder, item=["a", "b"], picture=[picture, None])


def test_long_and_odd_texts_are_cut_and_kept(tmp_path):
    """Ten thousand characters, marks that turn text around, and scripts are text; lone surrogates are none."""
    hostile = "<script>alert(1)</script>‮gnp.exe", "x" * 10_000, "\ud800", "&lt;"
    found = listed(None, item=["a", "b", "c", "d"], title=list(hostile), description=list(hostile)).documents
    assert found[0]["title"] == hostile[0] and found[3]["title"] == "&lt;"
    assert len(found[1]["title"]) == LONGEST_TITLE and len(found[1]["description"]) == LONGEST_TEXT
    assert json.dumps(found, ensure_ascii=False).encode()  # what cannot be written is not there


@pytest.mark.parametrize(
    ("options", "seconds"), [((), 60.0), (("--refit",), 60.0), (("--refit", "1"), 60.0), (("--refit", "0.5"), 30.0)]
)
def test_how_often_a_list_is_fitted_again(items, options, seconds):
    """Asking for what a list of items does anyway changes nothing."""
    given = grammar().parse_known_args(["serve", str(items), *options])[0]
    assert serve._settings(given, serving).refit_every == seconds


@pytest.mark.parametrize(
    ("options", "seconds"), [((), None), (("--refit",), 600.0), (("--refit", "1"), 60.0), (("--refit", "0.5"), 30.0)]
)
def test_how_often_a_model_is_fitted_again(tmp_path, options, seconds):
    frame = {"user": [1, 1, 2, 2], "winner": ["a", "b", "a", "c"], "loser": ["b", "c", "c", "b"]}
    model = AltSVM(rank=1, reg=5.0).fit(Comparisons.from_frame(frame, user="user", winner="winner", loser="loser"))
    model._crowd()
    model.save(tmp_path / "m.rather", comparisons=True)
    given = grammar().parse_known_args(["serve", str(tmp_path / "m.rather"), *options])[0]
    settings = serve._settings(given, serving)
    assert settings.refit_every == seconds and (settings.base_path is None) == (seconds is None)


def test_the_state_is_beside_the_file(items, tmp_path):
    """Votes, models and secrets are in a folder of the file's name unless another is named."""
    options = grammar().parse_known_args(["serve", str(items)])[0]
    settings = serve._settings(options, serving)
    assert settings.state == tmp_path / "fruit.csv.served" and settings.listed.ids == list(ITEMS)
    assert settings.title == "fruit" and settings.refit_every == 60.0 and settings.base is None
