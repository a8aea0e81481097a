"""How sure: what answers say of a person, intervals that hold what they say, files, newcomers, everybody."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.special import expit

import rather
from rather import SGD, AltSVM, Comparisons, Convex, Global, InputError
from rather.models.belief import Items
from rather.models.crowd import Crowd
from rather.models.places import groups, ranked
from rather.solving.variational import given_answers, margins_given, nothing_said


def club(n_users=150, n_items=30, per_user=25, seed=0):
    """Votes, and what items are truly worth to people, in log-odds."""
    rng = np.random.default_rng(seed)
    truth = 1.5 * rng.standard_normal((n_users, 2)) @ rng.standard_normal((2, n_items)) / np.sqrt(2)
    truth += 0.8 * rng.standard_normal(n_items)
    user = np.repeat(np.arange(n_users), per_user)
    a, b = rng.integers(0, n_items, (2, len(user)))
    b = np.where(a == b, (b + 1) % n_items, b)
    won = rng.random(len(user)) < expit(truth[user, a] - truth[user, b])
    votes = {"user": user, "winner": np.where(won, a, b), "loser": np.where(won, b, a)}
    return Comparisons.from_frame(votes), truth


@pytest.fixture(scope="module")
def fitted():
    votes, truth = club()
    return AltSVM().fit(votes), truth


# -- what answers say -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("x", "c", "m"), [(1.0, 0.3, 1), (2.0, -1.0, 3), (0.5, 0.0, 10)])
def test_one_number_by_quadrature(x, c, m):
    """Of a single number with m equal answers, the mean and the variance are about those of the exact posterior."""
    w = np.linspace(-10, 10, 20001)
    p = np.exp(-0.5 * w**2 - m * np.logaddexp(0, -(x * w + c)))
    mean = (w * p).sum() / p.sum()
    variance = ((w - mean) ** 2 * p).sum() / p.sum()
    made = given_answers(np.array([[x]]), np.array([c]), np.array([float(m)]))
    assert made.mean[0] == pytest.approx(mean, abs=0.02)
    assert made.variances(np.ones((1, 1)))[0] == pytest.approx(variance, rel=0.05)


def test_the_span_of_the_answers_is_enough():
    """Fewer answers than numbers, as many and more; in terms of vectors and of margins: all the same."""
    rng = np.random.default_rng(0)
    for n, size in ((4, 9), (9, 9), (20, 5)):
        X, c, m = rng.standard_normal((n, size)), rng.standard_normal(n), rng.random(n) + 0.5
        wide = given_answers(np.hstack((X, np.zeros((n, 30)))), c, m)
        plain = given_answers(X, c, m)
        assert wide.mean[:size] == pytest.approx(plain.mean, abs=1e-3) and not wide.mean[size:].any()
        Q = rng.standard_normal((6, size))
        assert wide.variances(np.hstack((Q, np.zeros((6, 30))))) == pytest.approx(plain.variances(Q), rel=1e-3)
        K = np.stack((X @ X.T, np.zeros((n, n))))
        a, A, _ = margins_given(K, np.stack((c, c)), np.stack((m, np.zeros(n))))
        k = Q @ X.T
        assert k @ a[0] == pytest.approx(Q @ plain.mean, abs=0.02)
        less = np.einsum("qn,nk,qk->q", k, A[0], k)
        assert (Q * Q).sum(axis=1) - less == pytest.approx(plain.variances(Q), rel=0.02)
        assert not a[1].any() and not A[1].any()  # who said nothing


def test_draws_have_the_moments():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3, 5))
    made = given_answers(X, np.zeros(3), np.ones(3))
    draws = made.draws(200_000, rng)
    assert draws.mean(axis=0) == pytest.approx(made.mean, abs=0.02)
    assert np.cov(draws.T) == pytest.approx(made.covariances(np.eye(5), np.eye(5)), abs=0.02)
    assert nothing_said(5).covariances(np.eye(5), np.eye(5)) == pytest.approx(np.eye(5))


def test_an_expected_answer_still_tells_something():
    """Where the curvature at the likeliest vector is next to nothing, the variance falls all the same."""
    x = np.array([[6.0]])
    assert given_answers(x, np.zeros(1), np.ones(1)).variances(np.ones((1, 1)))[0] < 0.6


# -- rankings ---------------------------------------------------------------------------------------------------------


def test_places_of_draws():
    draws = np.array([[3.0, 2.0, 1.0, 0.0], [3.0, 1.0, 2.0, 0.0]] * 50)
    found = ranked(draws, 0.9, 2)
    assert found["order"][0] == 0 and found["order"][-1] == 3
    assert found["best"].tolist() == [1, 2, 2, 4] and found["worst"].tolist() == [1, 3, 3, 4]
    assert found["p_top"].tolist() == [1.0, 0.5, 0.5, 0.0]
    assert groups(draws, 0.9).tolist() == [1, 2, 2, 3]


@pytest.mark.thorough
def test_intervals_hold_the_truth_as_often_as_they_say():
    """Of places and of the probabilities of pairs, over some worlds."""
    held = {(of, level): [] for of in ("places", "pairs") for level in (0.5, 0.9)}
    for seed in range(3):
        votes, truth = club(seed=seed)
        model, rng = AltSVM().fit(votes), np.random.default_rng(seed)
        for user in range(0, 150, 2):
            right = (-truth[user]).argsort().argsort() + 1
            a, b = rng.integers(0, 30, (2, 10))
            a, b = a[a != b], b[a != b]
            for level in (0.5, 0.9):
                table = model.rank(user, interval=level)
                at = right[table["item"]]
                held["places", level].extend((table["best"] <= at) & (at <= table["worst"]))
                sure, p = model.probability_interval(user, a, b, interval=level), expit(truth[user, a] - truth[user, b])
                held["pairs", level].extend((sure["low"] <= p) & (p <= sure["high"]))
    for (_, level), inside in held.items():
        assert np.mean(inside) == pytest.approx(level, abs=0.06)


def test_what_is_known_predicts_at_least_as_well_as_the_slope(fitted):
    model, truth = fitted
    rng = np.random.default_rng(3)
    user, a, b = rng.integers(0, 150, 4000), *rng.integers(0, 30, (2, 4000))
    user, a, b = user[a != b], a[a != b], b[a != b]
    won = rng.random(len(user)) < expit(truth[user, a] - truth[user, b])
    w, x = np.where(won, a, b), np.where(won, b, a)
    losses = [
        -np.log(p).mean()
        for p in (model.probability_interval(user, w, x)["probability"], model.probability(user, w, x))
    ]
    assert losses[0] < losses[1] + 0.005
    turned = model.probability_interval(user[:50], x[:50], w[:50])
    assert turned["probability"] == pytest.approx(
        1 - model.probability_interval(user[:50], w[:50], x[:50])["probability"], abs=1e-5
    )


def test_more_answers_are_surer(fitted):
    model, truth = fitted
    order = np.argsort(-truth[3])
    answers = [(int(order[n]), int(order[n + 12])) for n in range(12)]
    widths = []
    for n in (0, 4, 12):
        table = model.fold_in(answers[:n]).rank(interval=0.8)
        assert (table["best"] <= table["worst"]).all() and sorted(table["item"]) == list(range(30))
        widths.append((table["worst"] - table["best"]).mean())
    assert widths[0] > widths[1] > widths[2]
    tied = model.fold_in([(*answers[0], "tie")]).probability_interval(*answers[0])["probability"][0]
    said = model.fold_in(answers[:1]).probability_interval(*answers[0])["probability"][0]
    unsaid = model.fold_in([]).probability_interval(*answers[0])["probability"][0]
    assert abs(tied - 0.5) < abs(unsaid - 0.5) and said > max(unsaid, tied)


def test_everybodys_ranking_is_as_sure_as_people_are_many():
    widths = []
    for n in (40, 640):
        votes, truth = club(n_users=n, per_user=10, seed=5)
        for model in (AltSVM().fit(votes), Global(loss="logistic").fit(votes)):
            table = model.rank(interval=0.9)
            right = ((-truth.mean(axis=0)).argsort().argsort() + 1)[table["item"]]
            assert ((table["best"] <= right) & (right <= table["worst"])).mean() > 0.7
            widths.append((table["worst"] - table["best"]).mean())
    assert widths[2] < widths[0] and widths[3] < widths[1]


def test_one_persons_many_answers_are_no_crowd():
    """Everybody's intervals go by people, not by answers: the same votes by a few are less sure than by many."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 10, 4000)
    b = (a + rng.integers(1, 10, 4000)) % 10
    taste = 2 * rng.standard_normal(10) + rng.standard_normal((400, 10))
    made = []
    for n in (8, 400):
        user = np.arange(4000) % n
        won = taste[user, a] > taste[user, b]
        votes = {"user": user, "winner": np.where(won, a, b), "loser": np.where(won, b, a)}
        table = Global(loss="logistic").fit(Comparisons.from_frame(votes)).rank(interval=0.9)
        made.append((table["worst"] - table["best"]).mean())
    assert made[0] > 1.5 * made[1]


def test_differences(fitted):
    model, truth = fitted
    apart = model.difference(7, interval=0.9)
    centred = truth - truth.mean(axis=1, keepdims=True)
    real = (centred[7] - centred.mean(axis=0))[apart["item"]]
    assert np.corrcoef(apart["difference"], real)[0, 1] > 0.7
    assert ((apart["low"] <= apart["difference"]) & (apart["difference"] <= apart["high"])).all()
    assert (np.diff(apart["probability"]) <= 1e-9).all()
    both = model.difference(7, 8)
    turned = model.difference(8, 7)
    one = dict(zip(both["item"].tolist(), both["difference"].tolist(), strict=True))
    other = dict(zip(turned["item"].tolist(), turned["difference"].tolist(), strict=True))
    assert all(one[j] == pytest.approx(-other[j], abs=0.15) for j in one)
    person = model.fold_in([(0, 1), (2, 3)])
    assert len(person.difference()) == 30 and len(person.difference(model.fold_in([(1, 0)]), items=[0, 1, 2])) == 3


# -- states and files -------------------------------------------------------------------------------------------------


def test_files_keep_it(fitted, tmp_path):
    model, _ = fitted
    answers = [(0, 1), (5, 6), (7, 2)]
    expected = model.fold_in(answers).rank(interval=0.9)
    model.save(tmp_path / "a.rather", comparisons=False)
    loaded = rather.load(tmp_path / "a.rather")
    assert loaded.fold_in(answers).rank(interval=0.9)["worst"].tolist() == expected["worst"].tolist()
    with pytest.raises(InputError, match="comparisons=True"):
        loaded.rank(3, interval=0.9)
    with pytest.raises(InputError, match="comparisons=True"):
        loaded.rank(interval=0.9)
    model.save(tmp_path / "b.rather")
    again = rather.load(tmp_path / "b.rather")
    assert again.rank(3, interval=0.9)["best"].tolist() == model.rank(3, interval=0.9)["best"].tolist()
    fresh = AltSVM().fit(club(30, 10, 8)[0])
    fresh.save(tmp_path / "c.rather", comparisons=False)
    with pytest.raises(InputError, match="saved without the scales"):
        rather.load(tmp_path / "c.rather").fold_in([(0, 1)]).rank(interval=0.9)


def test_newcomers_at_once_are_newcomers_one_by_one(fitted):
    model, _ = fitted
    many = model.fold_in_many({"user": ["x", "x", "y"], "winner": [0, 5, 3], "loser": [1, 6, 9]})
    for name, answers in (("x", [(0, 1), (5, 6)]), ("y", [(3, 9)])):
        one, other = many.rank(name, interval=0.9), model.fold_in(answers).rank(interval=0.9)
        assert one["item"].tolist() == other["item"].tolist() and one["worst"].tolist() == other["worst"].tolist()


def test_updates_and_new_items_keep_it(fitted):
    votes, _ = club(60, 12, 15)
    model = AltSVM().fit(votes)
    model.rank(0, interval=0.9)
    more = Comparisons.from_frame({"user": [0, 99, 99], "winner": [1, 2, 50], "loser": [3, 4, 2]})
    model.add_items(Comparisons.from_frame({"user": [0], "winner": [50], "loser": [3]}))
    table = model.rank(0, interval=0.9)
    assert 50 in table["item"].tolist()
    wide = table["worst"] - table["best"]
    assert wide[table["item"].tolist().index(50)] >= np.median(wide)  # of which hardly anything is known
    updated = AltSVM().fit(votes)
    updated.rank(0, interval=0.9)
    found = updated.fitted.taste_prior.sureness
    updated.update(more)
    assert updated.fitted.taste_prior.sureness == found and len(updated.rank(99, interval=0.5)) == 13


def test_the_same_bits(fitted):
    votes, _ = club(60, 12, 15)
    tables = [AltSVM(n_threads=n).fit(votes).rank(4, interval=0.9) for n in (1, 3)]
    assert tables[0]["score"].tolist() == tables[1]["score"].tolist()
    assert tables[0]["worst"].tolist() == tables[1]["worst"].tolist()


def test_ratings_clicks_exposure_and_features_too(monkeypatch):
    monkeypatch.setattr("rather.models.crowd.TRIES", 8)  # how good the scales are is asserted elsewhere
    rng = np.random.default_rng(0)
    user, item = (x.ravel() for x in np.meshgrid(np.arange(60), np.arange(20), indexing="ij"))
    seen = rng.random(len(user)) < 0.5
    table = {"user": user[seen], "item": item[seen], "rating": rng.integers(1, 6, int(seen.sum()))}
    people = {"user": np.arange(60), "age": rng.standard_normal(60)}
    for model in (
        AltSVM(exposure=True).fit(Comparisons.from_ratings(table), user_features=people),
        AltSVM().fit(Comparisons.from_clicks({name: table[name] for name in ("user", "item")}, seed=0)),
        Convex(tol=0.1).fit(Comparisons.from_ratings(table)),
    ):
        assert len(model.rank(5, interval=0.9)) == 20
        worth = model._drawn(model._belief(5), np.arange(20)).mean(axis=0)
        assert np.abs(worth - model._drawn(model._belief(6), np.arange(20)).mean(axis=0)).max() > 0.05  # people differ
        for asked in (True, False):
            assert len(model.fold_in([(0, 1)], asked=asked).rank(interval=0.9, top=3)) == 20


def test_what_is_put_before_someone_is_not_their_choice():
    """With exposure, items that were handed out do not say who likes to meet them."""
    rng = np.random.default_rng(1)
    kind = np.arange(40) % 2
    rows = [(u, j, rng.integers(1, 6)) for u in range(80) for j in range(40) if kind[j] == u % 2 or rng.random() < 0.1]
    table = dict(zip(("user", "item", "rating"), zip(*rows, strict=True), strict=True))
    model = AltSVM(exposure=True).fit(Comparisons.from_ratings(table))
    answer = [(0, 2, "tie")]
    plain = AltSVM(exposure=True).fit(Comparisons.from_ratings(table))
    plain = plain._with(replace(plain.fitted, prior=None))  # a model that learned nothing from who met what
    chosen, asked, without = (
        one.score(range(40))
        for one in (model.fold_in(answer), model.fold_in(answer, asked=True), plain.fold_in(answer))
    )
    assert asked == pytest.approx(without, abs=1e-6) and np.abs(chosen - asked).max() > 1e-3


def test_whose_vectors_are_known_beside_what_is_expected(monkeypatch):
    """People's own part has a covariance of its own where all is known from which the model expects their vectors."""
    monkeypatch.setattr("rather.models.crowd.TRIES", 8)  # how good the scales are is asserted elsewhere
    rng = np.random.default_rng(0)
    kind, age = np.arange(20) % 2, rng.standard_normal(60)
    rows = [
        (u, j, int(np.clip(np.round(3 + 2 * age[u] * (kind[j] - 0.5) + rng.standard_normal()), 1, 5)))
        for u in range(60) for j in range(20) if rng.random() < (0.8 if kind[j] == u % 2 else 0.2)
    ]  # fmt: skip
    ratings = Comparisons.from_ratings(dict(zip(("user", "item", "rating"), zip(*rows, strict=True), strict=True)))
    plain = AltSVM(exposure=True).fit(ratings)
    described = AltSVM(exposure=True).fit(ratings, user_features={"user": np.arange(60), "age": age})
    met, nobody = np.arange(60) != 3, np.zeros(60, bool)
    source, items = ratings.source.of_users(met), np.arange(20)
    known = described.fitted.known.users.rows[:, : described.fitted.known.users.encoder.width]
    assert np.array_equal(plain._is_beside(source, None, None), met)
    assert np.array_equal(plain._is_beside(source, items, None), met)
    assert np.array_equal(described._is_beside(source, None, None), met)
    assert np.array_equal(described._is_beside(source, items, known), met)
    assert np.array_equal(described._is_beside(source, items, None), nobody)  # newcomers without their features
    answer = [(0, 1)]
    for model, belief, beside, newcomer in (
        (plain, plain._belief(5), True, False),
        (plain, plain.fold_in(answer).posterior, True, True),
        (plain, plain.fold_in([]).posterior, False, True),
        (plain, plain.fold_in(answer, asked=True).posterior, False, True),
        (described, described.fold_in(answer).posterior, False, True),
        (described, described.fold_in(answer, features={"age": 1.0}).posterior, True, True),
    ):
        mine, other = (Items.of(model.fitted.scorer, model._crowd(), x, newcomer).Z for x in (beside, not beside))
        assert mine.shape != other.shape or np.abs(mine - other).max() > 1e-3
        assert np.array_equal(belief.Z, mine)


def test_what_does_not_fit_is_said(fitted):
    model, _ = fitted
    for wrong in (0, 1, -0.5, "much", True):
        with pytest.raises(InputError, match="interval"):
            model.rank(0, interval=wrong)
    with pytest.raises(InputError, match="top is told with an interval"):
        model.rank(0, top=3)
    with pytest.raises(InputError, match="top"):
        model.rank(0, interval=0.9, top=31)
    with pytest.raises(InputError, match="asked"):
        model.fold_in([], asked=1)
    rng = np.random.default_rng(0)
    once = AltSVM().fit(Comparisons.from_embeddings(np.arange(40) % 5, *rng.standard_normal((2, 40, 4))))
    with pytest.raises(InputError, match="occur once"):
        once.rank(0, interval=0.9)


def test_what_sways_people_is_known():
    world = rather.simulate(150, 12, rank=1, per_user=12, side=1.0, seed=0)
    model = AltSVM().fit(world.comparisons)
    a, b = model.items_[:2]
    left, plain, right = (
        model.probability_interval("user 3", a, b, side=side)["probability"][0] for side in ("left", None, "right")
    )
    assert left > plain > right
    person = model.fold_in([(a, b)])
    assert (
        person.probability_interval(a, b, side="left")["probability"][0]
        > person.probability_interval(a, b)["probability"][0]
    )
    with pytest.raises(InputError, match="one user at a time"):
        model.difference(["user 3", "user 4"])


def test_clicks_tell_people_apart(monkeypatch):
    """Two opposite kinds of people, known by what they click alone."""
    monkeypatch.setattr("rather.models.crowd.TRIES", 8)  # how good the scales are is asserted elsewhere
    rng = np.random.default_rng(0)
    rows = [(u, j) for u in range(100) for j in range(20) if rng.random() < (0.7 if j % 2 == u % 2 else 0.1)]
    model = AltSVM().fit(Comparisons.from_clicks(dict(zip(("user", "item"), zip(*rows, strict=True), strict=True))))
    even, odd = model.probability_interval([4, 5], 0, 1)["probability"]
    assert even > 0.6 and odd < 0.4


def test_few_people_are_not_sure_of_everybody():
    """One taste, the same number of votes: the fewer people gave them, the wider everybody's intervals are not less."""
    rng = np.random.default_rng(0)
    worth = rng.standard_normal(10)
    a = rng.integers(0, 10, 300)
    b = (a + rng.integers(1, 10, 300)) % 10
    won = rng.random(300) < expit(worth[a] - worth[b])
    votes = {"winner": np.where(won, a, b), "loser": np.where(won, b, a)}
    wide = []
    for n in (1, 2, 100):
        model = Global(loss="logistic").fit(Comparisons.from_frame({"user": np.arange(300) % n, **votes}))
        table = model.rank(interval=0.9)
        right = ((-worth).argsort().argsort() + 1)[table["item"]]
        assert ((table["best"] <= right) & (right <= table["worst"])).mean() >= 0.8
        wide.append((table["worst"] - table["best"]).mean())
    assert min(wide[:2]) > 0.8 * wide[2]
    one = Global(loss="logistic").fit(Comparisons.from_frame({"user": [0], "winner": ["a"], "loser": ["b"]}))
    assert one.rank(interval=0.9)["worst"].tolist() == [2, 2]


def test_weights_have_no_unit():
    votes, _ = club(60, 12, 15)
    table = votes.to_frame("dict")
    made = []
    for weight in (0.001, 1.0, 50.0):
        weighed = Comparisons.from_frame({**table, "weight": np.full(len(table["user"]), weight)}, weight="weight")
        model = AltSVM(reg=5.0 * weight, bias=5.0 * weight).fit(weighed)
        made.append([model.probability_interval(3, 0, 5)[name][0] for name in ("low", "high")])
    assert made[0] == pytest.approx(made[1], abs=0.03) and made[2] == pytest.approx(made[1], abs=0.03)


def test_newcomers_with_features_and_without_anything(monkeypatch):
    monkeypatch.setattr("rather.models.crowd.TRIES", 8)  # how good the scales are is asserted elsewhere
    rng = np.random.default_rng(0)
    age = rng.standard_normal(80)
    worth = np.outer(age, rng.standard_normal(15)) * 2
    rows = [(u, j, int(np.clip(3 + worth[u, j] + rng.standard_normal(), 1, 5))) for u in range(80) for j in range(15)]
    rows = [row for row in rows if rng.random() < 0.6]
    table = dict(zip(("user", "item", "rating"), zip(*rows, strict=True), strict=True))
    people = {"user": np.arange(80), "age": age}
    model = AltSVM(exposure=True).fit(Comparisons.from_ratings(table), user_features=people)
    answers = {"user": ["x", "x"], "winner": [0, 2], "loser": [1, 3]}
    many = model.fold_in_many(answers, features={"user": ["x"], "age": [1.5]})
    one = model.fold_in([(0, 1), (2, 3)], features={"age": 1.5})
    assert many.probability_interval("x", 5, 6)["probability"][0] == pytest.approx(
        one.probability_interval(5, 6)["probability"][0], abs=1e-4
    )
    nobody, asked = model.fold_in([]), model.fold_in([], asked=True)
    a, b = np.array([5]), np.array([6])
    assert nobody.posterior.margins(a, b)[1][0] == pytest.approx(asked.posterior.margins(a, b)[1][0], rel=1e-6)


def test_files_after_updates_and_of_newcomers(tmp_path, monkeypatch):
    monkeypatch.setattr("rather.models.crowd.TRIES", 8)  # how good the scales are is asserted elsewhere
    votes, _ = club(60, 12, 15)
    model = AltSVM().fit(votes)
    model.rank(0, interval=0.9)
    model.update(Comparisons.from_frame({"user": [0], "winner": [1], "loser": [3]}))
    model.save(tmp_path / "a.rather")
    assert len(rather.load(tmp_path / "a.rather").fold_in([(0, 1)]).rank(interval=0.9)) == 12
    many = model.fold_in_many({"user": ["x"], "winner": [0], "loser": [1]})
    with pytest.raises(InputError, match="newcomers to another"):
        many.rank(interval=0.9)
    many.save(tmp_path / "b.rather")
    loaded = rather.load(tmp_path / "b.rather").fold_in([(0, 1)]).rank(interval=0.9)
    assert loaded["worst"].tolist() == model.fold_in([(0, 1)]).rank(interval=0.9)["worst"].tolist()
    before, after = AltSVM().fit(votes), AltSVM().fit(votes)
    before.rank(0, interval=0.9)
    for one in (before, after):
        one.add_items(Comparisons.from_frame({"user": list(range(30)), "winner": [99] * 30, "loser": [1] * 30}))
    assert before._crowd().count.tolist() == after._crowd().count.tolist()


def test_others_must_be_of_the_same_model(fitted):
    model, _ = fitted
    person, stranger = model.fold_in([(0, 1)]), AltSVM().fit(club(20, 8, 10)[0]).fold_in([(0, 1)])
    for other in (3, stranger):
        with pytest.raises(InputError, match="same model"):
            person.difference(other)


def test_hostile_parts_of_files_are_refused(fitted):
    model, _ = fitted
    crowd = model._crowd()
    tensors, said = crowd.tensors(), [asdict(one) for one in crowd.sureness]
    assert Crowd.restored(tensors, said, model.rank_, 30).count.tolist() == crowd.count.tolist()
    for name, wrong in (
        ("crowd_covariance", np.zeros((3, 2), np.float32)),
        ("crowd_mean", np.full_like(tensors["crowd_mean"], np.nan)),
        ("crowd_count", -np.ones_like(tensors["crowd_count"])),
        ("crowd_count", tensors["crowd_count"].astype(np.float64)),
    ):
        with pytest.raises(ValueError, match="fit together"):
            Crowd.restored({**tensors, name: wrong}, said, model.rank_, 30)
    for wrong in (-1.0, 0.0, float("nan"), "much", 1e300):
        with pytest.raises(ValueError, match="fit together"):
            Crowd.restored(tensors, [said[0], {**said[1], "own": wrong}], model.rank_, 30)


def test_newcomers_are_less_well_known_than_those_the_items_were_fitted_to():
    """A few people with tastes of their own, who said much: the vectors of the items hold them, and nobody else."""
    rng = np.random.default_rng(0)
    truth = 1.5 * rng.standard_normal((60, 20)) + rng.standard_normal(20)
    user = np.repeat(np.arange(60), 300)
    a = rng.integers(0, 20, len(user))
    b = (a + rng.integers(1, 20, len(user))) % 20
    won = rng.random(len(user)) < expit(truth[user, a] - truth[user, b])
    w, x = np.where(won, a, b), np.where(won, b, a)
    fit = user < 40
    model = AltSVM().fit(Comparisons.from_frame({"user": user[fit], "winner": w[fit], "loser": x[fit]}))
    held = {0: [], 10: []}
    for n in held:
        for person in range(40, 60):
            rows = np.flatnonzero(user == person)[:n]
            table = model.fold_in(list(zip(w[rows].tolist(), x[rows].tolist(), strict=True))).rank(interval=0.9)
            right = ((-truth[person]).argsort().argsort() + 1)[table["item"]]
            held[n].extend((table["best"] <= right) & (right <= table["worst"]))
    assert all(0.8 < np.mean(inside) < 0.98 for inside in held.values())


@pytest.mark.thorough
def test_newcomers_to_ratings_differ_about_as_much_as_members():
    """Their scales do not grow with what few levels say: an item of the highest level is above all on other levels."""
    world = rather.simulate(60, 30, rank=2, per_user=15, levels=3, seed=0)
    members, newcomers = AltSVM(rank=2, reg=3.0).fit(world.comparisons)._crowd().sureness
    assert newcomers.taste < 3 * members.taste and newcomers.items < 10 * members.items and newcomers.own < 10


@pytest.mark.parametrize("kind", [SGD, Global, AltSVM])
@pytest.mark.parametrize("users", [[0] * 300, [0] * 280 + list(range(1, 21)), list(range(300))])
def test_everybodys_intervals_are_finite_whoever_voted(kind, users):
    """Intervals exist with one user, with one who gave most votes, and with one vote each, whatever the scores are."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 8, 300)
    b = (a + rng.integers(1, 8, 300)) % 8
    won = rng.random(300) < expit(0.6 * (a - b))
    votes = {"user": users, "winner": np.where(won, a, b), "loser": np.where(won, b, a)}
    table = kind(**({"rank": 2} if kind is not Global else {})).fit(Comparisons.from_frame(votes)).rank(interval=0.9)
    assert sorted(table["item"]) == list(range(8)) and np.isfinite(table["score"]).all()
    assert (table["best"] <= table["worst"]).all()
    if kind is Global:
        assert (table["worst"] - table["best"]).mean() < 3 and table["item"][0] == 7
