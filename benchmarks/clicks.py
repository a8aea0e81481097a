"""Clicks: our default and our best model beside the rivals one would name, every K, several data sets, five seeds.

    python benchmarks/clicks.py [--data ml-1m ...] [--only NAME ...] [--seeds 5]   # who rated what; a tenth held out
    python benchmarks/clicks.py recbole [--seeds 5]         # MovieLens 1M as in RecBole-GNN's published table
    python benchmarks/clicks.py tune --data NAME [--only]   # where rivals' settings come from: held-out training clicks
    python benchmarks/clicks.py many                        # does it work with 100,000 items and 10 million clicks?

Precision@K of lists without what the person clicked in training, mean over people with held-out clicks. Ours (AltSVM,
ClickRanker) have the library's defaults everywhere. Rivals are those of measuring/others.py that are installed, with
the settings there, which did best on held-out training clicks of MovieLens 1M, or with those in TUNED for another set.
``p`` is that of a paired t-test over the seeds against ClickRanker. Every fit has a process of its own; seconds count
from the table in memory, drawing included. What was measured before is kept in results/clicks.csv, a row a fit.

RecBole-GNN's table (github.com/RUCAIBox/RecBole-GNN, results/general/ml-1m.md): ratings of 3 and more, 8:1:1 at random
by person, all items ranked but those of training and validation, precision@10; its best is .1987 (XSimGCL).
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
from scipy import stats

import rather
from measuring import bench, others, tables
from measuring.others import Fit, Timed, timed
from measuring.smoke import ON, sized

THREADS = 2
TOPS = tables.TOPS
SETS = ("ml-100k", "ml-latest-small", "ml-1m", "letterboxd")
SOME_USERS = 10_000  # of Letterboxd
LEAVE_OUT = {"implicit BPR", "lightfm WARP"}  # slow, and far behind: benchmarks/peers.py has them
GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "EASE": {"reg": (100.0, 300.0, 1000.0, 3000.0), "balance": (0.0, 0.5)},
    "implicit ALS": {"factors": (64, 256), "regularization": (3.0, 10.0, 30.0, 50.0, 100.0), "alpha": (1.0, 3.0)},
}
LOOSER = {"factors": 256, "regularization": 30.0, "alpha": 3.0, "iterations": 30}
TUNED: dict[str, dict[str, dict[str, Any]]] = {  # where not those of MovieLens 1M, in measuring/others.py
    "ml-100k": {"EASE": {"reg": 300.0}, "implicit ALS": LOOSER},
    "ml-latest-small": {"EASE": {"reg": 300.0}, "implicit ALS": LOOSER},
    "letterboxd": {"EASE": {"reg": 2000.0}},  # found with 5,000 of the people and of the films, where 1350 was best
}
RECBOLE_BEST = 0.1987

# -- contenders -------------------------------------------------------------------------------------------------------


def ours(kind: str) -> Fit:
    def run(train: Any, seed: int, n_threads: int) -> Timed:
        model = rather.ESTIMATORS[kind](n_threads=n_threads)
        return timed(lambda: rather.Comparisons.from_clicks(train, seed=seed), model.fit)

    return run


def contenders(data: str) -> dict[str, Fit]:
    """Ours, and the rivals that are here with their settings for a data set."""
    found = {kind: ours(kind) for kind in ("ClickRanker", "AltSVM")}
    for family in others.runnable([name for name in others.FAMILIES if name not in LEAVE_OUT]):
        settings = TUNED.get(data, {}).get(family, others.TUNED.get(family, {}))
        found[family] = others.FAMILIES[family](**settings)
    return found


# -- data and figures -------------------------------------------------------------------------------------------------


def clicks(data: str) -> Any:
    import pyarrow.compute as pc

    table = tables.ratings(data)
    if data == "letterboxd":
        table = table.filter(pc.less(table["user"], SOME_USERS))
    return table


def split(mode: str, data: str, seed: int) -> tuple[Any, Any, Any]:
    """(train, test, what lists leave out)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = clicks(data)
    if mode == "recbole":
        table = table.filter(pc.greater_equal(table["rating"], 3)).select(["user", "item"])
        part = eight_one_one(table["user"].to_numpy(), seed)
        train, valid, test = (table.filter(pa.array(part == k)) for k in range(3))
        return train, test, pa.concat_tables([train, valid])
    train, test = rather.split_clicks(table.select(["user", "item"]), test=0.1, seed=seed)
    if mode == "tune":
        train, test = rather.split_clicks(train, test=0.1, seed=100 + seed)
    return train, test, train


def eight_one_one(user: Any, seed: int) -> Any:
    """0, 1 or 2 for every row: a tenth of each user's to validate and to test, at least one if one is left."""
    order = np.lexsort((np.random.default_rng(seed).random(len(user)), user))
    first = np.flatnonzero(np.r_[True, np.diff(user[order]) != 0])
    size = np.diff(np.r_[first, len(user)])
    place = np.empty(len(user), np.int64)
    place[order] = np.arange(len(user)) - np.repeat(first, size)
    tenth = np.maximum(size // 10, 1)
    tests, both = np.empty_like(place), np.empty_like(place)
    tests[order] = np.repeat(np.where(size > 1, tenth, 0), size)
    both[order] = np.repeat(np.where(size > 2, 2 * tenth, np.where(size > 1, tenth, 0)), size)
    return np.where(place < tests, 2, np.where(place < both, 1, 0))


def precisions(model: Any, test: Any, gone: Any) -> dict[str, float]:
    """Precision at every K from one list a person: what rather.precision gives for each."""
    who = np.unique(test["user"].to_numpy())
    k = min(max(TOPS), len(model.items_))
    shown = model.recommend(who, k=k, exclude=gone, by="score")
    pair = {(u, j) for u, j in zip(test["user"].to_pylist(), test["item"].to_pylist(), strict=True)}
    hit = np.array([one in pair for one in zip(shown["user"].tolist(), shown["item"].tolist(), strict=True)])
    return {f"precision@{top}": float(hit[shown["rank"] <= top].sum() / (top * len(who))) for top in TOPS}


def fitted(mode: str, data: str, seed: int, name: str, fit: Fit | None = None) -> dict[str, Any]:
    """One fit of one contender, judged."""
    train, test, gone = split(mode, data, seed)
    prepare, took, model = (fit or contenders(data)[name])(train, seed, THREADS)
    held = bench.peak_megabytes()
    cost = {"prepare": prepare, "fit": took, "seconds": prepare + took, "peak MB": held}
    return {"mode": mode, "data": data, "seed": seed, "method": name, **precisions(model, test, gone), **cost}


def apart(mode: str, data: str, seed: int, name: str) -> dict[str, Any]:
    """The same in a process of its own, in which BLAS has as many threads as the fit; implicit asks for one."""
    if ON:
        return fitted(mode, data, seed, name)
    blas = {"OPENBLAS_NUM_THREADS": "1" if name.startswith("implicit") else str(THREADS)}
    command = [sys.executable, __file__, "one", mode, data, str(seed), name]
    ran = subprocess.run(command, env={**os.environ, **blas}, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"{name} failed on {data}, seed {seed}:\n{ran.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


# -- results ----------------------------------------------------------------------------------------------------------


def kept() -> list[dict[str, Any]]:
    path = bench.RESULTS / "clicks.csv"
    if not path.exists():
        return []
    with path.open(newline="") as f:
        rows = list(csv.DictReader(f))
    text = ("mode", "data", "method")
    return [{k: v if k in text else int(v) if k == "seed" else float(v) for k, v in row.items()} for row in rows]


def keep(rows: list[dict[str, Any]], row: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows with this one in the place of what was measured before, written down."""

    def at(one: dict[str, Any]) -> tuple[Any, ...]:
        return one["mode"], one["data"], one["method"], one["seed"]

    rows = sorted([one for one in rows if at(one) != at(row)] + [row], key=at)
    path = bench.RESULTS / "clicks.csv"
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as f:
        writer = csv.DictWriter(f, list(row))
        writer.writeheader()
        writer.writerows({k: f"{v:.6f}" if isinstance(v, float) else v for k, v in one.items()} for one in rows)
    return rows


def summary(rows: list[dict[str, Any]], mode: str, data: str) -> list[dict[str, Any]]:
    """Mean, standard deviation, and p of a paired t-test of ClickRanker against each method, over the seeds of both."""
    mine = [row for row in rows if row["mode"] == mode and row["data"] == data]
    best = {row["seed"]: row for row in mine if row["method"] == "ClickRanker"}
    out = []
    for method in dict.fromkeys(row["method"] for row in mine):
        own = [row for row in mine if row["method"] == method]
        line: dict[str, Any] = {"data": data, "method": method, "seeds": len(own)}
        both = [(best[row["seed"]], row) for row in own if row["seed"] in best and method != "ClickRanker"]
        for key in (f"precision@{top}" for top in TOPS):
            values = [row[key] for row in own]
            line[key.replace("precision", "")] = float(np.mean(values))
            line[key.replace("precision@", "sd")] = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            if len(both) > 1:
                ours_, theirs = zip(*((a[key], b[key]) for a, b in both), strict=True)
                line[key.replace("precision@", "p")] = float(stats.ttest_rel(ours_, theirs).pvalue)
        line["seconds"] = float(np.median([row["seconds"] for row in own]))
        line["MB"] = int(max(row["peak MB"] for row in own))
        out.append(line)
    return sorted(out, key=lambda line: -line["@10"])


# -- what the command line asks for -----------------------------------------------------------------------------------


def compare(options: argparse.Namespace) -> None:
    mode = "recbole" if options.what == "recbole" else "tenth"
    rows = kept()
    for data in ("ml-1m",) if mode == "recbole" else options.data:
        for seed, name in itertools.product(range(options.seeds), contenders(data)):
            if options.only is None or name in options.only:
                rows = keep(rows, row := apart(mode, data, seed, name))
                told = " ".join(f"{row[f'precision@{top}']:.4f}" for top in TOPS)
                print(f"{data} {seed} {name}: {told} {row['seconds']:.1f} s", flush=True)
        name = f"clicks-{'recbole' if mode == 'recbole' else data}"
        table = summary(rows, mode, data)
        if mode == "recbole":
            table.append({"data": data, "method": "best published (external)", "@10": RECBOLE_BEST})
        bench.report(name, table)


def tune(options: argparse.Namespace) -> None:
    for data, family in itertools.product(options.data, options.only or list(GRIDS)):
        if family not in others.FAMILIES or not others.runnable([family]):
            continue
        tried = []
        for values in itertools.product(*GRIDS[family].values()):
            settings = {**others.TUNED.get(family, {}), **dict(zip(GRIDS[family], values, strict=True))}
            row = fitted("tune", data, 0, family, others.FAMILIES[family](**settings))
            tried.append({**settings, "precision@10": row["precision@10"], "seconds": row["seconds"]})
            print(data, family, tried[-1], flush=True)
        tried.sort(key=lambda row: -row["precision@10"])
        bench.report(f"clicks-tune-{family.replace(' ', '-')}-{data}", tried)


def many() -> None:
    """Popularity as steep as in life, and tastes: people click within a few of many genres."""
    n_users, n_items, n = sized((100_000, 100_000, 10_000_000), (300, 400, 6_000))
    rng = np.random.default_rng(0)
    popularity = 1.0 / np.arange(1, n_items + 1) ** 0.8
    genre, likes = rng.integers(0, 50, n_items), rng.integers(0, 50, (n_users, 3))
    user = rng.integers(0, n_users, n)
    of_genre = [np.flatnonzero(genre == g) for g in range(50)]
    wanted, item = likes[user, rng.integers(0, 3, n)], np.empty(n, np.int64)
    for g in range(50):
        mine, p = wanted == g, popularity[of_genre[g]]
        at = np.searchsorted(np.cumsum(p / p.sum()), rng.random(int(mine.sum())))
        item[mine] = of_genre[g][at.clip(0, len(p) - 1)]
    train, test = rather.split_clicks({"user": user, "item": item}, test=0.1)
    rows = []
    for kind in ("AltSVM", "ClickRanker"):
        prepare, took, model = ours(kind)(train, 0, THREADS)
        some = np.flatnonzero(np.isin(test["user"], np.arange(sized(2000, 50))))
        held = {name: np.asarray(column)[some] for name, column in test.items()}
        found = rather.precision(model, held, k=10, exclude="seen")
        cost = {"prepare": prepare, "fit": took, "peak MB": bench.peak_megabytes()}
        rows.append({"method": kind, "users": n_users, "items": n_items, "clicks": n, "precision@10": found, **cost})
        print(rows[-1], flush=True)
    bench.report("clicks-many", rows)


def main() -> None:
    if sys.argv[1:2] == ["one"]:
        mode, data, seed, name = sys.argv[2:6]
        print(json.dumps(fitted(mode, data, int(seed), name)))
        return
    parser = bench.parser(__doc__)
    parser.add_argument("what", nargs="?", default="compare", choices=("compare", "recbole", "tune", "many"))
    parser.add_argument("--data", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--only", nargs="+", metavar="NAME", help="contenders")
    parser.add_argument("--seeds", type=int, default=sized(5, 1))
    options = parser.parse_args()
    if options.what == "many":
        many()
    elif options.what == "tune":
        tune(options)
    else:
        compare(options)


if __name__ == "__main__":
    main()
