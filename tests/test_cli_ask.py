"""rather ask, and lists that say how sure they are: conversations from the first question to the file of answers."""

import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict

import numpy as np
import pytest

import rather
from rather.cli import ask as asking
from rather.cli.main import main
from rather.data import table_files
from rather.data.table_files import read_file
from rather.models.sure import Sure
from shell import complaint, document, run

pytestmark = pytest.mark.usefixtures("brief_search")


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    world = rather.simulate(n_users=100, n_items=12, rank=2, per_user=10)
    path = tmp_path_factory.mktemp("ask") / "votes.csv"
    table_files.write_table(path, world.comparisons.to_frame("dict"))
    return path


@pytest.fixture(scope="module")
def path(votes):
    """A model file without its comparisons."""
    document("fit", votes, "--out", votes.parent / "m.rather", "--slim")
    return votes.parent / "m.rather"


@pytest.fixture(scope="module")
def updatable(votes):
    """A model file with its comparisons."""
    document("fit", votes, "--out", votes.parent / "u.rather")
    return votes.parent / "u.rather"


@pytest.fixture(scope="module")
def model(path):
    return rather.load(path)


@pytest.fixture(scope="module")
def titles(tmp_path_factory):
    """What two of the items, by one name, and a third are called."""
    file = tmp_path_factory.mktemp("titles") / "films.csv"
    file.write_text("id,year,name\nitem 0,1942,Laura\nitem 1,1944,Laura\nitem 2,1979,Alien\nitem 99,1980,Fame\n")
    return file


def lines(path, said, *options):
    """The documents of a conversation with a program that says these lines."""
    piped = "".join(f"{line}\n" for line in said).encode()
    code, out, err = run("ask", path, "--json", *options, piped=piped)
    assert (code, err) == (0, "")
    return [json.loads(line) for line in out.splitlines()]


def events(path, said, *options):
    """The same without questions: what came of each line, and the end."""
    return [told for told in lines(path, said, *options) if told["event"] != "question"]


def questions(path, said, *options):
    """The pairs that were asked."""
    return [(q["left"], q["right"]) for q in lines(path, said, *options) if q["event"] == "question"]


def told(path, said, *options):
    """What a person sees."""
    code, out, err = run("ask", path, *options, piped="".join(f"{line}\n" for line in said).encode())
    assert (code, err) == (0, "")
    return out


# -- one conversation -------------------------------------------------------------------------------------------------


def test_a_conversation_is_the_librarys(path, model):
    """Questions, lists with their intervals and what is settled are what the library says of the same answers."""
    said, answers = ["left", "right", "tie"], []
    got = lines(path, said, "--top", 4, "--interval", 0.8)
    assert [line["event"] for line in got] == ["question", "list"] * 3 + ["question", "end"]
    for n, reply in enumerate(said):
        asked, after = got[2 * n], got[2 * n + 1]
        question = rather.next_question(model, model.fold_in(answers, asked=True))
        assert (asked["left"], asked["right"], asked["policy"]) == (question.left, question.right, "everything")
        assert (asked["probability"], asked["information"]) == (question.probability, question.information)
        left, right = question.left, question.right
        answers.append({"left": (left, right), "right": (right, left), "tie": (left, right, "tie")}[reply])
        person = model.fold_in(answers, asked=True)
        expected = person.rank(interval=0.8, top=4)[:4]
        assert after["answered"] == n + 1 and len(after["ranking"]) == 4
        for name in ("item", "score", "rank", "best", "worst", "p_top"):
            assert [row[name] for row in after["ranking"]] == expected[name].tolist()
        certainty = rather.top_certainty(model, person)
        assert after["top_certainty"] == asdict(certainty) | {"left": 66 - n - 1}
    end = got[-1]
    assert [
        (a["winner"], a["loser"], "tie") if a["tie"] else (a["winner"], a["loser"]) for a in end["answers"]
    ] == answers
    assert end["ranking"] == got[-3]["ranking"] and end["out"] is None


def test_answers_change_the_list(path):
    """The other answer to the same question makes another list, and what was preferred is worth more by it."""
    (left, right), *_ = questions(path, ["left"])
    one, other = (events(path, [reply], "--top", 12)[0]["ranking"] for reply in ("left", "right"))
    worth = [{row["item"]: row["score"] for row in ranking} for ranking in (one, other)]
    assert worth[0][left] - worth[0][right] > worth[1][left] - worth[1][right]
    assert [row["item"] for row in one] != [row["item"] for row in other]


def test_undo_undoes_everything(path):
    """The list, what is settled and the question are exactly as before, however far back one goes."""
    got = lines(path, ["left", "right", "unseen both", "undo", "undo", "right"])
    first, second, _, third, again = [line for line in got if line["event"] == "list"][:5]
    assert third == second and again == first and second["ranking"] != first["ranking"]
    asked = [line for line in got if line["event"] == "question"]
    assert asked[4] == asked[2] and asked[5] == asked[1] and asked[3] != asked[2]
    assert got[-1]["ranking"] == second["ranking"] and got[-1]["unseen"] == []
    assert events(path, ["left", "undo", "undo"])[2] == {"event": "error", "error": "there is nothing to undo"}


def test_what_was_not_seen_never_comes_back(path):
    """Items that the person does not know are in no later question; they may still be in the list."""
    said = ["unseen left", "unseen both", *["left"] * 20]
    first, second, *later = questions(path, said)
    gone = {first[0], *second}
    assert len(gone) == 3 and len(later) > 10
    assert not gone & {item for pair in later for item in pair}
    *_, end = lines(path, said, "--top", 12)
    assert set(end["unseen"]) == gone and gone < {row["item"] for row in end["ranking"]}


def test_bad_input_is_asked_again(path):
    """What is no answer gets one sentence and the same question, and counts for nothing."""
    bad = ["", "3", "unseen", "unseen 7", "LEFTT", "\x00\x1b[A"]
    got = lines(path, [*bad, "left"])
    assert [line["event"] for line in got[1 : 2 * len(bad) : 2]] == ["error"] * len(bad)
    assert all(got[2 * n] == got[0] for n in range(len(bad) + 1)) and got[-1]["answered"] == 1
    assert all("\n" not in line["error"] and "type" in line["error"] for line in got if line["event"] == "error")
    out = run("ask", path, piped=b"\xff\xfe\n1\n")[1]
    assert "no answer; type 1 or left" in out and out.count("question 1\n") == 2 and "after 1 answer:" in out


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("1", "left"),
        (" R ", "right"),
        ("T", "tie"),
        ("x1", "unseen left"),
        ("x 2", "unseen right"),
        ("xb", "unseen both"),
    ],
)
def test_short_and_long_words(path, short, long):
    """Keys and words mean the same, in any case."""
    assert lines(path, [short, "1"]) == lines(path, [long, "left"])


def test_it_ends_in_order(path, tmp_path):
    """At the end of input, at quit and after --questions there is the list; nothing answered is nothing written."""
    out = tmp_path / "a.csv"
    (end,) = events(path, [], "--out", out)
    assert (end["ended"], end["answered"], end["out"]) == ("end of input", 0, None) and not out.exists()
    assert events(path, ["left", "quit", "left"])[-1]["ended"] == "quit"
    got = events(path, ["left", "unseen left", "undo", "undo", *["right"] * 9], "--questions", 3)
    assert got[-1]["answered"] == 3 and got[-1]["ended"] == "questions" and len(got) == 7
    assert "Nothing was answered; everybody's list" in told(path, ["q"])


def test_nothing_left_to_ask(path):
    """When all pairs are answered, or nothing is known, the conversation ends with a sentence, not an error."""
    pair = ("--candidates", "item 3", "item 5")
    answered, unseen = (events(path, [reply, "left"], *pair)[-1] for reply in ("tie", "unseen left"))
    assert (answered["answered"], unseen["answered"]) == (1, 0)
    assert "no pair left to ask" in answered["ended"] and "fewer than two candidates" in unseen["ended"]
    assert "no pair left to ask" in told(path, ["1"], *pair)
    assert "fewer than two candidates" in complaint("ask", path, "--candidates", "item 3")


# -- options ----------------------------------------------------------------------------------------------------------


def test_which_questions_are_asked(path, model):
    """--candidates, --aim, --familiar, --explore and --seed ask what the library asks."""
    some = ["item 3", "item 7", "item 1", "item 5"]
    assert {item for pair in questions(path, ["1"] * 6, "--candidates", *some) for item in pair} == set(some)
    for given, how in (
        (("--aim", "top"), {"aim": "top"}), (("--familiar",), {"prefer_familiar": True}),
        (("--explore", 1, "--seed", 5), {"explore": 1.0, "seed": 5}),
    ):  # fmt: skip
        asked, expected = lines(path, [], *given)[0], rather.next_question(model, model.fold_in([], asked=True), **how)
        assert [asked[name] for name in ("left", "right", "policy", "propensity")] == [
            expected.left, expected.right, expected.policy, expected.propensity,
        ]  # fmt: skip
    assert lines(path, [], "--explore", 1)[0]["policy"] == "random"


def test_titles(path, titles, tmp_path):
    """Items are shown by title, those of one name with their ids, those without by id."""
    pair = ("--candidates", "item 0", "item 2")
    asked = lines(path, [], *pair, "--titles", titles)[0]
    names = {asked["left"]: asked["left_title"], asked["right"]: asked["right_title"]}
    assert names == {"item 0": "Laura [item 0]", "item 2": "Alien"}
    rows = events(path, ["1"], "--titles", titles, "--top", 12)[0]["ranking"]
    assert {row["title"] for row in rows} >= {"Laura [item 0]", "Laura [item 1]", "Alien", "item 3"}
    out = told(path, ["1"], *pair, "--titles", titles)
    assert "  Alien\n" in out and "item 2" not in out
    (tmp_path / "t.csv").write_text("item,title\nelsewhere,Fame\n")
    assert "no title of any item of the model" in complaint("ask", path, "--titles", tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("item,colour\nitem 1,red\n")
    assert "has no column 'title'" in complaint("ask", path, "--titles", tmp_path / "t.csv")


def test_titles_of_whole_numbers(tmp_path):
    """Ids of a table of titles are whole numbers where the model's items are; so are those that are written."""
    world = rather.simulate(n_users=12, n_items=6, per_user=10)
    frame = world.comparisons.to_frame("dict")
    for side in ("winner", "loser"):
        frame[side] = np.array([int(item.split()[1]) for item in frame[side]])
    table_files.write_table(tmp_path / "v.csv", frame)
    document("fit", tmp_path / "v.csv", "--out", tmp_path / "m")
    (tmp_path / "t.csv").write_text("item,title\n" + "".join(f"{n},Film {n}\n" for n in range(6)))
    out = tmp_path / "a.parquet"
    end = lines(tmp_path / "m", ["1", "2"], "--titles", tmp_path / "t.csv", "--out", out)[-1]
    assert all(row["title"] == f"Film {row['item']}" for row in end["ranking"])
    wrote = read_file(out).to_pydict()
    assert [*zip(*wrote.values(), strict=True)] == [(a["winner"], a["loser"], a["tie"]) for a in end["answers"]]


def test_what_is_known_of_people(tmp_path):
    """--feature is part of the list from the first question on."""
    rng = np.random.default_rng(0)
    rows = [(u, *rng.permutation(6)[:2]) for u in range(40) for _ in range(15)]
    picked = [(u, max(a, b), min(a, b)) if u % 2 else (u, min(a, b), max(a, b)) for u, a, b in rows]
    (tmp_path / "v.csv").write_text("user,winner,loser\n" + "".join(f"u{u},i{w},i{x}\n" for u, w, x in picked))
    (tmp_path / "p.csv").write_text("user,kind\n" + "".join(f"u{u},{'odd' if u % 2 else 'even'}\n" for u in range(40)))
    document("fit", tmp_path / "v.csv", "--out", tmp_path / "m", "--user-features", tmp_path / "p.csv")
    first = {
        kind: events(tmp_path / "m", [], "--feature", f"kind={kind}")[-1]["ranking"][0]["item"]
        for kind in ("odd", "even")
    }
    assert first == {"odd": "i5", "even": "i0"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--top", 0), "--top is 0"),
        (("--questions", 0), "--questions is 0"),
        (("--interval", 1), "--interval is 1.0"),
        (("--explore", 2), "--explore is 2.0"),
        (("--seed", -1), "--seed is -1"),
        (("--candidates", "item 1", "item 99"), "'item 99' is not in the model"),
        (("--feature", "age=30"), "the model was fitted without features of users"),
        (("--titles", "-"), "standard input is for the answers"),
        (("--out", "answers.txt"), "must end in .csv or .parquet"),
    ],
)
def test_mistakes_are_said_before_anything_is_asked(path, options, said):
    """A mistake is one line, and no question is asked."""
    assert said in complaint("ask", path, *options, piped=b"1\n")


# -- files ------------------------------------------------------------------------------------------------------------


def test_answers_go_round(path, tmp_path):
    """What --out writes is read by rank --answers, which gives the same list, and by fit."""
    out = tmp_path / "answers.csv"
    end = lines(path, ["1", "unseen left", "t", "2", "1", "undo", "1"], "--out", out)[-1]
    assert end["out"] == str(out)
    rows = [f"{a['winner']},{a['loser']},{a['tie']}" for a in end["answers"]]
    assert out.read_text().splitlines() == ["winner,loser,tie", *rows] and len(rows) == 4
    again = document("rank", path, "--answers", out, "--asked", "--interval", 0.9, "--top", 5, "--top-of", 5)
    for row in again["ranking"]:
        del row["group"]
    assert again["answers"] == 4 and again["ranking"] == end["ranking"]
    fitted = document("fit", out, "--no-user", "--out", tmp_path / "m")
    assert (fitted["format"], fitted["items"]) == (
        "votes",
        len({x for a in end["answers"] for x in (a["winner"], a["loser"])}),
    )


def test_nothing_is_overwritten(path, tmp_path):
    """A file that is there is refused before the first question, and replaced only with --force and answers."""
    out = tmp_path / "answers.csv"
    out.write_text("precious")
    assert "is there already" in complaint("ask", path, "--out", out, piped=b"1\n")
    assert "different files" in complaint("ask", path, "--out", path, "--force", piped=b"1\n")
    lines(path, [], "--out", out, "--force")
    assert out.read_text() == "precious"
    lines(path, ["1"], "--out", out, "--force")
    assert out.read_text().startswith("winner,loser,tie\n")


def test_ctrl_c_is_an_end_in_order(path, tmp_path, monkeypatch):
    """What was answered before Ctrl-C is shown and written."""
    said = iter(["1\n", "x\n", "2\n", "2\n"])

    def line():
        reply = next(said, None)
        if reply is None:
            raise KeyboardInterrupt
        return reply

    monkeypatch.setattr(asking, "_line", line)
    code, out, err = run("ask", path, "--out", tmp_path / "a.csv")
    assert (code, err) == (0, "") and "Your list after 2 answers:" in out and "2 answers saved to" in out
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 3


def test_a_reader_that_leaves_loses_no_answers(path, tmp_path):
    """When nobody reads on, the answers are written all the same."""
    argv = ["ask", str(path), "--json", "--out", str(tmp_path / "a.csv")]
    code = f"import sys; from rather.cli.main import main; sys.exit(main({argv!r}))"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"left\n")
        process.stdin.close()
        assert process.wait() == 141
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 2


# -- for people -------------------------------------------------------------------------------------------------------


def test_what_a_person_sees(path):
    """The keys, the two items, and after each answer the list with its places and what is settled."""
    out = told(path, ["1", "x", "both", "u", "u"], "--top", 3)
    (left, right), *_ = questions(path, [])
    assert f"question 1\n  1  {left}\n  2  {right}\n" in out and "u: undo" in out
    places = re.findall(r"^ +[123] +item \d+ +\d+(?: to \d+)?", out, re.M)
    assert len(places) == 9  # after the answer, after it was undone, and in the end
    away = r"(some \d+ more answers|the 6[56] pairs left may not settle it)"  # of 12 items
    assert len(re.findall(rf"your top three: about \d+% settled, {away}", out)) == 3
    assert "which have you not seen: 1, 2 or both? both\n" in out and "undone; may be asked about again" in out
    assert "question 1 of 7\n" in told(path, [], "--questions", 7)


@pytest.mark.parametrize(
    ("share", "more", "left", "said"),
    [
        (0.41, 12, 12, "your top three: about 41% settled, some 12 more answers"),
        (0.7, 1, 500, "your top three: about 70% settled, one more answer"),
        (0.2, None, 100, "your top three: about 20% settled, more than 100 answers away"),
        (0.2, None, 99, "your top three: about 20% settled, the 99 pairs left may not settle it"),
        (0.2, None, 1, "your top three: about 20% settled, the one pair left may not settle it"),
        (0.2, None, 0, "your top three: about 20% settled, no pair is left to ask"),
        (0.85, 0, 0, "your top three: settled (about 85%)"),
    ],
)
def test_how_much_is_settled_in_a_sentence(share, more, left, said):
    assert asking._in_a_sentence(3, share, 0.8, more, left) == said


def test_no_more_answers_are_told_than_pairs_are_left(path):
    """Pairs with an item that is not known are never asked, nor are those of other items than the candidates."""
    candidates = [f"item {n}" for n in range(5)]
    got = lines(path, ["unseen left", *["1"] * 6], "--candidates", *candidates, "--top", 12)
    lists = [line["top_certainty"] for line in got if line["event"] in ("list", "end")]
    assert [known["left"] for known in lists] == [6, 5, 4, 3, 2, 1, 0]
    assert all(known["more_answers"] is None or known["more_answers"] <= known["left"] for known in lists)
    assert got[-1]["ended"].startswith("there is no pair left to ask")
    out = told(path, ["unseen left"], "--candidates", *candidates)
    assert "settled, the 6 pairs left may not settle it" in out and "more than 100" not in out
    few = told(path, ["x both"], "--candidates", *candidates[:2])
    assert "there is nothing to ask" in few and few.rstrip().endswith("no pair is left to ask")


def test_what_is_typed_is_not_said_twice(path, monkeypatch):
    """A terminal shows what is typed by itself; elsewhere it is written, so that the text can be read."""

    class Terminal(io.TextIOWrapper):
        def isatty(self):
            return True

    shown = {}
    for kind in (Terminal, io.TextIOWrapper):
        out = io.StringIO()
        monkeypatch.setattr(sys, "stdin", kind(io.BytesIO(b"x\n2\nq\n")))
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            assert main(["ask", str(path)]) == 0
        shown[kind] = out.getvalue()
    assert "1 or 2 (t, x, u, q)? x\nwhich have" in shown[io.TextIOWrapper]
    assert "1 or 2 (t, x, u, q)? which have" in shown[Terminal]


def test_help():
    """--help explains the lines of JSON."""
    code, out, _ = run("ask", "--help")
    assert code == 0 and all(f"'{event}'" in out for event in ("question", "list", "error", "end"))


# -- models -----------------------------------------------------------------------------------------------------------


def test_a_model_that_does_not_know(votes, tmp_path):
    """A file that was saved before its sureness was found, and models without any, are one line and 2."""
    rather.AltSVM(reg=5).fit(rather.Comparisons.from_frame(read_file(votes))).save(
        tmp_path / "early", comparisons=False
    )
    said = complaint("ask", tmp_path / "early", piped=b"1\n")
    assert "was saved without the scales of its posterior" in said and said.endswith("fit it again, with 'rather fit'")
    assert complaint("rank", tmp_path / "early", "--prefers", "item 1", "item 2", "--interval", 0.9) == said
    document("fit", votes, "--out", tmp_path / "one", "--model", "Global")
    assert (
        "Global has no posterior for one user; fit again with a column of users and without --model Global"
        in complaint("ask", tmp_path / "one")
    )
    assert document("rank", tmp_path / "one", "--prefers", "item 1", "item 2", "--interval", 0.9)["ranking"]


def test_models_of_every_kind_can_be_asked(files, tmp_path):
    """Ratings, menus, rankings and clicks: what AltSVM makes of them can be asked."""
    for name in ("arena", "menus", "ratings", "rankings", "clicks"):
        document("fit", files[name], "--out", tmp_path / name, "--model", "AltSVM", "--rank", 2, "--max-iter", 5)
        assert events(tmp_path / name, ["1"])[-1]["answered"] == 1


def test_an_interrupted_fit_keeps_its_probabilities(votes, tmp_path, monkeypatch):
    """Ctrl-C while it is learned how sure to be of people leaves a model without that alone."""
    fit = ("fit", votes, "--out", tmp_path / "m", "--reg", 5, "--slim")

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Sure, "_crowd", interrupt)
        code, _, err = run(*fit)
    assert code == 130 and f"saved to {tmp_path / 'm'}, without intervals" in err
    assert rather.load(tmp_path / "m").slope_ is not None
    assert "was saved without the scales of its posterior" in complaint("ask", tmp_path / "m")


def test_an_updated_model_can_be_asked(updatable, tmp_path):
    """update keeps what was found, also where it leaves the comparisons out."""
    (tmp_path / "today.csv").write_text("user,winner,loser\nnew,item 1,item 2\nnew,item 3,item 4\n")
    document("update", updatable, tmp_path / "today.csv", "--out", tmp_path / "m")
    before, after = (rather.load(file).fitted.taste_prior for file in (updatable, tmp_path / "m"))
    assert after.sureness == before.sureness and after.crowd is not None
    assert document("rank", tmp_path / "m", "new", "--interval", 0.9)["ranking"]


# -- rank and differences ---------------------------------------------------------------------------------------------

SOMEONE = ("--prefers", "item 1", "item 2")


def test_rank_says_how_sure_it_is(updatable):
    """--interval is the library's, for a user, for everybody, and for a newcomer."""
    model = rather.load(updatable)
    some = [("item 1", "item 2")]
    for who, expected in (
        (("user 3",), model.rank("user 3", interval=0.8, top=3)),
        (("--everyone",), model.rank(interval=0.8, top=3)),
        (SOMEONE, model.fold_in(some).rank(interval=0.8, top=3)),
    ):
        got = document("rank", updatable, *who, "--interval", 0.8, "--top-of", 3, "--top", 7)
        assert (got["interval"], got["top_of"], len(got["ranking"])) == (0.8, 3, 7)
        for name in ("item", "score", "rank", "best", "worst", "p_top", "group"):
            assert [row[name] for row in got["ranking"]] == expected[name][:7].tolist()
    out = run("rank", updatable, "user 3", "--interval", 0.8, "--items", "item 1", "item 2")[1]
    assert out.splitlines()[0].split() == ["rank", "item", "score", "best", "worst", "top", "2", "group"]
    assert "with 80% probability from place best to worst" in out
    plain = document("rank", updatable, "user 3")
    assert (plain["interval"], plain["top_of"], plain["scale"]) == (None, None, None)


def test_labels_are_the_tables(updatable):
    """Where nothing is said, the label, --json, the library and its table name one and the same top."""
    table = rather.load(updatable).rank("user 3", interval=0.8)
    assert table.about == {"interval": 0.8, "top": 3, "scale": "log-odds"}  # 3 of 12 items, 10 of twenty and more
    got = document("rank", updatable, "user 3", "--interval", 0.8)
    assert (got["interval"], got["top_of"], got["scale"]) == (0.8, 3, "log-odds")
    assert [row["p_top"] for row in got["ranking"]] == table["p_top"].tolist()
    lines = run("rank", updatable, "user 3", "--interval", 0.8)[1].splitlines()
    assert lines[0].split() == ["rank", "item", "score", "best", "worst", "top", "3", "group"]
    shares = [f"{share:.0%}" for share in table["p_top"]]
    assert [line.split()[-2] for line in lines[1:13]] == shares
    assert abs(sum(table["p_top"]) - 3) < 1e-9  # so many places there are


def test_the_list_of_ask_says_of_how_many(updatable):
    """The probability of being among the first N comes with that N, which may be cut to the number of items."""
    lines = run("ask", updatable, "--json", "--top", 50, piped=b"left\n")[1].splitlines()
    assert [json.loads(line).get("top_of") for line in lines] == [None, 12, None, 12]


def test_differences_are_the_librarys(updatable):
    """From the typical person, from another user, and of a newcomer; most surely first."""
    model = rather.load(updatable)
    for who, expected in (
        (("user 3",), model.difference("user 3")),
        (("user 3", "user 4"), model.difference("user 3", "user 4")),
        (SOMEONE, model.fold_in([("item 1", "item 2")]).difference()),
    ):
        got = document("differences", updatable, *who, "--top", 5)
        for name in ("item", "difference", "low", "high", "probability"):
            assert [row[name] for row in got["differences"]] == expected[name][:5].tolist()
        assert got["of"] == 12 and got["told"] == sum(row.low > 0 or row.high < 0 for row in expected)
    out = run("differences", updatable, "user 3", "user 4", "--top", 2, "--interval", 0.5)[1]
    assert "than to user 4, in log-odds" in out and "10 more with --top 12" in out


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("rank", "user 3", "--top-of", 3), "--top-of goes with --interval"),
        (("rank", "user 3", "--interval", 2), "--interval is 2.0"),
        (("rank", "user 3", "--interval", 0.9, "--top-of", 3, "--items", "item 1", "item 2"), "--top-of is 3"),
        (("rank", "user 3", "--asked"), "--asked is about a newcomer's"),
        (("differences",), "differences takes a USER, or a newcomer's"),
        (("differences", "user 3", *SOMEONE), "differences takes a USER, or a newcomer's"),
        (("differences", "user 3", "user 3"), "are both 'user 3'"),
        (("differences", "user 3", "nobody"), "user 'nobody' is not in the model"),
        (("differences", "user 3", "--interval", 0), "--interval is 0.0"),
    ],
)
def test_mistakes(updatable, command, said):
    """A mistake is one line that names it."""
    assert said in complaint(command[0], updatable, *command[1:])


def test_a_file_without_what_was_said(path, votes, tmp_path):
    """How sure to be of users takes their answers; the line says which option keeps them."""
    for command in (("rank", path, "user 3", "--interval", 0.9), ("differences", path, "user 3")):
        assert "fit it without --slim, or describe someone by --answers FILE" in complaint(*command)
    assert document("rank", path, *SOMEONE, "--interval", 0.9)["ranking"]
    (tmp_path / "r.csv").write_text("user,item,rating\na,x,1\na,y,2\nb,x,2\nb,y,1\n")
    document("fit", tmp_path / "r.csv", "--out", tmp_path / "m", "--model", "ItemMean")
    assert "ItemMean has no ranges of places" in complaint("rank", tmp_path / "m", "a", "--interval", 0.9)
    assert "ItemMean has no ranges of places" in complaint("differences", tmp_path / "m", "a")
    assert "ItemMean" in complaint("update", tmp_path / "m", tmp_path / "r.csv")


def test_asked_items_are_no_choice(tmp_path):
    """--asked is fold_in's: where a model learned from who met what, it makes another list."""
    rng = np.random.default_rng(1)
    met = [(u, i) for u in range(30) for i in range(16) if (i < 8) == (u < 15) and rng.random() < 0.7]
    rows = [(u, i, rng.integers(1, 6)) for u, i in met]
    (tmp_path / "r.csv").write_text("user,item,rating\n" + "".join(f"u{u},i{i},{r}\n" for u, i, r in rows))
    document("fit", tmp_path / "r.csv", "--out", tmp_path / "m", "--exposure", "--reg", 5)
    model = rather.load(tmp_path / "m")
    scores = {}
    for asked in (True, False):
        got = document("rank", tmp_path / "m", "--prefers", "i1", "i2", *(["--asked"] if asked else []))["ranking"]
        expected = model.fold_in([("i1", "i2")], asked=asked).rank()
        assert [row["item"] for row in got] == expected["item"].tolist()
        scores[asked] = {row["item"]: row["score"] for row in got}
    assert scores[True] != scores[False]
    (end,) = events(tmp_path / "m", ["1"], "--questions", 1, "--top", 16)
    person = model.fold_in([(a["winner"], a["loser"]) for a in end["answers"]], asked=True)
    assert [row["score"] for row in end["ranking"]] == person.rank(interval=0.9)["score"].tolist()
