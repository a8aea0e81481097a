"""rather paper: the scripts of a checkout, run by name."""

import json
from pathlib import Path

import pytest

from rather.cli import reproduce
from rather.cli.main import main
from shell import document, run


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with one script, which prints its arguments and keeps them as its result, and one helper module."""
    (tmp_path / "paper" / "results").mkdir(parents=True)
    (tmp_path / "paper" / "helper.py").write_text('"""Shared."""\n')
    (tmp_path / "paper" / "table1.py").write_text(
        '"""Table 1: nothing at all.\n\nMore about it."""\n'
        "import sys\nfrom pathlib import Path\n"
        'DATA = ("ml-1m", "netflix")\n'
        'if __name__ == "__main__":\n'
        "    print(sys.argv[1:])\n"
        "    (Path(__file__).parent / 'results' / 'table1.csv').write_text(' '.join(sys.argv[1:]))\n"
        '    sys.exit("--fail" in sys.argv)\n'
    )
    monkeypatch.setattr(reproduce, "__file__", str(tmp_path / "src" / "rather" / "cli" / "reproduce.py"))
    monkeypatch.setenv("RATHER_DATA", str(tmp_path))
    monkeypatch.setenv("RATHER_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_paper_lists_its_scripts_and_their_data(checkout):
    """Every script is listed by the first line of its docstring, with its data sets and whether they are there."""
    (checkout / "ml-1m").mkdir()
    (checkout / "ml-1m" / "ratings.parquet").touch()
    about = {"name": "table1", "about": "Table 1: nothing at all.", "data": {"ml-1m": True, "netflix": False}}
    assert document("paper") == {"scripts": [about]}
    code, out, _ = run("paper")
    assert code == 0 and "Table 1: nothing at all." in out and "ml-1m (there), netflix (absent)" in out


def test_paper_runs_a_script(checkout, capfd):
    """Whatever follows the name goes to the script; with --json what it prints goes to standard error."""
    given = ["--only", "AltSVM", "Global", "--seeds", "2", "--committed"]
    assert main(["paper", "table1", *given]) == 0
    assert capfd.readouterr().out == f"{given}\n"
    assert main(["paper", "table1", *given, "--json"]) == 0
    out, err = capfd.readouterr()
    results = checkout / "paper" / "results" / "table1.csv"
    assert json.loads(out) == {"ok": True, "name": "table1", "arguments": given, "results": str(results)}
    assert err == f"{given}\n" and results.read_text() == " ".join(given)


@pytest.mark.parametrize("given", [[], ["--results", "mine"]])
def test_paper_names_the_users_own_results(checkout, monkeypatch, given):
    """Unless told to work on the committed ones, a script keeps results in a folder of the user's own."""
    monkeypatch.chdir(checkout)
    own = Path(given[-1] if given else "rather-paper", "table1.csv")
    assert document("paper", "table1", *given)["results"] is None
    own.parent.mkdir()
    own.touch()
    assert document("paper", "table1", *given)["results"] == str(own)


def test_paper_reports_failure(checkout):
    """A script that fails makes the command fail; a name that is not there, or none, gets a sentence."""
    assert run("paper", "table1", "--fail")[0] == 1
    code, _, err = run("paper", "helper")
    assert code == 2 and "'helper'; it must be 'table1'" in err
    code, _, err = run("paper", "--seeds=2")
    assert code == 2 and "'--seeds=2' goes after the name" in err


def test_paper_without_a_checkout(checkout, monkeypatch):
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
