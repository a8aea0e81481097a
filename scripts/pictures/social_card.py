"""The picture that other sites show beside a link.

python scripts/pictures/social_card.py      # writes docs/pictures/social_card.png; a few seconds
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import rather

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "social_card.png"
SHOWN = 6
INK, PALE = "#2e3440", "#c3cad6"
PEOPLE = {"everybody": "#3a6ea5", "Ada M.": "#c8553d", "Anouk C.": "#0b6e4f"}


def main() -> None:
    plt.rcParams["font.family"] = "sans-serif"
    model = rather.fit(rather.Comparisons.from_frame(rather.datasets.film_club()))
    figure = plt.figure(figsize=(12.8, 6.4), dpi=100, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 1280), ylim=(640, 0))
    axes.set_axis_off()
    axes.text(70, 150, "rather", fontsize=64, weight="bold", color=INK)
    axes.text(72, 212, "Everyone's own ranking of all your items,\nfrom a few choices each.", fontsize=22, color=INK,
              va="top")  # fmt: skip
    for column, (name, colour) in enumerate(PEOPLE.items()):
        table = model.rank() if name == "everybody" else model.rank(name)
        left = 72 + 400 * column
        axes.plot([left, left + 340], [372, 372], color=colour, linewidth=4, solid_capstyle="butt")
        axes.text(left, 354, name, fontsize=17, weight="bold", color=colour)
        for place, film in enumerate(table["item"][:SHOWN].tolist()):
            axes.text(left, 408 + 36 * place, f"{place + 1}", fontsize=15, color=PALE, va="center")
            axes.text(left + 28, 408 + 36 * place, film, fontsize=15, color=INK, va="center")
    figure.savefig(PICTURE, metadata={"Software": None})
    print(f"-> {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
