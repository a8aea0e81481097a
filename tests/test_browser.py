"""The page in a real browser: people answer by mouse, finger and keyboard, and nothing they said is lost or leaks."""

import csv
import itertools
import json
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

pytest.importorskip("fastapi", reason="the server's packages are not installed: pip install 'rather[serve]'")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; scripts/browser does it")

import rather  # noqa: E402
from browsing import CHROMIUM, PHONE, Visit, axe_script, chromium, served  # noqa: E402
from rather.data import table_files  # noqa: E402
from rather.datasets.films import FILMS  # noqa: E402
from rather.server.marks import FAST  # noqa: E402
from shell import document  # noqa: E402

OTHER_ORIGIN = "http://elsewhere.invalid/x.png"
HOSTILE = [
    "<script>pwned('script')</script>",
    "<img src=x onerror=\"pwned('image')\">",
    "</button></main><h1>markup</h1><svg onload=pwned('svg')>",
    "\u202eevil txet\u202c \u2067right to left\u2069 \u05e9\u05dc\u05d5\u05dd",
    "👩‍👩‍👧‍👦 🏳️‍🌈 Z̷̢̛a̶l̵g̸o̷ \u200b zero",
    "W" * 10_000,
    "many words " * 1_000,
    "javascript:pwned('link') {{7*7}} ${pwned('template')} '\"`&amp;&lt;",
]
PANELS = "difference", "map", "crowd", "answers"


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=path, args=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def club(browser, tmp_path_factory):
    """The film club, as it is served without an argument."""
    with served(tmp_path_factory.mktemp("club")) as server:
        yield server


def items_file(folder, rows, columns=("item", "title", "description", "picture")):
    with (folder / "items.csv").open("w", newline="", encoding="utf-8") as f:
        writer = csv.writer(f)
        writer.writerow(columns)
        writer.writerows(row + ("",) * (len(columns) - len(row)) for row in rows)
    return "items.csv"


DRINKS = [(name,) for name in ("tea", "coffee", "cocoa", "cola")]


@pytest.fixture(scope="module")
def few(browser, tmp_path_factory):
    """Four items, of which nothing is known yet."""
    folder = tmp_path_factory.mktemp("few")
    with served(folder, items_file(folder, DRINKS)) as server:
        yield server


@pytest.fixture
def visit(browser):
    """Visits that end with the test, and then nothing may have gone wrong on any of their pages."""
    made = []

    def visit(server, **options):
        made.append(Visit(browser, server, **options))
        return made[-1]

    yield visit
    wrong = [one.unexpected() for one in made]
    for one in made:
        one.context.close()
    assert not any(wrong), wrong


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The page without a server, as files; ``asked`` are the paths that anybody asked for."""
    static_demo = pytest.importorskip("static_demo", reason="the documentation is not part of this copy")
    folder, asked = tmp_path_factory.mktemp("alone"), []
    votes = rather.simulate(n_users=40, n_items=12, rank=2, per_user=20, seed=1).comparisons
    static_demo.write(folder, rather.AltSVM(rank=2).fit(votes), "Twelve things")

    class Files(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}", asked=asked)
        server.shutdown()


# -- answers and the list ----------------------------------------------------------------------------------------------


def test_fifteen_answers_move_the_list_and_a_reload_keeps_it(club, visit):
    me = visit(club).open().ready()
    before, tokens = me.settled(), []

    def taste(title):
        _, loud, dark, _ = FILMS[title]
        return loud + dark

    for _ in range(15):
        tokens.append(me.token())
        left, right = map(taste, me.pair())
        me.turn("#left" if left > right else "#right")
    after = me.settled()
    assert after != before and len(after) == 20
    assert sum(map(taste, after[:5])) > sum(map(taste, before[:5])) + 1  # the list has got the idea
    assert len(set(tokens)) == 15 == len(club.replies(*tokens)) == len(me.kept())
    share, bar = me.get("/api/ranking")["settled"]["share"], me.page.locator("#bar")
    me.page.wait_for_function(
        "share => Math.round(100 * share) === +document.getElementById('bar').getAttribute('aria-valuenow')", arg=share
    )
    assert me.page.inner_text("#sureness") == bar.get_attribute("aria-valuetext")
    pair = me.pair()
    me.page.reload()
    me.ready()
    assert (me.answered, me.pair(), me.settled()) == (15, pair, after)
    me.page.click("#more")
    assert len(me.settled(limit=80)) == 40 and me.page.is_hidden("#more")


def test_the_meter_says_how_many_more(few, visit):
    me = visit(few).open().ready()
    for top, share, more, left, words in (
        (3, 0.6, 4, 9, "Four more settle your top three."),
        (3, 0.78, 1, 500, "One more settles your top three."),
        (3, 0.6, 17, 17, "17 more settle your top three."),
        (3, 0.6, None, 500, "Many more settle your top three."),
        (3, 0.2, None, 100, "Your top three are still wide open."),
        (3, 0.2, None, 99, "The 99 pairs left may not settle your top three."),
        (1, 0.6, None, 1, "The one pair left may not settle your favourite."),
        (3, 0.6, None, 0, "All pairs leave your top three open."),
        (2, 0.9, 0, 0, "Your top two are settled."),
        (1, 0.9, 0, 5, "Your favourite is settled."),
        (1, 0.5, 2, 5, "Two more settle your favourite."),
    ):
        told = {"top": top, "share": share, "sure": 0.8, "more": more, "left": left}
        said = me.page.evaluate("async told => (await import('/static/words.js')).sureness(told)", told)
        assert said == words
    settled = me.get("/api/ranking")["settled"]
    said = me.page.evaluate("async told => (await import('/static/words.js')).sureness(told)", settled)
    assert me.page.inner_text("#sureness") == said


def test_bars_of_differences_say_how_sure_they_are(few, visit):
    me = visit(few).open().ready()
    item = {"id": "tea", "title": "tea"}
    told = {"rows": [{"item": item, "difference": 2.0, "low": 1.0, "high": 3.0}], "interval": 0.8}
    said = me.page.evaluate(
        """async told => {
             const place = document.createElement('div');
             (await import('/static/panels.js')).difference(place, told);
             return place.textContent;
           }""", told
    )  # fmt: skip
    assert "is 80\u00a0% sure to be" in said


def test_how_much_is_collected(few, visit):
    me = visit(few).open().ready()
    alone = "until then a list goes by one’s own alone."
    for answers, people, words in (
        (12, 1, "Still collecting, 12 of 30 answers by 1 of 5 people: "),
        (35, 1, "Still collecting, 30 of 30 answers by 1 of 5 people: "),
        (29, 9, "Still collecting, 29 of 30 answers by 5 of 5 people: "),
        (35, 5, "There are enough answers, and the first model is being fitted: "),
    ):
        told = {"answers": answers, "needed": 30, "people": people, "people_needed": 5}
        said = me.page.evaluate("async told => (await import('/static/words.js')).collected(told)", told)
        assert said == words + alone


def test_the_first_model_is_told_without_another_answer(few, visit):
    """Whoever waits for the first model hears when there are enough answers, and when it is there."""
    me = visit(few)
    me.context.clock.install()  # the page's own
    about = {**me.get("/api/about"), "collecting": {"answers": 29, "needed": 30, "people": 4, "people_needed": 5}}
    me.page.route("**/api/about", lambda route: route.fulfill(json=about))
    me.open().page.wait_for_selector("#collecting >> text=29 of 30 answers by 4 of 5 people")
    about["collecting"] = {"answers": 35, "needed": 30, "people": 5, "people_needed": 5}
    me.context.clock.run_for(11_000)
    me.page.wait_for_selector("#collecting >> text=the first model is being fitted")
    about["collecting"] = None
    with me.page.expect_response("**/api/ranking?*"):
        me.context.clock.run_for(11_000)
        me.page.wait_for_selector("#collecting:empty", state="attached")
        me.context.clock.run_for(1_000)


def test_undo_asks_again_and_any_answer_can_be_undone(club, visit):
    me = visit(club).open().ready()
    asked = []
    for side in ("#left", "#right", "#tie"):
        asked.append((me.token(), me.pair()))
        me.turn(side)
    me.page.click("#undo")
    me.until_answered(2)
    assert me.pair() == asked[2][1]
    me.page.reload()  # what was answered before is no longer in the page's memory
    me.ready().page.click("#undo")
    me.until_answered(1)
    assert me.pair() == asked[1][1]
    me.page.click("#answers summary")
    me.page.click("#answers li button")
    me.until_answered(0)
    assert me.pair() == asked[0][1] and me.page.evaluate("document.activeElement.id") == "heading"
    me.page.wait_for_selector("#answers >> text=You have not answered anything yet.")
    assert me.page.get_attribute("#undo", "aria-disabled") == "true"
    assert club.replies(*(token for token, _ in asked)) and len(me.get("/api/answers")["answers"]) == 0


def test_what_would_change_is_what_changes(club, visit):
    me = visit(club).open().ready()
    for _ in range(4):
        me.turn("#right")
    me.settled()
    me.page.click("#whatif")
    me.page.wait_for_selector("#changes section")
    told = [
        (item.inner_text(), int(to.inner_text().rpartition("→")[2]))
        for line in me.page.locator("#changes section").first.locator("li").all()
        for item, to in [(line.locator(".title"), line.locator("[aria-hidden]"))]
    ]
    me.turn("#left")
    places = {row["item"]["title"]: row["place"] for row in me.get("/api/ranking?limit=40")["rows"]}
    assert told and all(places[item] == place for item, place in told)
    assert me.page.locator("#changes section").count() == 0


def test_did_you_mean_that(club, visit):
    me = visit(club).open().ready()
    for n in range(40):  # dark and loud, until it is known; then the opposite, until that is a surprise
        left, right = (sum(FILMS[title][:3]) for title in me.pair())
        me.turn("#left" if (left > right) == (n < 12) else "#right")
        given = [a for a in me.get("/api/answers")["answers"] if a["probability"] is not None]
        odd = min(given, key=lambda a: a["probability"])
        if odd["probability"] < 0.12:
            break
    chosen, other = (odd["left"], odd["right"]) if odd["reply"] == "left" else (odd["right"], odd["left"])
    wanted = f"{chosen['title']} rather than {other['title']}: going by your other answers, that had a chance of "

    def asked_after():
        me.page.wait_for_function(
            """wanted => !document.getElementById('surprise').hidden &&
                 document.getElementById('surprising').textContent.startsWith(wanted)""",
            arg=wanted,
        )
        return me.page.inner_text("#surprising").removeprefix(wanted)

    assert re.fullmatch(r"(<\s)?\d+\s%\.", asked_after())
    n = me.answered
    me.page.click("#not-meant")
    me.until_answered(n - 1)
    assert me.page.get_attribute("#surprise", "data-token") != odd["token"] or me.page.is_hidden("#surprise")
    assert set(me.pair()) == {chosen["title"], other["title"]}
    assert odd["token"] not in {a["token"] for a in me.get("/api/answers")["answers"]}
    me.turn("#left" if me.pair()[0] == chosen["title"] else "#right")  # it was meant after all
    asked_after()
    me.page.click("#meant")
    assert wanted not in me.page.inner_text("#surprise") or me.page.is_hidden("#surprise")
    with me.page.expect_response("**/api/answers") as told:
        me.page.reload()
    assert told.value.json()["answers"][0]["probability"] < 0.15
    me.ready()
    assert wanted not in me.page.inner_text("#surprise")


# -- other answers -----------------------------------------------------------------------------------------------------


def test_what_is_not_known_is_not_asked_again_until_nothing_is_left(few, visit):
    me = visit(few).open().ready()
    unknown, _ = me.pair()
    me.turn("#unseen-left")
    for _ in range(3):  # the pairs of the other three
        assert unknown not in me.pair()
        me.turn("#tie")
    me.page.wait_for_selector("#none:not([hidden])")
    assert me.page.inner_text("#none") == "You have answered everything there is to ask. Thank you."
    assert me.page.is_hidden("#cards") and me.answered == 4
    me.page.click("#answers summary")
    me.page.wait_for_selector("#answers li")
    lines = me.page.locator("#answers li > span").all_inner_texts()
    assert lines[-1] == f"Haven’t seen {unknown}" and all(line.startswith("Could not decide") for line in lines[:3])
    me.page.keyboard.press("ArrowLeft")  # there is nothing to choose
    me.page.click("#undo")
    me.until_answered(3)
    pair = me.pair()
    me.turn("#unseen-both")
    me.page.wait_for_selector("#none:not([hidden])")
    me.page.wait_for_selector(f"#answers >> text=Haven’t seen {pair[0]} or {pair[1]}")
    assert me.kept() == ["unseen left", "tie", "tie", "tie", "unseen both"]


def test_while_it_collects(browser, tmp_path, visit):
    """A list of items and no model: one's own answers make one's list; nothing is said of a crowd that is not known."""
    (tmp_path / "sun.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"><circle r="9"/></svg>'
    )
    rows = [("o", "Oslo", "A fjord.", "sun.svg"), ("r", "Rome", "Stairs.", "sun.svg")]
    rows += [(f"c{k}", f"City {k}") for k in range(4)]
    with served(tmp_path, items_file(tmp_path, rows), "--title", "Cities & more") as server:
        me = visit(server)
        me.open().ready()
        me.page.wait_for_selector("#collecting:not(:empty)")
        assert "0 of 30" in me.page.inner_text("#collecting") and me.page.inner_text("#brand") == "Cities & more"
        shown = set()
        for _ in range(12):
            for side in ("#left", "#right"):
                if me.page.inner_text(f"{side} .title") == "Oslo":
                    assert me.page.inner_text(f"{side} .description") == "A fjord."
                    me.page.wait_for_function(
                        "side => document.querySelector(`${side} img`)?.naturalWidth > 0", arg=side
                    )
                    shown.add("Oslo")
                elif me.page.inner_text(f"{side} .title").startswith("City"):
                    assert me.page.locator(f"{side} .pattern path").count() == 1
            me.page.wait_for_timeout(1000 * FAST + 50)  # what is answered sooner than anybody reads does not count
            me.turn("#left" if me.pair()[0] == "Oslo" else "#right" if me.pair()[1] == "Oslo" else "#tie")
        assert shown == {"Oslo"} and me.settled()[0] == "Oslo"
        assert me.get("/api/about")["collecting"] == {"answers": 12, "needed": 30, "people": 1, "people_needed": 5}
        me.page.wait_for_function("() => document.getElementById('collecting').textContent.includes('12 of 30')")
        assert "settle" in me.page.inner_text("#sureness") or "open" in me.page.inner_text("#sureness")
        for name in PANELS[:3]:
            me.page.click(f"#{name} summary")
            me.page.wait_for_selector(f"#{name} >> text=once there are enough answers of everybody")
        me.page.click("#answers summary")
        me.page.wait_for_selector("#answers li")
        assert "expected" not in me.page.inner_text("#answers") and me.page.is_hidden("#surprise")
        me.open("/arena").page.wait_for_selector("#me tbody tr")
        me.page.wait_for_function("() => document.getElementById('me-note').textContent.includes('alone')")
        assert me.page.inner_text("#everyone-note") == "Nothing is known yet."
        (tmp_path / "sun.svg").unlink()
        me.expected = ("404",)
        me.open().ready()  # pictures that are gone are patterns
        for side in ("#left", "#right"):
            me.page.wait_for_function("side => !document.querySelector(`${side} img`)", arg=side)


def test_a_ranking_that_does_not_know_how_sure_it_is(browser, tmp_path, visit):
    votes = rather.simulate(n_users=40, n_items=9, rank=2, per_user=15).comparisons.to_frame("dict")
    table_files.write_table(tmp_path / "votes.csv", votes)
    document("fit", tmp_path / "votes.csv", "--slim", "--out", tmp_path / "m.rather")
    with served(tmp_path, "m.rather") as server:
        me = visit(server).open("/arena")
        me.page.wait_for_selector("#everyone tbody tr")
        want = [row["item"]["title"] for row in me.get("/api/ranking?who=everyone")["rows"]]
        assert me.listed(table="everyone") == want and len(want) == 9
        assert me.page.locator("#everyone .range").count() == 0 and me.page.locator("#everyone tbody").count() == 1
        assert "not known" in me.page.inner_text("#everyone caption")
        assert not re.search("null|NaN|undefined", me.page.inner_text("#everyone"))
        me.page.wait_for_selector("#me .range")


# -- ways of answering -------------------------------------------------------------------------------------------------


def test_on_a_phone(club, visit):
    me = visit(club, **PHONE).open().ready()
    for id in ("left", "right", "tie", "unseen-left", "unseen-right", "unseen-both", "undo", "whatif"):
        box = me.page.locator(f"#{id}").bounding_box()
        assert box["height"] >= 44 and box["width"] >= 44 and box["x"] >= 0 and box["x"] + box["width"] <= 390, id
    for side in ("#left", "#right"):  # both are seen without scrolling, with what they are called
        box = me.page.locator(f"{side} .title").bounding_box()
        assert box["y"] + box["height"] <= 844
    assert me.page.is_hidden(".keys")
    me.turn(lambda: me.page.tap("#left"))
    cdp = me.context.new_cdp_session(me.page)

    def swipe(dx, dy):
        box = me.page.locator("#cards").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        cdp.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for k in range(1, 6):
            at = [{"x": x + dx * k / 5, "y": y + dy * k / 5}]
            cdp.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": at})
        cdp.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    token = me.token()
    swipe(-20, 0)  # too short to be meant
    swipe(0, -200)  # scrolls
    me.page.wait_for_function("() => scrollY > 50")
    me.page.evaluate("scrollTo(0, 0)")
    assert me.answered == 1 and me.token() == token
    me.turn(lambda: swipe(-150, 10))
    assert club.replies(token) == ["left"]
    token = me.token()
    me.turn(lambda: swipe(150, -10))
    assert club.replies(token) == ["right"] and me.answered == 3
    me.settled()
    for name in PANELS:
        me.unfold(name)
    me.page.tap("#whatif")
    me.page.tap("#share")
    me.page.wait_for_selector("#shared-link[href]")
    for part in ("#difference div > *", "#map svg", "#crowd li", "#answers li", "#changes > *"):
        me.page.wait_for_selector(part)
    assert me.wide() == 0
    link = me.page.get_attribute("#shared-link", "href").removeprefix(club.url)
    for path, part in (("/arena", "#me tbody tr"), ("/api", "#paths section"), (link, "#list tbody tr")):
        me.open(path).page.wait_for_selector(part)
        assert me.wide() == 0, path
    me.page.set_viewport_size({"width": 320, "height": 640})  # also of a page at 400 %
    for path, part in (("/", "#list tbody tr"), ("/arena", "#me tbody tr"), ("/api", "#paths section")):
        me.open(path).page.wait_for_selector(part)
        assert me.wide() == 0, path


def test_by_keyboard_alone(club, visit):
    me = visit(club).open().ready()
    press = me.page.keyboard.press

    def focused():
        return me.page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")

    def tab_to(wanted, key="Tab"):
        for _ in range(60):
            press(key)
            if focused() == wanted:
                return
        raise AssertionError(f"Tab does not reach {wanted}")

    press("Tab")
    assert (
        focused() == "Skip to the content" and me.page.evaluate("document.activeElement.getBoundingClientRect().x") > 0
    )
    press("Enter")
    press("Tab")
    assert focused() == "left"  # right after the links that were skipped
    assert me.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    token = me.token()
    me.turn(lambda: press("Enter"))
    assert club.replies(token) == ["left"] and focused() == "left"  # where it was, for the next
    for key, reply in (("ArrowRight", "right"), ("ArrowLeft", "left"), ("ArrowDown", "tie"), ("t", "tie")):
        token = me.token()
        me.turn(lambda key=key: press(key))
        assert club.replies(token) == [reply]
    press("u")
    me.until_answered(4)
    tab_to("unseen-left")
    token = me.token()
    me.turn(lambda: press("Space"))
    assert club.replies(token) == ["unseen left"]
    tab_to("whatif")
    press("Enter")
    me.page.wait_for_selector("#changes section, #changes p")
    assert me.page.get_attribute("#whatif", "aria-expanded") == "true"
    tab_to("keys")
    press("Space")  # arrows scroll again
    n = me.answered
    press("Tab")
    press("ArrowLeft")
    assert me.answered == n and me.page.get_attribute("#ask", "aria-busy") == "false"
    tab_to("share")
    press("Enter")
    me.page.wait_for_selector("#shared-link[href]")
    tab_to("Map of tastes")
    press("Enter")
    me.page.wait_for_selector("#map svg")
    tab_to("Your answers")
    press("Space")
    me.page.wait_for_selector("#answers li")
    press("Tab")
    press("Enter")  # undoes the last
    me.until_answered(n - 1)
    tab_to("Leaderboard", "Shift+Tab")
    press("Enter")
    me.page.wait_for_selector("#me tbody tr")
    assert me.page.url == f"{club.url}/arena"


def test_a_screen_reader_is_told(club, visit):
    me = visit(club).open().ready()
    left, right = me.pair()
    for side, item in (("left", left), ("right", right)):
        assert me.page.get_by_role("button", name=item, exact=True).get_attribute("id") == side
        assert me.page.get_by_role("button", name=re.compile(f"Haven’t seen it ?: the {side} one")).count() == 1
    me.turn("#right")
    left, right = me.pair()
    said = me.page.text_content("[role=status] >> nth=0")
    assert said.startswith("Saved.") and re.sub("[\u2068\u2069]", "", said).endswith(f"rather: {left}, or {right}?")
    meter = me.page.get_by_role("meter")
    me.settled()
    assert meter.get_attribute("aria-valuetext") == me.page.inner_text("#sureness")


def test_dark_and_light(club, visit):
    def brightness(page, what):
        colour = page.evaluate("what => getComputedStyle(document.body)[what]", what)
        return sum(int(x) for x in re.findall(r"\d+", colour)[:3]) / 3

    for scheme, sign in (("light", 1), ("dark", -1)):
        me = visit(club, color_scheme=scheme).open().ready()
        assert sign * (brightness(me.page, "backgroundColor") - brightness(me.page, "color")) > 150


def test_rows_glide_unless_motion_is_not_wanted(few, visit):
    count = "window.moved = 0; const animate = Element.prototype.animate; Element.prototype.animate = function (...a) "
    count += "{ window.moved++; return animate.apply(this, a); }"
    for wish, glides in (("no-preference", True), ("reduce", False)):
        me = visit(few, reduced_motion=wish)
        me.context.add_init_script(count)
        me.open().ready()
        before = me.settled()
        while me.settled() == before:
            me.turn("#left" if before.index(me.pair()[0]) > before.index(me.pair()[1]) else "#right")
        assert (me.page.evaluate("window.moved") > 0) == glides
        assert (
            me.page.evaluate("getComputedStyle(document.getElementById('left')).transitionDuration") == "0s"
        ) != glides


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, PHONE], ids=["desktop", "dark", "phone"])
def test_axe_finds_nothing_serious(club, visit, options):
    axe = axe_script()
    me = visit(club, **options).open().ready()
    assert me.findings(axe) == []
    for side in ("#left", "#right", "#unseen-left", "#tie"):
        me.turn(side)
    for name in PANELS:
        me.page.click(f"#{name} summary")
    me.page.click("#whatif")
    me.page.click("#share")
    for part in ("#shared-link[href]", "#map svg", "#crowd li", "#answers li", "#changes > *", "#difference div > *"):
        me.page.wait_for_selector(part)
    assert me.findings(axe) == []
    link = me.page.get_attribute("#shared-link", "href").removeprefix(club.url)
    for path, part in (("/arena", "#me tbody tr"), ("/api", "#paths section"), (link, "#list tbody tr")):
        me.open(path).page.wait_for_selector(part)
        assert me.findings(axe) == [], path
    me.expected = ("503",)
    me.page.route("**/api/question", lambda route: route.fulfill(status=503, json={"error": "Not now."}))
    me.open().page.wait_for_selector("#status.trouble")
    assert me.findings(axe) == []


# -- what may go wrong -------------------------------------------------------------------------------------------------


def test_an_answer_is_kept_and_counted_once_whatever_becomes_of_its_requests(few, visit):
    me = visit(few).open().ready()
    me.expected = ("503", "ERR_FAILED")
    token, tries = me.token(), []

    def failing(route):
        tries.append(route.request.post_data_json)
        if len(tries) == 1:
            route.fulfill(status=503, headers={"retry-after": "1"}, json={"error": "Your answer could not be saved."})
        elif len(tries) == 2:
            route.abort()
        elif len(tries) == 3:
            route.fetch()  # it arrives, but its acknowledgement does not
            route.abort()
        else:
            route.continue_()

    me.page.route("**/api/answer", failing)
    me.page.click("#left")
    me.page.wait_for_selector("#status.trouble >> text=Your answer could not be saved.")
    assert me.page.inner_text("#status").startswith("Not saved yet, trying again in") and me.answered == 0
    me.page.click("#right", force=True)  # it is being saved: nothing else is taken for it
    me.page.keyboard.press("ArrowRight")
    me.until_answered(1)
    assert me.page.inner_text("#status").startswith("Saved.")
    assert len(tries) == 4 and all(one == tries[0] for one in tries) and tries[0]["reply"] == "left"
    assert few.replies(token) == ["left"] == me.kept()


def test_an_answer_outlives_the_server_and_the_page(browser, tmp_path, visit):
    with served(tmp_path, items_file(tmp_path, DRINKS)) as server:
        me = visit(server).open().ready()
        me.expected = (
            "ERR_CONNECTION_REFUSED",
            "ERR_CONNECTION_RESET",
            "ERR_EMPTY_RESPONSE",
            "ERR_SOCKET_NOT_CONNECTED",
        )
        first = me.token()
        server.kill()
        me.page.click("#left")
        me.page.wait_for_selector("#status.trouble >> text=The server cannot be reached.")
        server.begin()
        me.until_answered(1)
        second, pair = me.token(), me.pair()
        server.kill()
        me.page.click("#right")
        me.page.wait_for_selector("#status.trouble")
        server.begin()
        me.page.reload()  # what was not acknowledged is sent by the page that comes after
        me.ready().until_answered(2)
        assert (server.replies(first), server.replies(second)) == (["left"], ["right"]) and me.pair() != pair
        assert me.page.evaluate("localStorage.getItem('rather answer')") is None
        me.page.reload()
        me.ready()
        assert me.answered == 2 and me.kept() == ["left", "right"]


def test_a_slow_network(few, visit):
    """The page says what it waits for, and several clicks are one answer; replies come when the test lets them."""
    me, held = visit(few), []

    def let_go():
        while not held:
            me.page.wait_for_timeout(10)
        held.pop().continue_()

    for path in ("question", "answer"):
        me.page.route(f"**/api/{path}", lambda route: held.append(route))
    cdp = me.context.new_cdp_session(me.page)
    cdp.send("Network.enable")
    slow = {"offline": False, "latency": 800, "downloadThroughput": 20_000, "uploadThroughput": 20_000}
    cdp.send("Network.emulateNetworkConditions", slow)
    me.open()
    me.page.wait_for_selector("#status >> text=Fetching a question…")
    let_go()
    me.page.wait_for_selector("#left:not([aria-disabled=true])")  # whether or not the rest is there
    token = me.token()
    me.page.dblclick("#left")
    me.page.wait_for_selector("#status >> text=Saving…")
    assert me.page.get_attribute("#cards", "data-chosen") == "left"
    me.page.click("#right", force=True)
    let_go()
    me.until_answered(1)
    me.settled()
    assert few.replies(token) == ["left"] == me.kept() and not held


def test_two_tabs_at_once(few, visit):
    me = visit(few).open().ready()
    other = me.tab()
    me.open(page=other).ready(other)
    token = me.token()
    assert me.pair() == me.pair(other)
    me.turn("#left")
    me.expected = ("409",)
    other.click("#right")
    other.wait_for_selector("#status >> text=what you said first stands")
    me.until_answered(1, other)
    assert me.pair(other) == me.pair() and few.replies(token) == ["left"]
    other.click("#tie")
    me.until_answered(2, other)
    me.page.click("#tie")  # the same again: acknowledged, and not counted twice
    me.until_answered(2)
    assert me.pair() == me.pair(other) and me.kept() == ["left", "tie"]


# -- what must not happen ----------------------------------------------------------------------------------------------


def test_hostile_texts_are_shown_as_text(browser, tmp_path, visit):
    picture = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script><circle r="9"/></svg>'
    )
    (tmp_path / "evil.svg").write_text(picture)
    rows = [(f"{n} {text}"[:400], text, text, "evil.svg" if n == 0 else "") for n, text in enumerate(HOSTILE)]
    axe = axe_script()
    with served(tmp_path, items_file(tmp_path, rows), "--title", HOSTILE[1]) as server:
        titles = {item["title"].strip(): item["description"] for item in visit(server).get("/api/items")["items"]}
        assert len(titles) == len(HOSTILE) and max(map(len, titles)) == 1000  # the longest are cut by the server
        for options in ({}, PHONE):
            me = visit(server, **options).open().ready()
            seen, n = set(), 0
            while len(seen) < len(HOSTILE) and n < 26:
                for side in ("#left", "#right"):
                    shown = me.page.text_content(f"{side} .title")
                    whole = next(text for text in titles if text == shown or text.startswith(shown[:-1]))
                    assert shown == whole or (shown.endswith("…") and len(shown) <= 301 < len(whole))
                    assert me.page.text_content(f"{side} .description").startswith(titles[whole][:200])
                    card = me.page.locator(side)
                    assert card.locator("script, h1, button, [onerror], [onload], img:not(.picture > img)").count() == 0
                    box = card.bounding_box()
                    assert box["x"] >= 0 and box["x"] + box["width"] <= me.page.viewport_size["width"]
                    assert box["height"] < 900
                    seen.add(whole)
                me.turn(("#left", "#right", "#tie")[n % 3])
                n += 1
            assert seen == set(titles)
            for name in PANELS:
                me.page.click(f"#{name} summary")
            me.page.click("#whatif")
            me.page.click("#share")
            for part in ("#shared-link[href]", "#answers li", "#changes > *"):
                me.page.wait_for_selector(part)
            assert me.page.inner_text("#brand") == HOSTILE[1] and me.wide() == 0
            assert me.page.locator("main h1").count() == 1 and me.findings(axe) == []
            link = me.page.get_attribute("#shared-link", "href").removeprefix(server.url)
            for path, part in (("/arena", "#me tbody tr"), (link, "#list tbody tr")):
                me.open(path).page.wait_for_selector(part)
                assert me.wide() == 0 and me.findings(axe) == [], path
        me.expected = ("Blocked script execution", "policy: script-src", "Content Security Policy")
        me.open("/pictures/0")  # alone: it may draw, not run
        assert me.page.locator("circle").count() == 1 and not [said for said in me.wrong if "dialog" in said]


def test_the_policy_is_in_force(few, visit):
    """What the other tests look out for is noticed, and does not happen."""
    me = visit(few).open().ready()
    me.page.evaluate(
        """elsewhere => {
          const script = document.createElement('script');
          script.textContent = "window.ran = true";
          const image = document.createElement('img');
          image.src = elsewhere;
          const button = document.createElement('b');
          button.setAttribute('onclick', 'window.ran = true');
          document.body.append(script, image, button);
          button.click();
          document.body.setAttribute('style', 'color: red');
        }""",
        OTHER_ORIGIN,
    )
    assert me.page.evaluate("fetch('http://elsewhere.invalid/').then(() => true, () => false)") is False
    assert me.page.evaluate("window.ran") is None
    assert me.page.evaluate("getComputedStyle(document.body).color") != "rgb(255, 0, 0)"
    told = "\n".join(me.wrong)
    for directive in ("script-src-elem inline", "script-src-attr inline", "img-src", "connect-src", "style-src-attr"):
        assert f"policy: {directive}" in told, told
    me.expected = ("policy: ", "Content Security Policy", "elsewhere.invalid", "Content-Security-Policy")


def test_a_link_shows_a_ranking_and_no_answers(club, visit):
    me = visit(club).open().ready()
    for side in ("#left", "#right", "#left", "#right"):
        me.turn(side)
    mine = me.settled()
    me.page.click("#share")
    me.page.wait_for_selector("#shared-link[href]")
    link = me.page.get_attribute("#shared-link", "href")
    told, tokens = [], {a["token"] for a in me.get("/api/answers")["answers"]}
    friend = visit(club)
    friend.page.on("response", lambda reply: told.append(reply))
    friend.open(link.removeprefix(club.url))
    friend.page.wait_for_selector("#list tbody tr")
    assert friend.listed()[:20] == mine and friend.page.inner_text("#note").startswith("From four answers")
    everything = "\n".join(reply.text() for reply in told if "/api/" in reply.url)
    assert everything and len(tokens) == 4 and not any(token in everything for token in tokens)
    shared = next(reply.json() for reply in told if "/api/shared/" in reply.url)
    assert set(shared) == {"rows", "interval", "top_of", "of", "answered", "settled"}
    assert set(shared["rows"][0]) == {"place", "best", "worst", "top", "group", "item"}
    friend.page.click("text=Find your own")
    friend.ready()
    assert friend.answered == 0
    friend.expected = ("404",)
    friend.open(link.removeprefix(club.url)[:-3] + "AAA")
    friend.page.wait_for_selector("#note >> text=There is no such ranking.")
    assert friend.page.is_hidden("#list")


def test_a_second_visitor_sees_nothing_of_the_first(club, visit):
    me, other = visit(club).open().ready(), visit(club).open().ready()
    strangers = other.settled()
    asked, open_ = me.token(), None
    for _ in range(5):
        me.turn("#left")
    assert me.settled() != strangers
    open_ = me.token()
    other.page.reload()
    other.ready()
    assert other.answered == 0 and other.settled() == strangers and other.get("/api/answers") == {"answers": []}
    for path, body in (("answer", {"token": open_, "reply": "left"}), ("undo", {"token": asked})):
        reply = other.context.request.post(f"{club.url}/api/{path}", data=body)
        assert reply.status == 404 and open_ not in reply.text()
    assert club.replies(open_) == [] and club.replies(asked) == ["left"] and me.token() == open_
    cookie = next(c for c in me.context.cookies() if c["name"].startswith("rather-"))
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict" and len(cookie["value"]) >= 32
    assert me.page.evaluate("document.cookie") == ""
    assert club.rows("SELECT count(*) FROM visitors WHERE visitor = ?", cookie["value"]) == [(0,)]  # hashed


def test_leaderboard(club, visit):
    me = visit(club).open("/arena")
    for who in ("everyone", "me"):
        me.page.wait_for_selector(f"#{who} tbody tr")
        rows = me.get(f"/api/ranking?who={who}&limit=50")["rows"]
        assert me.listed(table=who) == [row["item"]["title"] for row in rows] and len(rows) == 40
        groups = [row["group"] for row in rows]
        assert me.page.locator(f"#{who} tbody").count() == 1 + sum(a != b for a, b in itertools.pairwise(groups))
        assert me.page.locator(f"#{who} .range").count() == 40
    me.page.wait_for_selector("#me-note >> text=You have not answered yet")


def test_the_apis_page_knows_every_path(few, visit):
    me = visit(few).open("/api")
    me.page.wait_for_selector("#paths section")
    api = me.get("/openapi.json")
    want = [f"{method.upper()} {path}" for path, methods in api["paths"].items() for method in methods]
    assert me.page.locator("#paths h2").all_inner_texts() == want and len(want) >= 15
    me.page.click("#index >> text=POST /api/answer")
    assert me.page.evaluate("location.hash") == "#post-api-answer"
    answer = me.page.inner_text("#post-api-answer")
    assert '"unseen both"' in answer and "answered already, otherwise" in answer
    assert "://" not in json.dumps(api)  # nothing of elsewhere


# -- without a server --------------------------------------------------------------------------------------------------


def test_page_without_a_server_sends_nothing(alone, visit):
    """Answers move the list and survive a change of page, and after the files nothing is asked for."""
    me = visit(alone).open("/index.html").ready()
    page = me.page
    page.click("#difference summary")
    page.click("#map summary")
    page.click("#crowd summary")
    files = list(alone.asked)
    assert "/local.js" in files and "/model.json" in files
    for n, button in enumerate(("#left", "#tie", "#unseen-right", "#right"), 1):
        page.click(button)
        page.wait_for_function("n => document.getElementById('answered').textContent === String(n)", arg=n)
    page.click("#undo")
    page.wait_for_function("document.getElementById('answered').textContent === '3'")
    page.click("#whatif")
    page.wait_for_selector("#changes *")
    page.wait_for_selector("#map svg")
    assert page.is_hidden("#share") and page.locator("text=Nothing is sent.").is_visible()
    assert alone.asked == files
    page.click("text=Leaderboard")
    page.wait_for_selector("#me tbody tr")
    assert "three answers" in page.inner_text("#me-note")
    page.click("text=Ask me")
    me.ready()
    assert me.answered == 3
    assert {path for path in alone.asked if "/api" in path} == {"/api.js"}
