"""Global: one ranking, against closed forms and an independent solver."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit

import rather
from rather import Comparisons, Global
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
    """Of two items only their margin x is known: its Laplace evidence times the prior, maximised by itself."""

    def value(log_r, won=14, lost=6):
        r = np.exp(log_r)  # the prior variance of x is 2 / r
        x = brentq(lambda x: won * expit(-x) - lost * expit(x) - r / 2 * x, -20, 20)
        loss = won * np.logaddexp(0, -x) + lost * np.logaddexp(0, x) + r / 4 * x * x
        h = (won + lost) * expit(x) * expit(-x)
        return loss + 0.5 * np.log(h + r / 2) - 0.5 * np.log(r / 2) + 0.5 * ((log_r + np.log(TYPICAL)) / SPREAD) ** 2

    votes = {"winner": ["a"] * 14 + ["b"] * 6, "loser": ["b"] * 14 + ["a"] * 6}
    best = minimize(lambda t: value(t[0]), [0.0], method="Nelder-Mead", options={"xatol": 1e-6}).x[0]
    assert np.log(Global().fit(one_ranking(votes)).reg_) == pytest.approx(best, abs=0.01)


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


@pytest.mark.parametrize("users", [None, 40])
def test_intervals_cover_true_places(users):
    """About nine in ten true places are within intervals of 0.9, at any number of votes, whoever gave them."""
    for n, worlds in ((10, 50), (100, 20), (1000, 8), (10_000, 4)):
        held = []
        for seed in range(worlds):
            rng = np.random.default_rng(seed)
            worth = 0.7 * rng.standard_normal(50)
            votes = votes_of(worth, n, seed, **({} if users is None else {"user": rng.integers(0, users, n)}))
            model = Global().fit(one_ranking(votes))
            table = model.rank(interval=0.9)
            place = (-worth[table["item"]]).argsort().argsort() + 1
            held.append(((table["best"] <= place) & (place <= table["worst"])).mean())
        assert 0.86 <= np.mean(held) <= 0.95


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
