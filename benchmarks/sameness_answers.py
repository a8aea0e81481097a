"""Everything that a build of rather answers on fixed data: the child process of sameness.py.

It runs under two versions of the package, so it imports public names only and looks new names up in RENAMED.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rather

SMOKE = "--smoke" in sys.argv
RENAMED: dict[str, str] = {}  # today's names and those of the reference commit
N_USERS, N_ITEMS, STARS = 40, 24, 5
CLOCKS = ("seconds",)


def named(thing: Any, name: str) -> Any:
    """Return an attribute by the name that this build has for it."""
    return getattr(thing, name if hasattr(thing, name) else RENAMED.get(name, name))


# -- data -------------------------------------------------------------------------------------------------------------


def ratings_table() -> dict[str, Any]:
    world = rather.simulate(N_USERS, N_ITEMS, rank=2, per_user=14, levels=STARS, seed=1)
    r, users, items = world.comparisons.ratings, world.comparisons.users, world.comparisons.items
    assert r is not None
    return {"user": users[r.user], "item": items[r.item], "rating": r.rating}


def votes_table(seed: int = 2) -> dict[str, Any]:
    made: dict[str, Any] = rather.simulate(N_USERS, N_ITEMS, rank=2, per_user=20, seed=seed).comparisons.to_frame(
        "dict"
    )
    return made


def arena_table() -> dict[str, Any]:
    votes, rng = votes_table(3), np.random.default_rng(3)
    odd = np.arange(len(votes["user"])) % 2 == 1
    outcome = np.where(rng.random(len(odd)) < 0.2, "tie", np.where(odd, "left", "right"))
    left, right = (np.where(odd, votes[a], votes[b]) for a, b in (("winner", "loser"), ("loser", "winner")))
    return {"user": votes["user"], "left": left, "right": right, "outcome": outcome, "len": rng.normal(size=len(odd))}


def sources() -> dict[str, Callable[[], Any]]:
    rated = ratings_table()
    high = rated["rating"] >= 3
    clicked = {"user": rated["user"][high], "item": rated["item"][high]}
    return {
        "votes": lambda: rather.Comparisons.from_frame(votes_table()),
        "votes of nobody": lambda: rather.Comparisons.from_frame(votes_table(), user=None),
        "arena": lambda: rather.Comparisons.from_arena(arena_table(), covariates=["len"]),
        "ratings": lambda: rather.Comparisons.from_ratings(rated),
        "clicks": lambda: rather.Comparisons.from_clicks(clicked),
    }


def features(ids: Any, name: str) -> dict[str, Any]:
    """A table of what is known of items or users."""
    ids = np.asarray(ids, dtype=object)
    return {name: ids, "size": np.sin(np.arange(len(ids))), "kind": [f"k{n % 3}" for n in range(len(ids))]}


# -- what comes out ---------------------------------------------------------------------------------------------------


class Answers:
    """Arrays and texts by name; what is refused is an answer too."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}

    def add(self, name: str, ask: Callable[[], Any]) -> Any:
        """Ask, keep what came out, and return it; None where the library refuses."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = ask()
        except (rather.InputError, rather.FileError, AttributeError, TypeError) as e:
            self.arrays[name] = np.array(f"refused: {type(e).__name__}")
            return None
        for part, array in flattened(found):
            self.arrays[f"{name}{part}"] = array
        return found


def flattened(value: Any) -> Iterator[tuple[str, Any]]:
    """Arrays of numbers or text that a result is made of; columns of tables by their place."""
    if isinstance(value, rather.Table):
        for n, column in enumerate(value.columns.values()):
            yield from ((f"[{n}]{part}", array) for part, array in flattened(np.asarray(column)))
    elif isinstance(value, np.ndarray):
        yield "", value if value.dtype != object else np.array(json.dumps(value.tolist(), default=str))
    elif isinstance(value, dict):
        for key, inner in sorted(value.items(), key=lambda pair: str(pair[0])):
            if key not in CLOCKS:
                yield from ((f".{key}{part}", array) for part, array in flattened(inner))
    elif isinstance(value, (list, tuple)):
        for n, inner in enumerate(value):
            yield from ((f".{n}{part}", array) for part, array in flattened(inner))
    elif isinstance(value, (bool, int, float, np.number)):
        yield "", np.asarray(value)
    elif isinstance(value, str):
        yield "", np.array(value)


def file_contents(path: Path) -> dict[str, Any]:
    """Tensors and parsed JSON of a saved model."""
    from safetensors.numpy import load

    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    said = {key: text for key, text in header.get("__metadata__", {}).items() if key != "checksum"}
    texts = {}
    for key, text in said.items():
        try:
            texts[key] = json.dumps(without_clocks(json.loads(text)), sort_keys=True)
        except ValueError:
            texts[key] = text
    return {"tensors": load(data), "texts": texts}


def without_clocks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_clocks(inner) for key, inner in value.items() if key not in CLOCKS}
    return [without_clocks(inner) for inner in value] if isinstance(value, list) else value


def ask_everything(out: Answers, name: str, model: Any, comparisons: Any) -> None:
    """Put every question to a fitted model."""
    users, items = comparisons.users, comparisons.items
    each_user, each_item = np.repeat(users, len(items)), np.tile(items, len(users))

    def add(what: str, ask: Callable[[], Any]) -> Any:
        return out.add(f"{name}: {what}", ask)

    add("score", lambda: model.score(each_user, each_item))
    add("history", lambda: model.history_)
    add("reg", lambda: model.reg_)
    add("rank", lambda: model.rank(users[0]))
    add("rank of everybody", lambda: model.rank())
    add("recommend", lambda: model.recommend(list(users[:5]), k=4, exclude="seen"))
    add("similar items", lambda: model.similar_items(items[0], k=5))
    add("probability", lambda: model.probability(users[:6], items[0], items[1]))
    add("slope", lambda: model.slope_)
    add("interval", lambda: model.rank(users[0], interval=0.9))
    add("interval of everybody", lambda: model.rank(interval=0.9))
    add("difference", lambda: model.difference(users[0]))
    add("probability interval", lambda: named(model, "probability_interval")(users[:6], items[0], items[1]))
    add("effects", lambda: model.effects())
    add("certificate", lambda: vars(model.certificate()) if hasattr(model, "certificate") else "none")
    add("next question", lambda: tuple(vars(rather.next_question(model, users[-1])).values()))
    answers = [(items[0], items[1]), (items[2], items[3])]

    def newcomer(form: Any) -> Any:
        return model.fold_in(form)

    for form in (answers, list(items[:3])):
        person = add(f"fold in {type(form[0]).__name__}", partial(newcomer, form))
        if person is not None:
            add("newcomer ranks", person.rank)
            add("newcomer is sure", partial(person.rank, interval=0.8))
    more = {"user": ["x", "x", "y"], "winner": items[:3], "loser": items[3:6]}
    many = add("fold in many", lambda: model.fold_in_many(rather.Comparisons.from_frame(more)))
    if many is not None:
        add("many newcomers' scores", lambda: many.score(["x", "y"], items[:2]))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        if add("save", lambda: model.save(file) or "saved") is not None:
            add("file", lambda: file_contents(file))
            add("loaded scores", lambda: rather.load(file).score(each_user, each_item))
    today = {"user": [users[0], "newcomer"], "winner": [items[0], "new item"], "loser": [items[1], items[2]]}
    if add("update", lambda: model.update(rather.Comparisons.from_frame(today))) is not None:
        add("updated scores", lambda: model.score(each_user, each_item))
        add("updated ranking of the newcomer", lambda: model.rank("newcomer"))
    late = {"user": [users[0], users[-1]], "winner": ["late item", items[2]], "loser": [items[1], "late item"]}
    if add("add items", lambda: model.add_items(rather.Comparisons.from_frame(late))) is not None:
        add("score of a new item", lambda: model.score(users, "late item"))


def variants() -> Iterator[tuple[str, str, Any, bool]]:
    """Yield an estimator's name, a variant of it, the estimator, and whether it is fitted with features."""
    for name, kind in rather.ESTIMATORS.items():
        yield name, "default", kind(), False
    for loss in ("squared_hinge", "hinge", "logistic"):
        yield "AltSVM", loss, rather.AltSVM(rank=3, loss=loss, reg=2.0), False
        yield "Convex", loss, rather.Convex(loss=loss, reg=2.0), False
        yield "Global", loss, rather.Global(loss=loss, reg=1.0), False
    yield "AltSVM", "features", rather.AltSVM(rank=3), True
    yield "AltSVM", "trust", rather.AltSVM(rank=3, trust=True), False
    yield "AltSVM", "rank auto", rather.AltSVM(rank="auto"), False
    yield "AltSVM", "cv", rather.AltSVM(reg="cv"), False
    yield "Convex", "lam", rather.Convex(lam=1.0), False


def resumed(comparisons: Any, folder: Path) -> Any:
    """A fit that is stopped after two rounds and goes on from its checkpoint."""
    file = folder / "checkpoint"
    rather.AltSVM(rank=3, reg=2.0, max_iter=2, checkpoint=file).fit(comparisons)
    return rather.AltSVM(rank=3, reg=2.0, checkpoint=file).fit(comparisons)


def write_answers(file: str) -> None:
    out = Answers()
    kinds = sources()
    for estimator, variant, unfitted, described in variants():
        if SMOKE and (estimator, variant) not in (("AltSVM", "logistic"), ("Global", "default")):
            continue
        for kind, read in kinds.items():
            if SMOKE and kind != "votes":
                continue
            data, name = read(), f"{estimator}, {variant}, {kind}"
            about = {"item_features": features(data.items, "item")} if described else {}
            model = type(unfitted)(**unfitted.get_params())
            if out.add(f"{name}: fit", partial(model.fit, data, **about)) is not None:
                ask_everything(out, name, model, data)
    with tempfile.TemporaryDirectory() as folder:
        data = kinds["votes"]()
        ask_everything(out, "AltSVM, resumed, votes", resumed(data, Path(folder)), data)
    np.savez(file, **{hashlib.sha1(name.encode()).hexdigest(): array for name, array in out.arrays.items()})
    Path(f"{file}.names").write_text(json.dumps({hashlib.sha1(n.encode()).hexdigest(): n for n in out.arrays}))


# -- how fast ---------------------------------------------------------------------------------------------------------


def timed_cases() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Cases by name: each prepares itself and returns what is timed."""
    import os

    here = os.environ.get("RATHER_DATA")

    def movielens(name: str) -> Callable[[], Callable[[], Any]]:
        def prepare() -> Callable[[], Any]:
            import pyarrow.parquet

            table = pyarrow.parquet.read_table(Path(str(here)) / name / "ratings.parquet")
            train, _ = rather.split_ratings(table.select(["user", "item", "rating"]), per_user=100, seed=0)
            data = rather.Comparisons.from_ratings(train)
            assert data.store is not None  # built once: the fit is timed
            return lambda: rather.AltSVM(rank=100, n_threads=2).fit(data)

        return prepare

    def votes(n_users: int) -> Any:
        return rather.simulate(n_users, 100, rank=3, per_user=30, seed=4).comparisons

    def fit_votes() -> Callable[[], Any]:
        data = votes(60 if SMOKE else 1500)
        return lambda: rather.AltSVM(n_threads=2).fit(data)

    def fit_one_ranking() -> Callable[[], Any]:
        data = votes(60 if SMOKE else 3000)
        return lambda: rather.Global(n_threads=2).fit(data)

    def fitted() -> Any:
        data = votes(60 if SMOKE else 1500)
        return rather.AltSVM(rank=8, reg=3.0, n_threads=2).fit(data), data

    def repeated(question: Callable[[Any, Any], Any], times: int) -> Callable[[], Callable[[], Any]]:
        def prepare() -> Callable[[], Any]:
            model, data = fitted()
            return lambda: [question(model, data) for _ in range(2 if SMOKE else times)]

        return prepare

    def pairs(data: Any) -> list[Any]:
        return [(data.items[0], data.items[1]), (data.items[2], data.items[3])]

    def later(data: Any) -> Any:
        rows = {"user": [data.users[0], "n"], "winner": data.items[:2], "loser": data.items[2:4]}
        return rather.Comparisons.from_frame(rows)

    cases: dict[str, Callable[[], Callable[[], Any]]] = {
        "fit of votes": fit_votes,
        "fit of one ranking": fit_one_ranking,
        "fold_in": repeated(lambda model, data: model.fold_in(pairs(data)), 300),
        "score of one user": repeated(lambda model, data: model.score(data.users[0], data.items), 2000),
        "rank of one user": repeated(lambda model, data: model.rank(data.users[0]), 1000),
        "lists of all users": repeated(lambda model, data: model.recommend(data.users, k=10), 20),
        "update": repeated(lambda model, data: model.update(later(data)), 5),
    }
    if here and not SMOKE:
        found = {"ml-1m": "fit of MovieLens 1M", "ml-100k": "fit of MovieLens 100K"}
        cases |= {label: movielens(name) for name, label in found.items() if (Path(here) / name).is_dir()}
    return cases


def serve_times() -> None:
    cases = timed_cases()
    print(json.dumps(list(cases)), flush=True)
    ready: dict[str, Callable[[], Any]] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in ready:
            ready = {name: cases[name]()}  # one case's data at a time
            ready[name]()
        began = time.process_time()
        ready[name]()
        print(time.process_time() - began, flush=True)


def main(arguments: list[str]) -> None:
    """Write every array, table and file ("answers FILE"), or time the cases that stdin names ("times")."""
    if arguments[0] == "times":
        serve_times()
    else:
        write_answers(arguments[1])
