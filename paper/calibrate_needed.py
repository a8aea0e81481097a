"""The constants of ``rather.answers_needed``: comparisons per user against rank, size, noise and share.

    python paper/calibrate_needed.py        # two minutes

Every seed is a world of random size (30 to 2,000 users, 30 to 500 items), rank (1 to 8) and noise (0.25 to 2), in which
the comparisons per user are increased by factors of sqrt(2) until 0.95 of the attainable accuracy above chance is
predicted, or there are half a million; in between they are interpolated. Then

    needed = (A + B noise^2) / (1 - share) g(rank, n_users, n_items)

is fitted by least squares in logarithms for several g, the theorem's g = rank (1 + n_items / n_users) among them, with
and without its logarithms. ``rather.answers_needed`` uses the best of them; check_needed.py judges it in other worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from truth import scores_of, share

import rather
from measuring import common, experiment
from measuring.smoke import sized

NAME = "calibrate_needed"
ENDS = sized(((30, 2000), (30, 500)), smoke=((30, 60), (30, 60)))  # numbers of users and of items
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MOST = sized(500_000, smoke=20_000)
STEP = 2**0.5


def random_world(rng: np.random.Generator) -> dict[str, Any]:
    """Size, rank and noise of a world, spread evenly in logarithms (the rank: evenly)."""
    n_users, n_items = (round(float(np.exp(rng.uniform(*np.log(ends))))) for ends in ENDS)
    rank, noise = int(rng.integers(1, 9)), float(np.exp(rng.uniform(*np.log((0.25, 2)))))
    return {"n_users": n_users, "n_items": n_items, "rank": rank, "noise": noise}


def measure(seed: int) -> Iterator[common.Row]:
    size = random_world(np.random.default_rng(1000 + seed))
    tried, reached = [], [0.0]
    answers = size["rank"] * (1 + size["n_items"] / size["n_users"])
    while reached[-1] < SHARES[-1] and answers * size["n_users"] <= MOST:
        world = rather.simulate(**size, per_user=round(answers), seed=1000 + seed)
        model = rather.AltSVM(n_threads=1).fit(world.comparisons)
        tried.append(round(answers))
        reached.append(max(reached[-1], share(world.scores, scores_of(model))))
        answers *= STEP
    for wanted in SHARES:
        if reached[1] < wanted <= reached[-1]:
            yield {**size, "share": wanted, "per_user": float(np.exp(np.interp(wanted, reached[1:], np.log(tried))))}


def columns(rows: list[common.Row]) -> dict[str, Any]:
    names = ("n_users", "n_items", "rank", "noise", "share", "per_user")
    return {name: np.array([row[name] for row in rows], dtype=float) for name in names}


SHAPES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "(r + 1/2) (1 + sqrt(items / users))^2": lambda r, n, k: (r + 0.5) * (1 + np.sqrt(k / n)) ** 2,
    "r (1 + sqrt(items / users))^2": lambda r, n, k: r * (1 + np.sqrt(k / n)) ** 2,
    "r (1 + items / users)": lambda r, n, k: r * (1 + k / n),
    "r (1 + items / users) log(users + items)": lambda r, n, k: r * (1 + k / n) * np.log(n + k),
    "r (1 + items / users) log^2(users + items)": lambda r, n, k: r * (1 + k / n) * np.log(n + k) ** 2,
}


def planned(at: dict[str, Any], shape: str, a: float, b: float) -> Any:
    return (a + b * at["noise"] ** 2) / (1 - at["share"]) * SHAPES[shape](at["rank"], at["n_users"], at["n_items"])


def fit(at: dict[str, Any], shape: str) -> tuple[float, float, Any]:
    """A, B, and by what factor each row needed more than planned."""
    found = least_squares(lambda logs: np.log(planned(at, shape, *np.exp(logs)) / at["per_user"]), (0.0, 0.0))
    a, b = np.exp(found.x)
    return float(a), float(b), at["per_user"] / planned(at, shape, a, b)


def draw(rows: list[common.Row]) -> None:
    at = columns(rows)
    for shape in SHAPES:
        a, b, off = fit(at, shape)
        low, high = np.quantile(off, (0.1, 0.9))
        print(
            f"{shape:43s} A = {a:.3f}, B = {b:.3f}, typically {np.exp(np.std(np.log(off))):.2f}-fold off, "
            f"eight of ten worlds needed {low:.2f} to {high:.2f} times as many"
        )
    shape = next(iter(SHAPES))
    a, b, off = fit(at, shape)
    figure, panel = common.axes(width=5.6, height=4.8)
    for wanted, colour in zip(SHARES, common.COLOURS, strict=True):
        some = at["share"] == wanted
        print(f"  share {wanted}: {some.sum()} worlds needed {np.median(off[some]):.2f} times as many in the middle")
        panel.plot(planned(at, shape, a, b)[some], at["per_user"][some], "o", color=colour, markersize=4, label=wanted)
    ends = np.array([at["per_user"].min(), at["per_user"].max()])
    panel.plot(ends, ends, ":", color="black")
    panel.set(xscale="log", yscale="log", xlabel="comparisons per user planned", ylabel="comparisons per user it took")
    panel.legend(fontsize=9, title="share")
    common.save(figure, NAME)


if __name__ == "__main__":
    experiment.main(NAME, __doc__, measure, draw, seeds=80)
