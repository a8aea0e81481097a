import numpy as np
import pytest

import rather


def share_reached(world):
    """Accuracy above chance on fresh answers, as a share of what the truth has on the same answers."""
    test = world.test(200_000)
    pairs = test.pairs()
    best = np.mean(world.margins(pairs.user, pairs.winner, pairs.loser) > 0)
    return (rather.pairwise_accuracy(rather.AltSVM().fit(world.comparisons), test) - 0.5) / (best - 0.5)


@pytest.mark.parametrize(
    ("n_users", "n_items", "rank", "noise", "share"),
    [(700, 90, 2, 0.5, 0.9), (150, 250, 4, 0.4, 0.85), (1500, 40, 6, 1.2, 0.8)],
)
def test_altsvm_comes_within_a_twentieth_of_the_share_planned_for(n_users, n_items, rank, noise, share):
    per_user = rather.answers_needed(n_users, n_items, rank, share=share, noise=noise)
    world = rather.simulate(n_users, n_items, rank, per_user, noise, seed=77)
    assert abs(share_reached(world) - share) < 0.05


def test_more_is_needed_for_more():
    plan = {"n_users": 200, "n_items": 100, "rank": 3, "share": 0.8, "noise": 0.5}
    per_user = rather.answers_needed(**plan)
    assert isinstance(per_user, int)
    for harder in ({"n_items": 200}, {"rank": 4}, {"share": 0.9}, {"noise": 1.0}, {"n_users": 100}):
        assert rather.answers_needed(**{**plan, **harder}) > per_user


def test_a_large_crowd_pays_for_its_own_vectors_only():
    crowd = rather.answers_needed(10**9, 100, rank=3)
    assert crowd == rather.answers_needed(10**6 * 10**9, 10**5, rank=3) == 23  # (0.5 + 0.15) / 0.1 * 3.5, rounded up


def test_no_more_rank_than_users_or_items_can_have():
    assert rather.answers_needed(5, 100, rank=50) == rather.answers_needed(5, 100, rank=5)
    assert rather.answers_needed(100, 5, rank=50) == rather.answers_needed(100, 5, rank=4)


def test_nobody_is_asked_for_more_answers_than_there_are_pairs():
    assert rather.answers_needed(20, 6, rank=3) == 15 and rather.answers_needed(1, 2, rank=1, noise=10) == 1
    assert all(
        rather.answers_needed(n, m, rank=2, noise=3) <= m * (m - 1) // 2 for n in (1, 10, 1000) for m in (2, 3, 10, 40)
    )


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"n_users": 0}, "n_users is 0"),
        ({"n_items": 1}, "n_items is 1"),
        ({"rank": 2.5}, "rank is 2.5; it must be a whole number"),
        ({"share": 1.0}, "share is 1.0; it must be a number above 0 and below 1"),
        ({"share": "most"}, "share is 'most'"),
        ({"noise": 0}, "noise is 0"),
        ({"noise": float("nan")}, "noise is nan"),
    ],
)
def test_bad_plans_are_refused_in_a_sentence(bad, said):
    with pytest.raises(rather.InputError, match=said):
        rather.answers_needed(**{"n_users": 10, "n_items": 10, "rank": 2, **bad})
