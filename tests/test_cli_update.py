"""rather update, and files without answers: rather fit --slim."""

import numpy as np
import pytest

import rather
from rather.data import table_files
from rather.data.table_files import read_file
from shell import complaint, document, run

pytestmark = pytest.mark.usefixtures("brief_search")


def write_table(path, columns):
    table_files.write_table(path, {name: np.asarray(column) for name, column in columns.items()})


@pytest.fixture
def parts(tmp_path):
    """Votes in two files, the later with someone of its own."""
    table = rather.simulate(n_users=80, n_items=15, per_user=10).comparisons.to_frame("dict")
    late = np.arange(len(table["user"])) >= 760
    paths = tmp_path / "old.csv", tmp_path / "new.csv"
    for path, rows in zip(paths, (~late, late), strict=True):
        write_table(path, {name: column[rows] for name, column in table.items()})
    return paths


def fitted(file, path, *options):
    document("fit", file, "--out", path, "--rank", 3, *options)
    return path


def test_in_place(parts, tmp_path):
    """A model that holds its comparisons is replaced by one that has taken in the file, and can be updated again."""
    old, new = parts
    path = fitted(old, tmp_path / "m")
    told = document("update", path, new)
    assert told["out"] == str(path) and told["comparisons"] == 800 and told["answers"] and told["converged"]
    assert told["new_users"] == told["users"] - len(set(read_file(old)["user"])) > 0 == told["new_items"]
    assert told["rounds"] >= 1 and told["gap"] < 0.1 and told["format"] == "votes" and told["rank"] == 3
    model = rather.load(path)
    assert len(model.users_) == told["users"] and model.slope_ is not None
    assert document("update", path, new)["comparisons"] == 840
    code, out, err = run("update", path, new)
    assert (code, err) == (0, "") and "880 by 80 users" in " ".join(out.split())
    assert f"saved {path} (" in " ".join(out.split())
    assert "with everybody's answers; --slim leaves them out)" in out
    assert run("update", path, new, "--quiet") == (0, "", "")


def test_elsewhere_with_old(parts, tmp_path):
    """Without answers in the file they are given; the file that was read stays, and the new one is as slim."""
    old, new = parts
    path, out = fitted(old, tmp_path / "m", "--slim"), tmp_path / "n"
    before = path.read_bytes()
    told = document("update", path, new, "--old", old, "-o", out)
    assert path.read_bytes() == before and not told["answers"] and told["comparisons"] == 800
    assert rather.load(out).fitted.training is None and told["bytes"] == out.stat().st_size
    said = " ".join(run("update", path, new, "--old", old, "--out", out, "--slim")[1].split())
    assert "items that each user met; --no-slim keeps them)" in said
    assert document("update", path, new, "--old", old, "--out", out, "--no-slim")["answers"]
    assert len(rather.load(out).fitted.training) == 800
    assert not document("update", out, new, "--slim")["answers"] and rather.load(out).fitted.training is None


def test_ids_as_the_model_has_them(tmp_path):
    """Whole numbers in CSV are text where the model's ids are, and one rating alone is taken in."""
    write_table(tmp_path / "old.csv", {"user": ["a", "a", "1", "1"], "item": ["x", "2"] * 2, "rating": [1, 2, 3, 1]})
    path = fitted(tmp_path / "old.csv", tmp_path / "m")
    write_table(tmp_path / "new.csv", {"user": [1], "item": [7], "rating": [5]})
    told = document("update", path, tmp_path / "new.csv")
    assert (told["new_users"], told["new_items"]) == (0, 1)
    assert rather.load(path).items_.tolist() == ["2", "7", "x"]


@pytest.mark.parametrize("options", [(), ("--per-user", 5), ("--unseen", 2, "--seed", 3)], ids=str)
def test_clicks_are_drawn_as_before(options, tmp_path):
    """How clicks were drawn against is in the file, and need not be said again."""
    rng = np.random.default_rng(0)
    write_table(tmp_path / "old.csv", {"user": np.repeat(np.arange(9), 3), "item": rng.integers(12, size=27)})
    path = fitted(tmp_path / "old.csv", tmp_path / "m", "--model", "AltSVM", *options)
    write_table(tmp_path / "new.csv", {"user": [3], "item": [99]})
    assert document("update", path, tmp_path / "new.csv")["new_items"] == 1
    if options:
        assert "leave --unseen out" in complaint("update", path, tmp_path / "new.csv", "--unseen", 4)


def test_mistakes(parts, tmp_path):
    """One line each, and the model file is as it was."""
    old, new = parts
    plain, able = fitted(old, tmp_path / "m", "--slim"), fitted(old, tmp_path / "n")
    single = fitted(old, tmp_path / "g", "--model", "BPR")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    write_table(tmp_path / "stars.csv", {"user": ["user 1"] * 2, "item": ["item 1", "item 2"], "rating": [1, 2]})
    for argv, said in (
        ((plain, new), "give them with --old, or fit it without --slim"),
        ((plain, "--item-features", new, "--no-slim"), "holds no answers"),
        ((able, new, "--old", old), "leave --old out"),
        ((plain, new, "--old", old, "--unseen", 3), "--unseen does not go with votes"),
        ((plain, old, "--old", new), "--old is not what the model was fitted to"),
        ((single, new), "BPR cannot be updated; fit it again, to all of the data (AltSVM can be updated)"),
        ((able, tmp_path / "stars.csv"), "ratings cannot be joined to votes"),
        ((able, able), "must be different files"),
        ((able, new, "--out", old), "is there already and is not a model"),
        ((able, new, "--out", new), "must be different files"),
        ((tmp_path / "none", new), "none"),
        ((able, tmp_path / "none.csv"), "none.csv"),
    ):
        assert said in complaint("update", *argv), argv
    for path, content in before.items():
        assert path.read_bytes() == content
