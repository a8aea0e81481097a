"""How sure a model is: what the margins of answers that were put aside say, and what they are put aside from."""

import json

import numpy as np
import pytest

import rather
from rather import AltSVM, simulate
from rather.data.rows import Pairs
from rather.models.calibration import Aside, Calibration, calibrated, fit_slope, put_aside, worth
from rather.models.files import FORMAT
from rather.models.tensors import read_tensors, write_tensors


def margins(seed, n, slope, answers, unmet):
    """(what was put aside, margins): comparisons whose true slope depends so on who answered and on what was new."""
    rng = np.random.default_rng(seed)
    met, new = np.round(np.exp(rng.uniform(np.log(3), np.log(100), n))), rng.integers(0, 3, n).astype(float)
    margin = rng.normal(size=n)
    a = slope * ((1 + met) / 19) ** answers * np.exp(unmet * new)
    margin = np.where(rng.random(n) < 1 / (1 + np.exp(-a * margin)), margin, -margin)
    nobody = np.zeros(n, np.int32)
    return Aside(Pairs(nobody, nobody, nobody), met, new, float(n)), margin


# -- what margins say -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("answers", "unmet"), [(0.4, -0.3), (-0.5, 0.2), (0.0, 0.0), (0.6, 0.0), (0.0, -0.5)])
def test_the_exponents_are_found(seed, answers, unmet):
    """A slope that depends on the items met and on those that are new is found within noise; so is one without."""
    aside, margin = margins(seed, 40_000, 2.0, answers, unmet)
    found = calibrated([aside], [margin], 40_000.0)
    assert (found.answers, found.unmet) == pytest.approx((answers, unmet), abs=0.07)
    at_18 = found.slope * (19 / (1 + found.typical)) ** found.answers
    assert at_18 == pytest.approx(2.0, rel=0.08)


def test_few_answers_leave_the_exponents_near_0():
    """What a hundred answers say against a slope that is the same for all is mostly chance, and is not believed."""
    found = [calibrated([aside], [m], 100.0) for aside, m in (margins(seed, 100, 2.0, 0.0, 0.0) for seed in range(20))]
    assert np.sqrt(np.mean([[f.answers**2, f.unmet**2] for f in found])) < 0.2
    assert np.median([f.slope for f in found]) == pytest.approx(2.0, rel=0.25)


def test_answers_put_aside_twice_count_once():
    """The same answers given five times over, and worth as many as before, say no more than once."""
    aside, margin = margins(0, 300, 2.0, 1.0, 0.0)
    once, often = (calibrated([aside] * n, [margin] * n, 300.0) for n in (1, 5))
    assert (often.answers, often.unmet, often.slope) == pytest.approx((once.answers, once.unmet, once.slope), rel=0.03)
    assert calibrated([aside] * 5, [margin] * 5, 1500.0).answers > 1.1 * once.answers


@pytest.mark.parametrize("sign", [1, -1, 0])
def test_margins_that_are_all_right_or_all_wrong(sign):
    """Sure but not infinitely so, a coin, or where no margin says anything whatever it was: always sound."""
    aside, margin = margins(0, 50, 2.0, 0.0, 0.0)
    found = calibrated([aside], [sign * np.abs(margin)], 50.0)
    assert found.is_sound() and (found.slope > 3 if sign > 0 else found.slope == (0 if sign else 1))


def test_exponents_do_not_undo_what_is_added():
    """A few margins that are all right make as sure as the slope alone would: one in so many could be wrong."""
    aside, margin = margins(0, 40, 2.0, 0.0, 0.0)
    right = 1 + 0.1 * np.abs(margin)
    assert calibrated([aside], [right], 20.0).slope < 2 * fit_slope(right, np.ones(40))


def test_the_slope_is_the_best_one():
    """No other slope has less log loss, but for the two comparisons that are added."""
    _, margin = margins(0, 5_000, 2.0, 0.3, 0.0)
    one = np.ones(5_000)
    loss = lambda a: np.logaddexp(0, -a * margin).mean()  # noqa: E731
    slope = fit_slope(margin, one)
    assert all(loss(slope) < loss(slope * other) for other in (0.9, 1.1))


# -- what is put aside ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [None, 5])
def test_what_is_put_aside_is_not_in_the_rest(levels):
    """Each time, no pair put aside is a pair of the rest; what a user met and what is new is said of the rest alone."""
    comparisons = simulate(n_users=40, n_items=30, per_user=12, seed=0, levels=levels).comparisons
    asides = []
    for rest, aside in put_aside(comparisons, 0):
        asides.append(aside)
        kept, pairs = rest.pairs(), aside.pairs
        assert len(pairs.user) > 0 and len(kept.user) + len(pairs.user) <= len(comparisons)
        start, item = rest.source.met()
        met = [set(item[start[i] : start[i + 1]].tolist()) for i in range(40)]
        assert aside.answers.tolist() == [len(met[i]) for i in pairs.user]
        each = zip(pairs.user, pairs.winner, pairs.loser, strict=True)
        assert aside.unmet.tolist() == [(j not in met[i]) + (k not in met[i]) for i, j, k in each]
        if levels:  # whole items are
            assert (aside.unmet == 2).all()
        else:
            assert len(kept.user) + len(pairs.user) == len(comparisons)
    assert len(asides) == 10
    answers = 40 * 12
    assert worth(comparisons, asides) == answers and worth(comparisons, asides[:1]) == pytest.approx(0.2 * answers)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_sparse_votes_have_a_slope(seed):
    """Of three answers each: how sure to be depends little on which are put aside, as they are put aside ten times."""
    world = simulate(1000, 100, 3, 3, seed=seed)
    fits = [AltSVM(reg=5.0, bias=20.0, seed=draw, tol=1e-2).fit(world.comparisons) for draw in range(6)]
    assert all(model.slope_ is None for model in fits)
    slopes = [model.calibrate().slope_ for model in fits]
    assert max(slopes) < 1.5 * min(slopes)


@pytest.mark.parametrize("seed", range(6))
def test_sparse_votes_are_no_worse_than_a_coin(seed):
    """Where three answers each say next to nothing, probabilities on fresh votes are not surer than that."""
    world = simulate(1000, 100, 3, 3, seed=seed)
    model, pairs = AltSVM(reg=5.0, bias=20.0, tol=1e-2).fit(world.comparisons), world.test().pairs()
    p = model.probability(model.users_[pairs.user], model.items_[pairs.winner], model.items_[pairs.loser])
    assert -np.log(p.astype(float)).mean() < np.log(2)


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    world = simulate(n_users=30, n_items=12, rank=2, per_user=15, seed=0)
    AltSVM(rank=2).fit(world.comparisons).save(tmp_path / "m")
    return tmp_path / "m"


def rewritten(path, slope):
    """The file with something else for its slope."""
    tensors, metadata = read_tensors(path, FORMAT, "model")
    about = {**json.loads(metadata["about"]), "slope": slope}
    write_tensors(path, FORMAT, tensors, {"about": json.dumps(about)})
    return path


def test_a_slope_alone_is_an_older_files(path):
    """A number is the slope of all: who asks, and of what, makes no difference."""
    model = rather.load(rewritten(path, 1.75))
    assert model.fitted.slope.found == Calibration(1.75) and model.slope_ == 1.75
    items = model.items_
    margin = model.score("user 3", items) - model.score("user 3", items[::-1].copy())
    p = model.probability("user 3", items, items[::-1].copy())
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-1.75 * margin)), atol=1e-6)
    model.save(path)
    assert rather.load(path).fitted.slope.found == Calibration(1.75)
    assert rather.load(rewritten(path, None)).slope_ is None


@pytest.mark.parametrize(
    "slope",
    [-1.0, float("nan"), float("inf"), "steep", [1.0], {"slope": 1.0, "colour": 2}, {}, {"slope": "1"},
     {"slope": 1.0, "answers": 9.0}, {"slope": 1.0, "typical": -2.0}],
    ids=str,
)  # fmt: skip
def test_a_slope_that_is_none_is_refused(path, slope):
    """What cannot be a calibration is damage."""
    with pytest.raises(rather.FileError, match="damaged"):
        rather.load(rewritten(path, slope))
