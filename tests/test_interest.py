"""Lists of what to show: by what people would take up as well as by what they would like."""

import numpy as np
import pytest

import rather
from rather import AltSVM, Comparisons, InputError, ItemMean


def clubs(seed=0, n_users=120, n_items=60, each=12):
    """Ratings of people who choose: half of them rate the first half of the items, the others the second."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n_users), each)
    half = n_items // 2
    item = np.concatenate([rng.permutation(half)[:each] + half * (i % 2) for i in range(n_users)])
    return {"user": user, "item": item, "rating": rng.integers(1, 6, len(user)) + (item % half < 10)}


@pytest.fixture(scope="module")
def model():
    return AltSVM(rank=4, reg=5.0).fit(Comparisons.from_ratings(clubs()))


def test_lists_show_what_people_choose(model):
    """The unseen items of a person's own half come first; by score alone they need not."""
    shown = model.recommend(model.users_, k=10, exclude="seen")
    own = (shown["item"] >= 30) == (shown["user"] % 2 == 1)
    by_score = model.recommend(model.users_, k=10, exclude="seen", by="score")
    liked = (by_score["item"] >= 30) == (by_score["user"] % 2 == 1)
    assert own.mean() > 0.7 > liked.mean() + 0.15


def test_lists_are_in_the_order_that_the_mathematics_says(model):
    """s + q, each in units of its standard deviation over the items."""
    seen, parts = model.seen_, model.interest_.parts.astype(float)
    counts = np.bincount(seen[1], minlength=60)
    for u in (0, 7, 33):
        met = seen[1][seen[0][u] : seen[0][u + 1]]
        s = model.user_factors_[u].astype(float) @ model.item_factors_.T + model.item_bias_
        q = parts[met].sum(axis=0) @ (parts * counts[:, None]).T
        both = s / s.std() + q / q.std()
        table = model.recommend(model.users_[u], k=60)
        np.testing.assert_allclose(table["score"], np.sort(both)[::-1], rtol=1e-4, atol=1e-4)
        assert both[table["item"]].tolist() == pytest.approx(np.sort(both)[::-1].tolist(), abs=1e-4)
        assert model.rank(model.users_[u])["item"].tolist() == np.lexsort((np.arange(60), -s)).tolist()


def test_a_strangers_list_is_by_the_crowd_and_by_how_many_met_what(model):
    """For someone unknown the list adds everybody's scores and the counts, each by its standard deviation."""
    counts, scores = np.bincount(model.seen_[1], minlength=60), model.average_scores().astype(float)
    both = scores / scores.std() + counts / counts.std()
    shown = model.recommend([7, 1000], k=60, unknown="everyone")
    assert shown["item"][60:].tolist() == np.lexsort((np.arange(60), -both)).tolist()
    np.testing.assert_allclose(shown["score"][60:], np.sort(both)[::-1], rtol=1e-5)
    np.testing.assert_array_equal(shown["score"][:60], model.recommend(7, k=60)["score"])


def test_newcomers_and_files_show_the_same(model, tmp_path):
    """A newcomer's list asks for what their answers point to; a saved model's lists are the model's."""
    newcomer = model.fold_in([(30, 31), (32, 33), (34, 35), (36, 37)])
    other = model.fold_in([(0, 1), (2, 3), (4, 5), (6, 7)])
    own = (newcomer.recommend(k=10, exclude="seen")["item"] >= 30).mean()
    assert own + (other.recommend(k=10, exclude="seen")["item"] < 30).mean() > 1.3  # 1 if they pointed nowhere
    assert newcomer.recommend(k=60, by="score")["item"].tolist() == newcomer.rank()["item"].tolist()
    model.save(tmp_path / "m")
    loaded = rather.load(tmp_path / "m")
    for by in ("interest", "score"):
        ours, theirs = (m.recommend(m.users_, k=5, by=by) for m in (model, loaded))
        assert ours["item"].tolist() == theirs["item"].tolist() and ours["score"].tolist() == theirs["score"].tolist()


def test_where_items_were_handed_out_lists_are_by_score():
    """Nothing is made of who met what where it is chance, nor of votes."""
    for world in (rather.simulate(200, 40, per_user=15, levels=5), rather.simulate(200, 40, per_user=15)):
        model = AltSVM(rank=3, reg=10.0).fit(world.comparisons)
        assert model.interest_ is None
        one, other = (model.recommend(model.users_, k=5, by=by)["item"].tolist() for by in ("interest", "score"))
        assert one == other


def test_by_is_checked(model):
    with pytest.raises(InputError, match="by is 'taste'"):
        model.recommend(0, by="taste")
    with pytest.raises(InputError, match="by is 'taste'"):
        model.fold_in([]).recommend(by="taste")


def test_precision_judges_the_lists_that_are_shown():
    """What precision counts is what recommend gives."""
    data = clubs(n_items=80, each=20)
    rng = np.random.default_rng(1)
    held = rng.random(len(data["user"])) < 0.3
    train, test = ({name: column[rows] for name, column in data.items()} for rows in (~held, held))
    model = AltSVM(rank=4, reg=5.0).fit(Comparisons.from_ratings(train))
    shown = model.recommend(np.unique(test["user"]), k=5, exclude="seen")
    relevant = set(zip(test["user"].tolist(), test["item"].tolist(), strict=True))
    hits = sum((row.user, row.item) in relevant for row in shown)
    assert float(rather.precision(model, test, k=5, exclude="seen")) == pytest.approx(hits / len(shown))


def test_item_mean_against_its_formula():
    """Every item's ratings and a few more of the overall mean."""
    data = clubs()
    model = ItemMean(shrink=3).fit(Comparisons.from_ratings(data))
    mean = data["rating"].mean()
    for j in (0, 17, 59):
        own = data["rating"][data["item"] == j]
        expected = (own.sum() + 3 * mean) / (len(own) + 3) - mean
        assert model.score(0, j)[0] == pytest.approx(expected, abs=1e-6)
    with pytest.raises(InputError, match="use Global"):
        ItemMean().fit(rather.simulate(10, 5, per_user=4).comparisons)
