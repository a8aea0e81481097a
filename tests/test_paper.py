"""The arithmetic behind the pictures of docs/concepts/theory.md."""

import numpy as np
import pytest
from theory_crowd import renamed
from theory_packing import hard_truth
from truth import divergence, every_pair, lam_of, risk, scores_of, share

import rather


@pytest.mark.parametrize("m", [200, 5_000, 40_000])
def test_the_packing_set_keeps_to_its_nuclear_norm(m):
    truth, height = hard_truth(40, 60, m, 1.5, np.random.default_rng(0))
    assert truth.shape == (40, 60)
    assert np.linalg.norm(truth, "nuc") <= np.sqrt(1.5 * 40 * 60) * (1 + 1e-12)
    assert np.array_equal(truth[0], truth[height % 40])
    assert np.allclose(np.abs(truth), np.sqrt(1.5 / height))


def test_risk_divergence_and_share_are_means_over_pairs():
    truth = np.array([[0.0, np.log(3.0)]])  # prefers the second with probability 3/4
    assert risk(truth, np.zeros((1, 2)), "hinge") == pytest.approx(1.0)
    assert risk(truth, np.array([[0.0, 1.0]]), "hinge") == pytest.approx(0.5)
    assert divergence(truth, np.zeros((1, 2))) == pytest.approx(0.75 * np.log(1.5) + 0.25 * np.log(0.5))
    assert [share(truth, np.array([[0.0, s]])) for s in (5.0, 0.0, -5.0)] == [1.0, 0.0, -1.0]


def test_every_pair_makes_the_truth_the_best_fit():
    world = rather.simulate(12, 8, rank=2, per_user=1, noise=1.0, seed=0)
    pairs = every_pair(world)
    assert len(pairs) == 12 * 8 * 7
    model = rather.Convex.plain(lam_of(world.scores), loss="logistic", tol=1e-4, n_threads=1).fit(pairs)
    least = risk(world.scores, world.scores, "logistic")
    assert least - 1e-6 <= risk(world.scores, scores_of(model), "logistic") <= least * 1.0002


def test_comparisons_renamed_are_everybodys_own():
    world = rather.simulate(5, 7, per_user=4, seed=0)
    own, pairs = renamed(world.comparisons).pairs(), world.comparisons.pairs()
    assert np.array_equal(own.winner // 7, pairs.user) and np.array_equal(own.loser % 7, pairs.loser)
