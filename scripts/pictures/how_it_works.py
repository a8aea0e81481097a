"""The idea in four panels, drawn from the film club.

python scripts/pictures/how_it_works.py      # writes docs/pictures/how_it_works.svg; half a minute
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import rather

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "how_it_works.svg"
USER = "Ada M."
ANSWERS, PLACES = 10, 12  # in the first and in the last panel
SHOWN = (
    "Alien", "Before Sunrise", "Casablanca", "Die Hard", "Fargo", "Mad Max: Fury Road", "Notting Hill",
    "Spirited Away", "Star Wars", "The Godfather", "Tokyo Story", "Toy Story", "Vertigo",
)  # fmt: skip
INK, OTHERS, MEMBER, PALE = "#2e3440", "#3a6ea5", "#c8553d", "#6b7686"


def answers(axes: Any, votes: rather.Table) -> None:
    """Draw the first answers of the member as text."""
    mine = [row for row in votes if row.user == USER][:ANSWERS]
    for at, row in enumerate(mine):
        axes.text(0.45, -at, row.winner, ha="right", va="center", color=MEMBER, weight="bold")
        axes.text(0.5, -at, "over", ha="center", va="center", color=PALE, fontsize=8)
        axes.text(0.55, -at, row.loser, ha="left", va="center", color=PALE)
    axes.set(xlim=(0, 1), ylim=(-ANSWERS + 0.3, 0.7))


def directions(model: Any) -> tuple[Any, Any]:
    """Return films and members on the two directions in which members differ most; the member points to the right."""
    films = model.item_factors_ - model.item_factors_.mean(axis=0)
    members = model.user_factors_ - model.user_factors_.mean(axis=0)
    left, size, right = np.linalg.svd(members @ films.T, full_matrices=False)
    turn = size[:2] ** 0.5 * np.sign(left[model.users_.tolist().index(USER), :2])
    return right[:2].T * turn, left[:, :2] * turn


def space(axes: Any, films: Any, names: tuple[str, ...], colours: Any) -> None:
    axes.scatter(*films.T, s=30, c=colours, zorder=2)
    for name, place in zip(names, films, strict=True):
        axes.annotate(name, place, (0, 6), textcoords="offset points", ha="center", fontsize=9, color=INK)
    reach = 1.4 * np.abs(films).max()
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach))


def arrow(axes: Any, films: Any, member: Any) -> None:
    """Draw the direction of the member, as long as the panel allows."""
    tip = member / np.linalg.norm(member) * 1.15 * np.abs(films).max()
    axes.plot(*zip(-tip, tip, strict=True), "--", color=MEMBER, linewidth=1, zorder=1)
    axes.annotate(
        "", tip, (0, 0), arrowprops={"arrowstyle": "-|>", "color": MEMBER, "linewidth": 2.5, "mutation_scale": 18}
    )
    axes.annotate(USER, tip, (0, 9), textcoords="offset points", color=MEMBER, weight="bold", ha="center")


def places(axes: Any, model: Any) -> None:
    """Draw the first places of the member, with their ranges."""
    table = model.rank(USER, interval=0.9)[:PLACES]
    at = -np.arange(len(table))
    axes.hlines(at, table["best"], table["worst"], color=MEMBER, linewidth=5, alpha=0.35)
    axes.plot(table["rank"], at, "o", color=MEMBER)
    for row, height in zip(table, at, strict=True):
        axes.text(-0.3, height, f"{row.item}  {row.rank}", ha="right", va="center")
    axes.set(xlim=(-12.5, table["worst"].max() + 1), ylim=(-PLACES + 0.3, 0.7))


def main() -> None:
    plt.rcParams.update({"font.family": "sans-serif", "font.size": 10, "image.cmap": "coolwarm"})
    plt.rcParams.update({"svg.fonttype": "path", "svg.hashsalt": "rather"})
    votes = rather.datasets.film_club()
    model = rather.fit(rather.Comparisons.from_frame(votes))
    films, members = directions(model)
    member, films = members[model.users_.tolist().index(USER)], films[np.isin(model.items_, SHOWN)]
    figure, axes = plt.subplots(2, 2, figsize=(10.5, 9), layout="constrained")
    figure.patch.set_facecolor("white")  # readable on a dark page
    figure.get_layout_engine().set(w_pad=0.15, h_pad=0.15)
    first, second, third, last = axes.flat
    answers(first, votes)
    space(second, films, SHOWN, [OTHERS] * len(films))
    space(third, films, SHOWN, films @ member)
    arrow(third, films, member)
    places(last, model)
    for panel, title in zip(
        axes.flat,
        (
            f"1. Each person answers a few questions.\nThe first answers of {USER}:",
            "2. All answers together place the films.\nNeighbours please the same people.",
            f"3. A person is a direction in the same map.\nFilms far along it (red) suit {USER}",
            f"4. The list of {USER}: her taste, and what everybody\nlikes. Bars are ranges of places, 90 % sure.",
        ),
        strict=True,
    ):
        panel.set_title(title, loc="left", fontsize=12, color=INK)
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set_color("#d8dee9")
    figure.savefig(PICTURE, metadata={"Date": None})
    print(f"-> {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
