"""Frames and files of every kind give the same columns, and keep their kind."""

import gzip
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from rather import InputError, Table
from rather.data import frames, table_files, tables

TABLE = {"user": ["ann", "bob", "ann"], "n": [3, 1, 2], "share": [0.5, -1.0, 2.0]}
MAKERS = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("kind", MAKERS)
def test_columns_of_every_kind(kind):
    """The named columns come out alike whatever the frame, under their roles."""
    got = frames.columns(MAKERS[kind](TABLE), {"who": "user", "count": "n"}, {"weight": "share", "tie": None})
    assert list(got) == ["who", "count", "weight"]
    assert [list(got[role]) for role in got] == list(TABLE.values())


@pytest.mark.parametrize("kind", MAKERS)
def test_take_keeps_rows_and_kind(kind):
    """A mask picks its rows in order, as the same kind of frame with the same columns."""
    part = frames.take(MAKERS[kind](TABLE), np.array([True, False, True]))
    assert frames.kind_of(part) == kind
    got = frames.columns(part, {name: name for name in TABLE})
    assert {name: list(v) for name, v in got.items()} == {"user": ["ann", "ann"], "n": [3, 2], "share": [0.5, 2.0]}


def test_a_table_of_results_is_a_dict_of_its_columns():
    """Everything that reads a frame reads a Table as it reads the dict of the table's columns."""
    columns = {name: np.array(values, dtype=object if name == "user" else None) for name, values in TABLE.items()}
    table = Table(columns, "pandas")
    assert frames.kind_of(table) == "dict" and frames.names_in(table) == list(TABLE) and frames.length(table) == 3
    assert frames.columns(table, {"who": "user"})["who"].tolist() == TABLE["user"]
    part = frames.take(table, np.array([True, False, True]))
    assert {name: list(values) for name, values in part.items()} == {
        "user": ["ann", "ann"], "n": [3, 2], "share": [0.5, 2.0],
    }  # fmt: skip


def test_take_goes_by_position_not_by_index():
    """A pandas index, whatever it holds, does not decide which rows are taken, and stays with its rows."""
    frame = pd.DataFrame(TABLE, index=[2, 0, 0])
    part = frames.take(frame, np.array([True, False, True]))
    assert part["n"].tolist() == [3, 2] and part.index.tolist() == [2, 0]


def test_take_leaves_python_lists_alone():
    """Lists of a dict stay lists with the same values: integers too large for numpy are not turned into floats."""
    part = frames.take({"user": [2**63, -1, None], "item": ("a", 1, 2.5)}, np.array([True, True, False]))
    assert part == {"user": [2**63, -1], "item": ["a", 1]}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("ids", [["b", "a"], [2**63, 1], [-5, 3]], ids=str)
def test_make_and_read_back(kind, ids):
    """A table of ids and numbers made as any kind of frame reads back the same."""
    column = np.array(ids) if max(map(str, ids)) == "3" else np.array(ids, dtype=object)
    frame = tables.make({"id": column, "score": np.array([0.5, 1.5], np.float32)}, kind)
    got = frames.columns(frame, {"id": "id", "score": "score"})
    assert frames.kind_of(frame) == kind
    assert list(got["id"]) == ids and list(got["score"]) == [0.5, 1.5]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_integers_beyond_64_bits_survive(kind):
    """Kinds of frame that can hold integers beyond 64 bits give them back."""
    if kind == "polars" and not hasattr(pytest.importorskip("polars"), "Int128"):
        pytest.skip("this polars has no integers of 128 bits")
    frame = tables.make({"id": np.array([2**70, -(2**70)], dtype=object)}, kind)
    assert list(frames.columns(frame, {"id": "id"})["id"]) == [2**70, -(2**70)]


def test_numbers_are_read_from_anything_numeric():
    """Numbers may be integers, floats, booleans or text."""
    for values in ([1, 2.5, True], ["1", " 2.5", "1e0"], np.array([1, 2.5, 1], object), pd.Series([1, 2.5, 1])):
        assert frames.numbers(values, "x").tolist() == [1.0, 2.5, 1.0]


def test_flags_are_read_from_words():
    """Yes or no may be booleans, 0 and 1, or words in any case."""
    for values in ([True, False], [1, 0], [1.0, 0.0], ["TRUE", "false"], ["1", " 0 "], pd.array([True, False])):
        assert frames.flags(values, "x").tolist() == [True, False]


CSV = {
    "plain": (b"user,n\nann,1\nbob,2\n", ["ann", "bob"], [1, 2]),
    "no newline at the end": (b"user,n\nann,1\nbob,2", ["ann", "bob"], [1, 2]),
    "windows lines": (b"user,n\r\nann,1\r\nbob,2\r\n", ["ann", "bob"], [1, 2]),
    "blank lines": (b"user,n\n\nann,1\n\nbob,2\n\n", ["ann", "bob"], [1, 2]),
    "semicolons": (b"user;n\nann,x;1\nbob;2\n", ["ann,x", "bob"], [1, 2]),
    "tabs": (b"user\tn\nann\t1\nbob\t2\n", ["ann", "bob"], [1, 2]),
    "byte order mark": (b"\xef\xbb\xbfuser,n\nann,1\nbob,2\n", ["ann", "bob"], [1, 2]),
    "quoted fields": (
        b'user,n\n"ann, the ""first""","1"\n"two\nlines",2\n',
        ['ann, the "first"', "two\nlines"],
        [1, 2],
    ),
    "unicode": ("user,n\nŁódź,1\n日本,2\n".encode(), ["Łódź", "日本"], [1, 2]),
    "leading zeros": (b"user,n\n007,01\n7,1\n", ["007", "7"], ["01", "1"]),
    "negative": (b"user,n\n-7,0\n10,-1\n", [-7, 10], [0, -1]),
    "minus zero": (b"user,n\n-0,--1\n0,1\n", ["-0", "0"], ["--1", "1"]),
    "one is not a number": (b"user,n\n7,1\nx8,\n", ["7", "x8"], ["1", ""]),
    "decimals": (b"user,n\n7,1.50\n8,2\n", [7, 8], ["1.50", "2"]),
    "other scripts' digits": ("user,n\n٣,３\n4,5\n".encode(), ["٣", "4"], ["３", "5"]),
    "64 bits": (b"user,n\n9223372036854775807,-9223372036854775808\n1,2\n", [2**63 - 1, 1], [-(2**63), 2]),
    "beyond 64 bits": (f"user,n\n{2**70},1\n5,2\n".encode(), [2**70, 5], [1, 2]),
}


@pytest.mark.parametrize(("text", "user", "n"), CSV.values(), ids=CSV)
@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t.CSV.GZ"])
def test_csv(text, user, n, name, tmp_path):
    """CSV text is read as integers where a whole column is printed as integers are, and else as it stands."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith("GZ") else text)
    got = table_files.read_file(path)
    assert {k: v.tolist() for k, v in got.items()} == {"user": user, "n": n}


def test_tsv_may_hold_commas(tmp_path):
    """A .tsv file is cut at tabs even where its header has more commas."""
    path = tmp_path / "t.tsv"
    path.write_text("user, first, last\tn\nann\t1\n")
    assert {k: v.tolist() for k, v in table_files.read_file(str(path)).items()} == {
        "user, first, last": ["ann"],
        "n": [1],
    }


def test_parquet(tmp_path):
    """A Parquet file is read as a pyarrow table."""
    pyarrow.parquet.write_table(pa.table(TABLE), tmp_path / "t.parquet")
    got = table_files.read_file(tmp_path / "t.parquet")
    assert frames.kind_of(got) == "pyarrow" and got.to_pydict() == TABLE


@pytest.mark.parametrize(
    "ascending",
    [
        ["1700000000.1234567891", "1700000000.1234567892", "1700000001"],
        ["2024-02-29 12:00:00.123456788", "2024-02-29T12:00:00.123456789Z", "2024-02-29 13:00:01.5+01:00"],
        ["2024-02-29", "2024-02-29 00:00:00.000000001", "20240229T000000.1"],
        [Decimal("0.12345678901234567890"), Decimal("0.12345678901234567891"), Decimal(1)],
        [2**53, 2**53 + 1, 2.0**54],
        [2**63 - 1, 2**63, 2**64],
        [-1, 2**63, 2**63 + 1],
        [pd.Timestamp("2024-02-29 12:00:00.000000001", tz="UTC"), pd.Timestamp("2024-02-29T12:00:00.000000002Z")],
        [np.datetime64("2024-02-29T12:00:00.000000001"), np.datetime64("2024-02-29T12:00:00.000000002")],
        ["-1e-400", "0", "1e400"],
    ],
    ids=str,
)
def test_times_to_their_last_digit(ascending):
    """Times that differ in their last digit are in their order, however they are written."""
    for column in (ascending, ascending[::-1]):
        order = np.argsort(frames.times(column, "the time"), kind="stable")
        assert [column[k] for k in order] == ascending


@pytest.mark.parametrize(
    "text", ["2024-02-29 12:00:00.0000000001", "2024-02-29 12:00.5", "sNaN", "nan", "-inf", "", "2024-02-30", "z"]
)
def test_times_that_are_none(text):
    """A tenth digit of a second, what is not finite and what is no time are refused, not rounded."""
    with pytest.raises(InputError, match="must be a number, or a date or time"):
        frames.times([text, "2024-02-29"], "the time")


def test_a_packed_file_that_unpacks_to_too_much(tmp_path, monkeypatch):
    """A small .gz of endless text is refused as soon as it is more than fits, not read to its end."""
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"user,item\n" + b"a,b\n" * 10_000_000, 1))
    monkeypatch.setattr("rather.memory.available", lambda: 2**25)
    read, real = [], gzip.GzipFile.read
    monkeypatch.setattr(gzip.GzipFile, "read", lambda f, size=-1: read.append(size) or real(f, size))
    with pytest.raises(InputError, match="are free; leave out columns or rows"):
        table_files.read_file(path)
    assert path.stat().st_size < 2**20 and read == [table_files.PIECE]
