"""Comparisons: every constructor against a list worked out by hand or by brute force, and what splitting keeps."""

from collections import Counter
from itertools import pairwise, product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rather import AltSVM, Comparisons, Global, Table, split_clicks, split_time
from rather.data.clicks import ClickRule, drawn
from rather.data.rows import Clicks
from rather.native import core

MAKERS = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
VOTES = {"user": ["bob", "ann", "bob"], "winner": ["C", "A", "A"], "loser": ["A", "B", "B"]}


def triples(comparisons):
    """How often (or with what weight in all) each user prefers one item to another, in external ids."""
    p = comparisons.pairs()
    users, items = comparisons.users.tolist(), comparisons.items.tolist()
    weights = np.ones(len(p.user)) if p.weight is None else p.weight
    total = Counter()
    for u, w, x, weight in zip(p.user, p.winner, p.loser, weights, strict=True):
        total[users[u], items[w], items[x]] += float(weight)
    return total


def columns(rows, *names):
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


# -- votes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MAKERS)
def test_votes_of_every_kind_of_frame(kind):
    """The same votes as any kind of frame are the same comparisons, and go back into that kind."""
    votes = Comparisons.from_frame(MAKERS[kind](VOTES))
    assert votes.users.tolist() == ["ann", "bob"] and votes.items.tolist() == ["A", "B", "C"]
    assert votes.n_users == 2 and votes.n_items == 3 and len(votes) == 3
    assert triples(votes) == Counter([("ann", "A", "B"), ("bob", "C", "A"), ("bob", "A", "B")])
    assert type(votes.to_frame()) is type(MAKERS[kind](VOTES))
    assert repr(votes) == "Comparisons: 3 comparisons by 2 users over 3 items"


def test_a_table_is_a_frame():
    """Votes and ratings in a Table are read as those of a dict, and results of a model may be features of items."""
    votes = Comparisons.from_frame(Table({name: np.array(column, object) for name, column in VOTES.items()}))
    assert triples(votes) == triples(Comparisons.from_frame(VOTES))
    assert type(votes.to_frame()) is dict and repr(votes) == repr(Comparisons.from_frame(VOTES))
    scored = Global().fit(votes).rank()
    assert votes.with_features(item_features=scored).item_features.known.all()


def test_columns_may_have_any_name():
    """Columns are found by the names given; others are ignored."""
    frame = {"who": ["a"], "better": [1], "worse": [2], "user": [None], "when": ["now"]}
    assert triples(Comparisons.from_frame(frame, "who", "better", "worse")) == {("a", 1, 2): 1}


@pytest.mark.parametrize(
    "ids",
    [(3, 1, 2), (-1, -(2**63), 2**63 - 1), (2**63, 1, 2**64 - 1), (2**70, -(2**70), 0), ("été", "日本", "007")],
    ids=str,
)
def test_ids_come_back_unchanged(ids):
    """Ids of any kind come back equal, in sorted order, and of the same type."""
    a, b, c = ids
    votes = Comparisons.from_frame({"user": [a, b], "winner": [a, b], "loser": [b, c]})
    assert votes.items.tolist() == sorted(ids) and votes.users.tolist() == sorted([a, b])
    assert triples(votes) == {(a, a, b): 1, (b, b, c): 1}
    frame = votes.to_frame()
    assert {type(v) for v in frame["winner"].tolist()} == {type(a)}


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_unsigned_64_bit_ids(kind):
    """Unsigned integers that int64 cannot hold go through every kind of frame."""
    large = np.array([2**64 - 1, 1], np.uint64)
    votes = Comparisons.from_frame(MAKERS[kind]({"user": large, "winner": large, "loser": large[::-1].copy()}))
    again = Comparisons.from_frame(votes.to_frame())
    assert triples(votes) == triples(again) == {(2**64 - 1, 2**64 - 1, 1): 1, (1, 1, 2**64 - 1): 1}


def test_weights():
    """A weight is kept with its vote; a vote of weight 0 is dropped, its ids are not."""
    frame = {**VOTES, "w": [0.5, 0, 2]}
    votes = Comparisons.from_frame(frame, weight="w")
    assert triples(votes) == {("bob", "C", "A"): 0.5, ("bob", "A", "B"): 2}
    assert len(votes) == 2 and votes.users.tolist() == ["ann", "bob"]


def test_ties_count_half_each_way():
    """A tie is half a vote for either item, times its weight; a vote that is no tie stays whole."""
    frame = {**VOTES, "w": [1, 4, 3], "t": [False, True, False]}
    assert triples(Comparisons.from_frame(frame, tie="t")) == {
        ("bob", "C", "A"): 1, ("bob", "A", "B"): 1, ("ann", "A", "B"): 0.5, ("ann", "B", "A"): 0.5,
    }  # fmt: skip
    assert triples(Comparisons.from_frame(frame, tie="t", weight="w")) == {
        ("bob", "C", "A"): 1, ("bob", "A", "B"): 3, ("ann", "A", "B"): 2, ("ann", "B", "A"): 2,
    }  # fmt: skip


def test_repeated_votes_count_each():
    """The same vote twice is two comparisons."""
    votes = Comparisons.from_frame({"user": [1, 1], "winner": [2, 2], "loser": [3, 3]})
    assert len(votes) == 2 and triples(votes) == {(1, 2, 3): 2}


# -- triples ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.uint64], ids=str)
def test_integer_triples(dtype):
    """y = +1 says the first item won, -1 the second; codes that do not occur are users and items all the same."""
    X = np.array([[3, 0, 2], [1, 4, 0]], dtype)
    votes = Comparisons.from_triples(X, [1, -1])
    assert triples(votes) == {(3, 0, 2): 1, (1, 0, 4): 1}
    assert votes.users.tolist() == [0, 1, 2, 3] and votes.items.tolist() == [0, 1, 2, 3, 4]
    assert triples(Comparisons.from_triples(X)) == {(3, 0, 2): 1, (1, 4, 0): 1}
    assert triples(Comparisons.from_triples(X.tolist(), [1.0, -1.0])) == triples(votes)


# -- ratings and rankings ---------------------------------------------------------------------------------------------

RATINGS = columns(
    [("b", "x", 5.0), ("a", "x", 1.0), ("a", "y", 2.5), ("a", "z", 1.0), ("b", "z", 4.0), ("c", "y", 3.0)],
    "user", "item", "rating",
)  # fmt: skip


@pytest.mark.parametrize("kind", MAKERS)
def test_ratings(kind):
    """A user prefers what they rated higher; equal ratings, and single ones, say nothing but keep their ids."""
    made = Comparisons.from_ratings(MAKERS[kind](RATINGS))
    assert triples(made) == {("a", "y", "x"): 1, ("a", "y", "z"): 1, ("b", "x", "z"): 1}
    assert len(made) == 3 and made.users.tolist() == ["a", "b", "c"] and not made.source.written
    assert repr(made) == "Comparisons: 3 comparisons by 3 users over 3 items (from ratings)"
    assert type(made.to_frame()) is type(MAKERS[kind](VOTES))


def test_ratings_keep_their_gaps():
    """Pairs from ratings carry the difference of the two."""
    p = Comparisons.from_ratings(RATINGS).pairs()
    assert sorted(p.gap.tolist()) == [1, 1.5, 1.5]


def test_rankings():
    """A smaller rank is better."""
    ranks = columns(
        [("a", "x", 1), ("a", "y", 2), ("a", "z", 2), ("b", "x", 9), ("b", "y", -1)], "user", "item", "rank"
    )
    made = Comparisons.from_rankings(ranks)
    assert triples(made) == {("a", "x", "y"): 1, ("a", "x", "z"): 1, ("b", "y", "x"): 1}


def test_largest_gaps_against_brute_force():
    """For a user with N ratings the N pairs furthest apart are kept, all if there are fewer, each once."""
    rng = np.random.default_rng(0)
    rows = [(u, j, int(rng.integers(1, 6))) for u in range(20) for j in range(rng.integers(2, 9))]
    ratings = columns(rows, "user", "item", "rating")
    every, kept = Comparisons.from_ratings(ratings), Comparisons.from_ratings(ratings, keep="largest-gap")
    for u in range(20):
        rated = {j: r for who, j, r in rows if who == u}
        gaps = sorted((rated[a] - rated[b] for a, b in product(rated, rated) if rated[a] > rated[b]), reverse=True)
        own = {(w, x): n for (who, w, x), n in triples(kept).items() if who == u}
        assert set(own.values()) <= {1}
        assert sorted((rated[w] - rated[x] for w, x in own), reverse=True) == gaps[: len(rated)]
    assert set(triples(kept)) <= set(triples(every)) and len(kept) < len(every)
    assert kept.source.written and kept.ratings is not None


def test_largest_gap_ties_are_drawn_by_seed():
    """Which of equally wide pairs are kept depends on the seed, and on nothing else."""
    ratings = columns([("a", j, int(j < 4)) for j in range(8)], "user", "item", "rating")
    draws = [triples(Comparisons.from_ratings(ratings, keep="largest-gap", seed=s)) for s in (0, 0, 1, 2, 3)]
    assert draws[0] == draws[1] and len({frozenset(d) for d in draws}) > 1
    assert all(len(d) == 8 for d in draws)


# -- menus ------------------------------------------------------------------------------------------------------------

MENUS = columns(
    [
        ("ann", 1, "A", 0), ("ann", 1, "B", 1), ("ann", 1, "C", 0),
        ("bob", 2, "A", 1), ("bob", 2, "B", 1), ("bob", 2, "C", 0), ("bob", 2, "D", 0),
        ("ann", 2, "A", 0), ("ann", 2, "E", 0),
        ("bob", 7, "A", 1), ("bob", 7, "D", 1),
    ],
    "user", "menu", "item", "chosen",
)  # fmt: skip
CHOSEN = Counter(
    [("ann", "B", "A"), ("ann", "B", "C"), ("bob", "A", "C"), ("bob", "A", "D"), ("bob", "B", "C"), ("bob", "B", "D")]
)


@pytest.mark.parametrize("kind", MAKERS)
def test_menus(kind):
    """What was chosen beats what was shown beside it and left; a menu number belongs to its user."""
    made = Comparisons.from_menus(MAKERS[kind](MENUS))
    assert triples(made) == CHOSEN and len(made) == 6


def test_menus_in_any_order_of_rows():
    """The rows of a menu need not be together."""
    order = np.random.default_rng(1).permutation(len(MENUS["user"]))
    shuffled = {name: [column[k] for k in order] for name, column in MENUS.items()}
    assert triples(Comparisons.from_menus(shuffled)) == CHOSEN


# -- clicks -----------------------------------------------------------------------------------------------------------

CLICKS = columns(
    [("a", 1), ("a", 2), ("a", 1), ("b", 3), ("all", 1), ("all", 2), ("all", 3), ("all", 4), ("b", 4)], "user", "item"
)


def test_clicks():
    """Every user gets per_user comparisons, clicked over unclicked; one who clicked everything gets none."""
    made = Comparisons.from_clicks(CLICKS, per_user=50)
    clicked = {"a": {1, 2}, "b": {3, 4}}
    assert len(made) == 100 and made.clicks is not None
    for (user, winner, loser), n in triples(made).items():
        assert winner in clicked[user] and loser not in clicked[user] and n > 0
    assert sum(n for (user, _, _), n in triples(made).items() if user == "a") == 50
    assert repr(made) == "Comparisons: 100 comparisons by 3 users over 4 items (from clicks)"


def test_clicks_are_drawn_uniformly():
    """Each of a user's clicked items wins, and each unclicked one loses, about equally often."""
    made = Comparisons.from_clicks(CLICKS, per_user=4000, seed=3)
    for pair in product((1, 2), (3, 4)):
        assert 900 < triples(made)[("a", *pair)] < 1100  # 1000 expected, deviation 27


def test_clicks_depend_on_the_seed_alone():
    """The draw is the same for a seed whatever the order of rows and repetitions, and another for another seed."""
    order = np.random.default_rng(0).permutation(len(CLICKS["user"]))
    shuffled = {name: [column[k] for k in order] * 2 for name, column in CLICKS.items()}
    a, b, c = (
        Comparisons.from_clicks(frame, per_user=20, seed=s).pairs()
        for frame, s in ((CLICKS, 0), (shuffled, 0), (CLICKS, 1))
    )
    np.testing.assert_array_equal(np.c_[a.user, a.winner, a.loser], np.c_[b.user, b.winner, b.loser])
    assert not np.array_equal(a.winner, c.winner)


def test_clicks_against_unseen_items():
    """Every click is compared with that many items not clicked, or all; who clicked everything says nothing."""
    made = Comparisons.from_clicks(CLICKS, unseen=1)
    assert not made.source.written and made.source.name == "clicks" and made.implied and made.ratings is None
    found = triples(made)
    assert set(found.values()) == {1} and Counter(user for user, *_ in found) == {"a": 2, "b": 2}
    everything = Comparisons.from_clicks(CLICKS, unseen=100)
    expected = {("a", w, x): 1 for w in (1, 2) for x in (3, 4)} | {("b", w, x): 1 for w in (3, 4) for x in (1, 2)}
    assert triples(everything) == expected and len(everything) == 8
    ten = {"user": ["a"] * 2 + ["b"] * 8, "item": list(range(10))}
    assert len(Comparisons.from_clicks(ten)) == 2 * 4 + 8 * 2  # two fifths of ten items, or all there are


def test_unseen_items_are_drawn_by_popularity():
    """One unseen item a user: the chances go as the number of clicks to the power 3/4."""
    popular = [(f"fan {k} of {j}", j) for j, n in ((1, 1), (2, 16), (3, 81)) for k in range(n)]
    crowd = [(f"u{k}", 0) for k in range(6000)]
    made = Comparisons.from_clicks(columns(popular + crowd, "user", "item"), unseen=1, seed=2)
    lost = Counter(loser for user, winner, loser in triples(made) if winner == 0)
    for j, weight in ((1, 1), (2, 8), (3, 27)):
        assert lost[j] / 6000 == pytest.approx(weight / 36, abs=0.025)


def test_unseen_items_are_drawn_whatever_the_weights():
    """All but one of many items of very unequal weight are drawn, each once, the same by any number of threads."""
    n_items = 300
    start, seen = np.zeros(9, np.int64), np.empty(0, np.int32)
    weight = np.where(np.arange(n_items) < 3, 1e9, 1.0)
    wanted, place = np.full(8, n_items - 1), np.arange(8) * (n_items - 1)
    drawn = []
    for n_threads in (1, 3):
        item = np.full(8 * (n_items - 1), -1, np.int32)
        core.sample_unseen(start, seen, weight, wanted, place, 5, item, n_threads)
        drawn.append(item.reshape(8, -1))
    np.testing.assert_array_equal(*drawn)
    assert all((np.diff(row) > 0).all() and {0, 1, 2} <= set(row.tolist()) for row in drawn[0])


def test_split_of_clicks():
    """By items, held-out clicks meet newly drawn items, none ever clicked; by pairs, the unseen items stay the same."""
    rng = np.random.default_rng(0)
    items = np.concatenate([rng.permutation(40)[:10] for _ in range(20)])
    clicks = {"user": np.repeat(np.arange(20), 10), "item": items}
    made = Comparisons.from_clicks(clicks, unseen=8)
    clicked = set(zip(clicks["user"].tolist(), clicks["item"].tolist(), strict=True))
    for by in ("items", "pairs"):
        train, test = made.split(0.3, seed=1, by=by)
        won = [{(user, winner) for user, winner, _ in triples(part)} for part in (train, test)]
        assert won[0] and won[1] and not won[0] & won[1] and won[0] | won[1] == clicked
        assert all((user, loser) not in clicked for user, _, loser in triples(test))
        if by == "items":
            assert set(zip(train.clicks.user.tolist(), train.clicks.item.tolist(), strict=True)) == won[0]
            assert np.bincount(test.clicks.user).tolist() == [3] * 20
        else:
            kept = [{(user, loser) for user, _, loser in triples(part)} for part in (train, made)]
            assert kept[0] <= kept[1] and len(train) + len(test) == len(made)
    train, test = Comparisons.from_clicks(clicks, per_user=30).hold_out(0.3, seed=1)
    assert len(train) == len(test) == 600
    assert not {(user, winner) for user, winner, _ in triples(train)} & {t[:2] for t in triples(test)}


# -- parts ------------------------------------------------------------------------------------------------------------


def test_split_counts_and_seed():
    """The share held out is exact, both parts know all ids, and the seed decides which."""
    votes = Comparisons.from_triples(np.random.default_rng(0).permuted(np.tile([0, 1, 2], (50, 1)), axis=1))
    train, test = votes.split(0.3, seed=1)
    assert (len(train), len(test)) == (35, 15)
    assert train.users is test.users is votes.users and train.items is test.items is votes.items
    same, other = votes.split(0.3, seed=1)[1], votes.split(0.3, seed=2)[1]
    assert triples(same) == triples(test) != triples(other)


def test_split_of_weighted_votes_keeps_weights():
    """Each part keeps the weights of its votes."""
    frame = {"user": [1] * 4, "winner": [1, 2, 3, 4], "loser": [5] * 4, "w": [1, 2, 3, 4]}
    parts = Comparisons.from_frame(frame, weight="w").split(0.5)
    assert triples(parts[0]) + triples(parts[1]) == {(1, k, 5): k for k in range(1, 5)}


def test_split_by_items_holds_out_ratings():
    """by="items" cuts every user's ratings, the rounded share each; the test pairs are those among held-out items."""
    rng = np.random.default_rng(0)
    sizes = [5, 8, 10, 1]
    rows = [(u, j, float(rng.random())) for u, n in enumerate(sizes) for j in range(n)]
    made = Comparisons.from_ratings(columns(rows, "user", "item", "rating"))
    train, test = made.split(0.4, seed=0, by="items")
    assert np.bincount(test.ratings.user, minlength=4).tolist() == [2, 3, 4, 0]
    kept, held = (set(zip(part.ratings.user, part.ratings.item, strict=True)) for part in (train, test))
    assert not kept & held and len(kept | held) == len(rows)
    held_items = {(u, j) for u, j in held}
    for u, w, x in triples(test):
        assert (u, w) in held_items and (u, x) in held_items
    assert not set(triples(train)) & set(triples(test))


def test_split_by_items_of_largest_gaps():
    """Training comparisons thinned to the largest gaps are thinned again within what is left of each user."""
    rows = [(u, j, j) for u in range(3) for j in range(10)]
    made = Comparisons.from_ratings(columns(rows, "user", "item", "rating"), keep="largest-gap")
    train, test = made.split(0.5, by="items")
    assert len(train) == 3 * 5 and len(test) == 3 * 10
    assert set(triples(train)) <= set(triples(Comparisons.from_ratings(columns(rows, "user", "item", "rating"))))


@pytest.mark.parametrize("by", ["pairs", "items"])
def test_split_of_some_users(by):
    """With a mask over users, only what these users said is held out, and the share is of theirs."""
    rng = np.random.default_rng(0)
    frame = {"user": np.repeat(np.arange(10), 20), "item": np.tile(np.arange(20), 10), "rating": rng.random(200)}
    rated = Comparisons.from_ratings(frame)
    some = np.arange(10) < 3
    train, test = rated.split(0.25, seed=1, by=by, users=some)
    assert set(test.pairs().user) == {0, 1, 2}
    if by == "items":
        assert np.bincount(test.ratings.user, minlength=10).tolist() == [5] * 3 + [0] * 7
        assert len(train.ratings.user) == 185
    else:
        assert len(test) == round(0.25 * 3 * 190) and len(train) + len(test) == len(rated)


def test_answers_stay_together():
    """A split by pairs never separates the halves of a tie, the pairs of a menu, or those of one click."""
    rng = np.random.default_rng(0)
    frame = {"user": rng.integers(0, 5, 60), "winner": rng.integers(0, 9, 60), "loser": rng.integers(9, 18, 60)}
    tied = Comparisons.from_frame({**frame, "tie": rng.random(60) < 0.5}, tie="tie")
    train, test = tied.split(0.3, seed=1)
    assert not set(train.pairs().group) & set(test.pairs().group) and len(train) + len(test) == len(tied)
    shown = {"user": np.zeros(40, int), "menu": np.repeat(np.arange(10), 4), "item": np.tile(np.arange(4), 10)}
    menus = Comparisons.from_menus({**shown, "chosen": np.tile([1, 0, 0, 0], 10)})
    assert set(np.bincount(menus.split(0.3, seed=1)[1].pairs().group)) <= {0, 3}
    clicks = Comparisons.from_clicks({"user": frame["user"], "item": frame["winner"]}, per_user=50)
    train, test = clicks.split(0.3, seed=1)
    clicked = [set(zip(p.user.tolist(), p.winner.tolist(), strict=True)) for p in (train.pairs(), test.pairs())]
    assert not clicked[0] & clicked[1] and test.clicks is None
    left = set(zip(train.clicks.user.tolist(), train.clicks.item.tolist(), strict=True))
    assert clicked[0] <= left and not clicked[1] & left  # a method that reads the clicks sees nothing held out


def test_sample_of_ratings():
    """A sample has that many pairs of each user, all where there are no more, with their gaps and without ratings."""
    rows = [(u, j, j) for u, n in enumerate([2, 4, 6]) for j in range(n)]
    made = Comparisons.from_ratings(columns(rows, "user", "item", "rating"))
    part = made.sample(per_user=5, seed=1)
    assert np.bincount(part.pairs().user).tolist() == [1, 5, 5]
    assert set(triples(part)) <= set(triples(made)) and set(triples(part).values()) == {1}
    assert (part.pairs().gap == part.pairs().winner - part.pairs().loser).all()
    assert part.ratings is None and part.implied and part.users is made.users and part.items is made.items


def test_samples_of_one_seed_are_nested():
    """With the same seed a smaller sample is part of a larger one; another seed draws others."""
    made = from_votes([(u, w, x) for u in range(4) for w, x in product(range(6), repeat=2) if w != x])
    small, large, other = made.sample(3, seed=1), made.sample(8, seed=1), made.sample(3, seed=2)
    assert set(triples(small)) < set(triples(large)) and triples(small) == triples(made.sample(3, seed=1))
    assert triples(small) != triples(other) and triples(made.sample(10**6)) == triples(made)


def test_sample_draws_uniformly():
    """Every comparison of a user is as likely as any other."""
    made = from_votes([(0, 1, 0), (1, 1, 0), (1, 2, 0), (1, 3, 0), (1, 4, 0)])
    drawn = sum((triples(made.sample(1, seed=seed)) for seed in range(400)), Counter())
    assert drawn[0, 1, 0] == 400 and all(70 <= drawn[1, w, 0] <= 130 for w in range(1, 5))


def test_sample_draws_whole_answers():
    """The halves of a tie, or the pairs of a menu, are drawn together, as one; weights stay with their votes."""
    rng = np.random.default_rng(0)
    frame = {"user": rng.integers(0, 5, 60), "winner": rng.integers(0, 9, 60), "loser": rng.integers(9, 18, 60)}
    frame |= {"tie": rng.random(60) < 0.5, "w": rng.integers(1, 9, 60)}
    tied = Comparisons.from_frame(frame, tie="tie", weight="w")
    p = tied.sample(4, seed=1).pairs()
    drawn = np.unique(p.group)
    assert np.bincount(frame["user"][drawn]).tolist() == [4] * 5
    assert len(p.group) == (1 + frame["tie"][drawn]).sum()
    assert (p.weight == frame["w"][p.group] * np.where(frame["tie"][p.group], 0.5, 1)).all()
    shown = {"user": np.zeros(40, int), "menu": np.repeat(np.arange(10), 4), "item": np.tile(np.arange(4), 10)}
    menus = Comparisons.from_menus({**shown, "chosen": np.tile([1, 0, 0, 0], 10)}).sample(3)
    assert sorted(Counter(menus.pairs().group.tolist()).values()) == [3, 3, 3]


def test_parts_remember_that_they_are_implied():
    """Pairs split off ratings still count as implied by ratings; votes never do."""
    rated = Comparisons.from_ratings(RATINGS)
    assert all(part.implied for part in rated._with(rated.source).split(0.5, seed=0))
    assert not Comparisons.from_frame(VOTES).implied


# -- properties -------------------------------------------------------------------------------------------------------

items = st.integers(0, 5)
votes = st.lists(st.tuples(st.integers(0, 3), items, items).filter(lambda t: t[1] != t[2]), min_size=2, max_size=30)
ratings = st.dictionaries(st.tuples(st.integers(0, 3), items), st.integers(1, 5), min_size=1, max_size=20).filter(
    lambda rated: any(u == v and rated[u, j] != rated[v, k] for u, j in rated for v, k in rated)
)
quick = settings(deadline=None, max_examples=60)


def from_votes(rows):
    return Comparisons.from_frame(columns(rows, "user", "winner", "loser"))


def from_rated(rated):
    return Comparisons.from_ratings(columns([(u, j, r) for (u, j), r in rated.items()], "user", "item", "rating"))


def brute_force(rated):
    return Counter((u, j, k) for (u, j) in rated for (v, k) in rated if u == v and rated[u, j] > rated[v, k])


@quick
@given(votes, st.permutations(range(6)), st.booleans())
def test_relabelling_permutes_everything(rows, names, text):
    """New names for users and items, of either kind, rename the comparisons and change nothing else."""

    def rename(k):
        return f"item {names[k]}" if text else names[k] * 10**18 - 3

    made = from_votes([(rename(u), rename(w), rename(x)) for u, w, x in rows])
    assert triples(made) == Counter({tuple(map(rename, t)): n for t, n in triples(from_votes(rows)).items()})
    assert made.items.tolist() == sorted(rename(k) for k in {k for _, *pair in rows for k in pair})


@quick
@given(votes.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))))
def test_order_of_rows_does_not_matter(both):
    """The same votes in another order are the same ids and the same comparisons, kept in the order of users."""
    a, b = map(from_votes, both)
    assert triples(a) == triples(b) == Counter(map(tuple, both[0]))
    assert a.users.tolist() == b.users.tolist() and a.items.tolist() == b.items.tolist()
    assert all(x <= y for x, y in pairwise(b.pairs().user.tolist()))


@quick
@given(ratings)
def test_ratings_imply_exactly_their_pairs(rated):
    """Ratings imply every pair of unequal ratings of one user, each once; len() counts them without writing them."""
    made, expected = from_rated(rated), brute_force(rated)
    assert len(made) == sum(expected.values()) and triples(made) == expected
    assert made.store.n_comparisons == len(made) and not made.source.written


@quick
@given(ratings)
def test_rankings_are_ratings_reversed(rated):
    """Ranks imply the reverse of what the same numbers imply as ratings."""
    rows = columns([(u, j, r) for (u, j), r in rated.items()], "user", "item", "rank")
    reverse = {(u, x, w): n for (u, w, x), n in brute_force(rated).items()}
    assert triples(Comparisons.from_rankings(rows)) == reverse


@quick
@given(st.one_of(votes.map(from_votes), ratings.map(from_rated)), st.floats(0.05, 0.95), st.integers(0, 9))
def test_split_is_a_partition(made, share, seed):
    """Every comparison is in exactly one part."""
    held = round(share * len(made))
    if 0 < held < len(made):
        train, test = made.split(share, seed)
        assert len(test) == held
        assert triples(train) + triples(test) == triples(made)


@quick
@given(
    st.lists(st.tuples(items, items, items, st.sampled_from([0.25, 1, 3])).filter(lambda t: t[1] != t[2]), min_size=1),
    st.sampled_from(sorted(MAKERS)),
)
def test_to_frame_round_trip(rows, kind):
    """Comparisons written to any kind of frame and read again are the same."""
    made = Comparisons.from_frame(columns(rows, "user", "winner", "loser", "w"), weight="w")
    assert triples(Comparisons.from_frame(made.to_frame(kind), weight="weight")) == triples(made)


@quick
@given(ratings)
def test_round_trip_of_implied_pairs(rated):
    """Pairs implied by ratings are votes once written out."""
    made = from_rated(rated)
    assert triples(Comparisons.from_frame(made.to_frame())) == triples(made)


def test_columns_keep_their_names():
    """What is read from columns of other names is told, and asked of newcomers, under the same names."""
    votes = {"who": ["a", "b"], "better": ["x", "y"], "worse": ["y", "z"]}
    read = Comparisons.from_frame(votes, user="who", winner="better", loser="worse")
    assert {name: list(column) for name, column in read.to_frame().items()} == votes
    model = AltSVM(rank=1, reg=1.0).fit(read)
    told = model.fold_in({"better": ["z"], "worse": ["x"]}).rank()
    assert told["item"].tolist() == model.fold_in([("z", "x")]).rank()["item"].tolist()
    log = {"who": ["a", "b"], "left": ["x", "y"], "right": ["y", "z"], "outcome": ["left", "left"]}
    assert [*Comparisons.from_arena(log, user="who").to_frame()] == ["who", "winner", "loser", "side"]


@pytest.mark.parametrize("kind", ["ratings", "rankings", "menus", "clicks"])
def test_lists_have_the_names_of_the_columns(kind):
    table = {"who": [1, 1, 2, 2], "film": ["x", "y", "y", "z"], "stars": [1, 2, 1, 2], "place": [1, 2, 1, 2],
             "shelf": [1, 1, 1, 1], "taken": [1, 0, 1, 0]}  # fmt: skip
    own = {"ratings": {"rating": "stars"}, "rankings": {"rank": "place"}, "menus": {"menu": "shelf", "chosen": "taken"}}
    read = getattr(Comparisons, f"from_{kind}")(table, user="who", item="film", **own.get(kind, {}))
    model = AltSVM(rank=1, reg=1.0).fit(read)
    assert [*model.recommend([1, 2], k=2).columns][:2] == ["who", "film"]
    if kind == "ratings":
        assert len(model.fold_in({"film": ["x", "z"], "stars": [5, 1]}).rank()) == 3


@pytest.mark.parametrize("ids", [[30, 10, 20, 5], ["c", "b", "bb", "a"]], ids=["numbers", "text"])
def test_who_is_only_described_joins_in_order(ids):
    """Ids that come with features join the others in sorted order, as the kind that these are."""
    a, b, c, d = ids
    votes = Comparisons.from_frame({"user": [1, 2], "winner": [a, b], "loser": [b, a]})
    made = votes.with_features(item_features={"item": [c, b, a, d], "x": [1.0, 2.0, 3.0, 4.0]})
    assert made.items.dtype == votes.items.dtype and made.items.tolist() == sorted(ids)
    np.testing.assert_array_equal(made.to_frame()["winner"], [a, b])
    people = votes.with_features(user_features={"user": [9, 2, 1, 0], "x": [1.0, 2.0, 3.0, 4.0]})
    assert people.users.dtype == np.int64 and people.users.tolist() == [0, 1, 2, 9] and len(people) == 2


def test_largest_gaps_of_some_are_theirs():
    """The largest gaps of some users, or without some items, are those of the ratings that are left."""
    rng = np.random.default_rng(0)
    user, item = np.nonzero(rng.random((8, 12)) < 0.7)
    table = {"user": user, "item": item, "rating": rng.permutation(len(user))}
    source = Comparisons.from_ratings(table, keep="largest-gap").source
    some, gone = np.arange(8) % 2 == 0, np.arange(12) < 4

    def gaps(rows):
        kept = Comparisons.from_ratings({name: column[rows] for name, column in table.items()}, keep="largest-gap")
        frame = kept.to_frame("dict")
        return sorted(zip(frame["user"], frame["winner"], frame["loser"], strict=True))

    for made, rows in ((source.of_users(some), some[user]), (source.without_items(gone), ~gone[item])):
        pairs = made.pairs()
        assert sorted(zip(pairs.user, pairs.winner, pairs.loser, strict=True)) == gaps(rows)
        np.testing.assert_array_equal(made.ratings.rating, table["rating"][rows])


@pytest.mark.parametrize("rule", [ClickRule(None, 9, 0), ClickRule(200, None, 0)])
def test_what_anybody_met_is_passed_over(rule):
    """A newcomer's clicks are compared with all items that somebody met, once or often, and with no others."""
    one = Clicks(np.zeros(1, np.int32), np.zeros(1, np.int32))
    made = drawn(1, 6, one, rule, np.array([1, 1, 0, 2, 1, 0]))
    against = made.item[made.rating == 0] if rule.per_user is None else made.loser
    assert set(against.tolist()) == {1, 3, 4}


@pytest.mark.parametrize("most", [5, 30, 10_000])
def test_some_pairs_of_ratings(most):
    """Pairs have the better one first, and those drawn of some people are different ones, as many as asked for."""
    rng = np.random.default_rng(0)
    user, item = np.nonzero(rng.random((6, 40)) < 0.8)
    stars = rng.integers(1, 6, len(user))
    source = Comparisons.from_ratings({"user": user, "item": item, "rating": stars}).source
    rated = {(int(i), int(j)): int(s) for i, j, s in zip(user, item, stars, strict=True)}
    every = {(i, j, k) for (i, j), a in rated.items() for (h, k), b in rated.items() if h == i and a > b}
    said, some = source.said_by([4, 1, 4], most, rng), source.some_pairs(most, rng)
    for pairs in (said, some):
        drawn_pairs = list(zip(pairs.user.tolist(), pairs.winner.tolist(), pairs.loser.tolist(), strict=True))
        assert drawn_pairs and set(drawn_pairs) <= every
        if pairs is said:
            assert len(set(drawn_pairs)) == len(drawn_pairs) and {i for i, _, _ in drawn_pairs} == {1, 4}
            whole = [sum(i == person for i, _, _ in every) for person in (1, 4)]
            assert np.bincount(pairs.user)[[1, 4]].tolist() == [min(most, n) for n in whole]
    gaps = [rated[i, j] - rated[i, k] for i, j, k in zip(said.user, said.winner, said.loser, strict=True)]
    np.testing.assert_array_equal(said.gap, gaps)


def test_what_implies_pairs():
    """Ratings, rankings and clicks imply pairs, which are not as many answers; votes, menus and choices are answers."""
    user, item, number = [1, 1, 2, 2], list("xyxz"), [1, 2, 1, 2]
    listed = {"user": user, "item": item, "rating": number, "rank": number, "menu": user, "chosen": [1, 0, 1, 0]}
    log = {"user": user, "left": list("xyxy"), "right": list("yzzz"), "outcome": ["left", "right", "tie", "left"]}
    implied = [getattr(Comparisons, f"from_{kind}")(listed) for kind in ("ratings", "rankings", "clicks")]
    answers = [Comparisons.from_menus(listed), Comparisons.from_arena(log), Comparisons.from_frame(VOTES)]
    answers.append(Comparisons.from_embeddings(user, np.eye(4), np.eye(4)[::-1]))
    assert all(each.implied and each.source.balance == 0.5 for each in implied)
    assert not any(each.implied or each.source.balance for each in answers)


def test_shares_held_out_by_default():
    """A fifth of comparisons and of what came last, a tenth of clicks."""
    votes = {"user": [1] * 100, "winner": range(100), "loser": range(100, 200), "timestamp": range(100)}
    assert [len(part) for part in Comparisons.from_frame(votes).split()] == [80, 20]
    assert len(split_time(votes).test["user"]) == 20
    assert len(split_clicks({"user": [1] * 100, "item": range(100)}).test["user"]) == 10


def test_later_votes_bring_effects_of_their_own():
    """What is known of earlier and of later votes stays with them, each under its name; 0 stands for unknown."""
    votes = {"user": [1], "winner": ["x"], "loser": ["y"], "length": [2.0], "price": [3.0]}
    later = {**votes, "user": [2], "price": [5.0], "tone": [7.0]}
    both = Comparisons.from_frame(votes, covariates=["length", "price"]).extended(
        Comparisons.from_frame(later, covariates=["tone", "price"])
    )
    assert both.source.effects == ("length", "price", "tone")
    assert both.pairs().around.tolist() == [[2, 3, 0], [0, 5, 7]]
