"""Global: one ranking, against closed forms and an independent solver."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

import rather
from rather import Comparisons, Global
from rather.models.places import shortest
from rather.solving import bradley_terry
from rather.solving.bradley_terry import SPREAD, TYPICAL
from reference import LOSSES


def votes_of(worth, n, seed=0, **columns):
    """Votes between random pairs of items, by the Bradley-Terry model."""
    rng = np.random.default_rng(seed)
    j = rng.integers(0, len(worth), n)
    k = (j + rng.integers(1, len(worth), n)) % len(worth)
    won = rng.random(n) < expit(worth[j] - worth[k])
    return {"winner": np.where(won, j, k), "loser": np.where(won, k, j), **columns}


def one_ranking(votes, **columns):
    return Comparisons.from_frame(votes, user="user" if "user" in votes else None, **columns)


def optimum(n, winner, loser, weight, ridge):
    """Bradley-Terry scores of a ridge, from Newton steps on every vote by itself."""
    b = np.zeros(n)
    for _ in range(100):
        p = expit(b[loser] - b[winner])
        slope, H = ridge * b, np.diag(np.full(n, float(ridge)))
        for item, sign in ((winner, -1), (loser, 1)):
            np.add.at(slope, item, sign * weight * p)
        h = weight * p * (1 - p)
        for at in ((winner, winner), (loser, loser)):
            np.add.at(H, at, h)
        for at in ((winner, loser), (loser, winner)):
            np.add.at(H, at, -h)
        step = np.linalg.solve(H, slope)
        b -= step / max(1.0, np.abs(step).max())
    return b


def test_two_items_by_hand():
    """Three votes against one, ridge q: the optimal x = b_A - b_B solves 6 (1 - x) - 2 (1 + x) = q x / 2."""
    votes = {"user": list("abcd"), "winner": list("AAAB"), "loser": list("BBBA")}
    model = Global(reg=2.0, loss="squared_hinge", item_power=0.0, tol=1e-9).fit(Comparisons.from_frame(votes))
    x = 4 / (8 + 2.0 / 2)  # the ridge of b = (x / 2, -x / 2) is q x^2 / 4
    assert model.item_bias_.tolist() == pytest.approx([x / 2, -x / 2], abs=1e-6)
    assert model.converged_ and model.history_[-1]["objective"] == pytest.approx(
        3 * (1 - x) ** 2 + (1 + x) ** 2 + 0.5 * 2 * (x**2 / 2), rel=1e-6
    )


def test_bradley_terry():
    """With the logistic loss and hardly any ridge: the maximum-likelihood strengths of two items are log odds."""
    votes = {"user": [0] * 10, "winner": ["A"] * 7 + ["B"] * 3, "loser": ["B"] * 7 + ["A"] * 3}
    model = Global(reg=1e-9, tol=1e-10).fit(Comparisons.from_frame(votes))
    assert float(np.diff(model.item_bias_)[0]) == pytest.approx(-np.log(7 / 3), abs=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "hinge"])
def test_against_another_solver(loss):
    """The objective reached is the minimum that a general solver finds; the smooth losses go down step by step."""
    comparisons = rather.simulate(n_users=40, n_items=12, per_user=20, seed=1).comparisons
    tol = 1e-4 if loss == "hinge" else 1e-6
    model = Global(loss=loss, reg=3.0, item_power=0.0, tol=tol).fit(comparisons)
    p, value = comparisons.pairs(), LOSSES[loss][0]

    def objective(b):
        return value(b[p.winner] - b[p.loser]).sum() + 1.5 * (b**2).sum()

    found = minimize(objective, np.zeros(12), method="Powell", options={"maxiter": 20000, "xtol": 1e-8, "ftol": 1e-12})
    assert model.converged_ and model.history_[-1]["objective"] <= found.fun * (1 + max(tol, 1e-5))
    assert objective(model.item_bias_.astype(float)) == pytest.approx(model.history_[-1]["objective"], rel=1e-5)
    if loss != "hinge":
        assert all(np.diff([record["objective"] for record in model.history_]) <= 1e-3)


@pytest.mark.parametrize(("item_power", "balance"), [(0.0, 0.7), (0.5, 0.0), (1.0, 0.3)])
def test_weights_and_ridges(item_power, balance):
    """At the minimum the gradient is zero, with users' weights N^-balance and ridges reg (n_j / n)^item_power."""
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(15), np.arange(1, 16))
    winner, loser = np.sort([rng.permutation(8)[:2] for _ in user], axis=1).T
    rare = (winner == 0) & (user % 3 > 0)
    votes = {"user": user[~rare], "winner": winner[~rare], "loser": loser[~rare]}
    model = Global(loss="logistic", reg=2.0, item_power=item_power, balance=balance, tol=1e-10)
    model.fit(Comparisons.from_frame(votes))
    user, winner, loser = votes.values()
    b = model.item_bias_.astype(float)
    slope = LOSSES["logistic"][1](b[winner] - b[loser]) * np.bincount(user)[user] ** -float(balance)
    n = np.array([len({*user[winner == j], *user[loser == j]}) for j in range(8)])
    ridge = 2.0 * (n / ((n**2).sum() / n.sum())) ** item_power
    gradient = np.bincount(winner, slope, 8) - np.bincount(loser, slope, 8) + ridge * b
    assert np.abs(gradient).max() < 1e-4 < 1e-2 < np.abs(ridge * b).max()


def test_the_default_balance_is_altsvms():
    """Ratings weigh users by their number of comparisons, votes do not."""
    world = rather.simulate(n_users=15, n_items=8, per_user=6, levels=4, seed=0)
    for comparisons in (world.comparisons, rather.simulate(n_users=15, n_items=8, per_user=6).comparisons):
        balance = rather.AltSVM(rank=2).fit(comparisons).fitted.user_rule.balance
        model, same = Global(reg=2.0).fit(comparisons), Global(reg=2.0, balance=balance).fit(comparisons)
        assert model.fitted.user_rule.balance == balance
        np.testing.assert_array_equal(model.item_bias_, same.item_bias_)
        assert (balance > 0) == (comparisons is world.comparisons)


def test_everybody_gets_the_same():
    """Users and newcomers share one ranking, and one vote of theirs does not change it."""
    comparisons = rather.simulate(n_users=20, n_items=8, per_user=20).comparisons
    model = Global().fit(comparisons)
    first = model.rank("user 0")["item"].tolist()
    assert (
        first
        == model.rank("user 13")["item"].tolist()
        == model.fold_in([(first[-1], first[0])]).rank()["item"].tolist()
    )


@pytest.mark.parametrize("dense", [2000, 5])
def test_logistic_scores_are_at_the_optimum(dense, monkeypatch):
    """Scores are within 1e-6 of an optimum in double precision, by factorisation and by conjugate gradients."""
    monkeypatch.setattr(bradley_terry, "DENSE", dense)
    worth = np.random.default_rng(1).standard_normal(30) * 1.5
    for n, reg in ((40, None), (400, None), (4000, None), (4000, 0.01), (400, 1e-4)):
        votes = votes_of(worth, n, weight=np.random.default_rng(n).integers(1, 4, n))
        comparisons = one_ranking(votes, weight="weight")
        model = Global(reg=reg).fit(comparisons)
        p = comparisons.pairs()
        best = optimum(comparisons.n_items, p.winner, p.loser, p.weights(), model.reg_)
        assert model.converged_ and np.abs(model.item_bias_ - best).max() <= 1e-6
        assert len(model.history_) < 20


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_no_idle_rounds(loss):
    """A tolerance beyond reach ends a fit where nothing is left to gain."""
    model = Global(loss=loss, tol=0.0, max_iter=500).fit(one_ranking(votes_of(np.linspace(-1, 1, 12), 500)))
    assert len(model.history_) < 30
    assert model.converged_ == (loss == "logistic") and model.history_[-1]["gap"] < 1e-10


@pytest.mark.parametrize("tol", [1e-5, 0.0])
def test_a_hinge_comes_near_its_optimum_at_any_tol(tol):
    """Rounds in which the gap grows for a while are no end, and no tolerance is too small to smooth a hinge less."""
    comparisons = rather.simulate(200, 40, per_user=30, seed=3).comparisons
    model = Global(loss="hinge", reg=3.0, item_power=0.0, tol=tol, max_iter=500).fit(comparisons)
    assert len(model.history_) < 150 and model.history_[-1]["gap"] < 1e-4


def test_logistic_scores_of_ratings_are_at_the_optimum():
    """Ratings have weights N^-balance and ridges of their own, and the same double precision."""
    comparisons = rather.simulate(n_users=60, n_items=20, per_user=12, levels=5, seed=0).comparisons
    model = Global(loss="logistic", item_power=0.0, balance=0.5, reg=2.0).fit(comparisons)
    p = comparisons.pairs()
    weight = p.weights() * np.bincount(p.user)[p.user] ** -0.5
    best = optimum(comparisons.n_items, p.winner, p.loser, weight, 2.0)
    assert model.converged_ and np.abs(model.item_bias_ - best).max() <= 1e-6


def test_choix_by_a_closed_form():
    """The first example of choix: of three items on a circle, one of which wins against the one before 3 of 4 times."""
    votes = {"winner": [0, 0, 0, 1, 1, 1, 1, 2], "loser": [1, 1, 1, 0, 2, 2, 2, 1]}
    model = Global(reg=1e-9).fit(one_ranking(votes))
    assert np.diff(model.item_bias_).tolist() == pytest.approx([-np.log(3), -np.log(3)], abs=1e-6)


def test_strengths_by_another_algorithm():
    """Minorisation and maximisation, by which evalica solves the model, finds the scores that Global finds."""
    votes = votes_of(np.linspace(-1, 1, 8), 600, seed=3)
    wins = np.zeros((8, 8))
    np.add.at(wins, (votes["winner"], votes["loser"]), 1)
    strength = np.ones(8)
    for _ in range(5000):
        strength = wins.sum(axis=1) / ((wins + wins.T) / (strength[:, None] + strength)).sum(axis=1)
        strength /= np.exp(np.log(strength).mean())
    model = Global(reg=1e-7).fit(one_ranking(votes))
    assert np.abs(model.item_bias_ - np.log(strength)).max() < 1e-6


def test_the_loss_follows_the_data():
    votes = {"user": [0, 1], "winner": ["a", "b"], "loser": ["b", "c"]}
    menus = {"user": [0] * 3, "menu": [0] * 3, "item": list("abc"), "chosen": [1, 0, 0]}
    arena = {"left": ["a"], "right": ["b"], "outcome": ["left"]}
    ratings = {"user": [0, 0, 1, 1], "item": list("abac"), "rating": [1, 2, 3, 4]}
    for made in (
        Comparisons.from_frame(votes),
        Comparisons.from_menus(menus),
        Comparisons.from_arena(arena, user=None),
    ):
        assert Global().fit(made).loss_ == "logistic"
    ranked = {"user": ratings["user"], "item": ratings["item"], "rank": ratings["rating"]}
    for made in (Comparisons.from_ratings(ratings), Comparisons.from_rankings(ranked)):
        assert Global().fit(made).loss_ == "squared_hinge"
    assert Global(loss="hinge").fit(Comparisons.from_frame(votes)).loss_ == "hinge"


@pytest.mark.parametrize("users", [None, 1, 5, 1000])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
def test_the_ridge_does_not_grow_with_the_votes(users, loss):
    """More votes have about one ridge, whoever gave them, and their fit tends to the maximum likelihood."""
    worth = np.linspace(-1.5, 1.5, 15)
    made = []
    for n in (500, 20_000):
        votes = votes_of(worth, n, **({} if users is None else {"user": np.arange(n) % users}))
        made.append(Global(loss=loss).fit(one_ranking(votes)))
    assert 0.5 < made[1].reg_ / made[0].reg_ < 2
    if loss == "logistic":
        free = Global(reg=1e-8).fit(one_ranking(votes)).item_bias_
        assert np.abs(made[1].item_bias_ - free).max() < 0.01
        assert np.abs(made[1].item_bias_ - worth).max() < 0.15


def test_the_ridge_has_the_largest_evidence():
    """Of two items only their margin x is known: its evidence, integrated numerically, times the prior."""
    for won, lost in ((14, 6), (3, 0), (150, 50)):

        def value(log_r, won=won, lost=lost):
            sd, most = np.sqrt(2 / np.exp(log_r)), won * np.log(won) + lost * np.log(max(lost, 1))
            most -= (won + lost) * np.log(won + lost)  # the largest log-likelihood

            def density(x):
                return norm.pdf(x, 0, sd) * np.exp(-won * np.logaddexp(0, -x) - lost * np.logaddexp(0, x) - most)

            evidence = quad(density, -8 * sd, 8 * sd, limit=200)[0]
            return 0.5 * ((log_r + np.log(TYPICAL)) / SPREAD) ** 2 - np.log(evidence)

        votes = {"winner": ["a"] * won + ["b"] * lost, "loser": ["b"] * won + ["a"] * lost}
        best = minimize(lambda t: value(t[0]), [0.0], method="Nelder-Mead", options={"xatol": 1e-6}).x[0]
        assert np.log(Global().fit(one_ranking(votes)).reg_) == pytest.approx(best, abs=0.01)


def test_pairs_that_share_no_item_do_not_move_the_ridge():
    """One vote on each of many pairs says nothing of the prior variance: either item wins with probability 1/2."""
    votes = {"winner": np.arange(0, 400, 2), "loser": np.arange(1, 400, 2)}
    assert Global().fit(one_ranking(votes)).reg_ == pytest.approx(1 / TYPICAL, rel=0.01)


def test_weights_have_no_unit():
    """All weights times a number change the ridge by it, and no score, interval or probability."""
    votes = votes_of(np.linspace(-1, 1, 10), 200)
    made = []
    for weight in (1e-3, 1.0, 500.0):
        model = Global().fit(one_ranking({**votes, "weight": np.full(200, weight)}, weight="weight"))
        table = model.rank(interval=0.9)
        made.append((model.reg_ / weight, model.item_bias_, table["best"].tolist(), table["worst"].tolist()))
    for other in (made[0], made[2]):
        assert other[0] == pytest.approx(made[1][0], rel=0.01)
        assert other[1] == pytest.approx(made[1][1], abs=1e-3)
        assert np.abs(np.subtract(other[2:], made[1][2:])).max() <= 1


def test_ties_pull_items_together():
    decided = {"winner": ["a"] * 6, "loser": ["b"] * 6}
    tied = {name: column + column for name, column in decided.items()}
    tied["tie"] = [False] * 6 + [True] * 6
    gaps = [
        model.item_bias_[0] - model.item_bias_[1]
        for model in (Global(reg=1.0).fit(one_ranking(decided)), Global(reg=1.0).fit(one_ranking(tied, tie="tie")))
    ]
    assert 0 < gaps[1] < gaps[0]
    nothing = Global().fit(one_ranking({"winner": ["a"], "loser": ["b"], "tie": [True]}, tie="tie"))
    assert nothing.item_bias_.tolist() == [0, 0] and nothing.converged_


def test_scores_of_votes_are_log_odds():
    """Probabilities are the model's own where the evidence chose the ridge; others have a slope from held-out votes."""
    votes = one_ranking(votes_of(np.linspace(-1, 1, 10), 300))
    model = Global().fit(votes)
    gap = model.item_bias_[9] - model.item_bias_[0]
    assert model.probability("everyone", 9, 0)[0] == pytest.approx(expit(gap), abs=1e-6)
    assert model.slope_ == 1 and Global(reg=300.0).fit(votes).calibrate().slope_ > 2
    assert model.fitted.slope.found.log_loss < np.log(2)


def givers(kind, n, rng):
    """Return who gave n votes: nobody named, one of so many users, or one of 20 of whom one gave that share."""
    if kind is None:
        return {}
    if kind < 1:
        return {"user": np.where(rng.random(n) < kind, 0, rng.integers(1, 20, n))}
    return {"user": rng.integers(0, kind, n)}


def covered(users, n_items, sd, n, worlds):
    """Return the share of true places, and of true scores, within intervals of 0.9."""
    places, scores = [], []
    for seed in range(worlds):
        rng = np.random.default_rng([seed, n_items, n])
        worth = sd * rng.standard_normal(n_items)
        model = Global().fit(one_ranking(votes_of(worth, n, seed, **givers(users, n, rng))))
        table, known = model.rank(interval=0.9), worth[model.items_]
        place = (-worth[table["item"]]).argsort().argsort() + 1
        places.append(((table["best"] <= place) & (place <= table["worst"])).mean())
        draws = model._everyones_draws()
        low, high = np.quantile(draws - draws.mean(axis=1, keepdims=True), [0.05, 0.95], axis=0)
        scores.append(((low <= known - known.mean()) & (known - known.mean() <= high)).mean())
    return np.mean(places), np.mean(scores)


@pytest.mark.parametrize("users", [None, pytest.param(40, marks=pytest.mark.thorough), 0.9])
def test_intervals_cover_true_places(users):
    """About nine in ten true places are within intervals of 0.9, at any number of votes, whoever gave them."""
    for n, worlds in ((10, 50), (100, 20), (1000, 8), (10_000, 4)):
        assert 0.86 <= covered(users, 50, 0.7, n, worlds)[0] <= 0.95


@pytest.mark.thorough
@pytest.mark.parametrize("users", [None, 500, 0.9])
@pytest.mark.parametrize(("n", "worlds"), [(10, 50), (100, 30), (1000, 20), (10_000, 12)])
def test_intervals_cover_in_other_worlds(users, n, worlds):
    """Places are covered with 20 items as with 100, and scores, too, where votes tell more than the prior."""
    places, scores = np.mean(
        [covered(users, items, sd, n, worlds) for items, sd in ((20, 0.5), (20, 1.0), (100, 0.7))], axis=0
    )
    assert 0.87 <= places <= 0.94
    assert n < 1000 or 0.87 <= scores <= 0.94


@pytest.mark.parametrize("users", [None, 0.9, 0.99, 200])
@pytest.mark.parametrize("n_items", [2, 6])
def test_intervals_are_as_wide_as_the_votes_leave_them(users, n_items):
    """Users of one taste give draws about as wide as the posterior, be they many or one who gave most of the votes."""
    votes = votes_of(np.linspace(-0.8, 0.8, n_items), 4000)
    votes |= givers(users, 4000, np.random.default_rng(0))
    model = Global().fit(one_ranking(votes))
    b, H = model.item_bias_.astype(float), np.eye(n_items) * model.reg_
    p = expit(b[votes["winner"]] - b[votes["loser"]])
    for a, c, sign in (
        ("winner", "winner", 1),
        ("loser", "loser", 1),
        ("winner", "loser", -1),
        ("loser", "winner", -1),
    ):
        np.add.at(H, (votes[a], votes[c]), sign * p * (1 - p))
    apart = np.eye(n_items) - 1 / n_items
    expected = np.trace(apart @ np.linalg.inv(H) @ apart)
    assert np.sqrt((model._everyones_draws() @ apart).var(axis=0).sum() / expected) == pytest.approx(1, abs=0.1)


def test_ranges_hold_the_share_that_is_nearest():
    """A range of whole places holds about the wanted share: one place fewer, if its share is nearer."""
    columns = [[1] * 82 + [2] * 18, [1] * 78 + [2] * 22, [*range(1, 101)], [3] * 100, [1] * 5 + [2] * 90 + [3] * 5]
    best, worst = shortest(np.array(columns).T, 0.9)
    assert list(zip(best, worst, strict=True)) == [(1, 1), (1, 2), (1, 90), (3, 3), (2, 2)]


def test_all_answers_of_one_user_count():
    """Intervals of one user's votes get narrower by the square root of their number, beyond 2,000 of them too."""
    worth, spread = np.linspace(-1, 1, 40), []
    for n in (2_000, 32_000):
        model = Global().fit(one_ranking(votes_of(worth, n)))
        spread.append(model._everyones_draws().std(axis=0).mean())
    assert 3 < spread[0] / spread[1] < 5


@pytest.mark.data
def test_movielens_1m(data):
    """NDCG@10 by the paper's protocol: the paper reports 0.7500, 0.7501, 0.7482."""
    import pyarrow.parquet

    frame = pyarrow.parquet.read_table(data / "ml-1m" / "ratings.parquet", columns=["user", "item", "rating"])
    for per_user, at_least in ((20, 0.750), (50, 0.750), (100, 0.748)):
        train, test = rather.split_ratings(frame, per_user=per_user, seed=0)
        assert rather.ndcg(Global().fit(Comparisons.from_ratings(train)), test, k=10) > at_least
