"""Pictures show what the tables say: places, differences, directions of taste, probabilities, rounds."""

import numpy as np
import pytest

import rather
from rather import AltSVM, Comparisons, Global, InputError, plot

pytestmark = pytest.mark.usefixtures("brief_search")

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _agg():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def halves():
    """Votes of 60 people about 12 items with names, and a fifth of them put aside."""
    votes = rather.simulate(60, 12, rank=2, per_user=25, seed=1).comparisons.to_frame("dict")
    votes["user"] = [user.replace("user ", "u") for user in votes["user"]]
    return Comparisons.from_frame(votes).split(0.2)


@pytest.fixture(scope="module")
def model(halves):
    return AltSVM(rank=2).fit(halves[0])


def labels(ax):
    """Of the rows, from the top down."""
    at = np.argsort(-ax.get_yticks())
    return [ax.get_yticklabels()[n].get_text() for n in at]


def segments(ax):
    """Of all lines that intervals are drawn by, (begin, end)."""
    return np.concatenate([c.get_segments() for c in ax.collections])


def xy(ax, label):
    return next(line for line in ax.lines if line.get_label() == label).get_xydata()


# -- places -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("user", [None, "u3"])
def test_a_leaderboard_has_the_places_of_the_table(model, user):
    table = model.rank(interval=0.8) if user is None else model.rank(user, interval=0.8)
    ax = plot.leaderboard(model, user, interval=0.8, top=5)
    assert labels(ax) == [f"{row.item}  {row.rank}" for row in table[:5]]
    drawn = segments(ax)
    assert (
        drawn[:, 0, 0].tolist() == table["best"][:5].tolist() and drawn[:, 1, 0].tolist() == table["worst"][:5].tolist()
    )
    assert drawn[:, 0, 1].tolist() == [4, 3, 2, 1, 0]
    assert ax.get_title() == ("everybody" if user is None else "u3")
    assert "among 12, 80 % interval" in ax.get_xlabel()


def test_bands_of_a_leaderboard_are_its_groups(model):
    table = model.rank("u3", interval=0.5)
    group, ax = table["group"], plot.leaderboard(model, "u3", interval=0.5, top=50)
    assert group.max() > 2 and len(labels(ax)) == 12
    heights = (band.get_extents().transformed(ax.transData.inverted()).intervaly for band in ax.patches)
    bands = sorted(tuple(sorted(ends)) for ends in heights)
    odd = [np.flatnonzero(group == g) for g in range(1, group.max() + 1, 2)]
    expected = sorted((11 - rows.max() - 0.5, 11 - rows.min() + 0.5) for rows in odd)
    np.testing.assert_allclose(bands, expected, atol=1e-9)


def test_a_leaderboard_of_a_newcomer_and_of_one_ranking(model, halves):
    newcomer = model.fold_in([("item 1", "item 2"), ("item 1", "item 5")])
    assert labels(plot.leaderboard(newcomer, top=1)) == [f"{newcomer.rank(interval=0.9)[0].item}  1"]
    everybody = Global().fit(halves[0])
    assert len(labels(plot.leaderboard(everybody))) == 12
    with pytest.raises(InputError, match="user is 'u3', but a Person is somebody already"):
        plot.leaderboard(newcomer, "u3")
    with pytest.raises(InputError, match="Differences has no ranges of places"):
        plot.leaderboard(rather.Differences())
    for wrong in ({"top": 0}, {"interval": 1.0}, {"user": "nobody"}):
        with pytest.raises(InputError, match=r"it must be|nobody"):
            plot.leaderboard(model, **wrong)


def test_items_are_found_whatever_their_column_is_called():
    votes = rather.simulate(20, 6, rank=2, per_user=4, levels=5, seed=1).comparisons.ratings
    ratings = Comparisons.from_ratings(
        {"who": votes.user, "film": votes.item, "stars": votes.rating}, "who", "film", "stars"
    )
    made = AltSVM(rank=1, exposure=False).fit(ratings)
    assert labels(plot.leaderboard(made)) == [f"{row.film}  {row.rank}" for row in made.rank(interval=0.9)]
    assert len(labels(plot.person(made.fold_in([(0, 1)]), top=3))) == 3


# -- one person -------------------------------------------------------------------------------------------------------


def test_a_person_differs_as_the_table_says(model):
    newcomer = model.fold_in([("item 0", f"item {n}") for n in range(1, 4)])
    table = newcomer.difference(interval=0.8)[:6]
    ax = plot.person(newcomer, top=6, interval=0.8)
    down = np.argsort(-table["difference"])
    assert labels(ax) == table["item"][down].tolist()
    drawn = {y: (x0, x1) for (x0, y), (x1, _) in segments(ax)}
    assert [drawn[y] for y in range(5, -1, -1)] == list(zip(table["low"][down], table["high"][down], strict=True))
    told = int(((table["low"] > 0) | (table["high"] < 0)).sum())
    assert 0 < told < 6
    assert (
        len(xy(ax, "80 % interval")) == told and len(xy(ax, "80 % interval that holds 0: not certain yet")) == 6 - told
    )
    known = plot.person(model, top=4, user=model.users_[3])
    assert set(labels(known)) == set(model.difference(model.users_[3])["item"][:4])
    for wrong in (("u3",), (model,), (newcomer, 6, 0.8, None, "u3")):
        with pytest.raises(InputError, match="give a Person, of model"):
            plot.person(*wrong)


def test_a_map_places_people_and_items_so_that_products_are_tastes(model):
    """Of rank 2, nothing is lost: the product of two places is what the vectors say, but for a constant each."""
    ax = plot.taste_map(model)
    people, items = xy(ax, "people"), xy(ax, "items")
    order = np.argsort(-np.bincount(model.seen_[1], minlength=12), kind="stable")
    names = [text.get_text() for text in ax.texts]
    assert names == model.items_[order].tolist() and len(people) == 60
    at = np.random.default_rng(0).permutation(60)
    U, V = model.user_factors_[at].astype(float), model.item_factors_[order].astype(float)
    crowd = model._crowd()
    true = (U - crowd.mean) @ V.T
    made = people @ items.T
    true, made = (x - x.mean(axis=1, keepdims=True) for x in (true, made))
    assert made / np.linalg.norm(made) == pytest.approx(true / np.linalg.norm(true), abs=1e-5)
    few = plot.taste_map(model, items=["item 3", "item 7", "item 9"])
    assert [text.get_text() for text in few.texts] == ["item 3", "item 7", "item 9"]


def test_an_ellipse_shrinks_with_answers_and_holds_the_user(model):
    def drawn(person):
        ax = plot.taste_map(model, person)
        (ellipse,) = ax.patches
        return ellipse, ax

    pairs = [(f"item {a}", f"item {b}") for a in range(6) for b in range(6, 12)]
    areas = [e.width * e.height for e, _ in (drawn(model.fold_in(pairs[:n])) for n in (0, 3, 12, 36))]
    radius = np.sqrt(-2 * np.log(0.1))
    assert areas == sorted(areas, reverse=True) and areas[0] == pytest.approx(4 * radius**2, rel=0.02)
    at = np.random.default_rng(0).permutation(60)
    inside = 0
    for n in range(0, 60, 5):
        ellipse, ax = drawn(model.users_[n])
        assert f"{model.users_[n]}, 90 % sure" in [t.get_text() for t in ax.get_legend().get_texts()]
        angle, apart = np.radians(ellipse.angle), xy(ax, "people")[at == n][0] - ellipse.center
        along = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]) @ apart
        inside += bool(np.square(2 * along / [ellipse.width, ellipse.height]).sum() <= 1)
        plt.close("all")
    assert inside >= 9


def test_labels_of_a_map_hardly_overlap(model):
    ax = plot.taste_map(model, "u1")
    boxes = [text.get_window_extent().extents for text in ax.texts]
    over = [
        np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0).prod()
        for n, a in enumerate(boxes)
        for b in boxes[:n]
    ]
    assert sum(over) < 0.1 * sum(np.prod(box[2:] - box[:2]) for box in boxes)


def test_a_user_whose_id_is_a_number_is_called_a_user(halves):
    """A text is a title as it is."""
    votes = halves[0].to_frame("dict")
    votes["user"] = [int(str(user)[1:]) for user in votes["user"]]
    model = AltSVM(rank=2, reg=3.0).fit(rather.Comparisons.from_frame(votes))
    assert plot.leaderboard(model, 7).get_title() == "user 7"


def test_what_has_no_two_directions_is_not_mapped(halves):
    with pytest.raises(InputError, match=r"Global has no posterior for one user; fit AltSVM to votes with named users"):
        plot.taste_map(Global().fit(halves[0]))
    with pytest.raises(InputError, match="fewer than two directions"):
        plot.taste_map(AltSVM(rank=1, reg=3.0).fit(halves[0]))


def test_a_person_alone_is_no_model_to_map(model):
    with pytest.raises(InputError, match="pass the fitted model first, and the person second"):
        plot.taste_map(model.fold_in([(model.items_[0], model.items_[1])]))


# -- how well ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["probability_interval", "probability"])
def test_bins_of_a_calibration_are_counted_rightly(model, halves, kind):
    fitted, test = model, halves[1]
    if kind == "probability":  # only models of ratings know no more
        train, test = rather.simulate(30, 20, rank=2, per_user=15, levels=5).comparisons.split(0.4, by="items")
        fitted = rather.ItemMean().fit(train)
    ax = plot.calibration(fitted, test)
    pairs = test.pairs()
    ids = test.users[pairs.user], test.items[pairs.winner], test.items[pairs.loser]
    p = model.probability_interval(*ids)["probability"] if kind == "probability_interval" else fitted.probability(*ids)
    turned = np.random.default_rng(0).random(len(p)) < 0.5
    rows, gap = [], 0.0
    for low in range(10):
        mine = [(1 - x if t else x, not t) for x, t in zip(p.tolist(), turned, strict=True)]
        mine = np.array([(q, won) for q, won in mine if low <= 10 * q < low + 1])
        if len(mine):
            rows.append(mine.mean(axis=0))
            gap += abs(mine[:, 0].sum() - mine[:, 1].sum())
    assert len(rows) > 5
    assert ax.lines[1].get_xydata() == pytest.approx(np.array(rows), abs=1e-6)
    loss = -np.log(p).mean()
    assert ax.get_title() == f"{len(p):,} answers: log loss {loss:.3f}, ECE {gap / len(p):.3f}"
    bars = segments(ax)
    assert len(bars) == len(rows) and (bars[:, 0, 1] <= np.array(rows)[:, 1]).all()
    assert (bars[:, 0, 1] >= 0).all() and (bars[:, 1, 1] <= 1).all() and (bars[:, 1, 1] > bars[:, 0, 1]).all()


def test_a_calibration_leaves_out_what_is_not_known(model):
    asked = {"user": ["u1", "u2", "new", "u4"], "winner": ["item 1", "item 3", "item 1", "item 2"]}
    loser, tie = ["item 2", "item 99", "item 2", "item 1"], [False, False, False, True]
    test = Comparisons.from_frame({**asked, "loser": loser, "tie": tie}, tie="tie")
    assert plot.calibration(model, test).get_title().startswith("1 answers: ")
    none = Comparisons.from_frame({"user": ["new"], "winner": ["item 1"], "loser": ["item 2"]})
    with pytest.raises(InputError, match="there is no test answer"):
        plot.calibration(model, none)
    with pytest.raises(InputError, match="test is of type dict"):
        plot.calibration(model, asked)
    with pytest.raises(rather.NotFittedError):
        plot.calibration(AltSVM(), test)


def test_weights_of_test_answers_count(model):
    asked = {"user": ["u1", "u1"], "winner": ["item 1", "item 2"], "loser": ["item 2", "item 1"], "weight": [3.0, 1.0]}
    p = float(model.probability_interval("u1", "item 1", "item 2")["probability"][0])
    title = plot.calibration(model, Comparisons.from_frame(asked, weight="weight")).get_title()
    assert f"log loss {-(3 * np.log(p) + np.log(1 - p)) / 4:.3f}" in title


def test_a_history_is_the_rounds(halves):
    fitted = AltSVM(rank=2, reg=3.0, tol=1e-7, max_iter=6).fit(halves[0])
    ax = plot.history(fitted)
    told = fitted.history_
    assert ax.lines[0].get_xydata().tolist() == [[r["seconds"], r["objective"]] for r in told] and len(told) > 1
    other = next(axes for axes in ax.figure.axes if axes is not ax)
    assert other.get_yscale() == "log" and other.lines[0].get_ydata().tolist() == [r["gap"] for r in told]
    with pytest.raises(InputError, match="ItemMean has no history"):
        plot.history(rather.ItemMean().fit(rather.simulate(5, 4, per_user=4, levels=5).comparisons))
    with pytest.raises(rather.NotFittedError):
        plot.history(AltSVM())


def test_a_learning_curve_is_the_accuracy_of_samples(halves):
    train, test = halves
    estimator = AltSVM(rank=2, reg=3.0)
    ax = plot.learning_curve(estimator, train, test, answers=[10, 3, 100, 1000], seed=2)
    assert not hasattr(estimator, "users_")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["3", "10", "100"]  # 1000 would be the same again
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["AltSVM", "one ranking for everybody"]
    for line, made in zip(ax.containers, (AltSVM(rank=2, reg=3.0), Global(seed=2)), strict=True):
        true = [float(rather.pairwise_accuracy(made.fit(train.sample(n, 2)), test)) for n in (3, 10, 100)]
        assert line[0].get_ydata().tolist() == true
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1  # above all lines
    held = plot.learning_curve(estimator, train, answers=[5])
    rest, aside = train.split(0.2, seed=0)
    true = float(rather.pairwise_accuracy(AltSVM(rank=2, reg=3.0).fit(rest.sample(5)), aside))
    assert held.containers[0][0].get_ydata().tolist() == [true]


def test_a_learning_curve_of_comparisons_with_features(halves):
    train, test = halves
    features = {"item": train.items, "size": np.arange(12.0)}
    ax = plot.learning_curve(AltSVM(rank=1, reg=3.0), train.with_features(features), test, answers=[5])
    assert len(ax.containers) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"answers": [0]}, "answers is 0; it must be a whole number at least 1"),
        ({"answers": []}, "answers is empty"),
        ({"seed": -1}, "seed is -1"),
        ({"test": 3}, "test is of type int; it must be Comparisons"),
        ({"comparisons": None}, "comparisons is of type NoneType"),
        ({"estimator": 1}, "the estimator is of type int"),
    ],
)
def test_what_a_learning_curve_cannot_use(halves, given, message):
    with pytest.raises(InputError, match=message):
        plot.learning_curve(**{"estimator": AltSVM(), "comparisons": halves[0], **given})


def test_every_picture_draws_where_it_is_told(model, halves):
    newcomer = model.fold_in([("item 1", "item 2")])
    draw = {
        "leaderboard": lambda ax: plot.leaderboard(model, ax=ax), "person": lambda ax: plot.person(newcomer, ax=ax),
        "taste_map": lambda ax: plot.taste_map(model, newcomer, ax=ax),
        "calibration": lambda ax: plot.calibration(model, halves[1], ax=ax),
        "history": lambda ax: plot.history(model, ax=ax),
        "learning_curve": lambda ax: plot.learning_curve(Global(), halves[0], answers=[2], ax=ax),
    }  # fmt: skip
    figure, axes = plt.subplots(2, 3)
    for ax, (name, made) in zip(axes.flat, draw.items(), strict=True):
        assert made(ax) is ax, name
        assert ax.has_data(), name
    assert plt.get_fignums() == [figure.number]
