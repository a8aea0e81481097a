"""What bad input gets: one sentence with the value and its place, and nothing left on disk."""

import gzip
import json
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as tensor_bytes

import rather
from rather import AltSVM, Comparisons, FileError, InputError, NotFittedError, Table, simulate
from rather.data import table_files
from rather.models.files import FORMAT
from rather.models.tensors import write_tensors


@dataclass
class Bench:
    """What a case may use: a fitted model, its data, and an empty folder."""

    folder: Path
    world: Any
    model: AltSVM
    given: dict[str, bytes] = field(default_factory=dict)

    @property
    def votes(self):
        return self.world.comparisons

    def file(self, name, content):
        """A file that exists before the mistake is made."""
        self.given[name] = content
        (self.folder / name).write_bytes(content)
        return self.folder / name

    def read(self, name, content):
        return table_files.read_file(self.file(name, content))

    def load(self, content):
        return rather.load(self.file("m.rather", content))

    def saved(self):
        """The tensors and the description inside a saved model."""
        path = self.folder / "sound"
        self.model.save(path)
        content = path.read_bytes()
        path.unlink()
        header = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])
        return read_tensors(content), json.loads(header["__metadata__"]["about"])

    def altered(self, **changes):
        """Load a saved model of which some tensors, or parts of its description, were replaced."""
        tensors, about = self.saved()
        tensors.update({k: v for k, v in changes.items() if k in tensors})
        about.update({k: v for k, v in changes.items() if k not in tensors})
        return self.sealed(tensors, about=json.dumps(about))

    def sealed(self, tensors, **metadata):
        """Load a file that holds these, with the checksum of what it holds."""
        path = self.folder / "sealed"
        write_tensors(path, FORMAT, tensors, metadata)
        content = path.read_bytes()
        path.unlink()
        return self.load(content)


@pytest.fixture(scope="module")
def world():
    return simulate(n_users=6, n_items=5, per_user=20)


@pytest.fixture(scope="module")
def model(world):
    return AltSVM(rank=2).fit(world.comparisons)


@pytest.fixture
def bench(tmp_path, world, model):
    return Bench(tmp_path, world, model)


def votes(make=dict, options=None, **columns):
    """Three good votes with some columns replaced."""
    good = {"user": ["ann", "bob", "ann"], "winner": ["A", "B", "C"], "loser": ["B", "C", "A"]}
    return Comparisons.from_frame(make({**good, **columns}), **(options or {}))


ITEMS = ["item 1", "item 2", "item 3"]  # that the model knows


def ratings(read=Comparisons.from_ratings, options=None, **columns):
    good = {"user": [1, 1, 2], "item": ["A", "B", "A"], "rating": [1, 2, 3]}
    return read({**good, **columns}, **(options or {}))


def menus(**columns):
    good = {"user": [1, 1, 1], "menu": [7, 7, 7], "item": ["A", "B", "C"], "chosen": [1, 0, 0]}
    return Comparisons.from_menus({**good, **columns})


X = [[0, 1, 2], [1, 0, 2]]

TABLES = {
    "missing column": (lambda b: votes(options={"loser": "lost"}), "'lost'", "loser", "'user', 'winner', 'loser'"),
    "no name for a column": (lambda b: votes(options={"winner": None}), "None", "winner"),
    "column twice in pandas": (
        lambda b: Comparisons.from_frame(pd.DataFrame([[1, 2, 3, 4]], columns=["user", "winner", "loser", "loser"])),
        "'loser'",
    ),
    "column twice in pyarrow": (
        lambda b: Comparisons.from_frame(pa.table([[1], [2], [3], [4]], names=["user", "winner", "loser", "loser"])),
        "'loser'",
    ),
    "empty dict": (lambda b: Comparisons.from_frame({}), "no column 'user'", "none"),
    "empty lists": (lambda b: votes(user=[], winner=[], loser=[]), "no votes", "no rows"),
    "empty pandas": (lambda b: votes(pd.DataFrame, user=[], winner=[], loser=[]), "no votes", "no rows"),
    "empty polars": (lambda b: votes(pl.DataFrame, user=[], winner=[], loser=[]), "no votes", "no rows"),
    "empty ratings": (lambda b: ratings(user=[], item=[], rating=[]), "no ratings", "no rows"),
    "empty menus": (lambda b: menus(user=[], menu=[], item=[], chosen=[]), "no menus", "no rows"),
    "empty clicks": (lambda b: Comparisons.from_clicks({"user": [], "item": []}), "no clicks", "no rows"),
    "unequal columns": (lambda b: votes(user=["ann"]), "user has 1", "winner has 3"),
    "a word for a column": (lambda b: votes(user="ann"), "'user'", "'ann'", "list"),
    "nested column": (lambda b: votes(user=np.ones((3, 1), int)), "column 'user'", "2 dimensions"),
    "lazy frame": (lambda b: votes(pl.LazyFrame), "LazyFrame", "collect"),
    "pandas series": (lambda b: Comparisons.from_frame(pd.Series([1])), "Series"),
    "list of rows": (lambda b: Comparisons.from_frame([("ann", "A", "B")]), "list", "pandas, polars or pyarrow"),
    "file name for data": (lambda b: Comparisons.from_frame("votes.csv"), "str", "pandas, polars or pyarrow"),
    "None for data": (lambda b: Comparisons.from_ratings(None), "NoneType"),
    "unknown kind of frame": (lambda b: b.votes.to_frame("spark"), "'spark'", "'polars'"),
    "unknown kind of table": (lambda b: Table({"a": np.ones(1)}).to_frame("numpy"), "'numpy'", "'pandas'"),
    "ids too large for pyarrow": (lambda b: votes(user=[2**70, 1, 2]).to_frame("pyarrow"), "pyarrow", "'dict'"),
}

IDS = {
    "None": (lambda b: votes(user=["ann", None, "bob"]), "column 'user'", "missing", "row 1"),
    "NaN among strings": (lambda b: votes(winner=["A", "B", np.nan]), "column 'winner'", "missing", "row 2"),
    "NaN among integers": (
        lambda b: votes(pd.DataFrame, user=[1, None, 2]), "column 'user'", "missing", "row 1"),
    "pd.NA": (lambda b: votes(loser=["B", pd.NA, "A"]), "column 'loser'", "missing", "row 1"),
    "pd.NaT": (lambda b: votes(loser=["B", "C", pd.NaT]), "column 'loser'", "missing", "row 2"),
    "nullable pandas": (
        lambda b: votes(pd.DataFrame, user=pd.array([1, 2, None], "Int64")), "column 'user'", "missing", "row 2"),
    "polars null": (lambda b: votes(pl.DataFrame, user=[None, "a", "b"]), "column 'user'", "missing", "row 0"),
    "pyarrow null": (lambda b: votes(pa.table, user=[1, None, 2]), "column 'user'", "missing", "row 1"),
    "floats": (lambda b: votes(user=[1.5, 2.0, 3.0]), "column 'user'", "1.5", "strings or integers"),
    "floats say how to convert": (
        lambda b: votes(pd.DataFrame, user=[1.0, 2.0, 3.0]), "float64", "convert", ".astype('int64')"),
    "empty item and loser": (lambda b: votes(winner=["A", "", "C"], loser=["B", "", "A"]), "winner", "row 1 is empty"),
    "float array": (lambda b: votes(user=np.array([1.5, 2, 3])), "column 'user'", "row 0", "1.5"),
    "booleans": (lambda b: votes(user=[True, False, True]), "column 'user'", "row 0", "True"),
    "boolean array": (lambda b: votes(user=np.array([False, True, True])), "column 'user'", "row 0", "False"),
    "dates": (lambda b: votes(user=np.array(["2020-01-02"] * 3, "M8[D]")), "column 'user'", "2020-01-02"),
    "bytes": (lambda b: votes(user=np.array([b"\xff", b"b", b"c"])), "column 'user'", "row 0", "xff"),
    "lists": (lambda b: votes(user=[[1, 2], [3, 4], [5, 6]]), "column 'user'", "row 0", "[1, 2]"),
    "polars lists": (lambda b: votes(pl.DataFrame, user=[[1], [2], [3]]), "column 'user'", "row 0", "[1]"),
    "mixed": (lambda b: votes(user=["ann", 7, "bob"]), "column 'user'", "row 0: 'ann'", "row 1: 7"),
    "mixed tuple": (lambda b: votes(user=("ann", 7, "bob")), "column 'user'", "row 0: 'ann'", "row 1: 7"),
    "empty string": (lambda b: votes(user=["ann", "", "bob"]), "the user (column 'user') in row 1", "empty"),
    "empty loser": (lambda b: votes(loser=["B", "C", ""]), "the loser (column 'loser') in row 2", "empty"),
    "columns of two kinds": (lambda b: votes(winner=[1, 2, 3]), "item", "'B'", "1", "strings", "integers"),
    "self-comparison": (lambda b: votes(winner=["A", "C", "C"]), "row 1", "'C'", "itself"),
    "integer self-comparison": (lambda b: votes(winner=[1, 2, 3], loser=[2, 3, 3]), "row 2", "item 3", "itself"),
}  # fmt: skip

WEIGHTS = {"weight": "w"}
NUMBERS = {
    "negative weight": (lambda b: votes(w=[1, 2, -3], options=WEIGHTS), "'w'", "row 2", "-3"),
    "NaN weight": (lambda b: votes(w=[1, np.nan, 3], options=WEIGHTS), "'w'", "row 1", "nan"),
    "infinite weight": (lambda b: votes(w=[np.inf, 2, 3], options=WEIGHTS), "'w'", "row 0", "inf"),
    "weight beyond floats": (lambda b: votes(w=[1, 1e300, 1], options=WEIGHTS), "'w'", "row 1", "1e+300"),
    "weight too large": (lambda b: votes(w=[1e6, 1, 2e6], options=WEIGHTS), "'w'", "row 2", "2000000.0", "scale"),
    "text weight": (lambda b: votes(w=["1", "heavy", "2"], options=WEIGHTS), "'w'", "row 1", "'heavy'"),
    "all weights zero": (lambda b: votes(w=[0, 0, 0], options=WEIGHTS), "nothing to compare", "weight 0"),
    "bad tie": (lambda b: votes(t=["yes", "no", "no"], options={"tie": "t"}), "'t'", "row 0", "'yes'"),
    "missing tie": (lambda b: votes(t=[True, None, False], options={"tie": "t"}), "'t'", "row 1", "None"),
    "nested ties": (lambda b: votes(t=[[1], [0], [0]], options={"tie": "t"}), "'t'", "2 dimensions"),
    "NaN rating": (lambda b: ratings(rating=[1, np.nan, 2]), "'rating'", "row 1", "nan"),
    "infinite rating": (lambda b: ratings(rating=[1, 2, -np.inf]), "'rating'", "row 2", "-inf"),
    "missing rating": (lambda b: ratings(rating=[None, 2, 1]), "'rating'", "row 0"),
    "text rating": (lambda b: ratings(rating=[1, "good", 2]), "'rating'", "row 1", "'good'"),
    "huge rating": (lambda b: ratings(rating=[1, 2, 1e300]), "'rating'", "row 2", "1e+300"),
    "hugely negative rating": (lambda b: ratings(rating=[1, -1e300, 2]), "'rating'", "row 1", "-1e+300"),
    "dates for ratings": (lambda b: ratings(rating=np.array(["2020-01-02"] * 3, "M8[D]")), "'rating'", "2020-01-02"),
    "whole ratings that would tie": (lambda b: ratings(rating=[1, 2**53 + 1, 2**53]), "row 1", "9007199254740993"),
    "whole ratings in text": (
        lambda b: ratings(rating=["0.5", "1", "-9007199254740993"]), "row 2", "-9007199254740993", "would tie"),
    "whole ranks that would tie": (
        lambda b: ratings(Comparisons.from_rankings, {"rank": "rating"}, rating=np.array([1, 2, 2**60 + 1])), "row 2"),
    "empty id before the rating": (lambda b: ratings(item=["A", "", "B"], rating=["1", "", "2"]), "row 1 is empty"),
    "rated twice": (lambda b: ratings(item=["A", "A", "B"]), "user 1", "item 'A'", "rows 0 and 1"),
    "all ratings tied": (lambda b: ratings(rating=[3, 3, 3]), "nothing to compare", "no user rated"),
    "one rating each": (lambda b: ratings(user=[1, 2, 3], item=["A", "A", "B"]), "nothing to compare"),
    "all ranks tied": (
        lambda b: ratings(Comparisons.from_rankings, {"rank": "rating"}, rating=[1, 1, 1]), "nothing to compare"),
    "text rank": (lambda b: ratings(Comparisons.from_rankings, {"rank": "rating"}, rating=[1, "first", 2]),
                  "the rank", "row 1", "'first'"),
    "unknown keep": (lambda b: ratings(options={"keep": "some"}), "keep", "'some'", "'largest-gap'"),
    "negative seed of ratings": (lambda b: ratings(options={"seed": -1, "keep": "largest-gap"}), "seed", "-1"),
    "menu without a choice": (lambda b: menus(chosen=[0, 0, 0]), "no menu", "chosen"),
    "menu taken whole": (lambda b: menus(chosen=[1, 1, 1]), "no menu", "chosen"),
    "item twice in a menu": (lambda b: menus(item=["B", "A", "B"]), "'B'", "menu 7", "user 1", "rows 0 and 2"),
    "bad choice": (lambda b: menus(chosen=[1, 2, 0]), "'chosen'", "row 1", "2"),
    "missing menu": (lambda b: menus(menu=[7, None, 7]), "column 'menu'", "row 1", "missing"),
    "no clicks per user": (lambda b: Comparisons.from_clicks({"user": [1], "item": [1]}, per_user=0), "per_user", "0"),
    "no unseen items": (lambda b: Comparisons.from_clicks({"user": [1], "item": [1]}, unseen=0), "unseen", "0"),
    "two ways to draw from clicks": (
        lambda b: Comparisons.from_clicks({"user": [1], "item": [1]}, per_user=5, unseen=5), "per_user", "unseen"),
    "negative seed of clicks": (lambda b: Comparisons.from_clicks({"user": [1], "item": [1]}, seed=-1), "seed", "-1"),
    "clicks on everything": (
        lambda b: Comparisons.from_clicks({"user": [1, 1], "item": ["A", "B"]}), "every user clicked every item"),
    "one click": (
        lambda b: Comparisons.from_clicks({"user": [1], "item": ["A"]}), "clicks are on one item", "allow_empty=True"),
}  # fmt: skip

TRIPLES = {
    "X of two columns": (lambda b: Comparisons.from_triples([[0, 1]]), "(1, 2)", "three columns"),
    "X flat": (lambda b: Comparisons.from_triples([0, 1, 2]), "(3,)", "three columns"),
    "X ragged": (lambda b: Comparisons.from_triples([[0, 1, 2], [1]]), "different lengths"),
    "X of floats": (lambda b: Comparisons.from_triples(np.array(X, float)), "float64", "integers"),
    "X of strings": (lambda b: Comparisons.from_triples([["a", "b", "c"]]), "integers"),
    "X empty": (lambda b: Comparisons.from_triples(np.empty((0, 3), int)), "no rows"),
    "X negative": (lambda b: Comparisons.from_triples([[0, 1, 2], [0, -1, 2]]), "row 1", "[0, -1, 2]"),
    "X too large": (lambda b: Comparisons.from_triples([[0, 1, 2**31]]), "row 0", "[0, 1, 2147483648]"),
    "X self-comparison": (lambda b: Comparisons.from_triples([[0, 1, 2], [0, 2, 2]]), "row 1", "item 2", "itself"),
    "y too short": (lambda b: AltSVM().fit(np.array(X), [1]), "(1,)", "2"),
    "y zero": (lambda b: AltSVM().fit(np.array(X), [1, 0]), "row 1", "is 0", "+1 or -1"),
    "y NaN": (lambda b: AltSVM().fit(X, [1, np.nan]), "row 1", "nan"),
    "y of words": (lambda b: AltSVM().fit(X, ["won", "lost"]), "row 0", "'won'"),
    "y with comparisons": (lambda b: AltSVM().fit(b.votes, [1]), "y ", "comparisons already say who won"),
    "a frame to fit": (lambda b: AltSVM().fit(pd.DataFrame()), "DataFrame", "Comparisons"),
}

PARAMETERS = {
    f"{name} = {value!r}": (lambda b, name=name, value=value: AltSVM(**{name: value}).fit(b.votes), name, repr(value))
    for name, value in [
        ("rank", 0), ("rank", -1), ("rank", 1.5), ("rank", True), ("rank", 10**6), ("rank", "5"),
        ("reg", 0), ("reg", -1), ("reg", float("nan")), ("reg", float("inf")), ("reg", "auto"),
        ("loss", "absolute"), ("max_iter", 0), ("tol", -1), ("tol", "x"),
        ("n_threads", 0), ("seed", -1), ("seed", 1.0), ("item_power", -1), ("user_power", 3), ("balance", 2),
        ("bias", 0), ("bias", -2.0), ("bias", None), ("callback", "print"),
    ]
}  # fmt: skip
PARAMETERS["unknown parameter"] = (lambda b: AltSVM().set_params(size=3), "'size'", "rank")

NOT_FITTED = {
    f"unfitted: {name}": (lambda b, ask=ask: ask(AltSVM()), "AltSVM", "fit(comparisons)")
    for name, ask in {
        "score": lambda m: m.score("user 1", "item 1"),
        "probability": lambda m: m.probability("user 1", "item 1", "item 2"),
        "rank": lambda m: m.rank("user 1"),
        "recommend": lambda m: m.recommend("user 1"),
        "similar_items": lambda m: m.similar_items("item 1"),
        "fold_in": lambda m: m.fold_in([]),
        "save": lambda m: m.save("m.rather"),
        "factors": lambda m: m.user_factors_,
        "ids": lambda m: m.users_,
        "ndcg": lambda m: rather.ndcg(m, {"user": [1], "item": [1], "rating": [1]}),
        "precision": lambda m: rather.precision(m, {"user": [1], "item": [1]}),
        "accuracy": lambda m: rather.pairwise_accuracy(m, simulate(2, 2, 1, 1).comparisons),
    }.items()
}

QUESTIONS = {
    "unknown user": (lambda b: b.model.rank("bob"), "user 'bob'", "fold_in"),
    "unknown integer user": (lambda b: b.model.score(7, "item 1"), "user 7", "fold_in"),
    "unknown user of many": (lambda b: b.model.recommend(["user 1", "eve"]), "user 'eve'", "fold_in"),
    "unknown item": (lambda b: b.model.score("user 1", "item 99"), "item 'item 99' is not in the model", "add_items"),
    "unknown item to compare": (lambda b: b.model.probability("user 1", "item 1", "x"), "item 'x'"),
    "unknown item for neighbours": (lambda b: b.model.similar_items("x"), "item 'x'"),
    "a number for a user": (lambda b: b.model.rank(1.5), "1.5", "strings or integers"),
    "bytes for a user": (lambda b: b.model.rank(b"user 1"), "b'user 1'"),
    "no user": (lambda b: b.model.rank(None), "missing"),
    "ids of two kinds": (lambda b: b.model.score(["user 1", 2], "item 1"), "'user 1'", "2"),
    "nested users": (lambda b: b.model.score(np.array([["user 1"]]), "item 1"), "2 dimensions"),
    "users and items that do not pair up": (
        lambda b: b.model.score(["user 1", "user 2"], ["item 1"] * 3), "2 users", "3 items"),
    "left and right that do not pair up": (
        lambda b: b.model.probability("user 1", ["item 1"] * 2, ["item 2"] * 3), "2 left", "3 right"),
    "two users to rank": (lambda b: b.model.rank(["user 1", "user 2"]), "one user", "2"),
    "no users to rank": (lambda b: b.model.rank([]), "one user", "0"),
    "two items for neighbours": (lambda b: b.model.similar_items(["item 1", "item 2"]), "one item", "2"),
    "k = 0": (lambda b: b.model.recommend("user 1", k=0), "k is 0"),
    "k = 2.0": (lambda b: b.model.recommend("user 1", k=2.0), "k is 2.0", "whole"),
    "k = True": (lambda b: b.model.recommend("user 1", k=True), "k is True"),
    "k beyond the catalogue": (lambda b: b.model.recommend("user 1", k=6), "k is 6", "only 5 items"),
    "k beyond the other items": (lambda b: b.model.similar_items("item 1", k=5), "k is 5", "only 4 other items"),
    "unknown exclude": (lambda b: b.model.recommend("user 1", k=1, exclude="clicked"), "'clicked'", "'seen'"),
    "exclude without items": (lambda b: b.model.recommend("user 1", k=1, exclude={"user": [1]}), "no column 'item'"),
    "exclude of no kind": (lambda b: b.model.recommend("user 1", k=1, exclude=5), "int"),
    "exclude with missing ids": (
        lambda b: b.model.recommend("user 1", k=1, exclude={"user": [None], "item": [1]}), "missing", "row 0"),
    "answers that are none": (lambda b: b.model.fold_in(None), "None", "(winner, loser)"),
    "answers in one string": (lambda b: b.model.fold_in("item 1"), "'item 1'", "(winner, loser)"),
    "answer of one": (lambda b: b.model.fold_in([("item 1", "item 2"), ("item 1",)]), "answer 1", "('item 1',)"),
    "answer that is a word": (lambda b: b.model.fold_in(["ab"]), "answer 0", "'ab'"),
    "answer against itself": (lambda b: b.model.fold_in([("item 1", "item 1")]), "answer 0", "'item 1'", "itself"),
    "answer with an unknown item": (lambda b: b.model.fold_in([("item 1", "x")]), "item 'x'"),
    "person's unknown exclusion": (lambda b: b.model.fold_in([]).recommend(1, exclude=["x"]), "item 'x'"),
    "person's k": (lambda b: b.model.fold_in([]).recommend(9), "k is 9", "only 5 items"),
    "person's two pairs": (lambda b: b.model.fold_in([]).probability(["item 1", "item 2"], "item 3"), "2 with 1"),
}  # fmt: skip

EVALUATION = {
    "test share 0": (lambda b: b.votes.split(0), "test is 0"),
    "test share 1": (lambda b: b.votes.split(1), "test is 1"),
    "test share that leaves nothing": (lambda b: votes().split(0.1), "0.1 of 3 comparisons", "empty"),
    "unknown way to split": (lambda b: b.votes.split(by="users"), "by is 'users'", "'items'"),
    "split by items without ratings": (lambda b: b.votes.split(by="items"), "by='items'", "ratings"),
    "negative seed of a split": (lambda b: b.votes.split(seed=-1), "seed is -1"),
    "sample of none": (lambda b: b.votes.sample(0), "per_user is 0"),
    "sample of a share": (lambda b: b.votes.sample(0.5), "per_user is 0.5"),
    "negative seed of a sample": (lambda b: b.votes.sample(5, seed=-1), "seed is -1"),
    "sample of clicks": (
        lambda b: rather.Comparisons.from_clicks({"user": [1, 2], "item": [1, 2]}).sample(1), "clicks", "table"),
    "min_gap without ratings": (lambda b: rather.pairwise_accuracy(b.model, b.votes, min_gap=2), "min_gap", "ratings"),
    "negative min_gap": (lambda b: rather.pairwise_accuracy(b.model, b.votes, min_gap=-1), "min_gap is -1"),
    "min_gap that leaves nothing": (
        lambda b: rather.pairwise_accuracy(b.model, ratings(user=["user 1"] * 3, item=ITEMS), min_gap=50), "50"),
    "accuracy of a frame": (lambda b: rather.pairwise_accuracy(b.model, {"user": []}), "dict", "Comparisons"),
    "accuracy for a stranger": (lambda b: rather.pairwise_accuracy(b.model, votes()), "user 'ann'"),
    "precision of votes": (lambda b: rather.precision(b.model, b.votes), "clicks"),
    "precision of nothing": (lambda b: rather.precision(b.model, {"user": [], "item": []}), "no rows"),
    "precision for a stranger": (lambda b: rather.precision(b.model, {"user": ["ann"], "item": ["A"]}), "user 'ann'"),
    "precision at 0": (lambda b: rather.precision(b.model, {"user": ["user 1"], "item": ["A"]}, k=0), "k is 0"),
    "ndcg at 0": (lambda b: ratings(lambda f: rather.ndcg(b.model, f, k=0)), "k is 0"),
    "ndcg without ratings": (lambda b: rather.ndcg(b.model, {"user": [1], "item": [1]}), "no column 'rating'"),
    "ndcg for a stranger": (lambda b: ratings(lambda f: rather.ndcg(b.model, f)), "user 1"),
    "ndcg without gain": (
        lambda b: ratings(lambda f: rather.ndcg(b.model, f), user=["user 1"] * 3, item=ITEMS, rating=[0, 0, -1]),
        "gain above 0"),
    "ndcg of ratings too large": (
        lambda b: ratings(lambda f: rather.ndcg(b.model, f), rating=[1, 5000, 2]), "row 1", "5000"),
    "split_ratings of the few": (
        lambda b: ratings(rather.split_ratings), "60 ratings", "per_user is 50", "most any has is 2"),
    "split_ratings of none": (lambda b: rather.split_ratings({"user": [], "item": []}), "no rows"),
    "split_ratings per_user 0": (lambda b: ratings(rather.split_ratings, {"per_user": 0}), "per_user is 0"),
    "split_ratings min_test -1": (lambda b: ratings(rather.split_ratings, {"min_test": -1}), "min_test is -1"),
    "split_ratings without users": (lambda b: ratings(rather.split_ratings, {"user": "who"}), "'who'"),
    "split_ratings of unequal columns": (
        lambda b: ratings(rather.split_ratings, {"per_user": 1, "min_test": 1}, item=["A"]),
        "user has 3", "item has 1"),
    "split_clicks share 1": (lambda b: ratings(rather.split_clicks, {"test": 1}), "test is 1"),
    "split_clicks seed": (lambda b: ratings(rather.split_clicks, {"seed": 0.5}), "seed is 0.5"),
    "simulate without users": (lambda b: simulate(n_users=0), "n_users is 0"),
    "simulate with one item": (lambda b: simulate(n_items=1), "n_items is 1"),
    "simulate rank 0": (lambda b: simulate(rank=0), "rank is 0"),
    "simulate per_user 1.5": (lambda b: simulate(per_user=1.5), "per_user is 1.5"),
    "simulate noise 0": (lambda b: simulate(noise=0), "noise is 0"),
    "simulate seed": (lambda b: simulate(seed="0"), "seed is '0'"),
    "simulated test of none": (lambda b: b.world.test(0), "n is 0"),
    "simulated test seed": (lambda b: b.world.test(5, seed=-1), "seed is -1"),
}  # fmt: skip

FILES = {
    "no file to read": (lambda b: table_files.read_file(b.folder / "none.csv"), "none.csv", "no file"),
    "a folder to read": (lambda b: table_files.read_file(b.folder), "folder"),
    "empty file": (lambda b: b.read("e.csv", b""), "e.csv", "empty"),
    "empty compressed file": (lambda b: b.read("e.csv.gz", gzip.compress(b"")), "e.csv.gz", "no rows"),
    "a byte order mark alone": (lambda b: b.read("e.csv", b"\xef\xbb\xbf"), "e.csv", "no rows"),
    "header alone": (lambda b: b.read("e.csv", b"user,item\n"), "e.csv", "no rows"),
    "short line": (lambda b: b.read("e.csv", b"a,b\n1,2\n3\n"), "line 3", "e.csv", "1 fields", "2"),
    "header twice": (lambda b: b.read("e.csv", b"a,b,a\n1,2,3\n"), "'a' twice", "e.csv"),
    "latin-1": (lambda b: b.read("e.csv", "a,b\né,2\n".encode("latin-1")), "e.csv", "utf-8"),
    "unknown ending": (lambda b: b.read("e.xlsx", b"PK"), "'.xlsx'", ".parquet"),
    "no ending": (lambda b: b.read("e", b"a,b\n"), "ends in ''", ".csv"),
    "text named gz": (lambda b: b.read("e.csv.gz", b"a,b\n1,2\n"), "e.csv.gz"),
    "truncated gz": (lambda b: b.read("e.csv.gz", gzip.compress(b"a,b\n1,2\n")[:-9]), "e.csv.gz"),
    "text named parquet": (lambda b: b.read("e.parquet", b"a,b\n1,2\n"), "e.parquet", "Parquet"),
    "impossible name": (lambda b: table_files.read_file(b.folder / ("t" * 300)), "ttt", "File name too long"),
    "impossible name of a model": (lambda b: rather.load(b.folder / ("m" * 300)), "mmm", "File name too long"),
    "no model": (lambda b: rather.load(b.folder / "none.rather"), "none.rather", "no file"),
    "a folder for a model": (lambda b: rather.load(b.folder), "folder"),
    "empty model": (lambda b: b.load(b""), "m.rather"),
    "random bytes": (lambda b: b.load(bytes(range(256)) * 4), "m.rather"),
    "huge header": (lambda b: b.load(struct.pack("<Q", 2**62) + b"{}" * 50), "m.rather", "header"),
    "another safetensors file": (lambda b: b.load(tensor_bytes({"x": np.ones(3)})), "m.rather", "not a model file"),
    "a model of another version": (
        lambda b: b.load(tensor_bytes({"x": np.ones(3)}, {"format": "rather-model-0"})), "m.rather", FORMAT),
    "a model without description": (
        lambda b: b.sealed({"x": np.ones(3)}), "m.rather", "'about'"),
    "a description too deep": (
        lambda b: b.sealed({"x": np.ones(3)}, about="[" * 10**5), "m.rather"),
    "unknown class": (lambda b: b.altered(**{"class": "Oracle"}), "m.rather", "'Oracle'"),
    "unknown loss": (lambda b: b.altered(loss="absolute"), "m.rather", "damaged"),
    "negative reg": (lambda b: b.altered(reg=-1.0), "m.rather", "damaged"),
    "reg beyond floats": (lambda b: b.altered(reg=1e300), "m.rather", "damaged"),
    "text for slope": (lambda b: b.altered(slope="steep"), "m.rather", "'steep'"),
    "infinite slope": (lambda b: b.altered(slope=float("inf")), "m.rather", "damaged"),
    "unknown kind of frame in a model": (lambda b: b.altered(frame_kind="spark"), "m.rather", "damaged"),
    "nothing told about the fit": (lambda b: b.altered(fitted=None), "m.rather", "damaged"),
    "parameters that are none": (lambda b: b.altered(params=[]), "m.rather", "damaged"),
    "impossible number of threads": (lambda b: b.altered(params={"n_threads": -4}), "m.rather", "n_threads", "-4"),
    "unknown kind of ids": (lambda b: b.altered(ids={"users": "float", "items": "str"}), "m.rather", "users"),
    "factors of wrong shape": (lambda b: b.altered(user_factors=np.ones((7, 2), np.float32)), "m.rather", "fit"),
    "factors of wrong rank": (lambda b: b.altered(item_factors=np.ones((5, 3), np.float32)), "m.rather", "fit"),
    "factors of wrong type": (lambda b: b.altered(user_factors=np.ones((6, 2))), "m.rather", "fit"),
    "NaN factors": (lambda b: b.altered(item_factors=np.full((5, 2), np.nan, np.float32)), "m.rather", "fit"),
    "infinite bias": (lambda b: b.altered(item_bias=np.full(5, np.inf, np.float32)), "m.rather", "fit"),
    "seen items out of range": (
        lambda b: b.altered(seen_start=np.array([0] + [1] * 6), seen_item=np.array([5], np.int32)), "m.rather", "fit"),
    "seen items that run backwards": (
        lambda b: b.altered(seen_start=np.array([0, 2, 1, 2, 2, 2, 2]), seen_item=np.zeros(2, np.int32)),
        "m.rather", "fit"),
    "seen items that overflow": (
        lambda b: b.altered(
            seen_start=np.array([0, 2**63 - 1, -(2**63), -1, 1, 1, 1]), seen_item=np.zeros(1, np.int32)),
        "m.rather", "fit"),
    "ids out of order": (
        lambda b: b.altered(users=np.arange(6)[::-1].copy(), ids={"users": "int64", "items": "str"}),
        "m.rather", "users", "order"),
    "ids beyond their text": (lambda b: b.altered(items_end=np.full(5, 10**6)), "m.rather", "items"),
    "ids that are not text": (
        lambda b: b.altered(items=np.full(30, 255, np.uint8), items_end=np.arange(1, 6) * 6), "m.rather", "utf-8"),
    "saving into no folder": (lambda b: b.model.save(b.folder / "none" / "m.rather"), "none", "m.rather"),
    "saving over a folder": (lambda b: b.model.save(b.folder), "folder"),
    "saving under an impossible name": (lambda b: b.model.save(b.folder / ("m" * 300)), "mmm", "File name too long"),
    "checkpoint into no folder": (
        lambda b: AltSVM(rank=1, checkpoint=b.folder / "none" / "c").fit(b.votes), "none", "no folder"),
    "checkpoint under an impossible name": (
        lambda b: AltSVM(checkpoint=b.folder / ("c" * 300)).fit(b.votes), "ccc", "File name too long"),
    "checkpoint that is a folder": (lambda b: AltSVM(checkpoint=b.folder).fit(b.votes), "folder"),
    "checkpoint that is a model": (
        lambda b: AltSVM(checkpoint=b.file("c", tensor_bytes({"x": np.ones(1)}, {"format": FORMAT}))).fit(b.votes),
        "c'", "not a checkpoint file"),
}  # fmt: skip

CASES = {
    **{name: (*case, InputError) for part in (TABLES, IDS, NUMBERS, TRIPLES, PARAMETERS, QUESTIONS, EVALUATION)
       for name, case in part.items()},
    **{name: (*case, NotFittedError) for name, case in NOT_FITTED.items()},
    **{name: (*case, FileError) for name, case in FILES.items()},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bad_input(name, bench):
    """Bad input gets one line with the value and its place, the kind of error it is, and leaves no file."""
    act, *fragments, error = CASES[name]
    with pytest.raises(InputError) as caught:
        act(bench)
    message = str(caught.value)
    assert isinstance(caught.value, error)
    assert "\n" not in message and not message.endswith(".")
    assert not re.search(r"\bnp\.\w+\(", message), "a value shows as numpy's type, not as what the user gave"
    for fragment in fragments:
        assert fragment in message, message
    assert {p.name: p.read_bytes() for p in bench.folder.iterdir()} == bench.given


@pytest.mark.parametrize("what", ["parameters", "data"])
def test_checkpoint_of_another_fit(bench, what):
    """A checkpoint of other data or other parameters is refused by name and left as it is."""
    path = bench.folder / "fit.checkpoint"
    AltSVM(rank=2, checkpoint=path).fit(bench.votes)
    before = path.read_bytes()
    other = simulate(n_users=6, n_items=5, per_user=20, seed=1).comparisons if what == "data" else bench.votes
    with pytest.raises(FileError, match=f"fit.checkpoint.* made with other {what}"):
        AltSVM(rank=3 if what == "parameters" else 2, checkpoint=path).fit(other)
    assert path.read_bytes() == before


def test_a_failed_fit_leaves_a_fitted_model_alone(bench):
    """A fit refused for its parameters or data leaves the model of the last one as it was."""
    model = AltSVM(rank=2).fit(bench.votes)
    before = model.score("user 1", model.items_)
    for attempt in (lambda: model.set_params(reg=-1).fit(bench.votes), lambda: model.set_params(reg=None).fit([])):
        with pytest.raises(InputError):
            attempt()
        np.testing.assert_array_equal(model.score("user 1", model.items_), before)
