"""rather simulate and rather fit: what is read, what is told, what a checkpoint keeps."""

import re

import numpy as np
import pytest

import rather
from rather import AltSVM, Comparisons
from rather.cli import doctor, outputs
from rather.cli.inputs import FORMATS
from rather.data import table_files
from rather.data.table_files import read_file
from rather.models.summary import ranked
from rather.solving import newton
from shell import document, run

pytestmark = pytest.mark.usefixtures("brief_search")


def comparisons(name, file):
    return getattr(Comparisons, FORMATS[name].constructor)(read_file(file))


def test_simulated_votes_are_those_of_the_library(tmp_path):
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
def test_fit_guesses_the_format(files, tmp_path, name):
    """Each format is recognised by its columns, and the model is the one that the library fits."""
    out = tmp_path / "model"
    told = document("fit", files[name], "--out", out, "--model", "AltSVM", "--rank", 4, "--max-iter", 5)
    assert (told["format"], told["guessed"]) == (name, True)
    expected = AltSVM(rank=4, max_iter=5).fit(comparisons(name, files[name]))
    np.testing.assert_array_equal(rather.load(out).user_factors_, expected.user_factors_)
    assert told["rounds"] == len(expected.history_) and told["converged"] == expected.converged_
    assert (told["users"], told["items"]) == (len(expected.users_), len(expected.items_))


@pytest.mark.parametrize("reg", [(), ("--reg", 5)], ids=["chosen", "given"])
def test_every_time_is_that_of_what_it_names(reg, tmp_path, monkeypatch):
    """By a clock that only these steps move: a fit that chose its regularisation is calibrated already."""
    now = [0.0]
    monkeypatch.setattr(outputs, "perf_counter", lambda: now[0])

    def takes(kind, name, seconds):
        real = getattr(kind, name)

        def step(self, *args, **kwargs):
            moved = now[0] + seconds
            made = real(self, *args, **kwargs)
            now[0] = moved  # whatever steps are within it
            return made

        monkeypatch.setattr(kind, name, step)

    for name, seconds in (("fit", 2.0), ("calibrate", 30.0), ("_crowd", 400.0), ("effects", 5e3), ("save", 6e4)):
        takes(AltSVM, name, seconds)
    table_files.write_table(
        tmp_path / "votes.csv", rather.simulate(20, 8, per_user=12, ties=0.5, seed=1).comparisons.to_frame("dict")
    )
    told = document("fit", tmp_path / "votes.csv", "--out", tmp_path / "m", *reg)
    calibration = {"calibration": 30.0} if reg else {}
    assert told["seconds"] == {"fit": 2.0, "saving": 12e4, **calibration, "intervals": 400.0, "effects": 5e3}
    out = run("fit", tmp_path / "votes.csv", "--out", tmp_path / "m", *reg)[1]
    lines = dict(re.split("  +", line, maxsplit=1) for line in out.splitlines() if "  " in line)
    assert lines["fit"].startswith("AltSVM in 2.00 seconds: ") and lines["effects"].startswith("tie +")
    took = {name: lines.get(f"{name} took") for name in ("saving", "calibration", "intervals", "effects")}
    assert took == {
        "saving": "120000.00 seconds", "calibration": "30.00 seconds" if reg else None,
        "intervals": "400.00 seconds", "effects": "5000.00 seconds",
    }  # fmt: skip


def test_files_hold_the_answers_unless_slim(tmp_path):
    """A fit says that its file holds everybody's answers and how large it is; --slim makes a smaller one without."""
    document("simulate", "--out", tmp_path / "votes.csv", "--users", 30, "--items", 8, "--per-user", 15)
    whole, slim = tmp_path / "m", tmp_path / "s"
    met = "without the answers, but with the items that each user met"
    for path, option, said in ((whole, (), "with everybody's answers"), (slim, ("--slim",), met)):
        code, out, _ = run("fit", tmp_path / "votes.csv", "--out", path, *option)
        told = document("fit", tmp_path / "votes.csv", "--out", path, *option)
        assert (code, told["bytes"], told["answers"]) == (0, path.stat().st_size, not option)
        assert f"{path} ({told['bytes'] / 1000:.3g} kB, {said}" in out
        assert (rather.load(path).fitted.training is None) == bool(option)
    assert slim.stat().st_size < whole.stat().st_size


def test_fit_tells_people_what_it_did(files, tmp_path):
    """The summary names the data and how they were read, the fit and the file; --quiet prints nothing."""
    code, out, err = run("fit", files["votes"], "--out", tmp_path / "m")
    assert (code, err) == (0, "")
    assert "read as votes, guessed" in out and "converged" in out and str(tmp_path / "m") in out
    assert run("fit", files["votes"], "--out", tmp_path / "m", "--quiet") == (0, "", "")


def test_a_fit_that_gains_no_more_says_so(files, tmp_path):
    """A hinge ends above the default tol before --max-iter: more rounds would not help, and fewer were too few."""
    fit = ("fit", files["votes"], "--out", tmp_path / "m", "--model", "Global", "--loss", "hinge")
    told, (_, out, _) = document(*fit, "--max-iter", 500), run(*fit, "--max-iter", 500)
    assert not told["converged"] and told["stalled"] and told["rounds"] < 500
    assert "stopped above --tol, more rounds gain nothing" in out and "max-iter" not in out
    told, (_, out, _) = document(*fit, "--max-iter", 5), run(*fit, "--max-iter", 5)
    assert not told["converged"] and not told["stalled"] and "not converged: more with --max-iter" in out


def test_fit_passes_every_parameter_on(files, tmp_path):
    """Options of fit become the parameters of the model."""
    document(
        "fit", files["votes"], "--out", tmp_path / "m", "--rank", 3, "--reg", 7.5, "--loss", "logistic", "--no-bias",
        "--max-iter", 2, "--tol", 0.5, "--threads", 1, "--seed", 9,
    )  # fmt: skip
    params = rather.load(tmp_path / "m").get_params()
    expected = {
        "rank": 3, "reg": 7.5, "loss": "logistic", "bias": False, "max_iter": 2, "tol": 0.5,
        "n_threads": 1, "seed": 9,
    }  # fmt: skip
    assert expected.items() <= params.items()
    document(
        "fit", files["votes"], "--out", tmp_path / "p", "--model", "PaperAltSVM", "--rank", 3, "--solver", "newton"
    )
    assert rather.load(tmp_path / "p").solver == "newton"


def test_fit_tunes(files, tmp_path):
    """--reg cv chooses the regularisation as the library does."""
    told = document("fit", files["votes"], "--out", tmp_path / "m", "--rank", 2, "--reg", "cv")
    expected = AltSVM(rank=2, reg="cv").fit(comparisons("votes", files["votes"]))
    assert told["reg"] == expected.reg_ and told["chosen"] == ["reg"]


def test_fit_tells_what_was_chosen(files, tmp_path):
    """Of votes rank and reg are chosen, where they are not given; of clicks they are not."""
    fit = ("fit", files["votes"], "--out", tmp_path / "m")
    told = document(*fit)
    model = rather.load(tmp_path / "m")
    assert (told["chosen"], told["rank"], told["reg"]) == (["rank", "reg"], model.rank_, model.reg_)
    said = f"reg {model.reg_:.4g}, {ranked(model.rank_, len(model.users_), len(model.items_))}"
    assert f"{said}, both chosen on held-out answers)" in " ".join(run(*fit)[1].split())
    assert "rank 2, reg chosen on held-out answers)" in " ".join(run(*fit, "--rank", 2)[1].split())
    assert document(*fit, "--reg", 5)["chosen"] == []
    assert document("fit", files["clicks"], "--out", tmp_path / "m")["chosen"] == []
    assert "held-out" not in run("fit", files["clicks"], "--out", tmp_path / "m")[1]


def test_columns_by_other_names(tmp_path):
    """Columns may have any name; with --format the file need not be guessed."""
    table = {"who": ["a", "b"], "best": ["x", "y"], "rest": ["y", "z"], "n": ["2", "0.5"], "even": ["false", "true"]}
    table_files.write_table(tmp_path / "v.csv", {name: np.array(column) for name, column in table.items()})
    names = ("--user", "who", "--winner", "best", "--loser", "rest", "--weight", "n", "--tie", "even")
    told = document("fit", tmp_path / "v.csv", "--out", tmp_path / "m", *names)
    assert told["guessed"] and told["format"] == "votes"
    assert told["comparisons"] == 3  # the tie counts each way
    told = document("fit", tmp_path / "v.csv", "--out", tmp_path / "m", *names[:6], "--format", "votes")
    assert not told["guessed"] and told["comparisons"] == 2


def test_rank_column_and_settings(files, tmp_path):
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


def test_the_data_choose_the_model(files, tmp_path):
    """Without --model the choice is that of rather.fit, and is told with its reason; --model says nothing of it."""
    (tmp_path / "nobody.csv").write_text("winner,loser\nA,B\nA,C\nB,C\n")
    out = tmp_path / "m"
    for file, options, model, why in (
        (files["clicks"], (), "ClickRanker", "for clicks"),
        (files["votes"], (), "AltSVM", "for named users"),
        (tmp_path / "nobody.csv", ("--no-user",), "Global", "because nobody is named"),
    ):
        told = document("fit", file, "--out", out, *options)
        assert (told["model"], told["model_chosen"]) == (model, why) and type(rather.load(out)).__name__ == model
        said = " ".join(run("fit", file, "--out", out, *options)[1].split())
        assert f"model {model}, chosen {why}; --model picks another" in said
    told = document("fit", files["clicks"], "--out", out, "--model", "AltSVM")
    assert (told["model"], told["model_chosen"]) == ("AltSVM", None)
    assert "picks another" not in run("fit", files["clicks"], "--out", out, "--model", "AltSVM")[1]
    code, _, error = run("fit", files["clicks"], "--out", out, "--tol", 0.1)
    assert code == 2
    assert "ClickRanker, chosen for clicks, has no --tol; leave it out, or give --model AltSVM\n" in error


def test_features_choose_the_model(files, tmp_path):
    """Clicks with features are AltSVM's, and features need users who are named."""
    items = sorted(set(np.asarray(read_file(files["clicks"])["item"]).tolist()))
    (tmp_path / "items.csv").write_text("item,size\n" + "".join(f"{item},{n}\n" for n, item in enumerate(items)))
    fit = ("--out", tmp_path / "m", "--item-features", tmp_path / "items.csv")
    told = document("fit", files["clicks"], *fit)
    assert (told["model"], told["model_chosen"]) == ("AltSVM", "for clicks with features")
    (tmp_path / "nobody.csv").write_text(f"winner,loser\n{items[0]},{items[1]}\n")
    code, _, error = run("fit", tmp_path / "nobody.csv", "--no-user", *fit)
    assert code == 2 and "these comparisons name nobody; leave the features out" in error


def test_other_models(files, tmp_path):
    """--model fits any estimator to what it can learn from; options it does not have are refused."""
    assert f"{', '.join(rather.ESTIMATORS)} (default: " in " ".join(run("fit", "--help")[1].split())
    told = document("fit", files["ratings"], "--out", tmp_path / "m", "--model", "Global")
    assert told["model"] == "Global" and type(rather.load(tmp_path / "m")) is rather.Global
    told = document("fit", files["ratings"], "--out", tmp_path / "m", "--model", "ItemMean")  # which has no rounds
    assert told["rounds"] == 0 and rather.load(tmp_path / "m").slope_ is not None
    out = run("fit", files["ratings"], "--out", tmp_path / "m", "--model", "ItemMean")[1]
    assert re.search(r"^fit +ItemMean in [0-9.]+ seconds$", out, re.M)
    code, _, error = run("fit", files["ratings"], "--out", tmp_path / "m", "--model", "Global", "--rank", 3)
    assert code == 2 and "Global has no --rank" in error
    code, _, error = run("fit", files["votes"], "--out", tmp_path / "m", "--model", "LCR")
    assert code == 2 and "give a file of ratings, or give --model AltSVM" in error


def test_a_column_called_weight_or_tie_is_one(tmp_path):
    """Optional columns are used when they are there under their own names, and the document says so."""
    table = {"user": ["a", "b"], "winner": ["x", "y"], "loser": ["y", "z"], "tie": ["true", "false"]}
    table_files.write_table(tmp_path / "v.csv", {name: np.array(column) for name, column in table.items()})
    told = document("fit", tmp_path / "v.csv", "--out", tmp_path / "m")
    assert told["columns"]["tie"] == "tie" and told["comparisons"] == 3


def test_fit_goes_on_from_a_checkpoint(files, tmp_path):
    """A fit that stopped after a few rounds goes on to the model it would have been."""
    fit = ("fit", files["votes"], "--rank", 4, "--tol", 0)
    document(*fit, "--out", tmp_path / "straight", "--max-iter", 6)
    state = ("--checkpoint", tmp_path / "state")
    assert document(*fit, "--out", tmp_path / "resumed", "--max-iter", 2, *state)["rounds"] == 2
    assert document(*fit, "--out", tmp_path / "resumed", "--max-iter", 6, *state)["rounds"] == 6
    straight, resumed = rather.load(tmp_path / "straight"), rather.load(tmp_path / "resumed")
    np.testing.assert_array_equal(straight.user_factors_, resumed.user_factors_)
    np.testing.assert_array_equal(straight.item_factors_, resumed.item_factors_)


def test_interrupted_fit_saves_the_best_so_far_and_can_go_on(files, tmp_path, monkeypatch):
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


def test_ctrl_c_anywhere_else(monkeypatch):
    """Ctrl-C outside a fit is one line and 130 as well."""

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "examine", interrupt)
    assert run("doctor") == (130, "", "rather: interrupted\n")
