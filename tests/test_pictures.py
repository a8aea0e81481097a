"""The pictures of the site are complete in themselves."""

import re
from pathlib import Path

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"


def test_a_picture_loads_nothing():
    """A page shows a picture without what is outside of it, such as a font."""
    drawn = list(PICTURES.glob("*.svg"))
    assert len(drawn) > 10
    for path in drawn:
        assert not re.search(r"(?:href=[\"']|url\([\"']?)https?:", path.read_text()), path.name
