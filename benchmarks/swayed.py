"""What a vote carries beside the choice: are effects found, are ties foretold, and does it pay to trust?

    python benchmarks/swayed.py [--only effects outcomes careless] [--worlds 200] [--jobs 2]     # minutes on two cores

effects: worlds with a known side, covariate and reluctance to decide. The rows are means over worlds of the estimate
and of its standard error, the spread of the estimates, and how often the 95 % interval has the truth in it. "careless":
30 % answer at random, and ``trust`` is used. Then the effects in real votes, with intervals.
outcomes: all judgements of llmfao, a fifth put aside at a time (5 seeds): the log loss of the three outcomes, and of
the decided ones log loss, ECE (in bins a tenth wide) and accuracy. Beside the default: ties half each way (with as many
ties as in training, whoever is asked), and Davidson's model of one ranking for all, its ridge chosen on training votes.
careless: accuracy for those who are not, where 30 % answer at random: with and without ``trust``, and without them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize

import rather
from measuring import bench
from measuring.smoke import sized

TRUTH = {"side": 0.3, "length": 0.5, "tie": 0.5}
WORLDS: dict[str, dict[str, Any]] = sized(
    {
        "300 people, 40 items, 60 votes each": {"n_users": 300, "n_items": 40, "per_user": 60},
        "1,000 people, 60 items, 15 votes each": {"n_users": 1000, "n_items": 60, "per_user": 15},
        "200 people, 50 items, 10 votes each": {"n_users": 200, "n_items": 50, "per_user": 10},
        "60 people, 30 items, 150 votes each, noisier": {"n_users": 60, "n_items": 30, "per_user": 150, "noise": 1.0},
        "careless: 300 people, 40 items, 60 votes each": {
            "n_users": 300, "n_items": 40, "per_user": 60, "careless": 0.3,
        },
    },
    {"30 people": {"n_users": 30, "n_items": 10, "per_user": 20}},
)  # fmt: skip
CROWDS: dict[str, dict[str, Any]] = sized(
    {
        "300 people, 100 items, 60 votes each": {"n_users": 300, "n_items": 100, "per_user": 60},
        "300 people, 100 items, 20 votes each": {"n_users": 300, "n_items": 100, "per_user": 20},
        "1,000 people, 200 items, 30 votes each": {"n_users": 1000, "n_items": 200, "per_user": 30},
        "100 people, 50 items, 100 votes each": {"n_users": 100, "n_items": 50, "per_user": 100},
    },
    {"30 people": {"n_users": 30, "n_items": 10, "per_user": 20}},
)
RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0)
FIRST_SEED = 500
Z = 1.959964


# -- effects ----------------------------------------------------------------------------------------------------------


def estimated(name: str, seed: int) -> list[dict[str, Any]]:
    """The estimates in one world."""
    swayed: dict[str, Any] = {"side": TRUTH["side"], "covariates": {"length": TRUTH["length"]}, "ties": TRUTH["tie"]}
    world = rather.simulate(rank=3, seed=seed, **swayed, **WORLDS[name])
    model = rather.AltSVM(n_threads=1, trust="careless" in WORLDS[name]).fit(world.comparisons)
    return [{"world": name, "effect": r.effect, "estimate": r.estimate, "error": r.std_error} for r in model.effects()]


def recovery(rows: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for name in WORLDS:
        for effect, truth in TRUTH.items():
            own = [row for row in rows if (row["world"], row["effect"]) == (name, effect)]
            estimate, error = (np.array([row[f] for row in own]) for f in ("estimate", "error"))
            yield {
                "world": name, "effect": effect, "truth": truth, "worlds": len(own), "estimate": estimate.mean(),
                "spread": estimate.std(), "standard error": error.mean(),
                "covered": float((np.abs(estimate - truth) <= Z * error).mean()),
            }  # fmt: skip


def real() -> Iterable[dict[str, Any]]:
    """The effects in real votes."""
    colours, llmfao = bench.table("colours"), judgements()
    votes = rather.Comparisons.from_frame(colours, side="left")
    for name, comparisons in (("colours", votes), ("llmfao", rather.Comparisons.from_arena(llmfao))):
        for row in rather.AltSVM().fit(comparisons).effects(interval=0.95):
            yield {"set": name, **{f: getattr(row, f) for f in ("effect", "estimate", "std_error", "low", "high")}}


def judgements() -> dict[str, Any]:
    """llmfao's log."""
    table = bench.table("llmfao", "judgements.parquet")
    columns = {"user": "worker", "left": "left", "right": "right", "outcome": "winner"}
    return {role: np.array(table[name].to_pylist()) for role, name in columns.items()}


# -- three outcomes ---------------------------------------------------------------------------------------------------


def davidson(train: dict[str, Any], ridge: float) -> Callable[[Any, Any], Any]:
    """P(left) : P(tie) : P(right) = e^(x / 2) : nu : e^(-x / 2), x = b_left - b_right, one b for all."""
    items, code = np.unique(np.concatenate((train["left"], train["right"])), return_inverse=True)
    left, right = code.reshape(2, -1)
    won = outcome(train)

    def value(t: Any) -> tuple[float, Any]:
        x = t[left] - t[right]
        logits = np.stack((x / 2, np.full(len(x), t[-1]), -x / 2), axis=1)
        top = logits.max(axis=1, keepdims=True)
        p = np.exp(logits - top)
        total = p.sum(axis=1, keepdims=True)
        p /= total
        loss = (np.log(total) + top)[:, 0] - logits[np.arange(len(won)), won]
        off = p - np.eye(3)[won]
        along = 0.5 * (off[:, 0] - off[:, 2])
        own = np.bincount(left, along, len(items)) - np.bincount(right, along, len(items)) + ridge * t[:-1]
        gradient = np.append(own, off[:, 1].sum())
        return float(loss.sum() + 0.5 * ridge * (t[:-1] ** 2).sum()), gradient

    t = optimize.minimize(value, np.zeros(len(items) + 1), jac=True, method="L-BFGS-B").x

    def probabilities(a: Any, b: Any) -> Any:
        at = [np.searchsorted(items, side) for side in (a, b)]
        x = t[at[0]] - t[at[1]]
        p = np.exp(np.stack((x / 2, np.full(len(x), t[-1]), -x / 2), axis=1))
        return p / p.sum(axis=1, keepdims=True)

    return probabilities


def outcome(log: dict[str, Any]) -> Any:
    """0, 1 and 2: left, tie and right."""
    return np.select([log["outcome"] == "left", log["outcome"] == "tie"], [0, 1], 2)


def judged(p: Any, won: Any) -> dict[str, float]:
    decided = won != 1
    side = p[decided, 0] / (p[decided, 0] + p[decided, 2])
    right = np.where(won[decided] == 0, side, 1 - side)
    bins = np.minimum((np.concatenate((side, 1 - side)) * 10).astype(int), 9)
    left = np.concatenate((won[decided] == 0, won[decided] == 2))
    gaps = np.bincount(bins, left - np.concatenate((side, 1 - side)), 10)
    return {
        "log loss": float(-np.log(np.clip(p[np.arange(len(won)), won], 1e-9, 1)).mean()),
        "decided: log loss": float(-np.log(np.clip(right, 1e-9, 1)).mean()),
        "decided: ECE": float(np.abs(gaps).sum() / len(bins)),
        "decided: accuracy": float((right > 0.5).mean() + 0.5 * (right == 0.5).mean()),
    }


def foretold(seed: int) -> list[dict[str, Any]]:
    """Every judgement of llmfao foretold from four fifths of the others."""
    log = judgements()
    n = len(log["user"])
    part = np.random.default_rng(seed).permutation(n) % 5
    p: dict[str, list[Any]] = {}
    won: list[Any] = []
    for k in range(5):
        train = {name: column[part != k] for name, column in log.items()}
        model = rather.AltSVM(n_threads=1).fit(rather.Comparisons.from_arena(train))
        known = (part == k) & np.isin(log["user"], model.users_)
        known &= np.isin(log["left"], model.items_) & np.isin(log["right"], model.items_)
        asked = [log[name][known] for name in ("user", "left", "right")]
        won.append(outcome({"outcome": log["outcome"][known]}))
        p.setdefault("default", []).append(model.probability(*asked, side="left"))
        trusting = rather.AltSVM(n_threads=1, trust=True).fit(rather.Comparisons.from_arena(train))
        p.setdefault("default, with trust", []).append(trusting.probability(*asked, side="left"))
        half = rather.AltSVM(n_threads=1, ties="half").fit(rather.Comparisons.from_arena(train))
        q, tie = half.probability(*asked, side="left"), float((train["outcome"] == "tie").mean())
        p.setdefault("half each way", []).append(np.stack((q * (1 - tie), 0 * q + tie, (1 - q) * (1 - tie)), axis=1))
        p.setdefault("Davidson, one for all", []).append(davidson(train, best_ridge(train, seed))(*asked[1:]))
    return [{"method": m, **judged(np.concatenate(every), np.concatenate(won))} for m, every in p.items()]


def best_ridge(train: dict[str, Any], seed: int) -> float:
    """On a fifth of the training votes, about items that the others are about."""
    aside = np.random.default_rng(seed + 1).random(len(train["user"])) < 0.2
    rest, held = ({name: column[rows] for name, column in train.items()} for rows in (~aside, aside))
    items = np.unique(np.concatenate((rest["left"], rest["right"])))
    known = np.isin(held["left"], items) & np.isin(held["right"], items)
    held = {name: column[known] for name, column in held.items()}

    def value(ridge: float) -> float:
        return judged(davidson(rest, ridge)(held["left"], held["right"]), outcome(held))["log loss"]

    return min(RIDGES, key=value)


# -- people who do not care -------------------------------------------------------------------------------------------


def crowd(name: str, seed: int) -> list[dict[str, Any]]:
    """Accuracy for those who care, in one world."""
    world = rather.simulate(rank=3, careless=0.3, seed=seed, **CROWDS[name])
    comparisons, care = world.comparisons, ~world.careless
    asked = world.test(sized(60_000, 2000), seed=seed + 1)
    test = asked._with(asked.source.of_users(care))
    rows = []
    for method, trust, data in (
        ("all alike", False, comparisons),
        ("trust", True, comparisons),
        ("without them", False, comparisons._with(comparisons.source.of_users(care))),
    ):
        model = rather.AltSVM(n_threads=1, trust=trust).fit(data)
        accuracy = rather.pairwise_accuracy(model, test)
        rows.append({"crowd": name, "method": method, "accuracy": float(accuracy)})
        if trust and model.trust_ is not None:
            rows[-1] |= {"careful": float(model.trust_[care].mean()), "careless": float(model.trust_[~care].mean())}
    return rows


# -- all of it --------------------------------------------------------------------------------------------------------


def means(rows: list[dict[str, Any]], *by: str) -> Iterable[dict[str, Any]]:
    for key in dict.fromkeys(tuple(row[b] for b in by) for row in rows):
        own = [row for row in rows if tuple(row[b] for b in by) == key]
        figures = [f for f in own[0] if f not in by]
        yield dict(zip(by, key, strict=True)) | {"seeds": len(own)} | {f: np.mean([r[f] for r in own]) for f in figures}


def main() -> None:
    parser = bench.parser(__doc__)
    parts = ("effects", "outcomes", "careless")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts, metavar="PART", help=", ".join(parts))
    parser.add_argument("--worlds", type=int, default=sized(200, 2))
    parser.add_argument("--seeds", type=int, default=sized(5, 1))
    parser.add_argument("--jobs", type=int, default=sized(os.cpu_count() or 1, 1), help="processes")
    options = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)

    def rows_of(cells: list[Callable[[], list[dict[str, Any]]]]) -> list[dict[str, Any]]:
        if options.jobs == 1:
            return [row for cell in cells for row in cell()]
        with ProcessPoolExecutor(options.jobs) as pool:
            return [row for future in [pool.submit(cell) for cell in cells] for row in future.result()]

    if "effects" in options.only:
        worlds = range(FIRST_SEED, FIRST_SEED + options.worlds)
        rows = rows_of([partial(estimated, name, seed) for name in WORLDS for seed in worlds])
        bench.report("swayed-effects", list(recovery(rows)))
        bench.report("swayed-real", list(real()))
    if "outcomes" in options.only:
        bench.report("swayed-outcomes", list(means(rows_of([partial(foretold, seed) for seed in seeds]), "method")))
    if "careless" in options.only:
        rows = rows_of([partial(crowd, name, seed) for name in CROWDS for seed in seeds])
        bench.report("swayed-careless", list(means(rows, "crowd", "method")))


if __name__ == "__main__":
    main()
