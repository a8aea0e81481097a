"""The picture of the README: how well answers are predicted, by how many answers each person gave.

    python docs/picture.py      # writes docs/crowd.svg; a minute

Simulated people (1,000 of them, 100 items, tastes of rank 3), so that the truth is known: the share of fresh answers
that is predicted rightly by one ranking for all, by each person's own counts of wins and losses, and by rather.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

import rather

ANSWERS = (5, 10, 20, 40, 80, 160)


def alone(world: rather.World, test: rather.Comparisons) -> float:
    """Accuracy of each person's own wins minus losses; an unknown order is a coin toss."""
    pairs, asked = world.comparisons.pairs(), test.pairs()
    net = np.zeros((test.n_users, test.n_items))
    np.add.at(net, (pairs.user, pairs.winner), 1)
    np.add.at(net, (pairs.user, pairs.loser), -1)
    difference = net[asked.user, asked.winner] - net[asked.user, asked.loser]
    return float(np.mean((difference > 0) + 0.5 * (difference == 0)))


def main() -> None:
    rows = []
    for n in ANSWERS:
        found = []
        for seed in range(3):
            world = rather.simulate(1000, 100, rank=3, per_user=n, seed=seed)
            test = world.test()
            model = rather.AltSVM().fit(world.comparisons)
            asked, bias = test.pairs(), model.item_bias_
            crowd = float(np.mean(bias[asked.winner] > bias[asked.loser]))
            found.append((crowd, alone(world, test), rather.pairwise_accuracy(model, test), world.best_accuracy))
        rows.append(np.mean(found, axis=0))
        print(n, *(f"{v:.3f}" for v in rows[-1]))
    crowd, own, ours, best = np.array(rows).T

    plt.rcParams.update(
        {"font.family": "sans-serif", "font.size": 11, "svg.fonttype": "path", "svg.hashsalt": "rather"}
    )
    figure, axes = plt.subplots(figsize=(8.4, 3.8), layout="constrained")
    lines = (
        (best, "knowing the truth", "#777777", "--"),
        (ours, "rather: a ranking each,\nlearned from everyone", "#0b6e4f", "-"),
        (own, "each person's own\nanswers alone", "#c8553d", "-"),
        (crowd, "one ranking for all", "#3a6ea5", "-"),
    )
    for values, label, colour, style in lines:
        axes.plot(ANSWERS, values, style, color=colour, linewidth=2, marker="o" if style == "-" else None)
        place = (10, {"knowing the truth": 6, "rather: a ranking each,\nlearned from everyone": -12}.get(label, 0))
        axes.annotate(label, (ANSWERS[-1], values[-1]), place, textcoords="offset points", color=colour, va="center")
    axes.set_xscale("log", base=2)
    axes.set_xticks(ANSWERS, [str(n) for n in ANSWERS])
    axes.set_xlabel("answers each person gave")
    axes.set_ylabel("fresh answers predicted rightly")
    axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0, decimals=0))
    axes.set_ylim(0.48, 0.84)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    figure.savefig(Path(__file__).parent / "crowd.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
