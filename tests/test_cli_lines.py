"""Errors about a row of a file name the file and the line, as the user's editor numbers them."""

import gzip

import numpy as np
import pytest

import rather
from rather.data import csv_text
from rather.data.table_files import line_in_file, write_table
from shell import complaint, run

VOTES = "user,winner,loser\nann,A,B\nbob,B,C\ncy,C,A\n"


@pytest.fixture
def fit(tmp_path):
    def said(text, *options, name="votes.csv", piped=b""):
        if text is not None:
            (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        line = complaint("fit", "-" if piped else tmp_path / name, "--out", tmp_path / "m", *options, piped=piped)
        return line.replace(f"{tmp_path}/", "")

    return said


def test_lines_count_from_one_with_the_header(fit):
    """The row below the header is line 2."""
    said = fit("user,winner,loser\nann,A,\n")
    assert said == "rather: votes.csv, line 2: the loser (column 'loser') is empty; drop such rows"
    said = fit(VOTES + "dan,B,B\n")
    assert said == "rather: votes.csv, line 5: item 'B' is compared with itself; drop such rows"
    said = fit("user,item,rating\nann,A,1\nann,B,3;5\n")
    assert said == "rather: votes.csv, line 3: the rating (column 'rating') is '3;5'; it must be a number"


@pytest.mark.parametrize("name", ["votes.csv", "votes.tsv", "votes.csv.gz"])
def test_blank_lines_and_lines_within_a_field_count(fit, name):
    """What an editor shows as a line is one, whatever the row."""
    text = 'user,winner,loser\n\n\n"ann\nb.",A,B\nbob,,C\n'
    assert ", line 6: the winner (column 'winner') is empty" in fit(
        text.replace(",", "\t") if name.endswith("tsv") else text, name=name
    )


def test_text_that_is_piped_in_has_lines_too(fit):
    said = fit(None, piped=b"user;winner;loser\n\nann;A;\n")
    assert said == "rather: standard input, line 3: the loser (column 'loser') is empty; drop such rows"


def test_a_table_of_items_has_lines_too(tmp_path):
    """``rather serve`` names the file and the line of an item."""
    pytest.importorskip("starlette")
    items = tmp_path / "items.csv"
    items.write_text("item,title\na,A\n,B\nc,C\n")
    assert complaint("serve", items) == f"rather: {items}, line 3: the item (column 'item') is empty; drop such rows"
    items.write_text("item,title\na,A\nb,B\na,C\n")
    assert complaint("serve", items) == f"rather: {items}, line 4: item 'a' is listed twice; list it once"


def test_parquet_has_rows(tmp_path):
    """A Parquet file has no lines: its rows count from 0."""
    pytest.importorskip("pyarrow")
    ids = {"user": ["a", "b"], "winner": ["A", "B"], "loser": ["B", "B"]}
    write_table(tmp_path / "v.parquet", {name: np.array(column, object) for name, column in ids.items()})
    said = complaint("fit", tmp_path / "v.parquet", "--out", tmp_path / "m")
    assert said == f"rather: {tmp_path}/v.parquet, row 1: item 'B' is compared with itself; drop such rows"


def test_the_file_is_the_one_with_the_row(tmp_path):
    """An error names which of several files is at fault: features, older data, exclusions, answers, items, titles."""
    votes, model = tmp_path / "votes.csv", tmp_path / "m"
    write_table(votes, rather.simulate(20, 6, rank=1, per_user=10).comparisons.to_frame("dict"))
    clicks = tmp_path / "clicks.csv"
    clicks.write_text("".join(["user,item\n", *(f"user {n % 20},item {n % 6}\n" for n in range(60))]))
    assert run("fit", votes, "--out", model, "--rank", 1)[0] == 0
    assert run("fit", votes, "--out", tmp_path / "s", "--rank", 1, "--slim")[0] == 0
    bad = {}
    for name, text in {
        "items": "item,title\nitem 1,x\n,y\n", "old": "user,winner,loser\na,item 1,\n",
        "pairs": "winner,loser\nitem 1,item 2\nitem 1,\n", "seen": "user,item\nuser 1,item 1\nuser 1,\n",
    }.items():  # fmt: skip
        bad[name] = tmp_path / f"{name}.csv"
        bad[name].write_text(text)
    asked = {
        ("fit", votes, "--out", model, "--item-features", bad["items"]): ("items", 3),
        ("update", tmp_path / "s", votes, "--old", bad["old"]): ("old", 2),
        ("rank", model, "--answers", bad["pairs"]): ("pairs", 3),
        ("rank", model, "--everyone", "--items-file", bad["items"]): ("items", 3),
        ("evaluate", model, clicks, "--exclude", bad["seen"]): ("seen", 3),
        ("ask", model, "--titles", bad["items"]): ("items", 3),
    }
    for argv, (name, line) in asked.items():
        said = complaint(*argv)
        assert said.startswith(f"rather: {bad[name]}, line {line}: the ") and said.endswith("is empty; drop such rows")


@pytest.mark.parametrize(
    "text", [VOTES, VOTES.replace("\n", "\r\n"), VOTES.replace("\n", "\n\n").replace("A", '"A\n"')]
)
def test_every_row_begins_on_its_line(text, tmp_path):
    """The line that is named holds the row's first field."""
    (tmp_path / "v.csv").write_bytes(text.encode())
    lines = text.split("\n")
    for row, user in enumerate(csv_text.columns_of(text.encode(), "v")["user"]):
        assert lines[line_in_file(tmp_path / "v.csv", row) - 1].startswith(user)
