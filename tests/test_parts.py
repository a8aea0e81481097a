"""Which items are connected by comparisons."""

import json

import numpy as np
import pytest

import rather
from rather import Comparisons
from rather.cli.main import main

pytestmark = pytest.mark.usefixtures("brief_search")


def by_search(n_items, edges):
    """The parts by a search from every item, largest first."""
    neighbours = {j: set() for edge in edges for j in edge}
    for a, b in edges:
        neighbours[a].add(b), neighbours[b].add(a)
    found = []
    while neighbours:
        reached, ahead = set(), [min(neighbours)]
        while ahead:
            j = ahead.pop()
            if j not in reached:
                reached.add(j)
                ahead += neighbours.pop(j)
        found.append(sorted(reached))
    found.sort(key=len, reverse=True)
    part = np.full(n_items, -1)
    for number, items in enumerate(found):
        part[items] = number
    return part


@pytest.mark.parametrize("n_votes", [5, 20, 40, 80])
def test_parts_of_votes_are_those_of_the_graph(n_votes):
    rng = np.random.default_rng(n_votes)
    for _ in range(20):
        winner = rng.integers(0, 60, n_votes)
        loser = (winner + rng.integers(1, 60, n_votes)) % 60
        votes = Comparisons.from_frame({"user": rng.integers(0, 7, n_votes), "winner": winner, "loser": loser})
        code = {item: k for k, item in enumerate(votes.items.tolist())}
        edges = [(code[a], code[b]) for a, b in zip(winner.tolist(), loser.tolist(), strict=True)]
        np.testing.assert_array_equal(votes.parts(), by_search(votes.n_items, edges))
        assert votes.part_sizes() == np.bincount(votes.parts()).tolist()


def test_a_users_ratings_connect_whatever_differs():
    table = {"user": [1, 1, 2, 2, 3, 3, 3], "item": list("ABCDEFG"), "rating": [1, 2, 1, 5, 3, 3, 4]}
    ratings = Comparisons.from_ratings(table)
    assert ratings.part_sizes() == [3, 2, 2]
    assert ratings.parts().tolist() == [1, 1, 2, 2, 0, 0, 0]
    assert "parts" not in repr(ratings)  # which would have to build the store


def test_items_that_nobody_compared_are_in_no_part():
    equal = {"user": [1, 1, 2, 2], "item": list("ABCD"), "rating": [1, 2, 3, 3]}
    ratings = Comparisons.from_ratings(equal)
    assert dict(zip(ratings.items.tolist(), ratings.parts().tolist(), strict=True)) == {
        "A": 0,
        "B": 0,
        "C": -1,
        "D": -1,
    }


def test_ties_connect():
    log = {"user": [1, 2], "left": ["A", "C"], "right": ["B", "B"], "outcome": ["tie", "right"]}
    assert Comparisons.from_arena(log).part_sizes() == [3]


def test_clicks_connect_what_they_are_compared_with():
    clicks = Comparisons.from_clicks({"user": [1, 1, 2, 2], "item": list("ABCD")})
    assert clicks.part_sizes() == [4]


def test_repr_and_fit_say_what_is_not_connected(tmp_path, capsys):
    one = rather.simulate(n_users=30, n_items=12, per_user=10, seed=0).comparisons
    assert repr(one).endswith("over 12 items")
    table = one.to_frame("dict")
    other = {name: [f"other {x}" if name != "user" else x for x in column] for name, column in table.items()}
    two = {name: [str(x) for x in table[name]] + [str(x) for x in other[name]] for name in ("user", "winner", "loser")}
    assert repr(Comparisons.from_frame(two)).endswith("over 24 items, in 2 parts")
    for name, votes, said in (("one", table, False), ("two", two, True)):
        rows = zip(*(votes[column] for column in ("user", "winner", "loser")), strict=True)
        text = "\n".join(["user,winner,loser", *(",".join(map(str, row)) for row in rows)])
        (tmp_path / f"{name}.csv").write_text(text)
        fit = ["fit", str(tmp_path / f"{name}.csv"), "--rank", "2", "--reg", "5", "--out", str(tmp_path / name)]
        assert main(fit) == 0
        shown = " ".join(capsys.readouterr().out.split())
        sentence = "2 parts, the largest of 12 items. Items of different parts were never compared: their relative"
        assert (sentence in shown) == said
        assert main([*fit, "--json", "--force"]) == 0
        assert json.loads(capsys.readouterr().out)["parts"] == ([12, 12] if said else [12])


def test_convarg_has_a_part_for_every_topic(data):
    table = rather.data.table_files.read_file(data / "convarg" / "judgements.parquet")
    judged = Comparisons.from_arena(table)
    assert len(judged.part_sizes()) == 32 and max(judged.part_sizes()) == 35
    assert repr(judged).endswith(", in 32 parts")
