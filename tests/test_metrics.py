"""Metrics against their definitions: by hand, by brute force, and by scikit-learn."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import ndcg_score

import rather
from handmade import model_of
from rather import Comparisons, InputError

USERS, ITEMS = [f"u{i}" for i in range(12)], [chr(ord("A") + j) for j in range(9)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def model(rng):
    """Twelve users' scores of nine items, no two equal."""
    return model_of(rng.permutation(12 * 9).reshape(12, 9) - 50)


def some_ratings(rng, at_least=2):
    """Every user's ratings of a random few items, rows in random order."""
    rows = [
        (u, j, int(rng.integers(0, 6)))
        for u in USERS
        for j in rng.choice(ITEMS, rng.integers(at_least, 10), replace=False).tolist()
    ]
    return [rows[k] for k in rng.permutation(len(rows))]


def table(rows, *names):
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


# -- NDCG -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 10])
def test_ndcg_agrees_with_scikit_learn(model, rng, k):
    """Without ties it is scikit-learn's ndcg_score of the gains 2^r - 1, also for users with fewer than k items."""
    rows = some_ratings(rng)
    expected = []
    for user in USERS:
        own = [(j, r) for u, j, r in rows if u == user]
        gains = [2.0**r - 1 for _, r in own]
        scores = model.score(user, [j for j, _ in own])
        if any(gains):
            expected.append(ndcg_score([gains], [scores], k=k))
    assert rather.ndcg(model, table(rows, "user", "item", "rating"), k) == pytest.approx(np.mean(expected), rel=1e-6)


def test_ndcg_by_hand():
    """One user, three items, k = 2: (7/1 + 1/log2 3) / (7/1 + 3/log2 3)."""
    model = model_of([[3, 2, 1]])
    ratings = {"user": ["u0"] * 3, "item": ["A", "B", "C"], "rating": [3, 1, 2]}
    expected = (7 + 1 / np.log2(3)) / (7 + 3 / np.log2(3))
    assert rather.ndcg(model, ratings, k=2) == pytest.approx(expected, rel=1e-12)


def test_ndcg_of_unseen_items():
    """An item that training never saw is scored 0; equal scores keep the order of ids, whatever that of rows."""
    model = model_of([[2, -1]], items=["B", "D"])
    order = ["B", "A", "C", "Z", "D"]  # scores 2, 0, 0, 0, -1
    gains = dict(zip(order, [1, 0, 3, 1, 7], strict=True))
    discount = 1 / np.log2(np.arange(5) + 2)
    expected = (np.array(list(gains.values())) * discount).sum() / (np.array([7, 3, 1, 1, 0]) * discount).sum()
    rating = {item: int(np.log2(gain + 1)) for item, gain in gains.items()}
    for rows in (order, sorted(order), order[::-1]):
        ratings = {"user": ["u0"] * 5, "item": rows, "rating": [rating[j] for j in rows]}
        assert rather.ndcg(model, ratings, k=5) == pytest.approx(expected, rel=1e-12)


def test_a_rating_twice_is_refused(model):
    """NDCG refuses a user's item twice, as accuracy does, instead of counting it twice."""
    rows = {"user": ["u1", "u2", "u1"], "item": ["A", "A", "A"], "rating": [1, 2, 3]}
    for judge in (lambda: rather.ndcg(model, rows), lambda: Comparisons.from_ratings(rows)):
        with pytest.raises(rather.InputError, match=r"user 'u1' has item 'A' twice \(rows 0 and 2\); keep one"):
            judge()


def test_ndcg_needs_graded_ratings(model):
    """Equal ratings are in order whatever the model says, so a value of 1 would mean nothing."""
    clicks = {"user": ["u0", "u0", "u1"], "item": ["A", "B", "C"], "rating": [1, 1, 2]}
    with pytest.raises(InputError, match=r"needs graded ratings.*use precision for clicks"):
        rather.ndcg(model, clicks)


def test_ndcg_ignores_users_without_gain():
    """A user all of whose ratings have gain 0 does not count; the best order has NDCG 1."""
    model = model_of([[2, 1], [1, 2]])
    ratings = {"user": ["u0", "u0", "u1", "u1"], "item": ["A", "B", "A", "B"], "rating": [2, 1, 0, 0]}
    assert rather.ndcg(model, ratings) == 1


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_ndcg_of_frames(model, rng, make):
    """Columns may have any name, in any kind of frame."""
    rows = some_ratings(rng)
    expected = rather.ndcg(model, table(rows, "user", "item", "rating"), k=3)
    assert rather.ndcg(model, make(table(rows, "u", "i", "r")), 3, user="u", item="i", rating="r") == expected


# -- precision --------------------------------------------------------------------------------------------------------


def brute_precision(model, relevant, k, excluded):
    total = 0.0
    for user in {u for u, _ in relevant}:
        left = [j for j in ITEMS if (user, j) not in excluded]
        best = sorted(left, key=lambda j: -model.score(user, j)[0])[:k]
        total += sum((user, j) in relevant for j in best) / k
    return total / len({u for u, _ in relevant})


@pytest.mark.parametrize("k", [1, 4, 9])
def test_precision_against_brute_force(model, rng, k):
    """The mean share of test items among the k best that are not excluded, over k even where fewer are left."""
    rows = [(u, j) for u, j in product(USERS, ITEMS) if rng.random() < 0.6]
    cut = len(rows) // 2
    rng.shuffle(rows)
    excluded, relevant = [tuple(map(str, r)) for r in rows[:cut]], [tuple(map(str, r)) for r in rows[cut:]]
    got = rather.precision(model, table(relevant, "user", "item"), k, exclude=table(excluded, "user", "item"))
    assert got == pytest.approx(brute_precision(model, set(relevant), k, set(excluded)))
    assert rather.precision(model, table(relevant, "user", "item"), k) == pytest.approx(
        brute_precision(model, set(relevant), k, set())
    )


def test_lists_of_another_librarys_model_do_not_depend_on_blocks(monkeypatch, rng):
    """Lists and exclusions belong to the same users whatever the size of a block."""
    scores = rng.normal(size=(len(USERS), len(ITEMS)))

    class Another:
        items_ = ITEMS

        def score(self, users, items):
            return scores[[USERS.index(u) for u in users], [ITEMS.index(j) for j in items]]

    rows = [(u, j) for u, j in product(USERS, ITEMS) if rng.random() < 0.5]
    excluded, relevant = rows[::2], rows[1::2]
    total, users = 0.0, {u for u, _ in relevant}
    for u in users:
        left = [j for j in ITEMS if (u, j) not in excluded]
        best = sorted(left, key=lambda j: -scores[USERS.index(u), ITEMS.index(j)])[:3]
        total += sum((u, j) in relevant for j in best) / 3
    for block in (1, 2 * len(ITEMS), 5 * len(ITEMS), 2**22):
        monkeypatch.setattr("rather.judging.scoring.BLOCK", block)
        table_of = (table(part, "user", "item") for part in (relevant, excluded))
        found = rather.precision(Another(), next(table_of), 3, exclude=next(table_of))
        assert found == pytest.approx(total / len(users))


def test_precision_from_clicks():
    """Test clicks may come as comparisons, and so may the training data to exclude; repeated clicks count once."""
    model = model_of([[4, 3, 2, 1], [1, 2, 3, 4]], seen=[(0, 0), (1, 3)])
    train = Comparisons.from_clicks({"user": ["u0", "u1", "u1"], "item": ["A", "D", "D"]}, per_user=5)
    clicks = {"user": ["u0", "u0", "u1", "u0"], "item": ["B", "B", "A", "D"]}
    test = Comparisons.from_clicks(clicks, per_user=5)
    assert rather.precision(model, clicks, k=2, exclude="seen") == (1 / 2 + 0) / 2
    assert rather.precision(model, test, k=2, exclude=train) == (1 / 2 + 0) / 2
    assert rather.precision(model, test, k=4) == (2 / 4 + 1 / 4) / 2


def test_repeated_clicks_count_once(model):
    """A test click that is there twice is one relevant item."""
    clicks = {"user": ["u1", "u1", "u2"], "item": ["A", "B", "C"]}
    twice = {name: column * 2 for name, column in clicks.items()}
    assert rather.precision(model, twice, k=3) == rather.precision(model, clicks, k=3)


def test_precision_counts_unseen_items_as_missed():
    """A test item that training never saw cannot be recommended: its user counts, with nothing found."""
    model = model_of([[2, 1], [2, 1]])
    assert rather.precision(model, {"user": ["u0", "u1"], "item": ["A", "never"]}, k=1) == 0.5


# -- pairwise accuracy ------------------------------------------------------------------------------------------------


def brute_accuracy(model, test, min_gap=0.0):
    p, right, total = test.pairs(), 0.0, 0.0
    for t in range(len(p.user)):
        user, w, x = test.users[p.user[t]], test.items[p.winner[t]], test.items[p.loser[t]]
        if p.gap is not None and p.gap[t] < min_gap:
            continue
        weight = 1.0 if p.weight is None else float(p.weight[t])
        total += weight
        right += weight * float(model.score(user, w)[0] > model.score(user, x)[0])
    return right / total


@pytest.mark.parametrize("min_gap", [None, 1, 2, 3.5])
def test_accuracy_of_ratings(model, rng, min_gap):
    """Implied pairs, those kept for their gap, and pairs split off one by one are judged as the definition says."""
    ratings = table(some_ratings(rng), "user", "item", "rating")
    implied = Comparisons.from_ratings(ratings)
    for test in (implied, Comparisons.from_ratings(ratings, keep="largest-gap"), implied.split(0.5)[1]):
        expected = brute_accuracy(model, test, min_gap or 0.0)
        assert rather.pairwise_accuracy(model, test, min_gap) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_accuracy_of_votes(model, rng, weighted):
    """Votes are judged one by one, by their weights if they have any."""
    rows = [(u, *rng.choice(ITEMS, 2, replace=False).tolist(), float(rng.integers(1, 5))) for u in USERS * 5]
    test = Comparisons.from_frame(table(rows, "user", "winner", "loser", "w"), weight="w" if weighted else None)
    assert rather.pairwise_accuracy(model, test) == pytest.approx(brute_accuracy(model, test), rel=1e-6)


def test_equal_scores_are_wrong():
    """A tie is no prediction, in votes and in ratings; two unseen items tie at 0."""
    model = model_of([[1, 1, 2]])
    votes = {"user": ["u0"] * 3, "winner": ["A", "C", "new"], "loser": ["B", "A", "newer"]}
    assert rather.pairwise_accuracy(model, Comparisons.from_frame(votes)) == pytest.approx(1 / 3)
    ratings = {"user": ["u0"] * 3, "item": ["A", "B", "C"], "rating": [1, 2, 3]}
    assert rather.pairwise_accuracy(model, Comparisons.from_ratings(ratings)) == pytest.approx(2 / 3)


def test_accuracy_scores_unseen_items_zero():
    """Against an item that training never saw, the winner is right when its score is above 0."""
    model = model_of([[1, -1]])
    for winner, expected in (("A", 1), ("B", 0)):
        votes = Comparisons.from_frame({"user": ["u0"], "winner": [winner], "loser": ["new"]})
        assert rather.pairwise_accuracy(model, votes) == expected
