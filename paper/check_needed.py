"""Does ``rather.needed`` hold in worlds it was not calibrated on? The share reached with what it says.

    python paper/check_needed.py        # half a minute

Every seed is a fresh world of random size, rank and noise, as in calibrate_needed.py, with a random share to reach.
(Sixty other worlds had shown before that a formula without the 1/2 next to the rank plans too little at rank 1.)
"""

from __future__ import annotations

from collections.abc import Iterator

import common
import measuring
import numpy as np
from calibrate_needed import random_world
from truth import scores_of, share

import rather

NAME = "check_needed"


def measure(seed: int) -> Iterator[common.Row]:
    rng = np.random.default_rng(6000 + seed)
    size = random_world(rng)
    wanted = float(rng.uniform(0.5, 0.95))
    per_user = rather.needed(**{key: size[key] for key in ("n_users", "n_items", "rank", "noise")}, share=wanted)
    world = rather.simulate(**size, per_user=per_user, seed=6000 + seed)
    reached = {reg: share(world.scores, scores_of(model)) for reg, model in fits(world).items()}
    yield {**size, "wanted": wanted, "per_user": per_user, **reached}


def fits(world: rather.World) -> dict[str, rather.AltSVM]:
    regs = {"reached": None, "reached_cv": "cv"}
    return {name: rather.AltSVM(reg=reg, n_threads=1).fit(world.comparisons) for name, reg in regs.items()}


def draw(rows: list[common.Row]) -> None:
    figure, panel = common.axes(width=5.6, height=4.8)
    labels = {"reached": "AltSVM", "reached_cv": 'AltSVM(reg="cv")'}
    for (column, label), colour in zip(labels.items(), common.COLOURS, strict=False):
        short = np.array([row["wanted"] - row[column] for row in rows])
        print(
            f"{label}: {np.mean(short <= 0):.2f} of {len(rows)} worlds reach the share, {np.mean(short <= 0.03):.2f} "
            f"come within 0.03, {np.mean(short <= 0.05):.2f} within 0.05; the worst is {short.max():.3f} short, "
            f"the mean {short.mean():+.3f}"
        )
        panel.plot([row["wanted"] for row in rows], [row[column] for row in rows], "o", color=colour, label=label)
    panel.plot([0.5, 0.95], [0.5, 0.95], ":", color="black")
    panel.set(xlabel="share planned for", ylabel="share reached")
    panel.legend()
    common.save(figure, NAME)


if __name__ == "__main__":
    measuring.main(NAME, __doc__, measure, draw, seeds=60)
