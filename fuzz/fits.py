"""Random fits of every estimator with extreme parameters and data: refused in one line, or finite in every number.

Fits that are the same at any number of threads are, to the bit. A fit of AltSVM that says it converged is within a
hundredth of what Newton's method then finds on either convex half of its problem, as far as single precision goes.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import rather
from rather import ESTIMATORS, Comparisons, InputError
from rather.models.newcomers import solve_users
from rather.solving import smoothing

from .models import check_sound, every_score

FULL, CHUNK, SECONDS = 5_000, 500, 120.0
RACES = ("BPR", "SGD", "RobiRank")  # with several threads, on purpose
NEEDS = {
    "ItemMean": ("ratings",),
    "Differences": ("ratings",),
    "CofiRank": ("ratings",),
    "LCR": ("ratings",),
    "RobiRank": ("clicks",),
    "Popularity": ("clicks",),
    "RP3beta": ("clicks",),
    "ClickRanker": ("clicks",),
    "EASE": ("clicks",),
}
WORST = 1.01
SHORT = {"newton": 3e-6, "sdca": 3e-5}  # where margins fall short by this, single precision sees no better ones


def prepare(folder: Path) -> Path:
    return folder


def case(folder: Path, rng: random.Random, count: Counter[str]) -> None:
    name = rng.choice(("AltSVM", "AltSVM", *ESTIMATORS))
    kinds = NEEDS.get(name, ("votes", "votes", "ratings", "clicks"))
    made = None
    while made is None:
        made = data(rng, rng.choice(kinds))
    comparisons, told = made
    params = parameters(rng, name)
    told = f"{name}({', '.join(f'{k}={v!r}' for k, v in params.items())}) on {told}"
    try:
        _fit(name, params, comparisons, folder, count)
    except InputError as e:
        assert "\n" not in str(e), f"an error of several lines: {e!r}"
        assert not str(e).startswith("seed"), f"a seed within its limits was refused: {e}"
        count["fits refused"] += 1
    except Exception as e:
        raise type(e)(f"{e}: {told}") if type(e) is AssertionError else AssertionError(f"{e!r}: {told}") from e


# -- data -------------------------------------------------------------------------------------------------------------


def data(rng: random.Random, kind: str) -> tuple[Comparisons, str] | None:
    """Some comparisons, tiny or small, odd or plain, and what they are; None where they are refused."""
    n_users, n_items = rng.choice((1, 1, 2, 5, 30)), rng.choice((2, 2, 3, 5, 25))
    n = rng.choice((1, 2, 5, 30, 200))
    users = [rng.randrange(n_users) for _ in range(n)]
    options: dict[str, Any] = {}
    table: dict[str, list[Any]] = {"user": users}
    if kind == "votes":
        pairs = [rng.sample(range(n_items), 2) for _ in range(n)]
        if rng.random() < 0.2:
            pairs = [pairs[0]] * n
        table |= {"winner": [a for a, _ in pairs], "loser": [b for _, b in pairs]}
        if rng.random() < 0.5:
            low, high = rng.choice(((-40, 6), (-40, -30), (5, 6), (-3, 3), (0, 0)))
            table["weight"] = [min(10 ** rng.uniform(low, high), 1e6) for _ in range(n)]
            options["weight"] = "weight"
        if rng.random() < 0.3:
            ties = rng.random() < 0.3
            table["tie"] = [ties or rng.random() < 0.5 for _ in range(n)]
            options["tie"] = "tie"
        if rng.random() < 0.3:
            table["first"] = [rng.random() < 0.5 for _ in range(n)]
            options["side"] = "first"
        if rng.random() < 0.3:
            scale = rng.choice((1.0, 1.0, 1e-20, 1e-6, 1e6, 1e14))
            table["length"] = [rng.choice((0.0, rng.gauss(0, scale), scale)) for _ in range(n)]
            options["covariates"] = ["length"]
        read: Any = Comparisons.from_frame
    else:
        cells = sorted({(u, rng.randrange(n_items)) for u in users})
        table = {"user": [u for u, _ in cells], "item": [j for _, j in cells]}
        if kind == "ratings":
            scale = rng.choice((1.0, 1.0, 1.0, 5.0, 100.0, 1e6, 1e-6, 1e30, 1e-30))
            table["rating"] = [rng.randint(1, 5) * scale / 5 for _ in cells]
            if rng.random() < 0.2:
                options["keep"] = "largest-gap"
            read = Comparisons.from_ratings
        else:
            if rng.random() < 0.4:
                options[rng.choice(("unseen", "per_user"))] = rng.choice((1, 3, 50))
            read = Comparisons.from_clicks
    try:
        return read(table, **options), f"{read.__name__}({table}, {options})"
    except InputError:
        return None


# -- parameters -------------------------------------------------------------------------------------------------------


def parameters(rng: random.Random, name: str) -> dict[str, Any]:
    """Some of an estimator's parameters, many of them extreme and all of a kind that is accepted somewhere."""
    losses = ("squared_hinge", "hinge", "logistic")
    ranges: dict[str, Any] = {
        "rank": lambda: rng.choice((1, 1, 2, 3, 8, 40)),
        "reg": lambda: rng.choice((None, 10 ** rng.uniform(-30, 30), 10 ** rng.uniform(-4, 4), 1e-30, 1e30)),
        "lam": lambda: rng.choice((None, 10 ** rng.uniform(-30, 30), 10 ** rng.uniform(-3, 2))),
        "loss": lambda: rng.choice(losses),
        "bias": lambda: rng.choice((True, False, 10 ** rng.uniform(-30, 30))),
        "item_power": lambda: rng.choice((0.0, 0.5, 2.0)),
        "user_power": lambda: rng.choice((0.0, 1.0, 2.0)),
        "balance": lambda: rng.choice((0.0, 0.5, 1.0)),
        "exposure": lambda: rng.choice((None, True, False)),
        "ties": lambda: rng.choice(("model", "half")),
        "trust": lambda: rng.random() < 0.2,
        "solver": lambda: rng.choice(("newton", "sdca")),
        "max_iter": lambda: rng.choice((1, 2, 5, 30, 100)),
        "tol": lambda: rng.choice((0.0, 1e-6, 1e-3, 1e3)),
        "seed": lambda: rng.choice((0, 1, 2**31, rng.randrange(2**62))) if rng.random() < 0.99 else 2**63 - 1,
        "step": lambda: 10 ** rng.uniform(-6, 3),
        "decay": lambda: 10 ** rng.uniform(-3, 2),
        "bandwidth": lambda: rng.choice((0.01, 0.5, 2.0, 100.0)),
        "anchors": lambda: rng.choice((1, 2, 10)),
        "k": lambda: rng.choice((1, 5, 1000)),
        "gap": lambda: rng.choice((1e-6, 1e-3, 0.5)),
    }
    if name == "CofiRank":
        ranges["loss"] = lambda: rng.choice(("regression", "ordinal", "ndcg"))
    if name == "LCR":
        ranges["loss"] = lambda: rng.choice(("gap_times_logistic", "gap_logistic", "squared_difference"))
    if name == "AltSVM":
        ranges["rank"] = lambda: rng.choice((None, None, 1, 2, 3, 8, 40, "auto"))
    if name in ("AltSVM", "PaperAltSVM"):
        ranges["reg"] = lambda: rng.choice((None, None, "cv", 10 ** rng.uniform(-30, 30), 10 ** rng.uniform(-4, 4)))
    known = set(ESTIMATORS[name]._param_names())
    made = {k: draw() for k, draw in ranges.items() if k in known and rng.random() < 0.6}
    if made.get("lam") is not None:
        made.pop("reg", None)
    return made


# -- checks -----------------------------------------------------------------------------------------------------------


def _fit(name: str, params: dict[str, Any], comparisons: Comparisons, folder: Path, count: Counter[str]) -> None:
    kind = ESTIMATORS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        model = kind(**params, n_threads=1).fit(comparisons)
        check_sound(model)
        if name not in RACES and getattr(model, "solver", "newton") != "sdca":
            other = kind(**params, n_threads=3).fit(comparisons)
            assert every_score(other).tobytes() == every_score(model).tobytes(), "3 threads give other bits than 1"
            assert other.fitted.slope.found == model.fitted.slope.found, "3 threads are surer, or less, than 1"
            if name in ("AltSVM", "Convex"):
                assert other.context_effects_ == model.context_effects_, "3 threads find other effects than 1"
                if model.context_effects_ or model._knows_ties():
                    told = [m.effects().columns for m in (model, other)]
                    assert all(np.array_equal(told[0][c], told[1][c]) for c in told[0]), "3 threads tell of others"
                    assert np.isfinite(told[0]["estimate"]).all() and np.isfinite(told[0]["std_error"]).all(), told[0]
            count["fits the same at 1 and 3 threads"] += 1
        if getattr(model, "cv_results_", ()):
            count["fits that chose, rank too" if params.get("rank") is None else "fits that chose"] += 1
        try:
            model.calibrate()
        except InputError as e:
            assert "\n" not in str(e), f"an error of several lines: {e!r}"
        else:
            assert model.slope_ is not None and 0 <= model.slope_ < np.inf, f"slope_ is {model.slope_}"
            check_sound(model)
        try:
            model.save(folder / "m")
            again = rather.load(folder / "m")
        except InputError as e:
            raise AssertionError(f"a fitted model is not saved and loaded: {e}") from e
        assert every_score(again).tobytes() == every_score(model).tobytes(), "the loaded model is another"
        if name in ("AltSVM", "PaperAltSVM"):
            _converged(model, params, count)
    count["fits"] += 1


def _converged(model: Any, params: dict[str, Any], count: Counter[str]) -> None:
    """Where a fit says that it converged to a small tolerance: what Newton's method still gains on either half."""
    tol = (
        model.fitted.training.source.tol if params.get("tol") is None else params["tol"]
    )  # that of clicks is not small
    if not model.converged_ or tol > 5e-3 or params.get("rank") == "auto":
        return
    ours = _objective(model, "neither")
    best = min(_objective(model, half) for half in ("users", "items"))
    solver = getattr(model, "solver", "newton")
    resolved = SHORT[solver] if model.loss == "hinge" else SHORT[solver] ** 2
    limit = WORST * best + resolved * model.fitted.posed.at(model.fitted.scorer).loss_at_zero()
    assert ours <= limit, f"{solver} says it converged at {ours:.6g}; Newton's halves reach {best:.6g}"
    count[f"converged fits of {solver} checked"] += 1


def _objective(model: Any, half: str) -> float:
    """The objective at a model's factors, once one half or neither is solved by Newton's method."""
    problem = model.fitted.posed.at(model.fitted.scorer)
    if half == "users":
        solve_users(problem)
    elif half == "items":
        for delta in smoothing.EXACT if smoothing.is_smoothed(problem) else (0.0,):
            problem.delta = delta
            problem.evaluate()
            for _ in range(15):
                problem.item_step(cg_steps=40, cg_tol=0.01)
    else:
        problem.delta = 0.0
        problem.evaluate()
    return float(problem.objective())
