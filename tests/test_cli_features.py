"""Features on the command line: what is known of items and people, learned from, told, and used for what is new."""

import json
import re

import numpy as np
import pytest

import rather
from rather.addresses import MESSAGES
from rather.cli.features import values
from rather.data import table_files
from rather.data.table_files import read_file
from shell import complaint, document, run

pytestmark = pytest.mark.usefixtures("brief_search")

GENRES = ("comedy", "crime", "drama")
OLD = 50  # films that are voted on; there are ten more


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Files of a world in which the genre of a film decides: votes, later votes, films, later films, people."""
    folder, rng = tmp_path_factory.mktemp("world"), np.random.default_rng(0)
    genre, taste = rng.integers(3, size=60), rng.normal(scale=2, size=(80, 3))

    def votes(name, people, films, each):
        rows = ["user,winner,loser"]
        for user in np.repeat(people, each).tolist():
            a, b = rng.choice(films, 2, replace=False).tolist()
            worth = taste[user, genre[a]] - taste[user, genre[b]]
            a, b = (a, b) if rng.random() < 1 / (1 + np.exp(-worth)) else (b, a)
            rows.append(f"u{user},f{a},f{b}")
        (folder / name).write_text("\n".join(rows) + "\n")

    def films(name, some):
        rows = ["filmId;title;genres;year"]
        for film in some:
            also, year = "|old" if film % 3 == 0 else "", "" if film % 7 == 0 else 1950.5 + film % 9
            rows.append(f"f{film};film no. {film};{GENRES[genre[film]]}{also};{year}")
        (folder / name).write_text("\n".join(rows) + "\n")

    votes("votes.csv", range(75), range(OLD), 25)
    votes("later.csv", range(70, 80), range(40, 55), 5)
    films("films.csv", range(OLD))
    films("more.csv", range(OLD - 5, 60))
    likes = (f"u{user},{GENRES[taste[user].argmax()]},{20 + user % 30}" for user in range(75))
    (folder / "people.csv").write_text("\n".join(["user,likes,age", *likes]) + "\n")
    late = (f"u{user},{GENRES[taste[user].argmax()]},30" for user in range(75, 80))
    (folder / "late.csv").write_text("\n".join(["user,likes,age", *late]) + "\n")
    return folder


@pytest.fixture(scope="module")
def told(world):
    """What a fit to votes, films and people says; the model is model.rather."""
    features = ("--item-features", world / "films.csv", "--user-features", world / "people.csv")
    return document("fit", world / "votes.csv", "--out", world / "model.rather", *features)


@pytest.fixture
def path(world, told):
    return world / "model.rather"


@pytest.fixture(scope="module")
def plain(world):
    """A model file without features."""
    document("fit", world / "votes.csv", "--out", world / "plain.rather", "--rank", 2)
    return world / "plain.rather"


def listed(rows):
    return [row["item"] for row in rows]


# -- fit --------------------------------------------------------------------------------------------------------------


def test_fit_tells_what_helped(told, path):
    """The document has every block with what it gained, and what was said of the columns."""
    items, users = told["features"]["item"], told["features"]["user"]
    used = {block["block"]: block["used"] for block in items["blocks"] + users["blocks"]}
    assert used == {"year": False, "genres": True, "age": False, "likes": True}
    genres = next(block for block in items["blocks"] if block["block"] == "genres")
    assert genres["columns"] == 4 and genres["strength"] > 0 and genres["gain"] > 5 * genres["error"] > 0
    assert next(block for block in items["blocks"] if block["block"] == "year")["strength"] is None
    assert "title: left out, since no value of it has 2 rows or more" in items["said"]
    assert "year: missing in 8 of 50 rows" in items["said"] and items["only_described"] == 0
    assert rather.load(path).features_["used"].sum() == 2


def test_fit_is_the_librarys(world, told, path):
    """The same tables given to the library make the same model."""
    films, people = read_file(world / "films.csv"), read_file(world / "people.csv")
    films = {"item": films["filmId"], "genres": films["genres"], "year": values(films["year"])}
    model = rather.AltSVM().fit(
        rather.Comparisons.from_frame(read_file(world / "votes.csv")), item_features=films, user_features=people
    )
    np.testing.assert_array_equal(model.user_factors_, rather.load(path).user_factors_)


def test_fit_tells_people(world, tmp_path):
    """A few lines for each table; items that are only described join the others and are counted."""
    table = {name: list(column) for name, column in read_file(world / "films.csv").items()}
    for name, value in (("filmId", "new"), ("title", "New"), ("genres", "crime"), ("year", "1999.5")):
        table[name].append(value)
    table_files.write_table(tmp_path / "f.parquet", {name: np.array(c, object) for name, c in table.items()})
    fit = ("fit", world / "votes.csv", "--out", tmp_path / "m", "--rank", 3)
    code, out, err = run(*fit, "--item-features", tmp_path / "f.parquet")
    assert (code, err) == (0, "")
    assert re.search(r"^items' features +.*genres \(4 columns\) used, log loss -0\.\d+ \+- 0\.\d+", out, re.M)
    assert re.search(r"^ +items that are described and were never compared: 1$", out, re.M)
    assert "new" in rather.load(tmp_path / "m").items_.tolist()
    assert run(*fit, "--item-features", world / "films.csv", "--quiet") == (0, "", "")


@pytest.mark.filterwarnings("always:.*have no row in:UserWarning")
def test_items_without_features_are_one_line(world, tmp_path):
    """A warning is a line on standard error in the words of the shell, and the fit goes on."""
    rows = (world / "films.csv").read_text().splitlines(keepends=True)
    (tmp_path / "few.csv").write_text("".join(rows[:1] + rows[4:]))
    features = ("--item-features", tmp_path / "few.csv")
    code, out, err = run("fit", world / "votes.csv", "--out", tmp_path / "m", "--rank", 2, "--json", *features)
    assert code == 0 and json.loads(out)["features"]["item"]["blocks"]
    said = "3 of 50 items, such as 'f0', have no row in the table of their features"
    assert err == f"rather: {said}; they count as average. See {MESSAGES}#no-features-row\n"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (["1.5", "", "2"], [1.5, None, 2.0]),
        (["1e3", "NA", "-.5", " "], [1000.0, None, -0.5, None]),
        (["007", "010"], ["007", "010"]),
        (["1.5", "", "x"], ["1.5", None, "x"]),
        (["a|b", "NA"], ["a|b", "NA"]),
        (["1_000", "2"], ["1_000", "2"]),
        (["", "NA"], [None, None]),
        (["inf", "-1"], [np.inf, -1.0]),
    ],
    ids=str,
)
def test_columns_of_text(fields, expected):
    """Numbers are those that all are written as numbers; codes and words stay text."""
    got = values(np.array(fields, dtype=object))
    assert [None if x is None or x != x else x for x in got.tolist()] == expected
    assert (got.dtype == float) == any(isinstance(x, float) for x in expected)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("item,kind", None), ("movieId,kind", None), ("id,kind", None), ("artist,ID,kind", None), ("film,kind", None),
        ("what,kind", "has no column 'item'; it has 'what', 'kind': call one of them 'item'"),
        ("film,song,kind", "'film' and 'song' of"), ("movieId,filmId,kind", "may both be the item"),
    ],
    ids=str,
)  # fmt: skip
def test_the_column_of_ids(tmp_path, header, expected):
    """It is called as in the data, item, or like it; of several the one that ends in id; else it is a mistake."""
    (tmp_path / "v.csv").write_text("user,winner,loser\n" + "ann,1,2\nann,3,2\nbob,2,1\nbob,4,3\n" * 3)
    at = [name.lower().endswith("id") for name in header.split(",")]
    keyed = at.index(True) if any(at) else 0
    rows = ([f"x{n % 2}"] * keyed + [str(n)] + [f"x{n % 2}"] * (header.count(",") - keyed) for n in range(1, 5))
    (tmp_path / "f.csv").write_text("\n".join([header, *map(",".join, rows)]) + "\n")
    fit = ("fit", tmp_path / "v.csv", "--out", tmp_path / "m", "--rank", 1, "--item-features", tmp_path / "f.csv")
    if expected is None:
        assert "kind" in [block["block"] for block in document(*fit)["features"]["item"]["blocks"]]
    else:
        assert expected in complaint(*fit)


def test_ids_called_as_in_the_data(tmp_path):
    """Of ratings whose item has a name of its own, the table of features may have that too, whole numbers or text."""
    rows = [f"{user},{item},{1 + (user + item) % 5}" for user in range(9) for item in range(8)]
    (tmp_path / "r.csv").write_text("\n".join(["user,what,rating", *rows]) + "\n")
    films = [f"{item},{'odd' if item % 2 else 'even'},x{item % 3}" for item in range(8)]
    (tmp_path / "f.csv").write_text("\n".join(["what,kind,item", *films]) + "\n")
    fit = ("fit", tmp_path / "r.csv", "--item", "what", "--out", tmp_path / "m", "--rank", 1, "--reg", 9)
    told = document(*fit, "--item-features", tmp_path / "f.csv")
    assert [block["block"] for block in told["features"]["item"]["blocks"]] == ["kind", "item"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\nf1,2\nf2,3\n", "has no column 'item'; it has 'a', 'b': call one of them 'item'"),
        ("item,x\ng1,2\ng2,3\n", "none of the 50 items that were compared, such as 'f0', has a row in the table"),
        ("item,x\nf1,2.5\nf2,inf\nf3,1\n", "f.csv, line 3: the column 'x' (item 'f2') is inf; numbers must be from"),
        ("item,x,y\nf1,3,a\nf2,3,a\n", "the item features tell no two items apart (x: left out, since every value"),
        ("item\nf1\nf2\n", "the item features tell no two items apart"),
        ("item,x\nf1,2\nf1,3\n", "f.csv, line 3: item 'f1' has another row of features; keep one of them"),
        ("item,x\nf1,2\n,3\n", "f.csv, line 3: the item (column 'item') is empty"),
        ("item,x\n", "has no rows below its header"),
    ],
)  # fmt: skip
def test_tables_that_are_none(world, tmp_path, text, said):
    """A table that cannot be used gets one sentence, and there is no model."""
    (tmp_path / "f.csv").write_text(text)
    fit = ("fit", world / "votes.csv", "--out", tmp_path / "m", "--item-features", tmp_path / "f.csv")
    assert said in complaint(*fit)
    assert not (tmp_path / "m").exists()


def test_fits_that_do_not_take_features(world, tmp_path):
    """Other models and files under two names are refused in one sentence."""
    fit = ("fit", world / "votes.csv", "--out", tmp_path / "m", "--item-features", world / "films.csv")
    assert "BPR does not learn from features" in complaint(*fit, "--model", "BPR")
    assert "PaperAltSVM does not learn from features" in complaint(*fit, "--model", "PaperAltSVM")
    assert "must be different files" in complaint(*fit, "--user-features", world / "films.csv")
    assert "there is no file 'none.csv'" in complaint(*fit[:-1], "none.csv")


# -- tastes -----------------------------------------------------------------------------------------------------------


def test_tastes_are_the_models(path):
    """The table is the model's, by what moves the crowd, divides it, or moves the user."""
    expected = rather.load(path).tastes("u3")
    told = document("tastes", path, "u3", "--by", "own")
    assert [row["feature"] for row in told["tastes"]] == expected["feature"][np.argsort(-abs(expected["own"]))].tolist()
    assert {row["feature"]: row["own"] for row in told["tastes"]} == dict(
        zip(expected["feature"].tolist(), expected["own"].tolist(), strict=True)
    )
    told = document("tastes", path, "--by", "spread", "--top", 2)
    assert len(told["tastes"]) == 2 and told["of"] == 4 and set(told["tastes"][0]) == {"feature", "mean", "spread"}
    assert not any("old" in row["feature"] for row in told["tastes"]) and set(told["features"]) == {"item", "user"}
    crowd = [abs(row["mean"]) for row in document("tastes", path)["tastes"]]
    assert crowd == sorted(crowd, reverse=True)


def test_tastes_for_people(path):
    """Above the table there is a line for every block; below it, how much was left out."""
    code, out, err = run("tastes", path, "u3", "--top", 3)
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert lines[0] == "items' features year off: did not help" and lines[1].startswith("genres (4 columns) used")
    assert "feature mean spread own" in lines and lines[-1] == "in log-odds; 1 more with --top 4"
    assert sum(line.startswith("genres: ") for line in lines) == 3


def test_tastes_that_there_are_not(path, plain, world, tmp_path):
    """Models without features, users that are not known and orders that there are not get a sentence."""
    said = complaint("tastes", plain)
    assert said == "rather: the model was fitted without features of items; leave them out"
    assert "user 'nobody' is not in the model; leave USER out" in complaint("tastes", path, "nobody")
    assert "name the USER" in complaint("tastes", path, "--by", "own")
    assert "--top is 0" in complaint("tastes", path, "--top", 0)
    document("fit", world / "votes.csv", "--out", tmp_path / "m", "--model", "Global")
    assert "Global does not learn from features" in complaint("tastes", tmp_path / "m")
    films = [f"f{film},{film * 7919 % 50 * 1.5}" for film in range(OLD)]
    (tmp_path / "f.csv").write_text("\n".join(["item,noise", *films]) + "\n")
    fit = ("fit", world / "votes.csv", "--out", tmp_path / "m", "--rank", 2, "--item-features", tmp_path / "f.csv")
    assert not document(*fit)["features"]["item"]["blocks"][0]["used"]
    code, out, _ = run("tastes", tmp_path / "m")
    assert code == 0 and "no feature of items helped" in out and document("tastes", tmp_path / "m")["tastes"] == []


# -- newcomers --------------------------------------------------------------------------------------------------------


def test_newcomers_of_whom_something_is_known(path):
    """--feature alone, or with answers, is what fold_in makes of the same."""
    model = rather.load(path)
    drama = document("rank", path, "--feature", "likes=drama", "--feature", "age=30")
    expected = model.fold_in([], features={"likes": "drama", "age": 30})
    assert listed(drama["ranking"]) == expected.rank()["item"].tolist()
    assert (drama["answers"], drama["features"]) == (0, {"likes": "drama", "age": "30"})
    crime = document("rank", path, "--feature", "likes=crime")["ranking"]
    assert listed(crime) != listed(drama["ranking"])
    both = document("recommend", path, "--feature", "likes=crime", "--prefers", "f1", "f2", "--k", 3)
    one = model.fold_in([("f1", "f2")], features={"likes": "crime"})
    assert listed(both["recommendations"]) == one.recommend(3)["item"].tolist() and both["answers"] == 1
    left, right = listed(crime)[0], listed(crime)[-1]
    told = document("probability", path, left, right, "--feature", "likes=crime")
    assert told["probability"] > 0.5 and told["features"] == {"likes": "crime"}
    assert len(document("recommend", path, "--feature", "age=", "--exclude-seen")["recommendations"]) == 10


def test_newcomers_of_whom_nothing_can_be_known(path, plain):
    """A feature that is none, a value that is none, and a model without them get a sentence."""
    for given, said in (
        ("likes", "--feature is 'likes'; it must be NAME=VALUE"),
        ("size=3", "there is no user feature 'size'; the features are 'age', 'likes'"),
        ("age=old", "the user's 'age' is 'old'; it must be a number"),
        ("age=inf", "the user's 'age' is inf"),
    ):
        assert said in complaint("rank", path, "--feature", given)
    assert "'age' twice" in complaint("rank", path, "--feature", "age=3", "--feature", "age=4")
    assert "--answers, --prefers or --feature" in complaint("rank", path, "u1", "--feature", "age=3")
    assert "fitted without features of users" in complaint("rank", plain, "--feature", "age=3")


# -- update -----------------------------------------------------------------------------------------------------------


def test_described_items_are_added(path, world, tmp_path):
    """Without newer votes the items of a table that are new are added by their features; so again, and it is said."""
    out = tmp_path / "m"
    told = document("update", path, "--item-features", world / "more.csv", "--out", out)
    assert (told["new_items"], told["items"], told["new_users"], told["answers"]) == (10, 60, 0, True)
    model, genre = rather.load(out), read_file(world / "more.csv")
    kind = {film: kinds.split("|")[0] for film, kinds in zip(genre["filmId"], genre["genres"], strict=True)}
    new = [film for film in kind if int(film[1:]) >= OLD]
    ranked = document("rank", out, "--feature", "likes=crime", "--items", *new)["ranking"]
    assert ranked == sorted(ranked, key=lambda row: kind[row["item"]] != "crime")
    assert set(new) <= set(model.items_.tolist()) and len(rather.load(path).items_) == OLD
    code, shown, err = run("update", path, "--item-features", world / "more.csv", "-o", out)
    assert (code, err) == (0, "") and "10 items, now 60 in all" in shown
    said = complaint("update", out, "--item-features", world / "more.csv")
    assert said.endswith(
        "none of the items is new to the model; a FILE of newer data takes in more about those it knows"
    )


def test_newer_votes_with_features(path, world, tmp_path):
    """Newer votes, with what is known of their items and people, are what the library makes of them."""
    features = ("--item-features", world / "more.csv", "--user-features", world / "late.csv")
    told = document("update", path, world / "later.csv", *features, "--out", tmp_path / "m")
    assert (told["new_users"], told["new_items"], told["comparisons"]) == (5, 10, 75 * 25 + 50)
    films = read_file(world / "more.csv")
    films = {"item": films["filmId"], "genres": films["genres"], "year": values(films["year"])}
    newer = rather.Comparisons.from_frame(read_file(world / "later.csv"))
    model = rather.load(path).update(newer, item_features=films, user_features=read_file(world / "late.csv"))
    np.testing.assert_array_equal(model.fitted.scorer.V, rather.load(tmp_path / "m").fitted.scorer.V)
    told = document("update", tmp_path / "m", world / "later.csv")
    assert told["new_items"] == told["new_users"] == 0


def test_updates_that_are_mistakes(path, plain, world, tmp_path):
    """One line each, and the model file is as it was."""
    films, before = ("--item-features", world / "films.csv"), path.read_bytes()
    (tmp_path / "few.csv").write_text("item,year\nnew,1999\n")
    (tmp_path / "odd.csv").write_text("item,genres,year\nnew,crime,long ago\n")
    document("fit", world / "votes.csv", "--out", tmp_path / "once", "--rank", 2, "--reg", 9, "--slim", *films)
    document("fit", world / "votes.csv", "--out", tmp_path / "bpr", "--model", "BPR", "--max-iter", 2)
    document("fit", world / "votes.csv", "--out", tmp_path / "mean", "--model", "Global")
    for argv, said in (
        ((path,), "update takes a FILE of newer data, or new items by --item-features FILE"),
        ((path, "--user-features", world / "late.csv"), "--user-features goes with a FILE of newer data"),
        ((path, "--old", world / "votes.csv", *films), "--old goes with a FILE of newer data"),
        ((path, "--item-features", tmp_path / "few.csv"), "the item features lack 'genres', which was learned from"),
        ((path, "--item-features", tmp_path / "odd.csv"), "is 'long ago'; it must be a number"),
        ((path, "--item-features", path), "must be different files"),
        ((plain, *films), "fitted without features of items"),
        ((tmp_path / "mean", *films), "Global does not learn from features"),
        ((tmp_path / "bpr", *films), "BPR does not learn from features"),
        ((tmp_path / "bpr", world / "later.csv", *films), "BPR cannot be updated"),
        ((tmp_path / "once", world / "later.csv", "--old", world / "votes.csv"), "fit it without --slim"),
    ):
        assert said in complaint("update", *argv), argv
    assert path.read_bytes() == before
