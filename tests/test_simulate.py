"""The simulated world: answers follow the truth it says it has."""

import numpy as np
import pytest

import rather


@pytest.fixture(scope="module")
def world():
    return rather.simulate(n_users=12, n_items=11, rank=2, per_user=400, seed=3)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_counts_and_names(world):
    """Every user makes per_user comparisons of two different items, under names in sorted order."""
    pairs = world.comparisons.pairs()
    assert np.bincount(pairs.user).tolist() == [400] * 12
    assert (pairs.winner != pairs.loser).all()
    assert world.comparisons.users.tolist() == sorted(f"user {k}" for k in range(12))
    assert world.comparisons.items.tolist() == sorted(f"item {k}" for k in range(11))


def test_scores_are_low_rank(world):
    """The truth is the product of the factors, of the rank asked for and the variance the noise gives it."""
    assert world.scores.shape == (12, 11) and np.linalg.matrix_rank(world.scores) == 2
    np.testing.assert_allclose(world.scores, world.user_factors @ world.item_factors.T)
    large = rather.simulate(n_users=400, n_items=300, rank=5, per_user=1, noise=0.25)
    assert large.scores.std() == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize("fresh", [False, True])
def test_answers_follow_the_probabilities(world, fresh):
    """Answers are Bernoulli with P = sigma(s_ij - s_ik) of the truth at the same codes: chi-square over ten bins."""
    pairs = world.test(20_000).pairs() if fresh else world.comparisons.pairs()
    lower = np.minimum(pairs.winner, pairs.loser)
    higher = np.maximum(pairs.winner, pairs.loser)
    p = sigmoid(world.margins(pairs.user, lower, higher))
    won = pairs.winner == lower
    chi_square = 0.0
    for low in np.arange(0, 1, 0.1):
        inside = (p >= low) & (p < low + 0.1)
        chi_square += (won[inside] - p[inside]).sum() ** 2 / (p[inside] * (1 - p[inside])).sum()
    assert chi_square < 30  # 10 degrees of freedom: exceeded once in a thousand seeds


def test_comparisons_are_of_uniform_pairs(world):
    """Every pair of items is compared about equally often."""
    pairs = world.comparisons.pairs()
    counts = np.zeros((11, 11))
    np.add.at(counts, (np.minimum(pairs.winner, pairs.loser), np.maximum(pairs.winner, pairs.loser)), 1)
    counts = counts[np.triu_indices(11, 1)]
    assert ((counts - 4800 / 55) ** 2 / (4800 / 55)).sum() < 100  # 54 degrees of freedom


def test_names_follow_the_truth():
    """With hardly any noise the truth, looked up by name, agrees with every answer: 'item 10' is not mistaken."""
    world = rather.simulate(n_users=12, n_items=13, rank=3, per_user=30, noise=1e-9)
    frame = world.comparisons.to_frame()
    row = {name: k for k, name in enumerate(world.comparisons.users)}
    column = {name: k for k, name in enumerate(world.comparisons.items)}
    for user, winner, loser in zip(*frame.values(), strict=True):
        assert world.scores[row[user], column[winner]] > world.scores[row[user], column[loser]]
    assert world.best_accuracy == 1


def test_best_accuracy(world):
    """It is the mean of max(P, 1 - P) over all users and pairs, and what the true scores reach on fresh answers."""
    difference = world.scores[:, :, None] - world.scores[:, None, :]
    pairs = ~np.eye(11, dtype=bool)
    assert world.best_accuracy == pytest.approx(sigmoid(np.abs(difference[:, pairs])).mean(), abs=0.003)
    test = world.test(50_000).pairs()
    assert (world.margins(test.user, test.winner, test.loser) > 0).mean() == pytest.approx(
        world.best_accuracy, abs=0.01
    )


def test_seed():
    """A seed gives the same world again, another seed another; fresh answers have a seed of their own."""
    a, b, c = (rather.simulate(n_users=5, n_items=6, per_user=20, seed=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(a.scores, b.scores)
    np.testing.assert_array_equal(a.comparisons.pairs().winner, b.comparisons.pairs().winner)
    assert not np.allclose(a.scores, c.scores)
    assert np.array_equal(a.test(50).pairs().winner, b.test(50).pairs().winner)
    assert not np.array_equal(a.test(50, seed=1).pairs().winner, a.test(50, seed=2).pairs().winner)


def test_noise_sets_the_difficulty():
    """Less noise makes answers more certain; at 0.5 and rank 3 about 0.80 of them are foreseeable."""
    best = [rather.simulate(300, 200, 3, 1, noise).best_accuracy for noise in (4, 1, 0.5, 0.1)]
    assert best == sorted(best) and best[2] == pytest.approx(0.80, abs=0.015)


def test_ratings_are_ordered_by_the_same_probabilities():
    """Items rated differently are ordered as comparisons of the same scores would be, and levels are about even."""
    world = rather.simulate(n_users=400, n_items=60, rank=2, per_user=30, levels=5, seed=3)
    r = world.comparisons.ratings
    assert len(r.user) == 400 * 30 and len(np.unique(r.user.astype(np.int64) * 60 + r.item)) == len(r.user)
    assert np.bincount(r.rating.astype(int), minlength=6)[1:].min() > 0.15 * len(r.user)
    pairs = world.comparisons.pairs()
    margin = world.margins(pairs.user, pairs.winner, pairs.loser)
    # Ties leave out close calls, so the share of right orders is at least that of all comparisons.
    assert (margin > 0).mean() > world.best_accuracy
    fine = rather.simulate(n_users=400, n_items=60, rank=2, per_user=30, levels=10_000, seed=3)
    pairs = fine.comparisons.pairs()
    right = fine.margins(pairs.user, pairs.winner, pairs.loser) > 0
    assert right.mean() == pytest.approx(fine.best_accuracy, abs=0.02)


def test_what_sways_answers():
    """Careless people are the share asked for and choose by a coin; the first one, and long ones, have their favour."""
    world = rather.simulate(200, 12, rank=2, per_user=100, careless=0.25, side=1.0, covariates={"length": -0.5}, seed=1)
    assert world.careless.sum() == 50 and world.effects == {"side": 1.0, "length": -0.5}
    pairs = world.comparisons.pairs()
    side, length = pairs.around.T.astype(float)
    assert set(side) == {-1.0, 1.0} and abs((side * np.sign(length)).mean()) < 0.05 and abs(length.std() - 1) < 0.05
    coin = world.careless[pairs.user]
    assert abs(side[coin].mean()) < 0.06 and abs(length[coin].mean()) < 0.06
    p = sigmoid(world.margins(pairs.user, pairs.winner, pairs.loser) + side - 0.5 * length)[~coin]
    # of answers given with probability p the mean of 1 / p is the number of outcomes, two
    assert (1 / p).mean() == pytest.approx(2, abs=0.1)


def test_ties_are_as_frequent_as_the_reluctance():
    """An item is preferred with probability sigma(margin - r), a tie is what is left; r is the median person's."""
    world = rather.simulate(400, 10, rank=2, per_user=60, noise=1e6, ties=1.0, seed=1)
    frame = world.comparisons.to_frame()
    assert world.effects == {"tie": 1.0} and len(frame["tie"]) == 400 * 60
    tied = np.array(frame["tie"])
    each = np.array([tied[frame["user"] == user].mean() for user in world.comparisons.users])
    assert np.median(each) == pytest.approx(1 - 2 * sigmoid(-1.0), abs=0.03)
    assert each.std() > 0.1  # people have their own
