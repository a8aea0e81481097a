"""Differences: exact least squares in each half, on ratings and on pairs written down."""

from itertools import pairwise

import numpy as np
import pytest

import rather
from rather import Comparisons, Differences, InputError
from rather.rivals.gaps import gap_problem


def some_ratings(seed=0, n_users=12, n_items=15):
    rng = np.random.default_rng(seed)
    user, item = np.nonzero(rng.random((n_users, n_items)) < 0.6)
    taste = rng.normal(size=(n_users, 2)) @ rng.normal(size=(2, n_items)) + rng.normal(size=n_items)
    return Comparisons.from_ratings({"user": user, "item": item, "rating": np.round(taste[user, item]).clip(-3, 3)})


KINDS = {
    "ratings": some_ratings,
    "pairs written down": lambda: some_ratings().split(test=0.3, seed=1)[0],
    "largest gaps": lambda: Comparisons.from_ratings(
        {"user": [0] * 4 + [1] * 4, "item": [0, 1, 2, 3] * 2, "rating": [1, 2, 4, 5, 5, 1, 2, 4]}, keep="largest-gap"
    ),
}


def problem_of(comparisons, rank=3, n_threads=2):
    return gap_problem(
        comparisons.source, rank=rank, loss="squared_difference", reg=2.0, item_power=0.5, balance=0.5,
        n_threads=n_threads, seed=0,
    )  # fmt: skip


def rows_of(comparisons, problem):
    """Every pair the loss is over, as (user, j, k, gap, weight): with ratings, those rated the same too."""
    weight = problem.scales.user_weight
    if comparisons.source.written:
        p = comparisons.pairs()
        return p.user, p.winner, p.loser, p.gap.astype(float), weight[p.user].astype(float)
    r = comparisons.ratings
    a, b = np.triu_indices(len(r.user), 1)
    informative = np.diff(problem.store.start)[r.user[a]] > 0
    same = (r.user[a] == r.user[b]) & informative
    a, b = a[same], b[same]
    return r.user[a], r.item[a], r.item[b], r.rating[a] - r.rating[b], weight[r.user[a]].astype(float)


def objective(comparisons, problem):
    i, j, k, gap, weight = rows_of(comparisons, problem)
    U, V = problem.U.astype(float), problem.V.astype(float)
    x = np.einsum("tc,tc->t", U[i], V[j] - V[k])
    return (weight * (gap - x) ** 2).sum() + problem.penalty()


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_over_the_pairs_given(kind):
    """The loss equals the sum over pairs one by one."""
    comparisons = KINDS[kind]()
    problem = problem_of(comparisons)
    assert problem.objective() == pytest.approx(objective(comparisons, problem), rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_halves_against_dense_least_squares(kind):
    """Each half's solution is that of the dense normal equations."""
    comparisons = KINDS[kind]()
    problem = problem_of(comparisons)
    i, j, k, gap, weight = rows_of(comparisons, problem)
    n_items, r = problem.store.n_items, problem.rank

    for _ in range(3):
        problem.item_step(cg_steps=400, cg_tol=1e-6)
    X = np.zeros((len(i), n_items, r + 1))
    t = np.arange(len(i))
    X[t, j] += problem.U[i, : r + 1]
    X[t, k] -= problem.U[i, : r + 1]
    X = X.reshape(len(i), -1)
    ridge = np.column_stack((np.repeat(problem.q[:, None], r, 1), problem.beta)).ravel()
    exact = np.linalg.solve(2 * X.T @ (weight[:, None] * X) + np.diag(ridge), 2 * X.T @ (weight * gap))
    np.testing.assert_allclose(problem.V[:, : r + 1].ravel(), exact, atol=2e-3 * np.abs(exact).max())

    problem.user_step(newton_steps=3, cg_steps=100, cg_tol=1e-6)
    V = problem.V.astype(float)
    for user in range(problem.store.n_users):
        own = i == user
        X, y = V[j[own], :r] - V[k[own], :r], gap[own] - (V[j[own], r] - V[k[own], r])
        w = weight[own]
        exact = np.linalg.solve(2 * X.T @ (w[:, None] * X) + problem.p[user] * np.eye(r), 2 * X.T @ (w * y))
        np.testing.assert_allclose(problem.U[user, :r], exact, atol=2e-3 * max(np.abs(exact).max(), 0.1))


@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_never_rises(kind):
    model = Differences(rank=3, tol=0).fit(KINDS[kind]())
    found = [record["objective"] for record in model.history_]
    assert len(found) == 30 and all(b <= a * (1 + 1e-6) for a, b in pairwise(found))


def test_exact_differences_are_found():
    """Ratings that are exactly of low rank, with hardly a ridge: the differences come out, by hand."""
    frame = {"user": [0, 0, 0, 1, 1, 1], "item": [0, 1, 2] * 2, "rating": [1, 2, 4, 4, 3, 1]}
    model = Differences(rank=2, reg=1e-3, tol=0, max_iter=200).fit(Comparisons.from_ratings(frame))
    s = model.score([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2)
    np.testing.assert_allclose(s[1:3] - s[0], [1, 3], atol=0.02)
    np.testing.assert_allclose(s[4:] - s[3], [-1, -3], atol=0.02)


def test_threads_and_runs_agree():
    """The same bits on one thread, on three, and again."""
    comparisons = some_ratings()
    factors = [Differences(rank=3, n_threads=n).fit(comparisons).user_factors_ for n in (1, 3, 3)]
    assert all((f == factors[0]).all() for f in factors)


def test_loaded_is_saved(tmp_path):
    model = Differences(rank=3).fit(some_ratings())
    model.save(tmp_path / "m.rather")
    loaded = rather.load(tmp_path / "m.rather")
    assert (loaded.score(3, loaded.items_) == model.score(3, model.items_)).all()
    assert (loaded.reg_, loaded.slope_, loaded.history_) == (model.reg_, model.slope_, model.history_)


def test_a_constant_per_user_does_not_matter():
    """Only differences count: the same ratings plus a constant per user give the same scores."""
    r = some_ratings().ratings
    frame = {"user": r.user, "item": r.item}
    a, b = (Comparisons.from_ratings({**frame, "rating": r.rating + shift}) for shift in (0, 1000 * r.user))
    a, b = (Differences(rank=2).fit(c).item_factors_ for c in (a, b))
    np.testing.assert_allclose(a, b, atol=1e-4)


def test_interrupted_and_stopped():
    """Ctrl-C leaves a usable model and says so; a callback stops the fit."""

    def interrupt(model, record):
        if record["round"] == 2:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted after 2 rounds"):
        model = Differences(rank=2, tol=0, callback=interrupt).fit(some_ratings())
    assert model.interrupted_ and len(model.history_) == 2 and len(model.rank(0)) == 15
    assert len(Differences(rank=2, tol=0, callback=lambda *_: True).fit(some_ratings()).history_) == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"rank": 0}, "rank is 0"),
        ({"reg": -1}, "reg is -1"),
        ({"reg": "cv"}, "reg is 'cv'"),
        ({"item_power": 3}, "item_power is 3"),
        ({"balance": -0.1}, "balance is -0.1"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"tol": -1}, "tol is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"n_threads": 0}, "n_threads is 0"),
        ({"callback": 3}, "callback is 3"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(InputError, match=message):
        Differences(**params).fit(some_ratings())


def test_votes_are_refused():
    """Comparisons that do not say by how much get a sentence that says what to do."""
    votes = Comparisons.from_frame({"user": [0], "winner": ["a"], "loser": ["b"]})
    with pytest.raises(InputError, match=r"Differences learns from the ratings .* Comparisons\.from_ratings"):
        Differences().fit(votes)
    with pytest.raises(InputError, match="ratings"):
        Differences().fit(np.array([[0, 0, 1]]), np.array([1]))


@pytest.mark.parametrize("keep", ["all", "largest-gap"])
@pytest.mark.parametrize("size", [1e30, 1e-20])
def test_extreme_ratings_are_refused(size, keep):
    frame = {"user": [0, 0, 1, 1], "item": [0, 1, 0, 1], "rating": [0, size, size, 0]}
    with pytest.raises(InputError, match=r"1e[+-].*; for Differences it must be from 1e-06 to 1e\+06"):
        Differences().fit(Comparisons.from_ratings(frame, keep=keep))


def test_losses_that_see_no_gaps_ignore_them():
    """AltSVM on pairs with gaps is AltSVM on the same pairs without."""
    with_gaps = KINDS["pairs written down"]()
    p = with_gaps.pairs()
    votes = Comparisons.from_frame({"user": p.user, "winner": p.winner, "loser": p.loser})
    a, b = (rather.AltSVM(rank=2, reg=3.0, bias=3.0, balance=0.5).fit(c).item_factors_ for c in (with_gaps, votes))
    assert (a == b).all()


@pytest.mark.data
def test_movielens_as_good_as_altsvm_was(data):
    """MovieLens 1M at N = 50: as good as the paper's AltSVM."""
    import pyarrow.parquet

    frame = pyarrow.parquet.read_table(data / "ml-1m" / "ratings.parquet", columns=["user", "item", "rating"])
    train, test = rather.split_ratings(frame, per_user=50, seed=0)
    assert rather.ndcg(Differences().fit(Comparisons.from_ratings(train)), test, k=10) > 0.77
