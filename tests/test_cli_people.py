"""People on the command line: newcomers, everyone, users the model does not know, and lists of candidates."""

import json
import re
import warnings

import numpy as np
import pytest

import rather
from rather.data import table_files
from rather.data.table_files import read_file
from shell import complaint, document, run

pytestmark = pytest.mark.usefixtures("brief_search")


@pytest.fixture(scope="module")
def world():
    return rather.simulate(n_users=80, n_items=15, per_user=10)


@pytest.fixture(scope="module")
def votes(world, tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "votes.csv"
    table_files.write_table(path, world.comparisons.to_frame("dict"))
    return path


@pytest.fixture(scope="module")
def path(votes):
    """A model file whose ids are text."""
    document("fit", votes, "--out", votes.parent / "m.rather")
    return votes.parent / "m.rather"


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    """A model file whose ids are whole numbers, and the data."""
    folder = tmp_path_factory.mktemp("numbered")
    rng = np.random.default_rng(0)
    user, item = (axis.ravel() for axis in np.meshgrid(np.arange(1, 13), np.arange(100, 108), indexing="ij"))
    table_files.write_table(
        folder / "ratings.csv", {"userId": user, "movieId": item, "stars": rng.integers(1, 6, len(user))}
    )
    document("fit", folder / "ratings.csv", "--out", folder / "m.rather")
    return folder / "m.rather", folder / "ratings.csv"


@pytest.fixture
def model(path):
    return rather.load(path)


def listed(rows):
    return [row["item"] for row in rows]


# -- newcomers --------------------------------------------------------------------------------------------------------

ANSWERS = [("item 1", "item 2"), ("item 5", "item 2")]


@pytest.fixture
def answers(tmp_path):
    file = tmp_path / "answers.csv"
    file.write_text("preferred,rejected\n" + "".join(f"{w},{x}\n" for w, x in ANSWERS))
    return file


def test_newcomers_are_folded_in(path, model, answers):
    """--answers and --prefers rank, recommend and compare as fold_in of the same answers does."""
    one = model.fold_in(ANSWERS)
    told = document("rank", path, "--answers", answers)
    assert listed(told["ranking"]) == one.rank()["item"].tolist() and (told["user"], told["answers"]) == (None, 2)
    typed = [word for pair in ANSWERS for word in ("--prefers", *pair)]
    assert document("rank", path, *typed)["ranking"] == told["ranking"]
    both = document("rank", path, "--answers", answers, "--prefers", "item 3", "item 1")
    assert listed(both["ranking"]) == model.fold_in([*ANSWERS, ("item 3", "item 1")]).rank()["item"].tolist()
    piped = document("rank", path, "--answers", "-", piped=answers.read_bytes())
    assert piped["ranking"] == told["ranking"]
    told = document("recommend", path, *typed, "--k", 3)
    assert listed(told["recommendations"]) == one.recommend(3)["item"].tolist() and told["answers"] == 2
    told = document("probability", path, "item 1", "item 2", "--answers", answers)
    assert told["probability"] == pytest.approx(one.probability("item 1", "item 2"), abs=1e-7)


def test_newcomers_clicks(path, tmp_path):
    """A click model takes a newcomer's items from a column of their own, as fold_in does."""
    rng = np.random.default_rng(0)
    user, item = np.nonzero(rng.random((40, 12)) < 0.3)
    table_files.write_table(tmp_path / "clicks.csv", {"user": user, "item": item + 100})
    model = rather.EASE().fit(rather.Comparisons.from_clicks(read_file(tmp_path / "clicks.csv")))
    model.save(tmp_path / "m")
    (tmp_path / "new.csv").write_text("item\n101\n105\n")
    one = model.fold_in([101, 105])
    told = document("rank", tmp_path / "m", "--answers", tmp_path / "new.csv")
    assert listed(told["ranking"]) == one.rank()["item"].tolist() and told["answers"] == 2
    told = document("recommend", tmp_path / "m", "--answers", tmp_path / "new.csv", "--k", 3, "--exclude-seen")
    assert listed(told["recommendations"]) == one.recommend(3, exclude="seen")["item"].tolist()
    assert "AltSVM takes winners and losers" in complaint("rank", path, "--answers", tmp_path / "new.csv")


def test_newcomers_need_not_be_shown_what_they_answered(path, model, answers, tmp_path):
    """--exclude-seen leaves out the items of a newcomer's answers; --out writes the rest."""
    code, out, _ = run("recommend", path, "--answers", answers, "--exclude-seen", "--out", tmp_path / "r.csv")
    assert code == 0 and "10 rows for 1 user" in out
    expected = model.fold_in(ANSWERS).recommend(10, exclude=["item 1", "item 2", "item 5"])
    assert read_file(tmp_path / "r.csv")["item"].tolist() == expected["item"].tolist()


def test_newcomers_of_whole_numbers(numbered):
    """Items of answers are whole numbers where the model's are, and a word gets a sentence."""
    path, _ = numbered
    told = document("rank", path, "--prefers", 101, 102)
    assert listed(told["ranking"]) == rather.load(path).fold_in([(101, 102)]).rank()["movieId"].tolist()
    assert "item 'x' is not in the model, whose items are whole numbers" in complaint("rank", path, "--prefers", "x", 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("user,winner,loser\na,item 1,item 2\nb,item 1,item 2\n", "has answers of 2 users (column 'user')"),
        ("winner,loser,weight\nitem 1,item 2,2\n", "has a column 'weight'"),
        (
            "winner,beaten\nitem 1,item 2\n",
            "has no column 'loser'; it has 'winner', 'beaten': call one of them 'loser'",
        ),
        ("winner,loser\nitem 1,\n", "a.csv, line 2: the loser (column 'loser') is empty"),
        ("winner,loser\nitem 1,item 99\n", "item 'item 99' is not in the model"),
        ("winner,loser\nitem 1,item 1\n", "compares item 'item 1' with itself"),
    ],
)
def test_answers_that_are_none(path, tmp_path, text, said):
    """A file of answers is one person's winners and losers, of items that the model knows."""
    (tmp_path / "a.csv").write_text(text)
    assert said in complaint("rank", path, "--answers", tmp_path / "a.csv")


def test_models_without_newcomers(tmp_path):
    """A model that cannot take newcomers says which can."""
    (tmp_path / "c.csv").write_text(
        "user,item\n" + "".join(f"{u},item {(u + k) % 5}\n" for u in range(5) for k in (0, 1))
    )
    document("fit", tmp_path / "c.csv", "--out", tmp_path / "m", "--model", "RobiRank", "--max-iter", 2)
    assert "RobiRank cannot take newcomers; fit one of AltSVM, Convex, " in complaint(
        "rank", tmp_path / "m", "--prefers", "item 1", "item 2"
    )


# -- probability ------------------------------------------------------------------------------------------------------


def test_probability_is_the_models(path, model):
    """probability prints what the model says, for people as a sentence."""
    told = document("probability", path, "user 3", "item 1", "item 2")
    expected = model.probability("user 3", "item 1", "item 2")[0]
    assert np.float32(told["probability"]) == expected and (told["left"], told["right"]) == ("item 1", "item 2")
    code, out, _ = run("probability", path, "user 3", "item 1", "item 2")
    assert code == 0 and out == f"user 3 would rather have item 1 than item 2 with probability {expected:.4f}\n"


def test_probability_needs_the_right_ids(path, model, tmp_path):
    """Two ids, or a model saved before its probabilities were calibrated, get a sentence that says what to do."""
    assert "3 ids go here, and 2 were given" in complaint("probability", path, "item 1", "item 2")
    assert "2 ids go here, and 3 were given" in complaint(
        "probability", path, "user 3", "item 1", "item 2", "--prefers", "item 1", "item 2"
    )
    model.fitted.slope.found = None
    model.save(tmp_path / "m", comparisons=False)
    said = complaint("probability", tmp_path / "m", "user 3", "item 1", "item 2")
    assert said.endswith("fit it again, with 'rather fit'") and "calibrate" not in said


# -- everyone, and candidates -----------------------------------------------------------------------------------------


def test_rank_for_everyone(path, model):
    """--everyone is everybody's ranking."""
    told = document("rank", path, "--everyone", "--top", 4)
    assert listed(told["ranking"]) == model.rank()["item"][:4].tolist() and told["everyone"]


def test_one_kind_of_person_at_a_time(path):
    """A user, everyone and a newcomer exclude each other, and one of them is needed."""
    newcomer = ("--prefers", "item 1", "item 2")
    for given in ((), ("user 1", "--everyone"), ("user 1", *newcomer), ("--everyone", *newcomer)):
        assert "rank takes a USER, --everyone, or a newcomer's" in complaint("rank", path, *given)
    for given in ((), ("user 1", "--all"), ("user 1", *newcomer), ("--all", *newcomer)):
        assert "recommend takes user ids or --all or a newcomer's" in complaint("recommend", path, *given)


def test_candidates(path, model, tmp_path):
    """--items and --items-file choose among the items, for rank and recommend; the default --k fits them."""
    some = ["item 3", "item 7", "item 1"]
    (tmp_path / "some.csv").write_text("\n".join(["note,item", *(f"-,{item}" for item in some)]) + "\n")
    (tmp_path / "list.txt").write_text("\n".join(["anything", *some]) + "\n")
    expected = model.rank("user 2", some)["item"].tolist()
    for given in (("--items", *some), ("--items-file", tmp_path / "some.csv"), ("--items-file", tmp_path / "list.txt")):
        assert listed(document("rank", path, "user 2", *given)["ranking"]) == expected
        assert listed(document("recommend", path, "user 2", *given)["recommendations"]) == expected
        newcomer = document("rank", path, "--prefers", "item 1", "item 2", *given)
        assert sorted(listed(newcomer["ranking"])) == sorted(some)
    (tmp_path / "list.txt").write_text("\n".join(some) + "\n")
    assert "put a line 'item' above it" in complaint("rank", path, "user 2", "--items-file", tmp_path / "list.txt")
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    said = complaint("rank", path, "user 2", "--items-file", tmp_path / "odd.csv")
    assert said.endswith("odd.csv' has no column 'item'; it has 'a', 'b': call one of them 'item'")
    (tmp_path / "odd.csv").write_text("film,song\n1,2\n")
    said = complaint("rank", path, "user 2", "--items-file", tmp_path / "odd.csv")
    assert said.endswith("may both be the item; call one of them 'item'")
    assert "give one of them" in complaint("rank", path, "user 2", "--items-file", "x.csv", "--items", "item 1")
    assert "'item 99' is not in the model" in complaint("rank", path, "user 2", "--items", "item 99")
    assert "--k is 4, but there are only 3 items" in complaint("recommend", path, "user 2", "--k", 4, "--items", *some)


def test_candidates_of_whole_numbers(numbered, tmp_path):
    """Candidates are whole numbers where the model's items are, from the shell and from a file without types."""
    path, _ = numbered
    (tmp_path / "some.csv").write_text("movieId\n105\n101\n")
    expected = rather.load(path).rank(3, [101, 105])["movieId"].tolist()
    assert listed(document("rank", path, 3, "--items", 101, 105)["ranking"]) == expected
    assert listed(document("rank", path, 3, "--items-file", tmp_path / "some.csv")["ranking"]) == expected


# -- users that the model does not know -------------------------------------------------------------------------------


def test_the_message_says_what_to_type(path, numbered, votes, tmp_path):
    """An unknown user gets the options that help, not the names of Python's methods."""
    said = {
        "rank": complaint("rank", path, "nobody"),
        "recommend": complaint("recommend", path, "user 1", "nobody"),
        "probability": complaint("probability", path, "nobody", "item 1", "item 2"),
    }
    (tmp_path / "t.csv").write_text("user,winner,loser\nnobody,item 1,item 2\n")
    said["evaluate"] = complaint("evaluate", path, tmp_path / "t.csv")
    assert all("user 'nobody' is not in the model; " in sentence for sentence in said.values())
    assert "--everyone" in said["rank"] and "--unknown everyone" in said["recommend"]
    assert "--unknown everyone" in said["evaluate"] and "--unknown skip" in said["evaluate"]
    assert all("--answers FILE" in said[name] for name in ("rank", "recommend", "probability"))
    assert not any("fold_in" in sentence for sentence in said.values())
    assert "(its users are text such as 'user 0')" in complaint("rank", path, 14)
    assert "'ann' is not in the model, whose users are whole numbers such as 1" in complaint("rank", numbered[0], "ann")
    assert "'007' is not in the model" in complaint("rank", numbered[0], "007")


def test_ids_of_digits_that_are_text(tmp_path):
    """An id of digits finds its user where the ids are text."""
    (tmp_path / "v.csv").write_text("user,winner,loser\n14,1,2\nx,2,1\n")
    document("fit", tmp_path / "v.csv", "--out", tmp_path / "m")
    assert document("rank", tmp_path / "m", 14)["user"] == "14"


def test_unknown_users_in_recommendations(path, model):
    """--unknown everyone gives them everybody's list, skip none and says how many, on stderr and in the document."""
    told = document("recommend", path, "user 1", "nobody", "--k", 2, "--unknown", "everyone")
    expected = model.recommend(["user 1", "nobody"], k=2, unknown="everyone")
    assert listed(told["recommendations"]) == expected["item"].tolist() and told["as_everyone"] == 1
    code, out, err = run("recommend", path, "user 1", "nobody", "--k", 2, "--unknown", "skip", "--json")
    told = json.loads(out)
    assert (code, told["skipped"], told["users"]) == (0, 1, 1)
    assert {row["user"] for row in told["recommendations"]} == {"user 1"}
    assert err == "rather: 1 of 2 users are not known to the model and were skipped\n"
    assert json.loads(run("recommend", path, "nobody", "--unknown", "skip", "--json")[1])["recommendations"] == []


def test_unknown_users_of_another_kind(numbered):
    """A word among whole numbers is a stranger like any other, if strangers are allowed."""
    path, _ = numbered
    told = document("recommend", path, 3, "ann", "--k", 1, "--unknown", "everyone")
    assert [row["user"] for row in told["recommendations"]] == ["3", "ann"] and told["as_everyone"] == 1
    alone = document("recommend", path, 3, "--k", 1)["recommendations"][0]
    assert told["recommendations"][0]["item"] == alone["item"] and alone["user"] == 3


def test_unknown_users_in_evaluation(path, model, votes, tmp_path):
    """evaluate judges strangers by everybody's ranking or skips them, as the library does, and counts them."""
    test = tmp_path / "test.csv"
    test.write_text(votes.read_text() + "nobody,item 1,item 2\nnoone,item 3,item 2\n")
    comparisons = rather.Comparisons.from_frame(read_file(test))
    told = document("evaluate", path, test, "--unknown", "everyone")
    assert told["metrics"] == {"accuracy": rather.pairwise_accuracy(model, comparisons, unknown="everyone")}
    assert (told["skipped"], told["as_everyone"], told["users"]) == (0, 2, {"accuracy": 82})
    code, out, err = run("evaluate", path, test, "--unknown", "skip", "--json")
    told = json.loads(out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rather.UnknownUserWarning)
        expected = rather.pairwise_accuracy(model, comparisons, unknown="skip")
    assert code == 0 and told["metrics"] == {"accuracy": expected} and told["skipped"] == 2
    assert err == "rather: 2 of 82 users are not known to the model and were skipped\n"
    assert re.search(r"skipped +2 users", run("evaluate", path, test, "--unknown", "skip")[1])


def test_an_evaluation_of_strangers_alone(path, tmp_path):
    """A file of which the model knows nobody is not judged, whatever is done about strangers."""
    (tmp_path / "t.csv").write_text("user,winner,loser\nnobody,item 1,item 2\n")
    for choice in ("everyone", "skip"):
        said = complaint("evaluate", path, tmp_path / "t.csv", "--unknown", choice)
        assert "the model knows none of the test users" in said


# -- how sure ---------------------------------------------------------------------------------------------------------


def test_evaluation_says_how_sure_it_is(numbered):
    """Every metric comes with its standard error and its number of users, for people as mean ± error."""
    path, ratings = numbered
    mean = rather.ndcg(rather.load(path), read_file(ratings), 10, "userId", "movieId", "stars")
    told = document("evaluate", path, ratings, "--metric", "ndcg")
    assert told["metrics"] == {"ndcg@10": mean} and told["standard_errors"] == {"ndcg@10": mean.standard_error}
    assert told["users"] == {"ndcg@10": 12}
    out = run("evaluate", path, ratings, "--metric", "ndcg")[1]
    assert f"{mean:.4f} ± {mean.standard_error:.4f} (12 users)" in out


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_every_users_value(numbered, tmp_path, suffix):
    """--per-user writes one row a user with every metric, under the data's own name for users."""
    path, ratings = numbered
    out = tmp_path / f"values.{suffix}"
    told = document("evaluate", path, ratings, "--per-user", out)
    assert told["per_user"] == str(out)
    values = {name: list(read_file(out)[name]) for name in ("userId", "ndcg@10", "accuracy")}
    table = rather.ndcg(rather.load(path), read_file(ratings), 10, "userId", "movieId", "stars", per_user=True)
    assert [int(str(user)) for user in values["userId"]] == table["userId"].tolist()
    assert [float(str(value)) for value in values["ndcg@10"]] == table["ndcg"].tolist()
