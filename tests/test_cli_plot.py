"""rather plot: every picture of the library as a file, and what mistakes get."""

import sys

import pytest

import rather
from rather import plot
from rather.cli.commands import PICTURES
from rather.data.table_files import write_table
from shell import complaint, document, run

pytestmark = pytest.mark.usefixtures("brief_search")

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Votes in two halves, a model of the first, one without votes, and a person's answers."""
    folder = tmp_path_factory.mktemp("plot")
    train, test = rather.simulate(40, 10, rank=2, per_user=20, seed=1).comparisons.split(0.2)
    write_table(folder / "votes.csv", train.to_frame("dict"))
    write_table(folder / "test.csv", test.to_frame("dict"))
    (folder / "mine.csv").write_text("winner,loser\nitem 1,item 2\n")
    model = rather.AltSVM(rank=2).fit(train)
    model.save(folder / "model")
    model.probability_interval("user 1", "item 1", "item 2")
    model.save(folder / "slim", comparisons=False)
    return folder


@pytest.fixture
def drawn(monkeypatch):
    """The calls of the library's functions that draw."""
    calls = []

    def recorded(name, real):
        def draw(*given, **named):
            calls.append((name, (*given, *named.values())))
            return real(*given, **named)

        return draw

    for name in (name.replace("-", "_") for name in PICTURES):
        monkeypatch.setattr(plot, name, recorded(name, getattr(plot, name)))
    return calls


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        ("leaderboard {m} --out {o}.png", b"\x89PNG"),
        ("leaderboard {m} --top 3 --interval 0.5 --prefers A B --out {o}.pdf", b"%PDF"),
        ("person {m} --answers {f}/mine.csv --top 4 --out {o}.PNG", b"\x89PNG"),
        ("taste-map {m} --out {o}.svg", b"<?xml"),
        ("calibration {m} {f}/test.csv --out {o}.svg", b"<?xml"),
        ("learning-curve {m} --per-user 2 5 --out {o}.png", b"\x89PNG"),
        ("learning-curve {m} {f}/test.csv --per-user 2 --seed 3 --out {o}.png", b"\x89PNG"),
    ],
)
def test_pictures_are_those_of_the_library(folder, drawn, tmp_path, words, begins):
    """Each is drawn by the function of its name, with the options given, and written in the format of the ending."""
    argv = [word.format(m=folder / "model", f=folder, o=tmp_path / "x") for word in words.split()]
    argv = [{"A": "item 1", "B": "item 2"}.get(word, word) for word in argv]
    told = document("plot", *argv)
    assert told["picture"] == argv[0] and told["out"] == argv[-1]
    (path,) = tmp_path.iterdir()
    assert str(path) == argv[-1] and path.read_bytes().startswith(begins)
    ((name, given),) = drawn
    assert name == argv[0].replace("-", "_")
    if "--interval" in argv:
        person, *rest = given
        assert person.answers == [("item 1", "item 2")] and rest == [None, 0.5, 3]
    if "--answers" in argv:
        assert given[1:] == (4, 0.9, None)
    if name == "learning_curve":
        assert len(given[1]) == len(rather.load(folder / "model").fitted.training)
        assert (given[2] is None) == (len(argv) == 7 and argv[2] == "--per-user")
        assert given[3:] == (([2, 5], 0) if given[2] is None else ([2], 3))


def test_users_and_items_are_found(folder, drawn, tmp_path):
    """A USER is drawn among the rest, and --items are the items of a map."""
    argv = ("taste-map", folder / "model", "user 3", "--items", "item 1", "item 4", "--out", tmp_path / "x.png")
    code, out, err = run("plot", *argv)
    assert (code, err) == (0, "") and out.split() == ["saved", "taste-map", "to", str(tmp_path / "x.png")]
    assert drawn[0][1][1:] == ("user 3", ["item 1", "item 4"])
    document("plot", "leaderboard", folder / "model", "user 3", "--out", tmp_path / "x.png", "--force")
    assert drawn[1][1][1:] == ("user 3", 0.9, 20)
    document("plot", "person", folder / "model", "user 3", "--out", tmp_path / "x.png", "--force")
    assert drawn[2][1][1:] == (15, 0.9, "user 3")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("leaderboard {m} --out {f}/x.gif", "ends in '.gif'; it must end in .png, .svg, .pdf"),
        ("leaderboard {m} --out {f}/there.png", "exists already; give another name, or --force to overwrite it"),
        ("leaderboard {m} nobody --out {f}/x.png", "user 'nobody' is not in the model"),
        ("leaderboard {m} u --answers {f}/mine.csv --out {f}/x.png", "USER is 'u', and options describe somebody new"),
        ("leaderboard {m} --top 0 --out {f}/x.png", "--top is 0"),
        ("person {m} --out {f}/x.png", "plot person draws a USER, or somebody new by --answers"),
        ("learning-curve {f}/slim --out {f}/x.png", "holds no votes to learn from; fit it without --slim"),
        ("learning-curve {m} --per-user 0 --out {f}/x.png", "--per-user is 0"),
        ("calibration {m} --out {f}/x.png", "required: FILE"),
        ("calibration {m} {f}/test.csv", "required: --out"),
    ],
)
def test_mistakes_are_one_line_and_no_file(folder, words, said):
    (folder / "there.png").write_text("precious")
    assert said in complaint("plot", *words.format(m=folder / "model", f=folder).split())
    assert (folder / "there.png").read_text() == "precious" and not list(folder.glob("x.*"))


def test_without_matplotlib_there_is_one_sentence(folder, tmp_path, monkeypatch):
    """The sentence comes before any work, and names the command that installs it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    said = complaint("plot", "leaderboard", folder / "no model", "--out", tmp_path / "x.png")
    assert said == "rather: pictures need matplotlib; install it with: pip install 'rather[plot]'"
