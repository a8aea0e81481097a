"""Models that take in newer comparisons: as good as a fit to all of them, and whole whatever happens."""

from copy import copy
from itertools import pairwise

import numpy as np
import pytest

import rather
from rather import AltSVM, Comparisons, Convex, InputError, simulate
from rather.solving import start


def cut(world, late_users, late_items, share=0.02):
    """Votes or ratings in two parts, the later with people and items of its own."""
    rng = np.random.default_rng(0)
    c = world.comparisons
    rated = c.ratings
    if rated is None:
        frame = c.to_frame("dict")
        about = [frame["winner"], frame["loser"]]
    else:
        frame = {"user": c.users[rated.user], "item": c.items[rated.item], "rating": rated.rating}
        about = [frame["item"]]
    late = rng.random(len(frame["user"])) < share
    late |= np.isin(frame["user"], late_users) | np.any([np.isin(item, late_items) for item in about], axis=0)
    parts = [{name: column[rows] for name, column in frame.items()} for rows in (~late, late)]
    if rated is None:
        return [Comparisons.from_frame(part) for part in parts]
    return [Comparisons.from_ratings(part, allow_empty=True) for part in parts]


@pytest.fixture(scope="module")
def votes():
    return cut(simulate(n_users=150, n_items=40, rank=2, per_user=40, seed=0), ["user 7", "user 99"], ["item 3"])


@pytest.fixture(scope="module")
def stars():
    """Ratings of items that people chose by taste."""
    rng = np.random.default_rng(0)
    taste = np.arange(120) % 2
    user, item = (axis.ravel() for axis in np.meshgrid(np.arange(120), np.arange(60), indexing="ij"))
    met = rng.random(len(user)) < np.where(taste[user] == item % 2, 0.5, 0.08)
    rating = np.clip(np.round(3 + (taste[user] == item // 2 % 2) + rng.normal(size=len(user))), 1, 5)
    late = (rng.random(len(user)) < 0.02) | (user % 50 == 49) | (item == 59)
    return [
        Comparisons.from_ratings({"user": user[rows], "item": item[rows], "rating": rating[rows]}, allow_empty=True)
        for rows in (met & ~late, met & late)
    ]


@pytest.fixture(scope="module")
def fitted(votes):
    return AltSVM().fit(votes[0])


def copied(model):
    """Another model in the same state."""
    return copy(model)


def objective(model):
    return model.fitted.posed.at(model.fitted.scorer).objective()


def no_worse(model, whole, tol=1e-3):
    """Whether a model's objective is at most a little above that of a fit from nothing with the same ridges."""
    fit = AltSVM(**{**model.get_params(), "reg": model.reg_, "bias": model.bias_reg_, "rank": model.rank_}).fit(whole)
    return objective(model) <= (1 + tol) * objective(fit)


@pytest.mark.parametrize("data", ["votes", "stars"])
def test_as_good_as_a_fit(data, request):
    """New people and items are learned, the objective is that of a fit to everything, and reg follows the data."""
    old, new = request.getfixturevalue(data)
    model = AltSVM().fit(old)
    before, known = model.reg_, model.cv_results_
    assert model.update(new) is model
    whole = old.extended(new)
    assert model.users_.tolist() == whole.users.tolist() and model.items_.tolist() == whole.items.tolist()
    assert model.exposure_ == (data == "stars") and model.cv_results_ == known and model.converged_
    assert model.reg_ != before and no_worse(model, whole)
    for mine, theirs in zip(model.seen_, whole.source.met(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert rather.pairwise_accuracy(model, whole) > 0.65


def test_many_in_a_row(stars):
    """Thirty updates one after the other are no worse than a fit to all, nor do their features grow stale."""
    old, new = stars
    r = new.ratings
    model = AltSVM().fit(old)
    for part in np.array_split(np.random.default_rng(0).permutation(len(r.user)), 30):
        some = {"user": new.users[r.user[part]], "item": new.items[r.item[part]], "rating": r.rating[part]}
        model.update(Comparisons.from_ratings(some, allow_empty=True))
    assert no_worse(model, old.extended(new), tol=2e-3)  # with features that follow, not those of a fit
    parts, fresh = model.fitted.prior[0], AltSVM(exposure=True).fit(old.extended(new)).fitted.prior[0]
    ours, theirs = (np.linalg.qr(x[:, :2].astype(float))[0] for x in (parts, fresh))
    assert np.linalg.svd(ours.T @ theirs, compute_uv=False).min() > 0.95
    assert model.interest_.parts.shape[0] == len(model.items_) and len(model.recommend(model.users_, k=3)) == 360


def test_threads_do_not_show(votes, stars):
    """The same bits on one thread and on three."""
    for old, new in (votes, stars):
        one, three = (AltSVM(n_threads=n, reg=5.0).fit(old).update(new) for n in (1, 3))
        np.testing.assert_array_equal(one.user_factors_, three.user_factors_)
        np.testing.assert_array_equal(one.fitted.scorer.V, three.fitted.scorer.V)


@pytest.mark.parametrize(
    "params",
    [{"loss": "hinge"}, {"loss": "logistic"}, {"bias": False}, {"rank": "auto"}, {"bias": 3.0},
     {"exposure": True}, {"user_power": 0.5, "balance": 0.3}, {"warm_start": True}],
    ids=str,
)  # fmt: skip
def test_whatever_was_fitted(params, votes, tmp_path):
    """Every kind of fit can be updated, and then be asked, saved, certified and updated again."""
    old, new = votes
    model = AltSVM(**{"rank": 4, "reg": 4.0, "n_threads": 1, **params}).fit(old)
    rank = model.rank_
    model.update(new).update(new)
    assert model.rank_ == rank and model.reg_ == 4.0 and np.isfinite(model.score("user 7", model.items_)).all()
    assert model.bias_reg_ == params["bias"] if params.get("bias") else True
    proof = model.certificate()
    assert 0 < proof.lower_bound < proof.objective <= objective(model) * (1 + 1e-6)
    assert len(model.fold_in([("item 3", "item 4")]).rank()) == 40
    model.save(tmp_path / "m")
    assert rather.load(tmp_path / "m").score("user 7", "item 3") == model.score("user 7", "item 3")


def test_what_was_decided_stays(fitted, votes):
    """Probabilities stay calibrated, and what set_params said since the fit does not count but for how it runs."""
    model = copied(fitted).set_params(loss="hinge", reg=99.0, max_iter=7)
    before = model.slope_
    model.update(votes[1])
    assert model.slope_ == before is not None and model.loss_ == "squared_hinge" and model.reg_ < 50
    twin = copied(fitted).update(votes[1])
    np.testing.assert_array_equal(model.fitted.scorer.U, twin.fitted.scorer.U)


def test_it_leaves_the_old_state_alone(fitted, votes):
    """A newcomer, a copy and the comparisons of before are what they were."""
    model = copied(fitted)
    person, said = model.fold_in([("item 1", "item 2")]), fitted.score("user 1", fitted.items_)
    ranked = person.rank()["score"].tolist()
    model.update(votes[1])
    assert person.rank()["score"].tolist() == ranked
    np.testing.assert_array_equal(fitted.score("user 1", fitted.items_), said)
    assert len(fitted.items_) == 39 and len(model.items_) == 40


def test_refusals_leave_the_model(fitted, votes, stars):
    """Comparisons of another kind, no comparisons, ids of another kind, old ones too many: the model is as it was."""
    model = copied(fitted)
    state = model.fitted
    numbers = Comparisons.from_frame({"user": [1], "winner": [2], "loser": [3]})
    for new, old, said in (
        (stars[0], None, "user ids are strings"), (numbers, None, "user ids are strings"), ("votes", None, "a str"),
        (votes[1], votes[0], "leave old out"), (None, None, "NoneType"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            model.update(new, old)
        assert model.fitted is state
    with pytest.raises(InputError, match="not fitted yet"):
        AltSVM().update(votes[1])
    with pytest.raises(InputError, match="Convex cannot be updated; fit it again"):
        Convex(reg=50.0, tol=0.1).fit(votes[0]).update(votes[1])
    failing = copied(fitted)
    with pytest.raises(ZeroDivisionError):
        failing.set_params(callback=lambda *_: 1 / 0).update(votes[1])
    assert len(failing.items_) == 39 and failing.score("user 1", "item 1") == fitted.score("user 1", "item 1")


def test_interrupted(fitted, votes):
    """Ctrl-C keeps the rounds that were made, with a warning, and what is known of probabilities."""

    def strike(model, record):
        raise KeyboardInterrupt

    model = copied(fitted).set_params(callback=strike, tol=0.0)
    with pytest.warns(UserWarning, match="update interrupted after 1 rounds"):
        model.update(votes[1])
    assert model.interrupted_ and len(model.history_) == 1 and len(model.items_) == 40
    assert model.slope_ == fitted.slope_
    model = copied(fitted).set_params(callback=strike, tol=0.0, on_interrupt="raise")
    with pytest.raises(KeyboardInterrupt):
        model.update(votes[1])
    assert len(model.items_) == 40


def test_clicks(stars):
    """A model of clicks takes in more of them, one alone too."""
    r = stars[0].ratings
    table = {"user": r.user[r.rating > 3], "item": r.item[r.rating > 3]}
    model = AltSVM(rank=4).fit(Comparisons.from_clicks(table))
    model.update(Comparisons.from_clicks({"user": [500], "item": [3]}, allow_empty=True))
    assert 500 in model.users_ and 3 not in model.recommend(500, k=5, exclude="seen")["item"]


def test_a_model_that_was_read(fitted, votes, tmp_path):
    """Without its comparisons it asks for them, and takes no others."""
    path, (old, new) = tmp_path / "m", votes
    fitted.save(path, comparisons=False)
    model = rather.load(path)
    with pytest.raises(InputError, match="read from a file without them; give them as old="):
        model.update(new)
    for wrong, said in ((new, "old is not what"), ("old", "old is a str"), (old.split(0.5)[0], "old is not what")):
        with pytest.raises(InputError, match=said):
            model.update(new, old=wrong)
    model.update(new, old=old)
    assert no_worse(model, old.extended(new)) and model.slope_ == fitted.slope_
    twin = copied(fitted).update(new)
    assert [model.reg_, model.bias_reg_] == pytest.approx([twin.reg_, twin.bias_reg_], rel=1e-4)
    model.update(new)  # it has them now
    assert len(model.fitted.training) == len(old) + 2 * len(new)


def test_users_who_sort_first_take_nobodys_place():
    """Trust, weights and reluctance stay with the people they are of; newcomers have a typical person's."""

    def strike(model, record):
        raise KeyboardInterrupt

    world = simulate(40, 12, rank=2, per_user=30, careless=0.3, ties=0.5, seed=2)
    model = AltSVM(rank=2, reg=5.0, balance=0.0, trust=True, n_threads=1).fit(world.comparisons)
    model.probability("user 1", "item 1", "item 2")
    before = copied(model)
    assert before.trust_.std() > 0.1 < before.fitted.slope.own.std()
    later = {"user": ["a newcomer", "user 3"], "winner": ["item 1", "item 2"], "loser": ["item 3", "item 4"]}
    model.set_params(callback=strike, tol=0.0)
    with pytest.warns(UserWarning, match="interrupted"):  # so that reluctance is not found anew
        model.update(Comparisons.from_frame({**later, "tie": [False, True]}, tie="tie"))
    assert model.users_[0] == "a newcomer" and model.users_[1:].tolist() == before.users_.tolist()
    for mine, known in ((model.trust_, before.trust_), (model.fitted.slope.own, before.fitted.slope.own)):
        np.testing.assert_array_equal(mine, [1, *known])
    np.testing.assert_array_equal(model.fitted.posed.scales.user_weight, model.trust_)


def test_tastes_that_newer_votes_reveal():
    """Directions that the regularisation kept at zero come to life once there are enough votes for them."""
    first, second = simulate(80, 20, rank=2, per_user=60, seed=0).comparisons.split(0.5)
    model = AltSVM(rank=3, reg=100.0).fit(first)
    assert not model.user_factors_.any()
    model.update(second)
    assert model.user_factors_.any(axis=0).sum() >= 2 and no_worse(model, first.extended(second))


def test_directions_follow_once_there_are_a_twentieth_more_votes(monkeypatch):
    """What came in since they last followed counts together, whatever the number of updates it came in."""
    frame = simulate(50, 10, rank=2, per_user=42, seed=0).comparisons.to_frame("dict")
    grown, grow = [], start.grow

    def recorded(problem, seed):
        grown.append(True)
        grow(problem, seed)

    def part(first, last):
        return Comparisons.from_frame({name: column[first:last] for name, column in frame.items()})

    model = AltSVM(rank=2, reg=5.0).fit(part(0, 1000))
    monkeypatch.setattr(start, "grow", recorded)
    followed, ends = [], (1000, 1049, 1050, 1102, 1103)
    for first, last in pairwise(ends):
        grown.clear()
        model.update(part(first, last))
        followed.append(bool(grown))
    assert followed == [False, True, False, True]
