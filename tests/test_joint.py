"""Rows that move together with their prior means, against dense algebra; and threads that stay between passes."""

import itertools
import os
import threading

import numpy as np
import pytest

import rather
from rather import AltSVM, Comparisons
from rather.native import core, factor
from rather.solving.priors import Block, Prior, Priors
from rather.solving.problem import Problem
from rather.solving.scales import scales


def world(n_users=23, n_items=17, rank=3, k=5, loss="squared_difference", bias=True, seed=0):
    """A problem with prior means on random features; a loss that is quadratic, of ratings, unless told."""
    rng = np.random.default_rng(seed)
    user, item = np.nonzero(rng.random((n_users, n_items)) < 0.6)
    ratings = {"user": user, "item": item, "rating": rng.integers(1, 6, len(user))}
    source = Comparisons.from_ratings(ratings).source
    shapes, _ = scales(source.store, user_power=0.3, item_power=0.5, balance=0.5)

    def prior(n, shape):
        features = factor(n, k)
        features[:, :k] = rng.standard_normal((n, k)) / 2
        return Prior([Block(features, k, 0.7)], shape, 2)

    priors = Priors(prior(n_users, shapes.user_ridge), prior(n_items, shapes.item_ridge))
    problem = Problem(source.store, rank=rank, loss=loss, bias=bias, scales=shapes, n_threads=2, priors=priors)
    problem.set_reg(2.0, 3.0)
    problem.U[:, :rank] = rng.standard_normal((n_users, rank)) / 2
    problem.V[:, :rank] = rng.standard_normal((n_items, rank)) / 2
    problem.V[:, rank] = rng.standard_normal(n_items) if bias else 0
    problem.refresh()
    return problem


def form(prior):
    """K, dense."""
    W = np.diag(prior.shape.astype(float))
    F = prior.features[:, : prior.k].astype(float)
    G = F.T @ W @ F + prior.ridge * np.eye(prior.k)
    return W - W @ F @ np.linalg.solve(G, F.T @ W)


def penalty(problem):
    r, (users, items) = problem.rank, problem.priors
    U, V = problem.U.astype(float), problem.V.astype(float)
    of = [(x.T @ form(prior) @ x).diagonal() for x, prior in ((U[:, :r], users), (V[:, : r + 1], items))]
    return 0.5 * (problem.reg * (of[0].sum() + of[1][:r].sum()) + problem.bias_reg * of[1][r])


@pytest.mark.parametrize("shape", [{}, {"k": 1}, {"k": 9, "rank": 17}, {"n_users": 150, "k": 13, "rank": 5}])
def test_the_penalty_is_the_quadratic_form(shape):
    """From nothing, and as the steps keep it."""
    problem = world(**shape)
    assert problem.penalty() == pytest.approx(penalty(problem), rel=1e-5)
    for step in (problem.item_step, problem.user_step, problem.item_step):
        step()
        assert problem.penalty() == pytest.approx(penalty(problem), rel=1e-5)


@pytest.mark.parametrize("side", ["users", "items"])
@pytest.mark.parametrize("bias", [True, False])
def test_a_step_solves_a_quadratic_half(side, bias):
    """With a quadratic loss one step with conjugate gradients to their end is the minimum, rows and means at once."""
    problem = world(bias=bias)
    r, store = problem.rank, problem.store
    step = problem.user_step if side == "users" else problem.item_step
    for _ in range(3):  # single precision
        step(cg_steps=200, cg_tol=1e-7)
    free = r if side == "users" else r + 1
    rows, other = (problem.U, problem.V) if side == "users" else (problem.V, problem.U)
    slope = np.zeros_like(rows)
    product = core.user_products if side == "users" else core.item_products
    product(store, problem.c, other, slope, 1)
    regs = np.full(free, problem.reg)
    regs[r:] = problem.bias_reg
    pull = regs * (form(getattr(problem.priors, side)) @ rows[:, :free].astype(float))
    left = np.abs(slope[:, :free] + pull).max()
    assert left < 2e-4 * np.abs(pull).max()


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_rounds_lower_the_objective(loss):
    problem = world(n_users=60, n_items=40, loss=loss)
    values = [problem.objective()]
    for _ in range(6):
        problem.item_step()
        values.append(problem.objective())
        problem.user_step()
        values.append(problem.objective())
    assert all(b <= a for a, b in itertools.pairwise(values)) and values[-1] < 0.8 * values[0]


def test_biases_alone_move_with_their_means():
    """A model without rank still has biases, and they prior means."""
    problem = world(rank=0)
    assert problem.item_step(cg_steps=50, cg_tol=1e-6) > 0
    assert problem.item_step(cg_steps=50, cg_tol=1e-6) < 1e-6 * problem.objective()
    made = AltSVM(rank="auto", exposure=True, reg=3000.0, loss="hinge", tol=1e-3, max_iter=20)
    assert made.fit(rather.simulate(300, 120, rank=3, per_user=30, levels=5, seed=0).comparisons).converged_


def test_new_ridges_are_seen():
    problem = world()
    problem.item_step()
    problem.set_reg(20.0, 30.0)
    assert problem.penalty() == pytest.approx(penalty(problem), rel=1e-5)


@pytest.mark.data
def test_the_default_is_proven_near_the_best(data):
    """MovieLens 100K, every rating."""
    import pyarrow.parquet

    frame = pyarrow.parquet.read_table(data / "ml-100k" / "ratings.parquet", columns=["user", "item", "rating"])
    model = AltSVM().fit(Comparisons.from_ratings(frame))
    assert model.exposure_ and model.certificate().excess < 0.02


# -- threads that stay ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def votes():
    return rather.simulate(300, 60, rank=2, per_user=30, levels=5, seed=0).comparisons


def fitted(comparisons, n_threads):
    return AltSVM(rank=4, reg=5.0, n_threads=n_threads).fit(comparisons).fitted.scorer.U.tobytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own(votes):
    """It has none of its parent's, and must not wait for them."""
    want = fitted(votes, 3)
    child = os.fork()
    if child == 0:
        os._exit(0 if fitted(votes, 3) == want else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_fits_at_the_same_time(votes):
    """Callers at the same time have teams of their own; how many threads each has does not show."""
    want, found = fitted(votes, 1), {}

    def fit(n):
        found[n] = fitted(votes, n)

    callers = [threading.Thread(target=fit, args=(n,)) for n in (1, 2, 3, 5, 8, 40)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all(bits == want for bits in found.values()) and len(found) == 6
