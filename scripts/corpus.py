"""Add files of the present version to tests/corpus: python scripts/corpus.py NAME makes the folder tests/corpus/NAME.

The folder has a model of every estimator and of every kind of data, a database of votes as SQL, and said.json with the
answers that they gave. tests/test_corpus.py compares the answers of later versions. All data are made up here.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rather
from rather import Comparisons

CORPUS = Path(__file__).parents[1] / "tests" / "corpus"
USERS, ITEMS, EACH = 8, 6, 5  # people, things, and what everybody said
BIG = 2**70  # ids that no integer of a processor holds
SMALL = {"rank": 2, "max_iter": 3, "anchors": 2, "n_threads": 1, "seed": 0}
SEES = {
    "ItemMean": "ratings", "Differences": "ratings", "CofiRank": "ratings", "LCR": "ratings", "RobiRank": "clicks",
    "Popularity": "clicks", "RP3beta": "clicks", "EASE": "clicks", "ClickRanker": "clicks",
}  # the others: votes  # fmt: skip
FIRST = 1_700_000_000.0  # when the made-up visitor came


def votes() -> dict[str, Any]:
    """Return votes with named users and items."""
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(ITEMS, 2, replace=False) for _ in range(USERS * EACH)])
    user = np.repeat(np.arange(USERS), EACH)
    return {
        "user": np.array([f"user {n}" for n in user], object),
        "winner": np.array([f"item {n}" for n in pairs[:, 0]], object),
        "loser": np.array([f"item {n}" for n in pairs[:, 1]], object),
    }


def numbered() -> dict[str, Any]:
    """Return ratings, whose users and items are numbers."""
    rng = np.random.default_rng(1)
    item = np.concatenate([rng.choice(ITEMS, EACH, replace=False) for _ in range(USERS)])
    user = np.repeat(np.arange(USERS), EACH)
    return {"user": user, "item": item, "rating": rng.integers(1, 6, len(user)).astype(float)}


def data(kind: str) -> Comparisons:
    """Return comparisons of one kind."""
    if kind == "votes":
        return Comparisons.from_frame(votes())
    table = numbered()
    if kind == "ratings":
        return Comparisons.from_ratings(table)
    few = np.arange(len(table["user"])) % EACH < 3
    return Comparisons.from_clicks({name: table[name][few] for name in ("user", "item")})


def small(name: str) -> Any:
    """Return an estimator that is fitted in a moment and takes little room."""
    kind = rather.ESTIMATORS[name]
    return kind(**{key: value for key, value in SMALL.items() if key in kind().get_params()})


def models() -> Iterator[tuple[str, Any, bool]]:
    """Yield fitted models by name, and whether their files hold the comparisons."""
    for name in rather.ESTIMATORS:
        yield name, small(name).fit(data(SEES.get(name, "votes"))), True
    yield "AltSVM-ratings", small("AltSVM").fit(data("ratings")), True
    yield "AltSVM-clicks", small("AltSVM").fit(data("clicks")), True
    yield "AltSVM-slim", small("AltSVM").fit(data("votes")), False
    yield "AltSVM-exposure", small("AltSVM").set_params(exposure=True).fit(data("ratings")), True
    table = votes()
    many = table | {"user": np.array([BIG + int(name.split()[1]) for name in table["user"]], object)}
    yield "AltSVM-big-ids", small("AltSVM").fit(Comparisons.from_frame(many)), True
    turn = np.arange(len(table["user"]))
    more = table | {"tie": turn % 4 == 0, "left": turn % 3 == 0, "hour": turn % 24 / 24, "weight": 1.0 + turn % 2}
    columns = {"tie": "tie", "side": "left", "weight": "weight", "covariates": ["hour"]}
    yield "AltSVM-ties", small("AltSVM").fit(Comparisons.from_frame(more, **columns)), True
    known = {"item": [f"item {n}" for n in range(ITEMS)], "year": [1990.0 + n for n in range(ITEMS)]}
    of_whom = {"user": [f"user {n}" for n in range(USERS)], "city": ["Rome", "Oslo"] * (USERS // 2)}
    described = small("AltSVM").fit(data("votes"), item_features=known, user_features=of_whom)
    yield "AltSVM-features", described, True


def answers(model: Any) -> dict[str, Any]:
    """Return what a model says, as tests/test_corpus.py will ask it."""
    users, items = model.users_[:2].tolist(), model.items_[:3].tolist()
    left, right = items[:2]
    newcomer = model.fold_in([(left, right)]).score(items).tolist() if hasattr(model, "fold_in") else None
    return {
        "users": users, "items": items, "scores": [model.score([user] * 3, items).tolist() for user in users],
        "best": model.recommend(users, k=2)["item"].tolist(),
        "unseen": model.recommend(users[:1], k=2, exclude="seen")["item"].tolist(),
        "probability": np.ravel(model.probability(users[0], left, right)).tolist(), "newcomer": newcomer,
        "rounds": len(getattr(model, "history_", ())),
    }  # fmt: skip


def votes_database() -> tuple[str, dict[str, Any]]:
    """Return a database of votes as SQL, and the table of votes that a fit would get."""
    from sqlalchemy import insert

    from rather.server import ledger as ledgers
    from rather.server.votes import votes as table_of

    asked = [("a", "b", "left"), ("b", "c", "right"), ("a", "c", "tie"), ("c", "d", "unseen left"), ("d", "a", "left")]
    rows: dict[str, list[dict[str, Any]]] = {
        "visitors": [{"visitor": "0" * 32, "origin": "1" * 32, "came": FIRST}],
        "questions": [
            {
                "token": f"{n:032}", "visitor": "0" * 32, "left_item": left, "right_item": right, "policy": "random",
                "chance": 0.5, "probability": None, "model": None, "asked": FIRST + 10 * n,
            }
            for n, (left, right, _) in enumerate(asked)
        ],
        "answers": [
            {"token": f"{n:032}", "reply": reply, "seconds": 5.0, "answered": FIRST + 10 * n + 5}
            for n, (*_, reply) in enumerate(asked)
        ],
        "undos": [{"token": f"{4:032}", "undone": FIRST + 50}],
        "shares": [{"share": "2" * 32, "visitor": "0" * 32, "shared": FIRST + 60}],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "votes.sqlite")
        ledger = ledgers.Ledger(path)
        with ledger.engine.begin() as connection:
            for name, several in rows.items():
                connection.execute(insert(getattr(ledgers, name)), several)
        frame, _ = table_of(ledger)
        ledger.close()
        connection = sqlite3.connect(path)
        text = "\n".join(connection.iterdump()) + "\n"
        connection.close()
    return text, {name: column.tolist() for name, column in frame.items()}


def write(folder: Path) -> None:
    """Write files of every kind, and what they say, into a new folder."""
    folder.mkdir(parents=True)
    said = {}
    for name, model, whole in models():
        model.save(folder / f"{name}.model", comparisons=whole)
        said[name] = {**answers(model), "comparisons": len(model.fitted.training) if whole else None}
    text, said["votes"] = votes_database()
    (folder / "votes.sql").write_text(text, encoding="utf-8", newline="\n")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in said.items())
    (folder / "said.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(CORPUS / sys.argv[1])
