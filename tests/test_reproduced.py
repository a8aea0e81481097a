"""The paper's tables: cells kept one by one, verdicts on claims, and a page that is what the results say."""

import os
import subprocess
import sys
from pathlib import Path

import claims
import figure2
import page
import pytest
import table2
import table4

from measuring import common, experiment, tables


@pytest.fixture
def results(tmp_path, monkeypatch):
    """An empty folder of results."""
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    return tmp_path


def keep(values, **at):
    for seed, value in enumerate(values):
        experiment.keep("table2", {"data": "ml-1m", **at}, seed, [{"ndcg": value}])


def test_the_page_is_what_the_results_say():
    """docs/benchmarks/paper.md is up to date; rather paper page writes it."""
    assert page.PAGE.read_text() == page.page()


def test_the_page_can_be_made_of_nothing(results):
    """Before anything was measured every section says so, and no claim is judged."""
    text = page.page()
    assert text.count("\nNot measured yet.") == len(page.SECTIONS)
    assert text.count("** Not measured yet.") == len(claims.CLAIMS)


def test_a_cell_is_replaced_and_the_others_stay(results):
    """Rows of the same cell and seed give way to fresh ones, all others are kept, in one order."""
    keep([0.7, 0.8], N=20, method="Global")
    keep([0.5], N=100, method="AltSVM")
    keep([0.6], N=20, method="AltSVM")
    keep([0.75], N=20, method="Global")
    found = [(row["N"], row["method"], row["seed"], row["ndcg"]) for row in common.read("table2")]
    assert found == [(20, "AltSVM", 0, 0.6), (20, "Global", 0, 0.75), (20, "Global", 1, 0.8), (100, "AltSVM", 0, 0.5)]


def test_a_script_measures_what_is_asked_for(results, monkeypatch, capsys):
    """--only, --seeds, --data and --missing choose the cells; each is kept as soon as it is done, and shown apart."""
    measured = []

    def cells(data, seed):
        def measure(method):
            measured.append((data, seed, method))
            if method == "C":
                raise KeyboardInterrupt
            return {"value": seed + 0.5}

        return tables.by_method(dict.fromkeys("ABC"), measure, data=data)

    def run(*options):
        measured.clear()
        monkeypatch.setattr(sys, "argv", ["x.py", "--results", str(results / "own"), *options])
        tables.main("x", "About.", cells, lambda rows: f"{len(rows)} rows", data=("ml-1m", "netflix"), methods="ABC")
        return measured, [line for line in capsys.readouterr().out.splitlines() if line.endswith(("rows", ":"))]

    has = f"what {results / 'own' / 'x.csv'} has:"
    with pytest.raises(SystemExit, match="nothing was measured yet"):
        run("--draw")
    assert run("--data", "netflix", "--seeds", "2", "--only", "B") == (
        [("netflix", 0, "B"), ("netflix", 1, "B")],
        ["Measured now:", "2 rows"],
    )
    assert run("--data", "netflix", "--seeds", "1", "--only", "A", "B", "--missing") == (
        [("netflix", 0, "A")],
        ["Measured now:", "1 rows", f"With {has}", "3 rows"],
    )
    assert run("--draw") == ([], [f"All of {has}", "3 rows"])
    with pytest.raises(SystemExit, match="the cells that were done are kept"):
        run("--data", "ml-1m")
    assert {(row["data"], row["method"]) for row in common.read("x")} >= {("ml-1m", "A"), ("ml-1m", "B")}


def test_rows_from_elsewhere_replace_cells(results, monkeypatch, capsys):
    """--take puts in what another folder has, cell by cell, and measures nothing."""

    def cells(data, seed):
        return tables.by_method("AB", lambda method: pytest.fail("measured"), data=data)

    for folder, values in {"own": {"A": 1.0, "B": 2.0}, "theirs": {"B": 3.0, "C": 4.0}}.items():
        monkeypatch.setattr(common, "RESULTS", results / folder)
        for method, value in values.items():
            experiment.keep("x", {"data": "ml-1m", "method": method}, 0, [{"value": value}])
    given = ["--results", str(results / "own"), "--take", str(results / "theirs")]
    monkeypatch.setattr(sys, "argv", ["x.py", *given])
    tables.main("x", "About.", cells, lambda rows: f"{len(rows)} rows", data=("ml-1m",))
    assert {row["method"]: row["value"] for row in common.read("x")} == {"A": 1.0, "B": 3.0, "C": 4.0}
    assert "Measured there:\n\n2 rows" in capsys.readouterr().out


SCRIPT = """
import os, signal
from measuring import tables

def judge(method):
    if method == "B":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"threads": tables.THREADS, "blas": os.environ["OPENBLAS_NUM_THREADS"], "process": os.getpid()}

def cells(data, seed):
    return tables.by_method("ABC", judge, data=data)

if __name__ == "__main__":
    tables.main("x", "", cells, lambda rows: f"{len(rows)} rows", data=("ml-1m",), methods="ABC", seeds=2)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_several_processes_measure_at_once(results):
    """Every cell has a process of its own with the threads asked for; one that is killed takes no other with it."""
    (results / "x.py").write_text(SCRIPT)
    command = [sys.executable, "x.py", "--data", "ml-1m", "--processes", "2", "--threads", "3", "--results", "."]
    known = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    path = {"PYTHONPATH": os.pathsep.join([str(Path(tables.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, cwd=results, env={**known, **path}, capture_output=True, text=True)
    rows = common.read("x")
    assert [(row["method"], row["seed"]) for row in rows] == [("A", 0), ("A", 1), ("C", 0), ("C", 1)], done.stderr
    assert {(row["threads"], row["blas"]) for row in rows} == {(3, 1)} and len({row["process"] for row in rows}) == 4
    assert done.stderr.splitlines()[-3:] == [
        "Lost, for their processes died:", "seed 0  data ml-1m  method B", "seed 1  data ml-1m  method B",
    ]  # fmt: skip


def test_a_script_without_data_says_how_to_get_them(results, tmp_path, monkeypatch):
    """Where none of its data sets is there, a script ends with the library's sentence."""
    monkeypatch.setenv("RATHER_DATA", str(tmp_path))
    monkeypatch.setenv("RATHER_CACHE", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["table2.py"])
    with pytest.raises(SystemExit, match="table2: the data set 'ml-1m' was not found"):
        tables.main("table2", "About.", table2.cells, table2.table, data=table2.DATA)


def test_figures_stand_beside_the_papers(results):
    """Mean and standard deviation over seeds, the paper's figure in brackets, a dash for what is not there."""
    keep([0.70, 0.72], N=20, method="Global")
    keep([0.71], N=20, method="AltSVM")
    lines = table2.table(common.read("table2")).splitlines()
    assert "| AltSVM | 0.7100 (0.7308) | – (0.7712) | – (0.7902) |" in lines
    assert any(line.startswith("| Global | 0.7100 ± 0.0141 (0.7500) |") for line in lines)


def test_lines_with_nothing_measured_are_left_out():
    """What is shown of a run has no lines of dashes, with or without the paper's figures."""
    text = tables.markdown(["", "N = 20", "N = 50"], [["A", "0.7", "–"], ["B", "– (0.7)", "–"], ["–C", "0.1", "0.2"]])
    assert tables.measured(text).splitlines()[2:] == ["| A | 0.7 | – |", "| –C | 0.1 | 0.2 |"]
    assert tables.measured(f"{text}\n\n{tables.markdown(['N', '20'], [['A', '–']])}") == tables.measured(text)


def test_means_are_of_the_seeds_of_the_differences(results):
    """Where a rival lacks a seed, both means are over those it has, so that they differ by what is stated."""
    keep([0.8, 0.8, 0.5], N=50, method="AltSVM")
    keep([0.7, 0.7, 0.6], N=50, method="Global")
    keep([0.75, 0.75], N=50, method="LCR")
    (contest,) = claims.ndcg("AltSVM", ("Global", "LCR"), (50,))[:1]
    against = (
        "AltSVM: 0.7000 against Global: 0.6667 (+0.0333, level) on seeds 0 to 2, AltSVM: 0.8000 against LCR: 0.7500"
    )
    assert contest.where == "MovieLens 1M, N = 50"
    assert contest.numbers.startswith(against) and contest.numbers.endswith("on seeds 0 to 1")


def test_seeds_are_named():
    """A run of seeds by its ends, others one by one."""
    assert [tables.seeds(some) for some in ([3], {1, 0, 2}, [0, 2])] == ["seed 3", "seeds 0 to 2", "seeds 0, 2"]


def test_claims_about_comparisons_are_judged_by_pairs_alone():
    """No method that the claims on pairs alone are judged by learns from which items people chose to rate."""
    assert all(table2.METHODS[method][0]().exposure is False for method in claims.PAIRS_ALONE)


def test_small_data_have_sizes_of_their_own():
    """MovieLens 100K has users with 20 ratings, so N is 10 and 20 there."""
    assert {cell.at["N"] for cell in table2.cells("ml-100k", 0)} == {10, 20}


def test_a_slow_method_is_left_out_of_large_data():
    """CofiRank with the loss of NDCG is fitted to Letterboxd at N = 20 only, all others everywhere."""
    at = {(cell.at["N"], cell.at["method"]) for cell in table2.cells("letterboxd", 0)}
    left_out = {(n, "CofiRank-ndcg") for n in (50, 100)}
    assert at == {(n, method) for n in table2.SIZES for method in table2.METHODS} - left_out


def test_verdicts(results):
    """A claim holds, holds in part or does not, by differences over shared seeds; what noise explains is level."""

    def verdict():
        return claims.Claim("Better.", lambda: claims.ndcg("AltSVM", ("Global", "LCR"), (50,))).stated()

    assert verdict() == "**Better.** Not measured yet.\n"
    keep([0.8, 0.8, 0.8], N=50, method="AltSVM")
    keep([0.7, 0.7], N=50, method="Global")
    numbers = "AltSVM: 0.8000 against Global: 0.7000 (+0.1000) on seeds 0 to 1"
    assert verdict().startswith("**Better.** Held.\n") and f"| MovieLens 1M, N = 50 | {numbers} |" in verdict()
    keep([0.9, 0.9], N=50, method="LCR")
    assert "Held in part: better in 1 of 2." in verdict()
    keep([0.6, 1.02], N=50, method="Global")
    assert "Did not hold: better in 0 of 2, level in 1." in verdict() and "Global: 0.8100 (-0.0100, level)" in verdict()


def test_time_to_the_rivals_best(results):
    """AltSVM converges faster if, on the seeds that both have, it is near the rival's best before the rival is."""

    def timed(method, *ends):
        for seed, (near, best) in enumerate(ends):
            at = {"data": "ml-1m", "panel": "ratings", "method": method, "threads": 1}
            points = [{"round": n, "time": near / (3 - n), "value": best * n / 2} for n in range(3)]
            experiment.keep(figure2.NAME, at, seed, points)
        return claims.sooner("ratings", "CofiRank")

    timed("CofiRank", (9, 0.8), (9.5, 0.7))
    (contest,) = timed("AltSVM", (2, 0.8), (2.1, 0.8), (50, 0.8))
    assert contest.better and "0.7425 after 2.05 s, CofiRank after 9.25 s on seeds 0 to 1" in contest.numbers
    assert "| 0.7500 ± 0.0707 | 9.25 ± 0.35 |" in figure2.table(common.read(figure2.NAME))
    (contest,) = timed("AltSVM", (2, 0.8), (11, 0.8))
    assert contest.level and not contest.better
    (contest,) = timed("AltSVM", (2, 0.8), (2, 0.6))
    assert not contest.level and not contest.better and "after 2.00 s in 1 of 2" in contest.numbers


def test_speed_up_is_judged_at_the_papers_threads(results):
    """The speed-up at the most threads, over the seeds that also have one thread, beside the paper's at as many."""
    for n, times in {1: (100.0, 120.0), 4: (25.0, 40.0, 1.0)}.items():
        for seed, seconds in enumerate(times):
            at = {"data": "ml-1m", "method": "sdca", "threads": n}
            experiment.keep(table4.NAME, at, seed, [{"seconds": seconds, "rounds": 9, "objective": 1.0, "gap": 1e-6}])
    (contest,) = claims.speed_up()
    assert (
        contest.better
        and "on 4 threads: 3.5 times as fast as one thread on seeds 0 to 1 (paper: 2.6 times)" in contest.numbers
    )
    assert "| sdca, speed-up | 1.0x | – | 3.5x |" in table4.table(common.read(table4.NAME))
