"""How people answer, given the items: against closed forms, other solvers and worlds whose truth is known."""

import numpy as np
import pytest
from scipy import optimize

from rather import simulate
from rather.models import ties
from rather.native import core, factor
from rather.solving import mixed


def swayed(seed=0, **more):
    return simulate(60, 15, rank=2, per_user=30, side=0.4, covariates={"length": 0.5}, ties=0.6, seed=seed, **more)


def truth(world):
    """Factors that hold the true items, as a fit would have them."""
    n, m = len(world.user_factors), len(world.item_factors)
    U, V = factor(n, 3), factor(m, 3)
    U[:, :2], V[:, :2] = world.user_factors, world.item_factors
    return U, V


def test_without_people_it_is_an_ordered_logit():
    """With no directions of taste and equal people: the estimates and errors of a plain maximum of the likelihood."""
    world = swayed()
    source, pairs = world.comparisons.source, world.comparisons.pairs()
    V = factor(15, 1)
    V[:, 0] = np.random.default_rng(0).standard_normal(15)
    rows = np.column_stack((pairs.around, V[pairs.winner, 0] - V[pairs.loser, 0])).astype(float)
    sign = np.where(pairs.tied, 1.0, -1.0)
    weight = pairs.weights() * np.where(pairs.tied, 2, 1)
    n_ties = 0.5 * weight[pairs.tied].sum()

    def value(t):
        x = rows @ t[:3] + sign * np.exp(t[3])
        return (weight * np.logaddexp(0, -x)).sum() - n_ties * np.log1p(-np.exp(-2 * np.exp(t[3])))

    best = optimize.minimize(value, np.array([0, 0, 1, -0.5]), method="BFGS", options={"gtol": 1e-6})
    fixed = np.array([*best.x[:2], best.x[3], best.x[2]])
    out = {"moments": (1, 1), "gradient": 4, "information": (4, 4), "squares": (4, 4), "bound": 60}
    got = {name: np.empty(shape) for name, shape in out.items()}
    core.mixed_pass(
        store=source.store, V=V, rank=0, tied=pairs.tied.astype(np.uint8), Z=pairs.around, fixed=fixed,
        precision=np.full((1, 1), 1e12), people=np.zeros((60, 2)), variance=np.zeros(len(source), np.float32),
        count=np.ones(60), steps=1, n_threads=1, **got,
    )  # fmt: skip
    assert np.abs(got["gradient"]).max() < 1e-2
    assert got["bound"].sum() + 30 * np.log(1e12) == pytest.approx(-best.fun, rel=1e-5)
    numeric = optimize.approx_fprime(best.x, lambda t: optimize.approx_fprime(t, value, 1e-4)[0], 1e-4)
    assert got["information"][0, 0] == pytest.approx(numeric[0], rel=0.02)


def test_what_is_known_of_a_person_is_close_to_the_truth_about_it():
    """One direction of taste: mean and variance of the approximation beside the posterior on a grid."""
    world = simulate(40, 15, rank=1, per_user=25, seed=1)
    source, pairs = world.comparisons.source, world.comparisons.pairs()
    V = factor(15, 2)
    V[:, 0] = world.item_factors[:, 0]
    people, variance = np.zeros((40, 2)), np.zeros(len(source), np.float32)
    out = {"moments": (1, 1), "gradient": 2, "information": (2, 2), "squares": (2, 2), "bound": 40}
    got = {name: np.empty(shape) for name, shape in out.items()}
    core.mixed_pass(
        store=source.store, V=V, rank=1, tied=None, Z=np.empty((len(source), 0), np.float32), fixed=np.zeros(2),
        precision=np.eye(1), people=people, variance=variance, count=np.ones(40), steps=30, n_threads=2, **got,
    )  # fmt: skip
    grid = np.linspace(-8, 8, 4001)
    x = V[pairs.winner, 0] - V[pairs.loser, 0]
    for i in range(40):
        mine = pairs.user == i
        log = -np.logaddexp(0, -np.outer(grid, x[mine])).sum(axis=1) - grid**2 / 2
        p = np.exp(log - log.max())
        evidence = np.log(p.sum() * (grid[1] - grid[0])) + log.max() - 0.5 * np.log(2 * np.pi)
        p /= p.sum()
        mean = p @ grid
        spread = np.sqrt(p @ grid**2 - mean**2)
        assert abs(people[i, 0] - mean) < 0.15 * spread
        known = np.sqrt(variance[mine] / x[mine].astype(float) ** 2)
        np.testing.assert_allclose(known, spread, rtol=0.12)
        assert -0.15 < got["bound"][i] - evidence < 0.02  # a bound, from below but for its approximations


def test_effects_given_the_true_items():
    """Unbiased, with errors of the size that the estimates vary by."""
    found = []
    for seed in range(12):
        world = swayed(seed)
        made = mixed.answering(world.comparisons.source, *truth(world), 2, 1, (0.0, 0.0))
        assert made.names == ("side", "length", "tie")
        found.append((made.estimate, made.error))
    estimate, error = (np.array(x) for x in zip(*found, strict=True))
    off = (estimate.mean(axis=0) - (0.4, 0.5, 0.6)) / (error.mean(axis=0) / np.sqrt(12))
    assert (np.abs(off) < 3.5).all(), off
    assert (error.mean(axis=0) < 0.1).all() and (np.abs(estimate - (0.4, 0.5, 0.6)) < 4.5 * error).all()


def test_the_same_bits_at_any_number_of_threads():
    world = swayed()
    a, b = (mixed.answering(world.comparisons.source, *truth(world), 2, n, (0.1, 0.2)) for n in (1, 3))
    np.testing.assert_array_equal(a.estimate, b.estimate)
    np.testing.assert_array_equal(a.people, b.people)


def test_evidence_is_against_coins():
    world = swayed(careless=0.4)
    trust = mixed.answering(world.comparisons.source, *truth(world), 2, 1, (0.4, 0.5), coins=True).trust
    assert trust[~world.careless].mean() > 0.9 > 0.5 > trust[world.careless].mean()


def test_reluctance_is_the_likeliest():
    """Of everybody's answers, and each person's own beside a search over a grid."""
    world = swayed(seed=4)
    pairs = world.comparisons.pairs()
    x = world.margins(pairs.user, pairs.winner, pairs.loser) + pairs.around @ (0.4, 0.5)
    found = ties.estimated(x, pairs, 60)
    assert found.typical == pytest.approx(0.6, abs=0.12) and found.spread == pytest.approx(0.5, abs=0.25)
    own = ties.own(x, pairs, 60, found.typical, found.spread)
    np.testing.assert_allclose(own, found.own / np.exp(np.log(found.own).mean()), rtol=0.1)
    whole = np.where(pairs.tied, 0.5, 1.0)  # of halves, each tie once
    grid = np.linspace(-3, 3, 601)
    for i in range(5):
        mine = pairs.user == i
        p = ties.outcomes(x[mine][:, None], found.typical * np.exp(grid))
        log = np.log(np.where(pairs.tied[mine][:, None], p[..., 1], p[..., 0]))
        value = (whole[mine][:, None] * log).sum(axis=0) - grid**2 / (2 * found.spread**2)
        assert np.log(own[i]) == pytest.approx(grid[value.argmax()], abs=0.03)


def test_outcomes_add_up():
    p = ties.outcomes(np.linspace(-50, 50, 101), np.full(101, 0.7))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(p, p[::-1, ::-1], atol=1e-15)
    assert ties.outcomes(0.0, 0.0)[1] == 0
