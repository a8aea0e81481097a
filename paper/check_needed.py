"""Does ``rather.answers_needed`` hold in worlds it was not calibrated on? The share reached with what it says.

    python paper/check_needed.py        # half a minute

Every seed is a fresh world of random size, rank and noise, as in calibrate_needed.py, with a random share to reach.
(Sixty other worlds had shown before that a formula without the 1/2 next to the rank plans too little at rank 1.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from calibrate_needed import random_world
from truth import scores_of, share

import rather
from measuring import common, experiment

NAME = "check_needed"


def measure(seed: int) -> Iterator[common.Row]:
    rng = np.random.default_rng(6000 + seed)
    size = random_world(rng)
    wanted = float(rng.uniform(0.5, 0.95))
    per_user = rather.answers_needed(
        **{key: size[key] for key in ("n_users", "n_items", "rank", "noise")}, share=wanted
    )
    world = rather.simulate(**size, per_user=per_user, seed=6000 + seed)
    model = rather.AltSVM(n_threads=1).fit(world.comparisons)
    yield {**size, "wanted": wanted, "per_user": per_user, "reached": share(world.scores, scores_of(model))}


def draw(rows: list[common.Row]) -> None:
    figure, panel = common.axes(width=5.6, height=4.8)
    short = np.array([row["wanted"] - row["reached"] for row in rows])
    high = np.array([row["wanted"] >= 0.8 for row in rows])
    print(
        f"{np.mean(short <= 0):.2f} of {len(rows)} worlds reach the share ({np.mean(short[high] <= 0):.2f} of the "
        f"{high.sum()} from 0.8 on), {np.mean(short <= 0.03):.2f} come within 0.03; the worst is {short.max():.3f} "
        f"short, the mean {short.mean():+.3f}"
    )
    panel.plot([row["wanted"] for row in rows], [row["reached"] for row in rows], "o", color=common.COLOURS[0])
    panel.plot([0.5, 0.95], [0.5, 0.95], ":", color="black")
    panel.set(xlabel="share planned for", ylabel="share reached")
    common.save(figure, NAME)


if __name__ == "__main__":
    experiment.main(NAME, __doc__, measure, draw, seeds=60)
