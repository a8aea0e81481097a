"""Newer models: fitted in the background when enough was said, swapped in one step, refused when they are damaged."""

import asyncio
import json
import logging
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("fastapi", reason="what serving needs is not installed: pip install 'rather[serve]'")

import numpy as np
import sqlalchemy

import rather
from rather import AltSVM, Comparisons
from rather.server import panels, refits
from rather.server.knowledge import Knowledge
from rather.server.ledger import answers, hashed
from rather.server.listed import only_ids
from rather.server.refits import FEW, PEOPLE, needed, newest, opened
from serving_here import ITEMS, Here, Process, items_file


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


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """The file of another such model."""
    path = tmp_path_factory.mktemp("other") / "other.rather"
    votes = {"user": ["a", "b"] * 6, "winner": ITEMS[:4] * 3, "loser": ITEMS[1:5] * 3}
    fitted = AltSVM(rank=1, reg=5.0).fit(votes_of(votes))
    fitted.calibrate()
    fitted._crowd()
    fitted.save(path, comparisons=True)
    return path


def fits_by(monkeypatch, made):
    """Instead of a fit: a file of these bytes, or what comes of an ending with this."""
    calls = []

    class Process:
        returncode = None

        def __init__(self):
            self.stdin, self.stderr = SimpleNamespace(write=self.write, close=lambda: None), self

        def write(self, task):
            calls.append(json.loads(task))

        async def read(self):
            if isinstance(made, Exception):
                return f"{made}\n".encode()
            Path(calls[-1]["out"]).write_bytes(made)
            return b""

        async def wait(self):
            self.returncode = 2 if isinstance(made, Exception) else 0

        def kill(self):
            pass

    async def start(*_, **__):
        return Process()

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    return calls


def answered(here, n, each=FEW // PEOPLE, browser=None):
    """So many answers, ``each`` of one person, who prefer what comes first in the alphabet."""
    for k in range(n):
        if k % each == 0:
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
    collecting = here.get("/api/about").json()["collecting"]
    assert collecting == {"answers": FEW - 1, "needed": FEW, "people": PEOPLE, "people_needed": PEOPLE}
    assert not here.wait(here.served.refits._is_due()) and not calls and here.desk.knowledge.model is None
    asked = here.question()
    here.answer(asked["token"])
    here.until(lambda: here.served.refits.fitted + here.served.refits.failed)
    assert here.served.refits.last is None and len(calls) == 1
    about = here.get("/api/about").json()
    (path,) = (tmp_path / "models").glob("*.rather")
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


def test_the_newest_that_can_be_opened(tmp_path, here, model, other, caplog):
    """After a restart the newest whole model is served; a damaged one is passed over, and the log says so."""
    caplog.set_level(logging.ERROR, "rather.serve")
    listed, folder = here.desk.listed, tmp_path / "some"
    folder.mkdir()
    assert newest(folder, listed) == (None, 0)
    (folder / "1-30.rather").write_bytes(other.read_bytes())
    (folder / "2-40.rather").write_bytes(model.read_bytes())
    (folder / "3-50.rather").write_bytes(model.read_bytes()[:-100])
    (folder / "4-60.rather").write_bytes(b"")
    (folder / "5.rather").mkdir()
    found, answers = newest(folder, listed)
    assert (found.version, answers) == (refits.version_of(model), 40)
    (folder / "2-40.rather").rename(folder / "0.rather")  # by an older name
    found, answers = newest(folder, listed)
    assert (found.version, answers) == (refits.version_of(other), 30)
    (folder / "1-30.rather").unlink()
    assert newest(folder, listed)[1] == 0


def test_only_the_newest_models_are_kept(tmp_path, here, monkeypatch, model):
    """With what lies beside each."""
    calls = fits_by(monkeypatch, model.read_bytes())
    for _ in range(5):
        assert here.wait(here.served.refits.once())
        Path(calls[-1]["out"]).with_suffix(refits.APART).touch()
    want = [Path(call["out"]).name for call in calls[-refits.KEPT :]]
    assert sorted(path.name for path in (tmp_path / "models").glob("*.rather")) == want
    assert sorted(path.stem for path in (tmp_path / "models").glob("*.apart")) == [name[:-7] for name in want]


def test_how_many_new_answers_another_fit_takes(monkeypatch):
    """A twentieth of those at the last fit, and at least one, with a base model and without."""
    said = 0
    ledger = SimpleNamespace(counts=lambda _: (PEOPLE, said))
    monkeypatch.setattr(refits, "counted", lambda _: (PEOPLE, said))
    for base, last, due in ((None, 100, 105), (None, 205, 215), ("a.rather", 10, 11), ("a.rather", 0, 1)):
        made = refits.Refits(ledger, Path(), only_ids(ITEMS), base, 1.0, None, last)
        for said in range(last, due + 1):
            assert asyncio.run(made._is_due()) == (said == due)


def test_one_person_is_no_crowd(tmp_path, monkeypatch, model):
    """However many answers there are, a first model takes five people as well."""
    fits_by(monkeypatch, model.read_bytes())
    with Here(tmp_path, listed=only_ids([*ITEMS, *"ijklmn"]), refit_every=1e9) as here:
        answered(here, 2 * FEW, each=2 * FEW)
        collecting = here.get("/api/about").json()["collecting"]
        assert collecting == {"answers": 2 * FEW, "needed": FEW, "people": 1, "people_needed": PEOPLE}
        assert "rather_people_until_first_fit 4.0" in here.as_admin("/metrics").text
        assert not here.wait(here.served.refits._is_due())
        answered(here, PEOPLE - 2, each=1)
        assert not here.wait(here.served.refits._is_due())
        answered(here, 1)
        assert here.wait(here.served.refits._is_due())


def of_one_side(here, n):
    """A script's answers: all of them on the left."""
    browser = here.another_browser()
    for _ in range(n):
        assert here.answer(here.question(browser=browser)["token"], "left", browser=browser).status_code == 200


def test_scripts_are_no_crowd(tmp_path, monkeypatch, model):
    """Neither their answers nor they themselves count towards a first model, which is not fitted to them."""
    fits_by(monkeypatch, model.read_bytes())
    with Here(tmp_path, listed=only_ids([*ITEMS, *"ijklmn"]), refit_every=1e9) as here:
        answered(here, 6)
        for _ in range(PEOPLE - 1):
            of_one_side(here, FEW)
        assert here.ledger.counts(0.0) == (PEOPLE, 6 + 4 * FEW)
        for _ in range(2):
            assert not here.wait(here.served.refits._is_due())
        collecting = here.get("/api/about").json()["collecting"]
        assert collecting == {"answers": 6, "needed": FEW, "people": 1, "people_needed": PEOPLE}
        assert "rather_people_until_first_fit 4.0" in here.as_admin("/metrics").text
        assert f"rather_answers_until_first_fit {FEW - 6}.0" in here.as_admin("/metrics").text
        answered(here, FEW - 7)
        assert not here.wait(here.served.refits._is_due())
        answered(here, 1)
        assert here.wait(here.served.refits._is_due()) and here.served.refits._answers == FEW
        of_one_side(here, FEW)
        assert not here.wait(here.served.refits._is_due())  # nothing is new but what a script said
        answered(here, 1)
        assert here.wait(here.served.refits._is_due())


def test_scripts_are_counted_seldom(tmp_path, monkeypatch, model):
    """All marks are worked out again only once as many answers came as a fit lacks."""
    fits_by(monkeypatch, model.read_bytes())
    looks = []
    monkeypatch.setattr(refits, "counted", lambda ledger: looks.append(1) or (PEOPLE, FEW - 10))
    with Here(tmp_path, refit_every=1e9) as here:
        answered(here, FEW)
        for more in (0, 9, 1):
            answered(here, more)
            assert not here.wait(here.served.refits._is_due())
    assert len(looks) == 2


def test_a_restart_without_new_votes_fits_nothing(tmp_path, monkeypatch, model):
    """How many answers were fitted is on disk; enough new ones are fitted after a restart as before it."""
    calls = fits_by(monkeypatch, model.read_bytes())
    for start in range(3):
        with Here(tmp_path, refit_every=1e9) as here:
            if start == 0:
                answered(here, FEW)
            assert here.wait(here.served.refits._is_due()) == (start == 0)
            if start == 0:
                assert here.wait(here.served.refits.once())
            assert here.desk.knowledge.version == refits.version_of(model) and len(calls) == 1
    with Here(tmp_path, refit_every=1e9) as here:
        answered(here, 2)
        assert here.wait(here.served.refits._is_due())
    fits_by(monkeypatch, RuntimeError("no memory"))
    with Here(tmp_path, refit_every=1e9) as here:
        assert here.wait(here.served.refits._is_due()) and not here.wait(here.served.refits.once())
        assert not here.wait(here.served.refits._is_due())  # what failed is not tried at once again
    with Here(tmp_path, refit_every=1e9) as here:
        assert here.wait(here.served.refits._is_due())  # a restart tries again what was never fitted


def fitting(database, out):
    """A process that fits, as the server starts it."""
    command = [sys.executable, "-m", "rather.server.refits"]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    started.stdin.write(json.dumps({"database": database, "base": None, "out": str(out)}).encode() + b"\n")
    started.stdin.flush()
    return started


def test_fits_follow_one_another_and_end_with_their_server(tmp_path):
    """A fit waits for another one in its folder, ends when the server is gone, and goes on when the other is done."""
    with Here(tmp_path / "state") as here:
        answered(here, 12)
        database = here.ledger.address
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / ".1.unfinished").touch()
    (folder / "1.apart").touch()
    with refits._alone_in(folder):
        assert not list(folder.iterdir())  # what an ended fit left behind is gone
        orphan = fitting(database, folder / "1-12.rather")
        orphan.stdin.close()
        assert orphan.wait(60) == 1 and not list(folder.iterdir())
        second = fitting(database, folder / "2-12.rather")
    assert second.wait(120) == 0, second.stderr.read()
    assert {path.name for path in folder.iterdir()} == {"2-12.rather", "2-12.apart"}
    second.stdin.close()
    for process in (orphan, second):
        process.stderr.close()


def test_a_server_that_is_killed_takes_its_fit_along(tmp_path):
    """Its end of the pipe is closed by the system, however it ends."""
    with Here(tmp_path / "state") as here:
        answered(here, FEW)
    server = Process(items_file(tmp_path), "--state", tmp_path / "state", "--refit", 1e-4)
    with refits._alone_in(tmp_path / "state" / "models"):  # a fit begins, and waits
        server.start()
        fit = child_of(server.process.pid)
        server.kill()
        until_gone(fit)


def child_of(pid):
    """The process that another one starts; it must within a minute."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    if not children.exists():
        pytest.skip("this system does not list the children of a process")
    return looked_for(lambda: next(iter(map(int, children.read_text().split())), None))


def until_gone(pid):
    looked_for(lambda: not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text() or None)


def looked_for(find):
    """What is found, as soon as it is."""
    for _ in range(6000):
        found = find()
        if found is not None:
            return found
        time.sleep(0.01)
    raise AssertionError("it does not happen")


def test_one_server_has_a_folder(tmp_path, monkeypatch):
    """A second one with votes elsewhere would share the token, the cookie's name and the models."""
    monkeypatch.setattr("rather.server.locks.WAIT", 0.0)
    with (
        Here(tmp_path, str(tmp_path / "a.sqlite")),
        pytest.raises(rather.InputError, match="another process serves from the folder"),
    ):
        Here(tmp_path, str(tmp_path / "b.sqlite"))
    with Here(tmp_path, str(tmp_path / "b.sqlite")) as here:
        assert here.get("/readyz").status_code == 200


def test_own_answers_count_once(tmp_path):
    """What is known of a visitor comes from fits without them: of two who disagree, each begins with the other's."""
    listed = only_ids(ITEMS)
    with Here(tmp_path / "state", listed=listed) as here:
        browsers = [here.another_browser() for _ in range(2)]
        for k, browser in enumerate(browsers):
            for _ in range(20):
                asked = here.question(browser=browser)
                first = asked["left"]["id"] < asked["right"]["id"]
                here.answer(asked["token"], "left" if first == (k == 0) else "right", browser=browser)
        keys = [hashed(browser.cookies[here.cookie]) for browser in browsers]
        out = tmp_path / "1.rather"
        refits.fit(here.ledger.address, None, str(out))
        knowledge = opened(out, listed)
        up, down = (knowledge.of(key).belief([]).expected(np.arange(8)) for key in reversed(keys))
        assert np.corrcoef(up, np.arange(8))[0, 1] < -0.8 and np.corrcoef(down, np.arange(8))[0, 1] > 0.8
        assert knowledge.of("somebody new") is knowledge
        here.desk.swap(knowledge)
        for key, browser in zip(keys, browsers, strict=True):
            visitor = here.desk.visitors._here[key]
            shown = here.get("/api/ranking?limit=8", browser=browser).json()
            own, said = knowledge.of(key), visitor.said(here.desk.code)
            want = own.belief(said).expected(np.arange(8))
            assert [row["item"]["id"] for row in shown["rows"]] == [ITEMS[j] for j in np.argsort(-want)]
            assert shown["settled"] == panels.ranking(own, own.belief(said), said, 8)["settled"]


def test_one_persons_fit_knows_nothing_of_that_person(tmp_path):
    """Where nobody else has answered, a first fit changes nothing of what is known of the only visitor."""
    listed = only_ids(ITEMS)
    with Here(tmp_path / "state", listed=listed) as here:
        answered(here, 20, each=20, browser=None)
        (key,) = here.desk.visitors._here
        said = here.desk.visitors._here[key].said(here.desk.code)
        refits.fit(here.ledger.address, None, str(tmp_path / "1.rather"))
    before, after = Knowledge(listed), opened(tmp_path / "1.rather", listed).of(key)
    first, second = (panels.ranking(one, one.belief(said), said, 8) for one in (before, after))
    assert first["settled"] == second["settled"] and after.model is None


def test_visitors_of_a_base_model_are_its_own_users(tmp_path):
    """A model that was fitted to these votes elsewhere knows them as its users, whose answers it was fitted to."""
    listed = only_ids(ITEMS)
    with Here(tmp_path / "state", listed=listed) as here:
        answered(here, 24)
        refits.fit(here.ledger.address, None, str(tmp_path / "m.rather"))
    (tmp_path / "m.apart").unlink()
    knowledge = opened(tmp_path / "m.rather", listed)
    model = knowledge.model
    for key in model.users_.tolist():
        np.testing.assert_array_equal(knowledge.of(key).items.noise, model._items_met(newcomer=False).noise)
    np.testing.assert_array_equal(knowledge.of("0" * 32).items.noise, model._items_met(newcomer=True).noise)


def test_numbers_out_of_proportion_are_refused(tmp_path, monkeypatch, model):
    """A model whose items are worth more than anything can be is not served, nor one whose folds are."""
    listed = only_ids(ITEMS)
    assert opened(model, listed)
    broken = rather.load(model)
    broken.fitted.scorer.V = (
        broken.fitted.scorer.V * np.where(np.arange(8) == 3, np.float32(1e20), np.float32(1))[:, None]
    )  # one item
    with monkeypatch.context() as patch, pytest.raises(rather.InputError, match="out of all proportion"):
        patch.setattr(refits, "load", lambda _: broken)
        opened(model, listed)
    (tmp_path / "2.rather").write_bytes(model.read_bytes())
    for worth, said in ((1e13, "out of all proportion"), (np.nan, "out of all proportion"), (1.0, None)):
        offset = np.where(np.arange(8) == 3, worth, 1.0)
        parts = {"Z_0": np.zeros((8, 2)), "offset_0": offset, "noise_0": np.ones(8), "sway_0": np.zeros(2)}
        with (tmp_path / "2.apart").open("wb") as file:
            np.savez(file, visitors=np.array(["v"]), fold=np.array([0]), **parts)
        if said is None:
            assert set(opened(tmp_path / "2.rather", listed).apart) == {"v"}
            continue
        with pytest.raises(rather.InputError, match=said):
            opened(tmp_path / "2.rather", listed)


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
            refits.fit(str(here.ledger.url.database), None, str(tmp_path / "models" / "m"))


def test_a_model_is_fitted_again_with_what_it_was_fitted_to(tmp_path, here, model):
    """The base model's votes and the ledger's are both in the next one."""
    answered(here, 20)
    refits.fit(str(here.ledger.url.database), str(model), str(tmp_path / "models" / "m"))
    base, after = rather.load(model), rather.load(tmp_path / "models" / "m")
    assert len(after.users_) == len(base.users_) + 4 and set(base.users_) < set(after.users_)


def test_votes_that_are_in_the_base_too_count_once(tmp_path, here):
    """A model fitted to the ledger itself, fitted again to that and the ledger, has learned nothing new."""
    answered(here, 20)
    database = str(here.ledger.url.database)
    refits.fit(database, None, str(tmp_path / "models" / "once"))
    refits.fit(database, str(tmp_path / "models" / "once"), str(tmp_path / "models" / "again"))
    once, again = (rather.load(tmp_path / "models" / name) for name in ("once", "again"))
    assert len(again.fitted.training) == len(once.fitted.training) == 20 and again.reg_ == once.reg_


def test_another_model_of_the_same_name_is_served_itself(tmp_path, monkeypatch, model, other):
    """What was fitted again from the file that was there before is no successor of the one that is there now."""
    fits_by(monkeypatch, model.read_bytes())
    for path in (other, model, other):
        base = opened(path, only_ids(ITEMS))
        with Here(tmp_path / "state", base=base, base_path=str(path), refit_every=60.0) as served:
            refitted = served.desk.knowledge.version
            assert refitted == (base.version if path is model else refitted)
            assert served.wait(served.served.refits.once())
    assert refitted == refits.version_of(model)  # what the first one's refit made, the second time it is served


def said_by(model, user):
    """A user's votes in what a model was fitted to."""
    frame = model.fitted.training.to_frame("dict")
    rows = zip(*(np.asarray(frame[name]).tolist() for name in ("user", "winner", "loser")), strict=True)
    return sorted(row for row in rows if row[0] == user)


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
    assert len(after.fitted.training) == len(numbers["user"]) + 12 and set(after.items_) == {0, 1, 2, 3, 10}
    assert set(after.users_) == set(range(5 + 2))  # visitors get numbers that nobody has
    for user in range(5):
        assert said_by(after, user) == said_by(base, user)
    assert len(opened(tmp_path / "m", only_ids(["0", "1", "2", "3", "10"])).apart) == 2
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
