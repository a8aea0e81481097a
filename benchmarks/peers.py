"""rather beside what one would otherwise install, live, on the same data and cores. Needs the bench extra.

    python benchmarks/peers.py clicks           # binarised MovieLens 1M, a tenth of each user's clicks held out
    python benchmarks/peers.py ranking          # one ranking of 300 items from a million votes
    python benchmarks/peers.py --tune NAME      # where the settings marked tuned come from; NAME as in GRIDS

Every contender has a process of its own for every seed: from the same table in memory to its own form of the data
(``prepare``: codes of the ids, and for ours the drawing of unseen items, which others do as they fit), to a fitted
model (``fit``), and the most memory held. Quality is the mean over seeds, times and memory are medians. Ours have the
library's defaults. Others have a row with plain settings, and one with those of a grid that did best, by precision@10,
on a tenth of the training clicks of seed 0 held out; so were the defaults of our own RP3beta and EASE chosen. The
authors' time is external: it was not measured here.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import spearmanr

import rather
from measuring import bench, others, smoke, tables
from measuring.others import Timed, timed
from measuring.smoke import sized

THREADS = 2
TARGET = sized(0.218, smoke=0.01)  # precision@10 of the authors' program on 30 million pairs
DRAWN = sized(5000, smoke=100)

# -- clicks -----------------------------------------------------------------------------------------------------------

GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "RP3beta": {"alpha": (0.6, 0.8, 1.0), "beta": (0.3, 0.45, 0.6, 0.75), "neighbours": (50, 100, 200, 400)},
    "EASE": {"reg": (200.0, 300.0, 500.0, 700.0, 1000.0, 1500.0), "balance": (0.0, 0.25, 0.5, 0.75, 1.0)},
    "irspack SLIM": {"alpha": (0.01, 0.02, 0.05, 0.1), "l1_ratio": (0.003, 0.01, 0.03)},
    "irspack iALS": {
        "n_components": (64, 128, 256), "alpha0": (0.4, 0.6, 0.8), "reg": (0.004, 0.006, 0.008),
        "nu": (0.5, 0.75, 1.0),
    },
    "implicit ALS": {
        "factors": (64, 128, 256), "regularization": (30.0, 50.0, 70.0), "alpha": (1.0, 3.0, 6.0),
        "iterations": (30,),
    },
    "implicit BPR": {"learning_rate": (0.003, 0.01), "regularization": (0.003, 0.01, 0.03), "iterations": (30, 100)},
    "lightfm WARP": {"epochs": (30,), "learning_rate": (0.02, 0.05), "max_sampled": (10, 50)},
}  # fmt: skip


def clicks_table(seed: int = 0) -> tuple[Any, Any]:
    train, test = tables.click_split("ml-1m", seed=seed)
    return train, test


def tune(family: str) -> None:
    """Every setting of a family's grid, judged on training clicks that were held out."""
    learn, held = rather.split_clicks(clicks_table()[0], test=0.1, seed=1)
    rows = []
    for values in itertools.product(*GRIDS[family].values()):
        settings = dict(zip(GRIDS[family], values, strict=True))
        _, seconds, model = others.FAMILIES[family](**settings)(learn, 0, THREADS)
        rows.append({**settings, "precision@10": rather.precision(model, held, k=10, exclude=learn), "fit": seconds})
        print(rows[-1], flush=True)
    bench.report(f"peers-tune-{family.replace(' ', '-')}", sorted(rows, key=lambda row: -row["precision@10"]))


def from_unseen(train: Any, test: Any, seed: int) -> Timed:
    return timed(
        lambda: rather.Comparisons.from_clicks(train, seed=seed),
        lambda data: rather.AltSVM(n_threads=THREADS).fit(data),
    )


def from_pairs(train: Any, test: Any, seed: int) -> Timed:
    """The paper's way: 5,000 drawn pairs a user, the paper's model, our solver, to the authors' precision@10."""
    judging = 0.0

    def judge(model: Any, record: dict[str, float]) -> bool:
        nonlocal judging
        began = time.perf_counter()
        reached = bool(rather.precision(model, test, k=10, exclude=train) >= TARGET)
        judging += time.perf_counter() - began
        return reached

    plain: dict[str, Any] = {"rank": 100, "reg": 1000.0, "bias": False, "item_power": 0.0, "tol": 0.0}
    prepare, fit, model = timed(
        lambda: rather.Comparisons.from_clicks(train, per_user=DRAWN, seed=seed),
        lambda data: rather.AltSVM(callback=judge, n_threads=THREADS, **plain).fit(data),
    )
    return prepare, fit - judging, model


def other(family: str, settings: dict[str, Any]) -> Callable[[Any, Any, int], Timed]:
    return lambda train, test, seed: others.FAMILIES[family](**settings)(train, seed, THREADS)


PAIRS = "rather AltSVM, 5,000 drawn pairs a user, to precision@10 .218"
CLICKS: dict[str, Callable[[Any, Any, int], Timed]] = {
    "rather AltSVM, each click against unseen items": from_unseen,
    PAIRS: from_pairs,
    **{
        f"{family}, {kind}": other(family, settings[family])
        for family in others.FAMILIES
        for kind, settings in (("plain", others.PLAIN), ("tuned", others.TUNED))
        if family in settings
    },
}


def run_clicks(name: str, seed: int) -> dict[str, Any]:
    train, test = clicks_table(seed)
    prepare, fit, model = CLICKS[name](train, test, seed)
    held = bench.peak_megabytes()
    judged = tables.precisions(model, train, test)
    return {"prepare": prepare, "fit": fit, "seconds": prepare + fit, "peak MB": held, **judged}


# -- one ranking ------------------------------------------------------------------------------------------------------


def votes(seed: int) -> tuple[Any, dict[str, Any]]:
    """Items of normal quality, a million pairs of them, and who wins each by the Bradley-Terry model."""
    rng = np.random.default_rng(seed)
    n_items, n = 300, sized(1_000_000, smoke=30_000)
    quality = rng.standard_normal(n_items)
    j = rng.integers(0, n_items, n)
    k = (j + rng.integers(1, n_items, n)) % n_items
    first = rng.random(n) < expit(quality[j] - quality[k])
    names = np.array([f"item {index}" for index in range(n_items)], dtype=object)
    winner, loser = names[np.where(first, j, k)], names[np.where(first, k, j)]
    return dict(zip(names, quality, strict=True)), {"user": np.arange(n) // 100, "winner": winner, "loser": loser}


def ours_of_all(frame: dict[str, Any]) -> Timed:
    prepare, fit, model = timed(
        lambda: rather.Comparisons.from_frame(frame),
        lambda data: rather.Global(loss="logistic", n_threads=THREADS).fit(data),
    )
    return prepare, fit, dict(zip(model.items_, model.item_bias_, strict=True))


def evalica_of_all(frame: dict[str, Any]) -> Timed:
    import evalica

    won = [evalica.Winner.X] * len(frame["winner"])
    prepare, fit, result = timed(
        lambda: (list(frame["winner"]), list(frame["loser"])),
        lambda data: evalica.bradley_terry(*data, won, limit=10_000),
    )
    return prepare, fit, {name: np.log(max(score, 1e-300)) for name, score in dict(result.scores).items()}


def choix_of_all(frame: dict[str, Any]) -> Timed:
    import choix

    items = sorted({*frame["winner"], *frame["loser"]})
    index = {name: n for n, name in enumerate(items)}
    prepare, fit, strength = timed(
        lambda: [(index[w], index[x]) for w, x in zip(frame["winner"], frame["loser"], strict=True)],
        lambda data: choix.ilsr_pairwise(len(items), data, alpha=0.01),
    )
    return prepare, fit, dict(zip(items, strength, strict=True))


RANKING: dict[str, Callable[[dict[str, Any]], Timed]] = {
    "rather Global, logistic": ours_of_all,
    "evalica bradley_terry": evalica_of_all,
    "choix ilsr_pairwise": choix_of_all,
}


def run_ranking(name: str, seed: int) -> dict[str, Any]:
    quality, frame = votes(seed)
    prepare, fit, strength = RANKING[name](frame)
    held = bench.peak_megabytes()
    won, lost = (np.array([strength[item] for item in frame[side]], np.float64) for side in ("winner", "loser"))
    rank = spearmanr([quality[item] for item in strength], list(strength.values())).statistic
    return {
        "prepare": prepare, "fit": fit, "seconds": prepare + fit, "peak MB": held,
        "likelihood": float(-np.logaddexp(0, lost - won).mean()), "votes it agrees with": float((won > lost).mean()),
        "rank correlation with the truth": float(rank),
    }  # fmt: skip


# -- all of them ------------------------------------------------------------------------------------------------------

SUITES: dict[str, tuple[dict[str, Any], Callable[[str, int], dict[str, Any]]]] = {
    "clicks": (CLICKS, run_clicks),
    "ranking": (RANKING, run_ranking),
}
COSTS = ("prepare", "fit", "seconds", "peak MB")


def apart(suite: str, name: str, seed: int) -> dict[str, Any]:
    """One contender in a process of its own; with --smoke in this one."""
    if smoke.ON:
        return SUITES[suite][1](name, seed)
    command = [sys.executable, __file__, suite, "--run", name, "--seed", str(seed)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout.splitlines()[-1])
    return found


def compare(suite: str, seeds: int, only: tuple[str, ...]) -> None:
    contenders = [name for name in SUITES[suite][0] if name.startswith(only)]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in others.runnable(contenders)}
    for seed in range(seeds):
        for name, runs in found.items():
            runs.append(apart(suite, name, seed))
            print(f"{name}, seed {seed}: {runs[-1]['seconds']:.2f} s", file=sys.stderr)
    rows: list[dict[str, Any]] = [
        {"who": name, **{c: float((np.median if c in COSTS else np.mean)([run[c] for run in runs])) for c in runs[0]}}
        for name, runs in found.items()
    ]
    if suite == "clicks":
        rows.append(bench.AUTHORS_ON_CLICKS.row(bench.yardstick()))
    bench.report(f"peers-{suite}", rows)


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("suite", choices=SUITES, nargs="?", help="(both)")
    parser.add_argument("--tune", choices=GRIDS, metavar="NAME", help=f"instead: {', '.join(GRIDS)}")
    parser.add_argument(
        "--seeds", type=int, default=sized(5, smoke=1), help="splits, or votes, the same for everybody (5)"
    )
    parser.add_argument("--only", nargs="+", default=[""], metavar="NAME", help="whose names begin so (all)")
    parser.add_argument("--run", metavar="NAME", help="one contender, in this process")
    parser.add_argument("--seed", type=int, default=0, help="of --run (0)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.tune:
        tune(options.tune)
    elif options.run:
        print(json.dumps(SUITES[options.suite][1](options.run, options.seed)))
    else:
        for suite in [options.suite] if options.suite else SUITES:
            compare(suite, options.seeds, tuple(options.only))


if __name__ == "__main__":
    main()
