"""What fuzzing and review found, once each: it does not come back."""

import json
import os
import struct
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import rather
from rather import BPR, SGD, AltSVM, CofiRank, Comparisons, FileError, InputError, PaperAltSVM
from rather.data.whole_files import ABANDONED, LEFTOVER, destination, written_whole
from rather.solving.spectrum import sure_norm
from shell import complaint


def test_ratings_too_small_for_a_gain():
    """CofiRank's ndcg loss with ratings whose gains are all 0 learns nothing, and does not crash."""
    tiny = {"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "rating": [1e-30, 2e-30, 2e-30, 1e-30]}
    model = CofiRank(rank=2, loss="ndcg", max_iter=2).fit(Comparisons.from_ratings(tiny))
    assert np.isfinite(model.score(1, [1, 2])).all()


def test_the_checksum_cannot_be_left_out(tmp_path):
    """A file that is made to look like one of an earlier version, which had none, is refused if it has a checksum."""
    path = tmp_path / "m.rather"
    AltSVM(rank=2).fit(rather.simulate(20, 10, per_user=8).comparisons).save(path)
    raw = bytearray(path.read_bytes().replace(b"rather-model-2", b"rather-model-1"))
    raw[-1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(FileError, match="not a model file of this version"):
        rather.load(path)
    size = struct.unpack("<Q", raw[:8])[0]
    assert "checksum" in json.loads(raw[8 : 8 + size])["__metadata__"]


def test_missing_ids_in_dictionaries_are_missing():
    """A null in a dictionary-encoded column is not another id."""
    users = pa.array(["a", None, "c"]).dictionary_encode()
    table = pa.table({"user": users, "winner": ["x", "x", "x"], "loser": ["y", "y", "y"]})
    with pytest.raises(InputError, match="missing in row 1"):
        Comparisons.from_frame(table)


def test_the_largest_seed():
    """Whole numbers are compared with their limits exactly."""
    votes = rather.simulate(20, 10, per_user=8).comparisons
    assert AltSVM(rank=2, seed=2**63 - 1).fit(votes).converged_
    with pytest.raises(InputError, match="at most 9223372036854775807"):
        AltSVM(rank=2, seed=2**63).fit(votes)


def test_steps_beyond_measure():
    """A fit that leaves single precision is refused in a sentence; nothing is fitted, and no warning says anything."""
    model = SGD(rank=2, step=1e25, n_threads=1)
    with pytest.raises(InputError, match=r"grew beyond|objective became"):
        model.fit(rather.simulate(20, 10, per_user=8).comparisons)
    assert not hasattr(model, "users_")


def test_dual_steps_that_do_not_settle():
    """sdca with so small a reg that the objective explodes is an error; a gap is that of the state it is given with."""
    votes = rather.simulate(60, 30, rank=2, per_user=25, seed=0).comparisons
    with pytest.raises(InputError, match="dual steps do not settle"):
        PaperAltSVM(rank=3, loss="logistic", reg=1e-3, n_threads=1, seed=1).fit(votes)
    for loss in ("squared_hinge", "hinge", "logistic"):
        paper = {"rank": 3, "loss": loss, "reg": 1.0, "n_threads": 1}
        short = PaperAltSVM(**paper).fit(votes)
        best = PaperAltSVM(**paper, solver="newton", tol=1e-6, max_iter=200).fit(votes)
        ratio = short.history_[-1]["objective"] / best.history_[-1]["objective"]
        assert not short.converged_ or ratio < 1.01


def test_draws_from_the_little_that_is_left():
    """Someone who clicked all but one of many items is compared with that one, and at once."""
    n = 5000
    clicks = {"user": np.r_[np.zeros(n - 1, int), 1], "item": np.r_[np.arange(n - 1), n - 1]}
    pairs = Comparisons.from_clicks(clicks, per_user=20).pairs()
    assert set(pairs.loser[pairs.user == 0].tolist()) == {n - 1}
    assert BPR(rank=2, max_iter=1, n_threads=1).fit(Comparisons.from_clicks(clicks, unseen=3)).history_


def test_codes_that_are_far_apart():
    """Triples with codes in the billions have as many users and items as occur."""
    made = Comparisons.from_triples([[2_000_000_000, 0, 1], [5, 1_000_000_000, 1]])
    assert made.users.tolist() == [5, 2_000_000_000] and made.items.tolist() == [0, 1, 1_000_000_000]


def test_files_keep_links_and_permissions(tmp_path):
    """A save follows a link, keeps the permissions of what it replaces, and refuses what is read-only."""
    model = AltSVM(rank=2).fit(rather.simulate(20, 10, per_user=8).comparisons)
    real, link = tmp_path / "real", tmp_path / "link"
    model.save(real)
    real.chmod(0o600)
    link.symlink_to(real)
    model.save(link)
    assert link.is_symlink() and real.stat().st_mode & 0o777 == 0o600 and rather.load(link).users_.tolist()
    real.chmod(0o444)
    with pytest.raises(FileError, match="read-only"):
        destination(link)
    with pytest.raises(FileError, match="read-only"):
        model.save(real)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "real"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode):
    """The new content has the old file's permissions; before it is whole, its owner alone reads it."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    with written_whole(path) as f:
        (unfinished,) = tmp_path.glob(f".*{LEFTOVER}")
        assert unfinished.stat().st_mode & 0o077 == 0
        f.write(b"new")
    assert path.read_bytes() == b"new" and path.stat().st_mode & 0o777 == mode


def test_what_a_kill_leaves_goes_when_it_is_old(tmp_path):
    """A leftover younger than an hour may be of someone who is writing; an older one goes with the next write."""
    path = tmp_path / "file"
    with written_whole(path) as f:
        (unfinished,) = tmp_path.glob(f".*{LEFTOVER}")
    stem = unfinished.name.split(".")[1]
    young, old = (tmp_path / f".{stem}.{name}{LEFTOVER}" for name in ("young", "old"))
    for leftover, age in ((young, ABANDONED - 60), (old, ABANDONED + 60)):
        leftover.write_bytes(b"half")
        os.utime(leftover, (time.time() - age,) * 2)
    with written_whole(path) as f:
        f.write(b"whole")
    assert young.exists() and not old.exists() and path.read_bytes() == b"whole"


def test_ridges_within_single_precision():
    """A reg or bias that single precision takes for 0 is refused; minute weights, whose rule says less, calibrate."""
    votes = rather.simulate(20, 10, per_user=8).comparisons
    for model in (AltSVM(rank=2, reg=1e-50), AltSVM(rank=2, bias=1e-50), PaperAltSVM(rank=2, reg=1e-50)):
        with pytest.raises(InputError, match="it must be a number at least 1e-30 and at most"):
            model.fit(votes)
    assert np.isfinite(AltSVM(rank=2, bias=1e-30).fit(votes).certificate().high_probability_bound)
    table = {**votes.to_frame("dict"), "weight": np.full(len(votes), 1e-35)}
    minute = AltSVM(rank=2).fit(Comparisons.from_frame(table, weight="weight"))
    assert minute.reg_ < 1e-30 and minute.calibrate().slope_ is not None


@pytest.mark.parametrize("rank", [1, 3, 30])
def test_a_sure_norm_of_low_rank(rank):
    """Lanczos has spanned a space of few dimensions after as many steps: the norm is then known, with no margin."""
    rng = np.random.default_rng(rank)
    left, right = (np.linalg.qr(rng.standard_normal((n, rank)))[0] for n in (300, 200))
    matrix = left * np.geomspace(5.0, 0.01, rank) @ right.T
    assert sure_norm(matrix, 5.0) == pytest.approx(5.0, rel=1e-9)
    assert sure_norm(np.zeros((300, 200)), 0.0) == 0


def test_the_memory_of_dual_variables(monkeypatch):
    """sdca asks for its duals and for the copy that says what is left to gain."""
    votes = rather.simulate(20, 10, per_user=8).comparisons
    monkeypatch.setattr("rather.memory.available", lambda: 11 * len(votes))
    with pytest.raises(InputError, match="use solver='newton'"):
        PaperAltSVM(rank=2).fit(votes)


def test_a_hinge_that_says_it_converged(tmp_path):
    """What the smoothing of a hinge hides is left to gain too; a fit that was killed while it is tightened goes on."""
    votes = rather.simulate(100, 30, rank=2, per_user=40, seed=0).comparisons
    params = {"rank": 3, "reg": 25.7, "bias": 96.2, "loss": "hinge", "tol": 1e-4, "n_threads": 1, "exposure": False}
    whole = AltSVM(**params, max_iter=60).fit(votes)
    best = AltSVM(**{**params, "tol": 0.0}, max_iter=300).fit(votes)
    assert whole.converged_ and not best.converged_ and best.history_[-1]["gap"] > 1e-6
    least = min(record["objective"] for record in best.history_)
    assert whole.history_[-1]["objective"] < (1 + 1e-4) * least
    kept = tmp_path / "checkpoint"
    AltSVM(**params, max_iter=len(whole.history_) - 2, checkpoint=kept).fit(votes)
    again = AltSVM(**params, max_iter=60, checkpoint=kept).fit(votes)
    assert again.user_factors_.tobytes() == whole.user_factors_.tobytes()
    assert [r["gap"] for r in again.history_] == [r["gap"] for r in whole.history_]


def test_links_are_followed_before_any_work(tmp_path, monkeypatch):
    """Where a link leads is asked beforehand: a missing folder, one that may not be written to, and back to itself."""
    model = AltSVM(rank=2).fit(rather.simulate(20, 10, per_user=8).comparisons)
    lost, loop, locked = (tmp_path / name for name in ("lost", "loop", "locked"))
    lost.symlink_to(tmp_path / "nowhere" / "m")
    loop.symlink_to(loop)
    (tmp_path / "closed").mkdir()
    locked.symlink_to(tmp_path / "closed" / "m")
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "closed" and access(path, mode))
    cases = (
        (lost, "there is no folder '.*nowhere'"),
        (loop, "leads back to itself"),
        (locked, "closed' may not be written"),
    )
    for link, said in cases:
        for attempt in (model.save, destination):
            with pytest.raises(FileError, match=said):
                attempt(link)
        assert link.is_symlink()
    votes = tmp_path / "votes.csv"
    votes.write_text("user,winner,loser\na,x,y\n")
    assert "leads back to itself" in complaint("fit", votes, "--out", loop)
    assert "there is no file" in complaint("fit", loop, "--out", tmp_path / "m")
