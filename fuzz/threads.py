"""Threads that ask while another refits: every answer is that of one whole state, to the bit.

A model is fitted in turn to two sets of data, of other ids but for a few, with other ranks and losses; some fits fail
on purpose. Other threads score, rank, recommend, fold in, ask for probabilities and save. The states that a fit goes
through are known from fits made before, so every answer must be among theirs. A case is two seconds of it.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

import rather
from rather import AltSVM, Comparisons, InputError
from rather.testing import small_data

from .models import other_ids

FULL, CHUNK, SECONDS = 300, 100, 60.0
JOBS = 1
LASTS = 2.0  # seconds of a case
PATIENCE = 5.0  # seconds that an answer may take
SHARED = 6  # ids that both sets of data have
ALIKE: dict[str, Any] = {"max_iter": 3, "tol": 0.0, "n_threads": 1}
Ask = Callable[[Any], Any]


class Boom(Exception):
    """A fit that fails on purpose."""


def _fail(_: Any, record: dict[str, float]) -> None:
    if record["round"] == 2:
        raise Boom


class Shared:
    """Two sets of data, the ways they are fitted, and all that the states of those fits answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        votes = small_data("votes")
        self.data = [votes, other_ids(votes, shared=SHARED)]
        self.ways: list[tuple[Comparisons, dict[str, Any]]] = [
            (self.data[0], {"rank": 3, "loss": "squared_hinge"}), (self.data[1], {"rank": 8, "loss": "squared_hinge"}),
            (self.data[0], {"rank": 2, "loss": "logistic"}), (self.data[1], {"rank": 5, "loss": "hinge"}),
        ]  # fmt: skip
        self.users, self.items = votes.users[:SHARED].tolist(), votes.items[:SHARED].tolist()
        self.asks = self._questions()
        self.known: dict[str, set[Any]] = {name: set() for name in self.asks}
        for comparisons, params in self.ways:
            AltSVM(**ALIKE, **params, callback=self._learn).fit(comparisons)

    def _learn(self, model: Any, record: Any) -> None:
        state = copy(model)
        for name, ask in self.asks.items():
            self.known[name].add(ask(state))

    def _questions(self) -> dict[str, Ask]:
        users, items = self.users, self.items
        pairs = np.repeat(np.array(users, object), SHARED), np.tile(np.array(items, object), SHARED)

        def table(made: Any) -> Any:
            return tuple((name, tuple(column.tolist())) for name, column in made.columns.items())

        def newcomer(model: Any) -> Any:
            person = model.fold_in([(items[0], items[1]), (items[2], items[3])])
            return person.score(items).tobytes(), table(person.rank()), len(person.factors)

        def saved(model: Any) -> Any:
            path = self.folder / f"saved by {threading.get_ident()}"
            model.save(path)
            loaded = rather.load(path)
            return loaded.score(*pairs).tobytes(), table(loaded.rank()), len(loaded.history_), loaded.loss_

        return {
            "score": lambda model: model.score(*pairs).tobytes(),
            "rank": lambda model: table(model.rank(users[0])),
            "rank for everyone": lambda model: table(model.rank()),
            "recommend": lambda model: table(model.recommend(users, k=5, exclude="seen")),
            "similar items": lambda model: table(model.similar_items(items[0], k=3)),
            "probability": lambda model: model.probability(users, items[0], items[1]).tobytes(),
            "fold in": newcomer,
            "save": saved,
            "predict": lambda model: model._scores_any(
                np.full(3, -1, np.int32), np.arange(3, dtype=np.int32)
            ).tobytes(),
            "certificate": lambda model: repr(model.certificate()),
        }


def prepare(folder: Path) -> Shared:
    sys.setswitchinterval(2e-5)
    return Shared(folder)


def case(shared: Shared, rng: random.Random, count: Counter[str]) -> None:
    model = AltSVM(**ALIKE, **shared.ways[0][1]).fit(shared.ways[0][0])
    stop, wrong, counts = threading.Event(), [], [Counter[str]() for _ in range(5)]
    names = list(shared.asks)

    def ask(k: int, seed: int) -> None:
        own = random.Random(seed)
        while not stop.is_set():
            name = own.choice(names) if k else own.choice(("probability", "score"))
            began = time.monotonic()
            try:
                got = shared.asks[name](model)
            except InputError as e:  # both sets of data have the ids that are asked for
                wrong.append(f"{name} was refused: {e}")
            except Exception as e:
                wrong.append(f"{name} raised {e!r}")
            else:
                if got not in shared.known[name]:
                    wrong.append(f"{name} is an answer of no state")
                counts[k][f"answers to {name}"] += 1
            if time.monotonic() - began > PATIENCE:
                wrong.append(f"{name} took {time.monotonic() - began:.1f} s")

    threads = [threading.Thread(target=ask, args=(k, rng.randrange(2**30))) for k in range(len(counts))]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    while time.monotonic() - began < LASTS:
        comparisons, params = rng.choice(shared.ways)
        failing = rng.random() < 0.25
        model.set_params(**params, callback=_fail if failing else None)
        try:
            model.fit(comparisons)
            count["refits"] += 1
        except Boom:
            count["refits that failed on purpose"] += 1
        time.sleep(rng.choice((0.0, 0.0, 0.01, 0.3)))
    stop.set()
    for thread in threads:
        thread.join()
    for own in counts:
        count.update(own)
    assert not wrong, f"{len(wrong)} wrong answers: {Counter(wrong).most_common(6)}"
