"""The passes of the core against their definitions, on comparisons of every kind."""

import numpy as np
import pytest

from handmade import written
from rather import Comparisons
from rather.native import core, factor
from rather.solving.problem import Problem
from rather.solving.scales import scales
from reference import LOSSES, entry_pairs, objective, smoothed_hinge


def votes(rng, weighted):
    n = 400
    user, j = rng.integers(0, 12, n), rng.integers(0, 30, n)
    frame = {"user": user, "winner": j, "loser": (j + rng.integers(1, 30, n)) % 30}
    if weighted:
        frame["weight"] = rng.uniform(0.1, 3, n)
    return Comparisons.from_frame(frame, weight="weight" if weighted else None)


def ratings(rng, sizes, n_items, levels):
    user = np.repeat(np.arange(len(sizes)), sizes)
    item = np.concatenate([rng.permutation(n_items)[:n] for n in sizes])
    return Comparisons.from_ratings({"user": user, "item": item, "rating": rng.integers(0, levels, len(user))})


def clicks(rng, sizes, n_items):
    user = np.repeat(np.arange(len(sizes) + 1), [*sizes, n_items])  # the last one clicks everything
    item = np.concatenate([rng.permutation(n_items)[:n] for n in [*sizes, n_items]])
    return Comparisons.from_clicks({"user": user, "item": item}, unseen=330)


KINDS = {
    "votes": lambda rng: votes(rng, weighted=False),
    "weighted votes": lambda rng: votes(rng, weighted=True),
    "short ratings": lambda rng: ratings(rng, [1, 2, 17, 40, 63], 70, 5),
    "long ratings, swept": lambda rng: ratings(rng, [330, 10, 400], 450, 7),
    "rankings, swept": lambda rng: ratings(rng, [350, 20], 400, 10**6),
    "clicks, swept": lambda rng: clicks(rng, [3, 1, 90, 370], 400),
}


def make_problem(comparisons, loss, rank=5, bias=True, n_threads=2, reg=3.0, balance=0.0):
    scaled, _ = scales(comparisons.store, user_power=0.3, item_power=0.5, balance=balance)
    problem = Problem(comparisons.store, rank=rank, loss=loss, bias=bias, scales=scaled, n_threads=n_threads)
    problem.set_reg(reg, 2 * reg)
    rng = np.random.default_rng(5)
    problem.U[:, :rank] = rng.normal(0, 0.5, (problem.store.n_users, rank))
    problem.V[:, : rank + bias] = rng.normal(0, 0.5, (problem.store.n_items, rank + bias))
    problem.refresh()
    return problem


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "smoothed hinge", "logistic"])
def test_loss_slopes_and_curvature(kind, loss):
    """Loss, gradient and Hessian diagonal with respect to the scores are the sums over comparisons that define them."""
    comparisons = KINDS[kind](np.random.default_rng(3))
    smooth = loss == "smoothed hinge"
    problem = make_problem(comparisons, "hinge" if smooth else loss)
    problem.delta = 0.25 if smooth else 0.0
    problem.evaluate()
    value, slope, curvature = smoothed_hinge(0.25) if smooth else LOSSES[loss]
    winner, loser, w = entry_pairs(problem.store, comparisons)
    m = problem.m.astype(float)
    x = m[winner] - m[loser]
    n = len(m)
    assert problem.loss_value == pytest.approx((w * value(x)).sum(), rel=1e-5)
    c = np.bincount(winner, w * slope(x), n) - np.bincount(loser, w * slope(x), n)
    d = np.bincount(winner, w * curvature(x), n) + np.bincount(loser, w * curvature(x), n)
    np.testing.assert_allclose(problem.c, c, rtol=1e-4, atol=1e-4 * np.abs(c).max())
    np.testing.assert_allclose(problem.d, d, rtol=1e-4, atol=1e-4 * max(d.max(), 1e-6))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_gradient_against_finite_differences(kind, loss):
    """The gradient with respect to V that a step uses is that of F: a finite difference along it agrees."""
    comparisons = KINDS[kind](np.random.default_rng(4))
    problem = make_problem(comparisons, loss)
    gradient = factor(problem.store.n_items, problem.rank + 1)
    core.item_products(problem.store, problem.c, problem.U, gradient, 2)
    r = problem.rank
    gradient[:, :r] += problem.q[:, None] * problem.V[:, :r]
    gradient[:, r] += problem.beta * problem.V[:, r]
    direction = factor(*gradient[:, : r + 1].shape)
    direction[:, : r + 1] = np.random.default_rng(1).normal(size=(len(gradient), r + 1))
    V = problem.V.copy()
    h = 1e-3
    ends = []
    for sign in (1, -1):
        problem.V[:] = V + np.float32(sign * h) * direction
        ends.append(objective(comparisons, problem))
    expected = float((gradient.astype(float) * direction).sum())
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_steps_decrease_the_objective(kind, loss):
    """Item and user steps never increase F, and the objective they report is the one its definition gives."""
    comparisons = KINDS[kind](np.random.default_rng(6))
    problem = make_problem(comparisons, loss)
    last = problem.objective()
    for _ in range(4):
        for step in (problem.item_step, problem.user_step):
            assert step() >= 0
            now = problem.objective()
            assert now <= last * (1 + 1e-6)
            last = now
    assert last == pytest.approx(objective(comparisons, problem), rel=1e-5)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_swept_and_paired_users_agree(loss):
    """The sweep over sorted scores and the loop over pairs are the same function: splitting a long user's ratings over
    explicit pairs changes nothing."""
    comparisons = KINDS["long ratings, swept"](np.random.default_rng(8))
    a, b = make_problem(comparisons, loss), make_problem(written(comparisons), loss)
    assert a.store.sweeps and not b.store.by_level
    assert a.loss_value == pytest.approx(b.loss_value, rel=1e-5)
    by_item_a, by_item_b = (np.bincount(p.store.item, p.c, p.store.n_items) for p in (a, b))
    np.testing.assert_allclose(by_item_a, by_item_b, rtol=1e-4, atol=1e-2)


def test_rows_wider_than_one_block():
    """Ranks beyond one block of registers give the same products as numpy."""
    comparisons = KINDS["short ratings"](np.random.default_rng(9))
    problem = make_problem(comparisons, "squared_hinge", rank=300)
    users = np.repeat(np.arange(problem.store.n_users), np.diff(problem.store.start))
    expected = (problem.U[users].astype(float) * problem.V[problem.store.item]).sum(1)
    np.testing.assert_allclose(problem.m, expected, rtol=1e-4, atol=1e-3)


def test_singular_values_against_numpy():
    """The block iteration finds the leading singular triples of the sparse matrix."""
    comparisons = KINDS["short ratings"](np.random.default_rng(10))
    store = comparisons.store
    entries = np.random.default_rng(0).normal(size=store.n_entries).astype(np.float32)
    dense = np.zeros((store.n_users, store.n_items))
    dense[np.repeat(np.arange(store.n_users), np.diff(store.start)), store.item] = entries
    left, right = factor(store.n_users, 4), factor(store.n_items, 4)
    right[:, :4] = np.random.default_rng(1).normal(size=(store.n_items, 4))
    values = np.array(core.singular(store, entries, left, right, 4, 60, 2))
    np.testing.assert_allclose(values, np.linalg.svd(dense)[1][:4], rtol=1e-4)
    np.testing.assert_allclose(dense @ right[:, :4], left[:, :4] * values, atol=1e-3 * values[0])
    np.testing.assert_allclose(right[:, :4].T @ right[:, :4], np.eye(4), atol=1e-5)


def test_singular_of_low_rank_matrix():
    """Asking for more singular values than the matrix has gives zeros, not noise."""
    comparisons = Comparisons.from_triples(np.array([[0, 0, 1], [1, 1, 0], [2, 0, 1]]))
    store = comparisons.store
    left, right = factor(3, 5), factor(2, 5)
    right[:, :5] = np.random.default_rng(1).normal(size=(2, 5))
    values = core.singular(store, np.ones(store.n_entries, np.float32), left, right, 5, 3, 1)
    np.testing.assert_allclose(values, [6**0.5, 0, 0, 0, 0], atol=1e-5)
    assert np.isfinite(left).all() and np.isfinite(right).all()


def test_singular_values_of_next_to_nothing():
    """What rounding leaves of a matrix of lower rank, 1e-40 and less, never makes vectors of infinite numbers."""
    n_users, n_items, rank, asked = 120, 40, 3, 16
    pairs = np.array([[i, j, (j + 1) % n_items] for i in range(n_users) for j in range(n_items)])
    store = Comparisons.from_triples(pairs).store
    user = np.repeat(np.arange(n_users), np.diff(store.start))
    for seed in range(100):
        rng = np.random.default_rng(seed)
        dense = rng.normal(size=(n_users, rank)) * 10.0 ** -np.arange(rank) @ rng.normal(size=(rank, n_items))
        left, right = factor(n_users, asked), factor(n_items, asked)
        right[:, :asked] = rng.random((n_items, asked)) - 0.5
        core.singular(store, dense[user, store.item].astype(np.float32), left, right, asked, 3, 1)
        assert np.isfinite(left).all() and np.isfinite(right).all()


def test_sums_over_columns_in_blocks():
    """Products and sums over items are those of the dense matrix, where users come in several blocks."""
    rng = np.random.default_rng(0)
    n_users, n_items = 9000, 50
    j = rng.integers(0, n_items, n_users)
    votes = {"user": np.arange(n_users), "winner": j, "loser": (j + rng.integers(1, n_items, n_users)) % n_items}
    store = Comparisons.from_frame(votes).store
    x = rng.normal(size=store.n_entries).astype(np.float32)
    dense = np.zeros((n_users, n_items))
    dense[np.repeat(np.arange(n_users), np.diff(store.start)), store.item] = x
    A, out = factor(n_users, 5), factor(n_items, 5)
    A[:, :5] = rng.normal(size=(n_users, 5))
    core.item_products(store, x, A, out, 3)
    np.testing.assert_allclose(out[:, :5], dense.T @ A[:, :5], rtol=1e-4, atol=1e-3)
    rows, row_squares, column_squares = np.empty(n_users), np.empty(n_users), np.empty(n_items)
    core.row_and_column_sums(store, x, rows, row_squares, column_squares, 3)
    np.testing.assert_allclose(rows, np.abs(dense).sum(1), rtol=1e-5)
    np.testing.assert_allclose(row_squares, (dense**2).sum(1), rtol=1e-5)
    np.testing.assert_allclose(column_squares, (dense**2).sum(0), rtol=1e-5)
