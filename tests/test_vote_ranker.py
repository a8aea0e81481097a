"""VoteRanker: one posterior for scores, probabilities, intervals, questions and newcomers."""

import numpy as np
import pytest

import rather
from rather import Comparisons, InputError, VoteRanker
from rather.models.vote_ranker import _weights_of_menus, _weights_of_orders


@pytest.fixture(scope="module")
def world():
    return rather.simulate(n_users=120, n_items=20, rank=2, per_user=25, side=0.6, seed=1)


@pytest.fixture(scope="module")
def model(world):
    return VoteRanker(max_iter=400, n_threads=1).fit(world.comparisons)


def log_loss(model, test, by="probability"):
    pairs = test.pairs()
    asked = test.users[pairs.user], test.items[pairs.winner], test.items[pairs.loser]
    p = model.probability(*asked) if by == "probability" else model.probability_interval(*asked)["probability"]
    return float(-np.log(p).mean())


def test_probabilities_come_true_and_agree_with_everything_else(world, model):
    """Probabilities beat one ranking for all; intervals, scores and the belief of one user say the same."""
    test = world.test(20_000, seed=5)
    assert log_loss(model, test) < log_loss(rather.Global(n_threads=1).fit(world.comparisons), test) - 0.02
    assert log_loss(model, test) == pytest.approx(log_loss(model, test, by="interval"), abs=1e-6)
    ranked, placed = model.rank("user 7"), model.rank("user 7", interval=0.9)
    by = dict(zip(placed["item"], placed["score"], strict=True))
    np.testing.assert_allclose([by[item] for item in ranked["item"]], ranked["score"], atol=0.35)
    belief, every = model._belief(7), np.arange(20)
    user = model.users_[7]
    np.testing.assert_allclose(belief.expected(every), model.score(user, model.items_), atol=0.02)
    p = model.probability(user, model.items_[:10], model.items_[10:])
    row = model.probability_interval(user, model.items_[:10], model.items_[10:], interval=0.5)
    np.testing.assert_allclose(p, row["probability"], atol=1e-6)
    assert (row["low"] < row["high"]).all()
    table = model.difference("user 7", "user 8")
    assert len(table) == 20 and (table["low"] <= table["high"]).all() and len(model.difference("user 7")) == 20
    everyone = model.rank(interval=0.9)
    assert (everyone["best"] <= everyone["rank"]).all() and (everyone["rank"] <= everyone["worst"]).all()
    assert repr(model).startswith("VoteRanker fitted to 3,000 votes of 120 users on 20 items: rank 8, 64 draws in 400")


def test_intervals_cover_the_truth():
    """In worlds of the model itself, 90 % intervals of pairs and places hold about nine truths in ten."""
    rng, inside, placed = np.random.default_rng(0), [], []
    for seed in range(3):
        m, line = rng.normal(size=12), 0.8 * rng.normal(size=(12, 2))
        X = m + rng.normal(size=(150, 2)) @ line.T + 0.7 * rng.normal(size=(150, 12))
        user = np.repeat(np.arange(150), 12)
        left = rng.integers(0, 12, len(user))
        right = (left + rng.integers(1, 12, len(user))) % 12
        wins = rng.random(len(user)) < 1 / (1 + np.exp(X[user, right] - X[user, left]))
        votes = {"user": user, "winner": np.where(wins, left, right), "loser": np.where(wins, right, left)}
        model = VoteRanker(max_iter=600, seed=seed, n_threads=1).fit(Comparisons.from_frame(votes))
        u, a = rng.integers(0, 150, 600), rng.integers(0, 12, 600)
        b = (a + rng.integers(1, 12, 600)) % 12
        table = model.probability_interval(u, a, b)
        truth = 1 / (1 + np.exp(X[u, b] - X[u, a]))
        inside.append(((table["low"] <= truth) & (truth <= table["high"])).mean())
        for i in range(0, 150, 5):
            ranking = model.rank(i, interval=0.9)
            place = np.argsort(np.argsort(-X[i]))[ranking["item"]] + 1
            placed.append(((ranking["best"] <= place) & (place <= ranking["worst"])).mean())
    assert 0.86 < np.mean(inside) < 0.94 and 0.84 < np.mean(placed) < 0.95


def test_position_bias_is_an_effect_beside_tastes(world, model):
    """The side is estimated, moves probabilities that say which item stood first, and is saved."""
    assert model.context_effects_["side"] == pytest.approx(0.6, abs=0.2)
    left, neither, right = (
        model.probability("user 7", "item 1", "item 2", side=side) for side in ("left", None, "right")
    )
    assert left > neither > right
    with pytest.raises(InputError, match="no effect 'length'"):
        model.probability("user 7", "item 1", "item 2", covariates={"length": 1.0})
    person = model.fold_in({"winner": ["item 1"], "loser": ["item 2"], "side": ["item 1"]})
    assert person.probability("item 1", "item 2") < model.fold_in([("item 1", "item 2")]).probability(
        "item 1", "item 2"
    )


def test_newcomers_are_one_posterior(model):
    """A newcomer has all that users have; many at once are what each is alone; ties count half each way."""
    a, b, c = model.items_[:3]
    person = model.fold_in([(a, b), (a, c), (b, c, "tie")], asked=True)
    assert repr(person) == "Voter: 3 answers" and person.answers[2] == (b, c, "tie")
    assert person.probability(a, b) > 0.5 and len(person.recommend(k=3, exclude="seen")) == 3
    assert person.probability_interval(a, b)[0].low < person.probability(a, b)
    nobody = model.fold_in([])
    assert nobody.rank()["item"].tolist() == model.rank()["item"].tolist()
    assert len(person.difference(nobody)) == len(person.difference()) == 20
    assert person.rank(interval=0.9)[0].best >= 1 and person.posterior.n_items == 20
    table = {"user": ["x", "x", "y"], "winner": [a, a, b], "loser": [b, c, a]}
    many, alone = model.fold_in_many(table), model.fold_in([(a, b), (a, c)])
    np.testing.assert_array_equal(many.score("x", model.items_), alone.score(model.items_))
    assert many.probability("x", a, b) == np.float32(alone.probability(a, b))
    with pytest.raises(InputError, match="compares item"):
        model.fold_in([(a, a)])
    with pytest.raises(InputError, match="not known to the model"):
        model.fold_in_many({"user": ["x"], "winner": ["new"], "loser": [a]})
    with pytest.raises(InputError, match="these are ratings; fit AltSVM"):
        model.fold_in({"item": [a, b], "rating": [1, 2]})
    for many_of in (model.fold_in, model.fold_in_many):
        with pytest.raises(InputError, match="does not learn from features"):
            many_of([(a, b)], features={"age": 3})


def test_questions_come_from_the_same_posterior(model):
    """The most informative pair, a questionnaire and the certainty of the top are those of the draws."""
    first = rather.next_question(model)
    person = model.fold_in([(first.left, first.right)], asked=True)
    assert rather.next_question(model, person) != first and 0 < first.information < 1
    assert rather.next_question(model, person, aim="top", prefer_familiar=True).policy == "top"
    assert len(rather.questionnaire(model, 5)) == 5
    assert rather.top_certainty(model).share < rather.top_certainty(model, "user 7").share
    with pytest.raises(InputError, match="of another model"):
        other = VoteRanker(max_iter=5).fit(Comparisons.from_frame({"user": [1], "winner": ["a"], "loser": ["b"]}))
        rather.next_question(other, person)


def test_files_hold_the_posterior(model, tmp_path):
    """A loaded model answers as before; without comparisons it has scores and newcomers, and says what it lacks."""
    model.save(tmp_path / "m"), model.save(tmp_path / "slim", comparisons=False)
    again, slim = rather.load(tmp_path / "m"), rather.load(tmp_path / "slim")
    asked = model.users_[:5], model.items_[0], model.items_[1]
    np.testing.assert_array_equal(again.probability(*asked), model.probability(*asked))
    assert again.context_effects_ == model.context_effects_
    assert again.rank("user 7", interval=0.9)["best"].tolist() == model.rank("user 7", interval=0.9)["best"].tolist()
    np.testing.assert_array_equal(slim.score("user 7", model.items_), model.score("user 7", model.items_))
    answers = [(model.items_[0], model.items_[1])]
    assert slim.fold_in(answers).probability(*answers[0]) == model.fold_in(answers).probability(*answers[0])
    assert slim.rank(interval=0.9)["best"].tolist() == model.rank(interval=0.9)["best"].tolist()
    with pytest.raises(InputError, match="read from a file without them"):
        slim.probability(*asked)


def test_a_fit_can_be_stopped(world):
    """Each draw is published: a callback sees it and ends the fit, and the draws so far are a model."""
    told = []

    def stop(model, record):
        told.append((len(model.score("user 7", model.items_)), record["sweeps"]))
        return len(told) == 3

    model = VoteRanker(max_iter=64, n_draws=8, callback=stop, n_threads=1).fit(world.comparisons)
    assert len(model.history_) == 3 and "3 draws" in repr(model) and told[0][1] == 22
    whole = VoteRanker(max_iter=64, n_draws=8, n_threads=1).fit(world.comparisons)
    assert whole.history_[2]["objective"] == model.history_[2]["objective"] and whole.history_[-1]["gap"] == 0

    def interrupt(model, record):
        if record["round"] == 2:
            raise KeyboardInterrupt
        return False

    with pytest.warns(UserWarning, match="interrupted after 2 rounds"):
        model = VoteRanker(max_iter=64, callback=interrupt, n_threads=1).fit(world.comparisons)
    assert model.interrupted_ and len(model.history_) == 2
    assert model.probability("user 7", "item 1", "item 2").shape == (1,)


def test_ties_are_half_a_win_each_way():
    """A tie is the mean of the two wins, and as many as can be: it pulls items together."""
    votes = {"user": ["u"] * 8, "winner": ["a"] * 8, "loser": ["b"] * 8}
    won = VoteRanker(max_iter=600).fit(Comparisons.from_frame(votes))
    tied = VoteRanker(max_iter=600).fit(Comparisons.from_frame({**votes, "tie": [True] * 8}, tie="tie"))
    assert won.probability("u", "a", "b") > 0.7 and tied.probability("u", "a", "b") == pytest.approx(0.5, abs=0.05)


def test_menus_and_rankings_count_as_much_as_they_say():
    """Pairs of one choice are no independent answers: they weigh 2 / m, and those of a ranking by the same rule."""
    menu = {"user": [1] * 7, "menu": [1, 1, 1, 1, 2, 2, 2], "item": [*"abcd", *"abc"], "chosen": [1, 0, 0, 0, 1, 1, 0]}
    chosen = Comparisons.from_menus({**menu, "chosen": [bool(x) for x in menu["chosen"]]})
    weight = _weights_of_menus(chosen.pairs())
    np.testing.assert_allclose(np.sort(weight), [0.5] * 3 + [1.0] * 2)
    ranking = {"user": [1] * 3 + [2] * 2, "item": [*"abc", *"ab"], "rank": [1, 2, 3, 2, 1]}
    ranked = Comparisons.from_rankings(ranking)
    np.testing.assert_allclose(_weights_of_orders(ranked.source, ranked.pairs()), [7 / 9] * 3 + [1.0])
    model = VoteRanker(max_iter=200).fit(ranked)
    assert model.rank(1)["item"].tolist() == ["a", "b", "c"] and model.score(2, "b") > model.score(2, "a")
    assert VoteRanker(max_iter=40).fit(chosen).score(1, "a") > -10


def test_weights_count_votes():
    """A vote of weight 3 is three votes."""
    votes = {"user": [1, 1, 2], "winner": ["a", "b", "c"], "loser": ["b", "c", "a"]}
    weighed = Comparisons.from_frame({**votes, "weight": [3, 1, 2]}, weight="weight")
    thrice = Comparisons.from_frame({name: [x[0]] * 3 + [x[1]] + [x[2]] * 2 for name, x in votes.items()})
    one, other = (VoteRanker(max_iter=50).fit(each) for each in (weighed, thrice))
    np.testing.assert_array_equal(one.score(1, ["a", "b", "c"]), other.score(1, ["a", "b", "c"]))


def test_what_it_does_not_learn_from_is_refused_with_what_does():
    """Ratings, clicks, features, embeddings and anonymous votes are refused in a sentence."""
    stars = Comparisons.from_ratings({"user": [1, 1, 1], "item": ["a", "b", "c"], "rating": [5, 5, 1]})
    clicks = Comparisons.from_clicks({"user": [1, 1, 2], "item": ["a", "b", "c"]})
    votes = {"user": [1, 2], "winner": ["a", "b"], "loser": ["b", "a"]}
    for data, said in (
        (stars, "users rate several items alike here; fit AltSVM"),
        (clicks, "not from clicks; fit ClickRanker"),
        (Comparisons.from_frame(votes, user=None), "name nobody; fit Global"),
        (Comparisons.from_embeddings([0, 1], np.eye(2), 1 - np.eye(2)), "AltSVM and Convex"),
    ):
        with pytest.raises(InputError, match=said):
            VoteRanker().fit(data)
    with pytest.raises(InputError, match="does not learn from features"):
        VoteRanker().fit(Comparisons.from_frame(votes), item_features={"item": ["a", "b"], "size": [1.0, 2.0]})
    model = VoteRanker(max_iter=10).fit(Comparisons.from_frame(votes))
    with pytest.raises(InputError, match="VoteRanker cannot be updated"):
        model.update(Comparisons.from_frame(votes))
    with pytest.raises(InputError, match="several draws of the directions of taste"):
        rather.plot.taste_map(model)


def test_more_draws_than_means():
    """Many draws of a short chain leave a model after every round."""
    votes = rather.simulate(n_users=8, n_items=4, rank=1, per_user=6, seed=0).comparisons
    model = rather.VoteRanker(rank=1, max_iter=700, n_draws=300).fit(votes)
    assert np.isfinite(model.score("user 1", "item 1"))


def test_an_item_against_itself():
    """The difference is 0 for certain."""
    votes = rather.simulate(n_users=8, n_items=4, rank=1, per_user=3, seed=0).comparisons
    for model in (rather.VoteRanker(rank=1, max_iter=60).fit(votes), rather.AltSVM(rank=1, reg=1.0).fit(votes)):
        for item in votes.items:
            row = model.probability_interval("user 1", item, item)[0]
            assert (row.probability, row.low, row.high) == (0.5, 0.5, 0.5)
