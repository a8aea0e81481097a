"""What is learned from which items people met."""

from itertools import pairwise

import numpy as np
import pytest

import rather
from rather import AltSVM, Comparisons, Convex, InputError
from rather.native import core, factor
from rather.solving.described import Known, priors
from rather.solving.exposure import STRENGTH, exposure_features
from rather.solving.priors import Block, Prior
from rather.solving.problem import Problem


def stars(seed=0, n_users=150, n_items=80, per_user=20, chosen=True):
    """Ratings by a low-rank taste; people rate what they like if they choose, any items if they do not."""
    rng = np.random.default_rng(seed)
    taste, items = rng.standard_normal((n_users, 3)), rng.standard_normal((n_items, 3))
    felt = taste @ items.T
    lure = 1.5 * felt if chosen else 0 * felt
    met = np.argsort(-lure - rng.gumbel(size=felt.shape), axis=1)[:, :per_user]
    user = np.repeat(np.arange(n_users), per_user)
    rating = np.take_along_axis(felt, met, 1) + rng.standard_normal(met.shape)
    return Comparisons.from_ratings({"user": user, "item": met.ravel(), "rating": np.round(rating).ravel()})


def exposed(comparisons, wanted=None):
    return exposure_features(comparisons.source, wanted=wanted, seed=0, n_threads=1)


def test_regression_is_the_ridge_regression_on_the_features():
    rng = np.random.default_rng(0)
    F, X, w = factor(700, 5), factor(700, 9), rng.uniform(0.5, 2, 700).astype(np.float32)
    F[:, :5], X[:, :9] = rng.standard_normal((700, 5)), rng.standard_normal((700, 9))
    prior = Prior([Block(F, 5, 0.5)], w, 2)
    C, mean = prior.regress(X)
    f, x, W = F[:, :5].astype(float), X.astype(float), np.diag(w.astype(float))
    G = f.T @ W @ f
    assert prior.ridge == pytest.approx(0.5 * np.trace(G) / 5, rel=1e-5)
    want = np.linalg.solve(G + prior.ridge * np.eye(5), f.T @ W @ x)
    np.testing.assert_allclose(C, want, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(mean, f @ want, rtol=1e-3, atol=1e-5)


def test_features_are_the_singular_vectors_of_who_met_what():
    comparisons = stars()
    made, store = exposed(comparisons), comparisons.store
    E = np.zeros((150, 80))
    E[np.repeat(np.arange(150), np.diff(store.start)), store.item] = 1
    E /= np.sqrt(np.outer(E.sum(1), E.sum(0)))
    left, values, right = np.linalg.svd(E)
    for k in (0, 1, 2):  # the leading ones, up to sign
        a, b = made.items[:, k], values[k] * right[k]
        assert min(np.abs(a - b).max(), np.abs(a + b).max()) < 0.01
    whole = made.users[:, : made.k] @ made.users[:, : made.k].T
    direction = left[:, :80] * values
    direction = direction[:, : made.k] / np.linalg.norm(direction[:, : made.k], axis=1, keepdims=True)
    np.testing.assert_allclose(whole, direction @ direction.T, atol=0.02)


def test_only_where_people_choose():
    assert exposed(stars(chosen=True)) is not None
    assert exposed(stars(chosen=False)) is None
    assert exposed(stars(chosen=False), wanted=True) is not None
    assert exposed(stars(chosen=True), wanted=False) is None
    world = rather.simulate(n_users=300, n_items=100, per_user=40)
    assert exposed(world.comparisons) is None


@pytest.mark.parametrize("seed", [0, 1])
def test_it_predicts_better_where_people_choose(seed):
    train, test = stars(seed, n_users=400, n_items=200, per_user=15).split(0.2, seed=0, by="items")
    with_it, without = (AltSVM(rank=8, exposure=wanted).fit(train) for wanted in (None, False))
    assert with_it.fitted.prior is not None and without.fitted.prior is None
    assert rather.pairwise_accuracy(with_it, test) > rather.pairwise_accuracy(without, test) + 0.01


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_objective_is_what_it_says_and_falls(loss):
    comparisons = stars()
    model = AltSVM(rank=6, loss=loss, exposure=True, tol=1e-6, max_iter=25).fit(comparisons)
    objectives = [record["objective"] for record in model.history_]
    assert all(b <= a * (1 + 1e-6) for a, b in pairwise(objectives))

    made, (scaled, _) = exposed(comparisons, True), model._spec().scales(comparisons.source)
    loss_there = Problem(comparisons.store, rank=6, loss=loss, bias=True, scales=scaled, n_threads=1)
    loss_there.U[:], loss_there.V[:] = model.fitted.scorer.U, model.fitted.scorer.V
    loss_there.refresh()

    def ridge(rows, features, shape):
        """min over C of 1/2 sum shape |row - C' f|^2 + strength/2 |C|^2, for rows as columns of a matrix"""
        f, w = features[:, : made.k].astype(float), shape.astype(float)
        G = f.T @ (w[:, None] * f)
        lam = STRENGTH * np.trace(G) / made.k
        C = np.linalg.solve(G + lam * np.eye(made.k), f.T @ (w[:, None] * rows))
        return 0.5 * ((w[:, None] * (rows - f @ C) ** 2).sum() + lam * (C**2).sum())

    want = loss_there.loss_value
    want += model.reg_ * ridge(model.user_factors_.astype(float), made.users, scaled.user_ridge)
    want += model.reg_ * ridge(model.item_factors_.astype(float), made.items, scaled.item_ridge)
    want += model.bias_reg_ * ridge(model.item_bias_.astype(float)[:, None], made.items, scaled.item_ridge)
    assert objectives[-1] == pytest.approx(want, rel=1e-4)


def test_same_bits_at_any_number_of_threads():
    comparisons = stars()
    one, three = (AltSVM(rank=6, exposure=True, n_threads=n).fit(comparisons) for n in (1, 3))
    np.testing.assert_array_equal(one.fitted.scorer.U, three.fitted.scorer.U)
    np.testing.assert_array_equal(one.fitted.scorer.V, three.fitted.scorer.V)


def test_convex_optimum_against_a_general_purpose_solver():
    """With prior means the program is still convex: the norm is that of X between the square roots of two kernels."""
    cp = pytest.importorskip("cvxpy")
    comparisons = stars(n_users=12, n_items=10, per_user=5)
    model = Convex(reg=1.0, bias=2.0, exposure=True, tol=1e-4).fit(comparisons)
    made, (scaled, _) = exposed(comparisons, True), model._spec().scales(comparisons.source)
    users, items = priors(comparisons.source.store, scaled, made, Known(), 1)

    def kernel(prior, shape):
        f = prior.features[:, : prior.k].astype(float)
        return np.diag(1 / shape.astype(float)) + f @ f.T / prior.ridge

    def inverse_root(K):
        values, vectors = np.linalg.eigh(K)
        return vectors @ np.diag(values**-0.5) @ vectors.T

    K, M = kernel(users, scaled.user_ridge), kernel(items, scaled.item_ridge)
    pairs = comparisons.pairs()
    X, b = cp.Variable((12, 10)), cp.Variable(10)
    margin = cp.hstack(
        [X[i, j] - X[i, k] + b[j] - b[k] for i, j, k in zip(pairs.user, pairs.winner, pairs.loser, strict=True)]
    )
    objective = scaled.user_weight[pairs.user] @ cp.square(cp.pos(1 - margin))
    objective += cp.normNuc(inverse_root(K) @ X @ inverse_root(M))
    objective += 0.5 * 2.0 * cp.sum_squares(inverse_root(M) @ b)
    best = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    proof = model.certificate()
    assert proof.lower_bound <= best * (1 + 1e-5) and proof.objective == pytest.approx(best, rel=1e-3)
    near = AltSVM(rank=10, reg=1.0, bias=2.0, exposure=True, tol=1e-8, max_iter=500).fit(comparisons)
    assert near.certificate().lower_bound <= best * (1 + 1e-5)
    assert near.certificate().objective == pytest.approx(best, rel=1e-2)


def test_newcomers_files_and_checkpoints(tmp_path):
    comparisons = stars()
    model = AltSVM(rank=6, exposure=True, tol=1e-6, max_iter=60, balance=0.0).fit(comparisons)
    pairs = comparisons.pairs()
    mine = pairs.user == 7
    person = model.fold_in(
        list(zip(comparisons.items[pairs.winner[mine]], comparisons.items[pairs.loser[mine]], strict=True))
    )
    a, b = person.rank()["score"], model.rank(7)["score"]
    np.testing.assert_allclose(a, b, atol=0.05 * np.abs(b).max())
    model.save(tmp_path / "m.rather")
    again = rather.load(tmp_path / "m.rather").fold_in([(1, 2)])
    np.testing.assert_array_equal(again.rank()["score"], model.fold_in([(1, 2)]).rank()["score"])

    path = tmp_path / "c"
    AltSVM(rank=6, max_iter=3, tol=0, checkpoint=path).fit(comparisons)
    resumed = AltSVM(rank=6, max_iter=6, tol=0, checkpoint=path).fit(comparisons)
    np.testing.assert_array_equal(
        resumed.fitted.scorer.U, AltSVM(rank=6, max_iter=6, tol=0).fit(comparisons).fitted.scorer.U
    )


def test_mistakes():
    with pytest.raises(InputError, match="exposure"):
        AltSVM(exposure="yes").fit(stars())
    clicks = Comparisons.from_clicks({"user": [0, 0, 1, 1, 2], "item": [0, 1, 1, 2, 3]})
    with pytest.raises(InputError, match="clicks"):
        AltSVM(exposure=True).fit(clicks)


@pytest.mark.parametrize("params", [{"loss": "hinge"}, {"bias": False}, {"reg": "cv"}, {"warm_start": True}])
def test_it_goes_with_the_rest(params):
    comparisons = stars()
    model = AltSVM(rank=4, exposure=True, **params).fit(comparisons)
    model.fit(comparisons)
    assert np.isfinite(model.fitted.scorer.U).all() and model.user_factors_.any()
    assert 0 < model.certificate().lower_bound <= model.certificate().objective


def test_every_column_comes_alive():
    """The start sees how much cheaper the prior means make the directions that people share."""
    model = AltSVM(rank=8, exposure=True).fit(stars(n_users=300, n_items=200, per_user=12))
    assert model.user_factors_.any(axis=0).all()


@pytest.mark.filterwarnings("ignore:the gap of Convex")
def test_newcomers_of_the_constrained_program():
    """The prior of newcomers belongs to the factors that were kept."""
    comparisons = stars()
    for rounds in (2, 3, 5):
        model = Convex(lam=0.5, exposure=True, max_iter=rounds).fit(comparisons)
        made, (scaled, _) = exposed(comparisons, True), model._spec().scales(comparisons.source)
        prior = priors(comparisons.source.store, scaled, made, Known(), 1).users
        np.testing.assert_allclose(
            model.fitted.prior[1], prior.coefficients(model.fitted.scorer.U)[:, : model.rank_], atol=1e-5
        )


def test_an_interrupt_leaves_the_factors_whole(monkeypatch):
    comparisons = stars()
    whole = AltSVM(rank=4, exposure=True, max_iter=2, tol=0).fit(comparisons)

    def interrupted(*args):
        core.item_step(*args)
        raise KeyboardInterrupt  # as Ctrl-C does once the core returns

    class Core:
        def __getattr__(self, name):
            return interrupted if name == "item_step" else getattr(core, name)

    def arm(model, record):
        if record["round"] == 2:
            monkeypatch.setattr("rather.solving.problem.core", Core())

    with pytest.warns(UserWarning, match="interrupted"):
        model = AltSVM(rank=4, exposure=True, max_iter=9, tol=0, callback=arm).fit(comparisons)
    np.testing.assert_array_equal(model.fitted.scorer.V, whole.fitted.scorer.V)
