"""Features of items and people: films that nobody has rated, people who gave few answers, things that occur once, size.

    python benchmarks/described.py cold [--seeds 5] [--set ml-1m letterboxd]    # an hour on two cores, for the rivals
    python benchmarks/described.py few [--seeds 5]
    python benchmarks/described.py arena [--seeds 5]
    python benchmarks/described.py wide
    python benchmarks/described.py tastes                                       # docs/pictures/tastes.svg
    python benchmarks/described.py                                              # all of them

cold: a fifth of the films is held out wholly, nobody's rating of them is training data; NDCG@10 of those with ten test
ratings and the mean share of everyone's pairs in the right order, among these films. All learn from the same features:
genres, year and the words of the title (Letterboxd, 2,500 users: year and words). Rivals choose their settings on a
fifth of the training films (benchmarks/described_rivals.py); ours is the default, which was made with test films of
ML-1M's seeds 0 to 2 and Letterboxd's 0 and 1 in view. lightfm is not the same twice.
few: accuracy and log loss of other answers of the same people, with and without features of items and of people.
arena: 1,000 people, 10 choices each between two things that occur once, embeddings of 512 numbers; people weigh five
rewards, as much in common as of their own. The embeddings' numbers are alike, or fall off as those of real ones do.
wide: 100,000 items described by 1,024 numbers each, a million votes.
tastes: a picture of what genres and the year are worth to the users of MovieLens 100K, and to one of them.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded, for the rivals

import importlib.util
import itertools
import re
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import described_rivals as rivals
import numpy as np
from scipy.special import expit

import rather
from measuring import bench, smoke
from measuring.smoke import sized

SETS = ("ml-1m", "letterboxd")
LETTERBOXD_USERS = 2500
FEW = sized((3, 5, 10), (5,))
FEW_USERS = sized(600, 20)
ARENA_USERS, CHOICES, ASKED, COLUMNS, REWARDS = sized((1000, 10, 20, 512, 5), (20, 8, 5, 12, 2))
STEPS = sized(20_000, 30)
RATES = sized((0.5, 0.05), (0.1,))  # of Adam, one of which is chosen on held-out choices
WIDE_ITEMS, WIDE_COLUMNS, WIDE_USERS = sized((100_000, 1024, 50_000), (200, 12, 60))


def films(name: str) -> tuple[Any, Any, Any]:
    """Ratings, what describes the films, and what describes the users or None; made up with --smoke."""
    import pandas as pd

    ratings = bench.ratings(name).to_pandas()
    if smoke.ON:
        rng, ids = np.random.default_rng(0), np.unique(ratings["item"])
        lists = [[list(rng.choice([*"abcdef"], 2, replace=False)) for _ in ids] for _ in range(2)]
        people = np.unique(ratings["user"])
        users = pd.DataFrame({"user": people, "age": rng.integers(1, 4, len(people))})
        year = rng.integers(1950, 2000, len(ids)).astype(float)
        return ratings, pd.DataFrame({"item": ids, "genres": lists[0], "year": year, "words": lists[1]}), users
    if name == "letterboxd":
        ratings = ratings[ratings["user"] < LETTERBOXD_USERS]
    items = bench.table(name, "items.parquet").to_pandas()
    titles = items["title"].fillna("")
    if name == "letterboxd":
        items = pd.DataFrame({"item": items["item"], "year": items["year"].astype(float), "words": _words(titles)})
        return ratings, items, None
    year = titles.str.extract(r"\((\d{4})\)\s*$")[0].astype(float)
    genres = items["genres"].str.split("|")
    if name == "ml-100k":
        return ratings, pd.DataFrame({"item": items["item"], "genres": genres, "year": year}), None
    items = pd.DataFrame({"item": items["item"], "genres": genres, "year": year, "words": _words(titles)})
    users = bench.table(name, "users.parquet").to_pandas()
    return ratings, items, users.astype({"age": float, "occupation": str}).drop(columns="zip")


def _words(titles: Any) -> list[list[str]]:
    return [re.findall(r"[a-z0-9']+", re.sub(r"\(\d{4}\)", "", title.lower())) for title in titles]


def ours(items: Any) -> Any:
    """The features as our models are given them: the same as the rivals' encoder makes."""
    made = items.copy()
    made["year squared"] = (made["year"] - 1980) ** 2
    made["period"] = [None if np.isnan(year) else f"{5 * int(year // 5)}" for year in made["year"]]
    return made


# -- films that nobody has rated --------------------------------------------------------------------------------------


def cold(names: list[str], seeds: int, only: list[str] | None) -> Iterator[dict[str, Any]]:
    for name in names:
        ratings, items, _ = films(name)
        for seed in range(seeds):
            train, test = rivals.split(ratings, seed)
            test = test[test["user"].isin(train["user"].unique())]
            for who, made in everybody(items, seed, only).items():
                began = time.perf_counter()
                score = made(train)
                seconds = time.perf_counter() - began
                row = {"set": name, "seed": seed, "who": who, **rivals.evaluate(score, test), "seconds": seconds}
                print(row, file=sys.stderr, flush=True)
                yield row


def everybody(items: Any, seed: int, only: list[str] | None) -> dict[str, Any]:
    def default(exposure: bool | None) -> Any:
        def fitted(train: Any) -> Any:
            model = rather.AltSVM(exposure=exposure, seed=seed)
            return model.fit(rather.Comparisons.from_ratings(train), item_features=ours(items)).score

        return fitted

    made: dict[str, Any] = {"rather": default(None), "rather, exposure=False": default(False)}
    for who, rival in rivals.RIVALS.items():
        if who.split()[0] not in rivals.PACKAGES or importlib.util.find_spec(who.split()[0]):
            made[who] = lambda train, rival=rival: rival(train, items, None, seed)
    return {who: fit for who, fit in made.items() if not only or who in only}


# -- few answers ------------------------------------------------------------------------------------------------------


def few(seeds: int) -> Iterator[dict[str, Any]]:
    for seed, (name, (votes, items, people)), n in itertools.product(range(seeds), few_sets().items(), FEW):
        train, test = votes(n, seed)
        kinds = {"without": {}, "items": {"item_features": items}}
        if people is not None:
            kinds["items and people"] = {"item_features": items, "user_features": people}
        for kind, given in kinds.items():
            began = time.perf_counter()
            model = rather.AltSVM(seed=seed).fit(train, **given)
            seconds = time.perf_counter() - began
            p = model.probability(*(test[name] for name in ("user", "winner", "loser")))
            held = {
                "accuracy": float(((p > 0.5) + 0.5 * (p == 0.5)).mean()),
                "log loss": float(-np.log(np.maximum(p, 1e-9)).mean()),
            }
            row = {"set": name, "answers": n, "seed": seed, "features": kind, **held, "seconds": seconds}
            print(row, file=sys.stderr, flush=True)
            yield row


def few_sets() -> dict[str, Any]:
    """(votes(n, seed) -> (training comparisons, test votes), items' features, people's)."""
    import pandas as pd

    ratings, items, users = films("ml-1m")
    order = bench.table("sushi", "rankings_b.parquet").to_pandas()
    order["rating"] = -order["rank"]
    asked = bench.table("colours", "votes.parquet").to_pandas()[["user", "winner", "loser"]]
    if smoke.ON:
        numbers = {"x": np.arange(12.0), "y": np.arange(12.0) ** 2}
        sushi = sushi_people = None
        colours = pd.DataFrame({"item": sorted({*asked["winner"], *asked["loser"]}), **numbers})
        sushi = pd.DataFrame({"item": np.arange(10), "oily": np.arange(10.0)})
    else:
        sushi = bench.table("sushi", "items_b.parquet").to_pandas()
        sushi = sushi.drop(columns=["name", "name_ja"]).astype(dict.fromkeys(("style", "minor_group"), str))
        sushi_people = bench.table("sushi", "users.parquet").to_pandas().drop(columns=["user_id", "answer_seconds"])
        named = [c for c in sushi_people.columns if c not in ("user", "age")]
        sushi_people = sushi_people.astype(dict.fromkeys(named, str))
        colours = bench.table("colours", "items.parquet").to_pandas()
        for a, b in (("L", "L"), ("a", "a"), ("b", "b"), ("L", "a"), ("L", "b"), ("a", "b")):
            colours[f"{a} {b}"] = colours[a] * colours[b]
    return {
        "ml-1m": (from_ratings(ratings), ours(items).drop(columns="words"), users),
        "sushi b": (from_ratings(order), sushi, sushi_people),
        "colours": (from_votes(asked), colours, None),
    }


def from_ratings(ratings: Any) -> Any:
    """Votes among half of everyone's items to learn from, among the others to ask."""

    def votes(n: int, seed: int) -> tuple[Any, Any]:
        rng = np.random.default_rng(seed)
        people = rng.permutation(ratings["user"].unique())[:FEW_USERS]
        some = ratings[ratings["user"].isin(people)]
        held = rng.random(len(some)) < 0.5
        parts = [rather.Comparisons.from_ratings(some[rows]) for rows in (~held, held)]
        train = rather.Comparisons.from_frame(parts[0].sample(n, seed).to_frame("dict"))
        return train, _known(parts[1].sample(30, seed).to_frame("dict"), train)

    return votes


def from_votes(asked: Any) -> Any:
    def votes(n: int, seed: int) -> tuple[Any, Any]:
        every = rather.Comparisons.from_frame(asked)
        train, rest = every.sample(n, seed).to_frame("dict"), every.split(0.5, seed)[1].to_frame("dict")
        made = rather.Comparisons.from_frame(train)
        return made, _known(rest, made)

    return votes


def _known(test: Any, train: rather.Comparisons) -> Any:
    """Test votes by people and about items that training has."""
    keep = np.isin(test["user"], train.users)
    for side in ("winner", "loser"):
        keep &= np.isin(test[side], train.items)
    return {name: np.asarray(column)[keep] for name, column in test.items()}


# -- things that occur once -------------------------------------------------------------------------------------------


def arena(seeds: int) -> Iterator[dict[str, Any]]:
    for falling in (0.0, 1.0):
        for seed in range(seeds):
            train, test, limit = rewarded(seed, falling)
            about = {"numbers": "fall off" if falling else "alike", "seed": seed}
            yield {**about, "who": "the truth", "accuracy": limit}
            for loss in ("squared_hinge", "logistic"):
                began = time.perf_counter()
                model = rather.AltSVM(loss=loss, seed=seed).fit(rather.Comparisons.from_embeddings(*train))
                seconds = time.perf_counter() - began
                accuracy = rather.pairwise_accuracy(model, rather.Comparisons.from_embeddings(*test))
                yield {**about, "who": f"rather, {loss}", "accuracy": float(accuracy), "seconds": seconds}
            one = rivals.one_reward(train[1], train[2], seed=seed)
            lore, chosen = best_lore(train, seed)
            for who, made in (("one reward for all", one), (f"LoRe, {STEPS:,} steps", lore)):
                right = float((made.margins(*test) > 0).mean())
                yield {**about, "who": who, "accuracy": right, "seconds": made.seconds, "rate": chosen}


def best_lore(train: Any, seed: int) -> tuple[Any, float]:
    """LoRe of the true rank, with the rate and the number of steps that held-out choices like best.

    The seconds are those of one run of all steps, without the choice.
    """
    held = np.random.default_rng(seed).random(len(train[0])) < 0.2
    learn, rest = (tuple(column[rows] for column in train) for rows in (~held, held))
    tried = []
    for rate in RATES:
        made = rivals.lore(learn[0], learn[1], learn[2], rank=REWARDS, steps=STEPS // 10, lr=rate, seed=seed)
        tried.append((float((made.margins(*rest) > 0).mean()), rate))
    rate = max(tried)[1]
    return rivals.lore(train[0], train[1], train[2], rank=REWARDS, steps=STEPS, lr=rate, seed=seed), rate


def rewarded(seed: int, falling: float) -> tuple[Any, Any, float]:
    """Choices (user, chosen, rejected) to learn from and to ask, and how many of the latter the truth gets right."""
    rng = np.random.default_rng(seed)
    spread = np.arange(1, COLUMNS + 1) ** -falling
    spread *= COLUMNS / spread.sum()
    weights = rng.standard_normal((ARENA_USERS, REWARDS)) + rng.standard_normal(REWARDS)
    theta = weights @ rng.standard_normal((REWARDS, COLUMNS))
    theta *= 4 / np.sqrt(2 * (np.square(theta) * spread).sum(axis=1)).mean()

    def choices(n: int) -> tuple[Any, Any]:
        user = np.repeat(np.arange(ARENA_USERS), n)
        a, b = ((rng.standard_normal((len(user), COLUMNS)) * np.sqrt(spread)).astype(np.float32) for _ in range(2))
        margin = np.einsum("nk,nk->n", a - b, theta[user])
        first = rng.random(len(user)) < expit(margin)
        better, worse = (np.where((first == side)[:, None], a, b) for side in (True, False))
        return (user, better, worse), np.where(first, margin, -margin)

    (train, _), (test, margin) = choices(CHOICES), choices(ASKED)
    return train, test, float((margin > 0).mean())


# -- size -------------------------------------------------------------------------------------------------------------


def wide() -> Iterator[dict[str, Any]]:
    """Votes that follow a low-rank part of the features, and the items' own worth."""
    rng = np.random.default_rng(0)
    F = rng.standard_normal((WIDE_ITEMS, WIDE_COLUMNS)).astype(np.float32)
    V = F @ (rng.standard_normal((WIDE_COLUMNS, 4)) / np.sqrt(WIDE_COLUMNS)).astype(np.float32)
    V += 0.5 * rng.standard_normal(V.shape).astype(np.float32)
    U = rng.standard_normal((WIDE_USERS, 4)).astype(np.float32) + 0.5
    user = np.repeat(np.arange(WIDE_USERS), 20)
    a, b = rng.integers(0, WIDE_ITEMS, (2, len(user)))
    b = np.where(a == b, (b + 1) % WIDE_ITEMS, b)
    won = rng.random(len(user)) < expit(np.einsum("nr,nr->n", U[user], V[a] - V[b]))
    votes = rather.Comparisons.from_frame({"user": user, "winner": np.where(won, a, b), "loser": np.where(won, b, a)})
    cold_items = rng.integers(0, WIDE_ITEMS, (2, 100_000))
    who = rng.integers(0, WIDE_USERS, 100_000)
    truth = np.einsum("nr,nr->n", U[who], V[cold_items[0]] - V[cold_items[1]]) > 0
    for name, given in (("without", {}), ("with", {"item_features": {"item": np.arange(WIDE_ITEMS), "embedding": F}})):
        began = time.perf_counter()
        model = rather.AltSVM().fit(votes, **given)
        seconds = time.perf_counter() - began
        known = np.isin(cold_items, votes.items).all(axis=0)
        scores = [model.score(who[known], side[known]) for side in cold_items]
        right = float(((scores[0] > scores[1]) == truth[known]).mean())
        yield {"features": name, "seconds": seconds, "GB at most": bench.peak_megabytes() / 1e3, "accuracy": right}


# -- a picture --------------------------------------------------------------------------------------------------------


def tastes() -> None:
    import matplotlib

    matplotlib.use("svg")
    ratings, items, _ = films("ml-100k")
    model = rather.AltSVM().fit(rather.Comparisons.from_ratings(ratings), item_features=items)
    folder = bench.RESULTS if smoke.ON else Path(__file__).parents[1] / "docs" / "pictures"
    rather.plot.tastes(model, model.users_[6]).figure.savefig(folder / "tastes.svg")
    print(f"-> {folder.name}/tastes.svg")
    names = "feature", "mean", "spread"
    bench.report("described-tastes", [{name: getattr(row, name) for name in names} for row in model.tastes()])


# -- tables -----------------------------------------------------------------------------------------------------------


def means(rows: list[dict[str, Any]], by: tuple[str, ...]) -> list[dict[str, Any]]:
    """Means over seeds, and standard deviations of the first figure."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    out = []
    for key, some in groups.items():
        made = dict(zip(by, key, strict=True))
        for name in (name for name in some[0] if name not in (*by, "seed", "rate")):
            values = [row[name] for row in some]
            made[name] = float(np.mean(values))
            if name in ("NDCG@10", "accuracy"):
                made[f"{name} sd"] = float(np.std(values))
        out.append({**made, "seeds": len(some)})
    return out


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("suite", choices=("cold", "few", "arena", "wide", "tastes"), nargs="?", help="(all)")
    parser.add_argument("--seeds", type=int, default=sized(5, 1))
    parser.add_argument("--set", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--only", nargs="+", metavar="WHO", help="of cold")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.suite in (None, "cold"):
        for name in options.set:
            rows = list(cold([name], options.seeds, options.only))
            bench.report(f"described-cold-{name}", means(rows, ("set", "who")))
    if options.suite in (None, "few"):
        bench.report("described-few", means(list(few(options.seeds)), ("set", "answers", "features")))
    if options.suite in (None, "arena"):
        bench.report("described-arena", means(list(arena(options.seeds)), ("numbers", "who")))
    if options.suite in (None, "wide"):
        bench.report("described-wide", list(wide()))
    if options.suite in (None, "tastes"):
        tastes()


if __name__ == "__main__":
    main()
