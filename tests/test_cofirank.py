"""CofiRank: its losses against their definitions, its solvers against others, and the estimator's contract."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, minimize

import rather
from rather import CofiRank, Comparisons, InputError, simulate
from rather.native import core
from rather.rivals.cofirank import LISTS

LOSSES = ["ndcg", "ordinal", "regression"]


def one_list(y, loss, k=10):
    """The loss of one user's list as a function of the scores: (value, subgradient)."""
    y = np.asarray(y, np.float64)
    order = np.lexsort((np.arange(len(y)), y))  # the store sorts by rating
    zeros = np.zeros(len(y), np.int32)
    store = core.store_from_ratings(1, len(y), zeros, np.arange(len(y), dtype=np.int32), y, 1)
    lists = core.RatedLists(store, LISTS[loss], k, y[order])

    def evaluate(f):
        c, gradient = np.empty(len(y), np.float32), np.empty(len(y))
        value = core.evaluate_lists(lists, np.asarray(f, np.float32)[order], c, 1)
        gradient[order] = c
        return value, gradient

    return evaluate


def parts_of_ndcg(y, k):
    """The weights of places, the gains over the best DCG, the discounts, and each item's share of the weights."""
    y, place = np.asarray(y, np.float64), np.arange(1, len(y) + 1)
    weight, discount = (place + 1.0) ** -0.25, np.where(place <= k, 1 / np.log2(place + 1.0), 0)
    gain = 2.0**y - 1
    gain /= (np.sort(gain)[::-1] * discount).sum()
    down = np.sort(y)[::-1]
    return weight, gain, discount, np.array([weight[down == v].mean() for v in y])


def random_list(rng):
    n = int(rng.integers(2, 40))
    y = rng.integers(0, int(rng.integers(2, 12)), n).astype(float)
    y[0] = y.max() + 1
    return y, (rng.standard_normal(n) * rng.choice([0.0, 0.1, 1, 10]) + rng.choice([0, 0.3]) * y).astype(np.float32)


# -- losses -----------------------------------------------------------------------------------------------------------


def test_ndcg_loss_by_hand():
    """Two items rated 1 and 0 with scores 0: the worse order costs 1 - 1 / log2(3), and its places are swapped."""
    value, gradient = one_list([1, 0], "ndcg")([0, 0])
    assert value == pytest.approx(1 - 1 / np.log2(3))
    np.testing.assert_allclose(gradient, np.array([1, -1]) * (3**-0.25 - 2**-0.25), rtol=1e-6)
    value, gradient = one_list([1, 0], "ndcg")([10, 0])  # so far ahead that the right order is the worst there is
    assert value == pytest.approx(0, abs=1e-6) and not gradient.any()


def test_ordinal_loss_by_hand():
    """Ratings 3, 1, 0 and scores 0, 0.5, 0: pairs of weights 2, 3, 1 miss their margin by 1.5, 1 and 0.5."""
    value, gradient = one_list([3, 1, 0], "ordinal")([0, 0.5, 0])
    assert value == pytest.approx((2 * 1.5 + 3 * 1 + 1 * 0.5) / 6)
    np.testing.assert_allclose(gradient, [-5 / 6, (2 - 1) / 6, (3 + 1) / 6], rtol=1e-6)


def test_ndcg_loss_over_all_orders():
    """The maximum is that over every order of five items, ties sharing the weights of their places."""
    rng = np.random.default_rng(0)
    for k in (1, 2, 10):
        y, f = np.array([2.0, 0, 2, 1, 0]), rng.standard_normal(5).astype(np.float32)
        weight, gain, discount, share = parts_of_ndcg(y, k)
        worst = max((weight * f[list(p)] - discount * gain[list(p)]).sum() for p in permutations(range(5)))
        assert one_list(y, "ndcg", k)(f)[0] == pytest.approx(1 + worst - (share * f).sum(), abs=1e-6)


def test_ndcg_loss_against_scipy():
    """On longer lists the maximum is scipy's optimal assignment."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        y, f = random_list(rng)
        k = int(rng.integers(1, 15))
        weight, gain, discount, share = parts_of_ndcg(y, k)
        worth = np.outer(weight, f.astype(np.float64)) - np.outer(discount, gain)
        best = worth[linear_sum_assignment(-worth)].sum()
        assert one_list(y, "ndcg", k)(f)[0] == pytest.approx(1 + best - (share * f).sum(), rel=1e-6, abs=1e-6)


def test_ordinal_loss_over_all_pairs():
    """The sweep gives what a loop over pairs gives."""
    rng = np.random.default_rng(2)
    for _ in range(100):
        y, f = random_list(rng)
        weight = np.maximum(y[:, None] - y, 0)
        slack = 1 - f[:, None].astype(np.float64) + f
        hit = weight * (slack > 0) / weight.sum()
        value, gradient = one_list(y, "ordinal")(f)
        assert value == pytest.approx((hit * slack).sum(), rel=1e-6)
        np.testing.assert_allclose(gradient, hit.sum(axis=0) - hit.sum(axis=1), atol=1e-6)


def test_ndcg_loss_is_an_upper_bound():
    """It is at least 1 - NDCG@k of the order by score."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        y, f = random_list(rng)
        _, gain, discount, _ = parts_of_ndcg(y, 5)
        ndcg = (gain[np.argsort(-f, kind="stable")] * discount).sum()
        assert one_list(y, "ndcg", 5)(f)[0] >= 1 - ndcg - 1e-6


@pytest.mark.parametrize("loss", LISTS)
def test_losses_are_convex(loss):
    """Half way between two points the loss is at most half way; and it lies above the plane of any subgradient."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        y, f = random_list(rng)
        evaluate, other = one_list(y, loss), f + rng.standard_normal(len(f)).astype(np.float32)
        (a, slope), (b, _), (middle, _) = evaluate(f), evaluate(other), evaluate((f + other) / 2)
        tolerance = 1e-5 * (1 + abs(a) + abs(b))
        assert middle <= (a + b) / 2 + tolerance
        assert b >= a + slope @ (other.astype(np.float64) - f) - tolerance


# -- halves -----------------------------------------------------------------------------------------------------------


def small_ratings(n_users=30, n_items=12, per_user=8, seed=0):
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n_users), per_user)
    item = np.concatenate([rng.permutation(n_items)[:per_user] for _ in range(n_users)])
    rating = rng.integers(1, 6, len(user))
    rating[::per_user], rating[1::per_user] = 1, 5
    return Comparisons.from_ratings({"user": user, "item": item, "rating": rating})


def halves_of(comparisons, loss, **params):
    halves = CofiRank(loss=loss, rank=2, n_threads=1, **params)._halves(comparisons)
    halves.start(0)
    return halves


def objective_and_slopes(halves):
    m, c = (np.empty(halves.store.n_entries, np.float32) for _ in range(2))
    core.scores(halves.store, halves.U, halves.V, m, 1)
    return halves._report(core.evaluate_lists(halves._lists, m, c, 1), 0.0)[0], c


@pytest.mark.parametrize("loss", LISTS)
def test_bundle_solves_the_users(loss):
    """Every user ends where a simplex search from elsewhere ends, within the gap that is certified."""
    halves = halves_of(small_ratings(), loss, gap=1e-5)
    halves.solve_items()
    value, gap = halves.solve_users()
    assert 0 <= gap <= 1e-5 and objective_and_slopes(halves)[0] == pytest.approx(value, rel=1e-6)
    for row in halves.U[:4]:
        best = row[:2].copy()

        def objective(u, row=row):
            row[:2] = u
            return objective_and_slopes(halves)[0]

        found = minimize(objective, best + 0.3, method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-7})
        assert found.fun == pytest.approx(value, rel=2e-5)
        row[:2] = best


@pytest.mark.parametrize("loss", LISTS)
def test_bundle_solves_the_items(loss):
    """All items end within the certified gap of the minimum, and subgradient descent comes to the same value."""
    halves = halves_of(small_ratings(), loss, gap=1e-4, item_power=0.0, bias=1.0, reg=1.0)
    value, gap = halves.solve_items()
    assert 0 <= gap <= 1e-4 and objective_and_slopes(halves)[0] == pytest.approx(value, rel=1e-6)
    halves.V[:], least, slope = 0, np.inf, np.empty_like(halves.V)
    for step in range(1, 3000):
        objective, c = objective_and_slopes(halves)
        least = min(least, objective)
        core.item_products(halves.store, c, halves.U, slope, 1)
        halves.V -= np.float32(1 / step) * (slope + halves.V)
    assert value * (1 - 2 * gap) <= least <= value * 1.005


def test_squares_are_at_their_minimum():
    """After either half its gradient, by finite differences of the objective, is zero."""
    halves = halves_of(small_ratings(), "regression")

    def objective():
        loss = 0.5 * float(np.square(halves.slopes(), dtype=np.float64).sum())
        return halves._report(loss, 0.0)[0]

    for side, solve in ((halves.V, halves.solve_items), (halves.U, halves.solve_users)):
        value, _ = solve()
        assert objective() == pytest.approx(value, rel=1e-6)
        for row, column in ((0, 0), (1, 1), (2, 2), (3, 0)):
            kept, moved = side[row, column], []
            for step in (-0.05, 0.05):
                side[row, column] = kept + step
                moved.append(objective())
            side[row, column] = kept
            assert min(moved) > value and abs(moved[0] - moved[1]) < 0.02 * (sum(moved) - 2 * value)


# -- the estimator ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted():
    """Ratings 1 to 5 of 40 items by 200 users, cut from a matrix of rank 2; a third of them is kept apart."""
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 40))
    rating = 1 + np.digitize(truth, [-1.5, -0.5, 0.5, 1.5])
    user, item = np.divmod(np.arange(truth.size), 40)
    table = {"user": user, "item": item, "rating": rating.ravel()}
    train, test = rather.split_ratings(table, per_user=26, seed=0)
    return Comparisons.from_ratings(train), test


@pytest.mark.parametrize("loss", LOSSES)
def test_learns_a_planted_truth(planted, loss):
    """Every loss gets most held-out pairs right, where a global ranking does no better than a coin."""
    train, test = planted
    model = CofiRank(loss=loss, rank=2).fit(train)
    assert rather.pairwise_accuracy(model, Comparisons.from_ratings(test)) > 0.9
    assert rather.ndcg(model, test) > 0.95


@pytest.mark.parametrize("loss", LOSSES)
def test_rounds(planted, loss):
    """The objective never rises, the records count up, and a callback ends the fit."""
    seen = []
    model = CofiRank(loss=loss, rank=3, tol=1e-2, callback=lambda m, r: seen.append(m.score(3, 4)[0])).fit(planted[0])
    objectives = [h["objective"] for h in model.history_]
    assert all(b <= a * (1 + 1e-6) for a, b in pairwise(objectives))
    lowered = [(a - b) / b for a, b in pairwise(objectives)]
    assert [h["gap"] for h in model.history_[1:]] == pytest.approx(lowered) and lowered[-1] <= 1e-2
    assert model.converged_ and len(seen) == len(objectives) > 1 and seen[-1] == model.score(3, 4)[0]
    assert all(h["item_gap"] <= 1e-3 and h["user_gap"] <= 1e-3 for h in model.history_)
    cut = CofiRank(loss=loss, rank=3, tol=0, callback=lambda m, r: r["round"] == 2).fit(planted[0])
    assert len(cut.history_) == 2 and not cut.converged_


@pytest.mark.parametrize("loss", LOSSES)
def test_threads_do_not_show(planted, loss):
    """The same bits at one thread and at three, and from the same seed."""
    a, b = (CofiRank(loss=loss, rank=3, max_iter=2, n_threads=n).fit(planted[0]) for n in (1, 3))
    np.testing.assert_array_equal(a.fitted.scorer.U, b.fitted.scorer.U)
    np.testing.assert_array_equal(a.fitted.scorer.V, b.fitted.scorer.V)


def test_without_bias(planted):
    """bias=False leaves no global part; a number is the ridge of the bias."""
    for loss in LOSSES:
        assert not CofiRank(loss=loss, rank=2, bias=False, max_iter=2).fit(planted[0]).item_bias_.any()
    assert CofiRank(bias=7.0, max_iter=1).fit(planted[0]).bias_reg_ == 7


def test_scale_of_ratings_does_not_matter(planted):
    """Ratings in other units give the same scores, except by ndcg, whose gains are powers of two."""
    r = planted[0].ratings
    scaled = Comparisons.from_ratings({"user": r.user, "item": r.item, "rating": 100 - 7 * r.rating})
    flipped = Comparisons.from_ratings({"user": r.user, "item": r.item, "rating": -r.rating})
    for loss in ("ordinal", "regression"):
        a, b = (CofiRank(loss=loss, rank=2, max_iter=3).fit(data) for data in (scaled, flipped))
        np.testing.assert_allclose(a.score(0, np.arange(40)), b.score(0, np.arange(40)), rtol=1e-3, atol=1e-3)


def test_save_and_load(planted, tmp_path):
    """A loaded model is the model."""
    model = CofiRank(rank=3, max_iter=2).fit(planted[0]).calibrate()
    model.save(tmp_path / "m.rather")
    loaded = rather.load(tmp_path / "m.rather")
    assert isinstance(loaded, CofiRank) and loaded.get_params() == model.get_params() and loaded.reg_ == model.reg_
    np.testing.assert_array_equal(loaded.fitted.scorer.V, model.fitted.scorer.V)
    assert loaded.probability(1, 2, 3) == model.probability(1, 2, 3)
    assert loaded.history_ == model.history_


def test_kept_pairs_and_users_who_rate_all_alike():
    """Only the ratings count, whichever pairs were kept; a user who rated all alike has the global ranking."""
    table = {"user": [0, 0, 0, 1, 1, 2, 2], "item": [0, 1, 2, 0, 1, 0, 2], "rating": [5, 3, 1, 4, 2, 3, 3]}
    a, b = (
        CofiRank(rank=1, n_threads=1).fit(Comparisons.from_ratings(table, keep=keep)) for keep in ("all", "largest-gap")
    )
    np.testing.assert_array_equal(a.fitted.scorer.V, b.fitted.scorer.V)
    assert not a.user_factors_[2].any()


def test_bad_input(planted):
    """One sentence says what is wrong and what to do."""
    with pytest.raises(InputError, match=r"learns from ratings, .* have none .*from_ratings"):
        CofiRank().fit(simulate(n_users=9, n_items=5, rank=1, per_user=4, seed=0).comparisons)
    rankings = Comparisons.from_rankings({"user": [0, 0], "item": [1, 2], "rank": [1, 2]})
    assert CofiRank(rank=1).fit(rankings).rank(0)["item"].tolist() == [1, 2]
    with pytest.raises(InputError, match=r"from -2 to -1; loss='ndcg' .* use loss='ordinal'"):
        CofiRank(loss="ndcg").fit(rankings)
    for params, message in [
        ({"rank": 0}, "rank is 0"),
        ({"loss": "hinge"}, "loss is 'hinge'"),
        ({"reg": 0}, "reg is 0"),
        ({"bias": -1}, "bias is -1"),
        ({"item_power": 3}, "item_power is 3"),
        ({"k": 0}, "k is 0"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"tol": -1}, "tol is -1"),
        ({"gap": 0}, "gap is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"n_threads": 0}, "n_threads is 0"),
        ({"callback": 3}, "callback is 3"),
    ]:
        with pytest.raises(InputError, match=message):
            CofiRank(**params).fit(planted[0])


@pytest.mark.data
@pytest.mark.parametrize(
    "loss", [pytest.param(loss, marks=pytest.mark.thorough) if loss == "ndcg" else loss for loss in LOSSES]
)
def test_movielens(data, loss):
    """Close to what the paper reports for 20 ratings a user (0.7333) or better."""
    import pyarrow.parquet

    ratings = pyarrow.parquet.read_table(data / "ml-1m" / "ratings.parquet", columns=["user", "item", "rating"])
    train, test = rather.split_ratings(ratings, per_user=20, seed=0)
    model = CofiRank(loss=loss, max_iter=3).fit(Comparisons.from_ratings(train))
    assert rather.ndcg(model, test) > 0.7333 - 0.01
