"""Ids: what is accepted, that it comes back unchanged, and that codes follow the sorted order."""

from enum import Enum
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rather import InputError
from rather.data.ids import Vocabulary, as_ids, factorize

ACCEPTED = {
    "integers": [3, 1, 2, 1],
    "negative integers": [0, -5, 7, -5],
    "integers beyond 64 bits": [2**70, -(2**70), 5, 2**70],
    "integers just beyond int64": [2**63, 1, 2**64 - 1, 1],
    "strings": ["b", "a", "c", "a"],
    "numbers as strings": ["007", "7", "10", "7"],
    "unicode strings": ["Łódź", "日本", "été", "日本"],
    "emoji and blanks": ["🎬", "a ", "a b", " a"],
    "a lone surrogate": ["\ud800", "a", "b", "a"],
}


@pytest.mark.parametrize("values", ACCEPTED.values(), ids=ACCEPTED)
@pytest.mark.parametrize("container", [list, tuple, partial(np.array, dtype=object)], ids=["list", "tuple", "array"])
def test_ids_come_back_unchanged(values, container):
    """Whatever holds the ids, they come back as the same Python strings or integers, sorted and distinct."""
    ids, (codes,) = factorize([as_ids(container(values), "the id")], "item")
    assert ids.tolist() == sorted(set(values))
    assert [ids.tolist()[c] for c in codes] == values
    assert {type(v) for v in ids.tolist()} == {type(values[0])}


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64], ids=str
)
def test_integer_types(dtype):
    """The width of an integer column does not matter."""
    largest = np.iinfo(dtype).max
    assert as_ids(np.array([1, largest], dtype), "the id").tolist() == [1, int(largest)]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["b", "a"], dtype="string"),
        pd.Series(["b", "a"], dtype="category"),
        pl.Series(["b", "a"]),
        pa.chunked_array([["b"], ["a"]]),
        np.array(["b", "a"]),
        [np.str_("b"), "a"],
    ],
    ids=lambda c: type(c).__module__,
)
def test_columns_of_other_libraries(column):
    """String columns of numpy, pandas, polars and pyarrow are the same ids."""
    assert as_ids(column, "the id").tolist() == ["b", "a"]


@pytest.mark.skipif(
    not hasattr(getattr(np, "dtypes", None), "StringDType"), reason="numpy 1 has no strings of variable width"
)
def test_numpys_new_strings():
    """numpy 2's strings are ids like others, and a missing one is noticed."""
    strings = np.dtypes.StringDType(na_object=None)
    assert as_ids(np.array(["b", "a"], strings), "the id").tolist() == ["b", "a"]
    with pytest.raises(InputError, match="missing in row 1"):
        as_ids(np.array(["b", None], strings), "the id")


def test_members_of_an_enumeration_are_their_text():
    """An enumeration's members, and strings of numpy, become plain strings: the text, not the member's name."""
    colour = Enum("Colour", {"RED": "red", "BLUE": "blue"}, type=str)
    got = as_ids([colour.RED, "green", np.str_("white"), colour.BLUE], "the id").tolist()
    assert got == ["red", "green", "white", "blue"] and {type(each) for each in got} == {str}


def test_mixed_integer_types_are_integers():
    """Python's and numpy's integers are the same ids."""
    got = as_ids([np.int8(3), 4, np.uint64(5)], "the id")
    assert got.dtype == np.int64 and got.tolist() == [3, 4, 5]


def test_columns_share_codes():
    """An item has one code, whether it won or lost, and in a column of whichever width."""
    ids, (a, b) = factorize([as_ids([5, 3], "a"), as_ids([2**70, 5], "b")], "item")
    assert ids.tolist() == [3, 5, 2**70] and a.tolist() == [1, 0] and b.tolist() == [2, 1]


@pytest.mark.parametrize("spread", [1, 10**12], ids=["dense", "sparse"])
def test_integer_codes_match_numpy(spread):
    """Dense and sparse integers get the codes of numpy.unique."""
    values = np.random.default_rng(0).integers(-50, 50, 500) * spread
    ids, (codes,) = factorize([values], "item")
    expected, inverse = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_array_equal(codes, inverse)
    assert codes.dtype == np.int32


@pytest.mark.parametrize("known", [[-3, 5, 9], [5, 2**70], ["5", "a"]], ids=str)
def test_unknown_ids_have_no_code(known):
    """An id that is not known has code -1; one of the other kind is read as the kind that is known, if it can be."""
    vocabulary = Vocabulary(as_ids(known, "the id"), "item")
    assert vocabulary.codes(as_ids(known, "the id")).tolist() == list(range(len(known)))
    five = vocabulary.codes(as_ids([5], "the id")).tolist()
    assert five == vocabulary.codes(as_ids(["5"], "the id")).tolist() != [-1]
    for strangers in ([-4, 6, 2**62], ["x", "5 "], [2**71], ["05", "5.0", "+5", "٥"]):
        assert vocabulary.codes(as_ids(strangers, "the id")).tolist() == [-1] * len(strangers)
    assert vocabulary.codes(as_ids([], "the id")).tolist() == []


@pytest.mark.parametrize(("known", "asked", "such"), [
    (["00765", "b"], 765, "user 765 is not in the model, whose users are text such as '00765'; use fold_in"),
    ([7, 8], "ann", "user 'ann' is not in the model, whose users are whole numbers such as 7; use fold_in"),
    ([7, 8], 9, "user 9 is not in the model; use fold_in"),
])  # fmt: skip
def test_an_unknown_id_of_another_kind_is_answered_with_an_example(known, asked, such):
    with pytest.raises(InputError) as caught:
        Vocabulary(as_ids(known, "the id"), "user").known([asked], "add person")
    assert str(caught.value).startswith(such)


@settings(deadline=None, max_examples=100)
@given(st.one_of(st.lists(st.integers(), min_size=1), st.lists(st.text(min_size=1).filter(str.strip), min_size=1)))
def test_factorize_is_the_sorted_order(values):
    """For any integers, or any strings, the codes are positions in the sorted distinct ids."""
    ids, (codes,) = factorize([as_ids(values, "the id")], "item")
    expected = sorted(set(values))
    assert ids.tolist() == expected
    assert codes.tolist() == [expected.index(v) for v in values]
