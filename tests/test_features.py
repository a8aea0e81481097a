"""What is known of items and people becomes the same columns of numbers, whatever it comes in; or a clear sentence."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rather import InputError
from rather.data import feature_blocks, feature_columns, features
from rather.data.features import Encoder, FeatureBlock

MAKERS = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
N = 8
ITEMS = [f"item {k}" for k in range(N)]
KINDS = {
    "integers": [3, 1, 4, 1, 5, 9, 2, 6],
    "floats": [0.5, None, -2.0, 7.25, float("nan"), 1.0, 1.0, 3.0],
    "integers with gaps": [3, None, 4, 1, 5, 9, 2, 6],
    "booleans": [True, False, True, True, False, False, True, True],
    "booleans with gaps": [True, None, True, None, False, False, True, True],
    "decimals": [Decimal("1.5"), Decimal(2), Decimal(3), Decimal(4), None, Decimal(1), Decimal(1), Decimal(0)],
    "text": ["a", "b", "a", None, "b", None, "c", "a"],
    "lists of text": [["a", "b"], [], ["b"], None, ["a", "b"], ["a"], ["c", "b"], None],
    "text with marks": ["a|b", "b", "c|a", None, "a", "b", "a|c", "b"],
    "lists of numbers": [[1.0, 2.0], [3.0, -1.0], None, [0.5, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 9.0], [1.0, 0.0]],
}


def learned(**columns):
    """The features of a table of items, which are numbered."""
    n = len(next(iter(columns.values())))
    return Encoder.learned({"item": list(range(n)), **columns}, "item")


@pytest.mark.parametrize("values", KINDS)
def test_kinds_are_the_same_in_every_kind_of_frame(values):
    """A column of any kind gives the same numbers and labels whatever frame it is in, with gaps or without."""
    table = {"item": ITEMS, "x": KINDS[values]}
    first = Encoder.learned(table, "item")
    for maker in MAKERS.values():
        got = Encoder.learned(maker(table), "item")
        assert got.ids.tolist() == ITEMS and got.encoder.labels == first.encoder.labels
        assert got.columns.dtype == np.float32 and got.columns.flags.c_contiguous and np.isfinite(got.columns).all()
        np.testing.assert_array_equal(got.columns, first.columns)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([3, 1, 4, 1, 5, 9, 2, None], dtype="Int64"),
        pd.Series([3, 1, 4, 1, 5, 9, 2, None], dtype="Float64"),
        pd.Series([3, 1, 4, 1, 5, 9, 2, None], dtype=pd.ArrowDtype(pa.int64())),
        np.ma.masked_array([3, 1, 4, 1, 5, 9, 2, 0], [0] * 7 + [1]),
        np.array([3, 1, 4, 1, 5, 9, 2, np.nan], np.float16),
    ],
    ids=lambda c: f"{type(c).__name__} of {c.dtype}",
)
def test_numbers_of_every_type(column):
    """Numbers are the same whatever their type, and whatever marks what is missing."""
    plain = learned(x=[3, 1, 4, 1, 5, 9, 2, None])
    assert plain.encoder.labels == ["x", "x is missing"]
    np.testing.assert_array_equal(learned(x=column).columns, plain.columns)
    if isinstance(column, pd.Series):
        frame = pd.DataFrame({"item": range(N), "x": column})
        np.testing.assert_array_equal(Encoder.learned(frame, "item").columns, plain.columns)


TEXT = ["a", "b", "a", None, "b", None, "c", "a"]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(TEXT, dtype="string"),
        pd.Series(TEXT, dtype=object),
        pd.Series(pd.Categorical(TEXT)),
        pd.Categorical(TEXT),
        pl.Series(TEXT, dtype=pl.Categorical),
        pl.Series(TEXT, dtype=pl.Enum(["a", "b", "c"])),
        pa.array(TEXT).dictionary_encode(),
        pa.chunked_array([TEXT]).dictionary_encode(),
        np.array(["" if v is None else v for v in TEXT]),
    ],
    ids=lambda c: f"{type(c).__module__}.{type(c).__name__} of {getattr(c, 'dtype', '')}",
)
def test_text_of_every_type(column):
    """Text is the same whatever its type; where it is empty it is missing."""
    np.testing.assert_array_equal(learned(x=column).columns, learned(x=TEXT).columns)


@pytest.mark.parametrize("kind", ["pandas", "pandas in a dict", "alone in a dict", "pyarrow", "arrow in a dict"])
def test_categories_of_integers_are_names(kind):
    """Integers in a categorical column are names, not numbers; later they may come as plain numbers."""
    values = pd.Categorical([1, 3, 1, None, 3, None, 7, 1])
    arrow = pa.array([1, 3, 1, None, 3, None, 7, 1]).dictionary_encode()
    ids = list(range(N))
    frame = {
        "pandas": pd.DataFrame({"item": ids, "x": values}),
        "pandas in a dict": {"item": ids, "x": pd.Series(values)},
        "alone in a dict": {"item": ids, "x": values},
        "pyarrow": pa.table({"item": ids, "x": arrow}),
        "arrow in a dict": {"item": ids, "x": arrow},
    }[kind]
    got = Encoder.learned(frame, "item")
    assert got.encoder.labels == ["x: 1", "x: 3", "x: missing"]
    np.testing.assert_array_equal(got.columns, learned(x=["1", "3", "1", None, "3", None, "7", "1"]).columns)
    for one in (3, 3.0, "3", np.int64(3)):
        np.testing.assert_array_equal(got.encoder.read_one({"x": one})[0], got.columns[1])


def test_lists_of_every_type():
    """Several values a row may be lists, tuples, sets or arrays, of arrow or polars, or text with | between."""
    rows = [["a", "b"], ["b"], [], ["a", "b"], ["a"], ["b", "c"]]
    plain = learned(x=rows)
    assert plain.encoder.labels == ["x: a", "x: b"]
    for other in (
        [tuple(row) for row in rows], [set(row) for row in rows], [np.array(row, object) for row in rows],
        [[*row, *row, None] for row in rows], pl.Series(rows), pa.array(rows),
    ):  # fmt: skip
        np.testing.assert_array_equal(learned(x=other).columns, plain.columns)
    marked = learned(x=["a|b", "b", "|", " a | b", "a", "b|c"])
    np.testing.assert_array_equal(marked.columns, plain.columns)
    np.testing.assert_array_equal(marked.encoder.read_one({"x": ["b", "a"]}), marked.encoder.read_one({"x": "a|b"}))


def test_marks_in_few_texts_are_part_of_them():
    """A | in fewer than a tenth of the texts does not separate values."""
    rows = ["a", "b"] * 9 + ["c|d"] * 2
    assert "x: c" in learned(x=rows).encoder.labels
    assert learned(x=rows + ["a"] * 5).encoder.labels == ["x: a", "x: b", "x: c|d"]


def test_dense_rows_of_every_type():
    """Rows of numbers may be a matrix, lists, arrays, or fixed-size lists of arrow and polars."""
    matrix = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
    plain = learned(x=matrix)
    assert plain.encoder.labels == ["x 0", "x 1", "x 2"]
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), 3)
    ids = list(range(N))
    for frame in (
        {"item": ids, "x": matrix.tolist()},
        {"item": ids, "x": list(matrix)},
        pd.DataFrame({"item": ids, "x": list(matrix)}),
        pl.DataFrame({"item": ids, "x": pl.Series(matrix)}),
        pl.DataFrame({"item": ids, "x": pl.Series(matrix.tolist(), dtype=pl.List(pl.Float32))}),
        pa.table({"item": ids, "x": fixed}),
    ):
        np.testing.assert_array_equal(Encoder.learned(frame, "item").columns, plain.columns)


# -- the numbers ------------------------------------------------------------------------------------------------------


def test_numbers_are_standardised_and_share_a_block():
    """Numbers have mean 0 and deviation 1 where they are there, 0 where not; whether they are is a column."""
    got = learned(year=[1990, 2000, None, 2010], word=["a", "a", "b", "b"], good=[True, False, True, True])
    assert got.encoder.labels == ["year", "year is missing", "good", "word: a", "word: b"]
    assert got.encoder.blocks == [FeatureBlock("year, good", 0, 3), FeatureBlock("word", 3, 5)]
    assert got.encoder.width == 5
    np.testing.assert_allclose(got.columns[:, 0], np.array([-1, 0, 0, 1]) * np.sqrt(1.5), rtol=1e-6)
    np.testing.assert_allclose(got.columns.mean(axis=0), 0, atol=1e-7)
    np.testing.assert_allclose(got.columns[:, [1, 2]].std(axis=0), 1, rtol=1e-6)
    assert got.encoder.said == ["year: missing in 1 of 4 rows"]


def test_blocks_have_rows_of_mean_square_norm_1():
    """The columns of words and of rows of numbers have variances that sum to 1, and means 0."""
    rng = np.random.default_rng(1)
    got = learned(word=list("aabbbcccc"), tags=[["p", "q"], ["p"], []] * 3, e=rng.normal(3, 7, (9, 4)))
    assert [block.name for block in got.encoder.blocks] == ["word", "tags", "e"]
    for block in got.encoder.blocks:
        part = got.columns[:, block.start : block.stop]
        np.testing.assert_allclose(part.mean(axis=0), 0, atol=1e-6)
        assert np.square(part).sum(axis=1).mean() == pytest.approx(1, rel=1e-5)
    differences = got.columns[0, :3] - got.columns[2, :3]  # a less b: one number, whatever the share of either
    np.testing.assert_allclose(differences, [differences[0], -differences[0], 0], atol=1e-6)


def test_many_numbers_have_a_short_name():
    """The block of very many numbers is called by the first of them, and how many more there are."""
    columns = {f"a rather long name {k}": [k, 0, 1] for k in range(20)}
    name = learned(**columns).encoder.blocks[0].name
    assert name == "a rather long name 0, a rather long name 1 and 18 more"


def test_gaps_in_dense_rows_count_as_means():
    """A row of numbers that is missing, and a number that is, are where the mean is."""
    got = learned(x=[[1.0, 5.0], None, [3.0, float("nan")], [5.0, 9.0]])
    np.testing.assert_allclose(got.columns[1], 0)
    np.testing.assert_allclose(got.columns[2], 0, atol=1e-7)  # the mean of 1, 3 and 5 is 3
    assert got.encoder.said == ["x: missing in 1 of 4 rows"]


def test_a_number_that_one_row_alone_has_is_the_mean():
    got = learned(e=[[1.0, 5.0], [2.0, np.nan], [3.0, np.nan]])
    np.testing.assert_allclose(got.columns, [[-(1.5**0.5), 0], [0, 0], [1.5**0.5, 0]], atol=1e-6)


def test_empty_text_is_missing():
    """Wherever it stands, among single values and among several in one text."""
    for x in (["a|b", "b|a", "b", "b", "", ""], ["", "a|b", "b|a", "", "b", "b"]):
        got = learned(x=x)
        assert got.encoder.labels == ["x: a", "x: b", "x: missing"]
        np.testing.assert_array_equal(got.columns[:, 2] > 0, [text == "" for text in x])


def test_rare_values_are_pooled():
    """Values with fewer than 5 rows (2 of fewer than 200) are 'other' if they are that many together, else nothing."""
    few = learned(x=["a", "a", "b", "b", "c", "d", None, None])
    assert few.encoder.labels == ["x: a", "x: b", "x: other", "x: missing"]
    assert few.encoder.said == [
        "x: missing in 2 of 8 rows",
        "x: 2 rare values, in 2 of 8 rows, are pooled as 'other'",
    ]
    np.testing.assert_array_equal(few.columns[4], few.columns[5])
    many = learned(x=["a"] * 100 + ["b"] * 100 + ["c"] * 4 + [None] * 4)
    assert many.encoder.labels == ["x: a", "x: b"]
    assert many.encoder.said[-1] == "x: 1 rare values, in 4 of 208 rows, count as nothing"
    np.testing.assert_array_equal(many.columns[-8], many.columns[-1])


def test_a_value_may_be_called_other():
    """A value of that name is not taken for the pooled ones."""
    assert learned(x=["other", "other", "b", "b", "c", "d"]).encoder.labels == ["x: b", "x: other", "x: (other)"]


def test_only_the_most_frequent_values_are_kept(monkeypatch):
    """Of very many values the most frequent are kept, and of those as frequent the first by name."""
    monkeypatch.setattr(feature_columns, "MOST_VALUES", 2)
    assert learned(x=list("ddddccbbaa")).encoder.labels == ["x: a", "x: d", "x: other"]


def test_unseen_values():
    """A value that was not seen is 'other' if there is that, else nothing: as none of the values."""
    pooled, bare = learned(x=list("aabbcd")).encoder, learned(x=list("aabb")).encoder
    assert pooled.read_one({"x": "new"}).tolist() == pooled.read_one({"x": "c"}).tolist()
    with pytest.warns(UserWarning, match="'new' is none of the values of 'x'"):
        unseen = bare.read_one({"x": "new"})
    np.testing.assert_allclose(unseen, bare.read_one({}))
    assert (unseen < 0).all()


def test_columns_that_say_nothing_are_left_out():
    """Constants, titles and empty columns are left out, and it is said."""
    got = learned(
        x=[1, 2, 3, 4], constant=[0.1] * 4, near=[1e15, 1e15, 1e15, 1e15 + 0.125], title=list("abcd"),
        language=["en"] * 4, nothing=[None] * 4, tags=[[]] * 4, point=[[1.0, 2.0]] * 4, awarded=[1, None, 1, None],
    )  # fmt: skip
    assert got.encoder.labels == ["x", "awarded is missing"]
    assert got.encoder.said == [
        "constant: left out, since every value is 0.1",
        "near: left out, since every value is 1e+15",
        "title: left out, since no value of it has 2 rows or more",
        "nothing: left out, since it has no values",
        "tags: left out, since it has no values",
        "awarded: missing in 2 of 4 rows",
        "awarded: only whether it is missing is used, since every value is 1",
        "language: left out, since all rows have the same",
        "point: left out, since all rows have the same",
    ]


def test_far_values_stay_finite():
    """A later value, however far from those that were learned from, is a finite number."""
    encoder = learned(x=[1e-20, 2e-20, 3e-20], e=[[1e-20], [2e-20], [2e-20]]).encoder
    assert np.isfinite(encoder.read_one({"x": 1e30, "e": [-1e30]})).all()


def test_many_sentences_are_cut():
    """Where there is very much to say, some is said, and how much more there is."""
    said = learned(x=[1, 2], **{f"c{k}": [0, 0] for k in range(100)}).encoder.said
    assert len(said) == 41 and said[-1] == "and 60 more like these"


# -- read again -------------------------------------------------------------------------------------------------------


def wide(n=60, seed=0):
    """A table with a column of every kind, of which the last is too wide."""
    rng = np.random.default_rng(seed)
    table = {
        "user": [f"u{k}" for k in range(n)],
        "age": [None if k % 7 == 0 else float(x) for k, x in enumerate(rng.normal(40, 10, n))],
        "member": rng.random(n) < 0.3,
        "city": [f"city {k}" for k in rng.integers(0, 25, n)],
        "tags": [[f"t{x}" for x in rng.integers(0, 9, k % 4)] for k in range(n)],
        "e": (rng.normal(size=(n, 4)) @ rng.normal(size=(4, 80)) + 0.01 * rng.normal(size=(n, 80))).tolist(),
        "title": [f"{k}" for k in range(n)],
    }
    table["e"][5] = None
    return table


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=2e-6)


@pytest.mark.parametrize("kind", MAKERS)
def test_reading_what_was_learned_from(kind):
    """The frame that was learned from reads as what was learned, from every kind of frame and with other columns."""
    table = wide()
    got = Encoder.learned(MAKERS[kind](table), "user")
    assert got.encoder.labels[-1].startswith("e direction ")
    again = got.encoder.read(MAKERS[kind]({"more": ["?"] * 60, **table}))
    assert again.encoder is got.encoder and again.ids.tolist() == table["user"]
    np.testing.assert_array_equal(again.columns, got.columns)


def test_reading_some_rows():
    """Some rows by themselves read as they did among the others, though all values of a kind may be missing there."""
    table = wide()
    got = Encoder.learned(table, "user")
    for rows in ([0], [5, 7], list(range(50, 60))):
        part = {name: [column[row] for row in rows] for name, column in table.items() if name != "title"}
        for maker in MAKERS.values():
            same(got.encoder.read(maker(part)).columns, got.columns[rows])
    assert got.encoder.read({name: [] for name in table}).columns.shape == (0, got.encoder.width)


def test_reading_one():
    """One row's values by name are as that row of a frame; what is left out is missing."""
    table = wide()
    got = Encoder.learned(table, "user")
    for row in (0, 1, 5, 6):
        one = got.encoder.read_one({name: column[row] for name, column in table.items()})
        assert one.shape == (1, got.encoder.width) and one.dtype == np.float32
        same(one[0], got.columns[row])
    empty = {name: [None] for name in table if name != "user"}
    same(got.encoder.read_one({}), got.encoder.read({"user": ["new"], **empty}).columns)
    same(got.encoder.read_one({"e": np.ones(80)}), got.encoder.read_one({"e": [1] * 80}))


def test_numbers_may_be_text_later():
    """Where numbers are known to be, text that writes them is read, and empty text is missing."""
    encoder = learned(x=[1, 2, None]).encoder
    got = encoder.read({"item": [1, 2], "x": ["2.0", " "]})
    np.testing.assert_array_equal(got.columns, encoder.read({"item": [1, 2], "x": [2, None]}).columns)
    with pytest.raises(InputError, match=r"the column 'x' in row 1 \(item 'b'\) is 'two'; it must be a number"):
        encoder.read({"item": ["a", "b"], "x": ["1", "two"]})


def test_later_frames_that_do_not_fit():
    """Columns that are lacking, unknown names and other kinds are named, with what is known."""
    encoder = learned(year=[1, 2, 3], word=list("aab"), e=[[1, 2], [3, 4], [5, 7]]).encoder
    row = {"item": [9], "year": [1], "word": ["a"], "e": [[1, 2]]}
    for change, sentence in (
        ({"item": [9], "year": [1]}, r"features lack 'word', 'e', which was learned from; they have 'item', 'year'"),
        ({**row, "year": [[1.5]]}, "the column 'year' holds lists of numbers; the model learned it from numbers"),
        ({**row, "year": [[]]}, r"the column 'year' in row 0 \(item 9\) is \[\]; it must be a number"),
        ({**row, "word": [[1]]}, "the column 'word' holds lists of numbers; the model learned it from text"),
        ({**row, "e": [5]}, "the column 'e' holds numbers; the model learned it from lists of numbers"),
        ({**row, "e": [[1, 2, 3]]}, r"the column 'e' in row 0 \(item 9\) has 3 numbers; it must have 2"),
        ({**row, "e": np.ones((1, 3))}, "the column 'e' has 3 numbers a row; it must have 2"),
        ({**row, "item": [None]}, "the item .* is missing in row 0"),
    ):
        with pytest.raises(InputError, match=sentence):
            encoder.read(change)
    for values, sentence in (
        ({"yaer": 1}, "there is no item feature 'yaer'; the features are 'year', 'word', 'e'"),
        ({"year": float("inf")}, "the item's 'year' is inf; numbers must be from"),
        ({"year": datetime.date(2000, 1, 1)}, "the column 'year' holds dates"),
        ([1], r"the item's features are \[1\]; they must be a dict"),
    ):
        with pytest.raises(InputError, match=sentence):
            encoder.read_one(values)


# -- ids --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["movieId", "item", "id", "item_id", "itemId"])
def test_the_column_of_ids(name):
    """Ids are in the column that comparisons have them in, or one called item, id, item_id or itemId; so later."""
    for maker in MAKERS.values():
        got = Encoder.learned(maker({"x": [1, 2], name: ["a", "b"]}), "item", {"item": "movieId"})
        assert got.ids.tolist() == ["a", "b"] and got.encoder.labels == ["x"]
        assert got.encoder.read(maker({"id": ["c"], "x": [1]})).ids.tolist() == ["c"]


def test_the_likeliest_column_of_ids_wins():
    """The name that comparisons have comes first, and what else is called an id is a feature."""
    got = Encoder.learned({"id": [7, 8], "item": ["x", "y"], "film": ["a", "b"]}, "item", {"item": "film"})
    assert got.ids.tolist() == ["a", "b"] and got.encoder.labels == ["id"]


def test_the_index_of_a_pandas_table():
    """Ids may be the index of a pandas table: one of their own, or one with their name."""
    frame = pd.DataFrame({"x": [1, 2]}, index=["a", "b"])
    got = Encoder.learned(frame, "item")
    assert got.ids.tolist() == ["a", "b"] and got.encoder.read(frame).ids.tolist() == ["a", "b"]
    numbered = pd.DataFrame({"x": [1, 2]}, index=pd.RangeIndex(2, name="userId"))
    assert Encoder.learned(numbered, "user").ids.tolist() == [0, 1]
    named = pd.DataFrame({"x": [1, 2], "id": [5, 6]}, index=pd.Index([8, 9], name="item"))
    assert Encoder.learned(named, "item").ids.tolist() == [8, 9]


def test_no_column_of_ids():
    """A table without ids is refused with its columns and the name to give."""
    for maker in MAKERS.values():
        with pytest.raises(InputError, match=r"item features \('x', 'y'\) is known to hold the ids; name .* 'item'"):
            Encoder.learned(maker({"x": [1, 2], "y": [1, 2]}), "item")


def test_ids_are_there_once():
    """An id that is there twice is named with its rows; one that is missing too."""
    with pytest.raises(InputError, match=r"user 'b' has another row of features in row 3; keep one"):
        Encoder.learned({"user": ["a", "b", "c", "b", "d"], "x": range(5)}, "user")
    with pytest.raises(InputError, match=r"the user \(column 'user'\) is missing in row 1"):
        Encoder.learned({"user": ["a", None], "x": [1, 2]}, "user")


# -- what is refused --------------------------------------------------------------------------------------------------

NO = {
    "infinite": (
        [1, float("inf")],
        r"the column 'x' in row 1 \(item 1\) is inf; numbers must be from -1e\+30 to 1e\+30",
    ),
    "too large": ([1, -1e31], r"in row 1 \(item 1\) is -1e\+31"),
    "beyond floats": ([1, 10**400], r"in row 1 \(item 1\) is inf"),
    "infinite in a list": ([[1.0], [float("-inf")]], r"in row 1 \(item 1\) has -inf"),
    "uneven": ([[1, 2], [1]], r"in row 1 \(item 1\) has 1 numbers; it must have 2, as the others have"),
    "dates": ([datetime.date(2000, 1, 1)] * 2, "holds dates or times .row 0.; give them as numbers, such as the year"),
    "times": (np.array(["2000-01-01", "NaT"], "M8[s]"), "holds dates or times"),
    "bytes": ([b"a", b"b"], "holds bytes .row 0.; decode them to text"),
    "complex": (np.array([1j, 2]), "holds complex numbers .row 0.; give the real and the imaginary parts"),
    "records": ([{"a": 1}, {"a": 2}], "holds values of type dict .row 0.; give numbers, booleans, text"),
    "mixed": (["a", 1], r"holds text \(row 0\) and numbers \(row 1\); use one kind"),
    "mixed lists": ([["a"], [1]], r"holds lists of text \(row 0\) and lists of numbers \(row 1\); use one kind"),
    "text and lists": (["a", ["b"]], r"holds text \(row 0\) and lists \(row 1\)"),
    "nested": ([[["a"]], [["b"]]], "holds lists of lists"),
    "matrices": ([np.ones((2, 2))] * 2, r"in row 0 \(item 0\) has 2 dimensions; it must be a flat list"),
    "cubes": (np.ones((2, 2, 2)), "has 3 dimensions; it must have one, or two"),
    "sets of numbers": ([{1}, {2}], "is a set of numbers; give lists of numbers, or sets of text"),
    "constant": ([1, 1], r"tell no two items apart \(x: left out, since every value is 1\)"),
}


@pytest.mark.parametrize("name", NO)
def test_what_is_refused(name):
    """What cannot be used is named with its column, row and id, and what to give instead."""
    values, sentence = NO[name]
    with pytest.raises(InputError, match=sentence):
        learned(x=values)


def test_frames_that_are_refused():
    """Records, dates of frames, tables without rows or columns, and other roles are refused."""
    for frame, role, sentence in (
        (pl.DataFrame({"item": [1, 2], "x": [{"a": 1}, {"a": 2}]}), "item", "holds records .row 0.; make their fields"),
        (pa.table({"item": [1, 2], "x": [datetime.datetime(2000, 1, 1), None]}), "item", "holds dates or times"),
        (pd.DataFrame({"item": [1, 2], "x": pd.period_range("2000", periods=2, freq="Y")}), "item", "holds dates or"),
        ({"item": [], "x": []}, "item", "there are no item features: the table has no rows"),
        ({"item": [1, 2]}, "item", "the item features tell no two items apart; give others"),
        ({"item": [1, 2], "x": [1]}, "item", "the columns differ in length"),
        ({"item": [1, 2], "1": [1, 2], 1: [1, 2]}, "item", "two columns of the item features have the same name"),
        ({"item": [1]}, "film", "role is 'film'"),
        ([1, 2], "item", "the data is of type list"),
    ):
        with pytest.raises(InputError, match=sentence):
            Encoder.learned(frame, role)


def test_what_does_not_fit_in_memory(monkeypatch):
    """Features that would not fit in memory are refused before they are made."""
    monkeypatch.setattr(features.memory, "available", lambda: 8)
    with pytest.raises(InputError, match=r"to hold the features of 3 items would take .*; give fewer columns"):
        learned(x=[1, 2, 3])


# -- directions -------------------------------------------------------------------------------------------------------


def test_wider_than_rows_is_lossless():
    """A block with more columns than rows keeps all inner products in as many directions as there are."""
    rng = np.random.default_rng(0)
    x = rng.normal(5, 2, (20, 300))
    got = learned(e=x)
    assert got.encoder.width < 20 and got.encoder.labels[0] == "e direction 1"
    centred = x - x.mean(axis=0)
    centred /= np.sqrt(np.square(centred).sum() / 20)
    np.testing.assert_allclose(got.columns @ got.columns.T, centred @ centred.T, atol=1e-4)
    assert got.encoder.said == ["e: 300 columns, of which the leading 19 directions hold 100 % of the variance"]
    words = learned(w=[[f"v{x}" for x in rng.integers(0, 40, 9)] for _ in range(20)])
    assert words.encoder.width <= 20 < len(words.encoder.tensors()["0_mean"])
    assert np.square(words.columns).sum(axis=1).mean() == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize("exact", [True, False])
def test_leading_directions_are_kept(monkeypatch, exact):
    """Where there is not room for all, each block keeps its directions of most variance, the widest losing first."""
    monkeypatch.setattr(feature_blocks, "WIDEST", 24)
    monkeypatch.setattr(feature_blocks, "EXACT", 4096 if exact else 1)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 60)) * 0.8 ** np.arange(60)
    got = learned(
        year=list(range(200)), e=x, word=[f"w{k}" for k in rng.integers(0, 8, 200)], f=x[:, :20] + x[:, 20:40]
    )
    assert [block.stop - block.start for block in got.encoder.blocks] == [1, 7, 7, 7]
    spectrum = np.square(np.linalg.svd(x - x.mean(axis=0), compute_uv=False))
    part = got.columns[:, 1:8]
    held = spectrum / spectrum.sum()
    np.testing.assert_allclose(np.square(part).mean(axis=0), held[:7], rtol=1e-4 if exact else 0.05)
    assert f"hold {100 * held[:7].sum():.0f} % of the variance" in got.encoder.said[0]
    later = {"item": range(200), "year": range(200), "e": x, "f": x[:, :20], "word": ["w0"] * 200}
    np.testing.assert_array_equal(got.encoder.read(later).columns[:, :8], got.columns[:, :8])


def test_equally_frequent_words_have_directions(monkeypatch):
    """Directions are found where all are worth the same, as those of equally frequent words are."""
    monkeypatch.setattr(feature_blocks, "WIDEST", 50)
    got = learned(x=[f"w{k % 100}" for k in range(500)])
    assert got.encoder.width == 50
    assert np.square(got.columns).sum(axis=1).mean() == pytest.approx(50 / 99, rel=1e-4)


@pytest.mark.parametrize("exact", [4096, 1])  # by products of columns, and by iterations
def test_words_keep_their_leading_directions(monkeypatch, exact):
    """The directions kept are those of most variance of the centred words."""
    monkeypatch.setattr(feature_blocks, "WIDEST", 3)
    monkeypatch.setattr(feature_blocks, "EXACT", exact)
    at = np.repeat(np.arange(6), [40, 25, 15, 10, 6, 4])
    got = learned(x=[f"w{k}" for k in at])
    x = np.eye(6)[at]
    x -= x.mean(axis=0)
    left, values, _ = np.linalg.svd(x / np.sqrt(np.square(x).sum() / len(x)), full_matrices=False)
    wanted = (left[:, :3] * values[:3] ** 2) @ left[:, :3].T
    np.testing.assert_allclose(got.columns @ got.columns.T, wanted, atol=1e-4 if exact > 1 else 0.05)


def test_room_is_less_where_rows_are_many(monkeypatch):
    """Many rows have fewer columns, numbers too if they must, and no fewer than a direction a block."""
    monkeypatch.setattr(feature_blocks, "ENTRIES", 100)
    monkeypatch.setattr(feature_blocks, "NARROWEST", 3)
    rng = np.random.default_rng(0)
    got = learned(**{f"x{k}": rng.normal(size=50) for k in range(9)}, word=["a", "b"] * 25)
    assert [block.stop - block.start for block in got.encoder.blocks] == [1, 1]
    assert got.encoder.labels == [f"{got.encoder.blocks[0].name} direction 1", "word direction 1"]
    with pytest.raises(InputError, match="the item features have 4 columns of text; give at most 3"):
        learned(**{f"x{k}": ["a", "b"] * 25 for k in range(4)})


# -- kept -------------------------------------------------------------------------------------------------------------


def test_encoders_are_restored():
    """What an encoder says of itself, through JSON, and its arrays make an encoder that reads the same."""
    table = wide()
    got = Encoder.learned(table, "user", {"user": "who"})
    about = json.loads(json.dumps(got.encoder.about()))
    assert about == got.encoder.about()
    again = Encoder.restored(about, got.encoder.tensors())
    np.testing.assert_array_equal(again.read(table).columns, got.columns)
    assert (again.labels, again.blocks, again.said, again.width) == (
        got.encoder.labels, got.encoder.blocks, got.encoder.said, got.encoder.width,
    )  # fmt: skip
    assert again.read({**table, "who": table["user"]}).ids.tolist() == table["user"]
    same(again.read_one({"title": "?", "city": "city 3"}), got.encoder.read_one({"city": "city 3"}))


WRONG = {
    "nothing": lambda about, tensors: about.clear(),
    "role": lambda about, tensors: about.update(role="film"),
    "ids": lambda about, tensors: about.update(ids="item"),
    "said": lambda about, tensors: about.update(said=[1]),
    "no blocks": lambda about, tensors: (about.update(blocks=[]), tensors.clear()),
    "blocks": lambda about, tensors: about.update(blocks={"a": 1}),
    "a block": lambda about, tensors: about["blocks"].__setitem__(0, "numbers"),
    "kind": lambda about, tensors: about["blocks"][1].update(kind="lists"),
    "parts": lambda about, tensors: about["blocks"][0].update(parts=[["age"]]),
    "parts of other types": lambda about, tensors: about["blocks"][0].update(parts=[["age", 1]] * 3),
    "more parts": lambda about, tensors: about["blocks"][0]["parts"].append(["x", False]),
    "a value more": lambda about, tensors: about["blocks"][1]["values"].append("x"),
    "a value twice": lambda about, tensors: about["blocks"][1]["values"].__setitem__(
        0, about["blocks"][1]["values"][1]
    ),
    "a value of another type": lambda about, tensors: about["blocks"][1]["values"].__setitem__(0, 7),
    "a flag": lambda about, tensors: about["blocks"][1].update(other=1),
    "the same column": lambda about, tensors: about["blocks"][3].update(name="city"),
    "a tensor less": lambda about, tensors: tensors.pop("0_mean"),
    "a tensor more": lambda about, tensors: tensors.update({"9_mean": np.ones(1)}),
    "no tensor": lambda about, tensors: tensors.update({"0_mean": [1.0]}),
    "another dtype": lambda about, tensors: tensors.update({"0_mean": np.ones(3, np.float32)}),
    "text": lambda about, tensors: tensors.update({"0_mean": np.array(["a"] * 3)}),
    "infinite": lambda about, tensors: tensors.update({"0_mean": np.full(3, np.inf)}),
    "another length": lambda about, tensors: tensors.update({"0_mean": np.ones(4), "0_scale": np.ones(4)}),
    "another scale": lambda about, tensors: tensors.update({"1_scale": np.ones(2)}),
    "no scale": lambda about, tensors: tensors.update({"0_scale": np.zeros(3)}),
    "a tiny scale": lambda about, tensors: tensors.update({"1_scale": np.full(1, 1e-300)}),
    "a projection of another shape": lambda about, tensors: tensors.update(
        {"3_projection": np.ones((3, 3), np.float32)}
    ),
    "no directions": lambda about, tensors: tensors.update({"3_projection": np.full((80, 2), 1e30, np.float32)}),
    "no projection": lambda about, tensors: tensors.update({"3_projection": np.zeros((80, 0), np.float32)}),
    "too wide": lambda about, tensors: [tensors.update({"3_mean": np.ones(2000)}), tensors.pop("3_projection")],
}


@pytest.fixture(scope="module")
def encoder():
    return Encoder.learned(wide(), "user").encoder


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_together_is_not_restored(encoder, name):
    """An encoder is not made of parts that are of other types, shapes or names, or not finite."""
    about, tensors = json.loads(json.dumps(encoder.about())), dict(encoder.tensors())
    Encoder.restored(about, tensors)
    WRONG[name](about, tensors)
    with pytest.raises((ValueError, KeyError, TypeError)):
        Encoder.restored(about, tensors)
