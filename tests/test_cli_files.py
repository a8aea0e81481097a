"""Files on the command line: columns by their spelling, piped text, delimiters, encodings, and what is overwritten."""

import json
import re

import numpy as np
import pytest

import rather
from rather.cli.roles import SPELLINGS, candidates, plain
from rather.data import table_files
from rather.data.table_files import read_file
from shell import complaint, document, run

pytestmark = pytest.mark.usefixtures("brief_search")

VOTES = "user,winner,loser\n" + "".join(f"{u},{w},{x}\n" for u in "abc" for w, x in ("xy", "xz", "yz"))


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(VOTES)
    return path


def with_header(tmp_path, header, text=VOTES):
    """A file of the same rows under other names."""
    path = tmp_path / "named.csv"
    path.write_text("\n".join([header, *text.splitlines()[1:]]) + "\n")
    return path


# -- columns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header", ["userId,chosen_item,rejected", "Voter,Preferred,Loser", "JUDGE,chosen,rejected_item"]
)
def test_common_spellings_are_votes(header, tmp_path):
    """Columns are recognised by common spellings in any case, and the document says what was taken for what."""
    told = document("fit", with_header(tmp_path, header), "--out", tmp_path / "m")
    assert (told["format"], told["guessed"]) == ("votes", True)
    assert told["columns"] == dict(zip(("user", "winner", "loser"), header.split(","), strict=True))
    code, out, _ = run("fit", with_header(tmp_path, header), "--out", tmp_path / "m")
    assert code == 0 and f"{header.split(',')[0]} as user" in out


def test_a_movielens_file_needs_no_names(tmp_path):
    """userId, movieId, rating, timestamp is a table of ratings; results in files have the same names."""
    rows = "".join(f"{u},{m},{(u * m) % 5 + 1},{u + m}\n" for u in range(6) for m in range(7))
    path = tmp_path / "ratings.csv"
    path.write_text("userId,movieId,rating,timestamp\n" + rows)
    assert document("fit", path, "--out", tmp_path / "m")["format"] == "ratings"
    told = document("recommend", tmp_path / "m", 3, "--k", 2)["recommendations"]
    assert [list(row) for row in told] == [["user", "item", "score", "rank"]] * 2
    document("recommend", tmp_path / "m", 3, "--k", 2, "--out", tmp_path / "r.csv")
    assert list(read_file(tmp_path / "r.csv")) == ["userId", "movieId", "score", "rank"]


def test_names_that_would_collide_are_not_used(tmp_path):
    """Where the data called its items 'score', results are named by their roles."""
    path = tmp_path / "r.csv"
    path.write_text("user,score,stars\n" + "".join(f"{u},{m},{(u + m) % 3}\n" for u in range(4) for m in range(4)))
    document("fit", path, "--out", tmp_path / "m", "--item", "score")
    document("recommend", tmp_path / "m", 1, "--k", 1, "--out", tmp_path / "out.csv")
    assert list(read_file(tmp_path / "out.csv")) == ["user", "item", "score", "rank"]


def test_exact_names_win(tmp_path):
    """A column of the role's own name is taken even where another is spelled like it."""
    path = with_header(tmp_path, "user,winner,loser,worker", "\n".join(f"{row},w" for row in VOTES.splitlines()))
    assert document("fit", path, "--out", tmp_path / "m")["columns"]["user"] == "user"
    ranked = tmp_path / "ranked.csv"
    ranked.write_text("user,item,rank,score\na,x,1,5\na,y,2,9\n")
    assert document("fit", ranked, "--out", tmp_path / "m")["format"] == "rankings"


def test_two_candidates_are_refused(tmp_path):
    """Two columns that may both be the user are named, with the option that chooses."""
    path = with_header(tmp_path, "worker,winner,loser,voter", "\n".join(f"{row},w" for row in VOTES.splitlines()))
    said = complaint("fit", path, "--out", tmp_path / "m")
    assert "'worker' and 'voter' of" in said and "may both be the user; say which with --user" in said
    assert document("fit", path, "--out", tmp_path / "m", "--user", "voter")["users"] == 1


def test_no_two_roles_share_a_spelling():
    """A spelling stands for one role among those of a format; only 'chosen' has a second, in menus."""
    spelled = [plain(name) for role, names in SPELLINGS.items() for name in (role, *names)]
    assert sorted({name for name in spelled if spelled.count(name) > 1}) == ["chosen"]
    assert candidates("user", ["USER ID", "Item"], {}) == ["USER ID"]


def test_votes_without_users(tmp_path):
    """Votes that name nobody are everyone's with --no-user, and without it the message says so."""
    path = tmp_path / "v.csv"
    path.write_text("winner,loser\nx,y\nx,z\ny,z\n")
    assert "--no-user if the votes name nobody" in complaint("fit", path, "--out", tmp_path / "m")
    told = document("fit", path, "--out", tmp_path / "m", "--no-user")
    assert told["columns"] == {"winner": "winner", "loser": "loser"} and told["users"] == 1
    assert [row["item"] for row in document("rank", tmp_path / "m", "--everyone")["ranking"]] == ["x", "y", "z"]
    assert document("evaluate", tmp_path / "m", path, "--no-user")["metrics"] == {"accuracy": 1.0}
    code, out, _ = run("fit", path, "--out", tmp_path / "m", "--no-user")
    assert code == 0 and "rank" in out.split("Next:")[1] and "--everyone" in out
    assert "give one of them" in complaint("fit", path, "--out", tmp_path / "m", "--no-user", "--user", "winner")


def test_ids_that_look_like_numbers_in_one_file_only(tmp_path):
    """A model whose ids are text knows a test file's all-digit ids; one of whole numbers names what is none."""
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("user,winner,loser\n1,10,20\nx2,10,thirty\n")
    test.write_text("user,winner,loser\n1,10,20\n")
    document("fit", train, "--out", tmp_path / "m")
    assert document("evaluate", tmp_path / "m", test)["metrics"] == {"accuracy": 1.0}
    document("fit", test, "--out", tmp_path / "m")
    said = complaint("evaluate", tmp_path / "m", train)
    assert "user 'x2' is not in the model (its users are whole numbers such as 1)" in said
    code, out, _ = run("evaluate", tmp_path / "m", train, "--unknown", "skip", "--json")
    assert code == 0 and json.loads(out)["skipped"] == 1


@pytest.mark.parametrize("word", ["NaN", "nan", "NA", "NULL", "None"])
def test_words_for_what_is_missing_among_whole_numbers(word, tmp_path):
    """In a column of whole numbers they are refused with their row; among other text they are ids."""
    path = tmp_path / "v.csv"
    path.write_text(f"user,winner,loser,note\n1,10,20,{word}\n2,10,30,1\n{word},20,30,2\n")
    said = complaint("fit", path, "--out", tmp_path / "m")
    assert (
        f"v.csv, line 4: the user (column 'user') is {word!r} and all others are whole numbers; drop such rows" in said
    )
    path.write_text(f"user,winner,loser,note\n1,10,20,{word}\n2,10,{word},1\n")
    assert "v.csv, line 3: the loser (column 'loser') is" in complaint("fit", path, "--out", tmp_path / "m")
    path.write_text(f"user,winner,loser,note\n1,10,20,{word}\nann,10,30,1\n{word},20,30,2\n")
    assert document("fit", path, "--out", tmp_path / "m")["users"] == 3


def test_rows_of_nothing(votes, tmp_path):
    """A row of empty fields is told by its ids, to fit and to evaluate."""
    document("fit", votes, "--out", tmp_path / "m")
    for header in ("user,winner,loser", "user,item,rating"):
        path = tmp_path / "hole.csv"
        path.write_text(f"{header}\na,x,1\n,,\n")
        for command in (("fit", path, "--out", tmp_path / "m"), ("evaluate", tmp_path / "m", path)):
            said = complaint(*command)
            assert "hole.csv, line 3: the " in said and "is empty; drop such rows" in said


# -- text -------------------------------------------------------------------------------------------------------------


def test_piped_text(votes, tmp_path):
    """- reads CSV from standard input, for fit, evaluate and split; nothing piped in is an error."""
    piped = votes.read_bytes()
    told = document("fit", "-", "--out", tmp_path / "m", piped=piped)
    assert told["file"] == "-" and told["comparisons"] == 9
    direct = document("evaluate", tmp_path / "m", votes)["metrics"]
    assert document("evaluate", tmp_path / "m", "-", piped=piped)["metrics"] == direct
    parts = ("--train", tmp_path / "a.csv", "--test", tmp_path / "b.csv")
    assert document("split", "-", *parts, "--test-share", 0.4, piped=piped)["rows"] == {"all": 9, "train": 6, "test": 3}
    assert "standard input is empty" in complaint("fit", "-", "--out", tmp_path / "m")
    assert "line 2 of standard input has 1 fields" in complaint("fit", "-", "--out", tmp_path / "m", piped=b"a,b\n1\n")


@pytest.mark.parametrize(("mark", "option"), [("|", "|"), ("\t", "tab"), ("\t", "\\t"), (":", ":"), ("§", "§")])
def test_delimiters(votes, tmp_path, mark, option):
    """--delimiter is any one character, or the word tab."""
    path = tmp_path / "d.csv"
    path.write_text(VOTES.replace(",", mark))
    assert document("fit", path, "--out", tmp_path / "m", "--delimiter", option)["comparisons"] == 9


def test_wrong_delimiters_and_encodings(votes, tmp_path):
    """One column alone suggests --delimiter; what cannot be one, and an unknown encoding, are refused."""
    path = tmp_path / "d.csv"
    path.write_text(VOTES.replace(",", "|"))
    assert "say what stands between fields with --delimiter" in complaint("fit", path, "--out", tmp_path / "m")
    assert "--delimiter is '||'" in complaint("fit", path, "--out", tmp_path / "m", "--delimiter", "||")
    assert "--encoding is 'klingon'" in complaint("fit", path, "--out", tmp_path / "m", "--encoding", "klingon")
    path.write_bytes(VOTES.replace("a", "é").encode("latin-1"))
    assert "--encoding latin-1" in complaint("fit", path, "--out", tmp_path / "m")
    document("fit", path, "--out", tmp_path / "m", "--encoding", "latin-1")
    assert rather.load(tmp_path / "m").users_.tolist() == ["b", "c", "é"]


# -- what is overwritten ----------------------------------------------------------------------------------------------


def test_models_replace_models_only(votes, tmp_path):
    """fit writes over a model of ours, but over nothing else unless --force says so."""
    out = tmp_path / "m"
    for _ in range(2):
        document("fit", votes, "--out", out)
    out.write_text("precious")
    said = complaint("fit", votes, "--out", out)
    assert "is there already and is not a model of rather; give another name, or --force" in said
    assert out.read_text() == "precious"
    document("fit", votes, "--out", out, "--force")
    assert len(rather.load(out).users_) == 3


def test_checkpoints_replace_checkpoints_only(votes, tmp_path):
    """A checkpoint is never written over something else."""
    state = tmp_path / "state"
    state.write_text("precious")
    assert "not a checkpoint file" in complaint("fit", votes, "--out", tmp_path / "m", "--checkpoint", state, "--force")
    assert state.read_text() == "precious"


def test_tables_replace_nothing_without_force(votes, tmp_path):
    """simulate, split, recommend and evaluate refuse a name that is taken, and write over it with --force."""
    model, taken, free = tmp_path / "m", tmp_path / "taken.csv", tmp_path / "free.csv"
    document("fit", votes, "--out", model)
    for command in (
        ("simulate", "--users", 5, "--items", 5, "--per-user", 3, "--out", taken),
        ("split", votes, "--test-share", 0.4, "--train", taken, "--test", free),
        ("split", votes, "--test-share", 0.4, "--train", free, "--test", taken),
        ("recommend", model, "a", "--out", taken),
        ("evaluate", model, votes, "--per-user", taken),
    ):
        taken.write_text("precious")
        free.unlink(missing_ok=True)
        assert "is there already; give another name, or --force to overwrite it" in complaint(*command)
        assert taken.read_text() == "precious" and not free.exists()
        document(*command, "--force")
        assert taken.read_text() != "precious"


def test_no_file_is_read_and_written(votes, tmp_path):
    """--force does not let a command write over what it reads."""
    document("fit", votes, "--out", tmp_path / "m.csv")
    for command in (
        ("fit", votes, "--out", votes),
        ("split", votes, "--test-share", 0.4, "--train", votes, "--test", tmp_path / "b.csv"),
        ("split", votes, "--test-share", 0.4, "--train", tmp_path / "b.csv", "--test", tmp_path / "b.csv"),
        ("recommend", tmp_path / "m.csv", "a", "--out", tmp_path / "m.csv"),
        ("evaluate", tmp_path / "m.csv", votes, "--per-user", votes),
    ):
        assert "must be different files" in complaint(*command, "--force")


# -- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--threads", 0), "--threads is 0"),
        (("--max-iter", 0), "--max-iter is 0"),
        (("--loss", "none"), "--loss is 'none'"),
        (("--solver", "sdca"), "AltSVM, chosen for named users, has no --solver; leave it out"),
        (("--model", "RobiRank"), "give a file of clicks"),
        (("--model", "CofiRank"), "give a file of ratings or rankings, or give --model AltSVM"),
        (("--model", "Differences"), "give a file of ratings, or give --model AltSVM"),
        (("--model", "Global", "--exposure"), "Global has no --exposure"),
    ],
)
def test_mistakes_speak_in_options(votes, tmp_path, options, said):
    """A mistake at the shell is told in options and files, never in names of Python's."""
    sentence = complaint("fit", votes, "--out", tmp_path / "m", *options)
    assert said in sentence
    assert not re.search(r"\b(?!squared_hinge)[a-z]+_[a-z]+|\w=\S|\w\(", sentence.replace(str(tmp_path), ""))


def test_exposure_is_passed_on(tmp_path):
    """--exposure and --no-exposure reach the model; without them it decides."""
    rng = np.random.default_rng(0)
    table = {
        "user": np.repeat(np.arange(30), 12),
        "item": np.concatenate([rng.permutation(20)[:12] for _ in range(30)]),
    }
    table_files.write_table(tmp_path / "r.csv", table | {"rating": rng.integers(1, 6, 360)})
    for option, wanted in ((("--exposure",), True), (("--no-exposure",), False), ((), None)):
        told = document("fit", tmp_path / "r.csv", "--out", tmp_path / "m", *option)
        model = rather.load(tmp_path / "m")
        assert model.get_params()["exposure"] is wanted and model.exposure_ == told["exposure"]
        assert wanted is None or told["exposure"] is wanted


def test_documents_are_the_same_twice(votes, tmp_path):
    """--json prints the same document for the same command, but for the seconds, and null where there is no number."""
    fit = ("fit", votes, "--out", tmp_path / "m")
    first, second = document(*fit), document(*fit)
    for one in (first, second):  # the file holds the seconds of every round, in as many digits as they have
        assert one.pop("seconds")["fit"] > 0 and one.pop("bytes") > 0
    assert first == second
    one = tmp_path / "one.csv"
    one.write_text("user,winner,loser\na,x,y\n")
    out = run("evaluate", tmp_path / "m", one, "--json")[1]
    assert json.loads(out)["standard_errors"] == {"accuracy": None} and "NaN" not in out
