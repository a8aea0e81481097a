"""Both solvers against independent ones, against each other, and against their own promises."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from handmade import written
from rather import AltSVM, Comparisons, PaperAltSVM, simulate
from rather.models.newcomers import solve_users
from rather.native import core
from rather.solving.newton import Newton
from rather.solving.problem import Problem
from rather.solving.scales import scales
from rather.solving.sdca import Sdca
from rather.solving.spectrum import scaled_slopes
from rather.solving.start import spectral, uniform
from reference import LOSSES, objective
from test_passes import KINDS, make_problem

ALL_LOSSES = list(LOSSES)


def one_user(rng, n_pairs=80, n_items=25):
    j = rng.integers(0, n_items, n_pairs)
    return Comparisons.from_frame(
        {"user": [0] * n_pairs, "winner": j, "loser": (j + rng.integers(1, n_items, n_pairs)) % n_items}
    )


def reference_user(problem, comparisons, loss):
    """The first user's vector by scikit-learn (bias as an offset is not in its model, so there must be none)."""
    pairs = comparisons.pairs()
    x = (problem.V[pairs.winner] - problem.V[pairs.loser])[:, : problem.rank].astype(float)
    X, y = np.concatenate((x, -x)), np.repeat([1, -1], len(x))  # two classes; every comparison twice
    C = 0.5 / float(problem.p[0])
    if loss == "logistic":
        model = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10000)
    else:
        model = LinearSVC(C=C, loss=loss, dual=loss == "hinge", fit_intercept=False, tol=1e-9, max_iter=10**6)
    return model.fit(X, y).coef_[0]


@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_user_half_against_scikit_learn(loss):
    """The user half is the SVM that scikit-learn solves: the same objective to 1e-4, by Newton and by SDCA."""
    comparisons = one_user(np.random.default_rng(0))
    problem = make_problem(comparisons, loss, bias=False, n_threads=1)
    u = reference_user(problem, comparisons, loss)
    problem.U[0, : problem.rank] = u
    best = objective(comparisons, problem)

    problem.U[:, : problem.rank] = 0
    solve_users(problem)
    assert objective(comparisons, problem) == pytest.approx(best, rel=1e-4)

    problem.U[:, : problem.rank] = 0
    user_dual = np.zeros(len(comparisons), np.float32)
    *_, gap, _ = core.sdca_users(
        problem.store,
        problem.loss,
        problem.scales.user_weight,
        problem.p,
        problem.V,
        problem.U,
        user_dual,
        problem.rank,
        400 * len(comparisons),
        1,
        1,
    )
    assert objective(comparisons, problem) == pytest.approx(best, rel=1e-4)
    assert 0 <= gap <= 1e-4 * best


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_user_half_with_bias_against_scipy(loss):
    """With a bias the margins have offsets; scipy agrees on every user."""
    comparisons = KINDS["weighted votes"](np.random.default_rng(1))
    problem = make_problem(comparisons, loss)
    solve_users(problem)
    solved = problem.U.copy()

    def value(flat):
        problem.U[:, : problem.rank] = flat.reshape(-1, problem.rank)
        return objective(comparisons, problem)

    reached = value(solved[:, : problem.rank].ravel())
    better = minimize(value, solved[:, : problem.rank].ravel(), method="L-BFGS-B", options={"maxiter": 50})
    assert reached <= better.fun * (1 + 1e-4)
    assert (solved[:, problem.rank] == 1).all()


@pytest.mark.parametrize("loss", ALL_LOSSES)
@pytest.mark.parametrize("kind", ["weighted votes", "short ratings"])
def test_item_half(loss, kind):
    """The item half: Newton (a smoothed, tightened hinge) and SDCA meet, and SDCA's duality gap proves it to 1e-4."""
    comparisons = KINDS[kind](np.random.default_rng(2))
    problem = make_problem(comparisons, loss, n_threads=1)
    problem.V[:] = 0
    problem.refresh()
    for delta in [2.0**-k for k in range(14)] if loss == "hinge" else [0.0]:
        problem.delta = delta
        problem.evaluate()
        for _ in range(30):
            if problem.item_step(cg_steps=100, cg_tol=1e-3) < 1e-7 * problem.loss_value:
                break
    problem.delta = 0.0
    newton = objective(comparisons, problem)
    item_dual = np.zeros(len(comparisons), np.float32)
    *_, gap, _ = core.sdca_items(
        problem.store, problem.loss, problem.scales.user_weight, problem.q, problem.beta, problem.U, problem.V,
        item_dual, problem.rank, 300 * len(comparisons), 3, 1,
    )  # fmt: skip
    sdca = objective(comparisons, problem)
    assert 0 <= gap <= 1e-4 * sdca
    assert newton == pytest.approx(sdca, rel=1e-4)


@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_solvers_agree(loss):
    """From the same start both solvers end within 0.1 % of each other."""
    world = simulate(n_users=100, n_items=20, rank=2, per_user=200, seed=3)
    ends = {}
    for name, solver, rounds in (("newton", Newton, 60), ("sdca", Sdca, 100)):
        store = world.comparisons.store
        problem = Problem(
            store,
            rank=3,
            loss=loss,
            bias=True,
            scales=scales(store, user_power=0, item_power=0.5, balance=0)[0],
            n_threads=1,
        )
        problem.set_reg(30.0, 60.0)
        uniform(problem, 0)
        run = solver(problem, 0)
        for _ in range(rounds):
            record = run.round()
        ends[name] = record["objective"]
        assert record["objective"] == pytest.approx(objective(world.comparisons, problem), rel=1e-5)
    assert ends["newton"] == pytest.approx(ends["sdca"], rel=1e-3)


def test_gaps_go_to_zero():
    """The stopping measure of either solver goes to zero as the alternation converges."""
    world = simulate(n_users=40, n_items=20, rank=2, per_user=30, seed=1)
    for kind, rounds in ((AltSVM, 200), (PaperAltSVM, 300)):
        model = kind(rank=2, reg=5.0, max_iter=rounds, tol=1e-6, n_threads=1).fit(world.comparisons)
        assert model.converged_ and model.history_[-1]["gap"] <= 1e-6 < model.history_[0]["gap"]


@pytest.mark.parametrize("kind", KINDS)
def test_threads_do_not_matter(kind):
    """Newton's factors are the same bits on 1, 2 and 5 threads, whatever the comparisons come from."""
    comparisons = KINDS[kind](np.random.default_rng(7))
    models = [AltSVM(rank=6, n_threads=n, max_iter=4).fit(comparisons) for n in (1, 2, 5)]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].user_factors_, other.user_factors_)
        np.testing.assert_array_equal(models[0].item_factors_, other.item_factors_)
        np.testing.assert_array_equal(models[0].item_bias_, other.item_bias_)
        assert models[0].slope_ == other.slope_


def test_many_users_threads_do_not_matter():
    """The same with several blocks of users and many chunks."""
    world = simulate(n_users=9000, n_items=300, rank=2, per_user=12, seed=2)
    one, three = (AltSVM(rank=4, n_threads=n, max_iter=2).fit(world.comparisons) for n in (1, 3))
    np.testing.assert_array_equal(one.user_factors_, three.user_factors_)
    np.testing.assert_array_equal(one.item_factors_, three.item_factors_)


def test_sdca_reproducible_on_one_thread_and_close_on_two():
    """SDCA on one thread repeats its bits; on two it reaches the same objective to 1 %."""
    world = simulate(n_users=300, n_items=60, rank=2, per_user=40, seed=5)
    fits = [PaperAltSVM(rank=4, n_threads=n, max_iter=15, tol=0).fit(world.comparisons) for n in (1, 1, 2)]
    np.testing.assert_array_equal(fits[0].user_factors_, fits[1].user_factors_)
    first, _, raced = (f.history_[-1]["objective"] for f in fits)
    assert raced == pytest.approx(first, rel=0.01)


def test_sdca_numbers_implied_and_written_comparisons_alike():
    """The item half has one optimum, whether its comparisons are implied by ratings or written down."""
    comparisons = KINDS["short ratings"](np.random.default_rng(11))
    ends = []
    for c in (comparisons, written(comparisons)):
        problem = make_problem(c, "squared_hinge", n_threads=1)
        item_dual = np.zeros(len(c), np.float32)
        core.sdca_items(
            problem.store, problem.loss, problem.scales.user_weight, problem.q, problem.beta, problem.U, problem.V,
            item_dual, problem.rank, 100 * len(c), 3, 1,
        )  # fmt: skip
        ends.append(objective(comparisons, problem))
    assert ends[0] == pytest.approx(ends[1], rel=1e-4)


def test_the_critical_value_of_reg():
    """Above the largest singular value of the scaled gradient at the global ranking, U = V = 0 stays optimal; below it,
    the personal part comes alive."""
    world = simulate(n_users=80, n_items=40, rank=2, per_user=30, seed=4)
    store = world.comparisons.store
    problem = Problem(
        store,
        rank=4,
        loss="squared_hinge",
        bias=True,
        scales=scales(store, user_power=0, item_power=0.5, balance=0)[0],
        n_threads=1,
    )
    problem.set_reg(1e9, 50.0)
    spectral(problem, 0)
    dense = np.zeros((store.n_users, store.n_items))
    dense[np.repeat(np.arange(store.n_users), np.diff(store.start)), store.item] = scaled_slopes(problem)
    left, values, right = np.linalg.svd(dense)

    def gain(reg):
        """What a little of the leading singular pair takes off the objective, from where the start has left it."""
        problem.set_reg(reg, 50.0)
        spectral(problem, 0)
        alive = bool(problem.U[:, :4].any())
        problem.U[:, :4] = problem.V[:, :4] = 0
        before = objective(world.comparisons, problem)
        problem.U[:, 0], problem.V[:, 0] = 0.03 * left[:, 0], 0.03 * right[0] / np.sqrt(problem.scales.item_ridge)
        return before - objective(world.comparisons, problem), alive

    above, below = gain(1.01 * values[0]), gain(0.99 * values[0])
    assert above[0] < 0 and not above[1]
    assert below[0] > 0 and below[1]


def test_spectral_start_beats_uniform():
    """After one round the spectral start is at a lower objective than the authors' random one."""
    world = simulate(n_users=400, n_items=100, rank=3, per_user=60, seed=6)
    plain = {"bias": False, "item_power": 0.0, "balance": 0.0, "exposure": False}
    fits = AltSVM(rank=5, reg=10.0, max_iter=1, **plain), PaperAltSVM(rank=5, reg=10.0, solver="newton", max_iter=1)
    spectral, uniform = (model.fit(world.comparisons).history_[0]["objective"] for model in fits)
    assert spectral < uniform
