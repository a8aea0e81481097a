"""Model files that hold the comparisons: what is loaded is as able as what was saved, and damage is noticed."""

import json

import numpy as np
import pytest

import rather
from rather import BPR, AltSVM, Comparisons, Convex, FileError, InputError
from rather.models.files import FORMAT
from rather.models.kept import PREFIX
from rather.models.tensors import read_tensors, write_tensors
from rather.testing import small_data


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
    model.save(path, comparisons=True)
    loaded = rather.load(path)
    kept = loaded._fitted_to
    assert kept.source.description() == data.source.description() and len(kept) == len(data)
    for mine, theirs in zip(kept.source.columns(), data.source.columns(), strict=True):
        assert (mine is None) == (theirs is None)
        np.testing.assert_array_equal(mine, theirs)
    assert loaded.certificate().relative_gap == pytest.approx(model.certificate().relative_gap, abs=1e-6)
    assert loaded.calibrate().slope_ == model.calibrate().slope_
    assert loaded.update(data).users_.tolist() == model.update(data).users_.tolist()
    np.testing.assert_allclose(loaded.V_, model.V_, atol=0.02 * np.abs(model.V_).max())


def test_exposure_and_the_constrained_program(tmp_path):
    """Features of who met what, and the bound of Convex, are restored for a proof."""
    for model in (AltSVM(rank=2, exposure=True), Convex(lam=0.5, tol=0.05), AltSVM(rank=2, loss="hinge")):
        model.fit(small_data("ratings")).save(tmp_path / "m", comparisons=True)
        again = rather.load(tmp_path / "m").certificate()
        assert again.objective == pytest.approx(model.certificate().objective, rel=1e-4)
        assert 0 < again.lower_bound <= again.objective


def test_files_without_them_are_as_before(tmp_path):
    """Nothing of the comparisons is in a file unless it is asked for."""
    model = AltSVM(rank=2).fit(small_data("votes"))
    model.save(tmp_path / "m")
    tensors, metadata = read_tensors(tmp_path / "m", FORMAT, "model")
    assert not [name for name in tensors if name.startswith(PREFIX)] and "comparisons" not in json.loads(
        metadata["about"]
    )
    loaded = rather.load(tmp_path / "m")
    with pytest.raises(InputError, match="cannot be saved with this model: it was read from a file without them"):
        loaded.save(tmp_path / "n", comparisons=True)
    BPR(rank=2).fit(small_data("clicks")).save(tmp_path / "b", comparisons=True)
    assert rather.load(tmp_path / "b").calibrate().slope_ is not None


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
    AltSVM(rank=2, reg=3.0, max_iter=1).fit(every[kind]).save(path, comparisons=True)
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
    refused(tensors, {**about, "fitted": {**about["fitted"], "bias_reg_": -1.0}})
