"""Model files that hold the comparisons: what is loaded is as able as what was saved, and damage is noticed."""

import json

import numpy as np
import pytest

import rather
from rather import AltSVM, Comparisons, Convex, FileError, InputError
from rather.models.estimator import Estimator
from rather.models.files import FORMAT
from rather.models.kept import PREFIX
from rather.models.tensors import read_tensors, write_tensors
from rather.testing import small_data

pytestmark = pytest.mark.usefixtures("brief_search")


def comparisons_of_all_kinds():
    rated, clicks = small_data("ratings"), small_data("clicks")
    r, c = rated.ratings, clicks.clicks
    stars = {"user": rated.users[r.user], "item": rated.items[r.item], "rating": r.rating}
    clicked = {"user": clicks.users[c.user], "item": clicks.items[c.item]}
    votes = {"user": ["a", "b", "a", "c"], "winner": list("xyzx"), "loser": list("yzxz")}
    return {
        "votes": small_data("votes"), "ratings": rated, "clicks": clicks,
        "weights and ties": Comparisons.from_frame(
            {**votes, "weight": [1, 2, 3, 4], "tie": [0, 1, 0, 0]}, weight="weight", tie="tie"
        ),
        "largest gaps": Comparisons.from_ratings(stars, keep="largest-gap", seed=3),
        "drawn pairs": Comparisons.from_clicks(clicked, per_user=4, seed=3),
        "pairs of ratings": rated.split(0.2)[0],
    }  # fmt: skip


KINDS = ("votes", "ratings", "clicks", "weights and ties", "largest gaps", "drawn pairs", "pairs of ratings")


@pytest.fixture(scope="module")
def every():
    return comparisons_of_all_kinds()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_loaded_can_do_the_same(kind, every, tmp_path):
    """The comparisons are the same, column by column; so are the certificate, the calibration and an update."""
    data, path = every[kind], tmp_path / "m"
    model = AltSVM(rank=2, reg=3.0, exposure=False).fit(data)
    model.save(path)
    loaded = rather.load(path)
    kept = loaded.fitted.training
    assert kept.source.description() == data.source.description() and len(kept) == len(data)
    for mine, theirs in zip(kept.source.columns(), data.source.columns(), strict=True):
        assert (mine is None) == (theirs is None)
        np.testing.assert_array_equal(mine, theirs)
    assert loaded.certificate().relative_gap == pytest.approx(model.certificate().relative_gap, abs=1e-6)
    assert loaded.calibrate().slope_ == model.calibrate().slope_
    assert loaded.update(data).users_.tolist() == model.update(data).users_.tolist()
    np.testing.assert_allclose(
        loaded.fitted.scorer.V, model.fitted.scorer.V, atol=0.02 * np.abs(model.fitted.scorer.V).max()
    )


def test_exposure_and_the_constrained_program(tmp_path):
    """Features of who met what, and the bound of Convex, are restored for a proof."""
    for model in (AltSVM(rank=2, exposure=True), Convex(lam=0.5, tol=0.05), AltSVM(rank=2, loss="hinge")):
        model.fit(small_data("ratings")).save(tmp_path / "m")
        again = rather.load(tmp_path / "m").certificate()
        assert again.objective == pytest.approx(model.certificate().objective, rel=1e-4)
        assert 0 < again.lower_bound <= again.objective


def test_files_without_them(tmp_path):
    """With comparisons=False a file holds no answers, nor does a second one of what is loaded from it.

    It keeps which items each user met, as the documentation says.
    """
    model = AltSVM(rank=2).fit(small_data("votes"))
    model.rank(model.users_[0], interval=0.9)  # learns how sure to be, which the file holds
    model.save(tmp_path / "m", comparisons=False)
    tensors, metadata = read_tensors(tmp_path / "m", FORMAT, "model")
    assert not [name for name in tensors if name.startswith(PREFIX)] and "comparisons" not in json.loads(
        metadata["about"]
    )
    loaded = rather.load(tmp_path / "m")
    assert all((kept == met).all() for kept, met in zip(loaded.seen_, model.seen_, strict=True))
    assert "which items each user met" in " ".join(rather.Estimator.save.__doc__.split())
    with pytest.raises(InputError, match="save the fitted model with comparisons=True"):
        loaded.rank(loaded.users_[0], interval=0.9)
    loaded.save(tmp_path / "n")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()


@pytest.mark.parametrize("name", rather.ESTIMATORS)
def test_every_estimator_can_use_them(name, tmp_path):
    """A model that was saved right after fit is calibrated, says how sure it is and is updated once it is loaded."""
    source = next(s for s in ("votes", "ratings", "clicks") if _takes(name, s))
    model = rather.ESTIMATORS[name](n_threads=1).fit(small_data(source))
    model.save(tmp_path / "m")
    loaded, (a, b, *_) = rather.load(tmp_path / "m"), model.items_
    users = model.users_
    assert (loaded.probability(users, a, b) == model.probability(users, a, b)).all()
    if hasattr(model, "difference"):
        for who in ((), (users[0],)):
            mine, theirs = model.rank(*who, interval=0.9), loaded.rank(*who, interval=0.9)
            assert all(mine[name].tolist() == theirs[name].tolist() for name in ("item", "best", "worst", "p_top"))
    if type(model).update is not Estimator.update:
        assert loaded.update(small_data(source)).history_


def _takes(name, source):
    try:
        rather.ESTIMATORS[name](n_threads=1).fit(small_data(source))
    except InputError:
        return False
    return True


def test_effects_of_a_loaded_model(tmp_path):
    """What swayed people is estimated from the comparisons of the file."""
    world = rather.simulate(40, 10, rank=2, per_user=20, ties=0.5, side=0.3, seed=1)
    model = AltSVM(rank=2).fit(world.comparisons)
    model.save(tmp_path / "m")
    assert rather.load(tmp_path / "m").effects()["estimate"].tolist() == model.effects()["estimate"].tolist()


def changed(column, value, at=0):
    out = column.copy()
    out[at] = value
    return out


DAMAGE = {
    "user": [lambda c: c[::-1].copy(), lambda c: changed(c, -1), lambda c: changed(c, 10**6, -1), lambda c: c[:-1],
             lambda c: c.astype(np.int64), lambda c: c[:, None]],
    "winner": [lambda c: changed(c, 20), lambda c: c.astype(np.float32), None],
    "loser": [lambda c: changed(c, -5), None],
    "item": [lambda c: np.zeros_like(c), lambda c: changed(c, 99), None],
    "rating": [lambda c: changed(c, np.nan), lambda c: changed(c, 1e31), lambda c: c.astype(np.float32), None],
    "weight": [lambda c: changed(c, -1), lambda c: changed(c, np.inf), lambda c: changed(c, 1e7)],
    "group": [lambda c: c.astype(np.int32), lambda c: c[1:]],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_refused(kind, every, tmp_path):
    """Columns of wrong types, lengths, orders or numbers, with a right checksum, are refused in one line."""
    path, tried = tmp_path / "m", 0
    AltSVM(rank=2, reg=3.0, max_iter=1).fit(every[kind]).save(path)
    tensors, metadata = read_tensors(path, FORMAT, "model")
    about = json.loads(metadata["about"])

    def refused(tensors, about):
        write_tensors(path, FORMAT, tensors, {"about": json.dumps(about)})
        with pytest.raises(FileError, match="is damaged: ") as e:
            rather.load(path)
        assert "\n" not in str(e.value)

    for name, harms in DAMAGE.items():
        for harm in harms if PREFIX + name in tensors else ():
            hurt = {k: v for k, v in tensors.items() if k != PREFIX + name}
            refused(hurt if harm is None else {**hurt, PREFIX + name: harm(tensors[PREFIX + name])}, about)
            tried += 1
    assert tried >= 8
    said = about["comparisons"]
    wrong = [{}, {"kind": "soup"}, {**said, "kind": "votes" if said["kind"] != "votes" else "clicks"}]
    wrong += [{**said, name: x} for name in set(said) & {"seed", "per_user", "unseen"} for x in (-1, 0.5, True, "1")]
    for other in wrong:
        refused(tensors, {**about, "comparisons": other})
    for ridge in (-1.0, 0.0, 1e-300, 1e39):
        refused(tensors, {**about, "fitted": {**about["fitted"], "bias_reg_": ridge}})
