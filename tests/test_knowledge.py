"""What a model knows of listed items: the chances with which questions are put, and the side on which an item stood."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="what serving needs is not installed: pip install 'rather[serve]'")

from rather import AltSVM, simulate
from rather.models.belief import Belief
from rather.models.information import pick
from rather.server import panels
from rather.server.knowledge import AMONG, EXPLORE, Knowledge, Said
from rather.server.listed import only_ids

N = 8


@pytest.fixture(scope="module")
def model():
    """A model of people whose tastes differ, and who lean to one side."""
    votes = simulate(n_users=60, n_items=N, rank=2, per_user=15, seed=1).comparisons
    made = AltSVM(rank=2, reg=2.0).fit(votes)
    made._crowd()
    made._fitted = replace(made.fitted, context_effects={"side": 0.7})
    return made


@pytest.fixture(scope="module")
def known(model):
    made = Knowledge(only_ids(model.items_.tolist()), model, "m")
    assert made.tells and made.sway == 0.7
    return made


SAID = [Said(0, 1, "left"), Said(2, 5, "right"), Said(3, 4, "tie")]


def asked(knowledge, said, n):
    belief = knowledge.belief(said)
    return [knowledge.question(belief, said, np.random.default_rng(seed)) for seed in range(n)]


def test_recorded_chances_are_those_of_being_asked(known):
    """A best pair is asked with (1 - EXPLORE) / AMONG, any pair at random with EXPLORE / n, and neither otherwise."""
    several = asked(known, SAID, 300)
    n_open = N * (N - 1) // 2 - len(SAID)
    informed = [q for q in several if q.policy == "information"]
    drawn = [q for q in several if q.policy == "random"]
    assert [q.chance for q in informed] == pytest.approx([(1 - EXPLORE) / AMONG] * len(informed))
    assert [q.chance for q in drawn] == pytest.approx([EXPLORE / n_open] * len(drawn))
    assert 0.5 * EXPLORE < len(drawn) / len(several) < 2 * EXPLORE
    best = {frozenset((q.left, q.right)) for q in informed}
    counts = [sum({q.left, q.right} == pair for q in informed) for pair in best]
    assert len(best) == AMONG and min(counts) > 0.5 * len(informed) / AMONG
    belief = known.belief(SAID)
    done = {(0, 1), (2, 5), (3, 4)}
    one = pick(belief, known.pool, done, np.random.default_rng(0), among=1, known=1.0 + known.count[known.pool])
    assert {one.left, one.right} in best and not best & {frozenset(pair) for pair in done}
    for question in several:
        p = float(belief.probability(np.array([question.left]), np.array([question.right]))[0])
        assert question.probability == pytest.approx(p, abs=1e-6)


def test_chances_where_nothing_is_known():
    """Every pair that is left is asked with one by their number, by what is known of nobody's taste."""
    several = asked(Knowledge(only_ids(range(N))), SAID, 50)
    assert {(q.policy, q.chance, q.probability) for q in several} == {("random", 1 / (28 - len(SAID)), None)}
    unseen = [*SAID, Said(6, 7, "unseen both"), Said(0, 2, "unseen left")]
    assert {q.chance for q in asked(Knowledge(only_ids(range(N))), unseen, 20)} == {1 / (10 - 2)}  # of 1 to 5


def test_the_side_on_which_an_item_stood_counts(known):
    """An item that was preferred on the favoured side tells less of itself than the same item on the other side."""
    left, right = (known.belief([said]) for said in (Said(0, 1, "left"), Said(1, 0, "right")))
    items = np.array([0, 1])
    apart = [float(np.subtract(*one.expected(items))) for one in (left, right, known.nothing)]
    assert apart[1] > apart[0] + 1e-3 > apart[2] + 1e-3
    mirrored = known.by(known.model._items_met(), -known.sway)
    assert mirrored.belief([Said(1, 0, "right")]).expected(items) == pytest.approx(left.expected(items))
    tie, turned = (known.belief([said]).expected(items) for said in (Said(0, 1, "tie"), Said(1, 0, "tie")))
    assert np.subtract(*tie) < np.subtract(*turned)  # to be undecided speaks against the favoured side


def test_differences_say_how_sure_they_are(known, monkeypatch):
    """The interval that is told is that of the bars: a narrower one tells of more items."""
    told, said = {}, [Said(0, k, "left") for k in range(1, N)]
    for interval in (0.9, 0.1):
        monkeypatch.setattr(panels, "INTERVAL", interval)
        told[interval] = panels.difference(known, known.belief(said), said, N)
        assert told[interval]["interval"] == interval
        nothing = Knowledge(only_ids(range(N)))
        assert panels.difference(nothing, nothing.nothing, [], N) == {"rows": [], "interval": interval}
        for row in told[interval]["rows"]:
            wide = (row["high"] - row["low"]) / 2
            assert row["high"] - row["difference"] == pytest.approx(wide) and abs(row["difference"]) > wide
    assert len(told[0.1]["rows"]) > len(told[0.9]["rows"])


def test_a_tie_is_two_halves(known):
    """A tie says as much as an answer of count 1/2 for each side."""
    halves = np.array([0, 1]), np.array([1, 0]), np.array([0.5, 0.5]), np.array([known.sway, -known.sway])
    made, expected = known.belief([Said(0, 1, "tie")]), Belief(known.items, None, halves)
    everything, others = np.arange(N), np.roll(np.arange(N), 1)
    assert made.count.tolist() == [0.5, 0.5]
    for one, other in zip(made.margins(everything, others), expected.margins(everything, others), strict=True):
        assert one == pytest.approx(other, rel=1e-12)


@pytest.mark.parametrize("kind", ["nothing", "a model"])
def test_no_more_answers_than_pairs(known, kind):
    """What settles the top is never more than can still be asked, down to nothing."""
    knowledge = known if kind == "a model" else Knowledge(only_ids(range(N)))
    rng, said = np.random.default_rng(0), []
    pairs = rng.permutation(np.stack(np.triu_indices(N, 1), axis=1)).tolist()
    for left, right in pairs:
        said.append(Said(left, right, "left" if rng.random() < 0.5 else "right"))
        if len(said) % 5 == 3:
            settled = panels.ranking(knowledge, knowledge.belief(said), said, N)["settled"]
            assert settled["left"] == len(pairs) - len(said)
            assert settled["more"] is None or settled["more"] <= settled["left"]
    assert settled["left"] == 0 and (settled["more"] is None) == (settled["share"] < panels.SURE)
    unseen = [Said(0, 1, "unseen both"), Said(2, 3, "unseen left")]
    assert knowledge.askable(unseen)[2] == 5 * 4 // 2
