"""Figure 2: NDCG@10 from ratings and precision@10 from clicks over training time, by method and number of threads.

    rather paper figure2 [--only AltSVM SGD ...] [--threads 1 16] [--seeds 3] [--processes 3] [--missing]

The left panel has MovieLens 1M with N = 100 ratings per user, the right panel clicks. The rank is 100, for CofiRank its
own 10.

- ``AltSVM`` is our default.
- ``PaperAltSVM`` is the paper's algorithm to the letter, with regularisation 1000 as in its authors' published
  configuration. It makes 20 rounds. For clicks it has C = 5000 drawn comparisons per user, as SGD does, and 10 rounds.
- ``CofiRank`` has its best loss, ``CofiRank-ndcg`` the loss that the paper ran.

The time of a point counts from the table in memory: drawing and building the comparisons, and the fit up to there.
RobiRank draws as it fits. Judging is left out. A curve is the mean over seeds, for the rounds that all of them have.
Its shade is the standard deviation of the value. With 16 threads a fit had the machine to itself. With 4 threads three
fits ran at a time, with 1 thread six beside other work. More threads than the machine has cores are skipped.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded: threads are what is measured

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import rather
from measuring import common, smoke, tables
from measuring.common import Row
from measuring.experiment import Cell

NAME = "figure2"
DATA = ("ml-1m",)
THREADS = (1, 4, 16)
N, RANK, DRAWN = 100, 100, smoke.sized(5000, 100)
PANELS = {"ratings": f"NDCG@10, N = {N}", "clicks": "precision@10, binarised"}
LINES = dict(zip(THREADS, (":", "--", "-"), strict=True))


DRAWS: dict[str, dict[str, Any]] = {"clicks": {}, "drawn": {"per_user": DRAWN}, "undrawn": {"unseen": 1}}


def comparisons(kind: str, train: Any, seed: int) -> rather.Comparisons:
    """Those a method learns from; one that draws as it fits needs hardly any drawn before."""
    if kind == "ratings":
        return rather.Comparisons.from_ratings(train)
    return rather.Comparisons.from_clicks(train, seed=seed, **DRAWS[kind])


Plan = tuple[str, Callable[..., Any]]  # which comparisons, and the model
METHODS: dict[str, dict[str, Plan]] = {
    "AltSVM": {
        "ratings": ("ratings", lambda **how: rather.AltSVM(rank=RANK, **how)),
        "clicks": ("clicks", lambda **how: rather.AltSVM(rank=RANK, **how)),
    },
    "PaperAltSVM": {
        "ratings": ("ratings", lambda **how: rather.PaperAltSVM(reg=1000.0, max_iter=20, **how)),
        "clicks": ("drawn", lambda **how: rather.PaperAltSVM(reg=1000.0, max_iter=10, **how)),
    },
    "SGD": {
        "ratings": ("ratings", lambda **how: rather.SGD(rank=RANK, **how)),
        "clicks": ("drawn", lambda **how: rather.SGD(rank=RANK, **how)),
    },
    "CofiRank": {"ratings": ("ratings", lambda **how: rather.CofiRank(**how))},
    "CofiRank-ndcg": {"ratings": ("ratings", lambda **how: rather.CofiRank(loss="ndcg", **how))},
    "RobiRank": {"clicks": ("undrawn", lambda **how: rather.RobiRank(rank=RANK, **how))},
}


def curve(data: str, seed: int, panel: str, method: str, n_threads: int) -> list[Row]:
    """A row for every round of a fit."""
    points: list[Row] = []
    judging = 0.0
    train, test = tables.rating_split(data, N, seed) if panel == "ratings" else tables.click_split(data, seed)

    def judge(model: Any, record: dict[str, float]) -> None:
        nonlocal judging
        began = time.perf_counter()
        if panel == "ratings":
            value = rather.ndcg(model, test, k=10)
        else:
            value = rather.precision(model, test, k=10, exclude=train)
        points.append({"round": record["round"], "time": prepared + record["seconds"] - judging, "value": value})
        judging += time.perf_counter() - began

    kind, make = METHODS[method][panel]
    began = time.perf_counter()
    made = comparisons(kind, train, seed)
    prepared = time.perf_counter() - began
    make(n_threads=n_threads, seed=seed, callback=judge).fit(made)
    return points


def cells(data: str, seed: int) -> Iterator[Cell]:
    for panel in PANELS:
        for method in (name for name, plans in METHODS.items() if panel in plans):
            for n in tables.possible(THREADS):
                at = {"data": data, "panel": panel, "method": method, "threads": n}
                yield Cell(at, partial(curve, data, seed, panel, method, n))


Curves = dict[int, list[Row]]  # by seed, points in order


def curves(rows: list[Row], panel: str) -> Iterator[tuple[str, int, Curves]]:
    """Every method and number of threads that was measured, with its curves."""
    for method in METHODS:
        for n in THREADS:
            found: Curves = {}
            for row in sorted(rows, key=lambda row: (row["seed"], row["round"])):
                if (row["panel"], row["method"], row["threads"]) == (panel, method, n):
                    found.setdefault(row["seed"], []).append(row)
            if found:
                yield method, n, found


def best_of(points: list[Row]) -> float:
    """How good a curve got."""
    return float(max(point["value"] for point in points))


def time_to(points: list[Row], value: float) -> float:
    """The seconds until a curve was within a hundredth of a value, infinite if it never was."""
    return float(next((point["time"] for point in points if point["value"] >= 0.99 * value), np.inf))


def draw(rows: list[Row]) -> None:
    figure, panels = common.axes(width=10.4, height=4.8, columns=2)
    colours = dict(zip(METHODS, common.COLOURS, strict=False))
    drawn: dict[str, dict[str, str]] = {}  # what the legend says: a method is a colour, a number of threads a line
    for (panel, title), axis in zip(PANELS.items(), panels, strict=True):
        for method, n, found in curves(rows, panel):
            shared = zip(*found.values(), strict=False)  # of the rounds that all have
            points = np.array([[(point["time"], point["value"]) for point in points] for points in shared])
            when, value = points.mean(axis=1).T
            off = points[:, :, 1].std(axis=1, ddof=1) if len(found) > 1 else 0.0
            axis.plot(when, value, LINES[n], color=colours[method], marker="o", markersize=2.5)
            drawn[method] = {"color": colours[method], "linestyle": "-"}
            axis.fill_between(when, value - off, value + off, color=colours[method], alpha=0.15, linewidth=0)
        axis.set(xscale="log", xlabel="seconds of training", title=title)
        axis.xaxis.set_minor_formatter("")
    for n in sorted({row["threads"] for row in rows}):
        drawn[f"{n} thread{'s' * (n > 1)}"] = {"color": "#333333", "linestyle": LINES[n]}
    handles = [panels[0].plot([], [], label=name, **look)[0] for name, look in drawn.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    common.save(figure, NAME)


def table(rows: list[Row]) -> str:
    lines = []
    for panel, title in PANELS.items():
        for method, n, found in curves(rows, panel):
            best = {seed: best_of(points) for seed, points in found.items()}
            ends = [{"best": best[seed], "near": time_to(points, best[seed])} for seed, points in found.items()]
            lines.append([title, method, str(n), tables.stated(ends, "best"), tables.stated(ends, "near", digits=2)])
    return tables.markdown(["", "method", "threads", "best", "seconds to 99% of it"], lines)


if __name__ == "__main__":
    tables.main(NAME, __doc__, cells, table, data=DATA, methods=tuple(METHODS), seeds=3, draw=draw, counts=THREADS)
