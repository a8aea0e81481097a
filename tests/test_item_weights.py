"""EASE, RP3beta and Popularity: against their definitions, an independent solver, and what newcomers are promised."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import Ridge

import rather
from rather import EASE, Comparisons, InputError, Popularity, RP3beta
from rather.models.lists import best_scores
from rather.rivals.item_weights import ClickWeights, ItemWeights

KINDS = (EASE, RP3beta)


def some_clicks(n_users=40, n_items=15, seed=0):
    """Users of odd and even number click mostly items of their own parity; some are clicked more than others."""
    rng = np.random.default_rng(seed)
    user, item = np.indices((n_users, n_items)).reshape(2, -1)
    kept = rng.random(len(user)) < np.where(user % 2 == item % 2, 0.6, 0.1) * (1 - item / (2 * n_items))
    clicks = {"user": user[kept], "item": item[kept]}
    return clicks, Comparisons.from_clicks(clicks, unseen=1)


def matrix(comparisons):
    X = np.zeros((comparisons.n_users, comparisons.n_items))
    X[comparisons.clicks.user, comparisons.clicks.item] = 1
    return X


# -- against their definitions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("balance", [0.0, 0.5, 1.0])
def test_ease_is_a_ridge_regression_of_every_item_on_the_others(balance):
    """Column by column the weights are those that scikit-learn finds, users weighted; the diagonal is zero."""
    _, comparisons = some_clicks()
    X, reg = matrix(comparisons), 3.0
    W = EASE(reg=reg, balance=balance).fit(comparisons).item_weights_
    n = X.sum(1)
    weight = np.maximum(n, 1) ** -balance
    weight *= n.sum() / (weight @ n)
    for j in range(X.shape[1]):
        others = np.arange(X.shape[1]) != j
        ridge = Ridge(alpha=reg, fit_intercept=False).fit(X[:, others], X[:, j], sample_weight=weight)
        np.testing.assert_allclose(W[others, j], ridge.coef_, rtol=1e-4, atol=1e-6)
        assert W[j, j] == 0


def test_ease_in_tiles_is_the_same():
    """More items than a tile has rows: the mirrored triangle is the other one."""
    rng = np.random.default_rng(0)
    clicks = {"user": rng.integers(0, 300, 9000), "item": rng.integers(0, 700, 9000)}
    comparisons = Comparisons.from_clicks(clicks, unseen=1)
    X, W = matrix(comparisons), EASE(reg=5.0, balance=0.0).fit(comparisons).item_weights_
    P = np.linalg.inv(X.T @ X + 5.0 * np.eye(X.shape[1]))
    wanted = -P / np.diag(P)
    np.fill_diagonal(wanted, 0)
    np.testing.assert_allclose(W, wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("alpha", "beta", "neighbours"), [(1.0, 0.0, 99), (0.7, 0.4, 99), *((0.7, 0.4, n) for n in (1, 3, 9, 14))]
)
def test_rp3beta_is_a_walk_of_three_steps(alpha, beta, neighbours):
    """Powers of both steps' probabilities, less popularity; of each column the largest, and rows that sum to one."""
    _, comparisons = some_clicks()
    X = matrix(comparisons)
    to_user, to_item = (X / X.sum(0)).T ** alpha, (X / np.maximum(X.sum(1, keepdims=True), 1)) ** alpha
    wanted = to_user @ to_item / X.sum(0) ** beta
    np.fill_diagonal(wanted, 0)
    kept = np.argsort(-wanted, axis=0)[:neighbours]
    few = np.zeros_like(wanted)
    np.put_along_axis(few, kept, np.take_along_axis(wanted, kept, 0), 0)
    model = RP3beta(alpha=alpha, beta=beta, neighbours=neighbours).fit(comparisons)
    np.testing.assert_allclose(
        model.item_weights_.toarray(), few / np.maximum(few.sum(1, keepdims=True), 1e-30), rtol=1e-5
    )


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_clicks_times_weights(kind):
    """For everybody at once and one by one, in blocks or not; and who clicked nothing is ranked like everyone."""
    _, comparisons = some_clicks()
    model = kind().fit(comparisons)
    W = model.item_weights_
    wanted = matrix(comparisons) @ (W.toarray() if scipy.sparse.issparse(W) else W)
    users, items = comparisons.users, comparisons.items
    found = model.score(np.repeat(users, len(items)), np.tile(items, len(users))).reshape(wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(model.average_scores(), wanted.mean(0), rtol=1e-5, atol=1e-7)
    best = model.recommend(users, k=3)
    assert best["item"].tolist() == items[np.argsort(-found, axis=1, kind="stable")[:, :3]].ravel().tolist()
    assert (model.fold_in([]).score(items) == model.average_scores()).all()


def test_lists_are_the_scores_in_order():
    """However long, with exclusions and many ties: the highest first, of equal ones the first item."""
    rng = np.random.default_rng(0)
    score, items = rng.integers(0, 4, (50, 9)).astype(np.float32), np.arange(0, 27, 3, dtype=np.int32)
    gone = [rng.choice(27, rng.integers(0, 9), replace=False).astype(np.int32) for _ in score]
    excluded = np.cumsum([0, *map(len, gone)]), np.concatenate(gone)
    for k in range(1, 10):
        query, item, value, place = best_scores(score, k, excluded, items, 1)
        for row, out in enumerate(gone):
            order = [j for j in np.argsort(-score[row], kind="stable") if items[j] not in out][:k]
            mine = query == row
            assert item[mine].tolist() == items[order].tolist() and (value[mine] == score[row, order]).all()
            assert place[mine].tolist() == list(range(1, len(order) + 1))


def test_popularity_counts():
    clicks, comparisons = some_clicks()
    model = Popularity().fit(comparisons)
    np.testing.assert_allclose(model.item_bias_, np.log1p(np.bincount(clicks["item"])), rtol=1e-6)
    assert model.rank(0)["item"].tolist() == model.rank()["item"].tolist()


# -- what they learn --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_tastes_are_found_in_clicks(kind):
    """Of what a user has not clicked, items of their own taste come first."""
    _, comparisons = some_clicks(n_users=200, n_items=30)
    top = kind().fit(comparisons).recommend(comparisons.users, k=1, exclude="seen")
    assert np.mean(top["user"] % 2 == top["item"] % 2) > 0.9


# -- newcomers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_newcomer_with_a_users_clicks_is_that_user(kind):
    """In whatever form the clicks come, one or many at once; and fold_in_many's model can be saved."""
    clicks, comparisons = some_clicks()
    model = kind().fit(comparisons)
    mine = clicks["item"][clicks["user"] == 3].tolist()
    wanted = model.score(3, model.items_)
    own = {"item": mine}
    for given in (
        mine,
        own,
        [(j, 0 if j else 1) for j in mine],
        Comparisons.from_clicks({"user": ["x"] * len(mine), **own}, allow_empty=True),
    ):
        person = model.fold_in(given)
        assert (person.score(model.items_) == wanted).all() and len(person.model.seen_[1]) == len(mine)
    assert not set(person.recommend(exclude="seen")["item"].tolist()) & set(mine)
    assert list(person.recommend(k=2).columns) == ["item", "score", "rank"]
    many = model.fold_in_many({"user": clicks["user"] + 100, "item": clicks["item"]})
    assert many.users_.tolist() == (np.unique(clicks["user"]) + 100).tolist()
    assert (many.score(103, model.items_) == wanted).all()


def test_a_model_of_newcomers_is_saved(tmp_path):
    model = RP3beta(neighbours=4).fit(some_clicks()[1]).calibrate()
    many = model.fold_in_many({"user": ["x", "x", "y"], "item": [0, 2, 1]})
    many.save(tmp_path / "m")
    again = rather.load(tmp_path / "m")
    assert (again.score("x", model.items_) == many.score("x", model.items_)).all()
    assert again.probability("y", 0, 1) == many.probability("y", 0, 1)


def test_ties_say_nothing_of_clicks():
    model = EASE().fit(some_clicks()[1])
    assert (model.fold_in([(0, 1, "tie"), (2, 3)]).score(model.items_) == model.fold_in([2]).score(model.items_)).all()
    votes = {"user": ["x", "x"], "winner": [0, 2], "loser": [1, 3], "tie": [True, False]}
    many = model.fold_in_many(Comparisons.from_frame(votes, tie="tie"))
    assert (many.score("x", model.items_) == model.fold_in([2]).score(model.items_)).all()


# -- the contract -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, Popularity])
def test_they_want_clicks(kind):
    with pytest.raises(InputError, match=rf"{kind.__name__} needs clicks.*from_clicks"):
        kind().fit(rather.simulate(n_users=10, n_items=5).comparisons)


def test_bad_parameters_and_answers():
    comparisons = some_clicks()[1]
    for kind, name, value in (
        (EASE, "reg", 0.0), (EASE, "balance", 2), (RP3beta, "alpha", -1), (RP3beta, "beta", "x"),
        (RP3beta, "neighbours", 0), (RP3beta, "neighbours", 1.5),
    ):  # fmt: skip
        with pytest.raises(InputError, match=f"^{name} is "):
            kind(**{name: value}).fit(comparisons)
    with pytest.raises(InputError, match="too small for these clicks"):
        EASE(reg=1e-30, balance=0).fit(Comparisons.from_clicks({"user": [0, 0, 1], "item": [0, 1, 2]}))
    model = EASE().fit(comparisons)
    for given, said in (
        ("tea", "list of items"), ([(1, 2, 3)], "answer 0 is"), ([99], "item 99 is not"), (3, "list of items"),
        (comparisons, "fold_in_many takes several"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            model.fold_in(given)
    with pytest.raises(InputError, match="does not learn from features"):
        model.fold_in([1], features={"age": 3})


def test_more_items_than_memory_are_refused(monkeypatch):
    """Before anything is computed, with the size and what to do instead."""
    monkeypatch.setattr("rather.memory.available", lambda: 1000)
    with pytest.raises(InputError, match=r"EASE of 15 items would take .* are free; .*RP3beta"):
        EASE().fit(some_clicks()[1])


class Given(ItemWeights):
    """Weights of somebody else."""

    def __init__(self, weights):
        self.weights = weights

    def scorer(self, data):
        return ClickWeights(self.weights, data)


def test_weights_of_somebody_else(tmp_path):
    """An estimator may return weights as an array or a sparse matrix, of the right shape and finite."""
    comparisons = some_clicks()[1]
    W = np.random.default_rng(0).random((comparisons.n_items,) * 2).astype(np.float32)
    dense, sparse = (Given(kind(W)).fit(comparisons) for kind in (np.array, scipy.sparse.csc_matrix))
    np.testing.assert_allclose(dense.score(3, dense.items_), sparse.score(3, dense.items_), rtol=1e-5)
    for wrong, said in ((W[1:], "has shape"), (W + np.inf, "not all finite")):
        with pytest.raises(InputError, match=said):
            Given(wrong).fit(comparisons)


@pytest.mark.parametrize(
    ("kind", "name", "at", "value"),
    [*((kind, "weights", 0, value) for kind in (EASE, RP3beta) for value in (np.inf, np.nan)),
     (EASE, "mean", -1, -np.inf), (RP3beta, "weights_start", 0, 1), (RP3beta, "weights_start", 1, 10**6),
     (RP3beta, "weights_start", -1, 3), (RP3beta, "weights_item", 0, -1), (RP3beta, "weights_item", 0, 15)],
)  # fmt: skip
def test_damaged_weights_are_refused(kind, name, at, value):
    """Arrays of the right form whose numbers are not those of item weights make no model."""
    fitted = kind().fit(some_clicks()[1]).fitted
    tensors = {key: np.array(array) for key, array in fitted.scorer.tensors().items()}
    assert ClickWeights.restored(tensors, {}, fitted).n_items == fitted.scorer.n_items
    tensors[name].flat[at] = value
    with pytest.raises(ValueError, match="do not fit together"):
        ClickWeights.restored(tensors, {}, fitted)


def test_weights_can_be_looked_at_and_not_changed():
    model = EASE().fit(some_clicks()[1])
    with pytest.raises(ValueError, match="read-only"):
        model.item_weights_[0, 0] = 1.0
    sparse = RP3beta().fit(some_clicks()[1])
    sparse.item_weights_.data[:] = 0
    assert sparse.item_weights_.data.any()
