"""The pictures of the page: the film club, after fifteen answers of somebody who likes films dark and loud.

    PYTHONPATH=build/browser:tests .venv/bin/python scripts/pictures/page.py

It writes docs/pictures/page*.png and takes a minute.

The questions are drawn, so the pictures differ from run to run. ``bash scripts/browser .venv`` fills build/browser.
"""

from __future__ import annotations

import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from browsing import CHROMIUM, DESKTOP, PHONE, Visit, chromium, served
from rather.datasets.films import FILMS

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
MOST = 250_000  # bytes


def worth(title: str) -> float:
    liked, loud, dark, new = FILMS[title]
    return liked + loud + dark + 0.2 * new


def take(page: Page, name: str, last: str | None = None) -> None:
    """A picture of the page as it is seen, or down to some element, in few colours."""
    page.mouse.move(0, 0)
    page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished)).then(() => null)")
    clip = None
    if last is not None:
        height = page.locator(last).evaluate("one => one.getBoundingClientRect().bottom + scrollY + 24")
        clip = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": height}
    whole = Image.open(BytesIO(page.screenshot(full_page=last is not None, clip=clip))).convert("RGB")
    path = PICTURES / f"{name}.png"
    whole.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size < MOST, (path, path.stat().st_size)
    print(f"{path.name}: {path.stat().st_size:,} bytes")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, served(folder) as server, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium(), args=CHROMIUM)
        me = Visit(browser, server).open().ready()
        for n in range(15):
            left, right = me.pair()
            me.turn("#tie" if n == 7 else "#left" if worth(left) > worth(right) else "#right")
        me.settled()
        me.page.click("#whatif")
        me.page.wait_for_selector("#changes > *")
        me.page.click("#map summary")
        me.page.wait_for_selector("#map svg")
        take(me.page, "page", "#map p:last-child")
        mine = me.context.storage_state()

        dark = Visit(browser, server, **{**DESKTOP, "color_scheme": "dark", "storage_state": mine}).open().ready()
        for panel in ("difference", "crowd"):
            dark.page.click(f"#{panel} summary")
        dark.page.wait_for_selector("#crowd li")
        dark.page.wait_for_selector("#difference table")
        take(dark.page, "page-dark", "#crowd > div")
        take(Visit(browser, server, **PHONE, storage_state=mine).open().ready().page, "page-phone")
        board = Visit(browser, server, storage_state=mine).open("/arena").page
        board.wait_for_selector("#everyone tbody tr")
        board.wait_for_selector("#me tbody tr")
        take(board, "page-leaderboard")
        browser.close()


if __name__ == "__main__":
    main()
