"""The paper's splits: exact counts, who is dropped, nothing lost and nothing twice."""

from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rather
from rather.data import frames, table_files

MAKERS = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
SIZES = {"few": 6, "just": 7, "many": 20}


@pytest.fixture
def ratings():
    rows = [(u, j, j % 5) for u, n in SIZES.items() for j in range(n)]
    rows = [rows[k] for k in np.random.default_rng(0).permutation(len(rows))]
    return {
        name: list(column) for name, column in zip(("user", "item", "rating"), zip(*rows, strict=True), strict=True)
    }


def rows_of(frame):
    got = frames.columns(frame, {"user": "user", "item": "item", "rating": "rating"})
    return list(zip(*(np.asarray(c).tolist() for c in got.values()), strict=True))


@pytest.mark.parametrize("kind", MAKERS)
def test_ratings_split(ratings, kind):
    """Exactly per_user ratings of everyone go to training and the rest to test; who has too few is in neither."""
    frame = MAKERS[kind](ratings)
    train, test = rather.split_ratings(frame, per_user=4, min_test=3)
    assert Counter(u for u, _, _ in rows_of(train)) == {"just": 4, "many": 4}
    assert Counter(u for u, _, _ in rows_of(test)) == {"just": 3, "many": 16}
    assert not set(rows_of(train)) & set(rows_of(test))
    assert set(rows_of(train)) | set(rows_of(test)) == {r for r in rows_of(frame) if r[0] != "few"}
    assert type(train) is type(test) is type(frame)


def test_rows_keep_their_order(ratings):
    """Both parts have their rows in the order they came."""
    everything = rows_of(ratings)
    for part in rather.split_ratings(ratings, per_user=4, min_test=3):
        places = [everything.index(row) for row in rows_of(part)]
        assert places == sorted(places)


@pytest.mark.parametrize(
    "split",
    [partial(rather.split_ratings, per_user=4, min_test=3), partial(rather.split_clicks, test=0.5)],
    ids=["ratings", "clicks"],
)
def test_seed(ratings, split):
    """A seed gives the same split again, another seed another one."""
    assert split(ratings, seed=0) == split(ratings, seed=0) != split(ratings, seed=1)


def test_every_rating_is_equally_likely(ratings):
    """Over many seeds each rating of a user is in training about equally often."""
    counts = Counter()
    for seed in range(400):
        counts.update(rows_of(rather.split_ratings(ratings, per_user=4, min_test=3, seed=seed)[0]))
    assert all(40 < n < 130 for (u, _, _), n in counts.items() if u == "many")  # 80 expected, deviation 8
    assert len(counts) == 27


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    ("share", "held"),
    [
        (0.1, {"many": 2}),
        (0.3, {"few": 1, "just": 2, "many": 6}),
        (0.99, {"few": 5, "just": 6, "many": 19}),
    ],
)
def test_clicks_split(ratings, kind, share, held):
    """A share of every user's clicks is held out, rounded down, and everyone keeps at least one."""
    frame = MAKERS[kind](ratings)
    train, test = rather.split_clicks(frame, share)
    assert Counter(u for u, _, _ in rows_of(test)) == held
    assert sorted(rows_of(train) + rows_of(test)) == sorted(rows_of(frame))
    assert {u for u, _, _ in rows_of(train)} == set(SIZES)
    assert type(train) is type(test) is type(frame)


@pytest.mark.parametrize("share", [0.07, 0.28, 0.29, 0.57, 0.58])
def test_whole_numbers_of_clicks_are_held_out_whole(share):
    """A share of a hundred clicks is what it says, where the product of floats falls just below a whole number."""
    clicks = {"user": [1] * 100, "item": list(range(100))}
    assert len(rather.split_clicks(clicks, share)[1]["item"]) == round(100 * share)


def test_repeated_rows_do_not_leak(ratings):
    """A user's item is in one part: repeated clicks count once, a rating twice is refused, by time the first counts."""
    twice = {name: column * 2 for name, column in ratings.items()}
    whole = len(ratings["user"])
    once, again = rather.split_clicks(ratings, 0.3, seed=4), rather.split_clicks(twice, 0.3, seed=4)
    for part, repeated in zip(once, again, strict=True):
        assert rows_of(repeated) == rows_of(part) * 2
    with pytest.raises(rather.InputError, match=r"user 'few' has item 0 twice \(rows 14 and 47\); keep one"):
        rather.split_ratings(twice, per_user=4, min_test=3)
    for by in ("everyone", "user"):
        train, test = rather.split_time({**twice, "timestamp": range(2 * whole)}, test=0.5, by=by)
        assert sorted(rows_of(train)) == sorted(rows_of(train)[: len(train["user"]) // 2] * 2)
        assert not set(rows_of(train)) & set(rows_of(test))


def test_menus_stay_whole_in_time():
    """A menu goes where its first row goes, though its items are in other menus too."""
    table = {"user": [1] * 6, "menu": [1, 1, 2, 2, 3, 3], "item": list("ABACAB"), "timestamp": [1, 2, 3, 4, 4, 5]}
    train, test = rather.split_time(table, test=0.5)
    assert set(train["menu"]) == {1, 2} and test["menu"] == [3, 3]


def test_a_named_column_keeps_rows_together_in_time():
    """Rows of one item stay together if the item's column is named, whatever menus there are."""
    table = {"user": [1] * 4, "menu": [1, 1, 2, 2], "item": list("ABAC"), "timestamp": [1, 2, 3, 4]}
    train, test = rather.split_time(table, test=0.5, item="item")
    assert train["item"] == ["A", "A"] and test["item"] == ["B", "C"]
    assert rather.split_time(table, test=0.5).test["item"] == ["A", "C"]


@pytest.mark.data
@pytest.mark.parametrize(("per_user", "users"), [(20, 5289), (50, 3938), (100, 2711)])
def test_users_of_movielens_1m(data, per_user, users):
    """On MovieLens 1M the protocol keeps 5289, 3938 and 2711 users at 20, 50 and 100 training ratings each."""
    path = data / "ml-1m" / "ratings.parquet"
    if not path.exists():
        pytest.skip("the data set ml-1m is not there")
    train, test = rather.split_ratings(table_files.read_file(path), per_user=per_user)
    counts = np.unique(train["user"].to_numpy(), return_counts=True)[1]
    assert len(counts) == users and (counts == per_user).all()
    assert np.unique(test["user"].to_numpy(), return_counts=True)[1].min() >= 10
