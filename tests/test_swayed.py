"""What votes carry: which item stood first, numbers beside the choice, ties, and people who do not care."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import rather
from rather import AltSVM, Comparisons, Convex, InputError, PaperAltSVM, simulate
from rather.data.rows import whole_ties

SWAYED = {"side": 0.4, "covariates": {"length": 0.6}, "ties": 0.5}


@pytest.fixture(scope="module")
def world():
    return simulate(200, 25, rank=2, per_user=40, seed=3, **SWAYED)


@pytest.fixture(scope="module")
def model(world):
    return AltSVM().fit(world.comparisons)


def table(model):
    return {row.effect: row for row in model.effects()}


# -- effects ----------------------------------------------------------------------------------------------------------


def test_effects_are_found(world, model):
    """Within three standard errors, which are small; and what they do to the scores is taken out."""
    for name, truth in world.effects.items():
        found = table(model)[name]
        assert abs(found.estimate - truth) <= 3 * found.std_error and 0 < found.std_error < 0.06, name
        assert found.low < found.estimate < found.high


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_what_goes_with_items_is_told_from_the_items(loss):
    """Longer items are not better ones: with the length as a covariate the ranking is that without its effect."""
    rng = np.random.default_rng(0)
    quality, length = rng.standard_normal(12), np.repeat((0.0, 2.0), 6)
    j, k = rng.integers(0, 12, 6000), rng.integers(0, 11, 6000)
    k += k >= j
    z = length[j] - length[k] + rng.standard_normal(6000)
    won = rng.random(6000) < 1 / (1 + np.exp(-(quality[j] - quality[k] + 0.8 * z)))
    log = {"user": rng.integers(0, 30, 6000), "left": j, "right": k, "outcome": np.where(won, "left", "right"), "z": z}
    with_it = AltSVM(rank=2, loss=loss).fit(Comparisons.from_arena(log, covariates=["z"]))
    without = AltSVM(rank=2, loss=loss).fit(Comparisons.from_arena(log))
    agree = [np.corrcoef(m.average_scores(), quality)[0, 1] for m in (with_it, without)]
    assert agree[0] > 0.98 > 0.9 > agree[1]
    assert abs(table(with_it)["z"].estimate - 0.8) < 0.1


def test_the_objective_with_effects(world):
    """The step on the effects lowers the objective to where it no longer falls, by finite differences too."""
    fitted = AltSVM(loss="logistic", reg=5.0, tol=1e-7, max_iter=200).fit(world.comparisons)
    problem = fitted.fitted.posed.at(fitted.fitted.scorer)
    least = problem.objective()
    for k in range(2):
        for step in (-0.01, 0.01):
            moved = problem.g.copy()
            moved[k] += step
            problem.set_effects(moved)
            problem.evaluate()
            assert problem.objective() > least
            moved[k] -= step
            problem.set_effects(moved)
            problem.evaluate()
    assert [*fitted.context_effects_.values()] == pytest.approx(problem.effects(), rel=1e-3)


def test_certificates_hold_with_effects(world):
    """The problem is convex in effects as well: the bound is proven, and below the objective of anything else."""
    few = world.comparisons
    convex = Convex(loss="logistic", reg=10.0).fit(few)
    proof = convex.certificate()
    assert proof.relative_gap <= 1e-3
    low = AltSVM(rank=1, loss="logistic", reg=10.0, bias=convex.bias_reg_).fit(few).certificate()
    assert proof.lower_bound <= low.objective
    hinge = Convex(loss="squared_hinge", reg=10.0, bias=convex.bias_reg_).fit(few).certificate()
    assert hinge.relative_gap <= 1e-3


def test_the_papers_algorithm_uses_no_sides_and_covariates(world):
    """PaperAltSVM gives the factors that it gives without them."""
    source = world.comparisons.source
    bare = world.comparisons._with(source.with_effects(()))
    assert source.effects and not bare.source.effects
    fits = [PaperAltSVM(rank=2, reg=5.0, max_iter=3, n_threads=1).fit(data) for data in (world.comparisons, bare)]
    np.testing.assert_array_equal(fits[0].user_factors_, fits[1].user_factors_)


def test_votes_that_carry_nothing_have_no_effects():
    with pytest.raises(InputError, match="no side, no covariates and no ties"):
        AltSVM(rank=2).fit(simulate(30, 10, per_user=10).comparisons).effects()


def test_the_same_bits_at_any_number_of_threads(world):
    a, b = (AltSVM(rank=2, reg=5.0, n_threads=n).fit(world.comparisons) for n in (1, 3))
    np.testing.assert_array_equal(a.fitted.scorer.U, b.fitted.scorer.U)
    assert (
        a.context_effects_ == b.context_effects_
        and a.effects().columns["estimate"].tolist() == b.effects().columns["estimate"].tolist()
    )


# -- ties -------------------------------------------------------------------------------------------------------------


def test_halves_of_a_tie_are_each_others_reverse(world):
    pairs = world.comparisons.pairs()
    order = np.argsort(pairs.group[pairs.tied], kind="stable")
    halves = pairs.take(np.flatnonzero(pairs.tied)[order])
    first, second = halves.take(slice(0, None, 2)), halves.take(slice(1, None, 2))
    np.testing.assert_array_equal(first.winner, second.loser)
    np.testing.assert_array_equal(first.around, -second.around)
    assert (halves.weight == 0.5).all()
    whole = whole_ties(pairs)
    assert len(whole.user) == 200 * 40 and whole.weight is None


def test_three_outcomes(world, model):
    """They add up to one; the reverse question has them reversed; sides and covariates move them."""
    u, a, b = world.comparisons.users[:50], "item 1", "item 2"
    p, q = model.probability(u, a, b), model.probability(u, b, a)
    assert p.shape == (50, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(p, q[:, ::-1], atol=1e-6)
    left = model.probability(u, a, b, side="left")
    assert (left[:, 0] > p[:, 0]).all() and (left[:, 2] < p[:, 2]).all()
    np.testing.assert_allclose(left, model.probability(u, b, a, side="right")[:, ::-1], atol=1e-6)
    assert (model.probability(u, a, b, covariates={"length": 1})[:, 0] > p[:, 0]).all()
    for wrong, said in (({"side": "up"}, "'left' or 'right'"), ({"covariates": {"x": 1}}, "no effect 'x'"),
                        ({"covariates": {"length": [1, 2]}}, "one for each of the 50 pairs"),
                        ({"covariates": {"length": np.nan}}, "'length' is nan")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            model.probability(u, a, b, **wrong)


def test_outcomes_are_as_frequent_as_foretold(world, model):
    """Fresh answers of the same people: every outcome comes about as often as it was said to."""
    fresh = simulate(200, 25, rank=2, per_user=40, seed=3, **SWAYED)  # the same world: answers are drawn anew below
    rng = np.random.default_rng(1)
    i, j = rng.integers(0, 200, 20_000), rng.integers(0, 25, 20_000)
    k = (j + rng.integers(1, 25, 20_000)) % 25
    margin = fresh.margins(i, j, k)
    own = model.fitted.slope.own
    assert own is not None and own.std() > 0.1  # people differ
    p = model.probability(fresh.comparisons.users[i], fresh.comparisons.items[j], fresh.comparisons.items[k])
    assert np.corrcoef(p[:, 0] - p[:, 2], np.tanh(margin / 2))[0, 1] > 0.9
    tied = whole_ties(world.comparisons.pairs()).tied.mean()
    assert abs(p[:, 1].mean() - tied) < 0.03


def test_people_who_tie_more_are_foretold_to(world, model):
    whole = whole_ties(world.comparisons.pairs())
    share = np.bincount(whole.user, whole.tied, 200) / np.bincount(whole.user, minlength=200)
    assert np.corrcoef(share, model.fitted.slope.own)[0, 1] > 0.8


def test_half_each_way_is_an_option(world, model):
    """Then probabilities are of two outcomes, and nothing is said of ties; sides stay."""
    half = AltSVM(ties="half", reg=model.reg_, rank=model.rank_, bias=model.bias_reg_).fit(world.comparisons)
    assert half.probability("user 1", "item 1", "item 2").shape == (1,)
    assert [row.effect for row in half.effects()] == ["side", "length"]
    with pytest.raises(InputError, match="ties is 'drop'"):
        AltSVM(ties="drop").fit(world.comparisons)


def test_ties_alone():
    """Nobody ever decides: probabilities say so."""
    votes = {"user": ["a", "b", "b"], "winner": ["x", "y", "x"], "loser": ["y", "z", "z"], "tie": [True] * 3}
    model = AltSVM(rank=1).fit(Comparisons.from_frame(votes, tie="tie"))
    p = model.probability("a", "x", "y")
    assert p.shape == (1, 3) and p[0, 1] > 0.5 and np.isfinite(p).all()


def test_accuracy_is_of_decided_votes(world, model):
    decided = world.comparisons.source.pairs().take(~world.comparisons.pairs().tied)
    other = world.comparisons._with(replace_pairs(world.comparisons.source, decided))
    assert float(rather.pairwise_accuracy(model, world.comparisons)) == float(rather.pairwise_accuracy(model, other))


def replace_pairs(source, pairs):
    return type(source)(source.n_users, source.n_items, replace(pairs, tied=None), effects=source.effects)


# -- newcomers, files, updates ----------------------------------------------------------------------------------------


def said_by(world, user):
    frame = world.comparisons.to_frame("pandas")
    return frame[frame["user"] == user]


def test_a_newcomer_is_what_they_would_be_in_the_fit(world):
    """Their answers with ties, sides and covariates give the vector that the fit has for the same answers."""
    fitted = AltSVM(rank=2, reg=5.0, tol=1e-8, max_iter=300).fit(world.comparisons)
    answers = said_by(world, "user 7")
    person = fitted.fold_in(answers.drop(columns="user"))
    at = fitted.users_.tolist().index("user 7")
    np.testing.assert_allclose(person.factors, fitted.user_factors_[at], atol=2e-3)
    assert person.probability("item 1", "item 2").shape == (3,)
    assert sum(len(a) == 3 for a in person.answers) == answers["tie"].sum()
    plain = fitted.fold_in(list(zip(answers["winner"], answers["loser"], strict=True)))
    assert not np.allclose(person.factors, plain.factors, atol=1e-2)


def test_newcomers_who_tie_more(model):
    """A newcomer's ties make them reluctant; many at once are as one by one."""
    pairs = [(f"item {a}", f"item {b}") for a, b in ((1, 2), (3, 4), (5, 6), (7, 8), (2, 9), (3, 10))]
    decided, tied = model.fold_in(pairs), model.fold_in([(*pair, "tie") for pair in pairs])
    assert tied.reluctance > 1 > decided.reluctance
    assert tied.probability("item 1", "item 5")[1] > decided.probability("item 1", "item 5")[1]
    rows = [
        {"user": who, "winner": a, "loser": b, "tie": t} for who, t in (("d", False), ("t", True)) for a, b in pairs
    ]
    people = model.fold_in_many(pd.DataFrame(rows))
    for who, person in (("d", decided), ("t", tied)):
        asked = "item 1", "item 5"
        np.testing.assert_allclose(people.probability(who, *asked)[0], person.probability(*asked))
    with pytest.raises(InputError, match=r"it must be a pair \(winner, loser\), or \(item, item, 'tie'\)"):
        model.fold_in([("item 1", "item 2", "draw")])


@pytest.mark.parametrize("comparisons", [False, True])
def test_files_keep_it(world, model, tmp_path, comparisons):
    model.effects()
    model.save(tmp_path / "m", comparisons=comparisons)
    read = rather.load(tmp_path / "m")
    u = world.comparisons.users[:20]
    for side in (None, "left"):
        a, b = (m.probability(u, "item 3", "item 4", side=side) for m in (model, read))
        np.testing.assert_array_equal(a, b)
    assert read.context_effects_ == model.context_effects_
    assert read.fitted.effect_estimates == model.fitted.effect_estimates
    if comparisons:
        pairs = read.fitted.training.pairs()
        for a, b in zip(pairs.columns(), world.comparisons.pairs().columns(), strict=True):
            np.testing.assert_array_equal(a, b)
        assert read.certificate().objective == pytest.approx(model.certificate().objective, rel=1e-6)


def test_an_update_with_all_that_votes_carry(world):
    """Effects, ties and reluctance follow the united votes, as a fit to all of them has it."""
    frame = world.comparisons.to_frame("pandas").sample(frac=1, random_state=0)
    read = {"tie": "tie", "side": "side", "covariates": ["length"]}
    parts = [Comparisons.from_frame(part, **read) for part in (frame[:-200], frame[-200:])]
    model = AltSVM(rank=2).fit(parts[0])
    before = dict(model.context_effects_)
    model.update(parts[1])
    whole = AltSVM(rank=2, reg=model.reg_, bias=model.bias_reg_).fit(parts[0].extended(parts[1]))
    assert model.context_effects_ != before
    found = [m.effects().columns["estimate"] for m in (model, whole)]
    np.testing.assert_allclose(*found, atol=0.02)
    assert model.fitted.slope.own.shape == (200,) and model.probability("user 3", "item 1", "item 2").shape == (1, 3)


def test_an_effect_that_comes_later():
    """Votes without sides are extended by votes with them: 0 where nobody knows."""
    world = simulate(60, 12, per_user=20, side=1.0, seed=1)
    with_side = world.comparisons
    without = Comparisons.from_frame(with_side.to_frame("pandas").drop(columns="side"))
    both = without.extended(with_side)
    assert both.source.effects == ("side",) and (both.pairs().around == 0).sum() == len(without)
    model = AltSVM(rank=2).fit(without)
    model.update(with_side)
    assert table(model)["side"].estimate > 0.5


def test_a_killed_fit_goes_on(world, tmp_path):
    """From the checkpoint of a fit with effects, to the same bits."""
    settings = {"rank": 2, "reg": 5.0, "tol": 1e-6, "checkpoint": tmp_path / "c"}
    whole = AltSVM(**{**settings, "checkpoint": None}).fit(world.comparisons)
    AltSVM(**settings, max_iter=2).fit(world.comparisons)
    gone_on = AltSVM(**settings).fit(world.comparisons)
    np.testing.assert_array_equal(whole.fitted.scorer.U, gone_on.fitted.scorer.U)
    assert whole.context_effects_ == gone_on.context_effects_ and len(gone_on.history_) == len(whole.history_) > 2


def test_new_items_from_votes_with_sides(world):
    frame = world.comparisons.to_frame("pandas")
    about = (frame["winner"] == "item 5") | (frame["loser"] == "item 5")
    read = {"tie": "tie", "side": "side", "covariates": ["length"]}
    model = AltSVM(rank=2).fit(Comparisons.from_frame(frame[~about], **read))
    model.add_items(Comparisons.from_frame(frame[about], **read))
    whole = AltSVM(rank=2).fit(world.comparisons)
    scores = [m.score(world.comparisons.users, "item 5") for m in (model, whole)]
    assert np.corrcoef(*scores)[0, 1] > 0.95


# -- trust ------------------------------------------------------------------------------------------------------------


def test_trust_tells_who_does_not_care():
    world = simulate(150, 20, rank=2, per_user=60, careless=0.3, side=0.5, seed=2)
    model = AltSVM(trust=True).fit(world.comparisons)
    assert model.trust_[~world.careless].mean() > 0.9 > 0.4 > model.trust_[world.careless].mean()
    plain = AltSVM().fit(world.comparisons)
    assert abs(table(model)["side"].estimate - 0.5) < abs(table(plain)["side"].estimate - 0.5)
    with pytest.raises(InputError, match="trust goes with votes"):
        AltSVM(trust=True).fit(simulate(20, 10, per_user=8, levels=4).comparisons)
    with pytest.raises(InputError, match="trust is 'yes'"):
        AltSVM(trust="yes").fit(world.comparisons)


# -- what went wrong once ---------------------------------------------------------------------------------------------


def test_newcomers_have_a_sureness_of_their_own(world):
    """Whoever is calibrated first, the model or its newcomers: each has the reluctance of its own people."""
    answers = pd.DataFrame([(f"new {n}", "item 1", f"item {n % 20 + 2}", n % 2 == 0) for n in range(300)])
    answers = answers.set_axis(["user", "winner", "loser", "tie"], axis=1)
    one, other = (AltSVM(rank=2, reg=5.0).fit(world.comparisons) for _ in range(2))
    people = one.fold_in_many(answers)
    one.calibrate()
    other.calibrate()
    late = other.fold_in_many(answers)
    for m in (people, late):
        assert m.fitted.slope.own.shape == (300,)
    np.testing.assert_array_equal(
        people.probability("new 4", "item 3", "item 4"), late.probability("new 4", "item 3", "item 4")
    )
    assert one.fitted.slope.own.shape == (200,)
    early = AltSVM(rank=2, reg=5.0).fit(world.comparisons).fold_in([("item 1", "item 2", "tie")] * 5)
    assert early.reluctance > 1.1 and AltSVM(rank=2).fit(world.comparisons).fold_in([]).reluctance == 1


def test_a_tie_in_one_half_alone(world):
    frame = world.comparisons.to_frame("pandas")
    frame["tie"] = np.arange(len(frame)) == 0
    assert "tie" in table(AltSVM(rank=2, reg=5.0).fit(Comparisons.from_frame(frame, tie="tie")))


def test_a_bar_leaves_ties_as_they_are():
    """What stands beside a tie is no decision: reluctance and its probabilities are those without the bar."""
    rng = np.random.default_rng(0)
    left, step = rng.integers(0, 8, 2000), rng.integers(1, 8, 2000)
    outcome = rng.choice(["left", "right", "both good", "both_bad"], 2000)
    log = {"user": rng.integers(0, 25, 2000), "left": left, "right": (left + step) % 8, "outcome": outcome}
    plain, barred = (AltSVM(rank=1, reg=20.0).fit(Comparisons.from_arena(log, bar=bar)) for bar in (None, 99))
    assert table(barred)["tie"].estimate == pytest.approx(table(plain)["tie"].estimate, rel=0.05)
    p, q = (m.probability(3, 1, 2)[0, 1] for m in (plain, barred))
    assert q == pytest.approx(p, abs=0.05)


def test_numbers_of_the_items_are_refused(world):
    frame = world.comparisons.to_frame("pandas")
    price = dict(zip(world.comparisons.items, np.random.default_rng(0).random(25), strict=True))
    frame["price"] = frame["winner"].map(price) - frame["loser"].map(price)
    with pytest.raises(InputError, match="cannot be told from the items' worth"):
        AltSVM().fit(Comparisons.from_frame(frame, tie="tie", covariates=["price"]))


@pytest.mark.parametrize("seed", [1, 2])
def test_few_answers_do_not_make_large_effects(seed):
    """Where items cannot be told from chance, estimates are small rather than large."""
    world = simulate(100, 100, rank=3, per_user=20, side=1.0, seed=seed)
    found = table(AltSVM().fit(world.comparisons))["side"]
    assert 0.4 < found.estimate < 1.3


def test_one_vote_each():
    world = simulate(2000, 15, rank=2, per_user=1, ties=0.5, side=0.5, seed=0)
    found = table(AltSVM().fit(world.comparisons))
    assert 0.1 < found["side"].estimate < 0.6 and 0.1 < found["tie"].estimate < 0.7


def test_coins_alone_have_no_effects():
    """Nobody means it: whoever looks as if they did was picked for it, and the errors mostly know."""
    found = []
    for seed in range(6):
        world = simulate(60, 12, rank=2, per_user=40, side=1e-9, careless=1.0, seed=seed)
        row = table(AltSVM(rank=2, reg=3.0, trust=True).fit(world.comparisons))["side"]
        found.append(abs(row.estimate / row.std_error))
    assert sum(z > 3 for z in found) <= 1 and np.median(found) < 1.5, found


def test_weights_count_beside_each_other_alone(world):
    frame = world.comparisons.to_frame("pandas")
    read = {"tie": "tie", "side": "side"}
    plain = AltSVM(rank=2, reg=5.0).fit(Comparisons.from_frame(frame, **read))
    heavy = AltSVM(rank=2, reg=50.0, bias=10 * plain.bias_reg_)
    heavy.fit(Comparisons.from_frame(frame.assign(weight=10.0), **read, weight="weight"))
    assert table(heavy)["side"].estimate == pytest.approx(table(plain)["side"].estimate, rel=0.1)


def test_an_interrupted_update_keeps_who_ties(world):
    frame = world.comparisons.to_frame("pandas").sample(frac=1, random_state=0)
    read = {"tie": "tie", "side": "side", "covariates": ["length"]}
    first, later = (Comparisons.from_frame(part, **read) for part in (frame[:-300], frame[-300:]))
    model = AltSVM(rank=2).fit(first)

    def stop(model, record):
        raise KeyboardInterrupt

    model.set_params(callback=stop)
    with pytest.warns(UserWarning, match="interrupted"):
        model.update(later)
    assert model.fitted.slope.own.shape == (200,) and model.fitted.slope.own.std() > 0.1
    assert set(table(model)) == {"side", "length", "tie"}


def test_readings_of_ties_are_of_votes_alone():
    """Drawn clicks and pairs of ratings are what they are with any ``ties``, and not to be trusted or not."""
    rng = np.random.default_rng(0)
    clicks = Comparisons.from_clicks({"user": rng.integers(0, 20, 200), "item": rng.integers(0, 30, 200)}, per_user=10)
    a, b = (AltSVM(rank=2, ties=ties).fit(clicks) for ties in ("model", "half"))
    np.testing.assert_array_equal(a.fitted.scorer.U, b.fitted.scorer.U)
    np.testing.assert_array_equal(a.seen_[1], b.seen_[1])
    with pytest.raises(InputError, match="trust goes with votes"):
        AltSVM(trust=True).fit(clicks)


def test_new_items_with_an_effect_that_the_model_does_not_know(world):
    frame = world.comparisons.to_frame("pandas")
    about = (frame["winner"] == "item 5") | (frame["loser"] == "item 5")
    model = AltSVM(rank=2).fit(Comparisons.from_frame(frame[~about], tie="tie", side="side"))
    model.add_items(Comparisons.from_frame(frame[about], tie="tie", side="side", covariates=["length"]))
    assert set(model.context_effects_) == {"side"} and model.probability("user 1", "item 5", "item 6").shape == (1, 3)
    assert set(table(model)) == {"side", "tie"}


def test_two_models_have_effects_of_their_own(world, model):
    other = AltSVM().fit(simulate(100, 15, rank=2, per_user=40, side=1.5, seed=5).comparisons)
    assert set(table(other)) == {"side"} and table(other)["side"].estimate > 1
    assert set(table(model)) == {"side", "length", "tie"}
    with pytest.raises(InputError, match="Global does not know of side"):
        rather.Global().fit(world.comparisons).effects()
