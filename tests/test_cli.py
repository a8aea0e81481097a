"""The command line: every command, what it prints for people and for programs, and what mistakes get."""

import csv
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import rather
from rather import AltSVM, Comparisons, native
from rather.cli import doctor
from rather.cli.grammar import grammar
from rather.cli.inputs import FORMATS
from rather.data import table_files
from rather.data.clicks import AgainstUnseen
from rather.data.source import Source
from rather.data.table_files import read_file
from rather.datasets import named as datasets
from rather.models import tuning
from rather.rivals import paper_altsvm
from shell import document, run

pytestmark = pytest.mark.usefixtures("brief_search")


def comparisons(name, file):
    return getattr(Comparisons, FORMATS[name].constructor)(read_file(file))


# -- help and version -------------------------------------------------------------------------------------------------


def test_help_states_the_defaults_and_choices_of_the_model():
    """What the help of fit says about the model's parameters is what the model does."""
    out = " ".join(run("fit", "--help")[1].split())
    defaults = AltSVM().get_params()
    said = {option: out.split(f"--{option} ")[-1].split(" --")[0] for option in ("rank", "reg", "max-iter")}
    assert said["max-iter"].endswith(f"(default: {defaults['max_iter']:g})")
    assert defaults["rank"] is None and f"(default: {tuning.RANK}, or {AgainstUnseen.rank} for clicks;" in said["rank"]
    assert defaults["reg"] is None and "(default: cv for votes and for up to 30,000 ratings" in said["reg"]
    assert Source.tol == 3e-4 and f"(default: 3e-4, {AgainstUnseen.tol:g} for clicks" in out
    assert f"--loss {'|'.join(native.LOSSES)} " in out and f"(default: {defaults['loss']})" in out
    assert f"--solver {'|'.join(paper_altsvm.SOLVERS)} PaperAltSVM: solver of the SVMs (default: sdca)" in out


def documented():
    """Every command line that stands in the README and in docs/."""
    root = Path(__file__).parents[1]
    pages = [page.read_text() for page in (root / "README.md", *sorted((root / "docs").rglob("*.md"))) if page.exists()]
    return [line for page in pages for line in re.findall(r"^    (?:.*\| )?rather (.*)$", page, re.M)]


@pytest.mark.parametrize("line", documented())
def test_documented_commands_are_commands(line):
    """The grammar knows every command line that the documentation shows."""
    options, rest = grammar().parse_known_args(shlex.split(line, comments=True))
    assert callable(options.run) and not rest


def test_version():
    """--version prints the package's version."""
    assert run("--version") == (0, f"rather {rather.__version__}\n", "")


def test_help_loads_nothing_heavy():
    """Asking for help loads neither rich nor a frame library."""
    code = "import sys; from rather.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"rich", "pyarrow", "pandas", "polars", "narwhals", "rather.cli.film_club"} & set(done.stderr.split())


# -- demo, doctor, data -----------------------------------------------------------------------------------------------


def test_demo_shows_that_personal_beats_global():
    """The demonstration's personal rankings predict more than its global one."""
    accuracy = document("demo", "--members", 60, "--seed", 1)["accuracy"]
    assert accuracy["global"] < accuracy["personal"] < accuracy["best"]


def test_demo_for_people():
    """The demonstration is text without colour codes when it is not on a terminal, and ends with what to do next."""
    code, out, err = run("demo", "--members", 60)
    assert (code, err) == (0, "")
    assert "personal rankings" in out and "Noor" in out and "\x1b" not in out
    assert "rather fit votes.csv --out model.rather" in out.split("What to do next")[1]


def test_doctor_reports_and_passes():
    """The doctor names versions and processor, and its self-check passes here."""
    report = document("doctor")
    assert report["ok"] and report["version"] == rather.__version__ and report["simd"] in native.LEVELS
    assert set(report["packages"]) == set(doctor.OPTIONAL)
    code, out, _ = run("doctor")
    assert code == 0 and re.search(r"self-check +ok", out)


def test_doctor_fails_when_threads_matter(monkeypatch):
    """A fit that depends on the number of threads, or crashes, makes the doctor exit with 1."""
    real = AltSVM.fit

    def fit(self, votes):
        model = real(self, votes)
        model.fitted.scorer.V = model.fitted.scorer.V + self.n_threads
        return model

    monkeypatch.setattr(AltSVM, "fit", fit)
    code, out, _ = run("doctor", "--json")
    assert code == 1 and json.loads(out)["self_check"] == "failed: fits with 1 and 2 threads differ"
    monkeypatch.setattr(AltSVM, "fit", lambda self, votes: 1 / 0)
    code, out, _ = run("doctor")
    assert code == 1 and "failed: ZeroDivisionError" in out


def test_doctor_says_how_to_get_what_is_missing(monkeypatch):
    """A missing package is named with what it is for and the command that installs it."""
    monkeypatch.setattr(doctor, "_version", lambda package: None if package == "pyarrow" else "1.0")
    _, out, _ = run("doctor")
    assert re.search(r"pyarrow +not installed \(Parquet", out) and "pip install pyarrow" in out


def test_data_is_listed(tmp_path, monkeypatch):
    """Every data set is listed with its terms and whether it was found."""
    monkeypatch.setenv("RATHER_DATA", str(tmp_path))
    monkeypatch.setenv("RATHER_CACHE", str(tmp_path / "cache"))
    (tmp_path / "ml-1m").mkdir()
    (tmp_path / "ml-1m" / "ratings.parquet").touch()
    listed = document("data")["data_sets"]
    assert [one["name"] for one in listed if one["path"]] == ["ml-1m"]
    code, out, _ = run("data", "list")
    assert code == 0 and all(name in out for name in datasets.DATA_SETS)
    assert document("data", "fetch", "ml-1m")["path"] == str(tmp_path / "ml-1m" / "ratings.parquet")


# -- evaluate ---------------------------------------------------------------------------------------------------------


def test_default_metrics_are_those_of_the_library(files, models):
    """Ratings are judged by NDCG@10 and accuracy, clicks by precision@k without what was seen, the rest by accuracy."""
    for name in ("votes", "menus", "rankings"):
        told = document("evaluate", models[name], files[name])["metrics"]
        expected = rather.pairwise_accuracy(rather.load(models[name]), comparisons(name, files[name]))
        assert told == {"accuracy": expected}
    model, frame = rather.load(models["ratings"]), read_file(files["ratings"])
    accuracy = rather.pairwise_accuracy(model, Comparisons.from_ratings(frame))
    assert document("evaluate", models["ratings"], files["ratings"])["metrics"] == {
        "ndcg@10": rather.ndcg(model, frame),
        "accuracy": accuracy,
    }
    model, frame = rather.load(models["clicks"]), read_file(files["clicks"])
    told = document("evaluate", models["clicks"], files["clicks"], "--k", 3)["metrics"]
    assert told == {"precision@3": rather.precision(model, frame, k=3, exclude="seen")} == {"precision@3": 0.0}


def test_metrics_with_options(files, models, tmp_path):
    """--metric, --k, --min-gap, --exclude and column names reach the metrics."""
    model, frame = rather.load(models["ratings"]), read_file(files["ratings"])
    told = document("evaluate", models["ratings"], files["ratings"], "--metric", "accuracy", "--min-gap", 2)["metrics"]
    expected = rather.pairwise_accuracy(model, Comparisons.from_ratings(frame), min_gap=2)
    assert told == {"accuracy (gap at least 2)": expected}
    assert expected != rather.pairwise_accuracy(model, Comparisons.from_ratings(frame))
    told = document("evaluate", models["ratings"], files["ratings"], "--metric", "ndcg", "--k", 2)["metrics"]
    assert told == {"ndcg@2": rather.ndcg(model, frame, k=2)}
    assert told["ndcg@2"] != rather.ndcg(model, frame)
    clicks = read_file(files["clicks"])
    test, seen = (
        {name: column[rows] for name, column in clicks.items()} for rows in (slice(0, None, 2), slice(1, None, 2))
    )
    for name, part in (("test", test), ("seen", seen)):
        table_files.write_table(tmp_path / f"{name}.csv", {"who": part["user"], "what": part["item"]})
    told = document(
        "evaluate", models["clicks"], tmp_path / "test.csv", "--exclude", tmp_path / "seen.csv", "--user", "who",
        "--item", "what", "--k", 3,
    )["metrics"]  # fmt: skip
    assert told == {"precision@3": rather.precision(rather.load(models["clicks"]), test, k=3, exclude=seen)}
    assert told["precision@3"] > rather.precision(rather.load(models["clicks"]), test, k=3, exclude="seen") == 0.0
    code, out, _ = run("evaluate", models["votes"], files["votes"])
    assert code == 0 and re.search(r"accuracy +0\.\d{4}", out)


# -- rank, recommend --------------------------------------------------------------------------------------------------


def test_rank_is_the_models_ranking(models):
    """rank prints all items, or the first of them, in the model's order."""
    expected = rather.load(models["votes"]).rank("user 3")
    told = document("rank", models["votes"], "user 3")
    assert [row["item"] for row in told["ranking"]] == expected["item"].tolist()
    assert [row["score"] for row in told["ranking"]] == pytest.approx(expected["score"].tolist(), abs=1e-6)
    code, out, _ = run("rank", models["votes"], "user 3", "--top", 2)
    assert code == 0 and re.findall(r"item \d+", out) == expected["item"][:2].tolist()


def test_ids_on_the_command_line_become_integers(models):
    """A model with integer ids takes its users as numbers, and a word gets a sentence."""
    told = document("rank", models["ratings"], "7", "--top", 1)
    assert told["user"] == 7 and told["ranking"][0]["item"] == rather.load(models["ratings"]).rank(7)["item"][0]
    code, _, err = run("rank", models["ratings"], "ann")
    assert code == 2 and "'ann' is not in the model, whose users are whole numbers" in err


def test_recommend_some_or_all(models):
    """Users may stand before or after options; --all is everyone; --exclude-seen leaves out what a user met."""
    model = rather.load(models["votes"])
    expected = model.recommend(["user 1", "user 2"], k=3)["item"].tolist()
    for argv in (("user 1", "user 2", "--k", 3), ("--k", 3, "user 1", "user 2")):
        rows = document("recommend", models["votes"], *argv)["recommendations"]
        assert [row["item"] for row in rows] == expected
    told = document("recommend", models["ratings"], "--all", "--exclude-seen", "--k", 1)
    model = rather.load(models["ratings"])
    expected = model.recommend(model.users_, k=1, exclude="seen")
    assert told["users"] == len(model.users_)
    assert [(row["user"], row["item"]) for row in told["recommendations"]] == [(r.user, r.item) for r in expected]


def test_recommendations_as_a_file(models, tmp_path):
    """--out writes the rows that would have been printed."""
    rows = document("recommend", models["votes"], "user 1", "user 2")["recommendations"]
    code, out, _ = run("recommend", models["votes"], "user 1", "user 2", "--out", tmp_path / "r.csv")
    assert code == 0 and "20 rows for 2 users" in out
    with (tmp_path / "r.csv").open(newline="") as f:
        assert list(csv.DictReader(f)) == [{name: str(value) for name, value in row.items()} for row in rows]


def test_failed_write_keeps_the_old_file(models, tmp_path, monkeypatch):
    """If a file cannot be written whole, what was there stays, and nothing is left beside it."""
    path = tmp_path / "r.csv"
    path.write_text("precious")

    def full_disk(f, columns):
        f.write(b"user,item")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(table_files, "_write_csv", full_disk)
    code, out, err = run("recommend", models["votes"], "user 1", "--out", path, "--force")
    assert (code, out) == (2, "") and err == f"rather: cannot write {str(path)!r}: No space left on device\n"
    assert path.read_text() == "precious" and list(tmp_path.iterdir()) == [path]


# -- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("juggle", "unknown command 'juggle'; see: rather --help"),
        ("fit {votes}", "required: --out"),
        ("fit nowhere.csv --out {out}", "there is no file 'nowhere.csv'"),
        ("fit {dir} --out {out}", "is a folder"),
        ("fit {odd} --out {out}", "cannot guess the format from the columns a, b; for votes give --user"),
        ("fit {odd} --out {out} --format votes", "no column 'user'"),
        ("fit {votes} --out {dir}", "is a folder"),
        ("fit {votes} --out {dir}/no/m", "there is no folder"),
        ("fit {votes} --out {votes}", "must be different files"),
        ("fit {votes} --out {out} --checkpoint {out}", "must be different files"),
        ("fit {votes} --out {out} --checkpoint {odd}", "not a checkpoint file"),
        ("fit {votes} --out {out} --rank 0", "rank is 0"),
        ("fit {votes} --out {out} --rank many", "neither a whole number nor auto"),
        ("fit {votes} --out {out} --reg low", "--reg: 'low' is neither a number nor cv"),
        ("fit {votes} --out {out} --reg -1", "reg is -1.0"),
        ("fit {votes} --out {out} --tol nan", "tol is nan"),
        ("fit {votes} --out {out} --keep all", "--keep does not go with votes"),
        ("fit {clicks} --out {out} --per-user 0", "--per-user is 0"),
        ("fit {votes} --out {out} --item winner", "votes have no item"),
        ("fit {votes} --out {out} --rank-column loser", "leave --rank-column out"),
        ("evaluate {model} {votes} --metric ndcg", "ndcg does not go with votes; use accuracy"),
        ("evaluate {model} {votes} --exclude {votes}", "--exclude is for precision"),
        ("evaluate {model} {votes} --min-gap 2", "--min-gap needs ratings"),
        ("evaluate {model} {clicks} --min-gap 2", "--min-gap is for accuracy"),
        ("evaluate {model} {ratings}", "is not in the model"),
        ("evaluate {votes} {votes}", "damaged or not a model file"),
        ("rank {model} nobody", "user 'nobody' is not in the model"),
        ("rank {model} nobody --top 0", "--top is 0"),
        ("rank nowhere.rather x", "there is no file"),
        ("recommend {model}", "user ids or --all"),
        ("recommend {model} x --all", "user ids or --all"),
        ("recommend {model} --all --k 1000", "k is 1000"),
        ("recommend {model} --all --out {out}.txt", "must end in .csv or .parquet"),
        ("simulate --out {out}.csv --users 0", "--users is 0"),
        ("simulate --out {out}.csv --noise 0", "noise is 0"),
        ("simulate --out {out}", "must end in .csv or .parquet"),
        ("demo --members 3", "members is 3"),
        ("data fetch", "fetch takes the name"),
        ("data fetch unheard-of", "must be one of"),
        ("data fetch netflix", "kaggle.com"),
        ("data list sushi", "list takes no name"),
        ("doctor who", "unrecognized arguments: who"),
    ],
)
def test_mistakes_are_one_line_and_2(files, models, tmp_path, monkeypatch, command, complaint):
    """A mistake gets one line on stderr that names it, exit code 2, no output and no file."""
    monkeypatch.setenv("RATHER_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("RATHER_CACHE", str(tmp_path / "cache"))
    odd = tmp_path / "odd.csv"
    odd.write_text("a,b\n1,2\n")
    places = {"dir": tmp_path, "out": tmp_path / "out", "odd": odd, "model": models["votes"], **files}
    before = {path: path.read_bytes() for path in files.values()}
    code, out, err = run(*command.format(**places).split())
    assert (code, out) == (2, "")
    assert err.startswith("rather: ") and err.count("\n") == 1 and complaint in err
    assert list(tmp_path.iterdir()) == [odd] and all(path.read_bytes() == kept for path, kept in before.items())


def test_system_errors_are_one_line(monkeypatch):
    """An error of the operating system is a sentence with the file, not a traceback."""

    def refuse():
        raise PermissionError(13, "Permission denied", "secret")

    monkeypatch.setattr(doctor, "examine", refuse)
    assert run("doctor") == (2, "", "rather: secret: Permission denied\n")


def test_a_reader_that_leaves_is_no_error(models):
    """When the reader of a pipe has gone, nothing is printed about it."""
    code = f"import sys; from rather.cli.main import main; sys.exit(main(['rank', {str(models['votes'])!r}, 'user 3']))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_output_without_the_characters_is_still_output():
    """A terminal that cannot print a character gets a question mark, not a traceback."""
    code = "import sys; from rather.cli.main import main; sys.exit(main(['demo', '--members', '20']))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env={"PYTHONIOENCODING": "ascii"}
    )
    assert b"Am?lie" in done.stdout and done.stderr == b""
