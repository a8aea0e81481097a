"""Model files and checkpoints: what is saved is loaded, damage is noticed, and a file is whole or absent."""

import json
import os
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rather
from handmade import model_of
from rather import AltSVM, Comparisons, FileError, simulate
from rather.models.checkpoint import FORMAT as CHECKPOINT
from rather.models.files import FORMAT as MODEL
from rather.models.tensors import read_tensors, write_tensors


@pytest.fixture(scope="module")
def world():
    return simulate(n_users=5, n_items=4, rank=2, per_user=6, seed=0)


@pytest.fixture(scope="module")
def model(world):
    return AltSVM(rank=2, max_iter=3).fit(world.comparisons).calibrate()


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    """The bytes of a small model file."""
    path = tmp_path_factory.mktemp("models") / "small.rather"
    model.save(path)
    return path.read_bytes()


# -- saved is loaded --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_loaded_is_saved(loss, bias, tmp_path):
    """Every score, list, probability and newcomer of a loaded model has the bits of the saved one's."""
    world = simulate(n_users=40, n_items=21, per_user=20)
    model = AltSVM(rank=7, loss=loss, bias=bias, max_iter=5).fit(world.comparisons).calibrate()
    path = tmp_path / "m.rather"
    model.save(path)
    loaded = rather.load(path)
    users, items = np.repeat(model.users_, 21), np.tile(model.items_, 40)
    np.testing.assert_array_equal(loaded.score(users, items), model.score(users, items))
    for a, b in (
        (loaded.recommend(model.users_, 5, exclude="seen"), model.recommend(model.users_, 5, exclude="seen")),
        (loaded.similar_items("item 3", 5), model.similar_items("item 3", 5)),
        (loaded.fold_in([("item 1", "item 2")]).rank(), model.fold_in([("item 1", "item 2")]).rank()),
    ):
        assert {name: c.tolist() for name, c in a.columns.items()} == {
            name: c.tolist() for name, c in b.columns.items()
        }
    np.testing.assert_array_equal(
        loaded.probability("user 1", items, "item 0"), model.probability("user 1", items, "item 0")
    )
    assert loaded.get_params() == model.get_params() and loaded.history_ == model.history_


@pytest.mark.parametrize(
    "ids",
    [[1, 2, 3], [-5, 0, 2**62], [2**63, 2**64 - 1, 2**70], [-(2**70), 0, 2**70], ["a", "b", "c"], ["été", "日本", "🎬"],
     ["\0", "\x1f", "\ud800"], ["007", "7", "x" * 10_000]],
    ids=["int64", "negative", "beyond int64", "beyond 64 bits", "text", "unicode", "odd", "long"],
)  # fmt: skip
def test_ids_of_all_kinds(ids, tmp_path):
    """Users and items come back from a file equal and of the same type."""
    model = model_of(np.arange(9).reshape(3, 3), users=ids, items=ids)
    model.save(tmp_path / "m.rather")
    loaded = rather.load(tmp_path / "m.rather")
    assert loaded.users_.tolist() == loaded.items_.tolist() == model.users_.tolist()
    assert loaded.users_.dtype == model.users_.dtype
    assert loaded.score(ids[0], ids[2]) == model.score(ids[0], ids[2])


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "pyarrow"])
def test_frame_kind_is_kept(kind, world, tmp_path):
    """A loaded model answers with the kind of frame the data came in."""
    model = AltSVM(rank=1).fit(Comparisons.from_frame(world.comparisons.to_frame(kind)))
    model.save(tmp_path / "m.rather")
    table = rather.load(str(tmp_path / "m.rather")).rank("user 1")
    assert type(table.to_frame()) is type(world.comparisons.to_frame(kind))


def test_parameters_are_kept(world, tmp_path):
    """Parameters come back, numpy's numbers as Python's; what a later fit would call or overwrite is left out."""
    path = tmp_path / "m.rather"
    params = {"rank": np.int64(3), "reg": np.float32(2), "seed": 5}
    AltSVM(**params, checkpoint=str(tmp_path / "c"), callback=lambda *_: None).fit(world.comparisons).save(path)
    loaded = rather.load(path).get_params()
    assert {name: loaded[name] for name in params} == {"rank": 3, "reg": 2.0, "seed": 5}
    assert type(loaded["rank"]) is int and loaded["checkpoint"] is None and loaded["callback"] is None


# -- whole or not at all ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["fsync", "replace"])
@pytest.mark.parametrize("before", [None, b"what was there"])
def test_a_failed_save_leaves_everything_as_it_was(model, tmp_path, monkeypatch, broken, before):
    """When the disk fails in the middle the old file is intact, no other file is left, and the error is one of ours."""
    path = tmp_path / "m.rather"
    if before is not None:
        path.write_bytes(before)

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((os, "fsync", fail) if broken == "fsync" else (Path, "replace", fail)))
    with pytest.raises(FileError, match="No space left on device"):
        model.save(path)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([] if before is None else [before])


def test_an_interrupted_save_leaves_everything_as_it_was(model, tmp_path, monkeypatch):
    """Ctrl-C while writing goes through as it is and leaves no file."""

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.save(tmp_path / "m.rather")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_follow_the_umask(model, tmp_path, umask, mode):
    """A saved file may be read by whom the user's umask lets, like any other file."""
    before = os.umask(umask)
    try:
        model.save(tmp_path / "m.rather")
    finally:
        os.umask(before)
    assert (tmp_path / "m.rather").stat().st_mode & 0o777 == mode


def test_the_parameters_of_the_fit_are_saved(world, tmp_path):
    """What set_params said since is not the fitted model's, nor that of a loaded one that is saved again."""
    path = tmp_path / "m.rather"
    model = AltSVM(rank=2, max_iter=3, seed=7).fit(world.comparisons)
    for _ in range(2):
        model.set_params(rank=9, seed=1).save(path)
        model = rather.load(path)
        assert (model.get_params()["rank"], model.seed) == (2, 7)


def test_a_file_that_may_not_be_read(saved, tmp_path, monkeypatch):
    """A model that the operating system keeps from us is not called damaged."""
    (tmp_path / "m.rather").write_bytes(saved)

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(FileError, match=r"cannot read the model file '.*m.rather': Permission denied$"):
        rather.load(tmp_path / "m.rather")


def test_saving_again_replaces(model, tmp_path):
    """A second save under the same name is what is loaded afterwards."""
    path = tmp_path / "m.rather"
    path.write_bytes(b"something else, and longer" * 1000)
    model.save(path)
    assert rather.load(path).items_.tolist() == model.items_.tolist() and list(tmp_path.iterdir()) == [path]


# -- damage -----------------------------------------------------------------------------------------------------------


def check_sound_or_refused(content, path, model):
    """Load bytes as a model: it must be refused, or be the model that was saved."""
    path.write_bytes(content)
    try:
        loaded = rather.load(path)
    except FileError as e:
        assert "\n" not in str(e) and repr(str(path)) in str(e)
        return
    assert loaded.users_.tolist() == model.users_.tolist() and loaded.items_.tolist() == model.items_.tolist()
    np.testing.assert_array_equal(loaded.fitted.scorer.U, model.fitted.scorer.U)
    np.testing.assert_array_equal(loaded.fitted.scorer.V, model.fitted.scorer.V)
    assert loaded.get_params() == model.get_params() and loaded.history_ == model.history_
    assert all((a == b).all() for a, b in zip(loaded.seen_, model.seen_, strict=True))
    assert loaded.fold_in([tuple(loaded.items_[:2])]).rank()["item"].tolist()
    assert loaded.slope_ == model.slope_


def test_every_truncation_is_refused(saved, tmp_path):
    """A model file cut short anywhere is refused."""
    path = tmp_path / "m.rather"
    for size in range(len(saved)):
        path.write_bytes(saved[:size])
        with pytest.raises(FileError):
            rather.load(path)


damage = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4)
thorough = settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])


@thorough
@given(damage)
def test_altered_bytes(saved, model, tmp_path, places):
    """A file with any bytes changed is refused or loads as a sound model of the same shape; nothing else happens."""
    content = bytearray(saved)
    for where, value in places:
        content[int(where * len(content))] = value
    check_sound_or_refused(bytes(content), tmp_path / "m.rather", model)


@thorough
@given(st.data())
def test_altered_header_characters(saved, model, tmp_path, data):
    """A file whose header has digits, quotes and braces swapped for others is refused or loads soundly."""
    end = 8 + struct.unpack("<Q", saved[:8])[0]
    content = bytearray(saved)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(8, end - 1))] = data.draw(st.sampled_from(b'0123456789-.e"\\{}[],: nulltruefs'))
    check_sound_or_refused(bytes(content), tmp_path / "m.rather", model)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(tmp_path, content):
    """Anything that is not a model file is refused."""
    path = tmp_path / "m.rather"
    path.write_bytes(content)
    with pytest.raises(FileError):
        rather.load(path)


def test_nothing_in_a_file_is_executed(tmp_path, saved):
    """A file that names another class, or hands a class parameters it does not take, runs no code of its choosing."""
    path = tmp_path / "m.rather"
    path.write_bytes(saved)
    tensors, metadata = read_tensors(path, MODEL, "model")
    about = json.loads(metadata["about"])

    def write(**changes):
        write_tensors(path, MODEL, tensors, {"about": json.dumps({**about, **changes})})

    for name in ("Comparisons", "os.system", "__init__", "FactorEstimator"):
        write(**{"class": name})
        with pytest.raises(FileError):
            rather.load(path)
    write(params={"rank": 2, "callback": "print", "checkpoint": str(tmp_path / "c"), "_check_params": "x"})
    loaded = rather.load(path)
    assert loaded.callback is None and loaded.checkpoint is None and callable(loaded._check_params)


# -- checkpoints ------------------------------------------------------------------------------------------------------


def test_a_damaged_checkpoint_is_refused(world, tmp_path):
    """A checkpoint cut short, or with its bytes altered, is refused or resumed from; nothing else happens."""
    path = tmp_path / "fit.checkpoint"
    params = {"rank": 2, "tol": 0, "n_threads": 1, "checkpoint": path}
    AltSVM(max_iter=2, **params).fit(world.comparisons)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for trial in range(200):
        altered = bytearray(content)
        if trial < 100:
            altered[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        else:
            altered = altered[: rng.integers(len(content))]
        path.write_bytes(altered)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                AltSVM(max_iter=2, **params).fit(world.comparisons)
        except FileError as e:
            assert "\n" not in str(e) and repr(str(path)) in str(e)
            refused += 1
    assert refused >= 100


def test_a_checkpoint_of_nonsense_is_refused(world, tmp_path):
    """A checkpoint whose factors are not numbers, or whose history is not one, is refused."""
    path = tmp_path / "fit.checkpoint"
    params = {"rank": 2, "tol": 0, "checkpoint": path}
    AltSVM(max_iter=2, **params).fit(world.comparisons)
    tensors, metadata = read_tensors(path, CHECKPOINT, "checkpoint")
    for broken in (
        ({**tensors, "U": tensors["U"] * np.nan}, metadata),
        ({**tensors, "V": tensors["V"].astype(float)}, metadata),
        ({"U": tensors["U"]}, metadata),
        (tensors, {**metadata, "fit": "[{}]"}),
        (tensors, {**metadata, "fit": metadata["fit"].replace('"round"', '"rounds"')}),
        (tensors, {k: v for k, v in metadata.items() if k != "fit"}),
    ):
        write_tensors(path, CHECKPOINT, *broken)
        with pytest.raises(FileError, match="damaged"):
            AltSVM(max_iter=4, **params).fit(world.comparisons)


@pytest.mark.parametrize("fit", ["null", "5", None], ids=["nothing", "a number", "a calibration of 0"])
def test_a_checkpoint_of_another_kind_of_nonsense_is_refused(world, tmp_path, fit):
    """JSON that is no object where one should be is damage like any other."""
    path = tmp_path / "fit.checkpoint"
    params = {"rank": 2, "tol": 0, "checkpoint": path}
    AltSVM(max_iter=2, **params).fit(world.comparisons)
    tensors, metadata = read_tensors(path, CHECKPOINT, "checkpoint")
    fit = json.dumps({**json.loads(metadata["fit"]), "calibration": 0}) if fit is None else fit
    write_tensors(path, CHECKPOINT, tensors, {**metadata, "fit": fit})
    with pytest.raises(FileError, match="damaged"):
        AltSVM(max_iter=4, **params).fit(world.comparisons)


def test_a_checkpoint_takes_numpys_numbers(world, tmp_path):
    """Parameters given as numpy's numbers or as Python's are the same parameters."""
    path = tmp_path / "fit.checkpoint"
    AltSVM(rank=np.int64(2), max_iter=2, tol=0, checkpoint=path).fit(world.comparisons)
    assert len(AltSVM(rank=2, max_iter=3, tol=0, checkpoint=path).fit(world.comparisons).history_) == 3
