"""Quantities that solvers and posteriors report, against their formulas by hand."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import rather
from rather import AltSVM, Comparisons
from rather.logistic import sigmoid
from rather.models import crowd, tuning
from rather.models.belief import Belief, Items
from rather.models.calibration import Calibration
from rather.models.crowd import Answers
from rather.native import core
from rather.solving import spectrum
from rather.solving.certificate import certify
from rather.solving.described import NOTHING, Known
from rather.solving.effects import RIDGE
from rather.solving.newton import Newton
from rather.solving.scales import scales
from rather.solving.smoothing import COARSEST
from rather.solving.spectrum import Singular, spectral_norm, sure_norm


@pytest.fixture(scope="module")
def votes():
    """Weighted votes with a side."""
    rng = np.random.default_rng(0)
    user, winner = rng.integers(20, size=300), rng.integers(12, size=300)
    loser = (winner + rng.integers(1, 12, 300)) % 12
    frame = {"user": user, "winner": winner, "loser": loser, "weight": rng.uniform(0.5, 2, 300)}
    return Comparisons.from_frame(frame | {"side": rng.random(300) < 0.6}, weight="weight", side="side")


@pytest.fixture(scope="module")
def fitted(votes):
    return AltSVM(rank=3, loss="logistic", reg=4.0).fit(votes)


@pytest.fixture(scope="module")
def stars():
    return rather.simulate(60, 30, rank=2, per_user=15, seed=0, levels=5).comparisons


def rows(pairs):
    """How often each (user, winner, loser) is there."""
    return Counter(zip(pairs.user.tolist(), pairs.winner.tolist(), pairs.loser.tolist(), strict=True))


def posed(comparisons, loss="logistic", rank=3, seed=1, known=NOTHING, **params):
    """A problem at random factors and effects, far from its optimum; ``known`` holds features."""
    model = AltSVM(loss=loss, **{"reg": 5.0, "bias": 3.0, **params})
    spec = model._spec()
    problem = spec.problem(comparisons.source, spec.scales(comparisons.source)[0], None, rank, known=known)
    rng = np.random.default_rng(seed)
    problem.U[:, :rank] = 0.3 * rng.standard_normal((len(problem.U), rank))
    problem.V[:, : rank + 1] = 0.3 * rng.standard_normal((len(problem.V), rank + 1))
    if problem.around is not None:
        problem.set_effects([0.3] * len(problem.g))
    problem.refresh()
    return problem


# -- solvers ----------------------------------------------------------------------------------------------------------


def test_the_dual_of_biases_and_effects(votes):
    """1/2 sum_j g_j^2 / beta_j and 1/2 |Z' L'|^2 / rho, which a bound loses."""
    problem = posed(votes)
    slopes, _ = problem._pair_slopes()
    g = np.bincount(problem.store.item, problem.c, problem.store.n_items)
    effects = np.square(slopes.astype(float) @ problem.around.Z).sum() / RIDGE
    assert effects > 1
    assert problem.bias_dual() == pytest.approx(0.5 * ((g**2 / problem.beta).sum() + effects), rel=1e-5)
    least = AltSVM(rank=12, loss="logistic", reg=5.0, bias=3.0, tol=1e-6, max_iter=300).fit(votes)
    for seed in range(3):
        assert certify(posed(votes, seed=seed)).lower_bound <= least.certificate().objective


def test_the_dual_of_biases_with_features(votes):
    """1/2 g' K g, where the ridges of biases and of their coefficients are those of the prior covariance K."""
    rng = np.random.default_rng(0)
    items = {"item": votes.items, "a": rng.standard_normal(12), "b": rng.standard_normal(12)}
    described = AltSVM(max_iter=1).fit(votes, item_features=items).fitted.known.items
    problem = posed(votes, known=Known(items=described.with_strengths((1.0,) * len(described.encoder.blocks))))
    prior = problem.priors.items
    F = prior.features[:, : prior.k].astype(float)
    own, shared = np.diag(1 / problem.beta), F @ F.T / (problem.bias_reg * prior.ridge)
    g = np.bincount(problem.store.item, problem.c, problem.store.n_items)
    slopes, _ = problem._pair_slopes()
    effects = 0.5 * np.square(slopes.astype(float) @ problem.around.Z).sum() / RIDGE
    assert g @ shared @ g > 1
    assert problem.bias_dual() - effects == pytest.approx(0.5 * g @ (own + shared) @ g, rel=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_decrement_is_what_steps_gain(votes, loss):
    """Near a quadratic, a Newton step gains its decrement; a round's gap is their sum and what smoothing hides."""
    problem, twin = (posed(votes, loss, reg=300.0, bias=300.0) for _ in range(2))
    if loss == "logistic":
        for step in (problem.item_step, problem.user_step):
            before = problem.objective()
            decrement = step(cg_steps=50, cg_tol=1e-6)
            assert decrement == pytest.approx(before - problem.objective(), rel=0.02) and decrement > 1
    problem = posed(votes, loss, reg=300.0, bias=300.0)
    solvers = Newton(problem, 0), Newton(twin, 0)
    for solver in solvers:
        solver.go_on(0.25)
    gain = twin.item_step() + twin.user_step() + twin.effect_step()
    hidden = twin.true_loss() - twin.loss_value
    solvers[0].rounds_done = 50  # beyond the coarse smoothing
    gap = solvers[0].round()["gap"]
    assert (hidden > 0.1) == (loss == "hinge")
    assert gap == pytest.approx((gain + hidden) / twin.objective(), rel=1e-5)


def test_the_norm_is_the_estimate_and_its_residual(monkeypatch):
    matrix, b = np.random.default_rng(0).standard_normal((90, 80)), np.ones(80) / np.sqrt(80)
    value = np.linalg.norm(matrix @ b)
    a = matrix @ b / value
    monkeypatch.setattr(spectrum, "leading", lambda *given: Singular(a[:, None], np.array([value]), b[:, None]))
    expected = value + np.linalg.norm(matrix.T @ a - value * b)
    assert spectral_norm(aslinearoperator(matrix), 0.3) == pytest.approx(expected) and expected > 1.1 * value


def test_the_sure_norm_has_its_margin():
    """The largest Ritz value after t steps over sqrt(1 - e), with 1.648 sqrt(n) exp(-sqrt(e) (2 t - 1)) = 1e-6."""
    matrix, t = np.random.default_rng(0).standard_normal((120, 100)), 30
    basis = [np.random.default_rng(1).standard_normal(100)]
    for _ in range(t - 1):
        basis.append(matrix.T @ (matrix @ basis[-1]))
        basis[-1] -= np.linalg.qr(np.array(basis[:-1]).T)[0] @ (np.linalg.qr(np.array(basis[:-1]).T)[0].T @ basis[-1])
        basis[-1] /= np.linalg.norm(basis[-1])
    ritz = np.linalg.norm(matrix @ np.linalg.qr(np.array(basis).T)[0], 2)
    share = (np.log(1.648 * np.sqrt(100) * 1e6) / (2 * t - 1)) ** 2
    assert sure_norm(aslinearoperator(matrix), 0.0, steps=t) == pytest.approx(ritz / np.sqrt(1 - share), rel=1e-6)


def test_effects_survive_a_resumed_growth(votes, tmp_path):
    model = AltSVM(rank="auto", loss="logistic", reg=2.0, tol=1e-9, max_iter=2, checkpoint=tmp_path / "c")
    before = model.fit(votes)
    g = before.fitted.posed.g.copy()
    assert np.abs(g).max() > 1e-3
    again = AltSVM(rank="auto", loss="logistic", reg=2.0, tol=1e-9, max_iter=2, checkpoint=tmp_path / "c").fit(votes)
    np.testing.assert_array_equal(again.fitted.posed.g, g)
    assert again.context_effects_ == before.context_effects_


def test_smoothing_survives_a_resumed_growth(stars, tmp_path):
    """A fit that stopped when the hinge was hardly smoothed goes on from there, with the bits of a whole one."""
    params = {"rank": "auto", "loss": "hinge", "reg": 2.0, "tol": 1e-9}
    whole = AltSVM(max_iter=8, **params).fit(stars)
    stopped = AltSVM(max_iter=6, checkpoint=tmp_path / "c", **params).fit(stars)
    assert 0 < stopped.fitted.posed.delta < 0.5 * COARSEST
    again = AltSVM(max_iter=8, checkpoint=tmp_path / "c", **params).fit(stars)
    assert again.history_[-1]["gap"] == whole.history_[-1]["gap"]
    np.testing.assert_array_equal(again.user_factors_, whole.user_factors_)


# -- scales and samples -----------------------------------------------------------------------------------------------


def test_weights_count_in_the_balance_of_users(votes):
    pairs = votes.pairs()
    n = np.bincount(pairs.user, pairs.weight, votes.n_users)
    per_user = np.empty(votes.n_users)
    core.comparisons_per_user(votes.store, per_user)
    np.testing.assert_allclose(per_user, n, rtol=1e-6)
    weight = scales(votes.store, user_power=0.0, item_power=0.0, balance=0.5)[0].user_weight
    np.testing.assert_allclose(weight / weight[0], (n / n[0]) ** -0.5, rtol=1e-5)


@pytest.mark.parametrize("n_seen", [5, 395])  # most items are left to draw from, or few
def test_every_unseen_item_is_drawn(n_seen):
    n, per_user = 400, 20_000
    seen = np.arange(n_seen, dtype=np.int32)
    start = np.array([0, n_seen])
    winner, loser = (np.empty(per_user, np.int32) for _ in range(2))
    core.sample_clicks(start, seen, start, seen, n, per_user, 0, winner, loser, 1)
    assert set(winner.tolist()) == set(range(n_seen))
    assert np.bincount(loser, minlength=n)[n_seen:].min() > 0.5 * per_user / (n - n_seen)
    assert set(loser.tolist()) == set(range(n_seen, n))


def test_scales_of_reg_are_means_of_norms(votes):
    """sqrt(mean row norm x mean column norm) of the scaled gradient at 0, and its mean absolute row sum."""
    model = AltSVM(loss="squared_hinge", bias=True)
    scaled, _ = model._spec().scales(votes.source)
    problem = model._spec().problem(votes.source, scaled, None, 0, 1.0, 1.0)
    pairs = votes.pairs()
    weight = 2 * pairs.weight * scaled.user_weight[pairs.user]
    S = np.zeros((votes.n_users, votes.n_items))
    np.add.at(S, (pairs.user, pairs.winner), weight)
    np.add.at(S, (pairs.user, pairs.loser), -weight)
    S /= np.sqrt(scaled.user_ridge)[:, None] * np.sqrt(scaled.item_ridge)
    typical = [np.linalg.norm(S, axis=axis).mean() for axis in (0, 1)]
    assert problem.reg == pytest.approx(np.sqrt(np.prod(typical)), rel=1e-5)
    assert problem.bias_reg == pytest.approx(np.abs(S).sum(axis=1).mean(), rel=1e-5)


def test_the_value_of_a_choice(monkeypatch):
    """Half of the held-out log loss, the squared logarithms of both factors, and the cost of a rank below the full."""
    monkeypatch.setattr(tuning, "_rank_before_gap", lambda found: 2)
    model = AltSVM().fit(rather.simulate(60, 20, rank=1, per_user=30, noise=0.3, seed=0).comparisons)
    source, half = model.fitted.training.source, []
    full = max(tried["rank"] for tried in model.cv_results_)
    assert {tried["rank"] for tried in model.cv_results_} == {2, full}
    for tried in model.cv_results_:
        unusual = tuning.RANK_COST * (tried["rank"] < full)
        unusual += 0.5 * (np.log(tried["factor"] / source.reg_factor) / tuning.SPREAD) ** 2
        unusual += 0.5 * (np.log(tried["bias"] / source.bias_factor) / tuning.BIAS_SPREAD) ** 2
        half.append((tried["value"] - unusual) / tried["log_loss"])
    np.testing.assert_allclose(half, half[0], rtol=1e-6)


# -- posteriors -------------------------------------------------------------------------------------------------------


def test_log_odds_of_a_calibration():
    """The margin, times a slope that depends on how many items were met and how many of the two are new."""
    sure = Calibration(1.5, answers=0.3, unmet=-0.4, typical=9.0)
    got = sure.logit(np.array([2.0, -1.0]), np.array([19, 9]), np.array([0, 2]))
    np.testing.assert_allclose(got, [1.5 * 2**0.3 * 2.0, -1.5 * np.exp(-0.8)])


def test_what_newcomers_are_asked_does_not_follow_from_what_they_told(stars, votes):
    """People are left out whole; of ratings, no item of a pair that is asked is in a pair that is told."""
    for comparisons in (votes, stars):
        rated = comparisons.source.implied
        trials = list(crowd._people_aside(comparisons, 0))
        assert trials
        for rest, told, asked in trials:
            pairs = told.pairs()
            people = np.unique(np.concatenate([pairs.user, asked.user]))
            assert not np.diff(rest.store.start)[people].any()
            met = {(u, j) for u, *both in rows(pairs) for j in both}
            for u, j, k in rows(asked):
                assert not rated or not {(u, j), (u, k)} & met
            if not rated:
                assert not (rows(pairs) + rows(asked)) - rows(comparisons.pairs())  # none is told and asked


def test_pairs_of_ratings_count_as_often_as_ratings(stars, votes):
    answers = Answers(stars.source, np.arange(60), np.random.default_rng(0))
    met = np.diff(stars.source.met()[0])
    for u in range(60):
        count = answers.of(u)[2]
        assert count.sum() == pytest.approx(min(len(count), crowd.RATING * met[u]))
    plain = Answers(votes.source, np.arange(votes.n_users), np.random.default_rng(0))
    assert (
        plain.count.mean() == pytest.approx(1, rel=1e-6) and plain.count.std() > 0.1
    )  # weights, in units of their mean


def test_answers_left_out_one_by_one():
    """The quick way agrees with a search of its own without each answer."""
    rng = np.random.default_rng(0)
    items = Items(0.5 * rng.standard_normal((8, 2)), rng.standard_normal(8), np.full(8, 2.0), np.zeros((8, 2)), 1.0)
    winner, loser = rng.integers(0, 4, 10), rng.integers(4, 8, 10)
    count, swayed = rng.uniform(0.5, 1.5, 10), 0.3 * rng.standard_normal(10)
    quick = Belief(items, None, (winner, loser, count, swayed)).without_each()
    for t in range(10):
        rest = np.arange(10) != t
        belief = Belief(items, None, (winner[rest], loser[rest], count[rest], swayed[rest]))
        mean, variance = belief.margins(winner[t : t + 1], loser[t : t + 1])
        alone = sigmoid((mean + swayed[t]) / np.sqrt(1 + np.pi / 8 * variance))
        assert quick[t] == pytest.approx(float(alone[0]), abs=0.03)
    assert np.ptp(quick) > 0.2


def test_differences_are_beside_what_all_items_are_worth(fitted):
    """A draw's constant over all items cancels."""
    rng, among = np.random.default_rng(0), np.arange(12)
    mine, theirs = rng.standard_normal((2, 400, 12))
    plain = fitted._apart(mine, theirs, among, 0.9)
    moved = fitted._apart(mine + 5 * rng.standard_normal((400, 1)), theirs - 3.0, among, 0.9)
    for name in ("difference", "low", "high", "probability"):
        np.testing.assert_allclose(moved.columns[name], plain.columns[name], atol=1e-12)
    expected = np.sort((mine - mine.mean(1, keepdims=True) - theirs + theirs.mean(1, keepdims=True)).mean(0))
    np.testing.assert_allclose(np.sort(plain.columns["difference"]), expected)


def test_answers_count_as_much_as_they_are_trusted(fitted, votes):
    trust = np.linspace(0.1, 1, votes.n_users).astype(np.float32)
    model = fitted._with(replace(fitted.fitted, trust=trust))
    answers = np.array([0]), np.array([1]), np.array([2.0]), np.array([0.0])
    assert model._told_by(answers, None, 3)[2] == pytest.approx(2 * trust[3])
    assert model._told_by(answers, None, None)[2] == 2.0
