"""The command line: every command, what it prints for people and for programs, and what mistakes get."""

import csv
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rather
from rather import AltSVM, Comparisons, native
from rather.cli import doctor, reproduce
from rather.cli.grammar import grammar
from rather.cli.inputs import FORMATS
from rather.cli.main import main
from rather.data import datasets, table_files
from rather.data.clicks import AgainstUnseen
from rather.data.source import Source
from rather.data.table_files import read_file
from rather.models import altsvm, tuning
from rather.solving import newton

COMMANDS = (
    "demo", "fit", "split", "evaluate", "rank", "recommend", "probability", "simulate", "data", "paper", "doctor",
)  # fmt: skip


@pytest.fixture
def run(capsys):
    """Run a command line; returns (exit code, stdout, stderr)."""

    def run(*argv):
        code = main([str(a) for a in argv])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def document(run):
    """Run a command line that must succeed with --json; returns the document."""

    def document(*argv):
        code, out, err = run(*argv, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return document


def _files(folder):
    """One small file of each format, with names that say which."""
    rng = np.random.default_rng(0)
    user, item = (axis.ravel() for axis in np.meshgrid(np.arange(12), np.arange(8), indexing="ij"))
    rating = rng.integers(1, 6, len(user))
    keep = rng.random(len(user)) < 0.7
    votes = rather.simulate(n_users=40, n_items=15, per_user=20).comparisons.to_frame("dict")
    tables = {
        "votes": votes,
        "ratings": {"user": user[keep], "item": item[keep], "rating": rating[keep]},
        "rankings": {"user": user, "item": item, "rank": np.argsort(rng.random((12, 8)), axis=1).ravel()},
        "menus": {"user": user, "menu": user, "item": item, "chosen": (item == user % 8).astype(int)},
        "clicks": {"user": user[rating > 3], "item": item[rating > 3]},
    }
    for name, table in tables.items():
        table_files.write_table(folder / f"{name}.csv", table)
    return {name: folder / f"{name}.csv" for name in tables}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return _files(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def models(files, tmp_path_factory):
    """A model file for each format, fitted by the command line."""
    folder = tmp_path_factory.mktemp("models")
    for name, file in files.items():
        assert main(["fit", str(file), "--out", str(folder / name), "--rank", "4", "--quiet"]) == 0
    return {name: folder / name for name in files}


def comparisons(name, file):
    return getattr(Comparisons, FORMATS[name].constructor)(read_file(file))


# -- help and version -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run, command):
    """--help of a command explains it, ends with an example and succeeds."""
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "") and "--json" in out
    assert out.strip().splitlines()[-1].startswith(f"example: rather {command}")


def test_help_lists_every_command(run):
    """rather --help names every command."""
    code, out, _ = run("--help")
    assert code == 0 and all(re.search(rf"^ +{command}\b", out, re.M) for command in COMMANDS)


def test_help_states_the_defaults_and_choices_of_the_model(run):
    """What the help of fit says about the model's parameters is what the model does."""
    out = " ".join(run("fit", "--help")[1].split())
    defaults = AltSVM().get_params()
    said = {option: out.split(f"--{option} ")[-1].split(" --")[0] for option in ("rank", "reg", "max-iter")}
    assert said["max-iter"].endswith(f"({defaults['max_iter']:g})")
    assert defaults["rank"] is None and said["rank"].endswith(f"({tuning.RANK}; of votes or few ratings, at most)")
    assert defaults["reg"] is None and said["reg"].endswith("(of votes or few ratings cv, else a rule)")
    assert f"({Source.tol:g}; clicks {AgainstUnseen.tol:g})" in " ".join(out.split())
    assert f"--loss L {', '.join(native.LOSSES)}" in out and f"({defaults['loss']})" in out
    assert "--solver {" + ",".join(altsvm.SOLVERS) + "}" in out and f"({defaults['solver']})" in out


def documented():
    """Every command line that stands in the README and the recipes."""
    root = Path(__file__).parents[1]
    pages = [page.read_text() for page in (root / "README.md", root / "docs" / "recipes.md") if page.exists()]
    return [line for page in pages for line in re.findall(r"^    (?:.*\| )?rather (.*)$", page, re.M)]


@pytest.mark.parametrize("line", documented())
def test_documented_commands_are_commands(line):
    """The grammar knows every command line that the documentation shows."""
    options, rest = grammar().parse_known_args(shlex.split(line, comments=True))
    assert callable(options.run) and not rest


def test_version(run):
    """--version prints the package's version."""
    assert run("--version") == (0, f"rather {rather.__version__}\n", "")


def test_help_loads_nothing_heavy():
    """Asking for help loads neither rich nor a frame library."""
    code = "import sys; from rather.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"rich", "pyarrow", "pandas", "polars", "narwhals", "rather.cli.film_club"} & set(done.stderr.split())


# -- demo, doctor, data -----------------------------------------------------------------------------------------------


def test_demo_shows_that_personal_beats_global(document):
    """The demonstration's personal rankings predict more than its global one."""
    accuracy = document("demo", "--members", 60, "--seed", 1)["accuracy"]
    assert accuracy["global"] < accuracy["personal"] < accuracy["best"]


def test_demo_for_people(run):
    """The demonstration is text without colour codes when it is not on a terminal, and ends with what to do next."""
    code, out, err = run("demo", "--members", 60)
    assert (code, err) == (0, "")
    assert "personal rankings" in out and "Noor" in out and "\x1b" not in out
    assert "rather fit votes.csv --out model.rather" in out.split("What to do next")[1]


def test_doctor_reports_and_passes(run, document):
    """The doctor names versions and processor, and its self-check passes here."""
    report = document("doctor")
    assert report["ok"] and report["version"] == rather.__version__ and report["simd"] in native.LEVELS
    assert set(report["packages"]) == set(doctor.OPTIONAL)
    code, out, _ = run("doctor")
    assert code == 0 and re.search(r"self-check +ok", out)


def test_doctor_fails_when_threads_matter(run, monkeypatch):
    """A fit that depends on the number of threads, or crashes, makes the doctor exit with 1."""
    real = AltSVM.fit

    def fit(self, votes):
        model = real(self, votes)
        model.V_ = model.V_ + self.n_threads
        return model

    monkeypatch.setattr(AltSVM, "fit", fit)
    code, out, _ = run("doctor", "--json")
    assert code == 1 and json.loads(out)["self_check"] == "failed: fits with 1 and 2 threads differ"
    monkeypatch.setattr(AltSVM, "fit", lambda self, votes: 1 / 0)
    code, out, _ = run("doctor")
    assert code == 1 and "failed: ZeroDivisionError" in out


def test_doctor_says_how_to_get_what_is_missing(run, monkeypatch):
    """A missing package is named with what it is for and the command that installs it."""
    monkeypatch.setattr(doctor, "_version", lambda package: None if package == "pyarrow" else "1.0")
    _, out, _ = run("doctor")
    assert re.search(r"pyarrow +not installed \(Parquet", out) and "pip install pyarrow" in out


def test_data_is_listed(run, document, tmp_path, monkeypatch):
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


# -- paper ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with one script, which prints its arguments and keeps them as its result, and one helper module."""
    (tmp_path / "paper" / "results").mkdir(parents=True)
    (tmp_path / "paper" / "common.py").write_text('"""Shared."""\n')
    (tmp_path / "paper" / "table9.py").write_text(
        '"""Table 9: nothing at all.\n\nMore about it."""\n'
        "import sys\nfrom pathlib import Path\n"
        'DATA = ("ml-1m", "netflix")\n'
        'if __name__ == "__main__":\n'
        "    print(sys.argv[1:])\n"
        "    (Path(__file__).parent / 'results' / 'table9.csv').write_text(' '.join(sys.argv[1:]))\n"
        '    sys.exit("--fail" in sys.argv)\n'
    )
    monkeypatch.setattr(reproduce, "__file__", str(tmp_path / "src" / "rather" / "cli" / "reproduce.py"))
    monkeypatch.setenv("RATHER_DATA", str(tmp_path))
    monkeypatch.setenv("RATHER_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_paper_lists_its_scripts_and_their_data(run, document, checkout):
    """Every script is listed by the first line of its docstring, with its data sets and whether they are there."""
    (checkout / "ml-1m").mkdir()
    (checkout / "ml-1m" / "ratings.parquet").touch()
    about = {"name": "table9", "about": "Table 9: nothing at all.", "data": {"ml-1m": True, "netflix": False}}
    assert document("paper") == {"scripts": [about]}
    code, out, _ = run("paper")
    assert code == 0 and "Table 9: nothing at all." in out and "ml-1m (there), netflix (absent)" in out


def test_paper_runs_a_script(checkout, capfd):
    """Whatever follows the name goes to the script; with --json what it prints goes to standard error."""
    given = ["--only", "AltSVM", "Global", "--seeds", "2", "--committed"]
    assert main(["paper", "table9", *given]) == 0
    assert capfd.readouterr().out == f"{given}\n"
    assert main(["paper", "table9", *given, "--json"]) == 0
    out, err = capfd.readouterr()
    results = checkout / "paper" / "results" / "table9.csv"
    assert json.loads(out) == {"ok": True, "name": "table9", "arguments": given, "results": str(results)}
    assert err == f"{given}\n" and results.read_text() == " ".join(given)


@pytest.mark.parametrize("given", [[], ["--results", "mine"]])
def test_paper_names_the_users_own_results(document, checkout, monkeypatch, given):
    """Unless told to work on the committed ones, a script keeps results in a folder of the user's own."""
    monkeypatch.chdir(checkout)
    own = Path(given[-1] if given else "rather-paper", "table9.csv")
    assert document("paper", "table9", *given)["results"] is None
    own.parent.mkdir()
    own.touch()
    assert document("paper", "table9", *given)["results"] == str(own)


def test_paper_reports_failure(run, checkout):
    """A script that fails makes the command fail; a name that is not there, or none, gets a sentence."""
    assert run("paper", "table9", "--fail")[0] == 1
    code, _, err = run("paper", "common")
    assert code == 2 and "'common'; it must be one of 'table9'" in err
    code, _, err = run("paper", "--seeds=2")
    assert code == 2 and "'--seeds=2' goes after the name" in err


def test_paper_without_a_checkout(run, checkout, monkeypatch):
    """An installed package has no scripts and says so; the current folder may have them."""
    (checkout / "lib").mkdir()
    monkeypatch.setattr(
        reproduce, "__file__", str(checkout / "lib" / "site-packages" / "rather" / "cli" / "reproduce.py")
    )
    monkeypatch.chdir(checkout)
    assert run("paper")[0] == 0
    monkeypatch.chdir(checkout / "lib")
    code, _, err = run("paper")
    assert code == 2 and "part of the sources, not of the installed package" in err


# -- simulate, fit ----------------------------------------------------------------------------------------------------


def test_simulated_votes_are_those_of_the_library(run, document, tmp_path):
    """simulate writes the same votes as CSV and as Parquet, and says what accuracy they allow."""
    size = ("--users", 20, "--items", 10, "--per-user", 5, "--seed", 3)
    world = rather.simulate(n_users=20, n_items=10, per_user=5, seed=3)
    expected = {name: column.tolist() for name, column in world.comparisons.to_frame("dict").items()}
    for suffix in ("csv", "parquet"):
        told = document("simulate", "--out", tmp_path / f"votes.{suffix}", *size)
        assert told["best_accuracy"] == world.best_accuracy and told["comparisons"] == 100
        votes = Comparisons.from_frame(read_file(tmp_path / f"votes.{suffix}"))
        assert {name: list(column) for name, column in votes.to_frame("dict").items()} == expected
    code, out, _ = run("simulate", "--out", tmp_path / "votes.csv", "--force", *size)
    assert code == 0 and "100 votes" in out


@pytest.mark.parametrize("name", FORMATS)
def test_fit_guesses_the_format(document, files, tmp_path, name):
    """Each format is recognised by its columns, and the model is the one that the library fits."""
    out = tmp_path / "model"
    told = document("fit", files[name], "--out", out, "--rank", 4, "--max-iter", 5)
    assert (told["format"], told["guessed"]) == (name, True)
    expected = AltSVM(rank=4, max_iter=5).fit(comparisons(name, files[name]))
    np.testing.assert_array_equal(rather.load(out).user_factors_, expected.user_factors_)
    assert told["rounds"] == len(expected.history_) and told["converged"] == expected.converged_
    assert (told["users"], told["items"]) == (len(expected.users_), len(expected.items_))


def test_fit_tells_people_what_it_did(run, files, tmp_path):
    """The summary names the data and how they were read, the fit and the file; --quiet prints nothing."""
    code, out, err = run("fit", files["votes"], "--out", tmp_path / "m")
    assert (code, err) == (0, "")
    assert "read as votes, guessed" in out and "converged" in out and str(tmp_path / "m") in out
    assert run("fit", files["votes"], "--out", tmp_path / "m", "--quiet") == (0, "", "")


def test_fit_passes_every_parameter_on(document, files, tmp_path):
    """Options of fit become the parameters of the model."""
    document(
        "fit", files["votes"], "--out", tmp_path / "m", "--rank", 3, "--reg", 7.5, "--loss", "logistic", "--no-bias",
        "--solver", "sdca", "--max-iter", 2, "--tol", 0.5, "--threads", 1, "--seed", 9,
    )  # fmt: skip
    params = rather.load(tmp_path / "m").get_params()
    expected = {
        "rank": 3, "reg": 7.5, "loss": "logistic", "bias": False, "solver": "sdca", "max_iter": 2, "tol": 0.5,
        "n_threads": 1, "seed": 9,
    }  # fmt: skip
    assert expected.items() <= params.items()


def test_fit_tunes(document, files, tmp_path):
    """--reg cv chooses the regularisation as the library does."""
    told = document("fit", files["votes"], "--out", tmp_path / "m", "--rank", 2, "--reg", "cv")
    expected = AltSVM(rank=2, reg="cv").fit(comparisons("votes", files["votes"]))
    assert told["reg"] == expected.reg_ and told["chosen"] == ["reg"]


def test_fit_tells_what_was_chosen(run, document, files, tmp_path):
    """Of votes rank and reg are chosen, where they are not given; of clicks they are not."""
    fit = ("fit", files["votes"], "--out", tmp_path / "m")
    told = document(*fit)
    model = rather.load(tmp_path / "m")
    assert (told["chosen"], told["rank"], told["reg"]) == (["rank", "reg"], model.rank_, model.reg_)
    said = f"reg {model.reg_:.4g}, rank {model.rank_}"
    assert f"{said}, both chosen on held-out answers)" in " ".join(run(*fit)[1].split())
    assert "rank 2, reg chosen on held-out answers)" in " ".join(run(*fit, "--rank", 2)[1].split())
    assert document(*fit, "--reg", 5)["chosen"] == []
    assert document("fit", files["clicks"], "--out", tmp_path / "m")["chosen"] == []
    assert "held-out" not in run("fit", files["clicks"], "--out", tmp_path / "m")[1]


def test_columns_by_other_names(document, tmp_path):
    """Columns may have any name; with --format the file need not be guessed."""
    table = {"who": ["a", "b"], "best": ["x", "y"], "rest": ["y", "z"], "n": ["2", "0.5"], "even": ["false", "true"]}
    table_files.write_table(tmp_path / "v.csv", {name: np.array(column) for name, column in table.items()})
    names = ("--user", "who", "--winner", "best", "--loser", "rest", "--weight", "n", "--tie", "even")
    told = document("fit", tmp_path / "v.csv", "--out", tmp_path / "m", *names)
    assert told["guessed"] and told["format"] == "votes"
    assert told["comparisons"] == 3  # the tie counts each way
    told = document("fit", tmp_path / "v.csv", "--out", tmp_path / "m", *names[:6], "--format", "votes")
    assert not told["guessed"] and told["comparisons"] == 2


def test_rank_column_and_settings(document, files, tmp_path):
    """Rankings take the name of their rank column; ratings and clicks the settings of their own."""
    renamed = tmp_path / "r.csv"
    renamed.write_text(files["rankings"].read_text().replace("rank", "place", 1))
    assert document("fit", renamed, "--out", tmp_path / "m", "--rank-column", "place")["format"] == "rankings"
    kept = document("fit", files["ratings"], "--out", tmp_path / "m", "--keep", "largest-gap")
    assert kept["comparisons"] == len(Comparisons.from_ratings(read_file(files["ratings"]), keep="largest-gap"))
    drawn = document("fit", files["clicks"], "--out", tmp_path / "m", "--per-user", 7)
    assert drawn["comparisons"] == 7 * drawn["users"]
    against = document("fit", files["clicks"], "--out", tmp_path / "m", "--unseen", 2)
    assert against["comparisons"] == len(Comparisons.from_clicks(read_file(files["clicks"]), unseen=2))


def test_other_models(document, run, files, tmp_path):
    """--model fits any estimator to what it can learn from; options it does not have are refused."""
    assert "{" + ",".join(rather.ESTIMATORS) + "}" in run("fit", "--help")[1]
    told = document("fit", files["ratings"], "--out", tmp_path / "m", "--model", "Global")
    assert told["model"] == "Global" and type(rather.load(tmp_path / "m")) is rather.Global
    told = document("fit", files["ratings"], "--out", tmp_path / "m", "--model", "ItemMean")  # which has no rounds
    assert told["rounds"] == 0 and rather.load(tmp_path / "m").slope_ is not None
    assert "ItemMean\n" in run("fit", files["ratings"], "--out", tmp_path / "m", "--model", "ItemMean")[1]
    code, _, error = run("fit", files["ratings"], "--out", tmp_path / "m", "--model", "Global", "--rank", 3)
    assert code == 2 and "Global has no --rank" in error
    code, _, error = run("fit", files["votes"], "--out", tmp_path / "m", "--model", "LCR")
    assert code == 2 and "give a file of ratings, or give --model AltSVM" in error


def test_a_column_called_weight_or_tie_is_one(document, tmp_path):
    """Optional columns are used when they are there under their own names, and the document says so."""
    table = {"user": ["a", "b"], "winner": ["x", "y"], "loser": ["y", "z"], "tie": ["true", "false"]}
    table_files.write_table(tmp_path / "v.csv", {name: np.array(column) for name, column in table.items()})
    told = document("fit", tmp_path / "v.csv", "--out", tmp_path / "m")
    assert told["columns"]["tie"] == "tie" and told["comparisons"] == 3


def test_fit_goes_on_from_a_checkpoint(document, files, tmp_path):
    """A fit that stopped after a few rounds goes on to the model it would have been."""
    fit = ("fit", files["votes"], "--rank", 4, "--tol", 0)
    document(*fit, "--out", tmp_path / "straight", "--max-iter", 6)
    state = ("--checkpoint", tmp_path / "state")
    assert document(*fit, "--out", tmp_path / "resumed", "--max-iter", 2, *state)["rounds"] == 2
    assert document(*fit, "--out", tmp_path / "resumed", "--max-iter", 6, *state)["rounds"] == 6
    straight, resumed = rather.load(tmp_path / "straight"), rather.load(tmp_path / "resumed")
    np.testing.assert_array_equal(straight.user_factors_, resumed.user_factors_)
    np.testing.assert_array_equal(straight.item_factors_, resumed.item_factors_)


def test_interrupted_fit_saves_the_best_so_far_and_can_go_on(run, document, files, tmp_path, monkeypatch):
    """Ctrl-C ends a fit with 130 and one line, the rounds done are saved; a checkpoint lets it go on."""
    command = ("fit", files["votes"], "--out", tmp_path / "m", "--tol", 0, "--max-iter", 4, "--reg", 5)
    checkpoint = ("--checkpoint", tmp_path / "state")
    real = newton.Newton.round
    calls = []

    def round_or_interrupt(self):
        calls.append(self)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(self)

    monkeypatch.setattr(newton.Newton, "round", round_or_interrupt)
    code, out, err = run(*command, *checkpoint)
    assert (code, out) == (130, "") and len(err.splitlines()) == 1
    assert "the model of 2 rounds is saved" in err and "run the same command" in err
    assert len(rather.load(tmp_path / "m").history_) == 2
    assert document(*command, *checkpoint)["rounds"] == 4
    document(*command[:3], tmp_path / "straight", *command[4:])
    resumed, straight = rather.load(tmp_path / "m"), rather.load(tmp_path / "straight")
    np.testing.assert_array_equal(resumed.user_factors_, straight.user_factors_)


def test_ctrl_c_anywhere_else(run, monkeypatch):
    """Ctrl-C outside a fit is one line and 130 as well."""

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "examine", interrupt)
    assert run("doctor") == (130, "", "rather: interrupted\n")


# -- evaluate ---------------------------------------------------------------------------------------------------------


def test_default_metrics_are_those_of_the_library(document, files, models):
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


def test_metrics_with_options(run, document, files, models, tmp_path):
    """--metric, --k, --min-gap, --exclude and column names reach the metrics."""
    model, frame = rather.load(models["ratings"]), read_file(files["ratings"])
    told = document("evaluate", models["ratings"], files["ratings"], "--metric", "accuracy", "--min-gap", 2)["metrics"]
    expected = rather.pairwise_accuracy(model, Comparisons.from_ratings(frame), min_gap=2)
    assert told == {"accuracy (gap at least 2)": expected}
    told = document("evaluate", models["ratings"], files["ratings"], "--metric", "ndcg", "--k", 2)["metrics"]
    assert told == {"ndcg@2": rather.ndcg(model, frame, k=2)}
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
    code, out, _ = run("evaluate", models["votes"], files["votes"])
    assert code == 0 and re.search(r"accuracy +0\.\d{4}", out)


# -- rank, recommend --------------------------------------------------------------------------------------------------


def test_rank_is_the_models_ranking(run, document, models):
    """rank prints all items, or the first of them, in the model's order."""
    expected = rather.load(models["votes"]).rank("user 3")
    told = document("rank", models["votes"], "user 3")
    assert [row["item"] for row in told["ranking"]] == expected["item"].tolist()
    assert [row["score"] for row in told["ranking"]] == pytest.approx(expected["score"].tolist(), abs=1e-6)
    code, out, _ = run("rank", models["votes"], "user 3", "--top", 2)
    assert code == 0 and re.findall(r"item \d+", out) == expected["item"][:2].tolist()


def test_ids_on_the_command_line_become_integers(document, run, models):
    """A model with integer ids takes its users as numbers, and a word gets a sentence."""
    told = document("rank", models["ratings"], "7", "--top", 1)
    assert told["user"] == 7 and told["ranking"][0]["item"] == rather.load(models["ratings"]).rank(7)["item"][0]
    code, _, err = run("rank", models["ratings"], "ann")
    assert code == 2 and "'ann' is not in the model, whose users are whole numbers" in err


def test_recommend_some_or_all(document, models):
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


def test_recommendations_as_a_file(run, document, models, tmp_path):
    """--out writes the rows that would have been printed."""
    rows = document("recommend", models["votes"], "user 1", "user 2")["recommendations"]
    code, out, _ = run("recommend", models["votes"], "user 1", "user 2", "--out", tmp_path / "r.csv")
    assert code == 0 and "20 rows for 2 users" in out
    with (tmp_path / "r.csv").open(newline="") as f:
        assert list(csv.DictReader(f)) == [{name: str(value) for name, value in row.items()} for row in rows]


def test_failed_write_keeps_the_old_file(run, models, tmp_path, monkeypatch):
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
        ("juggle", "invalid choice: 'juggle'"),
        ("fit {votes}", "required: --out"),
        ("fit nowhere.csv --out {out}", "there is no file 'nowhere.csv'"),
        ("fit {dir} --out {out}", "is a folder"),
        ("fit {odd} --out {out}", "('a', 'b') do not tell what it holds"),
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
        ("evaluate {model} {ratings}", "was not in the training data"),
        ("evaluate {votes} {votes}", "damaged or not a model file"),
        ("rank {model} nobody", "user 'nobody' was not in the training data"),
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
def test_mistakes_are_one_line_and_2(run, files, models, tmp_path, monkeypatch, command, complaint):
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


def test_system_errors_are_one_line(run, monkeypatch):
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
