"""rather split: the library's splits of files, with every column, whole or not at all."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import rather
from rather.data import table_files
from rather.data.table_files import read_file
from shell import complaint, document, run

RNG = np.random.default_rng(0)
USER = np.repeat(np.arange(10), np.arange(3, 13))
RATINGS = {
    "userId": USER,
    "movieId": np.concatenate([RNG.permutation(20)[:n] for n in range(3, 13)]),
    "rating": RNG.integers(1, 6, len(USER)),
    "note": np.array([f'"{k}", é' for k in range(len(USER))], dtype=object),
    "Time": RNG.permutation(len(USER)) + 1_000_000,
}


@pytest.fixture
def ratings(tmp_path):
    table_files.write_table(tmp_path / "ratings.csv", RATINGS)
    return tmp_path / "ratings.csv"


@pytest.fixture
def parts(tmp_path):
    return ("--train", tmp_path / "train.csv", "--test", tmp_path / "test.csv")


def same(path, frame):
    got = read_file(path)
    return {name: list(got[name]) for name in got} == {name: list(column) for name, column in frame.items()}


def test_the_papers_split(ratings, parts):
    """--per-user and --min-test split as split_ratings does, with all columns, and say who was left out."""
    told = document("split", ratings, *parts, "--per-user", 5, "--min-test", 2, "--seed", 3)
    expected = rather.split_ratings(RATINGS, per_user=5, min_test=2, seed=3, user="userId", item="movieId")
    assert same(parts[1], expected.train) and same(parts[3], expected.test)
    assert told["left_out"] == {"rows": 3 + 4 + 5 + 6, "users": 4, "why": "fewer than 7 ratings"}
    assert told["users"] == {"all": 10, "train": 6, "test": 6} and told["rows"]["train"] == 30
    out = run("split", ratings, *parts, "--per-user", 5, "--min-test", 2, "--force")[1]
    assert "18 rows of 4 users: fewer than 7 ratings" in out and "rather evaluate model.rather" in out


def test_a_share_of_every_users_rows(ratings, parts):
    """--test-share splits as split_clicks does, the same twice and otherwise with another seed."""
    told = document("split", ratings, *parts, "--test-share", 0.3, "--seed", 1)
    expected = rather.split_clicks(RATINGS, test=0.3, seed=1, user="userId", item="movieId")
    assert same(parts[1], expected.train) and same(parts[3], expected.test)
    assert told["left_out"] == {"rows": 0, "users": 0, "why": ""}
    document("split", ratings, *parts, "--test-share", 0.3, "--seed", 2, "--force")
    assert not same(parts[3], expected.test)


@pytest.mark.parametrize("by", ["everyone", "user"])
def test_by_time(ratings, parts, by):
    """--time splits as split_time does; the column is guessed from its spelling, or told."""
    told = document("split", ratings, *parts, "--time", "--by", by)
    expected = rather.split_time(RATINGS, time="Time", user="userId", by=by)
    assert same(parts[1], expected.train) and same(parts[3], expected.test)
    assert told["columns"]["timestamp"] == "Time"
    document("split", ratings, *parts, "--time", "rating", "--test-share", 0.5, "--by", by, "--force")
    expected = rather.split_time(RATINGS, 0.5, "rating", "userId", by)
    assert same(parts[1], expected.train) and same(parts[3], expected.test)


@pytest.mark.parametrize("how", [("--test-share", 0.3), ("--per-user", 2, "--min-test", 0), ("--time",)])
def test_ratings_of_one_item_twice_are_refused(tmp_path, parts, how):
    """What no fit would take is refused with the rows of the file it is in."""
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating,timestamp\na,x,1,1\na,y,2,2\na,x,3,3\n")
    assert "user 'a' has item 'x' twice (rows 0 and 2); keep one" in complaint("split", path, *parts, *how)


@pytest.mark.parametrize("how", [("--test-share", 0.5), ("--time", "--test-share", 0.5)])
def test_repeated_clicks_are_in_one_part(tmp_path, parts, how):
    """Rows of one user and item go to the same part, whichever way the file is cut."""
    path = tmp_path / "c.csv"
    rows = "".join(f"{u},{i},{t * 4 + i}\n" for t in range(3) for u in range(3) for i in range(4))
    path.write_text("user,item,timestamp\n" + rows)
    told = document("split", path, *parts, *how)
    train, test = (read_file(path) for path in (parts[1], parts[3]))
    pairs = [set(zip(part["user"], part["item"], strict=True)) for part in (train, test)]
    assert told["rows"] == {"all": 36, "train": 18, "test": 18} and not pairs[0] & pairs[1]


def test_one_row_a_user_cannot_be_held_out(tmp_path, parts):
    """Nobody is told to hold out more of what is one."""
    path = tmp_path / "c.csv"
    path.write_text("user,item\n1,1\n2,1\n2,1\n")
    said = complaint("split", path, *parts, "--test-share", 0.5)
    assert said.endswith("--test-share is 0.5, which holds nothing out: no user has more than one")


def test_parquet_keeps_its_types(tmp_path):
    """Parts of a Parquet file have its types, or are CSV if their names say so."""
    table = pa.table({"user": pa.array(USER, pa.int16()), "item": RATINGS["movieId"], "rating": pa.array(USER / 2)})
    pyarrow.parquet.write_table(table, tmp_path / "r.parquet")
    parts = ("--train", tmp_path / "a.parquet", "--test", tmp_path / "b.csv")
    document("split", tmp_path / "r.parquet", *parts, "--test-share", 0.5)
    train, test = rather.split_clicks(table, test=0.5)
    assert read_file(parts[1]).equals(train) and read_file(parts[3])["user"].tolist() == test["user"].to_pylist()


def test_votes_without_users_are_split(tmp_path, parts):
    """Votes that name nobody are split at random, but not by user."""
    (tmp_path / "v.csv").write_text("winner,loser\n" + "x,y\n" * 10)
    told = document("split", tmp_path / "v.csv", *parts, "--no-user", "--test-share", 0.2)
    assert told["rows"] == {"all": 10, "train": 8, "test": 2} and told["users"] is None
    said = complaint("split", tmp_path / "v.csv", *parts, "--no-user", "--time", "winner", "--by", "user", "--force")
    assert "--by user needs users" in said


def test_menus_stay_whole(tmp_path, parts):
    """The rows of one menu go to the same part."""
    rows = [(u, m, i, int(i == 0)) for u in range(4) for m in range(5) for i in range(3)]
    lines = "".join(",".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "m.csv").write_text("user,menu,item,chosen\n" + lines)
    told = document("split", tmp_path / "m.csv", *parts, "--test-share", 0.4)
    assert told["rows"] == {"all": 60, "train": 36, "test": 24}
    train, test = ({(r[0], r[1]) for r in zip(*read_file(p).values(), strict=True)} for p in (parts[1], parts[3]))
    assert len(train) == 12 and len(test) == 8 and not train & test


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "split takes --per-user N"),
        (("--per-user", 5, "--test-share", 0.2), "split takes --per-user N"),
        (("--per-user", 5, "--time"), "split takes --per-user N"),
        (
            ("--per-user", 500),
            "--per-user is 500, but no user has 510 ratings, the 10 to test on included;",
        ),
        (("--per-user", 0), "--per-user is 0"),
        (("--test-share", 1.5), "--test-share is 1.5"),
        (("--test-share", 0.01), "holds nothing out"),
        (("--test-share", 0.5, "--by", "user"), "--by says whose time is cut and goes with --time"),
        (("--test-share", 0.5, "--seed", -1), "--seed is -1"),
        (("--time", "when"), "has no column 'when' (for the timestamp)"),
        (("--time", "note"), "ratings.csv, line 2: the time (column 'note') is"),
        (("--test-share", 0.5, "--format", "votes"), "has no column 'winner'"),
        (("--per-user", 5, "--format", "clicks"), "--per-user is for ratings, and these are clicks"),
    ],
)
def test_mistakes_write_nothing(ratings, parts, tmp_path, options, said):
    """A split that cannot be made is one sentence and no file."""
    assert said in complaint("split", ratings, *parts, *options)
    assert list(tmp_path.iterdir()) == [ratings]


def test_both_parts_or_none(ratings, tmp_path, monkeypatch):
    """If one part cannot be written, neither is there."""
    real = table_files._write_csv
    written = []

    def full_disk(f, columns):
        written.append(f)
        if len(written) == 2:
            raise OSError(28, "No space left on device")
        real(f, columns)

    monkeypatch.setattr(table_files, "_write_csv", full_disk)
    said = complaint("split", ratings, "--train", tmp_path / "a.csv", "--test", tmp_path / "b.csv", "--per-user", 3,
                     "--min-test", 1)  # fmt: skip
    assert "No space left" in said and list(tmp_path.iterdir()) == [ratings]


def test_the_whole_way(ratings, parts, tmp_path):
    """What split writes, fit and evaluate read."""
    document("split", ratings, *parts, "--per-user", 4, "--min-test", 3)
    document("fit", parts[1], "--out", tmp_path / "m")
    assert 0 < document("evaluate", tmp_path / "m", parts[3])["metrics"]["ndcg@10"] <= 1
