"""ClickRanker: item-item weights that are the solution, beside the low-rank model, for people known and new."""

import re
from pathlib import Path

import numpy as np
import pytest

import rather
from rather import ClickRanker, Comparisons, InputError
from rather.data.rows import row_starts
from rather.native import core
from rather.solving import item_item
from rather.solving.item_item import item_weights
from rather.testing import small_data

N_USERS, N_ITEMS = 60, 15


def rows(seed=0, n_users=N_USERS, n_items=N_ITEMS):
    rng = np.random.default_rng(seed)
    X = rng.random((n_users, n_items)) < rng.uniform(0.1, 0.6, n_items)
    X[np.arange(n_users), rng.integers(0, n_items, n_users)] = True
    user, item = np.nonzero(X)
    return X.astype(float), (row_starts(user.astype(np.int32), n_users), item.astype(np.int32))


def solved_apart(X, ridge, inputs):
    """Every column on its own: weighted least squares on the inputs but for the item itself, in double precision."""
    n, count = X.sum(axis=1), X.sum(axis=0)
    w, Z = n**-0.25, X * (n**-0.25)[:, None]
    A = (Z[:, inputs] * w[:, None]).T @ Z[:, inputs]
    shape = (count / ((count**2).sum() / count.sum())) ** 0.25
    strength = ridge * np.trace(A) / np.sqrt(n.sum()) * shape
    B = np.zeros((len(inputs), X.shape[1]))
    for j in range(X.shape[1]):
        free = np.flatnonzero(inputs != j)
        F = Z[:, inputs[free]]
        B[free, j] = np.linalg.solve((F * w[:, None]).T @ F + np.diag(strength[inputs[free]]), F.T @ (w * X[:, j]))
    return B


@pytest.mark.parametrize("ridge", [0.3, 1.0, 30.0])
def test_the_weights_are_every_items_own_regression(ridge):
    """The closed form is what solving for every item apart gives."""
    X, clicks = rows()
    found = item_weights(clicks, N_ITEMS, ridge=ridge, n_threads=1)
    assert found.inputs.tolist() == list(range(N_ITEMS)) and (np.diag(found.B) == 0).all()
    np.testing.assert_allclose(found.B, solved_apart(X, ridge, found.inputs), atol=2e-5)


def test_where_items_are_many_the_most_clicked_predict_all(monkeypatch):
    """With room for fewer weights the inputs are the items clicked most, and the solution is that of these."""
    X, clicks = rows()
    monkeypatch.setattr(item_item, "MOST_WEIGHTS", 6 * N_ITEMS)
    found = item_weights(clicks, N_ITEMS, ridge=1.0, n_threads=2)
    assert sorted(found.inputs) == sorted(np.argsort(-X.sum(axis=0), kind="stable")[:6])
    np.testing.assert_allclose(found.B, solved_apart(X, 1.0, found.inputs), atol=2e-5)
    Z = X * (X.sum(axis=1) ** -0.25)[:, None]
    np.testing.assert_allclose(found.scores(clicks, 2), Z[:, found.inputs] @ found.B, atol=1e-5)
    np.testing.assert_allclose(found.typical(clicks), (Z[:, found.inputs] @ found.B).mean(axis=0), atol=1e-5)


def test_sums_are_those_of_numpy_at_any_number_of_threads():
    """clicked_together is X' diag(w) X, sum_rows X B; threads do not show."""
    X, (start, item) = rows(1)
    w = np.random.default_rng(0).random(N_USERS).astype(np.float32)
    user, of = np.nonzero(X.T)[1].astype(np.int32), row_starts(np.nonzero(X.T)[0].astype(np.int32), N_ITEMS)
    B = np.random.default_rng(1).random((N_ITEMS, 7)).astype(np.float32)
    made = []
    for n_threads in (1, 3):
        together, sums = np.empty((N_ITEMS, N_ITEMS), np.float32), np.empty((N_USERS, 7), np.float32)
        core.clicked_together(of, user, start, item, w, N_ITEMS, together, n_threads)
        core.sum_rows(start, item, B, 7, sums, n_threads)
        made.append((together, sums))
    np.testing.assert_allclose(made[0][0], (X * w[:, None]).T @ X, rtol=1e-5)
    np.testing.assert_allclose(made[0][1], X @ B, rtol=1e-5)
    assert all((a == b).all() for a, b in zip(*made, strict=True))


@pytest.fixture(scope="module")
def model():
    return ClickRanker(rank=3, n_threads=1).fit(small_data("clicks"))


def test_scores_are_the_sum_of_both_parts(model):
    """Each part has the standard deviation it shall have within people, and mix = 0 leaves the item-item part."""
    every = np.arange(len(model.items_), dtype=np.int32)
    some = np.arange(len(model.users_), dtype=np.int32)
    scorer = model.fitted.scorer
    people = scorer.parts[1] * model.low_rank_.fitted.scorer.block(some, every, 1)
    items = scorer.block(some, every, 1) - people
    deviations = [np.sqrt(part.var(axis=1).mean()) for part in (items, people)]
    np.testing.assert_allclose(deviations, [1.0, model.mix], rtol=1e-4)
    alone = ClickRanker(rank=3, mix=0, n_threads=1).fit(small_data("clicks"))
    np.testing.assert_allclose(alone.fitted.scorer.block(some, every, 1), items, atol=1e-5)
    np.testing.assert_allclose(model.average_scores(), model.fitted.scorer.block(some, every, 1).mean(axis=0), atol=0.5)


def test_lists_in_blocks_are_lists_at_once(model, monkeypatch):
    """Scores and lists do not depend on how many are computed at a time."""
    whole = model.recommend(model.users_, k=5, exclude="seen")
    scores = model.score(np.tile(model.users_, 3), np.repeat(model.items_[:3], len(model.users_)))
    monkeypatch.setattr("rather.models.scorers.BLOCK", 50)
    again = model.recommend(model.users_, k=5, exclude="seen")
    assert whole["item"].tolist() == again["item"].tolist() and (whole["score"] == again["score"]).all()
    assert (scores == model.score(np.tile(model.users_, 3), np.repeat(model.items_[:3], len(model.users_)))).all()


def test_what_is_shown_of_a_model_is_not_to_be_written_to(model):
    for shown in (model.item_weights_, model.inputs_):
        with pytest.raises(ValueError, match="read-only"):
            shown[:] = 0


def test_newcomers_in_every_form(model):
    """Items, a table of items, clicks of one user: the same person; pairs count their winners; nobody is typical."""
    clicked = model.items_[[2, 5, 9]].tolist()
    table = {"user": ["new"] * 3, "item": clicked}
    person = model.fold_in(clicked)
    for same in ({"item": clicked}, table, Comparisons.from_clicks(table, allow_empty=True)):
        np.testing.assert_array_equal(model.fold_in(same).score(model.items_), person.score(model.items_))
    assert not set(person.recommend(k=5, exclude="seen")["item"]) & set(clicked) and "3 clicks" in repr(person)
    assert person.recommend(k=2, exclude=clicked[:1]).columns.keys() == {"item", "score", "rank"}
    pairs = model.fold_in([(clicked[0], clicked[1]), (clicked[0], clicked[2])])
    assert pairs.model.items_[pairs.model.seen_[1]].tolist() == clicked[:1]
    np.testing.assert_allclose(model.fold_in([]).score(model.items_), model.average_scores(), atol=1e-5)
    assert 0 < person.probability(clicked[0], model.items_[0]) < 1


def test_a_known_person_folded_in_again_is_near(model):
    """A newcomer with somebody's clicks gets a list much like theirs."""
    start, item = model.seen_
    near = []
    for i in range(10):
        mine = model.items_[item[start[i] : start[i + 1]]].tolist()
        near.append(
            np.corrcoef(model.fold_in(mine).score(model.items_), model.score(model.users_[i], model.items_))[0, 1]
        )
    assert np.mean(near) > 0.95


def test_what_is_refused(model):
    """Anything but clicks; parameters out of range; items that are not known; what is no list of clicks."""
    with pytest.raises(InputError, match="needs clicks"):
        ClickRanker().fit(small_data("votes"))
    for wrong in ({"ridge": 0}, {"mix": -1}, {"rank": 0}, {"ridge": "stiff"}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            ClickRanker(**wrong).fit(small_data("clicks"))
    with pytest.raises(InputError, match="is not in the model"):
        model.fold_in(["nothing"])
    for wrong, said in (("A", "list of items"), (3, "list of items"), (["A", ("B", "C")], "all items, or all pairs")):
        with pytest.raises(InputError, match=said):
            model.fold_in(wrong)
    with pytest.raises(InputError, match="does not learn from features"):
        model.fold_in([], features={"age": 3})
    for interval in (lambda: model.fold_in([]).rank(interval=0.9), lambda: model.rank(model.users_[0], interval=0.9)):
        with pytest.raises(InputError, match=r"^ClickRanker has no ranges of places; fit AltSVM$"):
            interval()
    for name, lacks in (("difference", "ranges of places"), ("similar_items", "vectors of items")):
        with pytest.raises(AttributeError, match=rf"^ClickRanker has no {lacks}; fit AltSVM$"):
            getattr(model, name)
    with pytest.raises(InputError, match="of 2 users"):
        model.fold_in({"user": ["a", "b"], "item": model.items_[:2]})
    with pytest.raises(InputError, match="cannot be updated"):
        model.update(Comparisons.from_clicks({"user": ["zoe"], "item": ["new"]}, allow_empty=True))


def test_files_hold_both_parts(model, tmp_path):
    """What is loaded folds in and, with the comparisons, certifies; newcomers' models are saved as well."""
    model.save(tmp_path / "plain", comparisons=False)
    model.save(tmp_path / "whole")
    plain, whole = (rather.load(tmp_path / name) for name in ("plain", "whole"))
    clicked = model.items_[:4].tolist()
    for loaded in (plain, whole):
        assert (loaded.item_weights_ == model.item_weights_).all() and (loaded.inputs_ == model.inputs_).all()
        assert (loaded.fold_in(clicked).score(model.items_) == model.fold_in(clicked).score(model.items_)).all()
        assert (loaded.low_rank_.user_factors_ == model.low_rank_.user_factors_).all()
    with pytest.raises(InputError, match="certificate"):
        plain.certificate()
    proof = model.certificate()
    assert proof.objective >= proof.lower_bound and whole.certificate().objective == pytest.approx(proof.objective)
    many = model.fold_in_many({"user": ["x", "y", "x"], "item": model.items_[:3]})
    many.save(tmp_path / "many")
    assert (rather.load(tmp_path / "many").score("x", model.items_) == many.score("x", model.items_)).all()


def test_each_part_finds_what_the_other_misses():
    """Items that go in pairs are found by the weights, what a few tastes have in common by the vectors."""
    for paired, better_than in ((True, "AltSVM"), (False, "weights")):
        rng = np.random.default_rng(0)
        n_users, n_items = 300, 120
        taste = rng.standard_normal((n_users, 2)) @ rng.standard_normal((2, n_items))
        liked = taste + rng.gumbel(size=taste.shape) > (3.2 if paired else 4.0)
        if paired:
            liked[:, 1::2] |= liked[:, ::2] & (rng.random((n_users, n_items // 2)) < 0.5)
        user, item = np.nonzero(liked)
        train, test = rather.split_clicks({"user": user, "item": item}, test=0.2)
        data = Comparisons.from_clicks(train)
        other = rather.AltSVM(rank=4) if better_than == "AltSVM" else ClickRanker(rank=4, mix=0)
        found = [rather.precision(m.fit(data), test, k=5, exclude=train) for m in (ClickRanker(rank=4), other)]
        assert found[0] > found[1] + 0.002, (better_than, found)


def test_the_table_of_what_estimators_can_do():
    """Each "yes" and "no" of the guide to clicks is true of the estimator."""
    guide = (Path(__file__).parents[1] / "docs" / "guides" / "clicks.md").read_text()
    rows = re.findall(r"^\| `([a-z_]+)(=?)` \| (\S+) \| (\S+) \| (\S+) \|$", guide, re.M)
    assert len(rows) >= 7
    for name, parameter, *cells in rows:
        for kind, cell in zip((ClickRanker, rather.AltSVM, rather.EASE), cells, strict=True):
            if name == "item_features":
                able = kind._check_features is not rather.Estimator._check_features
            elif parameter:
                able = name in kind._param_names()
            else:
                able = getattr(kind, name, None) is not getattr(rather.Estimator, name, None)
            assert able == (cell == "yes"), (name, kind)
