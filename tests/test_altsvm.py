"""The estimator: its contract, how a fit ends, goes on and is tuned, and how sure it is."""

import os
import signal
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

import rather
from handmade import ruled
from rather import AltSVM, InputError, PaperAltSVM, simulate
from rather.data.source import Source


@pytest.fixture(scope="module")
def world():
    return simulate(n_users=200, n_items=50, rank=2, per_user=40, seed=0)


def test_scikit_learn_contract(world):
    """clone copies parameters and no state; set_params changes them; an unknown name is refused."""
    model = AltSVM(rank=3, reg=5.0, seed=2).fit(world.comparisons)
    copy = clone(model)
    assert copy.get_params() == model.get_params() and not hasattr(copy, "users_")
    assert copy.set_params(rank=7).get_params()["rank"] == 7
    with pytest.raises(InputError, match="no parameter 'ranks'"):
        copy.set_params(ranks=7)
    assert repr(AltSVM(rank=3)) == "AltSVM(rank=3)"


def test_integer_triples(world):
    """fit(X, y) with the paper's Omega and Y is the same fit as the votes it encodes."""
    pairs = world.comparisons.pairs()
    flip = np.random.default_rng(0).random(len(pairs.user)) < 0.5
    X = np.c_[pairs.user, np.where(flip, pairs.loser, pairs.winner), np.where(flip, pairs.winner, pairs.loser)]
    a = AltSVM(rank=3).fit(X, np.where(flip, -1, 1))
    b = AltSVM(rank=3).fit(world.comparisons)
    np.testing.assert_array_equal(a.item_factors_, b.item_factors_)
    assert a.users_.tolist() == list(range(200))


def test_recovers_the_truth(world):
    """On simulated data the fit comes most of the way from a coin to the best attainable accuracy."""
    model = AltSVM(rank=4).fit(world.comparisons)
    accuracy = rather.pairwise_accuracy(model, world.test())
    assert (accuracy - 0.5) / (world.best_accuracy - 0.5) > 0.85


def test_history_and_stopping(world):
    """The objective never rises, the fit stops at its tolerance, and a smaller one takes more rounds."""
    model = AltSVM(rank=4, tol=1e-3).fit(world.comparisons)
    objectives = [h["objective"] for h in model.history_]
    assert all(b <= a * (1 + 1e-6) for a, b in pairwise(objectives))
    assert model.converged_ and model.history_[-1]["gap"] <= 1e-3 < model.history_[-2]["gap"]
    longer = AltSVM(rank=4, tol=1e-5, max_iter=100).fit(world.comparisons)
    assert len(longer.history_) > len(model.history_)
    assert [h["round"] for h in longer.history_] == list(range(1, len(longer.history_) + 1))
    cut = AltSVM(rank=4, tol=0, max_iter=2).fit(world.comparisons)
    assert len(cut.history_) == 2 and not cut.converged_


def test_callback_stops(world):
    """A callback sees every record and a usable model, and ends the fit by returning True."""
    seen = []

    def stop(model, record):
        seen.append((record["round"], model.score("user 1", "item 1")[0]))
        return record["round"] == 2

    AltSVM(rank=4, tol=0, callback=stop).fit(world.comparisons)
    assert [r for r, _ in seen] == [1, 2]


@pytest.mark.parametrize("kind", [AltSVM, PaperAltSVM])
@pytest.mark.usefixtures("interruptible")
def test_interruption_keeps_the_best_so_far(world, kind):
    """Ctrl-C ends the fit with a warning; the model is that of the rounds completed."""

    def interrupt(model, record):
        if record["round"] == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.warns(UserWarning, match="interrupted after 2 rounds"):
        model = kind(rank=4, tol=0, callback=interrupt, n_threads=1).fit(world.comparisons)
    assert model.interrupted_ and len(model.history_) == 2
    plain = kind(rank=4, tol=0, max_iter=2, n_threads=1).fit(world.comparisons)
    np.testing.assert_array_equal(model.user_factors_, plain.user_factors_)


@pytest.mark.parametrize(("kind", "loss"), [(AltSVM, "squared_hinge"), (AltSVM, "hinge"), (PaperAltSVM, "logistic")])
def test_checkpoint_resumes_to_the_same_bits(world, kind, loss, tmp_path):
    """A fit killed after round 3 and resumed ends where an uninterrupted one does, bit for bit."""
    params = {"rank": 4, "tol": 0, "loss": loss, "n_threads": 1}
    whole = kind(max_iter=6, **params).fit(world.comparisons)
    path = tmp_path / "fit.checkpoint"

    def kill(model, record):
        if record["round"] == 3:
            raise MemoryError("killed")

    with pytest.raises(MemoryError):
        kind(max_iter=6, callback=kill, checkpoint=path, **params).fit(world.comparisons)
    resumed = kind(max_iter=6, checkpoint=path, **params).fit(world.comparisons)
    assert len(resumed.history_) == 6
    np.testing.assert_array_equal(whole.user_factors_, resumed.user_factors_)
    np.testing.assert_array_equal(whole.item_factors_, resumed.item_factors_)
    assert list(tmp_path.iterdir()) == [path]


def test_warm_start(world):
    """A second fit from the first one's factors needs fewer rounds; other ids are refused."""
    model = AltSVM(rank=4, tol=1e-4, max_iter=100).fit(world.comparisons)
    cold = len(model.history_)
    model.set_params(warm_start=True).fit(world.comparisons)
    assert len(model.history_) < cold
    other = simulate(n_users=10, n_items=5, per_user=10)
    with pytest.raises(InputError, match="same users, items and rank"):
        model.fit(other.comparisons)


def test_reg_rule_scales_with_the_data(world):
    """Every comparison given twice doubles the noise level, and so the reg of the rule: the fit is the same."""
    pairs = world.comparisons.pairs()
    twice = pairs.take(np.repeat(np.arange(len(pairs.user)), 2))
    once, doubled = (AltSVM(rank=3, balance=0).fit(ruled(world.comparisons, p)) for p in (pairs, twice))
    assert not once.cv_results_
    assert doubled.reg_ == pytest.approx(2 * once.reg_, rel=1e-4)
    a, b = (m.user_factors_ @ m.item_factors_.T for m in (once, doubled))
    np.testing.assert_allclose(a, b, atol=2e-2 * np.abs(a).max())


def test_reg_cv(world):
    """reg="cv" picks about the value that does best on held-out answers, and does not lose to a bad fixed one."""
    model = AltSVM(rank=4, reg="cv").fit(world.comparisons)
    best = min(model.cv_results_, key=lambda r: r["value"])
    assert len(model.cv_results_) >= 3 and best["accuracy"] > 0.6
    assert all(list(r) == ["rank", "factor", "bias", "log_loss", "accuracy", "value"] for r in model.cv_results_)
    scale = AltSVM(rank=4, balance=0).fit(ruled(world.comparisons)).reg_ / Source.reg_factor
    assert 0.7 < model.reg_ / (best["factor"] * scale) < 1.4
    bad = AltSVM(rank=4, reg=model.reg_ / 50).fit(world.comparisons)
    test = world.test()
    assert rather.pairwise_accuracy(model, test) > rather.pairwise_accuracy(bad, test)
    left_open = AltSVM(rank=4).fit(world.comparisons)
    assert left_open.reg_ == model.reg_ and left_open.cv_results_ == model.cv_results_
    assert not AltSVM(rank=4, reg=5.0).fit(world.comparisons).cv_results_


@pytest.mark.parametrize("per_user", [10, 20, 60])
def test_reg_cv_does_not_lose_to_the_rule(per_user):
    """With few answers too, the path goes past the values that leave no personal part, and grows the rank."""
    world = simulate(n_users=500, n_items=100, rank=3, per_user=per_user, seed=1)
    test = world.test()
    rule = AltSVM(rank=8, balance=0).fit(ruled(world.comparisons))
    chosen = AltSVM(rank=8, reg="cv").fit(world.comparisons)
    assert chosen.cv_results_ and not rule.cv_results_
    assert rather.pairwise_accuracy(chosen, test) > rather.pairwise_accuracy(rule, test) - 0.01


def test_cv_holds_out_items_of_ratings():
    """With ratings, whole items are held out of a user's row, so no held-out item is in training for that user."""
    rng = np.random.default_rng(0)
    ratings = {
        "user": np.repeat(np.arange(30), 20),
        "item": np.tile(np.arange(20), 30),
        "rating": rng.integers(1, 6, 600),
    }
    comparisons = rather.Comparisons.from_ratings(ratings)
    train, test = comparisons.split(0.2, seed=0, by="items")
    pairs = {tuple(p) for r in (train.ratings,) for p in zip(r.user, r.item, strict=True)}
    assert not pairs & set(zip(test.ratings.user, test.ratings.item, strict=True))
    assert len(AltSVM(rank=2, reg="cv").fit(comparisons).cv_results_) >= 3


def test_probability_is_calibrated(world):
    """In each tenth of [0, 1] many pairs have their probability, and that share of the left items wins."""
    model = AltSVM(rank=4).fit(world.comparisons)
    test = world.test(40_000).pairs()
    left_won = np.random.default_rng(0).random(len(test.user)) < 0.5
    left, right = np.where(left_won, test.winner, test.loser), np.where(left_won, test.loser, test.winner)
    p = model.probability(model.users_[test.user], model.items_[left], model.items_[right])
    tenth = np.minimum((10 * p).astype(int), 9)
    pairs = np.bincount(tenth, minlength=10)
    assert pairs.min() > 2_000
    np.testing.assert_allclose(np.bincount(tenth, left_won) / pairs, np.bincount(tenth, p) / pairs, atol=0.04)


def test_probability_of_noise_is_a_half():
    """Where answers are random, the slope found on what was put aside is about 0, however well training answers fit."""
    rng = np.random.default_rng(0)
    j = rng.integers(0, 40, 6000)
    votes = {"user": rng.integers(0, 150, 6000), "winner": j, "loser": (j + rng.integers(1, 40, 6000)) % 40}
    model = AltSVM(rank=8, reg=2.0).fit(rather.Comparisons.from_frame(votes))
    pairs = rather.Comparisons.from_frame(votes).pairs()
    fitted = model.score(model.users_[pairs.user], model.items_[pairs.winner]) - model.score(
        model.users_[pairs.user], model.items_[pairs.loser]
    )
    assert (fitted > 0).mean() > 0.7
    p = model.probability(model.users_[pairs.user], model.items_[pairs.winner], model.items_[pairs.loser])
    assert np.abs(p - 0.5).mean() < 0.1


def test_warm_start_grows_what_a_stiffer_fit_left_at_zero(world):
    """A refit with a looser ridge reaches what a fit from scratch does, though the first fit used fewer columns."""
    model = AltSVM(rank=6, reg=60.0, warm_start=True, tol=1e-6, max_iter=200).fit(world.comparisons)
    assert (model.user_factors_.any(axis=0)).sum() < 6
    model.set_params(reg=10.0).fit(world.comparisons)
    cold = AltSVM(rank=6, reg=10.0, tol=1e-6, max_iter=200).fit(world.comparisons)
    assert model.history_[-1]["objective"] == pytest.approx(cold.history_[-1]["objective"], rel=2e-3)


@pytest.mark.parametrize(("rank", "reg"), [(3, "cv"), (3, None), (None, None)])
def test_checkpoint_of_a_choice_does_not_search_again(world, rank, reg, tmp_path, monkeypatch):
    """A fit that chose and is resumed takes what it had settled on."""
    params = {"rank": rank, "reg": reg, "tol": 0, "checkpoint": tmp_path / "c"}
    first = AltSVM(max_iter=2, **params).fit(world.comparisons)
    monkeypatch.setattr("rather.models.altsvm.choose_if_asked", None)
    resumed = AltSVM(max_iter=4, **params).fit(world.comparisons)
    assert (resumed.reg_, resumed.bias_reg_, resumed.rank_) == (first.reg_, first.bias_reg_, first.rank_)
    assert resumed.cv_results_ == first.cv_results_ and len(resumed.history_) == 4


@pytest.mark.data
@pytest.mark.parametrize(
    ("per_user", "at_least"),
    [
        (20, 0.7755),
        pytest.param(50, 0.8, marks=pytest.mark.thorough),
        pytest.param(100, 0.81, marks=pytest.mark.thorough),
    ],
)
def test_movielens_1m(data, per_user, at_least):
    """The paper's protocol on MovieLens 1M, default parameters, rank 100: NDCG@10 over split seeds 0 to 4."""
    import pyarrow.parquet

    frame = pyarrow.parquet.read_table(data / "ml-1m" / "ratings.parquet", columns=["user", "item", "rating"])
    found = []
    for seed in range(5):
        train, test = rather.split_ratings(frame, per_user=per_user, seed=seed)
        found.append(rather.ndcg(AltSVM(rank=100).fit(rather.Comparisons.from_ratings(train)), test, k=10))
    assert np.mean(found) >= at_least


def test_item_power_and_user_power(world):
    """The ridges take the shape asked for."""
    store = world.comparisons.store
    shapes, _ = rather.solving.scales.scales(store, user_power=0.0, item_power=1.0, balance=0.5)
    counts = np.bincount(store.item, minlength=store.n_items)
    np.testing.assert_allclose(shapes.item_ridge, counts / ((counts**2).sum() / counts.sum()), rtol=1e-5)
    assert (shapes.user_ridge == 1).all()
    np.testing.assert_allclose(shapes.user_weight, 40**-0.5, rtol=1e-6)
