"""What every request passes: hosts, other sites, sizes, rates, the admin token; and what every reply carries."""

import asyncio
import itertools
import json

import pytest

pytest.importorskip("fastapi", reason="what serving needs is not installed: pip install 'rather[serve]'")

from rather.server import gate
from rather.server.gate import HEADERS, Gate, Rates, neighbourhood
from rather.server.ledger import visitors
from serving_here import HANGS, Here

ADMIN = "/api/export.csv", "/api/export.parquet", "/metrics"


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    with Here(tmp_path_factory.mktemp("state"), allow_hosts=("Votes.example.org",)) as made:
        yield made


def raw(
    here,
    method,
    path,
    headers=(),
    messages=({"type": "http.request", "body": b"", "more_body": False},),
    host=((b"host", b"localhost"),),
):
    """A reply to a request whose body comes in these messages: (status, headers, body, how many were taken)."""
    sent, left = [], list(messages)

    async def receive():
        return left.pop(0) if left else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "http_version": "1.1", "scheme": "http", "client": ("127.0.0.1", 1), "server": ("localhost", 80),
        "root_path": "", "headers": [*host, *headers],
    }  # fmt: skip
    here.wait(here.served.app(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), body, len(messages) - len(left)


# -- whom it is called by ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:80", "[::1]:1", "votes.EXAMPLE.org"])
def test_its_own_names(here, host):
    assert here.get("/api/about", headers={"host": host}).status_code == 200


def test_an_address_that_it_listens_at_is_a_name(tmp_path):
    """Of version 6 too, which browsers put in brackets."""
    with Here(tmp_path, host="fd00::5") as here:
        assert here.get("/api/about", headers={"host": "[fd00::5]:8000"}).status_code == 200
        assert here.get("/api/about", headers={"host": "[fd00::6]:8000"}).status_code == 421


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "evil.example:localhost",
        "127.0.0.1.nip.io",
        "[::2]",
        "[",
        "",
        "127.0.0.1:80@evil",
        "localhost@evil.example",
        "[::1]x",
        "[::1]:80x",
        "localhost:",
        "localhost:x",
        "localhost:-1",
        "localhost:65536",
        "localhost:80:80",
        "localhost, localhost",
        "localhost/",
        "localhost localhost",
        "::1",
    ],
)
def test_other_names_are_refused(here, host):
    """A page whose name was made to lead here, and what is no host[:port], are told nothing and change nothing."""
    for method, path in (("GET", "/api/about"), ("POST", "/api/question"), ("GET", "/"), ("GET", "/static/ask.js")):
        refused = here.request(method, path, headers={"host": host})
        assert refused.status_code == 421 and set(refused.json()) == {"error"}
    for path in ("/livez", "/readyz"):  # whoever watches over it may not know its name
        assert here.get(path, headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "hosts",
    [(), ("localhost", "localhost"), ("evil.example", "localhost"), ("localhost", "evil.example"), ("localhost", "")],
)
def test_there_is_one_host(here, hosts):
    """A request without a Host header, or with two, is refused, whichever of them a proxy went by."""
    headers = [(b"host", host.encode()) for host in hosts]
    assert raw(here, "GET", "/api/about", headers, host=())[0] == 421
    assert raw(here, "GET", "/livez", headers, host=())[0] == 200
    assert raw(here, "GET", "/api/about")[0] == 200


@pytest.mark.parametrize("name", ["origin", "sec-fetch-site"])
def test_no_header_of_two_is_chosen(here, name):
    """Whichever of two headers says that another site sent it is believed."""
    ours, theirs = {"origin": (b"http://localhost", b"http://evil.example")}.get(name, (b"same-origin", b"cross-site"))
    for values in ((ours, theirs), (theirs, ours), (theirs, theirs)):
        headers = [(name.encode(), value) for value in values]
        assert raw(here, "POST", "/api/question", headers)[0] == 403
    assert raw(here, "POST", "/api/question", [(name.encode(), ours)], chunks(b"{}"))[0] in (200, 422)


def test_other_sites_cannot_post(here):
    """What a browser says of who sends it is believed; what no browser sent is not another site's."""
    before = len(here.rows(visitors))
    for headers in (
        {"origin": "http://evil.example"}, {"origin": "http://localhost:81"}, {"origin": "null"}, {"origin": "http://["},
        {"origin": "http://localhost@evil.example"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
        {"origin": "http://evillocalhost"}, {"origin": "http://x.localhost"}, {"origin": "http://localhost.evil.example"},
    ):  # fmt: skip
        for path in ("/api/question", "/api/answer", "/api/undo", "/api/share"):
            refused = here.post(path, headers=headers, browser=here.another_browser())
            assert refused.status_code == 403 and "another site" in refused.json()["error"], headers
    assert len(here.rows(visitors)) == before
    for headers in ({"origin": "http://localhost"}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}, {}):
        assert here.post("/api/question", headers=headers).status_code == 200
    ours = {"origin": "https://votes.example.org", "host": "votes.example.org"}
    assert here.post("/api/question", headers=ours).status_code == 200


# -- what every reply carries -----------------------------------------------------------------------------------------


def test_every_reply_has_the_headers(here):
    """Pages, files, API, refusals of every kind, what is not there, and what is not done."""
    replies = [
        here.get(path) for path in ("/", "/arena", "/api", "/shared/x", "/static/ask.js", "/api/items", "/livez")
    ]
    replies += [here.get(path) for path in (*ADMIN, "/nothing", "/static/../secret", "/api/ranking?limit=0")]
    replies += [here.request("DELETE", "/api/answer"), here.request("PUT", "/api/about", content=b"x" * 5000)]
    replies += [here.get("/api/about", headers={"host": "evil.example"}), here.post("/api/answer", {"token": 1})]
    replies += [here.post("/api/question", headers={"origin": "null"}), here.request("OPTIONS", "/api/answer")]
    replies += [here.request("POST", "/api/question", content=b"{"), here.answer("A" * 22)]
    assert {r.status_code for r in replies} == {200, 401, 403, 404, 405, 413, 421, 422}
    for reply in replies:
        for name, value in HEADERS:
            assert reply.headers[name.decode()] == value.decode(), reply.url
        assert reply.headers["cache-control"] in ("no-store", "no-cache")
        if reply.status_code >= 400:
            assert set(reply.json()) == {"error"} and reply.json()["error"]
        if reply.status_code == 405:
            assert reply.headers["allow"]
    policy = replies[0].headers["content-security-policy"]
    assert "unsafe" not in policy and "http" not in policy
    for directive in ("default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"):
        assert directive in policy.split("; ")


def test_what_fails_inside_has_them_too(tmp_path):
    """An error of ours tells nobody what it was."""

    async def broken(scope, receive, send):
        await send({"type": "http.response.start", "status": 500, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def reply():
        sent, told = [], []
        app = Gate(broken, frozenset(["localhost"]), 1e6, True, lambda *what: told.append(what))
        scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")], "client": None}

        async def send(message):
            sent.append(message)

        await app(scope, None, send)
        return dict(sent[0]["headers"]), told

    headers, told = asyncio.run(reply())
    assert headers.items() >= dict(HEADERS).items() and headers[b"strict-transport-security"]
    assert [(path, status) for path, status, _ in told] == [("/", 500)]


# -- sizes ------------------------------------------------------------------------------------------------------------


def chunks(*bodies):
    return [{"type": "http.request", "body": b, "more_body": n < len(bodies)} for n, b in enumerate(bodies, 1)]


def test_a_body_that_says_it_is_too_long_is_not_read(here):
    for length in (b"4097", b"9" * 20, b"9" * 5000, b"-1", b"4e3", b"x", b"", "²".encode("latin-1")):
        status, headers, _, taken = raw(here, "POST", "/api/question", [(b"content-length", length)], chunks(b"{}"))
        assert (status, taken) == (413, 0) and headers[b"connection"] == b"close"


def test_a_body_without_a_length_is_read_no_further_than_allowed(here):
    """Of a hundred thousand bytes in parts, no more than what is too much is taken."""
    parts = chunks(*[b" " * 1000] * 100)
    status, headers, body, taken = raw(here, "POST", "/api/question", [(b"transfer-encoding", b"chunked")], parts)
    assert (status, taken) == (413, 5) and headers[b"connection"] == b"close" and b"4,096 bytes" in body


def test_a_body_in_many_parts_is_one(here):
    parts = chunks(*(bytes([b]) for b in b'{"token": "AAAA", "reply": "left"}'))
    status, _, body, _ = raw(here, "POST", "/api/answer", [(b"content-type", b"application/json")], parts)
    assert status == 404 and b"Nobody has asked you" in body
    exactly = json.dumps({}).ljust(4096).encode()
    assert here.request(
        "POST", "/api/question", content=exactly, headers={"content-type": "application/json"}
    ).is_success


def test_a_slow_body_is_not_waited_for(here, monkeypatch):
    """Who sends a part and no more is told so after a while; and meanwhile counts as nobody who is here."""
    monkeypatch.setattr(gate, "BODY_SECONDS", 0.05)
    part = {"type": "http.request", "body": b"{", "more_body": True}
    status, headers, _, _ = raw(here, "POST", "/api/question", (), [part])
    assert status == 408 and headers[b"connection"] == b"close"
    assert here.served.app.here == 0


def test_half_a_body_is_no_request(here):
    """What ends before it is whole is not taken, even if what came could be understood."""
    before = len(here.rows(visitors))
    gone = [{"type": "http.request", "body": b"{}", "more_body": True}, {"type": "http.disconnect"}]
    assert raw(here, "POST", "/api/question", [(b"content-type", b"application/json")], gone)[0] == 400
    assert len(here.rows(visitors)) == before


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b"1", b"\xff", b"[" * 4000, b'{"token": "A", "reply": "left", "x": 1}',
        b'{"\\ud800": 1}',
        b'{"token": "A"}', b'{"token": "A", "reply": "up"}', b'{"token": "", "reply": "left"}',
        b'{"token": "A B", "reply": "left"}', b'{"token": 7, "reply": "left"}', b'{"token": ["A"], "reply": "left"}',
        b'{"token": "A", "reply": "left", "seconds": NaN}', b'{"token": "A", "reply": "left", "seconds": -1}',
        b'{"token": "A", "reply": "left", "seconds": "1"}', b'{"token": "A", "reply": "left", "seconds": 1e400}',
        b'{"token": "A", "reply": "left", "seconds": true}', b'{"token": "' + b"A" * 65 + b'", "reply": "left"}',
        b'{"token": "A\\u0000", "reply": "left"}', b'{"token": "\\ud800", "reply": "left"}',
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused_in_a_sentence(here, content):
    reply = here.request("POST", "/api/answer", content=content, headers={"content-type": "application/json"})
    assert reply.status_code in (400, 422) and set(reply.json()) == {"error"}


@pytest.mark.parametrize("path", ["ranking", "difference", "crowd", "answers", "items"])
@pytest.mark.parametrize("limit", ["0", "-1", "1001", "1e3", "x", "", "9" * 5000])
def test_limits_are_bounded(here, path, limit):
    assert here.get(f"/api/{path}?limit={limit}").status_code == 422


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2f..%2fapp.py", "/static/index.html", "/static/", "/static/%00", "/pictures/0", "/pictures/-1",
        "/pictures/..%2f..%2fetc%2fpasswd", "/api/shared/" + "A" * 65, "/api/shared/%00", "/docs", "/redoc", "/.env",
    ],
)  # fmt: skip
def test_what_is_not_there_is_not_there(here, path):
    assert here.get(path).status_code in (404, 422)


# -- rates ------------------------------------------------------------------------------------------------------------


def test_rates():
    """A burst, then as many as come back in time; others do not wait for it."""
    now = [0.0]
    rates = Rates(2.0, lambda: now[0])
    assert [rates.wait("a") for _ in range(20)] == [0] * 20 and rates.wait("a") == 1 and rates.wait("b") == 0
    now[0] += 1.0
    assert [rates.wait("a") > 0 for _ in range(3)] == [False, False, True]
    now[0] += 1e6
    assert [rates.wait("a") for _ in range(21)] == [0] * 20 + [1]


def test_a_slow_rate_is_still_a_rate():
    """One in a minute is one in a minute, not none."""
    now = [0.0]
    rates = Rates(1 / 60, lambda: now[0])
    assert [rates.wait("a"), rates.wait("a")] == [0, 60]
    now[0] += 60.0
    assert [rates.wait("a"), rates.wait("a")] == [0, 60]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False), ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False), ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False), ("", "x", False),
    ],
)  # fmt: skip
def test_whose_an_address_is(one, other, same):
    assert (neighbourhood(one) == neighbourhood(other)) == same


def test_rates_remember_a_bounded_number(monkeypatch):
    """Those who came last are remembered."""
    monkeypatch.setattr(gate, "MOST_KEPT", 10)
    rates = Rates(1.0)
    for n in range(100):
        rates.wait(str(n))
    assert list(rates._until) == [str(n) for n in range(90, 100)]  # those who came last
    rates.wait("90")  # who comes again came last
    rates.wait("100")
    assert list(rates._until) == [*(str(n) for n in range(92, 100)), "90", "100"]


def test_too_much_of_an_address(tmp_path):
    """429 and when to come again; health is told all the same, and other addresses are not meant."""
    with Here(tmp_path, per_address=1.0) as here:
        replies = [here.get("/api/about") for _ in range(12)]
        assert [r.status_code for r in replies] == [200] * 10 + [429] * 2
        assert int(replies[-1].headers["retry-after"]) >= 1 and set(replies[-1].json()) == {"error"}
        assert here.get("/livez").status_code == here.get("/readyz").status_code == 200
        assert here.get("/api/about", browser=here.another_browser("10.0.0.1")).status_code == 200


def test_too_much_of_a_visitor(tmp_path):
    """One visitor's turns, wherever they come from; another at the same address is not meant."""
    with Here(tmp_path, per_visitor=0.5) as here:
        statuses = [here.post("/api/question").status_code for _ in range(8)]
        assert statuses == [200] * 6 + [429] * 2  # the first was nobody's
        elsewhere = here.another_browser("10.0.0.1")
        elsewhere.cookies = here.browser.cookies
        refused = here.post("/api/question", browser=elsewhere)
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) >= 1
        assert here.post("/api/question", browser=here.another_browser()).status_code == 200


def test_too_many_new_visitors_of_an_address(tmp_path):
    """Also if each says it is somebody else who was here before."""
    for way in ("no cookie", "made up"):
        with Here(tmp_path / way, per_address=10.0) as here:
            statuses = []
            for n in range(12):
                browser = here.another_browser()
                headers = {"cookie": f"{here.cookie}=made-up-{n}"} if way == "made up" else {}
                statuses.append(here.post("/api/question", browser=browser, headers=headers).status_code)
            assert statuses == [200] * 10 + [429] * 2 and len(here.rows(visitors)) == 10


def test_too_many_at_once(tmp_path, monkeypatch):
    """More requests than are worked on at a time are told to come again."""
    monkeypatch.setattr(gate, "MOST_HERE", 5)
    with Here(tmp_path) as here:

        async def at_once():
            return await asyncio.gather(*(here.another_browser().post("/api/question", json={}) for _ in range(9)))

        replies = here.wait(at_once())
        assert sorted(r.status_code for r in replies) == [200] * 5 + [503] * 4
        assert all(r.headers["retry-after"] == "1" for r in replies if r.status_code == 503)
        assert here.served.app.here == 0 and here.get("/api/about").status_code == 200
        monkeypatch.setattr(gate, "MOST_HERE", 0)  # health is told however many are here
        assert [here.get(path).status_code for path in ("/livez", "/readyz", "/api/about")] == [200, 200, 503]


def test_requests_that_nobody_waits_for_keep_no_place(tmp_path, monkeypatch):
    """A hundred requests are given up before their reply, and there is room for the next."""
    monkeypatch.setattr(gate, "MOST_HERE", 5)

    async def tried():
        begun = asyncio.Event()

        async def app(scope, receive, send):
            begun.set()
            await asyncio.Event().wait()

        around = Gate(app, frozenset({"localhost"}), 1e6, False, lambda *_: None)
        scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")]}
        for _ in range(100):
            begun.clear()
            going = asyncio.create_task(around(scope, None, None))
            await begun.wait()
            assert around.here == 1
            going.cancel()
            with pytest.raises(asyncio.CancelledError):
                await going
            assert around.here == 0

    asyncio.run(asyncio.wait_for(tried(), HANGS))


# -- for whoever runs it ----------------------------------------------------------------------------------------------


def test_the_admin_token(here, tmp_path):
    """Without it, with another, and in another scheme, exports and metrics are refused; with it they are told."""
    token = here.served.admin
    given = [None, "Bearer", "Bearer ", f"Bearer {token[:-1]}", f"Bearer {token}x", f"Basic {token}", token, "Bearer é"]
    for path, header in itertools.product(ADMIN, given):
        refused = here.get(path, headers={} if header is None else {"authorization": header.encode("latin-1")})
        assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
    for path in ADMIN:
        assert here.get(f"{path}?token={token}").status_code == 401
        assert here.as_admin(path).status_code == 200


def test_the_admin_token_is_its_owners(tmp_path):
    """Made once, readable by nobody else, and the same after a restart; one that is too short is refused."""
    with Here(tmp_path) as here:
        token = here.served.admin
    file = tmp_path / "admin-token"
    assert file.read_text().strip() == token and file.stat().st_mode & 0o077 == 0 and len(token) >= 32
    with Here(tmp_path) as here:
        assert here.served.admin == token
    file.write_text("short")
    with pytest.raises(Exception, match="holds no secret"):
        Here(tmp_path)


def test_metrics_count_what_is_known(here):
    """Made-up paths are one path: whoever asks for many does not fill the memory."""
    here.get("/api/about")
    for n in range(20):
        here.get(f"/made-up-{n}")
        here.get(f"/static/made-up-{n}")
    told = here.as_admin("/metrics").text
    assert 'rather_requests_total{path="/api/about",status="200"}' in told
    assert "made-up" not in told and 'path="other",status="404"' in told and "rather_people" in told


def test_the_documentation_is_of_what_there_is(here):
    """Every path of the API is in it, with the refusals that all have; and its page asks no other server."""
    documented = here.get("/openapi.json").json()
    for path in ("/api/question", "/api/answer", "/api/undo", "/api/ranking", "/readyz", "/metrics", "/api/export.csv"):
        for how in documented["paths"][path].values():
            assert path == "/readyz" or {"421", "422", "429", "503"} <= set(how["responses"])
    assert "https://" not in here.get("/api").text.replace("https://www.w3.org", "")


def test_who_is_slow_to_read_keeps_nobody_out():
    """A request counts while it is worked on, and no longer when its reply is on the way."""

    async def tried():
        begun, read, seen = asyncio.Event(), asyncio.Event(), []

        async def app(scope, receive, send):
            seen.append(around.here)
            await send({"type": "http.response.start", "status": 200, "headers": []})
            begun.set()
            await read.wait()

        async def send(message):
            seen.append(message["status"])

        around = Gate(app, frozenset({"localhost"}), 50.0, False, lambda *_: None)
        scope = {"type": "http", "method": "GET", "path": "/pictures/0", "headers": [(b"host", b"localhost")]}
        going = asyncio.create_task(around(scope, None, send))
        await begun.wait()
        assert around.here == 0 and seen == [1, 200]
        read.set()
        await going
        assert around.here == 0

    asyncio.run(tried())
