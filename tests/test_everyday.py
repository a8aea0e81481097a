"""Everyday handling: strangers among users, candidate lists, one's own names, splits that say whom they left out."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rather
from handmade import model_of
from rather import AltSVM, Comparisons, InputError, UnknownUserWarning

SCORES = [[3, 2, 1, 0], [0, 1, 2, 3]]


@pytest.fixture(scope="module")
def model():
    world = rather.simulate(n_users=30, n_items=12, rank=2, per_user=20, seed=3)
    return AltSVM(rank=2).fit(world.comparisons)


# -- strangers --------------------------------------------------------------------------------------------------------


def test_exclusions_of_a_stranger(model):
    """Someone unknown who gets everybody's ranking is not shown what was excluded for them, and nobody else's."""
    everyone = model.rank()["item"].tolist()
    gone = {"user": ["bob", "user 1"], "item": [everyone[0], everyone[1]]}
    table = model.recommend(["bob", "eve"], k=2, exclude=gone, unknown="everyone")
    assert table["item"].tolist() == [*everyone[1:3], *everyone[:2]]


def test_everybodys_ranking_is_that_of_a_newcomer_without_answers(model):
    """rank() and fold_in([]) agree: the mean of all users' scores, of those who met more items rather."""
    assert model.rank()["item"].tolist() == model.fold_in([]).rank()["item"].tolist()
    plain = AltSVM(rank=2, bias=False).fit(rather.simulate(n_users=30, n_items=12, per_user=20).comparisons)
    n = np.diff(plain.seen_[0])
    mean = np.average([plain.score(user, plain.items_) for user in plain.users_], axis=0, weights=n / (n + 5))
    np.testing.assert_allclose(plain.average_scores(), mean, atol=1e-5)
    assert plain.rank()["item"].tolist() == plain.items_[np.argsort(-mean, kind="stable")].tolist()
    with pytest.raises(InputError, match="missing"):
        model.rank(None)


@pytest.mark.parametrize("metric", ["ndcg", "precision", "accuracy"])
def test_metrics_and_strangers(metric):
    """A test user that the model does not know is an error, judged by everybody's ranking, or left out and counted."""
    model = model_of(SCORES)
    model.fitted.scorer.V[:, 4] = [0, 0, 0, 9]  # everybody likes D
    model.fitted.scorer.V[:, :4] = np.eye(4)
    rows = {"user": ["u0", "u0", "bob", "bob"], "item": ["D", "A", "D", "A"], "rating": [1, 2, 2, 1]}
    clicks = {"user": ["u0", "bob"], "item": ["A", "D"]}
    judge = {
        "ndcg": lambda **how: rather.ndcg(model, rows, k=1, **how),
        "precision": lambda **how: rather.precision(model, clicks, k=1, **how),
        "accuracy": lambda **how: rather.pairwise_accuracy(model, Comparisons.from_ratings(rows), **how),
    }[metric]
    with pytest.raises(InputError, match=r"'bob' is not in the model.*unknown='everyone'"):
        judge()
    wrong, right = {"ndcg": 1 / 3, "precision": 0, "accuracy": 0}[metric], 1
    assert judge(unknown="everyone") == pytest.approx((wrong + right) / 2)
    with pytest.warns(UnknownUserWarning, match="1 of 2 test users"):
        skipped = judge(unknown="skip")
    assert skipped == pytest.approx(wrong) and skipped.n_users == 1


def test_a_metric_of_strangers_alone():
    """Where everybody is left out, that is said."""
    with pytest.raises(InputError, match="knows none of the test users"), pytest.warns(UnknownUserWarning):
        rather.ndcg(model_of(SCORES), {"user": ["bob"], "item": ["A"], "rating": [1]}, unknown="skip")


# -- every user's value -----------------------------------------------------------------------------------------------


def test_the_error_of_a_ratio():
    """With users of very different activity, accuracy is the pooled share and its error that of a ratio of sums."""
    n = np.array([1000, 10, 10, 5, 5, 3, 200])
    right = np.array([900, 2, 1, 0, 5, 3, 100])
    mean = rather.Mean.of(right, n)
    p = right.sum() / n.sum()
    by_hand = np.sqrt(7 / 6 * ((right - p * n) ** 2).sum()) / n.sum()
    assert float(mean) == p and mean.standard_error == pytest.approx(by_hand) and mean.n_users == 7
    assert abs(by_hand / (np.std(right / n, ddof=1) / np.sqrt(7)) - 1) > 0.2  # far from that of plain values


def test_differences_are_of_the_same_people():
    """Mean.difference joins two tables by user, and leaves out those in one only."""
    ours = rather.Table({"user": np.array([1, 2, 3]), "ndcg": np.array([0.5, 0.7, 0.9])})
    theirs = rather.Table({"user": np.array([3, 2, 9]), "ndcg": np.array([0.8, 0.4, 0.1])})
    difference = rather.Mean.difference(ours, theirs)
    assert float(difference) == pytest.approx(0.2) and difference.n_users == 2
    with pytest.raises(InputError, match="no user in common"):
        rather.Mean.difference(ours, theirs[2:])
    with pytest.raises(InputError, match="nothing"):
        rather.Mean.of([])


def test_differences_are_of_one_metric():
    """Tables of two metrics are not compared."""
    one, other = (rather.Table({"user": np.arange(3), name: np.ones(3)}) for name in ("ndcg", "precision"))
    with pytest.raises(InputError, match="one table is of ndcg and the other of precision"):
        rather.Mean.difference(one, other)


def test_means_and_their_parts(model):
    """A metric is the mean of what per_user=True lists, with its standard error; accuracy weighs by answers."""
    world = rather.simulate(n_users=30, n_items=12, rank=2, per_user=20, seed=3)
    test = world.test(400, seed=5)
    stars = {"user": np.repeat(model.users_, 12), "item": np.tile(model.items_, 30), "rating": np.arange(360) % 5}
    for whole, each, name in (
        (rather.ndcg(model, stars), rather.ndcg(model, stars, per_user=True), "ndcg"),
        (rather.precision(model, stars, k=3), rather.precision(model, stars, k=3, per_user=True), "precision"),
    ):
        assert float(whole) == pytest.approx(each[name].mean()) and whole.n_users == len(each) == 30
        assert whole.standard_error == pytest.approx(each[name].std(ddof=1) / np.sqrt(30))
    whole, each = rather.pairwise_accuracy(model, test), rather.pairwise_accuracy(model, test, per_user=True)
    n = pd.Series(test.users[test.pairs().user]).value_counts()[each["user"]].to_numpy()
    assert float(whole) == pytest.approx((n * each["accuracy"]).sum() / n.sum())
    resampled = np.random.default_rng(0).integers(0, 30, (2000, 30))
    spread = np.std((n * each["accuracy"])[resampled].sum(axis=1) / n[resampled].sum(axis=1))
    assert whole.standard_error == pytest.approx(spread, rel=0.1)


class Alphabetical:
    """Somebody else's model: it knows nothing but letters."""

    def score(self, users, items):
        return [-float(ord(item)) for item in items]


def test_anything_with_scores_can_be_judged():
    """All that a metric asks of a model is score(users, items); lists need to know the items."""
    stars = {"user": ["a", "a", "b", "b"], "item": ["A", "B", "A", "B"], "rating": [2, 1, 1, 2]}
    best = model_of([[1, 0], [1, 0]], users=["a", "b"])
    for judge in (
        lambda m: rather.ndcg(m, stars, k=1),
        lambda m: rather.pairwise_accuracy(m, Comparisons.from_ratings(stars)),
        lambda m: rather.precision(m, {"user": ["a", "b"], "item": ["A", "B"]}, k=1, items=["A", "B"]),
        lambda m: rather.precision(m, {"user": ["a", "b"], "item": ["A", "B"]}, k=1, items=["A", "B"], exclude=["A"]),
    ):
        assert judge(Alphabetical()) == judge(best)
    with pytest.raises(InputError, match=r"items=\[...\]"):
        rather.precision(Alphabetical(), stars, k=1)
    with pytest.raises(InputError, match="give a table"):
        rather.precision(Alphabetical(), stars, k=1, items=["A"], exclude="seen")
    with pytest.raises(InputError, match="must have score"):
        rather.ndcg(object(), stars)
    for bad, said in ((lambda users, items: [1.0], "one number for each pair"), (lambda u, i: [np.nan] * 4, "finite")):
        other = Alphabetical()
        other.score = bad
        with pytest.raises(InputError, match=said):
            rather.ndcg(other, stars)


def test_others_models_with_ids_in_any_order():
    """Another's users_ and items_ need not be sorted; strangers are skipped, unknown items score 0."""

    class Other:
        users_, items_ = [3, 1, 2, 9], ["B", "A"]

        def score(self, users, items):
            assert set(users) <= {1, 2, 3, 9} and set(items) <= {"A", "B"}
            return [1.0 if item == "A" else 0.5 for item in items]

    stars = {"user": [1, 1, 7, 7, 1], "item": ["A", "B", "A", "B", "Z"], "rating": [3, 2, 1, 2, 1]}
    with pytest.warns(UnknownUserWarning, match="1 of 2 test users"):
        assert rather.pairwise_accuracy(Other(), Comparisons.from_ratings(stars), unknown="skip") == 1
    with pytest.warns(UnknownUserWarning):
        assert rather.ndcg(Other(), stars, unknown="skip").unknown_items == 1
    with pytest.raises(InputError, match="7 is not in the model"):
        rather.ndcg(Other(), stars)


def test_others_models_are_asked_in_their_own_kind_of_ids():
    """The text "5" of a test and the 5 of another's model are one id, and the model is asked about 5."""

    class Other:
        users_, items_ = np.array([7, 8]), np.array([5, 6])

        def score(self, users, items):
            assert set(users) <= {7, 8}
            return [{5: 2.0, 6: 1.0}.get(item, 0.0) for item in items]

    stars = {"user": ["7", "7", "8"], "item": ["5", "6", "5"], "rating": [2, 1, 1]}
    assert rather.pairwise_accuracy(Other(), Comparisons.from_ratings(stars)) == 1
    assert rather.ndcg(Other(), stars) == 1
    assert rather.precision(Other(), {"user": ["7"], "item": ["5"]}, k=1, items=["5", "6"]) == 1


def test_unknown_items_are_counted_or_refused():
    """Test items that a model does not know are counted; where it knows none of them, that is no result."""
    model = model_of(SCORES)
    stars = {"user": ["u0"] * 3, "item": ["A", "Z", "Y"], "rating": [1, 2, 3]}
    assert rather.ndcg(model, stars).unknown_items == 2
    assert rather.pairwise_accuracy(model, Comparisons.from_ratings(stars)).unknown_items == 2
    assert rather.precision(model, stars, k=1).unknown_items == 2
    stars["item"] = ["X", "Z", "Y"]
    for judge in (
        rather.ndcg,
        lambda m, f: rather.pairwise_accuracy(m, Comparisons.from_ratings(f)),
        lambda m, f: rather.precision(m, f, k=1),
    ):
        with pytest.raises(InputError, match="none of the 3 test items, such as 'X'; its own are such as 'A'"):
            judge(model, stars)


# -- lists ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exclude", [["A"], ("A",), {"A"}, np.array(["A"], object), pl.Series(["A"])], ids=type)
def test_items_excluded_for_everybody(exclude):
    """exclude takes a list of items as well, as a newcomer's does."""
    table = model_of(SCORES).recommend(["u0", "u1"], k=4, exclude=exclude)
    assert table["item"].tolist() == ["B", "C", "D", "D", "C", "B"]


@pytest.mark.parametrize("n", [1, 100])
@pytest.mark.parametrize("unknown", ["error", "everyone"])
def test_all_items_excluded_for_everybody(n, unknown):
    """What is excluded for everybody is no candidate; where nothing is left, lists are empty."""
    model, gone = model_of(SCORES), list("ABCD")
    users = ["u0"] * n if unknown == "error" else [*["u0"] * n, "bob"]
    assert len(model.recommend(users, k=4, exclude=gone, unknown=unknown)) == 0
    assert len(model.fold_in([("A", "B")]).recommend(4, exclude=gone)) == 0
    assert rather.precision(model, {"user": ["u0"], "item": ["A"]}, k=4, exclude=gone) == 0
    other = type("Other", (Alphabetical,), {"items_": gone})()
    assert rather.precision(other, {"user": ["u0"], "item": ["A"]}, k=4, exclude=gone) == 0


def test_what_a_newcomer_may_exclude():
    """Items, in a list or a table; what says other people's items is refused, and not taken for nothing."""
    model = model_of(SCORES)
    person = model.fold_in([("A", "B")])
    first = person.recommend(2)
    want = person.recommend(exclude=first["item"])["item"].tolist()
    for gone in (first, first.columns, {"item": first["item"]}, pd.DataFrame(first.columns)):
        assert person.recommend(exclude=gone)["item"].tolist() == want and len(want) == 2
    votes = Comparisons.from_frame({"user": ["u0"], "winner": ["A"], "loser": ["B"]})
    for gone in (model.recommend("u0", k=1), {"user": ["me"], "item": ["A"]}, votes):
        with pytest.raises(InputError, match="a newcomer is none of them"):
            person.recommend(exclude=gone)
    with pytest.raises(InputError, match="of type int"):
        person.recommend(exclude=5)


def test_candidates():
    """items= chooses among these only; k counts them; what was seen is still left out; an unknown one is named."""
    model = model_of(SCORES, seen=[(0, 2)])
    assert model.rank("u0", items=["D", "C", "D"])["item"].tolist() == ["C", "D"]
    assert model.recommend(["u0", "u1"], k=2, items=["C", "D"], exclude="seen")["item"].tolist() == ["D", "D", "C"]
    gone = {"user": ["u1"], "item": ["A"]}
    assert model.recommend("u1", k=2, items=["C", "D"], exclude=gone)["item"].tolist() == ["D", "C"]
    assert len(model.recommend("u0", items=["C", "D"])) == 2  # ten, or as many as there are
    with pytest.raises(InputError, match="only 2 items"):
        model.recommend("u0", k=3, items=["C", "D"])
    with pytest.raises(InputError, match="empty"):
        model.rank("u0", items=[])
    with pytest.raises(InputError, match="'Z' is not in the model; leave it out of exclude"):
        model.recommend("u0", exclude=["Z"])
    with pytest.raises(InputError, match="none of the items to exclude, such as 'Z'"):
        model.recommend("u0", exclude={"user": ["u0"], "item": ["Z"]})
    shown = model.recommend("u0", k=1)
    assert model.recommend("u0", exclude=shown)["item"].tolist() == ["B", "C", "D"]  # tables of ours, too
    with pytest.raises(InputError, match="none of the users to exclude for, such as 'bob'"):
        model.recommend("u0", exclude={"user": ["bob"], "item": ["A"]})
    with pytest.raises(InputError, match="'Z'"):
        model.rank("u0", items=["Z"])


@pytest.mark.parametrize("own", [True, False], ids=["a model of ours", "anybody's"])
def test_precision_among_candidates(own):
    """Precision over a part of the items is that of the lists restricted to it, whoever made the model."""
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(8, 10))
    model = model_of(scores, seen=[(u, u) for u in range(8)])
    items = ["J", "C", "A", "G"]
    judged = model if own else type("Other", (), {"score": lambda self, users, items: model.score(users, items)})()
    gone = {"user": ["u1", "u2", "u2"], "item": ["C", "J", "B"]}
    test = {"user": [f"u{u}" for u in range(8) for _ in range(3)], "item": list(rng.choice(list("ABCDEFGHIJ"), 24))}
    hits = []
    for user in model.users_:
        left = {item for u, item in zip(gone["user"], gone["item"], strict=True) if u == user}
        best = [item for item in model.rank(user)["item"].tolist() if item in set(items) - left][:2]
        hits.append(len(set(best) & {i for u, i in zip(test["user"], test["item"], strict=True) if u == user}) / 2)
    assert rather.precision(judged, test, k=2, items=items, exclude=gone) == pytest.approx(np.mean(hits))
    judged = model if own else type("Other", (Alphabetical,), {"items_": model.items_})()
    with pytest.raises(InputError, match="'never' is not in the model"):
        rather.precision(judged, test, k=2, items=[*items, "never"])


# -- names ------------------------------------------------------------------------------------------------------------


def test_own_names_come_back(tmp_path):
    """Results have the columns' own names and the frame's own kind, also after saving and loading."""
    stars = pd.DataFrame({"who": list("aabb"), "film": [1, 2, 1, 2], "stars": [5, 1, 2, 3]})
    made = Comparisons.from_ratings(stars, user="who", item="film", rating="stars")
    model = AltSVM(rank=1).fit(made)
    model.save(tmp_path / "m.rather")
    for m in (model, rather.load(tmp_path / "m.rather")):
        assert list(m.recommend("a", k=1).to_frame().columns) == ["who", "film", "score", "rank"]
        assert m.rank("a")[0].film == 1
    assert list(made.to_frame().columns) == ["who", "winner", "loser"]
    seen = model.recommend("a", k=1, exclude=stars[stars.film == 1])
    assert seen["film"].tolist() == [2]
    votes = {"voter": ["a"], "better": ["x"], "worse": ["y"]}
    kept = Comparisons.from_frame(votes, user="voter", winner="better", loser="worse")
    assert list(kept.to_frame()) == ["voter", "better", "worse"]


def test_votes_without_users():
    """Votes in which nobody is named are one user's: one ranking."""
    made = Comparisons.from_frame({"winner": ["A", "A", "B"], "loser": ["B", "C", "C"]}, user=None)
    assert made.users.tolist() == ["everyone"]
    assert AltSVM(rank=1).fit(made).rank("everyone")["item"].tolist() == ["A", "B", "C"]


# -- splits -----------------------------------------------------------------------------------------------------------


def test_a_split_says_whom_it_left_out():
    """split_ratings counts the users with too few ratings; a split is still a pair."""
    table = {"user": ["a"] * 5 + ["b"] * 2 + ["c"], "item": [*range(5), 0, 1, 0], "rating": [1] * 8}
    split = rather.split_ratings(table, per_user=3, min_test=1)
    train, test = split
    assert split.left_out == 2 and len(train["user"]) == 3 and len(test["user"]) == 2
    assert repr(split) == "Split: 3 rows to train on, 2 to test on; 2 users left out: fewer than 4 ratings"
    assert rather.split_clicks(table).left_out == 0


TIMES = [
    [5, 1, 3, 2, 4, 0],
    [5.5, 1.5, 3.5, 2.5, 4.5, 0.5],
    [datetime.datetime(2020, 1, 1 + day) for day in (5, 1, 3, 2, 4, 0)],
    [f"2020-01-0{1 + day}" for day in (5, 1, 3, 2, 4, 0)],
    np.array([5, 1, 3, 2, 4, 0], "datetime64[D]"),
]


@pytest.mark.parametrize("times", TIMES, ids=["int", "float", "datetime", "text", "numpy"])
@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame])
def test_split_by_time(times, kind):
    """No training row is later than any test row, rows keep their order, and frames their kind."""
    frame = kind({"user": list("aabbcc"), "item": list("uvwxyz"), "timestamp": times})
    train, test = rather.split_time(frame, test=1 / 3)
    assert type(train) is type(frame) and list(train["item"]) == list("vwxz") and list(test["item"]) == list("uy")
    train, test = rather.split_time(frame, test=0.5, by="user")
    assert list(train["item"]) == list("vxz") and list(test["item"]) == list("uwy")


@pytest.mark.parametrize(
    "times",
    [
        [10**18 + n for n in (3, 0, 2, 1)],
        [str(10**18 + n) for n in (3, 0, 2, 1)],
        ["9999-12-31", "0001-01-01", "2002-01-01", "2001-01-01"],
        ["2020-01-01T00:00:00+02:00", "2019-12-31T20:00:00Z", "2019-12-31T21:30:00Z", "2019-12-31 21:00"],
        [datetime.date(9999, 12, 31), datetime.date(1, 1, 1), datetime.date(2002, 1, 1), datetime.date(2001, 1, 1)],
    ],
    ids=["nanoseconds", "nanoseconds as text", "far dates", "time zones", "dates"],
)
def test_times_are_compared_to_their_last_digit(times):
    """Large integers, far dates and time zones are ordered exactly."""
    train, test = rather.split_time({"row": [3, 0, 2, 1], "timestamp": times}, test=0.5)
    assert sorted(train["row"]) == [0, 1] and sorted(test["row"]) == [2, 3]


def test_split_by_time_keeps_equal_times_together():
    """Where the cut falls among rows of one time, all of them are for training."""
    train, test = rather.split_time({"timestamp": [1, 2, 2, 2, 3]}, test=0.6)
    assert train["timestamp"] == [1, 2, 2, 2] and test["timestamp"] == [3]
    with pytest.raises(InputError, match="nothing later"):
        rather.split_time({"timestamp": [1, 1, 1]})
    with pytest.raises(InputError, match="row 1"):
        rather.split_time({"timestamp": ["2020-01-01", "soon"]})
    with pytest.raises(InputError, match="missing in row 1"):
        rather.split_time({"timestamp": np.array(["2020-01-01", "NaT"], "datetime64[s]")})
