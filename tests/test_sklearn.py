"""scikit-learn's tools work on integer triples X = (i, j, k) and y = +-1."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

import rather
from rather import BPR, SGD, AltSVM, Convex, Global, InputError


@pytest.fixture(scope="module")
def triples():
    """Comparisons of a small world as X and y, half of them turned round."""
    pairs = rather.simulate(n_users=40, n_items=15, rank=2, per_user=30, noise=0.3, seed=1).comparisons.pairs()
    X, y = np.column_stack((pairs.user, pairs.winner, pairs.loser)), np.ones(len(pairs.user), int)
    X[::2, 1:], y[::2] = X[::2, :0:-1].copy(), -1
    return X.astype(np.int64), y


@pytest.mark.parametrize(
    "model", [AltSVM(rank=3), Global(), Convex(tol=0.1), SGD(rank=3, max_iter=5), BPR(rank=3, max_iter=5)], ids=repr
)
def test_cross_validation(model, triples):
    """cross_val_score is the accuracy on the folds."""
    model = clone(model).set_params(n_threads=1)
    scores = cross_val_score(model, *triples, cv=KFold(3, shuffle=True, random_state=0))
    least = 0.4 if isinstance(model, Global) else 0.55  # nothing is better for everybody in this world
    assert scores.shape == (3,) and (scores > least).all()
    train, test = next(KFold(3, shuffle=True, random_state=0).split(triples[0]))
    fitted = clone(model).fit(triples[0][train], triples[1][train])
    held_out = rather.Comparisons.from_triples(triples[0][test], triples[1][test])
    assert scores[0] == pytest.approx(rather.pairwise_accuracy(fitted, held_out), abs=0.01)  # but for ties


def test_not_fitted_is_an_error_of_both():
    """Where scikit-learn is loaded, our error is an instance of its own, under one name, and can be pickled."""
    for ask in (lambda: AltSVM().score("a", "b"), lambda: BPR().users_, lambda: Global().rank("a")):
        with pytest.raises(NotFittedError) as e:
            ask()
        assert isinstance(e.value, rather.NotFittedError) and type(e.value).__name__ == "NotFittedError"
        again = pickle.loads(pickle.dumps(e.value))
        assert isinstance(again, NotFittedError) and str(again) == str(e.value)


def test_not_fitted_loads_nothing():
    """An error before fit does not import scikit-learn."""
    code = """
import sys, rather
try:
    rather.AltSVM().users_
except rather.NotFittedError as e:
    assert type(e) is rather.NotFittedError and not any(name.startswith("sklearn") for name in sys.modules)
    print("caught")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "caught\n"


def test_grid_search(triples):
    """GridSearchCV tries values, keeps the best and predicts with it."""
    search = GridSearchCV(AltSVM(n_threads=1), {"rank": [1, 3], "reg": [1.0, 1e6]}, cv=KFold(3, shuffle=True)).fit(
        *triples
    )
    assert search.best_params_["reg"] == 1.0 and search.best_score_ > 0.6
    predicted = search.predict(triples[0])
    assert set(predicted.tolist()) == {1, -1} and (predicted == triples[1]).mean() == search.score(*triples)


def test_probabilities(triples):
    """The columns are the probabilities of classes_; a scorer of probabilities takes them."""
    X, y = triples
    model = AltSVM(rank=2, n_threads=1).fit(X, y)
    proba = model.predict_proba(X)
    users, items = model.users_, model.items_
    assert proba[:, 1] == pytest.approx(model.probability(users[X[:, 0]], items[X[:, 1]], items[X[:, 2]]))
    assert proba.sum(axis=1) == pytest.approx(1) and model.classes_.tolist() == [-1, 1]
    assert np.array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(AltSVM(rank=2, n_threads=1), X, y, cv=folds, scoring="neg_log_loss")
    assert (scores > -np.log(2)).all()
    best, worst = model.rank()["item"][[0, -1]]
    stranger = model.predict_proba([[10_000, best, worst], [10_000, worst, best], [0, 10_000, 10_001]])
    assert stranger[0, 1] == pytest.approx(stranger[1, 0]) and stranger[0, 1] > 0.5
    assert stranger[2].tolist() == [0.5, 0.5]
    with pytest.raises(NotFittedError):
        AltSVM().predict_proba(X)


def test_weights(triples):
    """A weight counts as that of a vote, 0 leaves a row out, and scikit-learn cuts weights to folds."""
    X, y = triples
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    ahead, behind = np.where(y == 1, X[:, 1], X[:, 2]), np.where(y == 1, X[:, 2], X[:, 1])
    votes = {"user": X[:, 0], "winner": ahead, "loser": behind, "weight": weight}
    expected = Global().fit(rather.Comparisons.from_frame(votes, weight="weight")).average_scores()
    weighed = Global().fit(X, y, sample_weight=weight)
    assert weighed.average_scores() == pytest.approx(expected)
    assert np.abs(Global().fit(X, y).average_scores() - expected).max() > 0.01
    right = weighed.predict(X) == y
    assert weighed.score(X, y, weight) == pytest.approx(np.average(right, weights=weight))
    search = GridSearchCV(Global(), {"reg": [None]}, cv=KFold(3)).fit(X, y, sample_weight=weight)
    assert search.best_estimator_.average_scores() == pytest.approx(weighed.average_scores())
    with pytest.raises(InputError, match=r"sample_weight has shape \(2,\)"):
        Global().fit(X, y, sample_weight=[1, 2])
    with pytest.raises(InputError, match=r"'sample_weight'\) in row 1"):
        Global().fit(X[:2], y[:2], sample_weight=[1, -1])
    with pytest.raises(InputError, match="every vote has weight 0"):
        Global().fit(X, y, sample_weight=np.zeros(len(X)))
    with pytest.raises(InputError, match="already have weights"):
        Global().fit(rather.Comparisons.from_triples(X, y), sample_weight=weight)
    with pytest.raises(InputError, match="goes with integer triples"):
        weighed.score(0, 1, weight)


def test_is_fitted(triples):
    """check_is_fitted tells a fitted model from one that is not, and a pipeline of one step holds a model."""
    model = Global()
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    check_is_fitted(model.fit(*triples))
    assert make_pipeline(Global()).fit(*triples).predict(triples[0]).shape == (len(triples[0]),)


def test_users_and_items_that_training_did_not_see(triples):
    """Codes beyond those of training rank like everyone and score 0; triples that are none are refused."""
    model = AltSVM(rank=2).fit(*triples)
    best, worst = model.rank()["item"][[0, -1]]
    assert model.predict([[10_000, best, worst], [10_000, worst, best]]).tolist() == [1, -1]
    assert model.predict([[0, 10_000, 10_001]]).tolist() == [-1]  # equal scores
    with pytest.raises(InputError, match="three columns"):
        model.predict([[0, 1]])
    with pytest.raises(InputError, match="y has shape"):
        model.score(triples[0], triples[1][:-1])
