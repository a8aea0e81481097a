"""The sampler of everyone's tastes, and the posterior of one person given its draws."""

import numpy as np
import pytest
from scipy import stats

import rather
from rather.data.rows import Pairs
from rather.models.tastes import TasteBelief
from rather.native import core
from rather.solving.tastes import ItemDraws, Sampler, TasteVotes, margins, means
from rather.solving.variational import averaged


def votes_of(n_users, n_items, user, winner, loser, weight=None, context=None):
    user, winner, loser = (np.asarray(each, np.int32) for each in (user, winner, loser))
    weight = np.ones(len(user)) if weight is None else np.asarray(weight, float)
    context = np.zeros((len(user), 0)) if context is None else context
    return TasteVotes.of(n_users, n_items, Pairs(user, winner, loser), weight, context)


def random_votes(n_users, n_items, per_user, seed=0):
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n_users), per_user)
    winner = rng.integers(0, n_items, len(user))
    return votes_of(n_users, n_items, user, winner, (winner + rng.integers(1, n_items, len(user))) % n_items)


def some_draws(n, n_items, rank, own=0.5, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, n_items, rank + 1)).astype(np.float32)
    return ItemDraws(rows, np.zeros((n, 0), np.float32), np.full(n, own, np.float32))


@pytest.mark.parametrize("b", [0.15, 0.5, 1, 2, 3.5, 7, 60])
def test_polya_gamma_draws_have_their_moments(b):
    """Mean, variance and Laplace transform of PG(b, c) are those of closed forms."""
    n = 100_000
    for c in (0.0, 0.3, 1.0, 2.0, 4.0, 9.0, 20.0, 60.0):
        drawn = np.empty(n)
        core.polya_gamma(np.full(n, float(b)), np.full(n, c), drawn, 3)
        mean = b / 4 if c == 0 else b / (2 * c) * np.tanh(c / 2)
        variance = b / 24 if c == 0 else b / (4 * c**3) * (2 * np.tanh(c / 2) - c / np.cosh(c / 2) ** 2)
        laplace, seen = (np.cosh(c / 2) / np.cosh(np.sqrt((c * c / 2 + 1) / 2))) ** b, np.exp(-drawn)
        assert abs(drawn.mean() - mean) < 5 * np.sqrt(variance / n)
        assert abs(seen.mean() - laplace) < 5 * seen.std() / np.sqrt(n)
        assert 0.93 < drawn.var() / variance < 1.07


def test_votes_of_one_person_about_two_items_are_one_row():
    """Equal questions are counted together; contexts keep them apart, whichever item is named first."""
    votes = votes_of(2, 3, [0, 0, 0, 1], [0, 1, 0, 2], [1, 0, 1, 1], [1, 2, 0.5, 1])
    assert votes.user.tolist() == [0, 1] and votes.winner.tolist() == [0, 1] and votes.loser.tolist() == [1, 2]
    np.testing.assert_allclose(votes.count, [3.5, 1]), np.testing.assert_allclose(votes.lead, [-0.25, -0.5])
    sides = votes_of(1, 2, [0, 0, 0], [0, 1, 0], [1, 0, 1], context=np.array([[1.0], [-1.0], [-1.0]]))
    assert sides.context.tolist() == [[-1.0], [1.0]] and sides.count.tolist() == [1, 2]


def test_one_margin_agrees_with_numerical_integration():
    """The posterior of one margin, given the items, has about the mean and the variance of the exact one."""
    for own, won, lost in ((0.1, 1, 0), (1.0, 3, 1), (4.0, 8, 0)):
        votes = votes_of(1, 2, [0] * (won + lost), [0] * won + [1] * lost, [1] * won + [0] * lost)
        draws = some_draws(1, 2, 1, own)
        (m0, l0), (m1, l1) = draws.rows[0].astype(float)
        prior, spread = m0 - m1, np.sqrt((l0 - l1) ** 2 + 2 * own)
        x = np.linspace(prior - 10 * spread, prior + 10 * spread, 20001)
        p = stats.norm.pdf(x, prior, spread) * (1 + np.exp(-x)) ** -won * (1 + np.exp(x)) ** -lost
        mean = (x * p).sum() / p.sum()
        variance = ((x - mean) ** 2 * p).sum() / p.sum()
        got = margins(votes, draws, np.zeros(1, np.int32), np.array([0]), np.array([1]), 1)
        assert got[0] == pytest.approx(mean, abs=0.1 * np.sqrt(variance))
        assert got[1] == pytest.approx(variance, rel=0.25)


def test_rank_0_of_one_user_is_bradley_terry_with_a_normal_prior():
    """With item means next to 0, one user's posterior is next to Laplace's approximation."""
    rng, truth = np.random.default_rng(0), np.array([0.0, 1.0, -1.5, 0.5])
    left = rng.integers(0, 4, 300)
    right = (left + rng.integers(1, 4, 300)) % 4
    wins = rng.random(300) < 1 / (1 + np.exp(truth[right] - truth[left]))
    votes = votes_of(1, 4, np.zeros(300), np.where(wins, left, right), np.where(wins, right, left))
    sampler = Sampler(votes, 0, 0, scales=np.array([1e-3, 0.5, 1.0]))  # all is in own parts: m is next to 0
    drawn, own = [], []
    for _ in range(4000):
        sampler.sweep(1)
        drawn.append(sampler.rows[:, 0][votes.store.item] + sampler.e), own.append(sampler.variance[1])
    worth = np.array(drawn)[500:].mean(axis=0)[np.argsort(votes.store.item)]
    pairs = votes.winner, votes.loser
    b, H = np.zeros(4), np.eye(4)
    for _ in range(30):  # the mode, at the typical variance
        p = 1 / (1 + np.exp(b[pairs[1]] - b[pairs[0]]))
        g, H = -b / np.median(own), np.eye(4) / np.median(own)
        for t, (j, k) in enumerate(zip(*pairs, strict=True)):
            slope, curve = votes.lead[t] + votes.count[t] * (0.5 - p[t]), votes.count[t] * p[t] * (1 - p[t])
            x = np.eye(4)[j] - np.eye(4)[k]
            g, H = g + slope * x, H + curve * np.outer(x, x)
        b = b + np.linalg.solve(H, g)
    np.testing.assert_allclose(worth - worth.mean(), b - b.mean(), atol=0.05)
    apart, centre = np.array(drawn)[500:], np.eye(4) - 0.25
    exact = np.trace(centre @ np.linalg.inv(H) @ centre)
    np.testing.assert_allclose((apart @ centre).var(axis=0).sum(), exact, rtol=0.15)


def test_the_sampler_agrees_with_numerical_integration():
    """The difference of two items, with unknown variances, has the exact posterior mean and spread."""
    votes = votes_of(1, 2, [0] * 5, [0, 0, 0, 0, 1], [1, 1, 1, 1, 0])
    sampler = Sampler(votes, 0, 3)
    drawn = np.empty(60_000)
    for n in range(len(drawn)):
        sampler.sweep(1)
        drawn[n] = (
            sampler.rows[0, 0]
            - sampler.rows[1, 0]
            + (sampler.e[0] - sampler.e[1]) * (1 if votes.store.item[0] == 0 else -1)
        )
    sd, x = np.linspace(0.01, 10, 150), np.linspace(-30, 30, 1201)
    prior = stats.norm.pdf(sd, 0, 2)
    spread = np.sqrt(2 * (sd[:, None] ** 2 + sd**2))
    weight = (prior[:, None] * prior)[:, :, None] * stats.norm.pdf(x, 0, spread[:, :, None])
    p = weight.sum(axis=(0, 1)) * (1 + np.exp(-x)) ** -4.0 * (1 + np.exp(x)) ** -1.0
    mean = (x * p).sum() / p.sum()
    spread = np.sqrt(((x - mean) ** 2 * p).sum() / p.sum())
    assert drawn.mean() == pytest.approx(mean, abs=0.1 * spread)
    assert drawn.std() == pytest.approx(spread, rel=0.1)


def places_of_the_truth(n_worlds, sweeps, seed):
    """In worlds drawn from the prior, the shares of draws below the truth are uniform."""
    n_users, n_items, rank, per_user, scales = 8, 4, 1, 6, np.array([1.0, 1.0, 1.0])
    found = []
    for world in range(n_worlds):
        rng = np.random.default_rng([seed, world])
        sd = np.abs(rng.normal(size=3)) * scales  # of m, of l, of own parts
        m, line = sd[0] * rng.normal(size=n_items), sd[1] * rng.normal(size=n_items)
        z, own = rng.normal(size=n_users), sd[2] * rng.normal(size=(n_users, n_items))
        X, h = m + np.outer(z, line) + own, rng.normal()
        user = np.repeat(np.arange(n_users), per_user)
        left = rng.integers(0, n_items, len(user))
        right = (left + rng.integers(1, n_items, len(user))) % n_items
        side = rng.choice([-1.0, 1.0], len(user))
        wins = rng.random(len(user)) < 1 / (1 + np.exp(X[user, right] - X[user, left] - h * side))
        weight = np.ones(len(user))
        winner, loser = np.where(wins, left, right), np.where(wins, right, left)
        votes = votes_of(n_users, n_items, user, winner, loser, weight, np.where(wins, side, -side)[:, None])
        sampler, drawn = Sampler(votes, rank, world, scales), []
        for n in range(sweeps):
            sampler.sweep(1)
            if n >= sweeps // 5 and n % 20 == 0:
                line_ = sampler.rows[0, 1] - sampler.rows[1, 1]
                drawn.append(
                    [*np.sqrt(sampler.variance), sampler.rows[0, 0] - sampler.rows[1, 0], abs(line_), sampler.effect[0]]
                )
        truth = [sd[0], sd[2], sd[1], m[0] - m[1], abs(line[0] - line[1]), h]
        found.append((np.array(drawn) < truth).mean(axis=0))
    return np.array(found)


@pytest.mark.parametrize("n_worlds", [60, pytest.param(400, marks=pytest.mark.thorough)])
def test_the_truth_is_at_any_place_among_draws(n_worlds):
    """Simulation-based calibration: in worlds of the prior, the posterior is exact for variances, items and effects."""
    shares = places_of_the_truth(n_worlds, 1500, seed=1)
    for of in shares.T:
        assert stats.kstest(of, "uniform").pvalue > 1e-3


def test_threads_and_sweeps_do_not_change_bits():
    """Draws depend on the seed and the number of the sweep, not on threads."""
    votes = random_votes(300, 40, 9)
    one, three = Sampler(votes, 3, 5), Sampler(votes, 3, 5)
    for _ in range(4):
        assert one.sweep(1) == three.sweep(3)
    for name in ("rows", "z", "e", "variance"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))
    draws, u = one.items(), np.arange(300, dtype=np.int32)
    for got, other in zip(means(votes, draws, 1), means(votes, draws, 3), strict=True):
        np.testing.assert_array_equal(got, other)
    asked = u, np.zeros(300, np.int32), np.ones(300, np.int32)
    for got, other in zip(margins(votes, draws, *asked, 1), margins(votes, draws, *asked, 3), strict=True):
        np.testing.assert_array_equal(got, other)


@pytest.mark.parametrize("per_user", [3, 12, 60, 500])
def test_both_ways_to_a_posterior_agree(per_user):
    """The core's margins are those of the covariances in Python, by votes or by numbers, whichever are fewer."""
    votes, draws = random_votes(3, 30, per_user), some_draws(3, 30, 2)
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 30, (2, 40))
    right = np.where(left == right, (right + 1) % 30, right)
    for user in range(3):
        belief = TasteBelief(draws, votes, user)
        got = margins(votes, draws, np.full(40, user, np.int32), left, right, 1)
        for mine, theirs in zip(got, belief.margins(left, right), strict=True):
            np.testing.assert_allclose(mine, theirs, atol=0.03, rtol=0.03)
        every = np.arange(30)
        C = belief.covariances(every, every)
        np.testing.assert_allclose(C[left, left] + C[right, right] - 2 * C[left, right], belief.margins(left, right)[1])
        np.testing.assert_allclose(np.diag(C), belief.variances(every))
        drawn = belief.draws(60_000, every, rng)
        np.testing.assert_allclose(drawn.mean(axis=0), belief.expected(every), atol=0.06)
        np.testing.assert_allclose(np.cov(drawn.T), C, atol=0.15)
        assert np.linalg.eigvalsh(C - belief.worth(every)[2]).min() > -1e-6


def test_someone_who_met_many_items_costs_no_cubic_system():
    """Own parts are found one by one; means agree with the dense system, and variances nearly so."""
    votes, draws = random_votes(1, 420, 1500, seed=2), some_draws(2, 420, 2)
    rng = np.random.default_rng(1)
    left = rng.integers(0, 420, 200)
    right = (left + rng.integers(1, 420, 200)) % 420
    mean, variance = margins(votes, draws, np.zeros(200, np.int32), left, right, 1)
    belief = TasteBelief(draws, votes)
    assert belief.dense
    exact = belief.margins(left, right)
    assert np.corrcoef(mean, exact[0])[0, 1] > 0.995
    np.testing.assert_allclose(np.sqrt(variance).mean(), np.sqrt(exact[1]).mean(), rtol=0.1)


def test_the_sampler_of_many_items_is_that_of_few():
    """Votes of a person who met many items are learned from, although own parts are drawn one by one."""
    world = rather.simulate(n_users=12, n_items=400, rank=1, per_user=900, seed=3)
    pairs = world.comparisons.pairs()
    votes = votes_of(12, 400, pairs.user, pairs.winner, pairs.loser)
    sampler = Sampler(votes, 1, 0)
    for _ in range(150):
        sampler.sweep(1)
    test = world.test(3000, seed=9).pairs()
    mean, variance = margins(votes, sampler.items(), test.user, test.winner, test.loser, 1)
    assert np.logaddexp(0, -averaged(mean, variance)).mean() < 0.65


def test_the_core_refuses_what_does_not_fit():
    """Arguments of other sizes or codes out of range are named."""
    votes, draws = random_votes(3, 5, 4), some_draws(1, 5, 2)
    with pytest.raises(ValueError, match="rows has"):
        margins(votes, some_draws(1, 4, 2), np.zeros(1, np.int32), np.zeros(1), np.ones(1), 1)
    with pytest.raises(IndexError, match="users"):
        margins(votes, draws, np.full(1, 3, np.int32), np.zeros(1), np.ones(1), 1)
    sampler = Sampler(votes, 2, 0)
    sampler._pair[0] = 10**6
    with pytest.raises(ValueError, match="item_pair"):
        sampler.sweep(1)
