"""Figure 2: NDCG@10 from ratings and precision@10 from clicks over training time, by method and number of threads.

    rather paper figure2 [--only AltSVM SGD ...] [--missing]

MovieLens 1M, N = 100 ratings a user on the left, clicks on the right; rank 100, CofiRank with its own 10.
``CofiRank-ndcg`` has the loss that the paper ran, CofiRank the one that does best. AltSVM is our default.
``AltSVM.plain`` is the paper's algorithm to the letter, with the regularisation of its authors' published
configuration, 1000; for clicks it has C = 5000 drawn comparisons a user, as SGD does. The time of a point counts from
the table in memory: drawing and building the comparisons, which RobiRank does as it fits, and the fit up to there,
judging left out. More threads than the machine has cores are skipped.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded: threads are what is measured

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import common
import smoke
import tables
from common import Row

import rather

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
    "AltSVM.plain": {
        "ratings": ("ratings", lambda **how: rather.AltSVM.plain(reg=1000.0, max_iter=20, **how)),
        "clicks": ("drawn", lambda **how: rather.AltSVM.plain(reg=1000.0, max_iter=20, **how)),
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


def cells(data: str, seed: int) -> Iterator[tables.Cell]:
    for panel in PANELS:
        for method in (name for name, plans in METHODS.items() if panel in plans):
            for n in tables.possible(THREADS):
                at = {"data": data, "panel": panel, "method": method, "threads": n}
                yield tables.Cell(at, partial(curve, data, seed, panel, method, n))


def curves(rows: list[Row], panel: str) -> Iterator[tuple[str, int, list[Row]]]:
    """Every method and number of threads that was measured, with its points in order."""
    for method in METHODS:
        for n in THREADS:
            found = [row for row in rows if (row["panel"], row["method"], row["threads"]) == (panel, method, n)]
            if found:
                yield method, n, sorted(found, key=lambda row: row["round"])


def best_and_near(points: list[Row]) -> tuple[float, float]:
    """How good a curve got, and the seconds until it was within a hundredth of that."""
    best = max(point["value"] for point in points)
    return best, next(point["time"] for point in points if point["value"] >= 0.99 * best)


def draw(rows: list[Row]) -> None:
    figure, panels = common.axes(width=10.4, height=4.4, columns=2)
    colours = dict(zip(METHODS, common.COLOURS, strict=False))
    for (panel, title), axis in zip(PANELS.items(), panels, strict=True):
        for method, n, points in curves(rows, panel):
            axis.plot(
                [point["time"] for point in points], [point["value"] for point in points], LINES[n],
                color=colours[method], marker="o", markersize=2.5, label=f"{method}, {n} thread{'s' * (n > 1)}",
            )  # fmt: skip
        axis.set(xscale="log", xlabel="seconds of training", title=title)
        axis.xaxis.set_minor_formatter("")
        if axis.lines:
            axis.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3)
    common.save(figure, NAME)


def table(rows: list[Row]) -> str:
    lines = []
    for panel, title in PANELS.items():
        for method, n, points in curves(rows, panel):
            best, near = best_and_near(points)
            lines.append([title, method, str(n), f"{best:.4f}", f"{near:.2f}"])
    return tables.markdown(["", "method", "threads", "best", "seconds to 99% of it"], lines)


if __name__ == "__main__":
    tables.main(NAME, __doc__, cells, table, data=DATA, methods=tuple(METHODS), seeds=1, draw=draw, any_threads=False)
