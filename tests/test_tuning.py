"""What held-out answers choose for votes: rank, reg and biases that predict fresh votes, the same at any moment."""

import numpy as np
import pytest

import rather
from handmade import ruled
from rather import AltSVM, Comparisons, Convex, Global, InputError, simulate
from rather.models import tuning
from rather.models.calibration import put_aside
from rather.models.tuning import RANK, _Trial
from rather.testing import small_data


@pytest.fixture(scope="module")
def world():
    return simulate(n_users=300, n_items=100, rank=3, per_user=60, seed=0)


@pytest.fixture(scope="module")
def chosen(world):
    return AltSVM().fit(world.comparisons)


def log_loss(model, votes):
    pairs = votes.pairs()
    p = model.probability(model.users_[pairs.user], model.items_[pairs.winner], model.items_[pairs.loser])
    return float(-np.log(p.astype(float)).mean())


def state(model):
    """Everything that a fit came to, to the last bit."""
    bits = [a.tobytes() for a in (model.user_factors_, model.item_factors_, model.item_bias_)]
    return (*bits, model.rank_, model.reg_, model.bias_reg_, model.fitted.slope.found, model.cv_results_)


def noise(n, seed):
    """Votes that mean nothing."""
    rng = np.random.default_rng(seed)
    j = rng.integers(0, 40, n)
    return Comparisons.from_frame(
        {"user": rng.integers(0, 150, n), "winner": j, "loser": (j + rng.integers(1, 40, n)) % 40}
    )


# -- what is chosen predicts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_the_rank_of_a_world_is_found(seed):
    """Many people who say little: the rank that the truth has predicts better than the full one."""
    world = simulate(n_users=5000, n_items=200, rank=3, per_user=10, seed=seed)
    test = world.test()
    free, full = (AltSVM(rank=rank).fit(world.comparisons) for rank in (None, RANK))
    assert (free.rank_, full.rank_) == (3, RANK)
    assert rather.pairwise_accuracy(free, test) > rather.pairwise_accuracy(full, test) + 0.004
    assert log_loss(free, test) < log_loss(full, test)


def test_no_worse_than_global_or_another_reg(world, chosen):
    """On fresh votes: at most the log loss of one ranking for all, and of a fit four times as stiff or as loose."""
    test, same = world.test(), {"rank": chosen.rank_, "bias": chosen.bias_reg_}
    loss = log_loss(chosen, test)
    assert loss <= log_loss(Global().fit(world.comparisons), test) + 0.002
    for times in (4, 1 / 4):
        assert loss <= log_loss(AltSVM(reg=times * chosen.reg_, **same).fit(world.comparisons), test) + 0.003


@pytest.mark.parametrize("seed", range(4))
def test_noise_is_known_for_noise(seed):
    """Where answers are random, probabilities are no worse than a coin's."""
    model = AltSVM().fit(noise(6000, seed))
    assert log_loss(model, noise(50_000, 100 + seed)) <= np.log(2) + 0.005


def test_what_was_tried_and_what_was_taken(world, chosen):
    """The records hold what was chosen: the rank of the best, and factors among those tried at that rank."""
    best = min(chosen.cv_results_, key=lambda r: r["value"])
    alike = [r for r in chosen.cv_results_ if r["rank"] == best["rank"]]
    assert chosen.rank_ == best["rank"] < max(r["rank"] for r in chosen.cv_results_) == RANK
    rule = AltSVM(rank=1, balance=0).fit(ruled(world.comparisons))
    source = ruled(world.comparisons).source
    for name, value, scale in (
        ("factor", chosen.reg_, rule.reg_ / source.reg_factor),
        ("bias", chosen.bias_reg_, rule.bias_reg_ / source.bias_factor),
    ):
        assert min(r[name] for r in alike) <= value / scale <= max(r[name] for r in alike)
    assert chosen.slope_ is not None and 0 < best["log_loss"] < np.log(2) and best["accuracy"] > 0.7


# -- the same at any moment -------------------------------------------------------------------------------------------


def test_any_number_of_threads(world, chosen):
    """One thread and three choose the same and come to the same bits, probabilities among them."""
    one, three = (AltSVM(n_threads=n).fit(world.comparisons) for n in (1, 3))
    assert state(one) == state(three) == state(chosen)


@pytest.mark.parametrize("rank", [None, 4, "auto"])
def test_a_killed_fit_resumes_to_the_same_choice(rank, tmp_path):
    """Killed after a round and begun again: bits, rank, slope and records of the fit left alone; no second search."""
    votes = simulate(n_users=400, n_items=60, rank=2, per_user=20, seed=1).comparisons
    params = {"rank": rank, "checkpoint": tmp_path / "c"}
    whole = AltSVM(rank=rank).fit(votes)
    rounds = []

    def kill(model, record):
        rounds.append(record)
        raise MemoryError("killed")

    with pytest.raises(MemoryError):
        AltSVM(**params, callback=kill).fit(votes)
    resumed = AltSVM(**params).fit(votes)
    assert len(rounds) == 1 < len(whole.history_) and whole.converged_ and whole.slope_ is not None
    assert state(resumed) == state(whole)


def test_a_loaded_model_knows_what_was_chosen(chosen, tmp_path):
    """A file holds rank, reg, how sure to be and what was tried; the parameters stay open, as they were given."""
    chosen.save(tmp_path / "m")
    loaded = rather.load(tmp_path / "m")
    assert state(loaded) == state(chosen) and loaded.get_params()["rank"] is loaded.get_params()["reg"] is None


# -- what is given stays ----------------------------------------------------------------------------------------------


def test_what_is_given_is_not_chosen(world):
    """A rank, no bias, a ridge of the bias and a reg are taken as they are, and the rest is chosen still."""
    votes = world.comparisons
    assert {r["rank"] for r in AltSVM(rank=5).fit(votes).cv_results_} == {5}
    none = AltSVM(rank=5, bias=False).fit(votes)
    assert not none.item_bias_.any() and {r["bias"] for r in none.cv_results_} == {1.0}
    number = AltSVM(rank=5, bias=7.5).fit(votes)
    assert number.bias_reg_ == 7.5 and len(number.cv_results_) > 1
    given = AltSVM(reg=9.0).fit(votes)
    assert (given.reg_, given.rank_, given.cv_results_, given.slope_) == (9.0, RANK, [], None)


@pytest.mark.parametrize(("source", "chooses"), [("ratings", True), ("ratings", False), ("clicks", False)])
def test_what_chooses_by_itself(source, chooses, monkeypatch):
    """Few ratings do; many, and clicks, have the rule, and rank 64 or as many as there are. reg="cv" is the search."""
    if not chooses:
        monkeypatch.setattr("rather.data.ratings.FEW", 10)
    data = small_data(source)
    free, searched = AltSVM().fit(data), AltSVM(reg="cv").fit(data)
    assert searched.cv_results_ and searched.slope_ is not None
    if chooses:
        assert state(free) == state(searched)
    else:
        assert not free.cv_results_ and free.rank_ == 20 and free.slope_ is None


def test_convex_chooses_as_well():
    """Without reg and lam, the convex program is that of a reg on whose scale fresh votes are predicted well."""
    world = simulate(n_users=100, n_items=30, rank=2, per_user=40, seed=0)
    model, test = Convex().fit(world.comparisons), world.test()
    for times in (4, 1 / 4):
        other = Convex(reg=times * model.reg_, bias=model.bias_reg_).fit(world.comparisons)
        assert log_loss(model, test) <= log_loss(other, test) + 0.003


def test_warm_start_keeps_the_rank(world):
    """A fit that goes on from the last has its rank; reg is chosen again, as more votes may have come."""
    votes = world.comparisons
    model = AltSVM(warm_start=True).fit(votes.split(0.1, seed=0)[0])
    assert model.rank_ == 3
    model.fit(votes)
    assert model.rank_ == 3 and {row["rank"] for row in model.cv_results_} == {3}
    assert len(model.history_) <= len(AltSVM(rank=3, reg=model.reg_, bias=model.bias_reg_).fit(votes).history_)
    assert model.set_params(bias=50.0).fit(votes).bias_reg_ == 50
    again = AltSVM(rank=model.rank_, warm_start=True)._with(model.fitted)
    again.fit(votes)
    assert again.converged_


def test_a_given_bias_is_what_the_search_tries():
    """Of ratings too, for which the usual bias is another."""
    rated = simulate(60, 30, per_user=15, levels=5).comparisons
    model = AltSVM(rank=3, bias=7.0)
    ((rest, aside), *_) = put_aside(rated, 0)
    fit = _Trial(model._spec(), rest, aside, False).fit(3, 1.0, rated.source.bias_factor, None)
    assert fit.bias_reg == 7


def test_the_unit_of_weights_does_not_matter(world):
    """Votes that all weigh a millionth are the same votes."""
    p = world.comparisons.pairs()
    ids = {"user": p.user, "winner": p.winner, "loser": p.loser}
    one, tiny = (AltSVM(rank=3).fit(Comparisons.from_frame({**ids, "weight": np.full(len(p.user), w)}, weight="weight"))
                 for w in (1.0, 2.0**-20))  # fmt: skip
    assert tiny.slope_ == pytest.approx(one.slope_, rel=0.05)
    assert tiny.reg_ * 2**20 == pytest.approx(one.reg_, rel=0.05)


def test_answers_are_counted_as_people_gave_them():
    """A menu, a tie or a rating is one answer, whatever comparisons it makes."""
    menus = {
        "user": ["ann"] * 8,
        "menu": [1] * 5 + [2] * 3,
        "item": list("ABCDEABC"),
        "chosen": [1, 0, 0, 0, 0, 0, 1, 0],
    }
    assert Comparisons.from_menus(menus).source.answers() == 2
    votes = {"user": ["ann"] * 3, "winner": list("ABC"), "loser": list("BCA"), "tie": [True, False, True]}
    assert Comparisons.from_frame(votes, tie="tie").source.answers() == 3
    assert Comparisons.from_clicks({"user": [1, 1, 2], "item": [1, 2, 3]}, per_user=4).source.answers() == 3


def test_a_part_of_the_users(monkeypatch):
    """Many answers are searched with some of their users, of every kind of source; few users are all asked."""
    monkeypatch.setattr(tuning, "FEWEST", 10)
    rated = simulate(60, 30, per_user=15, levels=5).comparisons
    r = rated.ratings
    rows = {"user": r.user, "item": r.item, "rating": r.rating}
    for whole in (
        rated, simulate(60, 30, per_user=15).comparisons, Comparisons.from_ratings(rows, keep="largest-gap"),
        Comparisons.from_clicks(rows), Comparisons.from_clicks(rows, per_user=5),
    ):  # fmt: skip
        part = tuning.part_of(whole, 0, 100)
        assert type(part.source) is type(whole.source)
        assert np.count_nonzero(np.diff(part.source.met()[0])) <= 10 < np.count_nonzero(np.diff(whole.source.met()[0]))
    monkeypatch.setattr(tuning, "FEWEST", 500)
    assert tuning.part_of(rated, 0, 100) is rated


# -- too little to choose by ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_very_few_votes(n):
    """Where hardly any answer can be put aside, or none, the fit is a fit all the same."""
    votes = Comparisons.from_frame({"user": [0, 1, 0, 1, 2, 2][:n], "winner": [0, 0, 1, 2, 1, 0][:n], "loser": [3] * n})
    model = AltSVM().fit(votes)
    assert model.rank_ <= len(model.users_) and np.isfinite(model.average_scores()).all()
    assert 0 <= model.probability(0, 0, 3)[0] <= 1
    if n == 1:
        assert not model.cv_results_
        with pytest.raises(InputError, match="give reg a number"):
            AltSVM(reg="cv").fit(votes)
