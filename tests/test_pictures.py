"""Pictures are small, and a reader who cannot see one reads what it shows."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
LARGEST = 250 * 1024
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_pictures_are_small():
    pictures = list((ROOT / "docs" / "pictures").iterdir())
    assert len(pictures) > 10
    assert not {path.name: path.stat().st_size for path in pictures if path.stat().st_size > LARGEST}


def test_every_picture_on_a_page_exists_and_is_described():
    found = 0
    for page in PAGES:
        for text, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text()):
            found += 1
            assert len(text.split()) >= 4, f"{page.name}: describe {target}"
            assert (page.parent / target).is_file(), f"{page.name}: {target}"
    assert found > 10


def test_a_picture_loads_nothing():
    """A picture is shown where nothing outside it can be loaded."""
    for path in (ROOT / "docs" / "pictures").glob("*.svg"):
        assert not re.search(r"(?:href=[\"']|url\([\"']?)https?:", path.read_text()), path.name
