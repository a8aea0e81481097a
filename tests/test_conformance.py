"""What every estimator promises, whatever it is made of."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import rather
from rather import ESTIMATORS, Comparisons, InputError, NotFittedError
from rather.data.clicks import AgainstUnseen, DrawnPairs
from rather.testing import check_estimator, checks
from rather.testing import small_data as data

pytestmark = pytest.mark.usefixtures("brief_search")

SEES = {
    "ItemMean": "ratings", "Differences": "ratings", "CofiRank": "ratings", "LCR": "ratings", "RobiRank": "clicks",
    "Popularity": "clicks", "RP3beta": "clicks", "EASE": "clicks", "ClickRanker": "clicks", "VoteRanker": "votes",
}  # the others: anything  # fmt: skip
LOCK_FREE = {"BPR", "SGD", "RobiRank", "PaperAltSVM"}  # reproducible on one thread
SMALL = {"rank": 3, "max_iter": 3, "anchors": 2}


def small(name, **params):
    kind = ESTIMATORS[name]
    given = {"n_threads": 1, **{k: v for k, v in SMALL.items() if k in kind._param_names()}}
    return kind(**{**given, **params})


CASES = [
    (name, source)
    for name in ESTIMATORS
    for source in ("votes", "ratings", "clicks")
    if SEES.get(name, source) == source
]
EACH = [(name, SEES.get(name, "votes")) for name in ESTIMATORS]


@pytest.fixture(scope="module")
def fitted():
    made = {}

    def get(name, source):
        if (name, source) not in made:
            made[name, source] = small(name).fit(data(source))
        return made[name, source]

    return get


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parameters(name):
    """clone, get_params and set_params work, nothing is computed before fit, and a name that is none is refused."""
    model = small(name, seed=7)
    copy = clone(model)
    assert copy is not model and copy.get_params() == model.get_params() and copy.seed == 7
    assert copy.set_params(seed=8).seed == 8 and repr(ESTIMATORS[name]()) == f"{name}()"
    with pytest.raises(InputError, match="no parameter 'colour'"):
        copy.set_params(colour="red")
    with pytest.raises(NotFittedError):
        model.score("a", "b")
    with pytest.raises(NotFittedError):
        _ = model.users_


CHECKS = [check for name in ESTIMATORS for check in checks(small(name))]


def test_every_kind_of_data_is_checked():
    """Every estimator is checked on all the kinds of data that it takes."""
    assert {(type(check.estimator).__name__, check.source) for check in CHECKS} == set(CASES)


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_conformance(check):
    """The published suite: rather.testing."""
    check()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_pickles(name):
    """A pickled model answers as before."""
    model = small(name).fit(data(SEES.get(name, "votes")))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.score(model.users_[0], model.items_), model.score(model.users_[0], model.items_)
    )
    assert again.probability(model.users_[0], *model.items_[:2]) == model.probability(
        model.users_[0], *model.items_[:2]
    )


def test_a_callback_that_pickle_refuses():
    """A worker process calls the callback of an estimator that is not fitted; a fitted model needs it no more."""
    votes = data("votes")
    assert pickle.loads(pickle.dumps(rather.AltSVM(callback=print))).callback is print
    made = rather.AltSVM(rank=1, max_iter=2, callback=lambda model, record: False)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(made)
    assert pickle.loads(pickle.dumps(made.fit(votes))).callback is None
    for words in (rather.Estimator.__getstate__.__doc__, rather.AltSVM.__doc__):
        assert "lambda" in words and "fitted" in words


class Popular:
    """The least an estimator can be: items score by how often they won."""

    def fit(self, comparisons):
        if not isinstance(comparisons, Comparisons):
            raise ValueError("not comparisons")
        pairs = comparisons.pairs()
        self.wins = dict(zip(comparisons.items, np.bincount(pairs.winner, minlength=comparisons.n_items), strict=True))
        self.users = set(comparisons.users)
        return self

    def score(self, users, items):
        if not set(users) <= self.users:
            raise KeyError("a user that is not known")
        return np.array([self.wins[item] for item in items])


class Forgetful(Popular):
    def fit(self, comparisons):
        super().fit(comparisons)


class Terse(Popular):
    def score(self, users, items):
        return super().score(users, items)[:1]


def test_others_estimators_are_checked():
    """Anything with fit and score is checked; what breaks a promise is named with the promise."""
    check_estimator(Popular())
    for kind, claim in ((Forgetful, "fit did not return the estimator"), (Terse, "one finite number for each pair")):
        with pytest.raises(AssertionError, match=claim):
            check_estimator(kind())


@pytest.mark.parametrize(("name", "source"), CASES)
def test_a_fit_learns(fitted, name, source):
    """Training comparisons come out right more often than by chance, and probabilities of two sides add up to one."""
    model, comparisons = fitted(name, source), data(source)
    assert len(model.recommend([], k=2)) == 0
    full = clone(model)
    if "max_iter" in full.get_params():
        full.set_params(max_iter=ESTIMATORS[name]().max_iter)
    full.fit(comparisons)
    least = 0.55 if name == "Popularity" else 0.6  # against which unseen items are drawn by popularity
    assert rather.pairwise_accuracy(full, comparisons) > least
    a, b = model.items_[:2]
    left, right = model.probability(model.users_, a, b), model.probability(model.users_, b, a)
    np.testing.assert_allclose(left + right, 1, atol=1e-6)
    assert ((left > 0.5) <= (model.score(model.users_, a) > model.score(model.users_, b))).all()


@pytest.mark.parametrize(("name", "source"), EACH)
def test_the_seed_decides(name, source):
    """Two fits with one seed agree to the bit; unless threads race by design, so do fits on one and three threads."""
    comparisons = data(source)
    pairs = np.repeat(comparisons.users, 20), np.tile(comparisons.items, 30)
    first = small(name, seed=3).fit(comparisons).score(*pairs)
    np.testing.assert_array_equal(first, small(name, seed=3).fit(comparisons).score(*pairs))
    if name not in LOCK_FREE:
        np.testing.assert_array_equal(first, small(name, seed=3, n_threads=3).fit(comparisons).score(*pairs))


BAD = {
    "max_iter": [0, 1.5], "seed": [-1], "n_threads": [0], "callback": [3], "rank": [0, "2"], "reg": [-1.0, np.nan],
    "loss": ["absolute"], "tol": [-1.0], "step": [0.0],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        (n, k, v)
        for n, kind in ESTIMATORS.items()
        for k, values in BAD.items()
        if k in kind._param_names()
        for v in values
    ],
)
def test_bad_parameters(name, parameter, value):
    """A parameter out of its range is refused by name before any work."""
    with pytest.raises(InputError, match=parameter):
        ESTIMATORS[name](**{parameter: value}).fit(data(SEES.get(name, "votes")))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_bad_data(name):
    """Neither a table nor an array of the wrong shape is taken; nor comparisons without what the method needs."""
    for wrong in ({"user": [1]}, np.zeros((3, 2), int), "votes.csv"):
        with pytest.raises(InputError):
            small(name).fit(wrong)
    if SEES.get(name, "votes") != "votes":
        with pytest.raises(InputError, match=SEES[name]):
            small(name).fit(data("votes"))
    else:
        X, y = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]]), np.array([1, -1, 1])
        assert small(name).fit(X, y).score(0, [0, 1, 2]).shape == (3,)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parts_without_comparisons(name):
    """A part that holds nothing is fitted, to nothing, or refused in a sentence; nothing else happens."""
    stars = {"user": [0, 0, 1, 1], "item": [0, 1, 0, 1], "rating": [1, 2, 2, 1]}
    clicks = Comparisons.from_clicks({"user": [0, 0, 0, 1], "item": [0, 1, 2, 1]})
    few, size = clicks.clicks.take(slice(0, 3)), (2, 3)
    levels = clicks.source.levels.take(slice(0, 3))
    everything = clicks._with(AgainstUnseen(*size, few, clicks.source.rule, few, levels))
    drawn = Comparisons.from_clicks({"user": [0, 1], "item": [0, 1]}, per_user=3)
    nothing = drawn.clicks.take(slice(0, 0))
    for part in (
        Comparisons.from_ratings(stars).split(0.1, by="items")[1],
        clicks.split(0.1, by="items")[1],
        everything,
        drawn._with(DrawnPairs(2, 2, nothing, drawn.source.rule, nothing, drawn.pairs().take(slice(0, 0)))),
    ):
        assert not len(part)
        try:
            model = small(name).fit(part)
        except InputError:
            continue
        assert np.isfinite(model.score(part.users[0], part.items)).all()


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("by", ["pairs", "items"])
def test_parts_can_be_fitted(name, by, tmp_path):
    """What a split gives can be fitted, calibrated and saved like anything else."""
    source = SEES.get(name, "clicks")
    train, test = data(source).split(0.3, seed=1, by="pairs" if source == "votes" else by)
    if name in ("ItemMean", "CofiRank") and by == "pairs":
        with pytest.raises(InputError, match="ratings"):
            small(name).fit(train)
        return
    model = small(name).fit(train)
    model.save(tmp_path / "m.rather")
    assert 0 <= rather.pairwise_accuracy(model, test) <= 1
    if source == "clicks":
        p = test.pairs()
        held = set(zip(p.user.tolist(), p.winner.tolist(), strict=True))
        shown = model.recommend(model.users_, k=20, exclude="seen")
        found = {
            (int(np.flatnonzero(model.users_ == row.user)[0]), int(np.flatnonzero(model.items_ == row.item)[0]))
            for row in shown
        }
        assert held <= found


@pytest.mark.parametrize("name", [name for name, source in EACH if source == "votes"])
def test_votes_with_all_that_they_carry(name, tmp_path):
    """Every estimator of votes reads ties, sides and covariates, whether it uses them or not; files and lists work."""
    world = rather.simulate(30, 12, per_user=12, ties=0.5, side=0.3, covariates={"length": 0.5})
    model = small(name).fit(world.comparisons)
    assert np.isfinite(model.score(world.comparisons.users, "item 1")).all() and len(model.rank("user 3")) == 12
    model.calibrate().save(tmp_path / "m")
    again = rather.load(tmp_path / "m")
    asked = "user 3", "item 1", "item 2"
    np.testing.assert_array_equal(again.probability(*asked), model.probability(*asked))
    assert model.probability(*asked).shape == ((1, 3) if name in ("AltSVM", "Convex") else (1,))


def test_models_of_ties_and_of_embeddings_can_be_pickled():
    """What votes carry, and things that occur once, are no obstacle; nor are newcomers to them."""
    world = rather.simulate(30, 10, rank=2, per_user=20, ties=0.5, side=0.3, covariates={"words": 0.4}, seed=1)
    tied = rather.AltSVM(rank=2).fit(world.comparisons)
    table, user, (a, b, *_) = tied.effects(), tied.users_[0], tied.items_
    for again in (pickle.loads(pickle.dumps(tied)), pickle.loads(pickle.dumps(tied.fold_in([(a, b, "tie")]))).model):
        assert again.effects()["estimate"].tolist() == table["estimate"].tolist()
        assert (again.probability(user, a, b, side="left") == tied.probability(user, a, b, side="left")).all()
    rng = np.random.default_rng(0)
    chosen, rejected = rng.normal(size=(2, 60, 4)).astype(np.float32)
    once = Comparisons.from_embeddings(np.repeat(np.arange(10), 6), chosen, rejected)
    model = rather.AltSVM(rank=2).fit(once)
    person = model.fold_in(Comparisons.from_embeddings([0], chosen[:1], rejected[:1]))
    for one, other in ((model, model.reward([3], chosen[:5])), (person, person.reward(chosen[:5]))):
        again = pickle.loads(pickle.dumps(one))
        assert ((again.reward([3], chosen[:5]) if one is model else again.reward(chosen[:5])) == other).all()
