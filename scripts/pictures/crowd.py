"""The picture of the README: how well new answers are predicted, by how many answers each person gave.

    python scripts/pictures/crowd.py      # writes docs/pictures/crowd.svg; a minute

The left panel learns from the first answers of each member of the film club, whose tastes are known. It predicts
100,000 fresh answers; the values are means of five clubs. The right panel draws the rows of llmfao in
benchmarks/results/votes.csv.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

import rather
from rather.datasets.films import club

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "pictures" / "crowd.svg"
RESULTS = ROOT / "benchmarks" / "results" / "votes.csv"
ANSWERS = (2, 5, 10, 20, 30)
SEEDS = 5
LINES = (  # label, colour, dash, and how far above the line's right end the label stands, in points
    ("rather", "#0b6e4f", "-", 7),
    ("one ranking\nfor all", "#3a6ea5", "-", 11),
    ("own answers\nalone", "#c8553d", "-", -15),
    ("knowing the truth", "#777777", "--", 0),
)


def first(votes: rather.Table, n: int) -> rather.Comparisons:
    """Return the first n votes of each user; the rows of a user stand together."""
    user = np.asarray(votes["user"])
    _, start, count = np.unique(user, return_index=True, return_counts=True)
    place = np.arange(len(user)) - np.repeat(start, count)
    return rather.Comparisons.from_frame({name: np.asarray(votes[name])[place < n] for name in votes.columns})


def alone(train: rather.Comparisons, test: rather.Comparisons) -> float:
    """Return the accuracy of each user's own wins minus losses; an unknown order counts as half right."""
    net: dict[tuple[Any, Any], int] = {}
    table = train.to_frame("dict")
    for user, winner, loser in zip(table["user"], table["winner"], table["loser"], strict=True):
        net[user, winner] = net.get((user, winner), 0) + 1
        net[user, loser] = net.get((user, loser), 0) - 1
    asked = test.to_frame("dict")
    difference = np.array([
        net.get((user, winner), 0) - net.get((user, loser), 0)
        for user, winner, loser in zip(asked["user"], asked["winner"], asked["loser"], strict=True)
    ])  # fmt: skip
    return float(np.mean((difference > 0) + 0.5 * (difference == 0)))


def simulated() -> list[list[float]]:
    """Return a row per number of answers: rather, one ranking for all, own answers alone, the truth."""
    found = np.zeros((SEEDS, len(ANSWERS), 4))
    for seed in range(SEEDS):
        world = club(seed=seed)
        votes, test = rather.Table(world.comparisons.to_frame("dict")), world.test()
        for at, n in enumerate(ANSWERS):
            train = first(votes, n)
            ours, crowd = rather.fit(train), rather.Global().fit(train)
            accuracies = (float(rather.pairwise_accuracy(model, test)) for model in (ours, crowd))
            found[seed, at] = *accuracies, alone(train, test), world.best_accuracy
    for n, row in zip(ANSWERS, found.mean(axis=0), strict=True):
        print(n, *(f"{value:.3f}" for value in row))
    return found.mean(axis=0).tolist()


def real() -> tuple[list[str], list[list[float]]]:
    """Return the numbers of answers and the same columns without the truth."""
    with RESULTS.open(newline="") as file:
        found = {(row["set"], row["method"]): float(row["accuracy"] or "nan") for row in csv.DictReader(file)}
    sets = {"2": "2 each", "5": "5 each", "10": "10 each", "20": "20 each", "four\nfifths": "four fifths"}
    methods = ("default", "everybody", "alone")
    return list(sets), [[found[f"llmfao, {name}", method] for method in methods] for name in sets.values()]


def draw(axes: plt.Axes, labels: list[str], rows: list[list[float]], title: str) -> None:
    for values, (_, colour, style, _) in zip(zip(*rows, strict=True), LINES, strict=False):
        dot = "o" if style == "-" else None
        axes.plot(range(len(labels)), values, style, color=colour, linewidth=2.2, marker=dot, markersize=5)
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xticks(range(len(labels)), labels)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)


def main() -> None:
    plt.rcParams.update(
        {"font.family": "sans-serif", "font.size": 10, "svg.fonttype": "path", "svg.hashsalt": "rather"}
    )
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.7), layout="constrained", sharey=True)
    figure.patch.set_facecolor("white")  # readable on a dark page
    rows = simulated()
    draw(left, [str(n) for n in ANSWERS], rows, "Simulated: 400 members of a club, 40 films")
    label, colour, _, _ = LINES[-1]
    left.annotate(label, (0, rows[0][-1]), (0, -12), textcoords="offset points", color=colour)
    names, rows = real()
    draw(right, names, rows, "Real: 124 judges of 59 language models")
    for value, (label, colour, _, above) in zip(rows[-1], LINES, strict=False):
        place = (len(names) - 1, value)
        right.annotate(
            label, place, (10, above), textcoords="offset points", color=colour, va="center", annotation_clip=False
        )
    figure.supxlabel("answers per person", fontsize=10)
    left.set_ylabel("new answers predicted")
    left.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0, decimals=0))
    left.set_ylim(0.48, 0.86)
    figure.savefig(PICTURE, metadata={"Date": None})
    print(f"-> {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
