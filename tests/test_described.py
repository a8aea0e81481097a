"""Features of items and people: fits that learn from them, and what follows for those nobody has compared."""

import json
import warnings

import numpy as np
import pytest

import rather
from rather import BPR, AltSVM, Comparisons, Convex, Global, InputError, PaperAltSVM
from rather.data.described import OFF
from rather.logistic import sigmoid

GENRES = np.array(["drama", "comedy", "horror"])


def film_club(n_users=80, n_items=60, seen=50, per_user=30, seed=0, own=0.3):
    """Votes in which genres decide, and women and men differ about horror; the last items are never compared."""
    rng = np.random.default_rng(seed)
    genre, year = rng.integers(0, 3, n_items), rng.integers(1950, 2020, n_items).astype(float)
    woman = rng.random(n_users) < 0.5
    taste = 0.7 * rng.standard_normal((n_users, 3)) + [1, 0, -1]
    taste[:, 2] += np.where(woman, 1.5, -1.5)
    quality = own * rng.standard_normal(n_items)
    truth = taste[:, genre] + quality
    rows = {"user": [], "winner": [], "loser": []}
    for i in range(n_users):
        for _ in range(per_user):
            a, b = rng.choice(seen, 2, replace=False)
            a, b = (a, b) if rng.random() < sigmoid(2 * (truth[i, a] - truth[i, b])) else (b, a)
            for name, value in zip(rows, (f"u{i}", f"i{a}", f"i{b}"), strict=True):
                rows[name].append(value)
    items = {"item": [f"i{j}" for j in range(n_items)], "genre": GENRES[genre].tolist(), "year": year}
    people = {"user": [f"u{i}" for i in range(n_users)], "sex": np.where(woman, "f", "m").tolist()}
    return Comparisons.from_frame(rows), items, people, truth


def agreement(model, truth, users, items):
    """Of the model's order of some items with the truth's, for some users, where they differ clearly."""
    got = np.array([model.score(f"u{i}", [f"i{j}" for j in items]) for i in users])
    want = truth[np.ix_(users, items)]
    a, b = np.triu_indices(len(items), 1)
    clear = np.abs(want[:, a] - want[:, b]) > 1
    return float(((got[:, a] - got[:, b]) * (want[:, a] - want[:, b]) > 0)[clear].mean())


def test_items_nobody_compared_are_ranked_by_their_features():
    votes, items, _, truth = film_club()
    model = AltSVM().fit(votes, item_features=items)
    assert len(model.items_) == 60 and not set(model.items_[50:]) <= set(votes.items)
    assert agreement(model, truth, range(80), range(50, 60)) > 0.75
    assert [row.item for row in model.rank("u3")] != [row.item for row in model.rank("u4")]
    assert len(model.recommend("u3", k=60)) == 60


def test_what_helps_is_used_and_what_does_not_is_switched_off():
    votes, items, _, _ = film_club()
    noise = np.random.default_rng(1).standard_normal((60, 8))
    model = AltSVM().fit(votes, item_features={**items, "noise": noise})
    told = {row.block: row for row in model.features_}
    assert told["genre"].used and told["genre"].gain > 2 * told["genre"].error
    assert not told["noise"].used and np.isnan(told["noise"].strength)


@pytest.mark.parametrize("seed", range(3))
def test_random_features_cost_next_to_nothing(seed):
    world = rather.simulate(n_users=200, n_items=60, rank=3, per_user=20, seed=seed)
    votes, fresh = world.comparisons, world.test(20_000, seed=9)
    noise = {"item": votes.items, "noise": np.random.default_rng(seed).standard_normal((len(votes.items), 10))}
    plain, with_noise = AltSVM().fit(votes), AltSVM().fit(votes, item_features=noise)
    assert rather.pairwise_accuracy(with_noise, fresh) > rather.pairwise_accuracy(plain, fresh) - 0.002


def test_few_answers_gain_from_features():
    """With three answers each, what is known of items and people says more than the answers alone."""
    gains = []
    for seed in range(3):
        votes, items, people, truth = film_club(per_user=3, seed=seed)
        plain = AltSVM().fit(votes)
        told = AltSVM().fit(votes, item_features=items, user_features=people)
        seen = sorted(int(str(item)[1:]) for item in votes.items)
        gains.append(agreement(told, truth, range(80), seen) - agreement(plain, truth, range(80), seen))
    assert np.mean(gains) > 0.02


def test_people_of_whom_only_features_are_known():
    votes, items, people, truth = film_club(n_users=200)
    few = votes.source.of_users(np.arange(200) < 150)
    left = {str(user) for user in votes.users[150:]}
    model = AltSVM().fit(votes._with(few), item_features=items, user_features=people)
    assert any(row.used for row in model.features_ if row.of == "user")
    out = [i for i in range(200) if f"u{i}" in left]
    alike = AltSVM().fit(votes._with(few), item_features=items)
    crowd = np.array([alike.average_scores()[alike.fitted.items.codes(np.array([f"i{j}" for j in range(50)], object))]])
    a, b = np.triu_indices(50, 1)
    want = truth[np.ix_(out, range(50))]
    clear = np.abs(want[:, a] - want[:, b]) > 1
    by_crowd = ((crowd[:, a] - crowd[:, b]) * (want[:, a] - want[:, b]) > 0)[clear].mean()
    assert agreement(model, truth, out, range(50)) > by_crowd + 0.02
    sex = dict(zip(people["user"], people["sex"], strict=True))
    i = out[0]
    newcomer = model.fold_in([], features={"sex": sex[f"u{i}"]})
    np.testing.assert_array_equal(newcomer.score(model.items_), model.score(f"u{i}", model.items_))


def test_newcomers_with_features():
    votes, items, people, _ = film_club()
    model = AltSVM().fit(votes, item_features=items, user_features=people)
    answers = [("i1", "i2"), ("i3", "i4")]
    plain, told = model.fold_in(answers), model.fold_in(answers, features={"sex": "f"})
    assert not np.array_equal(plain.factors, told.factors)
    table = {"user": ["new", "new"], "winner": ["i1", "i3"], "loser": ["i2", "i4"]}
    many = model.fold_in_many(table, features={"user": ["new", "newer"], "sex": ["f", "m"]})
    np.testing.assert_allclose(many.score("new", model.items_), told.score(model.items_), atol=1e-6)
    nobody = model.fold_in([], features={"sex": "m"})
    np.testing.assert_array_equal(many.score("newer", model.items_), nobody.score(model.items_))
    with pytest.raises(InputError, match="no user feature 'age'"):
        model.fold_in([], features={"age": 3})
    with pytest.raises(InputError, match="without features of users"):
        AltSVM().fit(votes).fold_in([], features={"sex": "m"})


def test_newcomers_who_met_nothing_are_as_in_the_fit():
    """Where it also counts what people met, those of whom only features are known have the vectors of the fit's."""
    rng = np.random.default_rng(0)
    woman = np.arange(60) % 2 == 0
    user, item = np.nonzero(rng.random((60, 20)) < np.where(woman[:, None] == (np.arange(20) < 10), 0.7, 0.3))
    rating = np.round(3 + (woman[user] == (item % 2 == 0)) + rng.normal(size=len(user)))
    met = user < 56
    rated = Comparisons.from_ratings({"user": user[met], "item": item[met], "rating": rating[met]})
    described = rated.with_features(user_features={"user": np.arange(60), "sex": np.where(woman, "f", "m")})
    known = described.user_features.with_strengths((0.1,))
    model = AltSVM(rank=2, reg=5.0, exposure=True).fit(described.knowing(known, None))
    answers = {"user": [70, 70], "item": [3, 4], "rating": [5, 1]}
    many = model.fold_in_many(answers, features={"user": [70, 71], "sex": ["f", "f"]})
    np.testing.assert_allclose(many.score(71, model.items_), model.score(58, model.items_), rtol=1e-5)
    told = model.fold_in({"item": [3, 4], "rating": [5, 1]}, features={"sex": "f"})
    np.testing.assert_allclose(many.score(70, model.items_), told.score(model.items_), atol=1e-5)
    later = Comparisons.from_ratings({"user": [1, 2], "item": [3, 3], "rating": [1, 5]}, allow_empty=True)
    more = model.update(later, user_features={"user": [80, 81], "sex": ["f", "m"]})
    for user, sex in ((80, "f"), (81, "m")):  # after an update, too
        known = more.fold_in([], features={"sex": sex}).score(more.items_)
        np.testing.assert_allclose(more.score(user, more.items_), known, rtol=1e-5)
    assert model.exposure_ and np.ptp(model.score(58, model.items_) - model.score(59, model.items_)) > 0.01


def test_items_added_later_are_those_described_in_the_fit():
    votes, items, _, _ = film_club()
    whole = AltSVM().fit(votes, item_features=items)
    first = {name: column[:50] for name, column in items.items()}
    model = AltSVM().fit(votes, item_features=first)
    later = {name: column[50:] for name, column in items.items()}
    assert model.add_items(later) is model
    assert list(model.items_) == list(whole.items_)
    said = Comparisons.from_frame({"user": ["u1"] * 3, "winner": ["z"] * 3, "loser": ["i1", "i2", "i3"]})
    one = {"item": ["z"], "genre": ["horror"], "year": [1990.0]}
    before = model.reward("u2", one)[0]
    model.add_items(said, features=one)
    plain = AltSVM().fit(votes, item_features=first).add_items(said)
    assert abs(model.score("u2", "z")[0] - before) < abs(plain.score("u2", "z")[0] - before)
    with pytest.raises(InputError, match="none of the items is new"):
        model.add_items(later)
    with pytest.raises(InputError, match="without features of items"):
        AltSVM().fit(votes).add_items(later)


def test_files_keep_all_of_it(tmp_path):
    votes, items, people, _ = film_club()
    model = AltSVM().fit(votes, item_features=items, user_features=people).calibrate()
    later = {"item": ["a", "b"], "genre": ["drama", "western"], "year": [1999.0, None]}
    for whole in (False, True):
        model.save(tmp_path / "m", comparisons=whole)
        read = rather.load(tmp_path / "m")
        np.testing.assert_array_equal(read.score("u1", model.items_), model.score("u1", model.items_))
        assert [tuple(map(str, row)) for row in read.features_] == [tuple(map(str, row)) for row in model.features_]
        assert read.tastes("u1")["own"].tolist() == model.tastes("u1")["own"].tolist()
        np.testing.assert_array_equal(read.reward("u1", later), model.reward("u1", later))
        one, other = (m.fold_in([("i1", "i2")], features={"sex": "f"}).factors for m in (read, model))
        np.testing.assert_array_equal(one, other)
    assert read.certificate().objective == pytest.approx(model.certificate().objective, rel=1e-5)
    new = Comparisons.from_frame({"user": ["u1", "new"], "winner": ["i1", "a"], "loser": ["i2", "i3"]})
    updated = [m.update(new, item_features=later) for m in (read, model)]
    one, other = (m.score("new", m.items_) for m in updated)
    assert np.corrcoef(one, other)[0, 1] > 0.999


def test_updates_take_in_features():
    votes, items, people, truth = film_club()
    first, rest = votes.split(test=0.3, seed=1)
    model = AltSVM().fit(first, item_features=items, user_features=people)
    model.update(rest)
    assert agreement(model, truth, range(80), range(50, 60)) > 0.7
    new = Comparisons.from_frame({"user": ["new"], "winner": ["fresh"], "loser": ["i1"]})
    model.update(
        new,
        item_features={"item": ["fresh", "fresher"], "genre": ["drama", "horror"], "year": [2000.0, 2001.0]},
        user_features={"user": ["new"], "sex": ["f"]},
    )
    assert {"fresh", "fresher"} <= set(model.items_) and "new" in set(model.users_)
    assert model.fitted.training.item_features.known.all()
    again = model.rank("new")
    assert len(again) == len(model.items_)


@pytest.mark.filterwarnings("ignore:the gap of Convex")  # which may end above 1e-5
@pytest.mark.parametrize("kind", [AltSVM, Convex])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_certificates_hold_with_features(kind, loss):
    """The objective of a rival that solves the same problem is never below the bound."""
    votes, items, people, _ = film_club(n_users=30, n_items=25, seen=20, per_user=12)
    described = votes.with_features(items, people)
    settled = described.knowing(
        described.user_features.with_strengths((0.1,)), described.item_features.with_strengths((0.1, 0.1))
    )
    fits = [kind(reg=2.0, bias=3.0, loss=loss, tol=tol, max_iter=200).fit(settled) for tol in (1e-2, 1e-5)]
    rough, fine = (fit.certificate() for fit in fits)
    assert fine.relative_gap < 6e-3
    assert rough.lower_bound <= fine.objective * (1 + 1e-5) and fine.lower_bound <= rough.objective * (1 + 1e-5)


def test_the_same_bits_at_any_number_of_threads():
    votes, items, people, _ = film_club()
    one, three = (AltSVM(n_threads=n).fit(votes, item_features=items, user_features=people) for n in (1, 3))
    np.testing.assert_array_equal(one.fitted.scorer.U, three.fitted.scorer.U)
    np.testing.assert_array_equal(one.fitted.scorer.V, three.fitted.scorer.V)


def test_a_checkpoint_goes_on_with_features(tmp_path):
    votes, items, people, _ = film_club()

    class Stop(Exception):
        pass

    def stop(model, record):
        if record["round"] == 2:
            raise Stop

    given = {"item_features": items, "user_features": people}
    whole = AltSVM(tol=1e-6).fit(votes, **given)
    with pytest.raises(Stop):
        AltSVM(tol=1e-6, callback=stop, checkpoint=tmp_path / "c").fit(votes, **given)
    resumed = AltSVM(tol=1e-6, checkpoint=tmp_path / "c").fit(votes, **given)
    np.testing.assert_array_equal(whole.fitted.scorer.V, resumed.fitted.scorer.V)
    assert str(whole.features_) == str(resumed.features_)
    with pytest.raises(rather.FileError, match="other data"):
        AltSVM(tol=1e-6, checkpoint=tmp_path / "c").fit(votes, item_features=items)


def test_tastes_say_what_moves_people():
    votes, items, _, _ = film_club(n_users=150)
    model = AltSVM().fit(votes, item_features=items)
    told = {row.feature: row for row in model.tastes("u1")}
    assert told["genre: drama"].mean > told["genre: comedy"].mean > told["genre: horror"].mean
    assert told["genre: horror"].spread == max(row.spread for row in told.values())
    gap = told["genre: drama"].own - told["genre: horror"].own
    a, b = ({"item": ["x"], "genre": [g], "year": [1985.0]} for g in ("drama", "horror"))
    assert gap == pytest.approx(model.slope_ * float((model.reward("u1", a) - model.reward("u1", b))[0]), rel=1e-3)
    with pytest.raises(InputError, match="without features of items"):
        AltSVM().fit(votes).tastes()


def test_ratings_and_clicks_have_features_too():
    rng = np.random.default_rng(3)
    genre = rng.integers(0, 3, 40)
    taste = rng.standard_normal((90, 3))
    user, item = np.nonzero(rng.random((90, 40)) < 0.5)
    score = taste[user, genre[item]] + 0.3 * rng.standard_normal(len(user))
    warm = item < 32
    features = {"item": np.arange(40), "genre": GENRES[genre].tolist()}
    ratings = {"user": user[warm], "item": item[warm], "rating": np.round(2 * score[warm])}
    rated = AltSVM().fit(Comparisons.from_ratings(ratings), item_features=features)
    clicks = {"user": user[warm & (score > 0.5)], "item": item[warm & (score > 0.5)]}
    clicked = AltSVM().fit(Comparisons.from_clicks(clicks), item_features=features)
    for model in (rated, clicked):
        people = [u for u in range(90) if u in set(model.users_.tolist())]
        got = np.array([model.score(u, np.arange(32, 40)) for u in people])
        want = taste[np.ix_(people, genre[32:])]
        a, b = np.triu_indices(8, 1)
        differ = want[:, a] != want[:, b]
        right = ((got[:, a] - got[:, b]) * (want[:, a] - want[:, b]) > 0)[differ].mean()
        assert right > 0.65


def test_what_does_not_fit_is_said_in_a_sentence():
    votes, items, people, _ = film_club()
    some = {name: column[:40] for name, column in items.items()}
    with pytest.warns(UserWarning, match=r"10 of 50 items, such as 'i\d+', have no row in the table of their features"):
        AltSVM().fit(votes, item_features=some)
    cases = [
        (AltSVM(), {"item_features": {"item": ["x"], "genre": ["a"]}}, "tell no two items apart"),
        (AltSVM(), {"item_features": {"item": ["x", "y"], "genre": ["a", "b"], "n": [1, 2]}}, "none of the 50 items"),
        (AltSVM(), {"item_features": {**items, "n": [np.inf] * 60}}, "'n' in row 0"),
        (AltSVM(), {"item_features": [1, 2]}, "list"),
        (PaperAltSVM(), {"item_features": items}, "PaperAltSVM does not learn from features"),
        (Global(), {"item_features": items}, "Global does not learn from features"),
        (BPR(), {"user_features": people}, "BPR does not learn from features"),
    ]
    for model, given, message in cases:
        with pytest.raises(InputError, match=message):
            model.fit(votes, **given)


# -- things that occur once ---------------------------------------------------------------------------------------


def arena(n_users=60, per_user=12, k=16, seed=0, decay=0.5):
    """Choices between things that occur once: (user, chosen, rejected), for training and for a test, and the truth."""
    rng = np.random.default_rng(seed)
    scale = np.arange(1, k + 1) ** -decay
    W = 1.5 * rng.standard_normal((2, k)) / scale
    theta = rng.standard_normal((n_users, 2)) @ W + 1.0 * rng.standard_normal(k) / scale
    theta *= 3 / np.sqrt(k)

    def draw(m):
        u = np.repeat(np.arange(n_users), m)
        a, b = (rng.standard_normal((len(u), k)) * scale for _ in range(2))
        won = rng.random(len(u)) < sigmoid(((a - b) * theta[u]).sum(axis=1))
        return u, np.where(won[:, None], a, b), np.where(won[:, None], b, a)

    return draw(per_user), draw(30), theta


def test_rewards_of_things_that_occur_once():
    train, test, theta = arena(per_user=20)
    model = AltSVM().fit(Comparisons.from_embeddings(*train))
    held = Comparisons.from_embeddings(*test)
    accuracy = rather.pairwise_accuracy(model, held)
    limit = (((test[1] - test[2]) * theta[test[0]]).sum(axis=1) > 0).mean()
    one = AltSVM().fit(Comparisons.from_embeddings("all", *train[1:]))
    alike = rather.pairwise_accuracy(one, Comparisons.from_embeddings("all", *test[1:]))
    assert alike + 0.03 < accuracy < limit
    things = test[1][:7]
    rewards = model.reward([0, 5], things)
    weights, offsets = model.reward_head([0, 5])
    np.testing.assert_allclose(rewards, weights @ things.T + offsets[:, None], rtol=1e-3, atol=1e-4)
    assert model.reward(5, things).shape == (7,)
    torch = pytest.importorskip("torch") if _has_torch() else None
    if torch is not None:
        layer = model.to_torch([0, 5])
        np.testing.assert_allclose(layer(torch.tensor(things, dtype=torch.float32)).T.detach(), rewards, atol=1e-4)
    else:
        with pytest.raises(InputError, match="PyTorch is not installed"):
            model.to_torch()


def _has_torch():
    import importlib.util

    return importlib.util.find_spec("torch") is not None


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_rewards_have_a_certificate_and_the_same_bits(loss):
    train, _, _ = arena(n_users=40)
    choices = Comparisons.from_embeddings(*train)
    model = AltSVM(loss=loss, reg=0.3, bias=0.05, tol=1e-6, max_iter=100, n_threads=1).fit(choices)
    proof = model.certificate()
    assert proof.relative_gap < 5e-3
    best = Convex(loss=loss, reg=0.3, bias=0.05, tol=1e-4).fit(choices)
    assert best.certificate().objective == pytest.approx(proof.objective, rel=5e-3)
    threads = AltSVM(loss=loss, reg=0.3, bias=0.05, tol=1e-6, max_iter=100, n_threads=3).fit(choices)
    np.testing.assert_array_equal(model.fitted.scorer.V, threads.fitted.scorer.V)


def test_one_reward_for_all_is_ridge_logistic_regression():
    """Of one person who is like everybody, against scipy's minimiser."""
    from scipy.optimize import minimize

    train, _, _ = arena(n_users=20)
    choices = Comparisons.from_embeddings("all", *train[1:])
    model = AltSVM(rank=1, loss="logistic", reg=1e6, bias=0.5, tol=1e-7, max_iter=100).fit(choices)
    described = choices.encoded().item_features
    F = described.rows[:-1, : described.k].astype(float)
    ridge = np.square(F).sum() / described.k  # of the features as they are scaled

    def value(c):
        m = F @ c
        return np.logaddexp(0, -m).sum() + 0.25 * ridge * c @ c, -F.T @ sigmoid(-m) + 0.5 * ridge * c

    want = minimize(value, np.zeros(F.shape[1]), jac=True, method="L-BFGS-B", options={"gtol": 1e-8}).x
    np.testing.assert_allclose(model.fitted.scorer.V[:-1, model.rank_], F @ want, atol=2e-3)


def test_newcomers_choose_between_things():
    train, test, theta = arena(n_users=100)
    user = train[0]
    old, new = user < 99, user == 99
    model = AltSVM().fit(Comparisons.from_embeddings(user[old], train[1][old], train[2][old]))
    answers = Comparisons.from_embeddings("new", train[1][new], train[2][new])
    person = model.fold_in(answers)
    many = model.fold_in_many(answers)
    things = test[1][:5]
    U = np.array(person.factors)
    head = many.reward("new", things)
    weights = model._things(things)[:, : model.rank_]
    np.testing.assert_allclose(head, weights @ U + model._things(things)[:, model.rank_], atol=1e-4)
    assert np.corrcoef(head, things @ theta[99])[0, 1] > 0.3


def test_files_and_checkpoints_of_rewards(tmp_path):
    train, test, _ = arena(n_users=40)
    choices = Comparisons.from_embeddings(*train)
    model = AltSVM().fit(choices)
    model.save(tmp_path / "m")
    read = rather.load(tmp_path / "m")
    np.testing.assert_array_equal(read.reward(3, test[1]), model.reward(3, test[1]))
    assert read.certificate().objective == pytest.approx(model.certificate().objective, rel=1e-5)

    class Stop(Exception):
        pass

    def stop(model, record):
        if record["round"] == 2:
            raise Stop

    settings = {"reg": 0.2, "bias": 0.05, "tol": 1e-7}
    with pytest.raises(Stop):
        AltSVM(**settings, callback=stop, checkpoint=tmp_path / "c").fit(choices)
    resumed = AltSVM(**settings, checkpoint=tmp_path / "c").fit(choices)
    np.testing.assert_array_equal(resumed.fitted.scorer.V, AltSVM(**settings).fit(choices).fitted.scorer.V)


def test_embeddings_that_do_not_fit_are_refused():
    train, _, _ = arena(n_users=20)
    choices = Comparisons.from_embeddings(*train)
    bad = train[1].copy()
    bad[3, 2] = np.nan
    cases = [
        ((train[0], bad, train[2]), "chosen in row 3, column 2"), ((train[0], train[1][:, :3], train[2]), "alike"),
        ((train[0][:5], *train[1:]), "5 users and"), ((train[0], train[1], train[1]), "same embedding"),
        ((train[0], train[1][0], train[2]), "1 dimensions"), (("a", [[1], [1, 2]], [[2], [3]]), "one length"),
    ]  # fmt: skip
    for given, message in cases:
        with pytest.raises(InputError, match=message):
            Comparisons.from_embeddings(*given)
    with pytest.raises(InputError, match="Global does not learn from features"):
        Global().fit(choices)
    with pytest.raises(InputError, match="of embeddings"):
        AltSVM().fit(choices, item_features={"item": [0, 1], "x": [1, 2]})
    model = AltSVM().fit(choices)
    with pytest.raises(InputError, match="cannot be joined"):
        model.update(choices)
    with pytest.raises(InputError, match="one embedding, and these"):
        votes, items, _, _ = film_club()
        AltSVM().fit(votes, item_features=items).reward_head()
    with pytest.raises(InputError, match="without features of items"):
        rather.pairwise_accuracy(Global().fit(film_club()[0]), choices)


def test_the_encoder_and_strengths_survive_json():
    votes, items, people, _ = film_club()
    model = AltSVM().fit(votes, item_features=items, user_features=people)
    for learned in model.fitted.features.values():
        about = json.loads(json.dumps(learned.about()))
        assert about["strengths"] == [None if s == OFF else s for s in learned.strengths]


def test_no_warning_where_all_fits():
    votes, items, _, _ = film_club()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AltSVM().fit(votes, item_features=items)


# -- what went wrong once -----------------------------------------------------------------------------------------


def test_those_nobody_compared_do_not_disturb_a_fit():
    """However many are described and not compared, the others come out the same, and the fit converges."""
    votes, items, _, _ = film_club(n_items=60, seen=40)
    many = {name: [*items[name], *([f"x{j}" for j in range(300)] if name == "item" else list(items[name][:60]) * 5)]
            for name in items}  # fmt: skip
    few = {name: list(column[:40]) for name, column in items.items()}
    fits = []
    for given in (few, many):
        described = votes.with_features(given)
        known = described.item_features.with_strengths((0.1, 0.1))
        fits.append(AltSVM(reg=20.0, bias=50.0, tol=1e-5, max_iter=60).fit(described.knowing(None, known)))
    assert all(fit.converged_ for fit in fits)
    seen = [f"i{j}" for j in range(40)]
    one, other = (np.array([fit.score(f"u{i}", seen) for i in range(5)]) for fit in fits)
    assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.99
    assert fits[1].certificate().relative_gap < 0.02
    model = fits[0].add_items({name: column[60:] for name, column in many.items()})
    model.update(votes.split(0.1)[1])
    assert model.converged_ or model.history_[-1]["gap"] < 6 * 3e-4


def test_nobody_passed_over_what_nobody_met():
    """Clicks are compared with items that somebody met, whatever else is described."""
    rng = np.random.default_rng(0)
    clicks = {"user": np.repeat(np.arange(30), 6), "item": rng.integers(0, 25, 180)}
    features = {"item": np.arange(200), "x": rng.standard_normal(200)}
    for rule in ({}, {"per_user": 10}):
        plain = Comparisons.from_clicks(clicks, **rule)
        described = plain.with_features(features)
        pairs = described.pairs()
        assert described.n_items == 200 and len(pairs.user) == len(plain.pairs().user)
        assert set(described.items[pairs.loser]) <= set(plain.items)


def test_a_column_of_noise_is_rarely_taken_for_a_sign():
    used = 0
    for seed in range(12):
        votes, items, _, _ = film_club(n_users=40, n_items=40, seen=40, per_user=20, seed=seed, own=1.0)
        noise = {"item": items["item"], "x": np.random.default_rng(100 + seed).standard_normal(40)}
        used += bool(AltSVM().fit(votes, item_features=noise).features_["used"][0])
    assert used <= 4


def test_people_who_choose_between_things_have_features():
    rng = np.random.default_rng(5)
    group = rng.integers(0, 2, 120)
    theta = np.where(group == 0, 1, -1)[:, None] * rng.standard_normal(8) + 0.2 * rng.standard_normal((120, 8))
    user = np.repeat(np.arange(120), 12)
    a, b = rng.standard_normal((2, len(user), 8))
    won = rng.random(len(user)) < sigmoid(2 * ((a - b) * theta[user]).sum(axis=1))
    chosen, rejected = (np.where((won == side)[:, None], a, b) for side in (True, False))
    people = {"user": np.arange(120), "group": np.array(["a", "b"])[group].tolist()}
    model = AltSVM().fit(Comparisons.from_embeddings(user, chosen, rejected), user_features=people)
    assert model.features_["used"][list(model.features_["of"]).index("user")]
    many = model.fold_in_many(None, features={"user": ["x", "y"], "group": ["a", "b"]})
    x, y = many.reward(["x", "y"], rng.standard_normal((50, 8)))
    assert np.corrcoef(x, y)[0, 1] < 0
    with pytest.raises(InputError, match="occur once and have no ids"):
        model.rank(0)
    with pytest.raises(InputError, match="occur once"):
        model.add_items({"item": [1], "embedding": np.zeros((1, 8))})


def test_later_features(tmp_path):
    votes, items, people, _ = film_club()
    noise = {**items, "noise": np.random.default_rng(1).standard_normal((60, 3))}
    model = AltSVM().fit(votes, item_features=noise, user_features=people)
    assert any("noise" in row.block and not row.used for row in model.features_)
    model.add_items({"item": ["new"], "genre": ["drama"], "year": [2000.0]})  # without what is switched off
    before = str(model.features_)
    new = Comparisons.from_frame({"user": ["u1"], "winner": ["i1"], "loser": ["i2"]})
    assert str(model.update(new).features_) == before
    with pytest.warns(UserWarning, match="'F' is none of the values of 'sex' that are known") as said:
        model.fold_in([], features={"sex": "F"})
    assert said[0].filename == __file__
    with pytest.raises(InputError, match="given apart"):
        model.update(new.with_features({"item": ["i1", "i2"], "genre": ["a", "b"], "n": [1, 2]}))
    with pytest.raises(InputError, match="Global does not learn"):
        Global().fit(votes.with_features(items))
    objective = model.certificate().objective
    model.add_items({"item": ["newer", "i1"], "genre": ["drama", "horror"], "year": [2000.0, 1900.0]})
    assert model.certificate().objective == pytest.approx(objective, rel=1e-4)
    model = AltSVM().fit(votes, item_features=items)
    model.save(tmp_path / "m", comparisons=False)
    read = rather.load(tmp_path / "m")
    other = {**items, "year": 1000 * np.asarray(items["year"]) + np.arange(60)}
    with pytest.raises(InputError, match="not those that the model was fitted with"):
        read.update(new, votes.with_features(other))
    read.update(new, votes.with_features(items))
    np.testing.assert_allclose(
        read.fitted.item_features.coefficients, model.update(new).fitted.item_features.coefficients, atol=0.02
    )


def test_a_picture_of_tastes():
    pytest.importorskip("matplotlib").use("svg")
    votes, items, _, _ = film_club()
    ax = rather.plot.tastes(AltSVM().fit(votes, item_features=items), "u1", top=3)
    assert [label.get_text() for label in ax.get_yticklabels()][-1].startswith("genre: ")
    assert len(ax.get_yticklabels()) == 3


def test_the_search_for_strengths_regresses_as_the_model_does():
    from rather.data.described import Described
    from rather.data.features import Encoder
    from rather.models.strengths import _Alone
    from rather.native import factor
    from rather.solving.described import alone

    rng = np.random.default_rng(0)
    table = {"item": np.arange(50), "x": rng.standard_normal(50), "kind": rng.choice([*"abc"], 50)}
    features = Encoder.learned(table, "item")
    encoder = features.encoder
    rows, X = factor(50, encoder.width), factor(50, 3)
    rows[:, : encoder.width], X[:, :3] = features.columns, rng.standard_normal((50, 3))
    count, strengths = rng.integers(0, 30, 50), tuple(0.1 * (b + 1) for b in range(len(encoder.blocks)))
    known = Described(rows, np.ones(50, bool), encoder, strengths)
    for used in (strengths, (*strengths[:-1], OFF)):
        expected = rows[40:, : encoder.width] @ alone(known.with_strengths(used), X, count, 2.0, 1)[:, :3]
        made = _Alone(known, count, np.arange(50) >= 40).predicted(X[:, :3], [2.0 * s for s in used])
        assert len(encoder.blocks) > 1
        assert made == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_many_columns_are_solved_as_few_are():
    """Beyond some hundred columns the solver's preconditioner looks at some rows only, and the optimum is the same."""
    rng = np.random.default_rng(1)
    n, k = 6000, 300
    F = rng.standard_normal((n, k)).astype(np.float32)
    worth = F @ rng.standard_normal(k) / np.sqrt(k)
    a, b = rng.integers(0, n, (2, 20_000))
    a, b = a[a != b], b[a != b]
    won = worth[a] > worth[b]
    votes = Comparisons.from_frame(
        {"user": rng.integers(0, 50, len(a)), "winner": np.where(won, a, b), "loser": np.where(won, b, a)}
    )
    described = votes.with_features({"item": np.arange(n), "embedding": F}, None)
    settled = described.knowing(None, described.item_features.with_strengths((5.0,)))
    model = AltSVM(rank=50, reg=20.0, bias=30.0, tol=1e-5, max_iter=100).fit(settled)
    proof = model.certificate()
    assert model.converged_ and np.abs(model.item_bias_).max() > 0 and proof.relative_gap < 0.01
