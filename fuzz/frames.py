"""Random tables of every kind against a reference made of plain Python values: the same ids, comparisons and splits.

Votes (with weights, ties and times) and ratings come as dicts, pandas, polars and Arrow tables, CSV and Parquet files,
with ids that are text, digits, integers of any size or categories. The library must
refuse whatever the reference calls wrong.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from rather import Comparisons, InputError, split_clicks, split_time
from rather.data import frames as library
from rather.data.table_files import read_file, write_table

from .containers import contained
from .reference import Refused, rated, time_cut, voted

FULL, CHUNK, SECONDS = 10_000, 1_000, 30.0
POOLS: dict[str, list[Any]] = {
    "text": ["a", "b", "B", "ab", "a ", " a", "tea", "NA", "nan", "None", "null", "true", "1e3", "x,y", 'q"q', "l\nl"],
    "unicode": ["é", "e\u0301", "日本", "🎬", "ß", "ss", "İ", "\u200b", "\x1f", "z"],
    "digits": ["0", "1", "01", "10", "2", "-1", "-0", "+1", "1.0", "007", "9" * 30],
    "whole": ["0", "1", "10", "2", "-1", "99", "123456789012"],
    "small": [0, 1, 2, 3, 5, 8, 100],
    "int": [0, 1, -1, 7, 10**6, 2**31, -(2**31), 2**62, -(2**63), 2**63 - 1],
    "unsigned": [0, 1, 2**63, 2**64 - 1, 2**63 - 1, 5],
    "huge": [0, 2**70, -(2**70), 2**64, 10**30, 3],
}


def prepare(folder: Path) -> Path:
    return folder


def case(folder: Path, rng: random.Random, count: Counter[str]) -> None:
    _ratings(folder, rng, count) if rng.random() < 0.25 else _votes(folder, rng, count)


def _ids(rng: random.Random) -> tuple[str, list[Any]]:
    kind = rng.choice(list(POOLS))
    pool = POOLS[kind]
    return kind, rng.sample(pool, rng.randint(2, len(pool)))


def _some(rng: random.Random, pool: list[Any], n: int) -> list[Any]:
    return [rng.choice(pool) for _ in range(n)]


# -- votes ------------------------------------------------------------------------------------------------------------


def _votes(folder: Path, rng: random.Random, count: Counter[str]) -> None:
    n = rng.choice((1, 1, 2, 3, 5, 10, 40, 200))
    (user_kind, users), (item_kind, items) = _ids(rng), _ids(rng)
    pairs = [rng.sample(items, 2) for _ in range(n)]
    columns: dict[str, list[Any]] = {
        "user": _some(rng, users, n), "winner": [a for a, _ in pairs], "loser": [b for _, b in pairs],
    }  # fmt: skip
    options: dict[str, str] = {}
    if rng.random() < 0.5:
        options["weight"] = "weight"
        columns["weight"] = [rng.choice((0.0, 1.0, 0.5, 1e-40, 1e-46, 1e6, 3.0, rng.random())) for _ in range(n)]
    if rng.random() < 0.4:
        options["tie"] = "tie"
        columns["tie"] = [rng.random() < 0.3 for _ in range(n)]
    if rng.random() < 0.4:
        start = rng.choice((0, -5, 1_700_000_000, 1_700_000_000_000_000_000))
        columns["when"] = [start + rng.choice((0, 1, 2, 3, 86400, 10**6)) for _ in range(n)]
    _spoil(rng, columns)
    frame, plain = contained(rng, columns, {"user": user_kind, "winner": item_kind, "loser": item_kind}, folder)
    try:
        want = voted(plain, "weight" in options, "tie" in options)
    except Refused as e:
        want = None
        reason = str(e)
    try:
        got = Comparisons.from_frame(frame, **options)
    except InputError as e:
        assert "\n" not in str(e), f"an error of several lines: {e!r}"
        assert want is None, f"refused: {e}; of {plain}"
        count["tables refused"] += 1
        return
    assert want is not None, f"not refused ({reason}): {plain}"
    _same(got, want, plain)
    _back(got, rng, folder)
    _split(got, rng, ties="tie" in options)
    if "when" in columns:
        _split_time(frame, plain, rng)
    _split_clicks(frame, plain, rng)
    count["tables of votes"] += 1


def _spoil(rng: random.Random, columns: dict[str, list[Any]]) -> None:
    """In one table of eight, something that must be refused, or looks as if it should."""
    if rng.random() > 0.125:
        return
    row = rng.randrange(len(columns["user"]))
    column = rng.choice(("user", "winner", "loser"))
    how = rng.randrange(5)
    if how == 0:
        columns[column][row] = None
    elif how == 1 and isinstance(columns[column][row], str):
        columns[column][row] = ""
    elif how == 2:
        columns["loser"][row] = columns["winner"][row]
    elif how == 3 and "weight" in columns:
        columns["weight"][row] = rng.choice((-1.0, float("nan"), float("inf"), 1e7, -1e-300))
    elif how == 4 and "weight" in columns:
        columns["weight"] = [0.0] * len(columns["weight"])


def _triples(comparisons: Comparisons) -> Counter[Any]:
    p = comparisons.pairs()
    weights = [1.0] * len(p.user) if p.weight is None else p.weight.tolist()
    users, items = comparisons.users.tolist(), comparisons.items.tolist()
    rows = zip(p.user.tolist(), p.winner.tolist(), p.loser.tolist(), weights, strict=True)
    return Counter((users[u], items[w], items[x], weight) for u, w, x, weight in rows)


def _same(got: Comparisons, want: Any, plain: Any) -> None:
    users, items, triples = want
    assert got.users.tolist() == users and got.items.tolist() == items, f"other ids: {got.users}, {got.items}: {plain}"
    assert [type(v) for v in got.users.tolist()] == [type(v) for v in users], "ids of another type"
    assert _triples(got) == triples, f"other comparisons: {_triples(got)} of {plain}"
    assert len(got) == sum(triples.values())


def _back(got: Comparisons, rng: random.Random, folder: Path) -> None:
    """Out into a frame of some kind, or a file, and in again."""
    kind = rng.choice(("dict", "pandas", "polars", "pyarrow", ".csv", ".parquet"))
    names = got.to_frame("dict")
    columns: dict[str, Any] = {name: name if name in names else None for name in ("weight", "tie")}
    text = kind == ".csv"
    try:
        if kind.startswith("."):
            path = folder / f"back{kind}"
            write_table(path, got.to_frame("dict"))
            again = Comparisons.from_frame(read_file(path), **columns)
        else:
            again = Comparisons.from_frame(got.to_frame(kind), **columns)
    except InputError as e:
        known = "cannot hold these ids" in str(e) or (text and "in one column and integers" in str(e))
        assert known, f"what came out as {kind} does not go in: {e}"
        return
    a, b = _triples(got), _triples(again)
    if text:  # which does not tell the text 1 from the number
        a, b = (_as_text(triples) for triples in (a, b))
    assert a == b, f"what came out as {kind} goes in as something else: {a} {b}"


def _as_text(triples: Counter[Any]) -> Counter[Any]:
    return Counter({(str(u), str(w), str(x), weight): n for (u, w, x, weight), n in triples.items()})


# -- splits -----------------------------------------------------------------------------------------------------------


def _split(got: Comparisons, rng: random.Random, ties: bool) -> None:
    share, seed = rng.choice((0.1, 0.2, 0.5, 0.9)), rng.randrange(1000)
    every = _triples(got)
    group = got.pairs().group
    answers = len(got) if group is None else len(set(group.tolist()))
    held = round(share * answers)
    try:
        train, test = got.split(share, seed=seed)
    except InputError:
        assert held in (0, answers), f"a split of {answers} answers at {share} was refused"
        return
    assert 0 < held < answers
    assert _triples(train) + _triples(test) == every, "a split loses or makes comparisons"
    if not ties or group is None:
        assert len(test) == held, f"{len(test)} held out of {answers} at {share}"
    else:
        parts = [set(np.asarray(part.pairs().group).tolist()) for part in (train, test)]
        assert len(parts[1]) == held and not parts[0] & parts[1], "an answer is in both parts"
    few = got.sample(2, seed=seed)
    assert not _triples(few) - every, "a sample makes comparisons"


def _split_time(frame: Any, plain: dict[str, list[Any]], rng: random.Random) -> None:
    share = rng.choice((0.1, 0.2, 0.5, 0.9))
    held = time_cut([int(t) for t in plain["when"]], share)
    try:
        train, test = split_time(frame, share, time="when")
    except InputError:
        assert not any(held), "a split by time was refused"
        return
    sizes = library.length(train), library.length(test)
    assert sizes == (held.count(False), held.count(True)), (
        f"by time at {share}: {sizes}, not {held.count(True)}: {plain}"
    )


def _split_clicks(frame: Any, plain: dict[str, list[Any]], rng: random.Random) -> None:
    share = rng.choice((0.1, 0.34, 0.5))
    clicks = set(zip(plain["user"], plain["winner"], strict=True))
    sizes = Counter(user for user, _ in clicks)
    want = sum(min(int(np.floor(n * share + 1e-9)), n - 1) for n in sizes.values())
    parts = split_clicks(frame, share, seed=rng.randrange(100), item="winner")
    got = [library.columns(part, {"user": "user", "winner": "winner"}) for part in parts]
    train, test = (set(zip(*(list(part[name]) for name in part), strict=True)) for part in got)
    assert sum(map(library.length, parts)) == len(plain["user"]), f"clicks lost at {share}: {plain}"
    assert len(test) == want and not train & test, f"clicks split at {share}: {plain}"


# -- ratings ----------------------------------------------------------------------------------------------------------


def _ratings(folder: Path, rng: random.Random, count: Counter[str]) -> None:
    n = rng.choice((1, 2, 5, 20, 60))
    (user_kind, users), (item_kind, items) = _ids(rng), _ids(rng)
    cells = [(u, j) for u in users for j in items]
    chosen = rng.sample(cells, min(n, len(cells)))
    if rng.random() < 0.05:
        chosen.append(rng.choice(chosen))
    stars = rng.choice(([1, 2, 3, 4, 5], [0.5, 1.5], [-1e30, 0.0, 1e30], [1e-300, 2e-300], [1.0, 1.0 + 2**-52]))
    columns = {
        "user": [u for u, _ in chosen], "item": [j for _, j in chosen], "rating": [rng.choice(stars) for _ in chosen],
    }  # fmt: skip
    frame, plain = contained(rng, columns, {"user": user_kind, "item": item_kind}, folder)
    try:
        want = rated(plain)
    except Refused:
        want = None
    try:
        got = Comparisons.from_ratings(frame)
    except InputError as e:
        assert "\n" not in str(e), f"an error of several lines: {e!r}"
        assert want is None, f"refused: {e}; of {plain}"
        count["tables refused"] += 1
        return
    assert want is not None, f"not refused: {plain}"
    _same(got, want, plain)
    _back(got, rng, folder)
    count["tables of ratings"] += 1
