"""Newcomers at once: the vectors that each would get alone, and a model that can be asked all a model is asked."""

import numpy as np
import pytest

import rather
from rather import BPR, SGD, AltSVM, Comparisons, Convex, Global, InputError, simulate


@pytest.fixture(scope="module")
def world():
    return simulate(n_users=80, n_items=30, rank=2, per_user=30, seed=0)


@pytest.fixture(scope="module")
def stars():
    return simulate(n_users=80, n_items=30, rank=2, per_user=12, levels=5, seed=0).comparisons


def test_a_newcomers_clicks():
    """AltSVM counts the clicks as answers and learns from them; a bare table of items is refused in a sentence."""
    data = rather.testing.small_data("clicks")
    model, start, item = AltSVM(rank=3).fit(data), *data.source.met()
    mine = data.items[item[start[0] : start[1]]].tolist()
    table = {"user": ["new"] * len(mine), "item": mine}
    clicks = Comparisons.from_clicks(table, allow_empty=True)
    person, many = model.fold_in(clicks), model.fold_in_many(clicks)
    assert person.answers == mine and repr(person) == f"Person: {len(mine)} answers"
    own, shared = model.score(data.users[0], model.items_), model.average_scores()
    for found in (person.score(model.items_), many.score("new", model.items_)):
        assert np.corrcoef(found, own)[0, 1] > max(np.corrcoef(shared, own)[0, 1], 0.8)
    for call in (model.fold_in, model.fold_in_many):
        with pytest.raises(InputError, match="give clicks as"):
            call(table)


def answers(items, n, per_user=6, seed=0):
    """A table of votes of n newcomers, unequally many each."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n), 1 + rng.integers(per_user, size=n))
    left = rng.integers(len(items), size=len(user))
    right = (left + 1 + rng.integers(len(items) - 1, size=len(user))) % len(items)
    return {"user": np.array([f"new {u}" for u in user]), "winner": items[left], "loser": items[right]}


def one_by_one(model, table):
    user = np.asarray(table["user"])
    for who in dict.fromkeys(user.tolist()):
        rows = user == who
        yield who, model.fold_in(list(zip(table["winner"][rows], table["loser"][rows], strict=True)))


@pytest.mark.parametrize(
    ("kind", "params"),
    [(AltSVM, {"rank": 4}), (AltSVM, {"rank": 4, "exposure": True}), (AltSVM, {"loss": "hinge", "bias": False}),
     (AltSVM, {"rank": 4, "loss": "logistic", "user_power": 0.5, "balance": 0.5}), (Convex, {"reg": 20.0}),
     (Global, {}), (BPR, {"rank": 4}), (SGD, {"rank": 4})],
    ids=str,
)  # fmt: skip
def test_at_once_as_alone(kind, params, world):
    """Every newcomer has the bits that fold_in gives them alone, and the same answers follow from them."""
    model = kind(**({"reg": 5.0} if kind is AltSVM else {}), **params).fit(world.comparisons)
    table = answers(model.items_, 70)
    many = model.fold_in_many(table)
    assert type(many) is type(model) and sorted(many.users_) == sorted(set(table["user"]))
    for who, person in one_by_one(model, table):
        u = many.fitted.users.codes(np.array([who], object))[0]
        np.testing.assert_array_equal(many.user_factors_[u], person.factors)
        assert many.rank(who)["item"].tolist() == person.rank()["item"].tolist()
        shown = many.recommend(who, k=5, exclude="seen")["item"].tolist()
        assert shown == person.recommend(k=5, exclude="seen")["item"].tolist()
    assert many.probability(who, "item 3", "item 4")[0] == pytest.approx(
        person.probability("item 3", "item 4"), abs=1e-6
    )


def test_threads_do_not_show(world):
    """The same bits on one thread and on three."""
    model = AltSVM(rank=4, exposure=True).fit(world.comparisons)
    table = answers(model.items_, 300)
    one, three = (model.set_params(n_threads=n).fold_in_many(table).user_factors_ for n in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_they_are_as_users_are(stars):
    """Users of the fit who come again as newcomers, by their ratings, get the vectors that the fit would give them."""
    model = AltSVM(rank=3, exposure=False, tol=1e-7, max_iter=200).fit(stars)
    again = model.fold_in_many(stars)
    np.testing.assert_allclose(again.user_factors_, model.user_factors_, atol=2e-3 * np.abs(model.user_factors_).max())
    np.testing.assert_array_equal(again.seen_[1], model.seen_[1])


@pytest.mark.parametrize("exposure", [False, True])
def test_ratings(stars, exposure):
    """Ratings of newcomers come as a table or as comparisons, of several or of one, with or without a name."""
    model = AltSVM(rank=3, exposure=exposure).fit(stars)
    table = {"user": ["x", "x", "x", "y"], "item": ["item 1", "item 2", "item 5", "item 1"], "rating": [1, 5, 3, 4]}
    many = model.fold_in_many(table)
    np.testing.assert_array_equal(
        many.fitted.scorer.U, model.fold_in_many(Comparisons.from_ratings(table)).fitted.scorer.U
    )
    alone = {name: column[:3] for name, column in table.items()}
    for given in (alone, {name: alone[name] for name in ("item", "rating")}, Comparisons.from_ratings(alone)):
        person = model.fold_in(given)
        np.testing.assert_array_equal(person.factors, many.user_factors_[0])
        assert person.answers == [("item 1", 1), ("item 2", 5), ("item 5", 3)] and repr(person) == "Person: 3 answers"
        assert "item 5" not in person.recommend(k=27, exclude="seen")["item"].tolist()
    if not exposure:
        assert not many.user_factors_[1].any()  # one rating compares nothing
    assert many.rank("y")["item"].tolist()


def test_clicks(stars):
    """Newcomers' clicks are drawn against all items of the model."""
    r = stars.ratings
    liked = {"user": stars.users[r.user[r.rating > 3]], "item": stars.items[r.item[r.rating > 3]]}
    model = AltSVM(rank=3).fit(Comparisons.from_clicks(liked))
    many = model.fold_in_many(
        Comparisons.from_clicks({"user": ["x", "x"], "item": ["item 1", "item 2"]}, allow_empty=True)
    )
    assert many.user_factors_.any() and many.seen_[1].tolist() == [
        model.items_.tolist().index(item) for item in ("item 1", "item 2")
    ]
    drawn = model.fold_in_many(
        Comparisons.from_clicks({"user": ["x"], "item": ["item 1"]}, per_user=9, allow_empty=True)
    )
    assert drawn.user_factors_.any()


def test_weights_and_names(world):
    """Columns that votes may have count, and the caller's own names of columns are known."""
    model = AltSVM(rank=3).fit(world.comparisons)
    votes = {"user": ["x", "x", "y"], "winner": ["item 1"] * 3, "loser": ["item 2", "item 2", "item 2"]}
    heavy = model.fold_in_many({**votes, "weight": [0.5, 1.5, 2.0]})
    np.testing.assert_allclose(heavy.fitted.scorer.U[0], heavy.fitted.scorer.U[1], atol=1e-5)
    assert not np.allclose(heavy.fitted.scorer.U[1], model.fold_in_many(votes).fitted.scorer.U[1])
    frame = world.comparisons.to_frame("dict")
    renamed = {"who": frame["user"], "best": frame["winner"], "other": frame["loser"]}
    named = AltSVM(rank=3).fit(Comparisons.from_frame(renamed, user="who", winner="best", loser="other"))
    own = named.fold_in_many({"who": ["x"], "best": ["item 1"], "other": ["item 2"]})
    assert list(own.recommend("x", k=2).columns) == ["who", "item", "score", "rank"]
    assert named.fold_in_many(votes).users_.tolist() == ["x", "y"]


def test_a_model_of_its_own(world, tmp_path):
    """It is saved and loaded, takes newcomers itself, and stays when the first is fitted again; it is no more."""
    model = AltSVM(rank=3, reg=5.0).fit(world.comparisons)
    table = answers(model.items_, 9)
    many = model.fold_in_many(table)
    said = many.score(many.users_[0], many.items_)
    chance = many.probability(many.users_, "item 1", "item 2")  # calibrated on the comparisons of the first
    assert ((chance > 0) & (chance < 1)).all() and many.slope_ == model.slope_
    many.save(tmp_path / "m")
    loaded = rather.load(tmp_path / "m")
    assert loaded.users_.tolist() == many.users_.tolist()
    np.testing.assert_array_equal(loaded.probability(many.users_, "item 1", "item 2"), chance)
    np.testing.assert_array_equal(
        many.fold_in([("item 1", "item 2")]).factors, model.fold_in([("item 1", "item 2")]).factors
    )
    model.fit(simulate(n_users=20, n_items=9).comparisons)
    np.testing.assert_array_equal(many.score(many.users_[0], many.items_), said)
    for ask, why in (
        (lambda: many.certificate(), "is of newcomers, has no certificate"),
        (lambda: many.update(world.comparisons), "update the model that they came to"),
        (lambda: many.add_items(world.comparisons), "add items to the model that they came to"),
    ):
        with pytest.raises(InputError, match=why):
            ask()
    assert len(many.fit(world.comparisons).users_) == 80 and many.certificate()


def test_refusals(world):
    """Unknown items are counted and one is named; several people are not one; what is no table is refused."""
    model = AltSVM(rank=2, reg=5.0).fit(world.comparisons)
    one = {"user": ["x"], "winner": ["item 1"], "loser": ["soup"]}
    several = {"user": ["x", "y"], "winner": ["stew", "item 1"], "loser": ["soup", "item 2"]}
    rated = {"user": ["x", "y"], "item": ["item 1", "item 2"], "rating": [1, 2]}
    for ask, said in (
        (lambda: model.fold_in_many(one), "^item 'soup' is not known to the model; add_items"),
        (lambda: model.fold_in_many(several), "^2 of the items, such as 'soup', are not known to the model"),
        (lambda: model.fold_in(rated), "those of 2 users; fold_in takes one person's"),
        (lambda: model.fold_in(world.comparisons), "those of 80 users"),
        (lambda: model.fold_in_many({"user": ["x"]}), "no column 'winner'"),
        (lambda: model.fold_in_many([("item 1", "item 2")]), "of type list"),
        (lambda: AltSVM().fold_in_many(one), "not fitted"),
    ):
        with pytest.raises(InputError, match=said):
            ask()
