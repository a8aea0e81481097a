"""One ranking for all beside evalica and choix: log loss of held-out votes, from 10 votes on. Needs the bench extra.

    python benchmarks/one_ranking.py [--only SET ...] [--sizes 10 100 1000 10000]

Some votes of each set are training data, and at most 20,000 others are asked. choix has the ridge of a grid that does
best in five folds of the training votes. Items that training does not know have the mean score. (evalica gives all
items one score where one of them has won nothing.) Rows are means over so
many draws, each with seeds of its own. In simulated worlds ``covered`` is the share of true places within intervals of
0.9: of votes by nobody named, by 500 users, and by 20 users of whom one gave nine in ten.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scipy.special import expit

import rather
from measuring import bench
from measuring.smoke import sized
from rather.solving.bradley_terry import MOST_STEPS, SETTLED, BradleyTerry

EVALICA = find_spec("evalica") is not None
SIZES = sized((10, 100, 1000, 10_000), smoke=(10, 40))
DRAWS = {10: sized(200, smoke=2), 100: sized(40, smoke=2), 1000: 10, 10_000: 4}
GRID = 2.0 * np.logspace(-3, 2, sized(11, smoke=3))
FOLDS, MOST_TEST = 5, 20_000
REAL = ("llmfao", "sushi A", "sushi B", *sized(("convarg",), smoke=()))  # convarg: the arguments of UKPConvArg1
WORLDS = {"20 items, sd 0.5": (20, 0.5), "20 items, sd 1": (20, 1.0), "100 items, sd 0.7": (100, 0.7)}


def world(n_items: int, spread: float, seed: int) -> tuple[Any, Any, Any, Any]:
    """Users, winners, losers and the true scores."""
    rng, n = np.random.default_rng(seed), 4 * MOST_TEST
    worth = spread * rng.standard_normal(n_items)
    j = rng.integers(0, n_items, n)
    k = (j + rng.integers(1, n_items, n)) % n_items
    won = rng.random(n) < expit(worth[j] - worth[k])
    return rng.integers(0, 500, n), np.where(won, j, k), np.where(won, k, j), worth


def votes(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    return world(*WORLDS[name], seed) if name in WORLDS else real(name)


@cache
def real(name: str) -> tuple[Any, Any, Any, Any]:
    if name.startswith("sushi"):
        table = bench.table("sushi", f"rankings_{name[-1].lower()}.parquet")
        order = table.sort_by([("user", "ascending"), ("rank", "ascending")])["item"].to_numpy().reshape(-1, 10)
        better, worse = (order[:, places].ravel() for places in np.triu_indices(10, 1))
        return np.repeat(np.arange(len(order)), 45), better, worse, None
    if name == "convarg":
        table = pq.read_table(Path(os.environ["RATHER_DATA"]) / name / "judgements.parquet").to_pydict()
        left, right, outcome, user = (np.array(table[c]) for c in ("left", "right", "outcome", "user"))
        decided, first = outcome != "tie", outcome == "left"
        chosen = np.where(first, left, right)[decided], np.where(first, right, left)[decided]
    else:
        table = bench.table(name).to_pydict()
        user, decided = np.array(table["user"]), slice(None)
        chosen = np.array(table["winner"]), np.array(table["loser"])
    codes = np.unique(np.concatenate(chosen), return_inverse=True)[1]
    return user[decided], *np.split(codes, 2), None


def ours(winner: Any, loser: Any, n_items: int, user: Any = None) -> tuple[Any, Any]:
    table = {"winner": winner, "loser": loser, **({} if user is None else {"user": user})}
    model = rather.Global().fit(rather.Comparisons.from_frame(table, user=None if user is None else "user"))
    scores = np.zeros(n_items)
    scores[model.items_] = model.item_bias_
    return scores, model


def evalica_of(winner: Any, loser: Any, n_items: int) -> Any:
    import evalica

    won = [evalica.Winner.X] * len(winner)
    found = evalica.bradley_terry(winner.tolist(), loser.tolist(), won, limit=10_000).scores
    scores = np.full(n_items, np.nan)
    scores[np.array(found.index)] = np.log(np.maximum(found.to_numpy(), 1e-300))
    return np.where(np.isnan(scores), np.nanmean(scores), scores)


def choix_of(winner: Any, loser: Any, n_items: int, seed: int) -> Any:
    """choix's estimate by our solver, which has its optimum: choix itself takes hours for the grid."""
    fold, losses = np.random.default_rng(seed).permutation(len(winner)) % FOLDS, np.zeros(len(GRID))
    for at in range(FOLDS):
        rest, held = fold != at, fold == at
        for n, ridge in enumerate(GRID):
            scores = ridged(winner[rest], loser[rest], n_items, ridge)
            losses[n] += np.logaddexp(0, scores[loser[held]] - scores[winner[held]]).sum()
    return ridged(winner, loser, n_items, float(GRID[losses.argmin()]))


def ridged(winner: Any, loser: Any, n_items: int, ridge: float) -> Any:
    """choix.opt_pairwise(n_items, votes, alpha=ridge / 2)."""
    met, codes = np.unique(np.concatenate((winner, loser)), return_inverse=True)
    won, lost = np.split(codes, 2)
    votes = BradleyTerry(len(met), won, lost, np.ones(len(winner)), len(winner))
    for _ in range(MOST_STEPS):
        if votes.step(np.full(len(met), ridge))[1] <= SETTLED:
            break
    scores = np.zeros(n_items)
    scores[met] = votes.b
    return scores


def covered(model: Any, worth: Any) -> float:
    table = model.rank(interval=0.9)
    place = (-worth[table["item"]]).argsort().argsort() + 1
    return float(((table["best"] <= place) & (place <= table["worst"])).mean())


def draw(name: str, size: int, seed: int) -> dict[str, float]:
    user, winner, loser, worth = votes(name, seed)
    n_items = int(max(winner.max(), loser.max())) + 1
    order = np.random.default_rng(seed).permutation(len(winner))
    train, test = order[:size], order[size : size + MOST_TEST]
    w, x = winner[train], loser[train]
    scores, model = ours(w, x, n_items)
    named, by_many = ours(w, x, n_items, user[train])
    made = {"Global, nobody named": scores, "Global, users": named}
    if EVALICA:
        made["evalica"] = evalica_of(w, x, n_items)
    made["choix, ridge by folds"] = choix_of(w, x, n_items, seed)
    losses = {who: float(np.logaddexp(0, b[loser[test]] - b[winner[test]]).mean()) for who, b in made.items()}
    if worth is None:
        return losses
    rng = np.random.default_rng(seed)
    by_one = ours(w, x, n_items, np.where(rng.random(size) < 0.9, 0, rng.integers(1, 20, size)))[1]
    models = {"covered": model, "covered, users": by_many, "covered, most by one": by_one}
    return {**losses, **{name: covered(model, worth) for name, model in models.items()}}


if __name__ == "__main__":
    parser = bench.parser(__doc__)
    parser.add_argument("--only", nargs="+", default=[*REAL, *WORLDS])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    options, rows = parser.parse_args(), []
    if not EVALICA:
        print("evalica is not installed: skipped", file=sys.stderr)
    for name in options.only:
        most = int(0.8 * len(votes(name, 0)[1]))
        for size in options.sizes:
            drawn = [draw(name, min(size, most), seed) for seed in range(DRAWS.get(size, 2))]
            means = {who: float(np.mean([one[who] for one in drawn])) for who in drawn[0]}
            rows.append({"set": name, "votes": min(size, most), "draws": len(drawn), **means})
            print(rows[-1], flush=True)
    bench.report("one-ranking", rows)
