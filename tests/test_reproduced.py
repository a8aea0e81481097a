"""The paper's tables: cells kept one by one, verdicts on claims, and a page that is what the results say."""

import sys

import claims
import common
import figure2
import page
import pytest
import table2
import table4
import tables


@pytest.fixture
def results(tmp_path, monkeypatch):
    """An empty folder of results."""
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    return tmp_path


def keep(values, **at):
    for seed, value in enumerate(values):
        tables.keep("table2", {"data": "ml-1m", **at}, seed, [{"ndcg": value}])


def test_the_page_is_what_the_results_say():
    """docs/paper.md is up to date; rather paper page writes it."""
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
    found = [(row["N"], row["method"], row["seed"], row["ndcg"]) for row in tables.read("table2")]
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
    assert {(row["data"], row["method"]) for row in tables.read("x")} >= {("ml-1m", "A"), ("ml-1m", "B")}


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
    lines = table2.table(tables.read("table2")).splitlines()
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
    assert "AltSVM 0.7000 against Global 0.6667 (+0.0333, level), 0.8000 against LCR 0.7500" in contest.numbers


def test_small_data_have_sizes_of_their_own():
    """MovieLens 100K has users with 20 ratings, so N is 10 and 20 there."""
    assert {cell.at["N"] for cell in table2.cells("ml-100k", 0)} == {10, 20}


def test_verdicts(results):
    """A claim holds, holds in part or does not, by differences over shared seeds; what noise explains is level."""

    def verdict():
        return claims.Claim("Better.", lambda: claims.ndcg("AltSVM", ("Global", "LCR"), (50,))).stated()

    assert verdict() == "- **Better.** Not measured yet."
    keep([0.8, 0.8, 0.8], N=50, method="AltSVM")
    keep([0.7, 0.7], N=50, method="Global")
    assert verdict() == "- **Better.** Held. MovieLens 1M, N = 50: AltSVM 0.8000 against Global 0.7000 (+0.1000)."
    keep([0.9, 0.9], N=50, method="LCR")
    assert "Held in part: better in 1 of 2." in verdict()
    keep([0.6, 1.02], N=50, method="Global")
    assert "Did not hold: better in 0 of 2, level in 1." in verdict() and "Global 0.8100 (-0.0100, level)" in verdict()


def test_time_to_the_rivals_best(results):
    """AltSVM converges faster if it is near the rival's best before the rival is."""
    for method, times in {"AltSVM": (1, 2), "CofiRank": (3, 9)}.items():
        at = {"data": "ml-1m", "panel": "ratings", "method": method, "threads": 1}
        values = zip(times, (0.5, 0.8), strict=True)
        tables.keep(figure2.NAME, at, 0, [{"round": n, "time": t, "value": v} for n, (t, v) in enumerate(values)])
    (contest,) = claims.sooner("ratings", "CofiRank")
    assert contest.better and "after 2.00 s" in contest.numbers and "after 9.00 s" in contest.numbers


def test_speed_up_is_judged_at_the_papers_threads(results):
    """The speed-up at the most threads measured is compared with the paper's at as many."""
    for n, seconds in ((1, 100.0), (4, 30.0)):
        at = {"data": "ml-1m", "method": "sdca", "threads": n}
        tables.keep(table4.NAME, at, 0, [{"seconds": seconds, "rounds": 9, "objective": 1.0, "gap": 1e-6}])
    (contest,) = claims.speed_up()
    assert contest.better and "3.3 times one" in contest.numbers and "(paper: 2.6 times)" in contest.numbers
    assert "| sdca, speed-up | 1.0x | – | 3.3x |" in table4.table(tables.read(table4.NAME))
