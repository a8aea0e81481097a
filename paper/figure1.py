"""Figure 1 of the paper: how well held-out pairs of MovieLens 100K are predicted, by how many each user gave.

    python paper/figure1.py          # 15 minutes of one core; needs $RATHER_DATA/ml-100k
    python paper/figure1.py --draw

All pairs that the ratings imply (ties imply none), cut in three at random: a fifth to judge by, a tenth of the rest to
tune by, and the rest, from which every seed draws some comparisons of each user. The first two are the same for all
seeds, so that what is tuned with seed 0's draw has never seen a pair that any seed is judged by.

Tuned, for every number of comparisons a user, to order most of the second part rightly: the ridge of AltSVM and of
Differences (the stiffest within a tenth of a percentage point of the best); BPR's ridge, step and number of rounds.
Convex takes AltSVM's ridges: it is the same objective, freed of the limit on the rank. "untuned" leaves the ridge to
the rule (``reg=None``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

import rather
from measuring import experiment, tables
from measuring.common import COLOURS, Row, axes, mean, save
from measuring.smoke import sized

DATA = ("ml-100k",)
SIZES = sized((10, 20, 50, 100, 200, 500, 1000, 2000), smoke=(10, 100))
METHODS = {"Convex": COLOURS[2], "AltSVM": COLOURS[0], "Differences": COLOURS[1], "BPR": COLOURS[3]}
RESTRICTED = 2  # the least difference of two ratings that counts as a strong preference
RANK = sized(200, smoke=8)  # with 64, the pairs to tune by were predicted less well from 50 comparisons a user on
FACTORS = tuple(2 ** (k / 2) for k in range(2, -13, -1))  # times the rule's ridge, from stiff to loose
ENOUGH = 0.001  # accuracy that a looser ridge must gain
RIDGES, STEPS, ROUNDS = (
    (0.1, 0.03, 0.01, 0.003, 0.001),
    (0.2, 0.05),
    sized((3, 10, 30, 100, 200), smoke=(3, 10)),
)  # of BPR
PATIENCE = 2  # values in a row that do worse end a path
ONE: dict[str, Any] = {"n_threads": 1}
PAIRS_ALONE: dict[str, Any] = {
    "exposure": False
}  # the figure is about pairs: not about which films people chose to rate


@cache
def parts() -> tuple[rather.Comparisons, rather.Comparisons, rather.Comparisons]:
    """The pairs to learn from, to tune by and to judge by."""
    ratings = tables.ratings("ml-100k")
    training, judge = rather.Comparisons.from_ratings(ratings).split(test=0.2, by="pairs", seed=0)
    learn, tune = training.split(test=0.1, by="pairs", seed=0)
    return learn, tune, judge


@lru_cache(maxsize=len(SIZES))
def draw_of(seed: int, per_user: int) -> rather.Comparisons:
    """Some comparisons of each user, from the next larger draw."""
    larger = [n for n in SIZES if n > per_user]
    return (draw_of(seed, larger[0]) if larger else parts()[0]).sample(per_user, seed=seed)


def scores_of(model: Any) -> Any:
    """All scores, users x items: quicker than a product for every pair."""
    return model.user_factors_ @ model.item_factors_.T + model.item_bias_


def accuracy(model: Any, part: rather.Comparisons, min_gap: float | None = None) -> float:
    """``rather.pairwise_accuracy``, from all scores."""
    scores = scores_of(model)
    right, every = part.source.ordered(lambda user, item: scores[user, item], min_gap, 1)
    return float(right.sum() / every.sum())


# -- tuning -----------------------------------------------------------------------------------------------------------


def path(values: Iterable[Any], reached: Callable[[Any], float]) -> dict[Any, float]:
    """What was reached with each value, up to where it falls."""
    found: dict[Any, float] = {}
    for value in values:
        found[value] = reached(value)
        if max(found.values()) > max(list(found.values())[-PATIENCE:]):
            break
    return found


def best_reg(kind: Callable[..., Any], drawn: rather.Comparisons) -> dict[str, Any]:
    rule, tune = kind(rank=RANK, max_iter=1, **ONE).fit(drawn).reg_, parts()[1]
    found = path(FACTORS, lambda f: accuracy(kind(rank=RANK, reg=f * rule, **ONE).fit(drawn), tune))
    return {"reg": rule * next(f for f, reached in found.items() if reached >= max(found.values()) - ENOUGH)}


def best_steps(drawn: rather.Comparisons) -> dict[str, Any]:
    """BPR's parameters: the ridge with the first step, then the other steps with that ridge.

    The number of rounds costs no fits of its own: a long one passes through every shorter one.
    """
    rounds: dict[tuple[float, float], int] = {}

    def reached(step: float, reg: float) -> float:
        found: dict[int, float] = {}

        def look(model: Any, record: dict[str, float]) -> bool:
            if record["round"] in ROUNDS:
                found[int(record["round"])] = accuracy(model, parts()[1])
            return bool(found) and max(found.values()) > max(list(found.values())[-PATIENCE:])

        rather.BPR(rank=RANK, reg=reg, step=step, max_iter=max(ROUNDS), callback=look, **ONE).fit(drawn)
        rounds[step, reg] = max(found, key=found.__getitem__)
        return found[rounds[step, reg]]

    ridges = path(RIDGES, lambda reg: reached(STEPS[0], reg))
    reg = max(ridges, key=ridges.__getitem__)
    steps = {STEPS[0]: ridges[reg]} | {step: reached(step, reg) for step in STEPS[1:]}
    step = max(steps, key=steps.__getitem__)
    return {"reg": reg, "step": step, "max_iter": rounds[step, reg]}


@cache
def tuned(per_user: int) -> dict[str, dict[str, Any]]:
    """Each method's parameters for a number of comparisons a user."""
    drawn = draw_of(0, per_user)
    return {
        "AltSVM": best_reg(partial(rather.AltSVM, **PAIRS_ALONE), drawn),
        "Differences": best_reg(rather.Differences, drawn),
        "BPR": best_steps(drawn),
    }


# -- measuring --------------------------------------------------------------------------------------------------------


def measure(seed: int, per_user: int) -> Iterator[Row]:
    drawn, chosen = draw_of(seed, per_user), tuned(per_user)
    common: dict[str, Any] = {"rank": RANK, "seed": seed, **ONE}
    altsvm = rather.AltSVM(**common, **PAIRS_ALONE, **chosen["AltSVM"])
    models = {
        "AltSVM": altsvm.fit(drawn),
        "Convex": rather.Convex(reg=altsvm.reg_, bias=altsvm.bias_reg_, seed=seed, **PAIRS_ALONE, **ONE).fit(drawn),
        "Differences": rather.Differences(**common, **chosen["Differences"]).fit(drawn),
        "BPR": rather.BPR(**common, **chosen["BPR"]).fit(drawn),
        "AltSVM, untuned": rather.AltSVM(**common, **PAIRS_ALONE).fit(drawn),
        "Differences, untuned": rather.Differences(**common).fit(drawn),
    }
    convex = models["Convex"]
    about, bound = likeness(convex), convex.certificate().lower_bound
    for name, model in models.items():
        certificate = model.certificate() if name in ("Convex", "AltSVM") else None
        yield {
            "comparisons": len(drawn), "method": name,
            "accuracy": accuracy(model, parts()[2]),
            "restricted": accuracy(model, parts()[2], min_gap=RESTRICTED),
            "rank": model.rank_, "reg": model.reg_, "step": model.step if name == "BPR" else "",
            "rounds": len(model.history_), "seconds": model.history_[-1]["seconds"],
            **about(model),
            "certified_gap": certificate.relative_gap if certificate else "",
            "gap_by_convex": (certificate.objective - bound) / certificate.objective if certificate else "",
        }  # fmt: skip


def likeness(model: Any) -> Callable[[Any], dict[str, float]]:
    """How much like this model another one is: in the scores, each user's about their mean, and in the order it puts
    the pairs to judge by in."""
    pairs = parts()[2].pairs()

    def look(model: Any) -> tuple[Any, Any]:
        scores = scores_of(model)
        scores -= scores.mean(axis=1, keepdims=True)
        return scores.ravel(), scores[pairs.user, pairs.winner] > scores[pairs.user, pairs.loser]

    scores, order = look(model)

    def compare(other: Any) -> dict[str, float]:
        others, its_order = look(other)
        return {
            "correlation": float(np.corrcoef(scores, others)[0, 1]),
            "same_order": float((order == its_order).mean()),
        }

    return compare


# -- drawing ----------------------------------------------------------------------------------------------------------


def draw(rows: list[Row]) -> None:
    figure, (left, right) = axes(width=10.5, height=4.8, columns=2)
    handles = []
    for name, colour in METHODS.items():
        look = {"color": colour, "capsize": 2.5, "marker": "o", "markersize": 4, "linewidth": 1.5, "zorder": 3}
        if wide := name == "Convex":  # drawn below AltSVM, which lies on it
            look |= {"markersize": 8, "linewidth": 3.2, "alpha": 0.45, "zorder": 2}
        handles.append(left.errorbar(SIZES, *curve(rows, "accuracy", name), label=name, **look))
        left.errorbar(SIZES, *curve(rows, "restricted", name), linestyle=(0, (4, 2)), **look)
        if not wide:
            for value, style in (("accuracy", "-"), ("restricted", (0, (4, 2)))):
                right.errorbar(SIZES, *lead(rows, value, name), linestyle=style, **look)
    right.axhline(0, color=METHODS["Convex"], linewidth=3.2, alpha=0.45, zorder=1)
    for kind, style in (("all held-out pairs", "-"), ("restricted: rated two apart or more", (0, (4, 2)))):
        handles.append(left.plot([], [], color="#333333", linestyle=style, label=kind)[0])
    left.set_ylabel("share of held-out pairs ordered rightly")
    right.set_ylabel("lead over Convex, in percentage points")
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
        ax.minorticks_off()
        ax.set_xlabel("observed comparisons per user")
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    save(figure, "figure1")


def curve(rows: Sequence[Row], value: str, name: str) -> tuple[list[float], list[float]]:
    points = [mean(rows, value, per_user=n, method=name) for n in SIZES]
    return [m for m, _ in points], [s for _, s in points]


def lead(rows: Sequence[Row], value: str, name: str) -> tuple[list[float], list[float]]:
    """By how many points a method is above Convex on the same draws."""
    base = {(row["seed"], row["per_user"]): row[value] for row in rows if row["method"] == "Convex"}
    ahead = [row | {value: 100 * (row[value] - base[row["seed"], row["per_user"]])} for row in rows]
    return curve(ahead, value, name)


if __name__ == "__main__":
    began = time.perf_counter()
    experiment.main("figure1", __doc__, measure, draw, seeds=5, places=[{"per_user": n} for n in SIZES])
    print(f"{time.perf_counter() - began:.0f} s")
