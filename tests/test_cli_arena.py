"""The command line on what votes carry: logs of arenas, sides, covariates, ties, trust, effects."""

import numpy as np
import pytest

import rather
from rather import simulate
from rather.data.table_files import read_file, write_table
from shell import complaint, document, run

pytestmark = pytest.mark.usefixtures("brief_search")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log whose judges are swayed by side and by length."""
    world = simulate(150, 10, rank=1, per_user=8, side=0.8, covariates={"length": 0.6}, ties=0.4, seed=0)
    frame = world.comparisons.to_frame("dict")
    first = np.asarray(frame["side"], bool)
    length = np.where(first, frame["length"], -frame["length"])
    table = {
        "judge": frame["user"],
        "model_a": np.where(first, frame["winner"], frame["loser"]),
        "model_b": np.where(first, frame["loser"], frame["winner"]),
        "winner": np.where(frame["tie"], "tie (bothbad)", np.where(first, "model_a", "model_b")),
        "len_a": length + 5,
        "len_b": np.full(len(length), 5.0),
    }
    path = tmp_path_factory.mktemp("log") / "battles.csv"
    write_table(path, table)
    return path


@pytest.fixture(scope="module")
def model(log):
    path = log.parent / "m.rather"
    told = document("fit", log, "--out", path, "--covariate", "length=len_a,len_b")
    assert (told["format"], told["guessed"]) == ("arena", True)
    assert told["columns"]["outcome"] == "winner" and told["columns"]["left"] == "model_a"
    assert told["counted"].startswith("1,200 votes (") and told["covariates"] == ["length"]
    return path


def test_effects(model):
    """The command, the summary of fit and the library tell the same."""
    told = document("effects", model)["effects"]
    assert [row["effect"] for row in told] == ["side", "length", "tie"]
    assert [row["estimate"] for row in told] == rather.load(model).effects()["estimate"].tolist()
    assert told[0]["estimate"] == pytest.approx(0.8, abs=0.3) and told[0]["low"] < 0.8 < told[0]["high"]
    code, out, _ = run("effects", model)
    assert code == 0 and "side" in out and "+0." in out


def test_probability_of_three_outcomes(model):
    asked = "probability", model, "user 3", "item 1", "item 2"
    plain, first = document(*asked), document(*asked, "--side", "left", "--covariate", "length=1")
    assert sum(plain[part] for part in ("probability", "tie", "reverse")) == pytest.approx(1)
    assert first["probability"] > plain["probability"]
    assert "a tie has" in run(*asked)[1]
    assert "no effect 'width'" in complaint(*asked, "--covariate", "width=1")
    assert "NAME=X" in complaint(*asked, "--covariate", "length")


def test_updates_know_them(model, log, tmp_path):
    told = document("update", model, log, "--covariate", "length=len_a,len_b", "--out", tmp_path / "m")
    assert told["counted"].startswith("2,400 votes")
    assert [row["effect"] for row in document("effects", tmp_path / "m")["effects"]] == ["side", "length", "tie"]


def test_newcomers_who_tie(model, tmp_path):
    (tmp_path / "answers.csv").write_text("winner,loser,tie\nitem 1,item 2,true\nitem 3,item 4,false\n")
    told = document("rank", model, "--answers", tmp_path / "answers.csv")
    answers = [("item 1", "item 2", "tie"), ("item 3", "item 4")]
    assert [row["item"] for row in told["ranking"]] == rather.load(model).fold_in(answers).rank()["item"].tolist()


def test_options_of_the_fit(log, tmp_path):
    document("fit", log, "--out", tmp_path / "m", "--ties", "half", "--trust", "--rank", 1, "--reg", 5)
    made = rather.load(tmp_path / "m")
    assert (made.ties, made.trust) == ("half", True) and made.trust_.shape == (150,)
    assert len(document("probability", tmp_path / "m", "user 3", "item 1", "item 2").keys() & {"tie", "reverse"}) == 0


def test_simulated_votes_carry_them(tmp_path):
    document("simulate", "--out", tmp_path / "v.csv", "--users", 40, "--ties", 0.5, "--side", 0.3, "--careless", 0.2)
    told = document("fit", tmp_path / "v.csv", "--out", tmp_path / "m", "--rank", 2, "--reg", 5)
    assert set(told["columns"]) == {"user", "winner", "loser", "tie", "side"}


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("user,item,rating\na,x,1\na,y,2\n", ["--covariate", "rating"], "--covariate goes with votes"),
        ("user,winner,loser\na,x,y\n", ["--covariate", "length"], "no column 'length' (for a covariate)"),
        ("user,left,right,outcome\na,x,y,up\n", [], "it must be left, right or tie"),
        ("who,left,right,said\na,x,y,x\n", [], "for two items and an answer give --user, --left, --right and --out"),
    ],
)
def test_what_is_refused(tmp_path, text, options, said):
    (tmp_path / "v.csv").write_text(text)
    assert said in complaint("fit", tmp_path / "v.csv", "--out", tmp_path / "m", *options)


def test_a_column_side_that_is_none_is_left_alone(tmp_path):
    """Left and right say nothing of winner and loser; what was read is told."""
    votes = simulate(20, 6, per_user=10).comparisons.to_frame("dict")
    write_table(tmp_path / "v.csv", {**votes, "side": np.array(["left", "right"] * 100)})
    told = document("fit", tmp_path / "v.csv", "--out", tmp_path / "m", "--rank", 1, "--reg", 5)
    assert "side" not in told["columns"]


@pytest.mark.parametrize("heading", ["Respondent,Option Left,Option Right,Chosen", "judge,left,right,choice"])
def test_the_columns_of_a_survey_are_found(tmp_path, heading):
    """The answer names an item, a side or neither."""
    rows = "a,x,y,x\na,y,z,right\nb,x,z,can't decide\nb,z,y,y\n"
    (tmp_path / "v.csv").write_text(f"{heading}\n{rows}")
    told = document("fit", tmp_path / "v.csv", "--out", tmp_path / "m", "--rank", 1, "--reg", 5)
    assert (told["format"], told["counted"]) == ("arena", "4 votes (1 ties)")
    assert list(told["columns"].values()) == heading.split(",")


@pytest.mark.parametrize("command", ["rank {m} --everyone --top 3", "differences {m} user\xa03 --top 3", "effects {m}"])
def test_tables_are_written_to_files(model, tmp_path, command):
    """A file has what is printed; one that is there stays."""
    argv = [word.replace("\xa0", " ").format(m=model) for word in command.split(" ")]
    (printed,) = (found for found in document(*argv).values() if isinstance(found, list))
    told = document(*argv, "--out", tmp_path / "t.csv")
    assert told["rows"] == len(printed) == 3 and told["out"] == str(tmp_path / "t.csv")
    written = read_file(tmp_path / "t.csv")
    assert [str(row[name]) for row in printed for name in row] == [
        str(written[name][n]) for n, row in enumerate(printed) for name in row
    ]
    assert "--force to overwrite it" in complaint(*argv, "--out", tmp_path / "t.csv")
