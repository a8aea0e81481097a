"""Newer models: fitted in the background when enough was said, swapped in one step, refused when they are damaged."""

import asyncio
import json
import logging
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="what serving needs is not installed: pip install 'rather[serve]'")

import sqlalchemy

import rather
from rather import AltSVM, Comparisons
from rather.server import refits
from rather.server.ledger import answers
from rather.server.listed import only_ids
from rather.server.refits import FEW, needed, newest, opened
from serving_here import ITEMS, Here


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A server of a list of fruit, that looks often."""
    monkeypatch.setattr(refits, "LOOK", 0.01)
    with Here(tmp_path, refit_every=0.01) as made:
        yield made


def votes_of(frame):
    return Comparisons.from_frame(frame, user="user", winner="winner", loser="loser")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The file of a model that knows the fruit."""
    path = tmp_path_factory.mktemp("model") / "1.rather"
    pairs = [(f"p{k}", a, b) for k in range(20) for n, a in enumerate(ITEMS) for b in ITEMS[n + 1 + k % 2 :]]
    user, winner, loser = zip(*pairs, strict=True)
    fitted = AltSVM(rank=2, reg=5.0).fit(votes_of({"user": user, "winner": winner, "loser": loser}))
    fitted.calibrate()
    fitted._crowd()
    fitted.save(path)
    return path


def fits_by(monkeypatch, made):
    """Instead of a fit: a file of these bytes, or what comes of an ending with this."""
    calls = []

    class Process:
        returncode = 0

        async def communicate(self, task):
            calls.append(json.loads(task))
            if isinstance(made, Exception):
                self.returncode = 2
                return b"", f"{made}\n".encode()
            Path(calls[-1]["out"]).write_bytes(made)
            return b"", b""

        def kill(self):
            pass

    async def start(*_, **__):
        return Process()

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    return calls


def answered(here, n, browser=None):
    """So many answers, of as many people as that takes; how many of each reply is a coin's."""
    for k in range(n):
        if k % 10 == 0:
            browser = here.another_browser()
        asked = here.question(browser=browser)
        ahead = "left" if asked["left"]["id"] < asked["right"]["id"] else "right"
        assert here.answer(asked["token"], ahead, browser=browser).status_code == 200


def test_how_many_answers_a_first_fit_takes():
    assert [needed(n) for n in (2, 8, 100, 10**6)] == [FEW, FEW, 200, 5000]


def test_enough_answers_are_fitted_and_put_in_place(tmp_path, here, monkeypatch):
    """Not before there are enough; then by a process of its own, from the ledger; and nothing that was said is lost."""
    calls = []
    real = asyncio.create_subprocess_exec

    async def counted(*command, **rest):
        calls.append(command)
        return await real(*command, **rest)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", counted)
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    monkeypatch.setattr("rather.server.refits.GROWN", 10.0)  # once is enough here
    answered(here, FEW - 1)
    assert here.get("/api/about").json()["collecting"] == {"answers": FEW - 1, "needed": FEW}
    here.wait(asyncio.sleep(0.1))
    assert not calls and here.desk.knowledge.model is None
    asked = here.question()
    here.answer(asked["token"])
    here.until(lambda: here.served.refits.fitted + here.served.refits.failed)
    assert here.served.refits.last is None and len(calls) == 1
    about = here.get("/api/about").json()
    (path,) = (tmp_path / "models").iterdir()
    assert about["model"] == refits.version_of(path) and about["collecting"] is None and about["answers"] == FEW
    assert here.get("/api/answers").json()["answers"][0]["token"] == asked["token"] and len(here.rows(answers)) == FEW
    places = {row["item"]["id"]: row["place"] for row in here.get("/api/ranking?who=everyone&limit=8").json()["rows"]}
    assert sum(places[name] for name in ITEMS[:4]) < sum(places[name] for name in ITEMS[4:])
    assert sorted(rather.load(path).items_.tolist()) == sorted(ITEMS)
    again = here.answer(here.question()["token"]).json()
    assert again["answered"] == 2 and again["question"]["probability"] is not None


def test_a_swap_keeps_what_everybody_said(here, monkeypatch, model):
    """Answers before and after a swap stand, the open question stays open, and the old model is let go."""
    token = here.question()["token"]
    news = here.answer(token).json()
    here.get("/api/ranking")
    before = here.desk.knowledge
    here.desk.swap(opened(model, here.desk.listed))
    assert all(visitor._known is None for visitor in here.desk.visitors._here.values())
    assert here.question() == news["question"] and here.desk.knowledge is not before
    assert here.answer(news["question"]["token"]).json()["answered"] == 2
    assert [a["token"] for a in here.get("/api/answers").json()["answers"]] == [news["question"]["token"], token]


@pytest.mark.parametrize("damage", ["empty", "noise", "cut", "flipped", "another", "not one"])
def test_a_damaged_model_is_refused(tmp_path, here, monkeypatch, model, damage, caplog):
    """The one that is in place stays, the file goes, the failure is told to whoever runs it, and answers go on."""
    whole = model.read_bytes()
    other = tmp_path / "other"
    AltSVM(rank=1, reg=5.0).fit(votes_of({"user": [1, 1, 2], "winner": [1, 2, 1], "loser": [2, 3, 3]})).save(other)
    made = {
        "empty": b"", "noise": bytes(range(256)) * 40, "cut": whole[: len(whole) // 2],
        "flipped": whole[:-40] + bytes(b ^ 0xFF for b in whole[-40:]), "another": other.read_bytes(),
        "not one": RuntimeError("the fit ran out of memory"),
    }[damage]  # fmt: skip
    knowledge = opened(model, here.desk.listed)
    here.desk.swap(knowledge)
    calls = fits_by(monkeypatch, made)
    caplog.set_level(logging.ERROR, "rather.serve")
    answered(here, FEW)
    here.until(lambda: here.served.refits.failed)
    assert calls and here.served.refits.fitted == 0 and here.desk.knowledge is knowledge
    assert not list((tmp_path / "models").iterdir())
    assert "rather_refits_failed 1.0" in here.as_admin("/metrics").text
    answered(here, 3)
    assert len(here.rows(answers)) == FEW + 3


def test_the_newest_that_can_be_opened(tmp_path, here, model, caplog):
    """After a restart: what is damaged is passed over, and said."""
    caplog.set_level(logging.ERROR, "rather.serve")
    listed, folder = here.desk.listed, tmp_path / "some"
    folder.mkdir()
    assert newest(folder, listed) is None
    (folder / "1.rather").write_bytes(model.read_bytes())
    (folder / "2.rather").write_bytes(model.read_bytes()[:-100])
    (folder / "3.rather").write_bytes(b"")
    (folder / "4.rather").mkdir()
    assert newest(folder, listed).version == refits.version_of(model)


def test_only_so_many_models_are_kept(tmp_path, here, monkeypatch, model):
    fits_by(monkeypatch, model.read_bytes())
    for _ in range(5):
        assert here.wait(here.served.refits.once())
    assert len(list((tmp_path / "models").iterdir())) == refits.KEPT


def test_a_ledger_that_does_not_answer_ends_no_refits(here, monkeypatch, model):
    """They go on when it does."""
    calls = fits_by(monkeypatch, model.read_bytes())
    looked = []

    def broken(*_):
        looked.append(1)
        raise sqlalchemy.exc.OperationalError("select", {}, OSError("gone"))

    with monkeypatch.context() as patch:
        patch.setattr(logging.getLogger("rather.serve"), "disabled", True)
        patch.setattr(here.ledger, "counts", broken)
        here.until(lambda: len(looked) > 2)
    answered(here, FEW)
    here.until(lambda: calls)


def test_a_scripts_votes_are_left_out_of_fits(tmp_path):
    """All that was said too fast for anybody is kept, and a fit of nothing but that has nothing to learn from."""
    with Here(tmp_path, hasty=True) as here:
        answered(here, 12)
        assert len(here.rows(answers)) == 12
        with pytest.raises(rather.InputError, match="12 that look like a script's"):
            refits.fit(str(here.ledger.url.database), None, str(tmp_path / "m"))


def test_a_model_is_fitted_again_with_what_it_was_fitted_to(tmp_path, here, model):
    """The base model's votes and the ledger's are both in the next one."""
    answered(here, 20)
    refits.fit(str(here.ledger.url.database), str(model), str(tmp_path / "m"))
    base, after = rather.load(model), rather.load(tmp_path / "m")
    assert len(after.users_) == len(base.users_) + 2 and set(base.users_) < set(after.users_)


def test_votes_that_are_in_the_base_too_count_once(tmp_path, here):
    """A model fitted to the ledger itself, fitted again to that and the ledger, has learned nothing new."""
    answered(here, 20)
    database = str(here.ledger.url.database)
    refits.fit(database, None, str(tmp_path / "once"))
    refits.fit(database, str(tmp_path / "once"), str(tmp_path / "again"))
    once, again = (rather.load(tmp_path / name) for name in ("once", "again"))
    assert len(again._fitted_to) == len(once._fitted_to) == 20 and again.reg_ == once.reg_


def test_another_model_of_the_same_name_is_served_itself(tmp_path, monkeypatch, model):
    """What was fitted again from the file that was there before is no successor of the one that is there now."""
    fits_by(monkeypatch, model.read_bytes())
    other = tmp_path / "other.rather"
    votes = {"user": ["a", "b"] * 6, "winner": ITEMS[:4] * 3, "loser": ITEMS[1:5] * 3}
    fitted = AltSVM(rank=1, reg=5.0).fit(votes_of(votes))
    fitted.calibrate()
    fitted._crowd()
    fitted.save(other)
    for path in (other, model, other):
        base = opened(path, only_ids(ITEMS))
        with Here(tmp_path / "state", base=base, base_path=str(path), refit_every=60.0) as served:
            refitted = served.desk.knowledge.version
            assert refitted == (base.version if path is model else refitted)
            assert served.wait(served.served.refits.once())
    assert refitted == refits.version_of(model)  # what the first one's refit made, the second time it is served


def test_people_and_items_that_are_numbers(tmp_path):
    """A model whose ids are numbers is fitted again like any other; items that are none cannot join it."""
    path = tmp_path / "numbers"
    user, winner, loser = zip(*[(n % 5, n % 4, (n + 1 + n % 3) % 4) for n in range(40)], strict=True)
    numbers = {"user": user, "winner": winner, "loser": loser}
    AltSVM(rank=1, reg=5.0).fit(votes_of(numbers)).save(path)
    with Here(tmp_path / "state", listed=only_ids(["0", "1", "2", "3", "10"])) as here:
        answered(here, 12)
        refits.fit(here.ledger.address, str(path), str(tmp_path / "m"))
    base, after = rather.load(path), rather.load(tmp_path / "m")
    assert len(after._fitted_to) == len(numbers["user"]) + 12 and set(after.items_) == {0, 1, 2, 3, 10}
    refits.check_base(base, "numbers", only_ids(["0", "7"]))
    with pytest.raises(rather.InputError, match="'tea' is none"):
        refits.check_base(base, "numbers", only_ids(["0", "tea"]))


def test_what_votes_cannot_join(tmp_path):
    """A model without what it was fitted to, and one that was fitted to ratings."""
    user, item, rating = zip(*[(u, i, (u * i) % 5 + 1) for u in range(8) for i in range(6)], strict=True)
    frame = {"user": user, "item": item, "rating": rating}
    rated = AltSVM(rank=1, reg=5.0).fit(Comparisons.from_ratings(frame, "user", "item", "rating"))
    rated.save(tmp_path / "bare", comparisons=False)
    rated.save(tmp_path / "rated")
    for name, said in (("bare", "without --slim"), ("rated", "which votes cannot join")):
        with pytest.raises(rather.InputError, match=said):
            refits.check_base(rather.load(tmp_path / name), name, only_ids(ITEMS))
