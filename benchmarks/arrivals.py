"""Votes that keep coming: updates against fits from nothing, a hundred in a row, and newcomers at once.

    python benchmarks/arrivals.py

Ratings come in order of time, so that the last hundredth brings new people and items; simulated votes have people who
join late and items that come late. Fits and updates take turns, so that they share what else the machine does, and both
begin with the comparisons in memory; an update's time has the joining of ids and rows in it. ``objective`` is how far
the updated model's is above that of a fit from nothing with the same ridges (below it: less than 0).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np

import rather
from measuring import bench
from measuring.smoke import sized

SETS = sized(("ml-100k", "ml-latest-small", "ml-1m"), smoke=("ml-100k",))
REPEATS, UPDATES, NEWCOMERS, ALONE = (sized(*pair) for pair in ((7, 1), (100, 3), (10_000, 20), (500, 5)))
SHARE, ANSWERS = 0.01, 20
Part = Callable[[int, int], rather.Comparisons]


def rated(name: str) -> tuple[int, Part]:
    """How many ratings there are, and those from one place to another in order of time."""
    table = bench.table(name)
    if "timestamp" in table.column_names:
        table = table.sort_by("timestamp")
    table = table.select(["user", "item", "rating"])
    return table.num_rows, lambda a, b: rather.Comparisons.from_ratings(table.slice(a, b - a), allow_empty=True)


def voted() -> tuple[int, Part]:
    """The same of simulated votes: half of the people, and one item in ten, come at some time of their own."""
    size: dict[str, Any] = {"n_users": sized(3000, 40), "n_items": sized(300, 20)}
    table = rather.simulate(**size, rank=3, per_user=40, seed=0).comparisons.to_frame("dict")
    rng = np.random.default_rng(0)
    when = rng.random(len(table["user"]))
    for column, late in (("user", 0.5), ("winner", 0.1), ("loser", 0.1)):
        ids, codes = np.unique(table[column], return_inverse=True)
        joined = np.random.default_rng(1).random(len(ids))  # the same for winners and losers
        joins = np.where(joined > 1 - late, (joined - 1 + late) / late, 0.0)
        joins[0] = 0.9999  # in the last hundredth
        when = np.maximum(when, joins[codes])
    order = np.argsort(when)
    table = {name: column[order] for name, column in table.items()}
    return len(order), lambda a, b: rather.Comparisons.from_frame({n: c[a:b] for n, c in table.items()})


def copied(model: Any) -> Any:
    """Another model in the same state."""
    return copy(model)


def objective(model: Any) -> float:
    return float(model.fitted.posed.at(model.fitted.scorer).objective())


def above(model: Any, whole: rather.Comparisons) -> float:
    """How far a model's objective is above that of a fit from nothing with the same ridges, as a share of it."""
    fit = rather.AltSVM(reg=model.reg_, bias=model.bias_reg_, rank=model.rank_, exposure=model.exposure_).fit(whole)
    return objective(model) / objective(fit) - 1


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    made = run()
    return time.perf_counter() - began, made


def one_update(name: str, n: int, part: Part) -> dict[str, Any]:
    """The last hundredth taken in, against a fit to everything."""
    cut = int(n * (1 - SHARE))
    old, new, whole = part(0, cut), part(cut, n), part(0, n)
    model = rather.AltSVM().fit(old)
    fits, updates = [], []
    for _ in range(REPEATS):
        fits.append(seconds(lambda: rather.AltSVM().fit(whole))[0])
        took, updated = seconds(lambda: copied(model).update(new))
        updates.append(took)
    fit, update = float(np.median(fits)), float(np.median(updates))
    return {
        "what": f"{name}: 1 % more", "new users": len(whole.users) - len(old.users),
        "new items": len(whole.items) - len(old.items), "fit": fit, "update": update, "update / fit": update / fit,
        "rounds": len(updated.history_), "objective": f"{above(updated, whole):+.1e}",
    }  # fmt: skip


def many_updates(name: str, n: int, part: Part) -> dict[str, Any]:
    """From half of the data to all of it, in a hundred updates."""
    cuts = np.linspace(n // 2, n, UPDATES + 1).astype(int)
    model, whole = rather.AltSVM().fit(part(0, n // 2)), part(0, n)
    users, items = len(model.users_), len(model.items_)
    fits, updates = [], []
    for a, b in pairwise(cuts.tolist()):
        new, began = part(a, b), time.perf_counter()
        model.update(new)
        updates.append(time.perf_counter() - began)
        if len(updates) % max(UPDATES // REPEATS, 1) == 0:
            fits.append(seconds(lambda: rather.AltSVM().fit(whole))[0])
    fit, update = float(np.median(fits)), float(np.median(updates))
    return {
        "what": f"{name}: {UPDATES} times 1 %", "new users": len(model.users_) - users,
        "new items": len(model.items_) - items, "fit": fit, "update": update, "update / fit": update / fit,
        "rounds": len(model.history_), "objective": f"{above(model, whole):+.1e}",
    }  # fmt: skip


def newcomers(name: str, exposure: bool) -> dict[str, Any]:
    """Newcomers at once against one by one, and whether they are the same."""
    n, part = rated(name)
    model = rather.AltSVM(exposure=exposure).fit(part(0, n))
    rng = np.random.default_rng(0)
    left = rng.integers(len(model.items_), size=NEWCOMERS * ANSWERS)
    right = (left + rng.integers(1, len(model.items_), len(left))) % len(model.items_)
    who = np.repeat(np.arange(NEWCOMERS), ANSWERS)
    table = {"user": who, "winner": model.items_[left], "loser": model.items_[right]}
    rows = [slice(i * ANSWERS, (i + 1) * ANSWERS) for i in range(ALONE)]
    answers = [list(zip(table["winner"][r].tolist(), table["loser"][r].tolist(), strict=True)) for r in rows]
    together, alone = [], []
    for _ in range(REPEATS):
        took, many = seconds(lambda: model.fold_in_many(table))
        together.append(took)
        took, people = seconds(lambda: [model.fold_in(own) for own in answers])
        alone.append(took * NEWCOMERS / ALONE)
    same = all((many.user_factors_[i] == person.factors).all() for i, person in enumerate(people))
    once, each = float(np.median(together)), float(np.median(alone))
    return {
        "what": f"{NEWCOMERS:,} newcomers to {name}, {ANSWERS} answers each, exposure={exposure}", "at once": once,
        "one by one": each, "ratio": each / once, "same bits": same,
    }  # fmt: skip


def main() -> None:
    bench.parser(__doc__).parse_args()
    sources = {name: rated(name) for name in SETS} | {"simulated votes": voted()}
    rows = [one_update(name, *source) for name, source in sources.items()]
    rows += [many_updates(name, *source) for name, source in sources.items() if name != "ml-1m"]
    bench.report("arrivals", rows)
    bench.report("arrivals-newcomers", [newcomers("ml-100k", exposure) for exposure in (False, True)])


if __name__ == "__main__":
    main()
