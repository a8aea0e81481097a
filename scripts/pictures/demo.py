"""The output of ``rather demo`` as a picture.

python scripts/pictures/demo.py      # writes docs/pictures/demo.svg; a few seconds
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from rather.cli import film_club

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "demo.svg"


def main() -> None:
    console = Console(record=True, width=92, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print("$ rather demo", style="bold")
    film_club.show(film_club.run(members=400, seed=0), console)
    picture = console.export_svg(title="rather demo", unique_id="rather")
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.S)  # a picture on a page loads no font
    PICTURE.write_text(picture.replace("Fira Code, monospace", "monospace"))
    print(f"-> {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
