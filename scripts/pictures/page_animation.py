"""The voting page as an animation: eight answers of one visitor, then the leaderboard.

    PYTHONPATH=build/browser:tests .venv/bin/python scripts/pictures/page_animation.py

It writes docs/pictures/page.webp and takes a minute. Chromium and playwright are no part of the project's extras, so
``make pictures`` leaves this script out. ``bash scripts/browser .venv`` fills build/browser. The questions are drawn,
so the animation differs from run to run.
"""

from __future__ import annotations

import tempfile
from functools import partial
from io import BytesIO
from pathlib import Path

from page import MOST, worth
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from browsing import CHROMIUM, Visit, chromium, served

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "page.webp"
WINDOW = {"width": 1000, "height": 700}
SIZE = 800, 560  # pixels of a frame
ANSWERS = 8
TIMES = 3  # then it stands still at the leaderboard
READ, CHOSEN, LEARNED, LAST = 1000, 400, 700, 4000  # milliseconds of a frame
RING = "one => { one.style.outline = '4px solid #3a6ea5'; one.style.outlineOffset = '2px'; }"


class Film:
    """Frames and how long each is shown."""

    def __init__(self) -> None:
        self.frames: list[Image.Image] = []
        self.milliseconds: list[int] = []

    def take(self, page: Page, milliseconds: int) -> None:
        """Add what is seen once nothing on the page moves."""
        page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished)).then(() => null)")
        whole = Image.open(BytesIO(page.screenshot())).convert("RGB")
        self.frames.append(whole.resize(SIZE, Image.Resampling.LANCZOS))
        self.milliseconds.append(milliseconds)

    def save(self) -> None:
        first, *others = self.frames
        first.save(
            PICTURE, save_all=True, append_images=others, duration=self.milliseconds, loop=TIMES, quality=70, method=6,
            minimize_size=True,
        )  # fmt: skip
        size = PICTURE.stat().st_size
        assert size < MOST, size
        print(f"{PICTURE.name}: {size:,} bytes, {len(self.frames)} frames, {sum(self.milliseconds) / 1000:.0f} s")


def main() -> None:
    film = Film()
    with tempfile.TemporaryDirectory() as folder, served(folder) as server, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium(), args=CHROMIUM)
        me = Visit(browser, server, viewport=WINDOW).open().ready()
        me.page.mouse.move(0, 0)
        for _ in range(ANSWERS):
            film.take(me.page, READ)
            left, right = me.pair()
            side = "Left" if worth(left) > worth(right) else "Right"
            card = me.page.locator(f"#{side.lower()}")
            card.evaluate(RING)
            film.take(me.page, CHOSEN)
            card.evaluate("one => one.removeAttribute('style')")
            me.turn(partial(me.page.press, "body", f"Arrow{side}"))
            me.settled()
        film.take(me.page, LEARNED)
        me.open("/arena")
        me.page.wait_for_selector("#everyone tbody tr")
        me.page.wait_for_selector("#me tbody tr")
        film.take(me.page, LAST)
        browser.close()
    film.save()


if __name__ == "__main__":
    main()
