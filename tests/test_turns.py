"""Questions, answers, undos: an answer counts once, for whom it was asked, and is in the ledger before that is said."""

import asyncio
import hashlib
import itertools
import threading

import pytest

pytest.importorskip("fastapi", reason="what serving needs is not installed: pip install 'rather[serve]'")

from rather.server import desk as desks
from rather.server import visitors as visiting
from rather.server.ledger import answers, hashed, questions, shares, undos, visitors
from rather.server.listed import only_ids
from rather.server.writer import Writer
from serving_here import ITEMS, KINDS, Here, fresh_database


@pytest.fixture(params=KINDS)
def database(request, tmp_path):
    with fresh_database(request.param, tmp_path) as url:
        yield url


@pytest.fixture
def here(tmp_path, database):
    with Here(tmp_path, database) as made:
        yield made


def own_answers(here, **rest):
    return [(a["token"], a["reply"]) for a in here.get("/api/answers", **rest).json()["answers"]]


def test_a_question_is_a_row_before_it_is_told(here):
    """With who is asked what, by which policy and with which chance; and stays the same until it is answered."""
    first = here.question()
    (row,) = here.rows(questions)
    assert (row["token"], row["left_item"], row["right_item"]) == (
        first["token"],
        first["left"]["id"],
        first["right"]["id"],
    )
    assert row["policy"] == "random" and row["chance"] == pytest.approx(1 / 28) and row["model"] is None
    assert here.question() == first and len(here.rows(questions)) == 1


def test_an_answer_is_kept_with_what_was_said(here):
    first = here.question()
    news = here.post("/api/answer", {"token": first["token"], "reply": "unseen left", "seconds": 1.5}).json()
    assert news["answered"] == 1 and not news["repeated"] and news["question"]["token"] != first["token"]
    (row,) = here.rows(answers)
    assert (row["token"], row["reply"], row["seconds"]) == (first["token"], "unseen left", 1.5)
    assert row["answered"] >= next(q["asked"] for q in here.rows(questions) if q["token"] == first["token"])
    assert here.question()["token"] == news["question"]["token"]
    shown = {here.question()[side]["id"] for side in ("left", "right")}
    assert first["left"]["id"] not in shown  # who does not know it is not asked about it


def test_a_repeated_answer_says_so_and_changes_nothing(here):
    token = here.question()["token"]
    news = here.answer(token).json()
    for _ in range(3):
        again = here.answer(token)
        assert again.status_code == 200 and again.json() == {**news, "repeated": True}
    assert len(here.rows(answers)) == 1 and here.get("/api/about").json()["answers"] == 1


def test_another_answer_to_the_same_question_is_refused(here):
    token = here.question()["token"]
    here.answer(token, "left")
    refused = here.answer(token, "right")
    assert refused.status_code == 409 and "what you said first stands" in refused.json()["error"]
    assert own_answers(here) == [(token, "left")] and len(here.rows(answers)) == 1


def test_forged_and_others_tokens_are_refused(here):
    """A token that was made up, and one of somebody else's, are the same to whoever gives them: none of theirs."""
    mine, other = here.question()["token"], here.another_browser()
    theirs = here.question(browser=other)["token"]
    here.answer(theirs, browser=other)
    for path, body in itertools.product(("/api/answer", "/api/undo"), ("A" * 22, theirs)):
        sent = {"token": body} if path == "/api/undo" else {"token": body, "reply": "left"}
        refused = here.post(path, sent)
        assert refused.status_code == 404 and set(refused.json()) == {"error"}
    assert here.post("/api/undo", {"token": mine}).status_code == 404  # not answered yet
    assert [row["token"] for row in here.rows(answers)] == [theirs] and not here.rows(undos)
    assert own_answers(here) == [] and own_answers(here, browser=other) == [(theirs, "left")]


def test_who_was_never_asked_cannot_answer(here):
    """Without a cookie, and with one that is nobody's, there is nothing to answer, and nothing of anybody's to read."""
    token = here.question()["token"]
    here.answer(token)
    nobody, made_up = here.another_browser(), here.another_browser()
    made_up.cookies.set(here.cookie, "made-up", domain="localhost.local")
    for browser in (nobody, made_up):
        assert here.answer(token, browser=browser).status_code == 404
        assert here.post("/api/undo", {"token": token}, browser=browser).status_code == 404
        assert here.post("/api/share", browser=browser).status_code == 404
        assert here.get("/api/whatif", browser=browser).status_code == 404
        assert own_answers(here, browser=browser) == []
        assert here.get("/api/ranking", browser=browser).json()["answered"] == 0
    assert len(here.rows(visitors)) == 1 and len(here.rows(answers)) == 1
    reply = here.post("/api/question", browser=made_up)
    assert reply.status_code == 200 and "made-up" not in reply.headers["set-cookie"]
    assert len(here.rows(visitors)) == 2


def test_undo_asks_again(here):
    """The answer stays in the ledger, does not count, and the same two are asked about again; undoing twice says so."""
    first = here.question()
    here.answer(first["token"], "left")
    news = here.post("/api/undo", {"token": first["token"]}).json()
    again = news["question"]
    assert (again["left"], again["right"]) == (first["left"], first["right"]) and again["token"] != first["token"]
    assert news["answered"] == 0 and own_answers(here) == [] and here.desk.people == here.desk.answers == 0
    repeated = here.post("/api/undo", {"token": first["token"]}).json()
    assert repeated == {**news, "repeated": True}
    assert len(here.rows(answers)) == len(here.rows(undos)) == 1 and len(here.rows(questions)) == 3
    here.answer(again["token"], "right")
    assert own_answers(here) == [(again["token"], "right")] and here.ledger.counts(0.0) == (1, 1)
    for reply in ("left", "right"):
        refused = here.answer(first["token"], reply)
        assert refused.status_code == 409 and "took that answer back" in refused.json()["error"]


def test_the_ranking_is_ones_own(here):
    """Answers move the list of whoever gave them, and of nobody else."""
    other = here.another_browser()
    here.question(browser=other)
    before = here.get("/api/ranking?limit=8", browser=other).json()
    for _ in range(12):
        asked = here.question()
        ahead = "left" if asked["left"]["id"] < asked["right"]["id"] else "right"
        here.answer(asked["token"], ahead)
    mine = here.get("/api/ranking?limit=8").json()
    places = {row["item"]["id"]: row["place"] for row in mine["rows"]}
    assert mine["answered"] == 12 and set(places) == set(ITEMS)
    assert sum(places[name] for name in ITEMS[:4]) < sum(places[name] for name in ITEMS[4:])
    assert here.get("/api/ranking?limit=8", browser=other).json() == before


def test_the_ranking_says_of_how_many_first_it_tells(tmp_path):
    """The probability of being among the first comes with their number: three, of two items two."""
    for ids, top in ((ITEMS, 3), (ITEMS[:2], 2)):
        with Here(tmp_path / str(top), listed=only_ids(ids)) as here:
            here.answer(here.question()["token"])
            got = here.get("/api/ranking").json()
            assert got["top_of"] == top == round(sum(row["top"] for row in got["rows"]))


def test_differences_name_their_interval(here):
    """Bars are of an interval, which the document and its description name."""
    here.question()
    assert here.get("/api/difference").json() == {"rows": [], "interval": 0.9, "answered": 0}
    described = here.get("/openapi.json").json()["components"]["schemas"]["Differences"]
    assert "interval" in described["required"]


def test_a_share_shows_the_ranking_and_no_answers(here):
    """To anybody with the link; whose secret is only kept hashed."""
    token = here.question()["token"]
    here.answer(token)
    path = here.post("/api/share").json()["path"]
    assert here.post("/api/share").json()["path"] == path and len(here.rows(shares)) == 1
    stranger = here.another_browser()
    shown = here.get(f"/api{path}?limit=8", browser=stranger)
    assert shown.status_code == 200 and shown.json() == here.get("/api/ranking?limit=8").json()
    assert token not in shown.text and "set-cookie" not in shown.headers
    secret = path.rpartition("/")[2]
    (row,) = here.rows(shares)
    assert row["share"] == hashed(secret) and secret not in str(here.rows(shares))
    for other in ("A" * 22, token, row["share"], row["visitor"]):
        assert here.get(f"/api/shared/{other}", browser=stranger).status_code == 404


def test_the_cookie_is_the_browsers_alone(tmp_path, here):
    """Not for scripts, not for other sites, and what is stored cannot be turned back: its bytes are in no file."""
    reply = here.post("/api/question")
    flags = {part.strip().lower() for part in reply.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= flags and not any(f.startswith("domain") for f in flags)
    secret = reply.cookies[here.cookie]
    assert len(secret) >= 43  # 256 bits
    here.answer(reply.json()["question"]["token"])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(secret.encode() in path.read_bytes() for path in files)
    (row,) = here.rows(visitors)
    assert row["visitor"] == hashed(secret)
    if here.ledger.is_file:
        assert any(row["visitor"].encode() in path.read_bytes() for path in files)  # what is there is found so
    assert "set-cookie" not in here.post("/api/question").headers


def test_over_https_the_cookie_is_of_the_host(tmp_path, database):
    with Here(tmp_path, database, https=True) as here:
        reply = here.post("/api/question", browser=here.another_browser(base="https://localhost"))
        name, _, rest = reply.headers["set-cookie"].partition("=")
        assert name == here.cookie and name.startswith("__Host-rather-") and "secure" in rest.lower()
        assert reply.headers["strict-transport-security"] == "max-age=31536000"


def test_two_polls_on_one_host_do_not_mix(tmp_path):
    """Cookies know no ports: a browser that answers in two polls is one visitor of each, and keeps both cookies."""
    with Here(tmp_path / "one") as one, Here(tmp_path / "other") as other:
        assert one.cookie != other.cookie
        other.browser._cookies = one.browser._cookies  # one jar
        asked = [here.question() for here in (one, other)]
        assert [here.question() for here in (one, other)] == asked
        assert set(one.browser.cookies) == {one.cookie, other.cookie}
        assert one.browser.cookies[one.cookie] != other.browser.cookies[other.cookie]
        for here in (one, other):
            assert here.answer(here.question()["token"]).json()["answered"] == 1 and len(here.rows(visitors)) == 1


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("path", ["question", "answer", "undo", "share"])
def test_the_older_cookie_is_accepted_once(tmp_path, secure, path):
    """A browser that has the cookie of all polls gets the one of this poll with its first turn, and loses no answer."""
    base = "https://localhost" if secure else "http://localhost"
    old = "__Host-rather" if secure else "rather"
    with Here(tmp_path / "one", https=secure) as here, Here(tmp_path / "other", https=secure) as other:
        before = here.another_browser(base=base)
        token = here.question(browser=before)["token"]
        open_ = here.answer(token, browser=before).json()["question"]["token"]
        secret = before.cookies[here.cookie]
        older = here.another_browser(base=base)
        older.cookies.set(old, secret, domain="localhost.local", path="/")
        assert own_answers(here, browser=older) == [(token, "left")] and set(older.cookies) == {old}
        elsewhere = other.another_browser(base=base)
        elsewhere._cookies = older._cookies  # one jar
        assert other.post("/api/question", browser=elsewhere).json()["answered"] == 0
        assert set(older.cookies) == {old, other.cookie}  # another poll leaves it alone
        body = {"answer": {"token": open_, "reply": "tie"}, "undo": {"token": token}}.get(path, {})
        reply = here.post(f"/api/{path}", body, browser=older)
        assert reply.status_code == 200 and older.cookies[here.cookie] == secret
        assert set(older.cookies) == {here.cookie, other.cookie}
        assert "set-cookie" not in here.post("/api/question", browser=older).headers
        assert len(here.rows(visitors)) == 1


def test_an_older_cookie_of_nobody_makes_somebody_new(here):
    browser = here.another_browser()
    browser.cookies.set("rather", "made-up", domain="localhost.local", path="/")
    assert here.post("/api/question", browser=browser).json()["answered"] == 0
    assert set(browser.cookies) == {"rather", here.cookie} and browser.cookies[here.cookie] != "made-up"


def test_a_cookie_that_is_too_long_is_none(here):
    """A secret of ours is never as long; a longer one is not even looked up."""
    looked, real = [], here.desk.visitors.of

    async def of(told):
        looked.append(told)
        return await real(told)

    here.desk.visitors.of = of
    for length, want in ((200, "x" * 200), (201, None)):
        looked.clear()
        assert here.get("/api/answers", headers={"cookie": f"{here.cookie}={'x' * length}"}).status_code == 200
        assert looked == [want]


def test_where_somebody_came_from_is_hashed_with_a_key(tmp_path):
    """Two servers keep different words for one address, and one server the same after a restart."""
    origins = []
    for state in ("one", "one", "other"):
        with Here(tmp_path / state, str(tmp_path / f"{len(origins)}.sqlite")) as here:
            here.question()
            elsewhere = here.another_browser("192.0.2.7")
            here.question(browser=elsewhere)
            origins.append([row["origin"] for row in here.rows(visitors)])
    assert sorted(origins[0]) == sorted(origins[1]) and not {*origins[0]} & {*origins[2]}
    assert len({*origins[0]}) == len({*origins[2]}) == 2
    plain = {hashed("127.0.0.1"), hashlib.blake2b(b"127.0.0.1").hexdigest()[:32]}
    assert not plain & {*origins[0], *origins[2]}


def test_what_was_said_is_there_after_a_restart(tmp_path, database):
    """Another process that serves the same ledger goes on where the first ended."""
    with Here(tmp_path, database) as here:
        for reply in ("left", "right", "tie", "unseen both"):
            here.answer(here.question()["token"], reply)
        here.post("/api/undo", {"token": own_answers(here)[0][0]})
        before = own_answers(here), here.question(), here.get("/api/ranking?limit=8").json()
        cookies, about = here.browser.cookies, here.get("/api/about").json()
    with Here(tmp_path, database) as here:
        here.browser.cookies = cookies
        assert (own_answers(here), here.question(), here.get("/api/ranking?limit=8").json()) == before
        assert here.get("/api/about").json() == about and about["answers"] == 3


def test_visitors_who_are_not_in_memory_are_read_again(here, monkeypatch):
    """Of more visitors than are kept in memory, everybody's answers are there all the same."""
    monkeypatch.setattr(visiting, "MOST", 3)
    browsers = [here.another_browser() for _ in range(8)]
    for reply in ("left", "right"):
        for browser in browsers:
            here.answer(here.question(browser=browser)["token"], reply, browser=browser)
    assert len(here.desk.visitors) <= 3
    for browser in browsers:
        assert [reply for _, reply in own_answers(here, browser=browser)] == ["right", "left"]
    assert here.ledger.counts(0.0) == (here.desk.people, here.desk.answers) == (8, 16)


def test_the_same_answer_many_times_at_once(here):
    """Twenty requests with one token at the same moment: one counts, the others are told that it does."""
    token = here.question()["token"]

    async def at_once(bodies):
        return await asyncio.gather(*(here.browser.post("/api/answer", json=body) for body in bodies))

    replies = here.wait(at_once([{"token": token, "reply": "left"}] * 20))
    assert {r.status_code for r in replies} == {200} and sum(not r.json()["repeated"] for r in replies) == 1
    token = here.question()["token"]
    replies = here.wait(at_once([{"token": token, "reply": r} for r in ("left", "right") * 10]))
    assert sorted({r.status_code for r in replies}) == [200, 409] and len(here.rows(answers)) == 2


def test_everything_asked_ends(tmp_path, database):
    """Three items are three pairs; after them there is nothing more to ask, and a restart knows it."""
    with Here(tmp_path, database, listed=only_ids("abc")) as here:
        pairs = set()
        for left in (2, 1, 0):
            asked = here.question()
            pairs.add(frozenset((asked["left"]["id"], asked["right"]["id"])))
            news = here.answer(asked["token"]).json()
            assert (news["question"] is None) == (left == 0)
        assert len(pairs) == 3 and news["reason"].startswith("You have answered everything") and news["answered"] == 3
        cookies = here.browser.cookies
        assert here.post("/api/question").json() == news
    with Here(tmp_path, database, listed=only_ids("abc")) as here:
        here.browser.cookies = cookies
        assert here.post("/api/question").json() == news


def test_a_visitor_is_asked_so_much_and_no_more(here, monkeypatch):
    """Answers, undos and questions of one visitor are bounded: after so many questions, nothing adds a row for ever."""
    monkeypatch.setattr(desks, "MOST_QUESTIONS", 6)
    token = here.question()["token"]
    for _ in range(20):
        here.answer(token)
        question = here.post("/api/undo", {"token": token}).json()["question"]
        if question is None:
            break
        token = question["token"]
    assert len(here.rows(questions)) == 6 and len(here.rows(undos)) == len(here.rows(answers)) <= 6
    assert here.post("/api/question").json()["question"] is None or here.question()["token"] != token


def test_items_that_are_not_listed_any_more(tmp_path, database):
    """What was said of them stays and counts for nothing; an open question about one is not asked any more."""
    with Here(tmp_path, database, listed=only_ids(["a", "b"])) as here:
        first = here.question()
        here.answer(first["token"])
        here.post("/api/undo", {"token": first["token"]})
        cookies, was_open = here.browser.cookies, here.question()["token"]
    with Here(tmp_path, database, listed=only_ids(["b", "c", "d"])) as here:
        here.browser.cookies = cookies
        now = here.question()
        assert "a" not in (now["left"]["id"], now["right"]["id"])
        assert here.answer(was_open).status_code == 200
        assert here.get("/api/ranking").json()["of"] == 3 and own_answers(here)[0][0] == was_open
        assert here.get("/api/answers").json()["answers"][0]["probability"] is None
        assert here.post("/api/undo", {"token": was_open}).status_code == 200
        now = here.question()
        assert "a" not in (now["left"]["id"], now["right"]["id"])


def test_a_turn_under_way_when_the_server_ends(tmp_path, database, monkeypatch):
    """What was sent before is committed and acknowledged, although the end has begun; another process then has it."""
    with Here(tmp_path, database) as here:
        token, go, real = here.question()["token"], threading.Event(), here.writer._commit
        key, cookies = hashed(here.browser.cookies[here.cookie]), here.browser.cookies
        monkeypatch.setattr(here.writer, "_commit", lambda rows: (go.wait(30), real(rows)))

        async def end():
            turn = asyncio.ensure_future(here.browser.post("/api/answer", json={"token": token, "reply": "left"}))
            while not here.desk.visitors._here[key].lock.locked():
                await asyncio.sleep(0.001)
            closing = asyncio.ensure_future(asyncio.to_thread(here.writer.close))
            await asyncio.sleep(0)
            go.set()
            await closing
            return await turn

        reply = here.wait(end())
        here.served.writer = Writer(here.ledger)  # for the end itself
        assert reply.status_code == 200 and [row["token"] for row in here.rows(answers)] == [token]
    with Here(tmp_path, database) as here:
        here.browser.cookies = cookies
        assert own_answers(here) == [(token, "left")]
        assert here.question()["token"] == reply.json()["question"]["token"]
