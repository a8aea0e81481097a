"""A real server, as people start it, and a real browser in front of it, which notes whatever should not happen."""

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

COMMAND = "import sys; from rather_command import main; sys.exit(main())"
FREE = "--address-rate", "1000", "--visitor-rate", "100"  # tests are many people in a hurry
CHROMIUM = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
HANGS = 120  # seconds: the limit of what hangs, and of nothing else
DESKTOP = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True, "is_mobile": True}
# Violations of the policy are told as errors; so is what a title would run.
NOTES = """
  addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`));
  window.pwned = (what) => console.error(`executed: ${what}`);
"""


class Server:
    """``rather serve`` in a folder of its own; it can be killed, and begin again at the same port."""

    def __init__(self, folder, *arguments):
        self.folder, self.arguments, self.port, self.process = folder, arguments, 0, None
        self.begin()

    def begin(self):
        command = [sys.executable, "-c", COMMAND, "serve", *map(str, self.arguments), *FREE]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port), "--json"],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        said = self.process.stdout.readline()
        assert said, self.process.communicate()
        self.document = json.loads(said)
        self.url = self.document["url"].rstrip("/")
        self.port = int(self.url.rpartition(":")[2])
        until = time.monotonic() + HANGS
        while not self._is_ready():
            assert time.monotonic() < until and self.process.poll() is None
            time.sleep(0.05)

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as reply:
                return reply.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.communicate(timeout=HANGS)
        finally:
            self.process.kill()

    def rows(self, query, *values):
        """What the ledger holds."""
        with closing(sqlite3.connect(self.document["votes"])) as ledger:
            return ledger.execute(query, values).fetchall()

    def replies(self, *tokens):
        """The answers to these questions that the ledger has, undone or not."""
        several = ",".join("?" * len(tokens))
        return [reply for (reply,) in self.rows(f"SELECT reply FROM answers WHERE token IN ({several})", *tokens)]


@contextmanager
def served(folder, *arguments):
    server = Server(folder, *arguments)
    try:
        yield server
    finally:
        server.end()


class Visit:
    """One person's browser on one server; at the end nothing may have gone wrong that the test did not expect."""

    def __init__(self, browser, server, **options):
        self.server, self.wrong, self.expected = server, [], ()
        self.context = browser.new_context(**{**DESKTOP, **options})
        self.context.set_default_timeout(1000 * HANGS)
        self.context.add_init_script(NOTES)
        self.page = self.tab()

    def tab(self):
        page = self.context.new_page()
        page.on("console", lambda said: said.type in ("error", "warning") and self.wrong.append(said.text))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("dialog", lambda dialog: (self.wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self._look(request.url))
        return page

    def _look(self, url):
        if not url.startswith((f"{self.server.url}/", "data:")):
            self.wrong.append(f"asked elsewhere: {url}")

    def unexpected(self):
        return [said for said in self.wrong if not any(part in said for part in self.expected)]

    def open(self, path="/", page=None):
        (page or self.page).goto(self.server.url + path)
        return self

    def get(self, path):
        """What the API tells this visitor."""
        reply = self.context.request.get(self.server.url + path)
        assert reply.ok, (path, reply.status)
        return reply.json()

    def ready(self, page=None):
        """Until there is a question, and the list beside it."""
        page = page or self.page
        page.wait_for_selector("#left:not([aria-disabled=true])")
        page.wait_for_selector("#list tbody tr")
        return self

    @property
    def answered(self):
        return int(self.page.inner_text("#answered"))

    def pair(self, page=None):
        return tuple((page or self.page).inner_text(f"{side} .title") for side in ("#left", "#right"))

    def unfold(self, name):
        """Tap until a panel is open: what is drawn above it may push it away from under the finger."""
        for _ in range(5):
            self.page.tap(f"#{name} summary")
            if self.page.locator(f"#{name}[open]").count():
                return
        raise AssertionError(f"the panel {name} does not open")

    def token(self):
        """Of the question that is open."""
        reply = self.context.request.post(f"{self.server.url}/api/question", data={})
        assert reply.ok, reply.status
        return reply.json()["question"]["token"]

    def kept(self):
        """What this visitor said, as the ledger has it, undone or not."""
        from rather.server.ledger import hashed

        mine = next(c["value"] for c in self.context.cookies() if c["name"].startswith("rather-"))
        query = "SELECT reply FROM answers JOIN questions USING (token) WHERE visitor = ? ORDER BY answered"
        return [reply for (reply,) in self.server.rows(query, hashed(mine))]

    def until_answered(self, n, page=None):
        (page or self.page).wait_for_function(
            """n => +document.getElementById('answered').textContent === n &&
                 document.getElementById('ask').getAttribute('aria-busy') === 'false'""", arg=n
        )  # fmt: skip

    def turn(self, act):
        """Something that makes one answer, until it is acknowledged."""
        n = self.answered
        if isinstance(act, str):
            self.page.click(act)
        else:
            act()
        self.until_answered(n + 1)

    def listed(self, page=None, table="list"):
        return (page or self.page).locator(f"#{table} th[scope=row] .title").all_inner_texts()

    def settled(self, page=None, limit=20):
        """The list once it is what the server tells now."""
        rows = self.get(f"/api/ranking?who=me&limit={limit}")["rows"]
        want = [row["item"]["title"] for row in rows]
        (page or self.page).wait_for_function(
            """want => JSON.stringify(want) === JSON.stringify(
                 [...document.querySelectorAll('#list th[scope=row] .title')].map(e => e.textContent))""", arg=want
        )  # fmt: skip
        return want

    def wide(self, page=None):
        """By how many pixels the page can be scrolled sideways."""
        return (page or self.page).evaluate(
            "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
        )

    def findings(self, axe, page=None):
        """What axe finds serious."""
        page = page or self.page
        page.evaluate(axe)
        found = page.evaluate("axe.run()")
        assert len(found["passes"]) > 10, "axe did not look"
        return [(one["id"], [node["target"] for node in one["nodes"]]) for one in found["violations"]
                if one["impact"] in ("serious", "critical")]  # fmt: skip


def chromium():
    """Where the browser is, or a skip."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("there is no Chromium: sudo apt-get install chromium")
    return found


def axe_script():
    """The accessibility checker, or a skip."""
    package = pytest.importorskip("axe_playwright_python", reason="axe is not installed; scripts/browser does it")
    return next(Path(package.__file__).parent.rglob("axe.min.js")).read_text()
