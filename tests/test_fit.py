"""rather.fit: the kind of data alone chooses the estimator, and the rest is that estimator's own fit."""

import numpy as np
import pytest

import rather
from rather import AltSVM, ClickRanker, Comparisons, Global, InputError

VOTES = {"user": ["ann", "bob", "cat"] * 4, "winner": list("ABCDAABBCDAC"), "loser": list("BCDABCDADABD")}
CLICKS = {"user": [1, 1, 2, 2, 3, 3, 4], "item": ["A", "B", "A", "C", "B", "D", "C"]}
ITEMS = {"item": list("ABCD"), "year": [1950, 1970, 1990, 2010]}
USERS = {"user": ["ann", "bob", "cat"], "age": [20, 40, 60]}
RATINGS = {"user": [1, 1, 2, 2], "item": ["A", "B", "A", "B"], "rating": [1, 5, 4, 2]}
LOG = {"left": ["A", "B"], "right": ["B", "C"], "outcome": ["tie", "right"]}


def one_of(name):
    return {**VOTES, "user": [name] * 12}


@pytest.mark.parametrize(
    ("comparisons", "expected"),
    [
        (Comparisons.from_frame(VOTES), AltSVM),
        (Comparisons.from_frame(VOTES, user=None), Global),
        (Comparisons.from_frame(one_of("ann")), AltSVM),  # one user who is named
        (Comparisons.from_frame(one_of(1)), AltSVM),
        (Comparisons.from_frame(Comparisons.from_frame(VOTES, user=None).to_frame()), Global),  # written and read
        (Comparisons.from_frame(VOTES, user=None).split(test=0.3)[0], Global),
        (Comparisons.from_arena(LOG, user=None), Global),
        (Comparisons.from_ratings(RATINGS), AltSVM),
        (Comparisons.from_ratings(RATINGS, keep="largest-gap"), AltSVM),
        (Comparisons.from_clicks(CLICKS), ClickRanker),
        (Comparisons.from_clicks(CLICKS, per_user=2), ClickRanker),
        (Comparisons.from_clicks(CLICKS).with_features(ITEMS), AltSVM),
        (Comparisons.from_embeddings("everyone", np.eye(3), -np.eye(3)), AltSVM),
    ],
    ids=str,
)
def test_the_kind_of_data_chooses(comparisons, expected):
    """Clicks, votes that name nobody, and everything else have an estimator each; the parameters are its defaults."""
    estimator = rather.default_estimator(comparisons)
    assert type(estimator) is expected and estimator.get_params() == expected().get_params()
    given = rather.default_estimator(comparisons, n_threads=1, seed=3, verbose=True)
    assert (given.n_threads, given.seed, given.verbose) == (1, 3, True)


def test_features_choose_one_that_learns_from_them():
    """Features make AltSVM the choice for clicks, and make no difference to votes."""
    clicks, votes = Comparisons.from_clicks(CLICKS), Comparisons.from_frame(VOTES)
    assert type(rather.default_estimator(clicks, item_features=ITEMS)) is AltSVM
    assert type(rather.default_estimator(clicks, user_features=USERS)) is AltSVM
    assert type(rather.default_estimator(votes, ITEMS, USERS)) is AltSVM


@pytest.mark.parametrize("act", [rather.fit, rather.default_estimator])
def test_features_need_names(act):
    """Features of items or users are refused where nobody is named, in one sentence that says what to do."""
    votes = Comparisons.from_frame(VOTES, user=None)
    for features in ({"item_features": ITEMS}, {"user_features": USERS}):
        with pytest.raises(InputError, match="name nobody; leave the features out"):
            act(votes, **features)
    with pytest.raises(InputError, match="name nobody"):
        act(votes.with_features(ITEMS))


@pytest.mark.parametrize("data", [VOTES, [1, 2], None], ids=["dict", "list", "None"])
def test_other_data_are_refused(data):
    """A table that was not read yet is refused, and the sentence says how to read it."""
    for act in (rather.fit, rather.default_estimator):
        with pytest.raises(
            InputError, match=r"it takes Comparisons \(see Comparisons\.from_frame, from_ratings, from_clicks\)"
        ):
            act(data)


def test_fit_is_the_estimators_own_fit():
    """The fitted model is that of the class, bit for bit, with features, threads and seed passed on."""
    votes = rather.simulate(40, 12, rank=2, per_user=15, seed=1).comparisons
    items = {"item": votes.items.tolist(), "size": np.arange(12)}
    users = {"user": votes.users.tolist(), "age": np.arange(40)}
    ours = rather.fit(votes, items, users, n_threads=1, seed=5)
    theirs = AltSVM(n_threads=1, seed=5).fit(votes, item_features=items, user_features=users)
    assert type(ours) is AltSVM and ours.get_params() == theirs.get_params()
    assert (ours.user_factors_ == theirs.user_factors_).all() and (ours.item_bias_ == theirs.item_bias_).all()
    assert len(ours.features_) == 2


def test_clicks_and_anonymous_votes_are_fitted():
    """The other two choices come back fitted as well."""
    assert rather.fit(Comparisons.from_clicks(CLICKS)).recommend([1], k=1, exclude="seen")["item"][0] in "CD"
    assert rather.fit(Comparisons.from_frame(VOTES, user=None)).rank()["item"][0] == "A"
