"""Result tables: rows, columns, text and frames."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rather import Table


@pytest.fixture
def table():
    items = np.array(["B", "A<b>"], dtype=object)
    return Table({"item": items, "score": np.array([1.25, -20.5], np.float32), "rank": np.array([1, 2])}, "polars")


def test_rows_and_columns(table):
    """Iterating gives named tuples of Python values; a column is an array."""
    assert len(table) == 2
    assert [(r.item, r.score, r.rank) for r in table] == [("B", 1.25, 1), ("A<b>", -20.5, 2)]
    assert {type(v) for row in table for v in row} == {str, float, int}
    assert table["rank"].tolist() == [1, 2]
    with pytest.raises(KeyError):
        table["user"]


@pytest.mark.parametrize(
    ("kind", "cls"),
    [(None, pl.DataFrame), ("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table), ("dict", dict)],
)
def test_to_frame(table, kind, cls):
    """A table turns into the kind of frame asked for, by default the kind the data came in."""
    frame = table.to_frame(kind)
    assert type(frame) is cls
    assert np.asarray(frame["score"]).tolist() == [1.25, -20.5]
    assert list(np.asarray(frame["item"])) == ["B", "A<b>"]


def test_text():
    """Names are left, numbers right, twenty rows at most with a note of how many there are."""
    short = Table({"item": np.array(["A", "long name"], dtype=object), "score": np.array([1.5, -20.25])})
    assert repr(short) == "item          score\nA            1.5000\nlong name  -20.2500"
    long = Table({"rank": np.arange(1234)})
    assert repr(long).splitlines()[-2:] == ["  19", "... 1,234 rows"] and len(repr(long).splitlines()) == 22


def test_html_is_escaped(table):
    """What a notebook shows is escaped: an item's name cannot become markup."""
    html = table._repr_html_()
    assert "<td>A&lt;b&gt;</td>" in html and "<b>" not in html
    assert "1,234 rows" in Table({"rank": np.arange(1234)})._repr_html_()


def test_empty():
    """A table without rows has a header and nothing else, and is a frame without rows."""
    empty = Table({"item": np.array([], dtype=object), "score": np.array([], np.float32)}, "pandas")
    assert len(empty) == 0 and list(empty) == [] and repr(empty) == "item  score"
    assert all(len(empty.to_frame(kind)) == n for kind, n in [("pandas", 0), ("polars", 0), ("dict", 2)])


def test_a_table_carries_its_choices():
    """What a table is about stays with its parts, and is the last line of its text."""
    table = Table({"item": np.array(["A", "B"], dtype=object)}, about={"interval": 0.9, "top": 3})
    for part in (table, table[:1], table.head(1)):
        assert part.about == {"interval": 0.9, "top": 3}
        assert repr(part).splitlines()[-1] == "(interval 0.9, top 3)" and "interval 0.9, top 3" in part._repr_html_()
    assert Table({"item": np.array(["A"], dtype=object)}).about == {}


def test_an_attribute_of_a_data_frame_is_answered_with_a_remedy(table):
    """A column is named as one; for anything else to_frame is."""
    name = next(iter(table.columns))
    with pytest.raises(AttributeError, match=rf"table\['{name}'\] is the column"):
        getattr(table, name)
    with pytest.raises(AttributeError, match=r"no attribute 'to_csv'; to_frame\(\"pandas\"\) makes a data frame"):
        table.to_csv("x.csv")
    assert len(copy.deepcopy(table)) == len(pickle.loads(pickle.dumps(table))) == len(table)
