"""Global: one ranking, against closed forms and an independent solver."""

import numpy as np
import pytest
from scipy.optimize import minimize

import rather
from rather import Comparisons, Global
from reference import LOSSES


def test_two_items_by_hand():
    """Three votes against one, ridge q: the optimal x = b_A - b_B solves 6 (1 - x) - 2 (1 + x) = q x / 2."""
    votes = {"user": list("abcd"), "winner": list("AAAB"), "loser": list("BBBA")}
    model = Global(reg=2.0, item_power=0.0, tol=1e-9).fit(Comparisons.from_frame(votes))
    x = 4 / (8 + 2.0 / 2)  # the ridge of b = (x / 2, -x / 2) is q x^2 / 4
    assert model.item_bias_.tolist() == pytest.approx([x / 2, -x / 2], abs=1e-6)
    assert model.converged_ and model.history_[-1]["objective"] == pytest.approx(
        3 * (1 - x) ** 2 + (1 + x) ** 2 + 0.5 * 2 * (x**2 / 2), rel=1e-6
    )


def test_bradley_terry():
    """With the logistic loss and hardly any ridge: the maximum-likelihood strengths of two items are log odds."""
    votes = {"user": [0] * 10, "winner": ["A"] * 7 + ["B"] * 3, "loser": ["B"] * 7 + ["A"] * 3}
    model = Global(loss="logistic", reg=1e-6, tol=1e-10).fit(Comparisons.from_frame(votes))
    assert float(np.diff(model.item_bias_)[0]) == pytest.approx(-np.log(7 / 3), abs=1e-4)


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
        balance = rather.AltSVM(rank=2).fit(comparisons).user_rule_.balance
        model, same = Global(reg=2.0).fit(comparisons), Global(reg=2.0, balance=balance).fit(comparisons)
        assert model.user_rule_.balance == balance
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


@pytest.mark.data
def test_movielens_1m(data):
    """NDCG@10 by the paper's protocol: the paper reports 0.7500, 0.7501, 0.7482."""
    import pyarrow.parquet

    frame = pyarrow.parquet.read_table(data / "ml-1m" / "ratings.parquet", columns=["user", "item", "rating"])
    for per_user, at_least in ((20, 0.750), (50, 0.750), (100, 0.748)):
        train, test = rather.split_ratings(frame, per_user=per_user, seed=0)
        assert rather.ndcg(Global().fit(Comparisons.from_ratings(train)), test, k=10) > at_least
