"""Ctrl-C on the command line: one line and 130 at any moment, and what was there before stays."""

import subprocess
import sys

import numpy as np
import pytest

import rather
from rather import Table
from rather.cli import lists
from rather.models.estimator import Estimator
from rather.solving import newton
from shell import complaint, document, run

pytestmark = pytest.mark.usefixtures("brief_search")


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "votes.csv"
    document("simulate", "--out", path, "--users", 20, "--items", 10, "--per-user", 10)
    return path


def interrupt(*_):
    raise KeyboardInterrupt


def after_rounds(monkeypatch, n):
    """Ctrl-C in the round after n of them."""
    real, rounds = newton.Newton.round, []

    def one_round(self):
        rounds.append(self)
        return interrupt() if len(rounds) > n else real(self)

    monkeypatch.setattr(newton.Newton, "round", one_round)


def test_an_interrupted_fit_leaves_the_model_that_was_there(votes, tmp_path, monkeypatch):
    """A model stays until a whole one takes its place; a part of one is saved beside it, and gone in the end."""
    fit = ("fit", votes, "--out", tmp_path / "m", "--tol", 0, "--max-iter", 3, "--reg", 5)
    document(*fit)
    before = (tmp_path / "m").read_bytes()
    with monkeypatch.context() as patch:
        after_rounds(patch, 2)
        code, out, err = run(*fit, "--seed", 1)
    assert (code, out) == (130, "") and err.count("\n") == 1
    assert f"the model of 2 rounds is saved to {tmp_path / 'm.partial'} ({tmp_path / 'm'} is as it was)" in err
    assert (tmp_path / "m").read_bytes() == before and len(rather.load(tmp_path / "m.partial").history_) == 2
    document(*fit, "--seed", 1)
    assert (tmp_path / "m").read_bytes() != before and not (tmp_path / "m.partial").exists()


def test_an_interrupt_while_calibrating(votes, tmp_path, monkeypatch):
    """What is interrupted while its probabilities are found is no whole model yet."""
    fit = ("fit", votes, "--out", tmp_path / "m", "--reg", 5)
    with monkeypatch.context() as patch:
        patch.setattr(Estimator, "calibrate", interrupt)
        code, _, err = run(*fit)
        assert code == 130 and f"saved to {tmp_path / 'm'}, without probabilities" in err
        assert rather.load(tmp_path / "m").slope_ is None
    document(*fit)
    monkeypatch.setattr(Estimator, "calibrate", interrupt)
    assert run(*fit)[0] == 130 and rather.load(tmp_path / "m").slope_ is not None
    assert rather.load(tmp_path / "m.partial").slope_ is None


def test_a_fit_that_chose_calibrates_no_further(votes, tmp_path, monkeypatch):
    """What was put aside for the choice says how sure to be: the model that is saved first is the whole one."""
    for when in ("_found_calibration", "calibrate"):
        monkeypatch.setattr(Estimator, when, interrupt)
    for _ in range(2):
        assert document("fit", votes, "--out", tmp_path / "m")["converged"]
        assert rather.load(tmp_path / "m").slope_ is not None and not (tmp_path / "m.partial").exists()


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("n", [0, 5, 40])
def test_an_interrupt_of_the_choice_leaves_nothing(votes, tmp_path, monkeypatch, there, n):
    """Before the first round there is nothing to save: one line, 130, and the folder is as it was."""
    fit = ("fit", votes, "--out", tmp_path / "m", "--checkpoint", tmp_path / "state")
    if there:
        document(*fit[:4], "--reg", 5)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with monkeypatch.context() as patch:
        after_rounds(patch, n)
        assert run(*fit) == (130, "", "rather: interrupted\n")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert document(*fit)["resumed"] is None


def test_what_is_no_model_is_not_written_over_by_a_part_of_one(votes, tmp_path):
    """The place of the part is checked as that of the model is, and is no checkpoint."""
    fit = ("fit", votes, "--out", tmp_path / "m")
    document(*fit)
    assert "must be different files" in complaint(*fit, "--checkpoint", tmp_path / "m.partial")
    (tmp_path / "m.partial").write_text("precious")
    assert "m.partial' is there already and is not a model" in complaint(*fit)


def test_a_resumed_fit_says_so(votes, tmp_path):
    """The document and the summary say that a fit went on from a checkpoint."""
    fit = ("fit", votes, "--out", tmp_path / "m", "--tol", 0, "--checkpoint", tmp_path / "state")
    assert document(*fit, "--max-iter", 2)["resumed"] is None
    assert document(*fit, "--max-iter", 3)["resumed"] == str(tmp_path / "state")
    assert f"resumed from {tmp_path / 'state'}" in " ".join(run(*fit, "--max-iter", 3)[1].split())


def test_while_the_command_is_imported():
    """The command imports nothing before it can say in one line that it was interrupted."""
    code = """if True:
        import sys, rather_command
        class Interrupt:
            def find_spec(self, name, *_):
                if name == "rather":
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Interrupt())
        sys.exit(rather_command.main())"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "rather: interrupted\n")


def test_while_scores_are_written():
    """Ctrl-C while scores become text is not taken for a score that is none."""

    class Score(np.float32):
        def __str__(self):
            raise KeyboardInterrupt

    column = np.empty(1, object)
    column[0] = Score(1)
    with pytest.raises(KeyboardInterrupt):
        lists._columns(Table({"score": column}))
