"""Later comparisons joined to earlier ones: ids, codes, and every column that rows may have."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rather import AltSVM, Comparisons, InputError
from rather.data.rows import Pairs
from rather.data.union import Sides, Union, sides


def votes(rows, **columns):
    user, winner, loser = zip(*rows, strict=True)
    return Comparisons.from_frame(
        {"user": user, "winner": winner, "loser": loser, **columns}, **{name: name for name in columns}
    )


def rows_of(comparisons):
    frame = comparisons.to_frame("dict")
    return list(zip(*(frame[name].tolist() for name in ("user", "winner", "loser")), strict=True))


OLD = [("bob", "A", "B"), ("ann", "C", "A")]
NEW = [("abe", "A", "D"), ("bob", "0", "C"), ("zoe", "B", "A")]


def test_votes_are_added():
    """Every vote of both is there once, a user's in the order they came, with sorted ids."""
    joined = votes(OLD).extended(votes(NEW))
    assert rows_of(joined) == [NEW[0], OLD[1], OLD[0], NEW[1], NEW[2]]
    assert joined.users.tolist() == ["abe", "ann", "bob", "zoe"] and joined.items.tolist() == ["0", "A", "B", "C", "D"]
    assert rows_of(votes(OLD).extended(votes(OLD))) == [OLD[1], OLD[1], OLD[0], OLD[0]]


def test_optional_columns():
    """Votes without weights weigh 1, and answers of several pairs stay together and apart from others."""
    weighed, tied = votes(NEW, weight=[1, 2, 3]), votes(NEW[:2], tie=[True, False])
    assert votes(OLD).extended(weighed).pairs().weight.tolist() == [1, 1, 1, 2, 3]
    assert votes(OLD).extended(votes(NEW)).pairs().weight is None
    for joined in (votes(OLD).extended(tied), tied.extended(votes(OLD)), tied.extended(tied)):
        pairs = joined.pairs()
        assert (
            joined.source.answers() == len(set(pairs.group.tolist())) == len(joined) - (pairs.weight == 0.5).sum() / 2
        )
    menus = {"user": [1, 1, 1], "menu": [1, 1, 1], "item": [1, 2, 3], "chosen": [1, 0, 0]}
    several = Comparisons.from_menus(menus)
    assert several.extended(several).source.answers() == 2


def test_columns_that_are_not_known_here():
    """A column that rows get later is joined too, with zeros where one side lacks it."""

    @dataclasses.dataclass(frozen=True)
    class More(Pairs):
        side: np.ndarray | None = None
        traits: np.ndarray | None = None

    one = np.zeros(1, np.int32)
    a, b = More(one, one, one + 1), More(one, one + 1, one, side=np.array([1], np.int8), traits=np.ones((1, 2)))
    same = Sides(np.arange(2), (np.arange(2, dtype=np.int32),) * 2)
    joined = Union(same, same).joined(a, b)
    assert joined.side.tolist() == [0, 1] and joined.side.dtype == np.int8
    assert joined.traits.tolist() == [[0, 0], [1, 1]] and joined.weight is None


def test_a_newer_rating_replaces():
    """Of two ratings of an item by a user the newer counts, for all pairs and for those of the largest gaps."""
    old = {"user": [1, 1, 2], "item": [5, 6, 5], "rating": [1, 2, 3]}
    new = {"user": [1, 0, 2, 0], "item": [6, 6, 7, 9], "rating": [0, 2, 3, 1]}
    every = {(1, 5): 1, (1, 6): 0, (2, 5): 3, (2, 7): 3, (0, 6): 2, (0, 9): 1}
    for keep in ("all", "largest-gap"):
        joined = Comparisons.from_ratings(old, keep=keep).extended(Comparisons.from_ratings(new, keep=keep))
        r, users, items = joined.ratings, joined.users.tolist(), joined.items.tolist()
        assert {(users[u], items[j]): x for u, j, x in zip(r.user, r.item, r.rating, strict=True)} == every
        assert (np.diff(r.user * 10 + r.item) > 0).all() and len(joined) == 2
    ranked = {"user": [1, 1], "item": [5, 6], "rank": [1, 2]}
    turned = Comparisons.from_rankings({**ranked, "rank": [3, 2]})
    assert rows_of(Comparisons.from_rankings(ranked).extended(turned)) == [(1, 6, 5)]


@pytest.mark.parametrize("per_user", [None, 4])
def test_clicks_are_joined(per_user):
    """Clicks of both count once and are drawn against as if they had come at once."""
    old, new = {"user": [1, 1, 2, 3], "item": [5, 6, 5, 8]}, {"user": [1, 4, 3], "item": [5, 6, 9]}
    joined = Comparisons.from_clicks(old, per_user=per_user).extended(
        Comparisons.from_clicks(new, per_user=per_user, seed=7, allow_empty=True)
    )
    both = {name: old[name] + new[name] for name in old}
    assert rows_of(joined) == rows_of(Comparisons.from_clicks(both, per_user=per_user))


def test_few_that_compare_nothing_alone():
    """One rating or click is enough to join to others, and too little to fit to."""
    one = Comparisons.from_ratings({"user": [1], "item": [5], "rating": [3]}, allow_empty=True)
    assert len(one) == 0
    assert len(Comparisons.from_ratings({"user": [1, 1], "item": [6, 7], "rating": [1, 2]}).extended(one)) == 3
    with pytest.raises(InputError, match="nothing to compare"):
        AltSVM().fit(one)
    assert len(Comparisons.from_clicks({"user": [1], "item": [5]}, allow_empty=True)) == 0
    assert len(Comparisons.from_rankings({"user": [1], "item": [5], "rank": [3]}, allow_empty=True)) == 0


def test_what_cannot_be_joined():
    """Another kind of source, another way of drawing, other kinds of ids: one sentence each."""
    rated = Comparisons.from_ratings({"user": ["a", "a"], "item": ["x", "y"], "rating": [1, 2]})
    gaps = Comparisons.from_ratings({"user": ["a", "a"], "item": ["x", "y"], "rating": [1, 2]}, keep="largest-gap")
    clicks = Comparisons.from_clicks({"user": ["a", "b"], "item": ["x", "y"]})
    drawn = Comparisons.from_clicks({"user": ["a", "b"], "item": ["x", "y"]}, unseen=1)
    for old, new, said in (
        (votes(OLD), rated, "ratings cannot be joined to votes"), (rated, votes(OLD), "votes cannot be joined to rati"),
        (rated, gaps, "in another way"), (clicks, drawn, "in another way"), (clicks, rated, "ratings cannot"),
        (votes(OLD), votes([(1, "A", "B")]), r"user ids are strings in the earlier .* \('ann' and 1\)"),
        (votes([(1, 2, 3)]), votes([(1, "A", "B")]), r"item ids are strings in the new .* \('A' and 2\)"),
        (votes(OLD), {"user": []}, "extended was given a dict"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            old.extended(new)


ids = st.one_of(st.sets(st.integers(0, 30)), st.sets(st.integers(2**63, 2**63 + 9)))


@given(ids, ids, st.booleans())
def test_ids_are_united(a, b, text):
    """The ids of two sorted lists are those of both, sorted, and codes of either lead to the same ids."""
    a, b = (np.array(sorted(map(str, x) if text else x), dtype=object) for x in (a, b))
    if not text:
        a, b = (x.astype(np.int64) if len(x) and max(x) < 2**63 else x for x in (a, b))
    found = sides(a, b, "user")
    assert found.ids.tolist() == sorted({*a.tolist(), *b.tolist()})
    for own, codes in zip((a, b), found.codes, strict=True):
        assert found.ids[codes].tolist() == own.tolist() and codes.dtype == np.int32
