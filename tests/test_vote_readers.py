"""Tables of votes: arenas' logs, sides, covariates, ties of several kinds, and what cannot be read."""

import numpy as np
import pytest

from rather import AltSVM, Comparisons, InputError

LOG = {
    "who": ["ann", "ann", "bob", "bob"],
    "a": ["x", "y", "x", "z"],
    "b": ["y", "z", "z", "y"],
    "won": ["model_a", "Tie", "z", "model_b"],
    "words_a": [10, 20, 30, 40],
    "words_b": [5, 20, 10, 50],
}


def test_an_arenas_log():
    """Rows become votes with the side and the covariate turned to the winner; a tie is two halves, one each way."""
    votes = Comparisons.from_arena(
        LOG, user="who", left="a", right="b", outcome="won", covariates={"words": ("words_a", "words_b")}
    )
    assert repr(votes) == "Comparisons: 4 votes (1 ties) by 2 users over 3 items"
    assert votes.source.effects == ("side", "words") and votes.source.answers() == 4
    frame = votes.to_frame("pandas")
    assert frame["winner"].tolist() == ["x", "y", "z", "y"] and frame["loser"].tolist() == ["y", "z", "x", "z"]
    assert frame["tie"].tolist() == [False, True, False, False]
    assert frame["side"].tolist() == [True, True, False, False]
    assert frame["words"].tolist() == [5, 0, -20, 10]
    again = Comparisons.from_frame(
        frame.rename(columns={"user": "who"}), user="who", tie="tie", side="side", covariates=["words"]
    )
    for a, b in zip(again.pairs().columns(), votes.pairs().columns(), strict=True):
        assert (a is None) == (b is None)
    np.testing.assert_array_equal(again.pairs().around, votes.pairs().around)
    np.testing.assert_array_equal(again.pairs().weight, votes.pairs().weight)


def test_both_good_and_both_bad_told_apart():
    """With a bar, what both were is said of both: an item stands for good enough, and takes part in rankings."""
    names = ("user", "left", "right", "outcome")
    rows = [("a", "x", "y", "left"), ("a", "y", "z", "both bad"), ("b", "x", "z", "tie (bothgood)"),
            ("b", "z", "y", "right"), ("b", "z", "x", "tie")]  # fmt: skip
    log = dict(zip(names, zip(*rows, strict=True), strict=True))
    votes = Comparisons.from_arena(log, bar="fine")
    assert votes.source.answers() == 5 and len(votes) == 2 + 2 * 3 + 4
    frame = votes.to_frame("pandas")
    beside = frame[(frame["winner"] == "fine") | (frame["loser"] == "fine")]
    assert beside[["winner", "loser"]].to_numpy().tolist() == [
        ["fine", "y"],
        ["fine", "z"],
        ["x", "fine"],
        ["z", "fine"],
    ]
    assert not beside["tie"].any() and (beside["side"] == 0).all()
    again = Comparisons.from_frame(frame, tie="tie", side="side").pairs()
    np.testing.assert_array_equal(np.sort(again.around, axis=0), np.sort(votes.pairs().around, axis=0))
    assert "fine" in [row.item for row in AltSVM(rank=1).fit(votes).rank("a")]
    for wrong, said in (({"bar": "x"}, "'x' is an item of the table"), ({"bar": 7}, "use one kind")):
        with pytest.raises(InputError, match=said):
            Comparisons.from_arena(log, **wrong)
    with pytest.raises(InputError, match="which a bar is for"):
        Comparisons.from_arena({**log, "outcome": ["left", "tie", "right", "tie", "left"]}, bar="fine")


def test_side_by_item_or_by_truth():
    """The item that stood first, or whether the winner did: as booleans, and as words in a file."""
    votes = {"user": ["a", "a", "b"], "winner": ["x", "y", "x"], "loser": ["y", "z", "z"]}
    sides = [Comparisons.from_frame({**votes, "first": side}, side="first").pairs().around.ravel().tolist()
             for side in (["x", "z", "z"], [True, False, False], ["True", "false", "FALSE"])]  # fmt: skip
    assert sides == [[1, -1, -1]] * 3


@pytest.mark.parametrize("words", ["can't decide", "Cannot decide", "undecided", "no preference", "tie"])
def test_who_cannot_decide_ties(words):
    assert repr(bad_log(won=["x", words, "z", "y"])()).startswith("Comparisons: 4 votes (1 ties)")


def bad_votes(times=1, **columns):
    votes = {"user": ["a", "a", "b"], "winner": ["x", "y", "x"], "loser": ["y", "z", "z"]}
    votes, columns = ({name: each * times for name, each in table.items()} for table in (votes, columns))
    options = {"side": "side"} if "side" in columns else {"covariates": list(columns)}
    return lambda: Comparisons.from_frame({**votes, **columns}, **options)


def bad_log(times=1, **columns):
    log = {name: each * times for name, each in {**LOG, **columns}.items()}
    return lambda: Comparisons.from_arena(log, user="who", left="a", right="b", outcome="won")


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (bad_votes(side=["x", "q", "z"]), "in row 1 is 'q'; it must be the item that stood first, 'y' or 'z'"),
        (bad_votes(10, side=["x", "y", "x"]), "the winner stood first in every row"),
        (bad_votes(10, length=[0, 0.0, 0]), "the covariate 'length' is 0 in every row"),
        (bad_votes(length=[1, np.inf, 0]), "in row 1 is inf"),
        (bad_votes(length=[1, 1e16, 0]), "in row 1 is 1e+16; it must be from -1e+15 to 1e+15"),
        (bad_votes(length=[0, 1e-33, 0]), "nowhere above 1e-12"),
        (bad_votes(weight=[1, 2, 3]), "a covariate cannot be called 'weight'"),
        (bad_log(a=["B", "y", "x", "z"], b=["A", "z", "z", "y"], won=["B", "tie", "z", "y"]), "an item and also"),
        (bad_votes(tie=[1, 2, 3]), "a covariate cannot be called 'tie'"),
        (
            bad_log(won=["left", "left", "up", "left"]),
            "in row 2 is 'up', neither 'x' nor 'z' of this row; it must be left",
        ),
        (bad_log(won=["left", "left", "y ", "left"]), "in row 2 is 'y ', neither 'x' nor 'z' of this row"),
        (bad_log(won=["left", None, "", np.nan]), "(column 'won') is missing in row 1, as in 2 more rows; drop such"),
        (bad_log(b=["y", "z", "x", "y"], won=["left", "left", "up", "left"]), "'x' is compared with itself in row 2"),
        (bad_log(b=["y", None, "z", "y"]), "the item on the right (column 'b') is missing in row 1; drop such rows"),
        (bad_log(who=["ann", " ", "", "bob"]), "the user (column 'who') in row 1 is empty, as in 1 more row; drop"),
        (bad_log(10, won=["left", "tie", "left", "left"]), "the left one won in every row that was decided"),
    ],
)
@pytest.mark.filterwarnings("ignore:the table has a column")
def test_what_cannot_be_read(read, said):
    with pytest.raises(InputError) as caught:
        read()
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_column_of_ties_that_nobody_reads_is_told():
    votes = {"user": ["a", "b"], "winner": ["x", "y"], "loser": ["y", "z"], "tie": [True, False]}
    with pytest.warns(UserWarning, match="column 'tie', which is not read"):
        Comparisons.from_frame(votes)


@pytest.mark.parametrize(
    ("outcome", "beside"),
    [
        ("tie", []),
        ("both good", [("x", "fine"), ("y", "fine")]),
        ("tie (both good)", [("x", "fine"), ("y", "fine")]),
        ("both bad", [("fine", "x"), ("fine", "y")]),
        ("tie (bothbad)", [("fine", "x"), ("fine", "y")]),
        ("neither", [("fine", "x"), ("fine", "y")]),
    ],
)
@pytest.mark.parametrize("weight", [None, 3.0])
def test_each_kind_of_tie_beside_the_bar(outcome, beside, weight):
    """Both items beat the bar or lose to it, each in a whole vote, and the tie itself is two halves."""
    log = {"user": ["a"], "left": ["x"], "right": ["y"], "outcome": [outcome]}
    if weight is not None:
        log["weight"] = [weight]
    kept = None if weight is None else "weight"
    votes = Comparisons.from_arena(log, weight=kept, bar="fine" if beside else None)
    rows = votes.to_frame("dict")
    assert sorted(zip(rows["winner"], rows["loser"], rows["tie"], strict=True)) == sorted(
        [("x", "y", True), *((*pair, False) for pair in beside)]
    )
    whole = np.ones(len(beside) + 1) if weight is None else np.full(len(beside) + 1, weight)
    np.testing.assert_array_equal(rows.get("weight", np.ones(len(rows["user"]))), whole)
    pairs = votes.pairs()
    np.testing.assert_array_equal(pairs.weights()[pairs.tied], whole[0] / 2)
    np.testing.assert_array_equal(pairs.weights()[~pairs.tied], whole[1:])
