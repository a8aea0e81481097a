"""The demonstration's world: its truth is what it says, and the model finds most of it."""

import numpy as np
import pytest

from rather import AltSVM, InputError
from rather.cli import film_club
from rather.cli.film_club import HANDFULS, hit_rate
from rather.datasets.films import ANSWERS, AXES, FILMS, club


@pytest.fixture(scope="module")
def story():
    return film_club.run(members=150, seed=0)


def test_films_differ_and_lie_within_the_axes():
    """Every film has a place of its own, between -1 and 1 on each axis."""
    places = list(FILMS.values())
    assert len(set(places)) == len(places) == 40
    assert all(len(place) == 1 + len(AXES) and max(map(abs, place)) <= 1 for place in places)


def test_world_is_its_films_and_members():
    """Rows of the truth belong to the ids at the same place, and every member gives as many answers."""
    world = club(members=30, seed=3)
    votes = world.comparisons
    assert votes.items.tolist() == sorted(FILMS)
    assert [tuple(row) for row in world.item_factors.tolist()] == [FILMS[title] for title in votes.items]
    assert votes.n_users == len(set(votes.users)) == len(world.user_factors) == 30
    assert votes.users.tolist() == sorted(votes.users)
    assert set(np.bincount(votes.pairs().user)) == {ANSWERS}


def test_same_seed_same_club():
    """A seed fixes the club; another seed makes another."""
    a, b, c = (club(members=20, seed=seed).comparisons.pairs() for seed in (1, 1, 2))
    assert np.array_equal(a.winner, b.winner) and not np.array_equal(a.winner, c.winner)


def test_answers_follow_the_truth():
    """Members answer as their true scores say as often as Bradley-Terry-Luce has it."""
    world = club(members=1000, seed=0)
    pairs = world.comparisons.pairs()
    margin = world.margins(pairs.user, pairs.winner, pairs.loser)
    expected = np.mean(1 / (1 + np.exp(-np.abs(margin))))
    assert np.mean(margin > 0) == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(len(margin)))


def test_hit_rate_is_the_share_of_answers_predicted():
    """The closed form agrees with counting simulated answers."""
    rng = np.random.default_rng(0)
    truth, scores = rng.standard_normal(6), rng.standard_normal(6)
    j, k = np.array([(j, k) for j in range(6) for k in range(j)]).T
    first = rng.random((20_000, len(j))) < 1 / (1 + np.exp(truth[k] - truth[j]))
    counted = np.mean(first == (scores[j] > scores[k]))
    assert hit_rate(truth, scores) == pytest.approx(counted, abs=0.005)


def test_nothing_predicts_better_than_the_truth():
    """Nobody's answers are predicted better by another order than their true one."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        truth = 2 * rng.standard_normal(10)
        assert hit_rate(truth, rng.standard_normal(10)) <= hit_rate(truth, truth)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_personal_beats_global(seed):
    """In every club personal rankings predict more than one ranking for all, and less than the truth."""
    accuracy = film_club.run(members=100, seed=seed)["accuracy"]
    assert 0.5 < accuracy["global"] + 0.05 < accuracy["personal"] < accuracy["best"]


def test_global_ranking_is_not_made_of_straw():
    """The one ranking it is compared with predicts nearly as much as the best single ranking there is."""
    world = club(members=400, seed=0)
    bias = AltSVM().fit(world.comparisons).item_bias_
    best = world.scores.mean(axis=0)
    share = [np.mean([hit_rate(truth, ranking) for truth in world.scores]) for ranking in (bias, best)]
    assert share[0] > share[1] - 0.01


def test_story_holds_together(story):
    """Lists are permutations of the films, shares follow from accuracies, and the member disagrees with the club."""
    accuracy, member = story["accuracy"], story["member"]
    assert story["attained"]["personal"] == (accuracy["personal"] - 0.5) / (accuracy["best"] - 0.5)
    for which in ("global_list", "personal_list", "true_list"):
        assert sorted(member[which]) == sorted(FILMS)
    assert member["accuracy"]["global"] < accuracy["global"]
    assert member["accuracy"]["global"] < member["accuracy"]["personal"] < member["accuracy"]["best"]


def test_newcomers_are_known_better_with_every_handful(story):
    """On average, more answers of a newcomer predict more, from the global ranking towards the best."""
    newcomer = story["newcomer"]
    averages = [step["average"] for step in newcomer["progress"]]
    assert [step["answers"] for step in newcomer["progress"]] == list(HANDFULS)
    assert averages == sorted(averages) and averages[-1] < newcomer["best"]["average"]
    assert averages[0] == pytest.approx(story["accuracy"]["global"], abs=0.05)
    assert len(newcomer["answers"]) == max(HANDFULS)


@pytest.mark.parametrize("members", [0, 19, 1001, 2.5])
def test_impossible_clubs_are_refused(members):
    """A club has from 20 to 1000 members."""
    with pytest.raises(InputError, match="members is"):
        club(members=members)
