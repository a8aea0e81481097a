"""New items from what known people said about them: the best rows for everything else as it is."""

import numpy as np
import pytest
from scipy.optimize import minimize

import rather
from rather import AltSVM, Comparisons, Convex, InputError, simulate

LATE = ["item 12", "item 7"]


@pytest.fixture(scope="module")
def parts():
    """Votes about other items, and about two late ones."""
    frame = simulate(n_users=100, n_items=20, rank=2, per_user=40, seed=0).comparisons.to_frame("dict")
    late = np.isin(frame["winner"], LATE) | np.isin(frame["loser"], LATE)
    return [Comparisons.from_frame({name: column[rows] for name, column in frame.items()}) for rows in (~late, late)]


def losses(name, x):
    if name == "logistic":
        return np.logaddexp(0, -x)
    return np.maximum(0, 1 - x) ** (2 if name == "squared_hinge" else 1)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "hinge"])
def test_they_are_the_best_rows(parts, loss, bias):
    """The objective in the new rows alone, which votes between them tie together, is at its minimum."""
    old, new = parts
    model = AltSVM(rank=2, reg=6.0, loss=loss, bias=bias).fit(old)
    before = model.item_factors_.copy()
    assert model.add_items(new) is model
    assert model.items_.tolist() == sorted([*old.items, *LATE])
    fresh = np.isin(model.items_, LATE)
    np.testing.assert_array_equal(model.item_factors_[~fresh], before)
    seen = np.bincount(old.source.met()[1])
    shape = np.sqrt(new.store.item_count[np.isin(new.items, LATE)] * seen.sum() / (seen**2).sum())
    pairs = new.pairs()
    u = model.user_factors_[model.fitted.users.codes(new.users)[pairs.user]].astype(float)
    sides = [model.fitted.items.codes(new.items)[side] for side in (pairs.winner, pairs.loser)]
    rows = np.column_stack((model.item_factors_, model.item_bias_)).astype(float)

    def objective(x):
        every = rows.copy()
        every[fresh] = x.reshape(2, 3) * [1, 1, bias]
        w, lo = (every[side] for side in sides)
        margin = (u * (w - lo)[:, :2]).sum(axis=1) + (w - lo)[:, 2]
        ridge = np.array([6.0, 6.0, model.bias_reg_]) * shape[:, None]
        return losses(loss, margin).sum() + 0.5 * (ridge * every[fresh] ** 2).sum()

    found = objective(rows[fresh].ravel())
    best = minimize(objective, rows[fresh].ravel(), method="Powell" if loss == "hinge" else "BFGS").fun
    assert found <= best * (1 + (1e-5 if loss == "hinge" else 1e-7))


def test_it_learns(parts):
    """What is foretold of the new items is nearly as good as from a fit to everything."""
    old, new = parts
    train, test = new.split(0.3, seed=0)
    added = AltSVM().fit(old).add_items(train)
    accuracy, fit = (rather.pairwise_accuracy(m, test) for m in (added, AltSVM().fit(old.extended(train))))
    assert accuracy > 0.7 and accuracy > fit - 0.03


def test_what_follows(parts, tmp_path):
    """The model can then be asked, certified, saved, updated; what was met is known."""
    old, new = parts
    model = AltSVM(rank=3).fit(old)
    slope = model.slope_
    model.add_items(new)
    assert model.slope_ == slope is not None and model.certificate().objective > 0
    whole = old.extended(new)
    for mine, theirs in zip(model.seen_, whole.source.met(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    model.save(tmp_path / "m")
    for one in (model, rather.load(tmp_path / "m")):
        one.update(Comparisons.from_frame({"user": ["zoe"], "winner": [LATE[0]], "loser": ["item 1"]}))
        assert len(one.items_) == 20 and len(one.fitted.training) == len(whole) + 1
    alone = Convex(reg=20.0).fit(old).add_items(new)
    assert LATE[0] in alone.rank("user 1")["item"].tolist()


def test_ratings_with_exposure():
    """Items that people rated have their place in lists, whatever else the model learned from."""
    rng = np.random.default_rng(0)
    user, item = (axis.ravel() for axis in np.meshgrid(np.arange(60), np.arange(40), indexing="ij"))
    met = rng.random(len(user)) < np.where(user % 2 == item % 2, 0.6, 0.1)
    table = {"user": user[met], "item": item[met], "rating": rng.integers(1, 6, met.sum())}
    early = table["item"] < 38
    old, new = (
        Comparisons.from_ratings({name: column[rows] for name, column in table.items()})
        for rows in (early, ~early | (table["item"] > 30))
    )
    model = AltSVM(exposure=True, rank=4).fit(old).add_items(new)
    assert model.items_.tolist() == list(range(40)) and model.interest_.parts.shape[0] == 40
    assert len(model.recommend(model.users_, k=40)) == 2400 and np.isfinite(model.certificate().lower_bound)
    assert len(model.fold_in([(39, 1)]).rank()) == 40


def test_refusals(parts):
    """Unknown people, no new item, another kind: one sentence, and the model is as it was."""
    old, new = parts
    model = AltSVM(rank=2, reg=5.0).fit(old)
    state = model.fitted
    strange = Comparisons.from_frame({"user": ["x", "y"], "winner": ["soup", "soup"], "loser": ["item 1", "item 2"]})
    rated = Comparisons.from_ratings({"user": ["user 1"] * 2, "item": ["soup", "item 1"], "rating": [1, 2]})
    for given, said in (
        (strange, "2 users, such as 'x', are not known to the model; .* update"),
        (strange.split(0.5, users=None)[0], "user '[xy]' is not known"), (old, "none of the items is new"),
        (rated, "ratings cannot be joined to votes"), ("soup", "add_items was given a str"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            model.add_items(given)
        assert model.fitted is state
    with pytest.raises(InputError, match="not fitted"):
        AltSVM().add_items(new)
