"""What a fitted model says: its scores, lists, probabilities and newcomers agree with its factors and each other."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from handmade import model_of
from rather import AltSVM, Comparisons, InputError, simulate
from rather.data.ids import Vocabulary
from rather.models.fitted import FittedModel
from rather.models.scorers import Factors
from rather.native import factor

CONVERGED = {"reg": 3.0, "bias": 3.0, "tol": 1e-9, "max_iter": 300}  # so that vectors are those of the optimum


@pytest.fixture(scope="module")
def world():
    return simulate(n_users=60, n_items=23, rank=3, per_user=40, seed=1)


@pytest.fixture(scope="module")
def model(world):
    return AltSVM(rank=5, **CONVERGED).fit(world.comparisons)


@pytest.fixture(scope="module")
def scores(model):
    return model.user_factors_ @ model.item_factors_.T + model.item_bias_


def seen_by(model, user):
    """The items that a user is known to have met."""
    i, (start, item) = model.users_.tolist().index(user), model.seen_
    return model.items_[item[start[i] : start[i + 1]]].tolist()


# -- scores -----------------------------------------------------------------------------------------------------------


def test_scores_are_the_products_of_the_factors(model, scores):
    """score() is u_i . v_j + b_j for pairs, for one user and many items, and for many users and one item."""
    u, j = np.divmod(np.random.default_rng(0).permutation(60 * 23), 23)
    np.testing.assert_allclose(model.score(model.users_[u], model.items_[j]), scores[u, j], atol=1e-5)
    i, one = model.users_.tolist().index("user 7"), model.items_.tolist().index("item 7")
    np.testing.assert_allclose(model.score("user 7", model.items_), scores[i], atol=1e-5)
    np.testing.assert_allclose(model.score(model.users_, "item 7"), scores[:, one], atol=1e-5)
    assert model.score([], []).shape == (0,)


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series, pl.Series, pa.array], ids=lambda m: m.__module__)
def test_ids_may_come_in_any_container(model, make):
    """Lists, arrays and columns of ids are all the same question."""
    some = ["user 3", "user 11"]
    np.testing.assert_array_equal(model.score(make(some), "item 2"), model.score(some, ["item 2", "item 2"]))


def test_score_rank_and_recommend_agree_exactly(model):
    """A score has the same bits whether asked for by pair, in a ranking or in a list."""
    table = model.recommend(model.users_, k=23)
    np.testing.assert_array_equal(table["score"], model.score(table["user"], table["item"]))
    for user in ("user 0", "user 59"):
        ranking, own = model.rank(user), table["user"] == user
        assert ranking["item"].tolist() == table["item"][own].tolist()
        np.testing.assert_array_equal(ranking["score"], table["score"][own])
        assert ranking["rank"].tolist() == list(range(1, 24))


def test_rank_is_the_sorted_order(model, scores):
    """A ranking holds every item once, by falling score."""
    for i in (0, 17, 59):
        ranking = model.rank(model.users_[i])
        assert sorted(ranking["item"]) == model.items_.tolist()
        assert (np.diff(ranking["score"]) <= 0).all()
        np.testing.assert_allclose(ranking["score"], np.sort(scores[i])[::-1], atol=1e-5)


# -- lists ------------------------------------------------------------------------------------------------------------


def test_recommend_is_the_head_of_the_ranking(model):
    """The k best are the first k of the ranking, for users in the order and as often as asked."""
    users = ["user 5", "user 31", "user 5"]
    table = model.recommend(users, k=4)
    assert table["user"].tolist() == list(np.repeat(users, 4))
    for n, user in enumerate(users):
        assert table["item"][4 * n : 4 * n + 4].tolist() == model.rank(user)["item"][:4].tolist()
    assert len(model.recommend([], k=4)) == 0


def test_exclusions_and_no_padding():
    """Excluded items are left out, ranks close up, and a list that runs out is short, never padded."""
    model = model_of([[4, 3, 2, 1], [1, 2, 3, 4], [0, 0, 0, 1]], seen=[(0, 0), (0, 2), (1, 3)])
    table = model.recommend(["u0", "u1"], k=3, exclude="seen")
    assert [(r.user, r.item, r.score, r.rank) for r in table] == [
        ("u0", "B", 3, 1), ("u0", "D", 1, 2), ("u1", "C", 3, 1), ("u1", "B", 2, 2), ("u1", "A", 1, 3),
    ]  # fmt: skip
    everything = {"user": ["u0"] * 4, "item": ["A", "B", "C", "D"]}
    assert model.recommend(["u0", "u2"], k=1, exclude=everything)["user"].tolist() == ["u2"]
    assert len(model.recommend("u0", k=4, exclude=everything)) == 0


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_exclude_takes_tables_and_comparisons(kind):
    """What not to show may be a table or comparisons; users and items the model does not know are passed over."""
    model = model_of([[4, 3, 2, 1], [4, 3, 2, 1]])
    gone = kind({"user": ["u1", "x", "u1"], "item": ["A", "A", "never"]})
    assert model.recommend(["u0", "u1"], k=1, exclude=gone)["item"].tolist() == ["A", "B"]
    votes = Comparisons.from_frame({"user": ["u0", "x"], "winner": ["B", "C"], "loser": ["A", "never"]})
    assert model.recommend(["u0", "u1"], k=1, exclude=votes)["item"].tolist() == ["C", "A"]


def test_what_seen_means():
    """ "seen" is what a user compared, rated or clicked; items drawn as unclicked are not."""
    votes = Comparisons.from_frame({"user": [1, 2], "winner": [10, 30], "loser": [20, 40]})
    ratings = Comparisons.from_ratings(
        {"user": [1, 1, 1, 2, 2], "item": [10, 20, 30, 30, 40], "rating": [1, 2, 2, 3, 4]}
    )
    clicks = Comparisons.from_clicks({"user": [1, 1, 2, 2], "item": [10, 20, 30, 40]}, per_user=50)
    for data, left in ((votes, {30, 40}), (ratings, {40}), (clicks, {30, 40})):
        fitted = AltSVM(rank=1).fit(data)
        assert set(fitted.recommend(1, k=4, exclude="seen")["item"].tolist()) == left


def test_ties_go_by_item_id():
    """Equal scores are listed in the order of the ids, at any k."""
    model = model_of([[1, 2, 2, 1, 2]], items=[50, 40, 30, 20, 10][::-1])
    assert model.rank("u0")["item"].tolist() == [20, 30, 50, 10, 40]
    for k in range(1, 6):
        assert model.recommend("u0", k=k)["item"].tolist() == [20, 30, 50, 10, 40][:k]


def test_similar_items_are_by_cosine(model):
    """The most similar items are those of largest cosine between factors, without the item itself."""
    V = model.item_factors_ / np.linalg.norm(model.item_factors_, axis=1)[:, None]
    for j in (0, 11, 22):
        table = model.similar_items(model.items_[j], k=22)
        assert table.about == {"scale": "cosine"}
        cosine = np.delete(V @ V[j], j)
        order = np.argsort(-cosine, kind="stable")
        assert table["item"].tolist() == np.delete(model.items_, j)[order].tolist()
        np.testing.assert_allclose(table["score"], cosine[order], atol=1e-6)
        assert model.similar_items(model.items_[j], k=3)["item"].tolist() == table["item"][:3].tolist()


@pytest.mark.parametrize(
    ("make", "cls"), [(dict, dict), (pd.DataFrame, pd.DataFrame), (pl.DataFrame, pl.DataFrame), (pa.table, pa.Table)]
)
def test_results_come_as_the_kind_of_frame_the_data_came_in(make, cls):
    """Rankings, lists, neighbours and newcomers' rankings turn into the kind of frame the model was fitted to."""
    votes = make({"user": [1, 2, 2], "winner": ["A", "B", "C"], "loser": ["B", "C", "A"]})
    model = AltSVM(rank=1).fit(Comparisons.from_frame(votes))
    person = model.fold_in([("A", "C")])
    for table in (
        model.rank(1), model.recommend([1, 2], k=2), model.similar_items("A", k=2), person.rank(), person.recommend(2),
    ):  # fmt: skip
        assert type(table.to_frame()) is cls
    assert type(model.rank(1).to_frame("dict")) is dict


def test_integer_ids_come_back():
    """A model of integer ids is asked with integers, of any width, and answers with them."""
    votes = {"user": [2**70, 5], "winner": [7, -3], "loser": [-3, 8]}
    model = AltSVM(rank=1).fit(Comparisons.from_frame(votes))
    table = model.recommend([5, 2**70], k=3)
    assert table["user"].tolist() == [5] * 3 + [2**70] * 3 and set(table["item"].tolist()) == {-3, 7, 8}
    assert model.score(np.int8(5), np.array([7, 8], np.uint16)).shape == (2,)


# -- probabilities ----------------------------------------------------------------------------------------------------


def test_probabilities_of_both_sides_add_to_one(model):
    """P(left over right) + P(right over left) = 1, P(j over j) = 1/2, and the better score has the better chance."""
    left, right = np.meshgrid(model.items_, model.items_)
    left, right = left.ravel(), right.ravel()
    p, q = model.probability("user 3", left, right), model.probability("user 3", right, left)
    np.testing.assert_allclose(p + q, 1, atol=1e-6)
    assert (p[left == right] == 0.5).all()
    assert ((p > 0.5) == (model.score("user 3", left) > model.score("user 3", right))).all()


def test_how_sure_depends_on_what_the_user_met(model):
    """P = sigma(a margin), where a is slope_ but for two powers: of the items met, and of e once for each new one."""
    found, users = model.fitted.slope.found, model.users_[[3, 30]]
    assert found.answers and found.unmet and model.slope_ == found.slope
    left, right = (axis.ravel() for axis in np.meshgrid(model.items_, model.items_))
    for user, met in zip(users, (set(seen_by(model, user)) for user in users), strict=True):
        margin = model.score(user, left) - model.score(user, right)
        new = np.array([(a not in met) + (b not in met) for a, b in zip(left, right, strict=True)])
        a = found.slope * ((1 + len(met)) / (1 + found.typical)) ** found.answers * np.exp(found.unmet * new)
        assert set(new) == {0, 1, 2}
        np.testing.assert_allclose(model.probability(user, left, right), 1 / (1 + np.exp(-a * margin)), atol=1e-6)


def test_a_newcomer_who_said_what_a_user_said_is_as_sure(model, world):
    """The probabilities of a person folded in from a user's votes are about that user's, of items met and of others."""
    pairs = world.comparisons.pairs()
    for i in (0, 30):
        own = pairs.take(pairs.user == i)
        person = model.fold_in(list(zip(model.items_[own.winner], model.items_[own.loser], strict=True)))
        left, right = (axis.ravel() for axis in np.meshgrid(model.items_, model.items_))
        want = model.probability(model.users_[i], left, right)
        got = [person.probability(a, b) for a, b in zip(left, right, strict=True)]
        np.testing.assert_allclose(got, want, atol=3e-3)


def test_probability_pairs_up_users_and_items(model):
    """One user, one left or one right item may stand for many."""
    two, a, b = ["user 3", "user 4"], ["item 1", "item 2"], ["item 5", "item 6"]
    pairs = [model.probability(u, x, y)[0] for u, x, y in zip(two, a, b, strict=True)]
    np.testing.assert_array_equal(model.probability(two, a, b), pairs)
    for users, left, right in (
        (two, a, "item 5"),
        (two, "item 1", b),
        (two, "item 1", "item 5"),
        ("user 3", "item 1", b),
    ):
        each = zip(*np.broadcast_arrays(users, left, right), strict=True)
        expected = [model.probability(*map(str, one))[0] for one in each]
        np.testing.assert_array_equal(model.probability(users, left, right), expected)


# -- newcomers --------------------------------------------------------------------------------------------------------


def test_no_answers_give_the_global_ranking(model):
    """Someone who has not answered is ranked by everybody's scores."""
    person = model.fold_in([])
    np.testing.assert_array_equal(person.score(model.items_), model.average_scores())
    assert person.rank()["item"].tolist() == model.rank()["item"].tolist()


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "hinge"])
def test_a_training_users_answers_give_their_vector(world, loss):
    """Folding in a training user's own comparisons solves the problem that the fit solved for them."""
    fitted = AltSVM(rank=3, loss=loss, **CONVERGED).fit(world.comparisons)
    pairs = world.comparisons.pairs()
    for i in (0, 30):
        own = pairs.take(pairs.user == i)
        person = fitted.fold_in(list(zip(fitted.items_[own.winner], fitted.items_[own.loser], strict=True)))
        expected = fitted.user_factors_[i]
        length, closeness = np.linalg.norm(expected), 0.04 if loss == "hinge" else 2e-3
        assert length > 0.1
        np.testing.assert_allclose(person.factors, expected, atol=closeness * length)


def test_answers_pull_towards_the_winner(model):
    """Preferring one item to another raises its chance against it, for every pair."""
    before = model.fold_in([])
    for winner, loser in (("item 1", "item 2"), ("item 2", "item 1"), ("item 22", "item 0")):
        after = model.fold_in([(winner, loser)] * 3)
        assert after.probability(winner, loser) > before.probability(winner, loser)
        assert repr(after) == "Person: 3 answers" and after.answers == [(winner, loser)] * 3


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pa.table], ids=lambda m: m.__module__)
def test_a_table_of_answers_is_one_persons(model, make):
    """Several people's answers are refused rather than read as one's; ties and weights are read."""
    answers = {"winner": ["item 1", "item 2"], "loser": ["item 3", "item 3"]}
    with pytest.raises(InputError, match=r"answers of 2 users \(column 'user'\)"):
        model.fold_in(make(answers | {"user": ["ann", "bob"]}))
    person = model.fold_in(make(answers | {"user": ["ann", "ann"]}))
    assert person.answers == [("item 1", "item 3"), ("item 2", "item 3")]
    tied = model.fold_in(make(answers | {"tie": [False, True]}))
    assert tied.answers == [("item 1", "item 3"), ("item 2", "item 3", "tie")]
    np.testing.assert_array_equal(tied.factors, model.fold_in(tied.answers).factors)
    against = {"winner": ["item 3", "item 2"], "loser": ["item 1", "item 3"]}
    light, heavy = (model.fold_in(make(against | {"weight": [w, 1.0]})) for w in (1.0, 3.0))
    assert heavy.probability("item 3", "item 1") > light.probability("item 3", "item 1")


def test_the_order_of_answers_does_not_matter(model):
    """A newcomer is the same whichever answer came first."""
    answers = [("item 1", "item 2"), ("item 3", "item 1"), ["item 4", "item 2"]]
    np.testing.assert_allclose(model.fold_in(answers).factors, model.fold_in(answers[::-1]).factors, atol=1e-5)


def test_a_persons_lists_agree(model):
    """A newcomer's scores, ranking, list and probabilities say the same."""
    person = model.fold_in([("item 1", "item 2"), ("item 3", "item 1")])
    ranking = person.rank()
    np.testing.assert_array_equal(ranking["score"], person.score(ranking["item"]))
    np.testing.assert_allclose(
        person.score(model.items_), model.item_factors_ @ person.factors + model.item_bias_, atol=1e-5
    )
    best = ranking["item"].tolist()
    assert person.recommend(3)["item"].tolist() == best[:3]
    assert person.recommend(3, exclude=best[:2])["item"].tolist() == best[2:5]
    assert person.recommend(1, exclude=best[0])["item"].tolist() == best[1:2]
    assert person.recommend(23, exclude=best[1:])["item"].tolist() == best[:1]
    assert person.probability(best[0], best[1]) + person.probability(best[1], best[0]) == pytest.approx(1)
    assert person.probability(best[0], best[5]) > 0.5


# -- fits -------------------------------------------------------------------------------------------------------------


def test_swapping_winner_and_loser_flips_the_scores(world, scores):
    """When everybody wanted the opposite, every score changes its sign."""
    pairs = world.comparisons.pairs()
    frame = {"user": world.comparisons.users[pairs.user], "winner": world.comparisons.items[pairs.loser],
             "loser": world.comparisons.items[pairs.winner]}  # fmt: skip
    swapped = AltSVM(rank=5, **CONVERGED).fit(Comparisons.from_frame(frame))
    flipped = swapped.user_factors_ @ swapped.item_factors_.T + swapped.item_bias_
    np.testing.assert_allclose(flipped, -scores, atol=1e-4 * np.abs(scores).max())


def test_relabelling_relabels_the_scores(world):
    """Users and items under other names, in another order, have the same scores: at full rank there is one optimum."""
    settings = {**CONVERGED, "rank": 23, "reg": 8.0}
    one = AltSVM(**settings).fit(world.comparisons)
    frame = world.comparisons.to_frame()
    renamed = {name: np.array([v[::-1] for v in column], dtype=object) for name, column in frame.items()}
    other = AltSVM(**settings).fit(Comparisons.from_frame(renamed))
    expected = [one.score(u, one.items_) for u in one.users_]
    got = [other.score(u[::-1], [j[::-1] for j in one.items_]) for u in one.users_]
    np.testing.assert_allclose(got, expected, atol=1e-3 * np.abs(expected).max())


def test_what_is_handed_out_cannot_be_written_to(world, model):
    """Ids and factors are the model's own, and numpy refuses to change them."""
    person = model.fold_in([("item 1", "item 2")])
    given = [world.comparisons.users, world.comparisons.items, model.users_, model.items_, person.factors]
    for array in (*given, model.user_factors_, model.item_factors_, model.item_bias_):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    assert np.shares_memory(model.user_factors_, model.fitted.scorer.U)  # and nothing was copied
    with pytest.raises(ValueError, match="read-only"):
        pickle.loads(pickle.dumps(model)).users_[0] = "nobody"  # numpy forgets that they were read-only


def test_a_model_says_what_it_is_missing():
    """Fitted attributes are absent before the fit, in a way that hasattr and copying understand."""
    model = AltSVM()
    assert not hasattr(model, "user_factors_") and not hasattr(model, "users_") and not hasattr(model, "nothing")
    assert model.fit(Comparisons.from_triples([[0, 0, 1]])).user_factors_.shape == (1, 1)


@pytest.mark.parametrize("params", [{}, {"user_power": 0.5}, {"balance": 0.5}])
def test_fold_in_treats_newcomers_by_the_rule_of_the_fit(params):
    """A training user's own votes folded in give that user's vector, whatever makes users count differently."""
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(40), rng.integers(5, 60, 40))
    j = rng.integers(0, 20, len(user))
    votes = Comparisons.from_frame({"user": user, "winner": j, "loser": (j + rng.integers(1, 20, len(user))) % 20})
    model = AltSVM(rank=3, tol=1e-7, max_iter=300, **params).fit(votes)
    pairs = votes.pairs()
    for i in (0, 7, 23):
        own = pairs.user == i
        person = model.fold_in(list(zip(pairs.winner[own].tolist(), pairs.loser[own].tolist(), strict=True)))
        np.testing.assert_allclose(
            person.factors, model.user_factors_[i], atol=0.02 * np.abs(model.user_factors_).max()
        )


@pytest.mark.parametrize("rank", [15, 64, 100, 130, 300])
def test_scores_have_the_same_bits_everywhere(rank):
    """Whatever the rank, score, rank and recommend agree to the bit, and equal items tie and keep the order of ids."""
    rng = np.random.default_rng(rank)
    n_items = 23
    model = AltSVM(rank=rank)
    U, V = factor(9, rank + 1), factor(n_items, rank + 1)
    U[:, :rank], U[:, rank] = rng.normal(size=(9, rank)), 1
    V[:, : rank + 1] = rng.normal(size=(n_items, rank + 1))
    V[n_items - 1] = V[0]  # the last is of those beyond a multiple of four
    model._fitted = made_of(U, V, rank)
    for user in range(9):
        ranking = model.rank(user)
        assert (model.score(user, ranking["item"]) == ranking["score"]).all()
        top = model.recommend([user, (user + 1) % 9], k=5)
        assert (top["score"][:5] == ranking["score"][:5]).all() and (top["item"][:5] == ranking["item"][:5]).all()
        order = ranking["item"].tolist()
        assert order.index(n_items - 1) == order.index(0) + 1


def made_of(U, V, rank):
    """A fitted model of numbered users and items, who saw nothing."""
    seen = np.zeros(len(U) + 1, np.int64), np.empty(0, np.int32)
    ids = (Vocabulary(np.arange(len(rows)), what) for rows, what in ((U, "user"), (V, "item")))
    return FittedModel({}, *ids, "dict", {}, seen, Factors.packed(U, V, rank), None)


@pytest.mark.parametrize("kind", ["distinct", "tied", "nearly tied", "nearly tied and tiny"])
def test_many_users_at_once_get_what_each_gets_alone(kind):
    """Lists for many users, which are screened by another product, are those of single users to the bit."""
    rng = np.random.default_rng(1)
    n_users, n_items, rank = 150, 333, 21
    draw = (lambda *shape: rng.integers(-1, 2, shape)) if kind == "tied" else (lambda *shape: rng.normal(size=shape))
    model = AltSVM(rank=rank)
    U, V = factor(n_users, rank + 1), factor(n_items, rank + 1)
    U[:, :rank], U[:, rank], V[:, : rank + 1] = draw(n_users, rank), 1, draw(n_items, rank + 1)
    if kind.startswith("nearly"):
        V[:, : rank + 1] = draw(rank + 1) + 1e-6 * V[:, : rank + 1]
    if kind.endswith("tiny"):
        V *= 1e-24
    model._fitted = made_of(U, V, rank)
    gone = {"user": np.repeat(np.arange(n_users), 300), "item": np.concatenate([rng.permutation(333)[:300] for _ in U])}
    for k, exclude in ((1, None), (7, None), (333, None), (40, gone)):
        together = model.recommend(model.users_, k=k, exclude=exclude)
        alone = [model.recommend(user, k=k, exclude=exclude) for user in model.users_]
        for column in ("user", "item", "score", "rank"):
            np.testing.assert_array_equal(together[column], np.concatenate([table[column] for table in alone]))
