"""CSV files: the two readers agree on everything, and what cannot be read, or held, is refused with a sentence."""

import gzip
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rather import FileError, InputError, memory
from rather.data import csv_text, table_files
from rather.data.csv_text import read_by_pyarrow, read_by_standard_library
from test_frames import CSV

PIECES = [
    *'a,;"\n\t 017-+.é',
    "\r\n", "\r", "\n\n", '"a,b"', '"\n"', '""', "\n1,2", "\n-5,007\n", "\nx,3.5", "99999999999999999999", "-0", "0x1F",
    "nan", "null", "\ufeff", "\x00", "\x0b", "\x1c", "\x85", "\u2028", "true", "1e5", "+3",
]  # fmt: skip


def plain(columns):
    """Columns as they can be compared: values and types."""
    return {name: (column.dtype, column.tolist()) for name, column in columns.items()}


def outcome(read, *args):
    """The columns, or the sentence."""
    try:
        return plain(read(*args))
    except InputError as e:
        return str(e)


@settings(max_examples=600, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(["a,b\n", "a\n", ""]), st.sampled_from([64, 2**20])
)
@example(["1", ",", "2", "\n", "3"], "a,b\n", 2**20)
@example(['"', "a"], "a\n", 2**20)
def test_readers_agree(pieces, header, block):
    """Whatever pyarrow reads, in blocks of any size, the standard library reads alike."""
    raw = (header + "".join(pieces)).encode()
    fast = read_by_pyarrow(raw, "it", ",", block)
    if fast is not None:
        assert plain(fast) == plain(read_by_standard_library(raw, "it", ","))


@pytest.mark.parametrize("text", [text for text, _, _ in CSV.values()], ids=CSV)
def test_readers_agree_on_the_examples(text, monkeypatch):
    """The readers give the same columns of every example, whichever is asked first."""
    slow = csv_text.columns_of(text, "it")
    monkeypatch.setattr(csv_text, "LONG", 0)
    assert plain(csv_text.columns_of(text, "it")) == plain(slow)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.integers(-(2**70), 2**70).map(str), st.text("0123456789-x", max_size=4)), min_size=1))
def test_the_rule_for_integers_is_one(fields):
    """A column is integers, of 64 bits or more, or text by the same rule for both readers."""
    raw = ("n,m\n" + "".join(f"{field},1\n" for field in fields)).encode()
    fast = read_by_pyarrow(raw, "it", ",")
    assert fast is not None and plain(fast) == plain(read_by_standard_library(raw, "it", ","))


LONG = b"".join(b"user %d,%d,%03d\n" % (k % 50, k, k % 9) for k in range(100_000))


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"a,b,c\n" + LONG + b"1,2\n", "line 100002 of the file"),
        (b"a,b,a\n" + LONG, "has 'a' twice"),
        (b"a,b,c\n" + LONG + b"\xe9,1,2\n", "--encoding latin-1"),
    ],
    ids=["ragged", "twice", "latin-1"],
)
def test_long_files_are_refused_like_short_ones(raw, said, tmp_path):
    """What is wrong with a file that pyarrow is asked for is said by the same sentences, with the line."""
    path = tmp_path / "long.csv"
    path.write_bytes(raw)
    assert len(raw) > csv_text.LONG
    with pytest.raises(FileError, match=said):
        table_files.read_file(path)


def test_long_files_read_the_same_without_pyarrow(tmp_path, monkeypatch):
    """Where pyarrow is not installed a long file takes longer, and that is all."""
    path = tmp_path / "long.csv.gz"
    path.write_bytes(gzip.compress(b"a,b,c\n" + LONG))
    fast = table_files.read_file(path)
    assert [column.dtype for column in fast.values()] == [object, np.int64, object]
    for name in ("pyarrow", "pyarrow.csv", "pyarrow.compute"):
        monkeypatch.setitem(sys.modules, name, None)
    assert read_by_pyarrow(b"a\n1\n", "it", ",") is None
    assert plain(table_files.read_file(path)) == plain(fast)


def test_long_files_do_not_load_pandas(tmp_path):
    """Reading a long file takes pyarrow, but not pandas, which would take longer than reading."""
    path = tmp_path / "long.csv"
    path.write_bytes(b"a,b,c\n" + LONG)
    code = f"import sys; from rather.data.table_files import read_file; read_file({str(path)!r}); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "pyarrow" in loaded and "pandas" not in loaded


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_text_that_does_not_fit_is_refused(name, tmp_path, monkeypatch):
    """A file whose text would take more memory than there is is refused before it is read, with what to do."""
    path = tmp_path / name
    path.write_bytes(b"a,b\n" + LONG)
    monkeypatch.setattr(memory, "available", lambda: 2**20)
    with pytest.raises(
        InputError, match=r"to read the file .* would take .* MiB, and 1 MiB are free; leave out columns"
    ):
        table_files.read_file(path)


def test_a_file_too_large_is_not_read(tmp_path, monkeypatch):
    """The size of a file tells that its text does not fit: none of it is read."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + LONG)
    monkeypatch.setattr(memory, "available", lambda: len(LONG))
    monkeypatch.setattr(table_files, "_read", lambda f, what: pytest.fail("it was read"))
    with pytest.raises(InputError, match="to read the file"):
        table_files.read_file(path)


@pytest.mark.parametrize("read", [read_by_standard_library, read_by_pyarrow])
def test_what_columns_take_grows_with_text_and_fields(read, monkeypatch):
    """Text of the same length needs more memory if it has more fields, and twice as much text needs more."""
    needed = []
    monkeypatch.setattr(memory, "require", lambda size, what, instead: needed.append(size))
    for row, rows in ((b"1234567,1234567\n", 100), (b"1,2,3,4,5,6,7,8\n", 100), (b"1234567,1234567\n", 200)):
        header = b",".join(b"%d" % k for k in range(1 + row.count(b",")))
        read(header + b"\n" + rows * row, "t.csv", ",")
    assert needed[0] >= 1600 and needed[0] < needed[1] and needed[0] < needed[2]


def test_encodings(tmp_path):
    """Text of any encoding is read if it is named; one that is not there is refused."""
    for encoding in ("latin-1", "utf-16", "cp1252", "utf-8"):
        path = tmp_path / "t.csv"
        path.write_bytes("user,n\nJosé,1\n".encode(encoding))
        assert plain(table_files.read_file(path, encoding=encoding)) == {
            "user": (object, ["José"]),
            "n": (np.int64, [1]),
        }
    for wrong in ("klingon", "rot13", "base64", "\0"):
        with pytest.raises(InputError, match="encoding is"):
            table_files.read_file(path, encoding=wrong)
    with pytest.raises(FileError, match="cannot be read as utf-16 text"):
        table_files.read_file(path, encoding="utf-16")


def test_parquet_has_neither_delimiter_nor_encoding(tmp_path):
    """What only CSV has is refused for Parquet."""
    path = tmp_path / "t.parquet"
    table_files.write_table(path, {"n": np.array([1])})
    for wrong in ({"delimiter": ";"}, {"encoding": "utf-8"}):
        with pytest.raises(InputError, match=f"has no {next(iter(wrong))}; leave out"):
            table_files.read_file(path, **wrong)


def test_arrow_tables_are_written_as_they_are(tmp_path):
    """A Parquet file keeps an Arrow table's types; a CSV file has its values, empty where one is missing."""
    table = pa.table({"user": ["a", None], "n": pa.array([1, 2], pa.int8())})
    table_files.write_tables({tmp_path / "t.parquet": table, tmp_path / "t.csv": table})
    assert table_files.read_file(tmp_path / "t.parquet").equals(table)
    assert (tmp_path / "t.csv").read_text() == "user,n\na,1\n,2\n"


def test_all_tables_are_written_or_none(tmp_path, monkeypatch):
    """If the second of two tables cannot be written, the first does not appear either."""
    real = table_files._write_csv

    def full_disk(f, columns):
        if "second" in columns:
            raise OSError(28, "No space left on device")
        real(f, columns)

    monkeypatch.setattr(table_files, "_write_csv", full_disk)
    with pytest.raises(FileError, match="No space left"):
        table_files.write_tables({tmp_path / f"{n}.csv": {n: np.array([1])} for n in ("first", "second")})
    assert not list(tmp_path.iterdir())


def test_the_file_that_fails_is_named(tmp_path, monkeypatch):
    """Of two files the one whose disk is full is named, whichever it is."""
    for broken in ("a.csv", "b.csv"):

        def full(f, columns, broken=broken):
            if columns["name"][0] == broken:
                raise OSError(28, "No space left on device")

        monkeypatch.setattr(table_files, "_write_csv", full)
        with pytest.raises(FileError, match=f"cannot write '.*{broken}': No space left"):
            table_files.write_tables({tmp_path / name: {"name": [name]} for name in ("a.csv", "b.csv")})
    assert not list(tmp_path.iterdir())


def test_a_parquet_file_with_a_column_twice(tmp_path):
    """Which of the two is meant cannot be said, so one must be renamed."""
    pq.write_table(pa.table([[1], [2]], names=["user", "user"]), tmp_path / "t.parquet")
    with pytest.raises(FileError, match=r"t.parquet' has the column 'user' twice; rename one of the columns"):
        table_files.read_file(tmp_path / "t.parquet")


def test_devices_are_not_replaced():
    """A device or a pipe is not a place to write a file to."""
    with pytest.raises(FileError, match="is a device or a pipe"):
        table_files.destination("/dev/null")
