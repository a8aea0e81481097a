"""Answers that look like a script's are marked, each for its reason; people's are not."""

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="what serving needs is not installed: pip install 'rather[serve]'")

from rather.server.marks import FAST, LEAST, OF_ORIGIN, OF_VISITOR, marked


def people(n, each, seed=0, visitor="p", origin="o", pace=4.0):
    """Ordinary people: some seconds a question, some of them hasty, both sides, ties, unseen ones."""
    rng = np.random.default_rng(seed)
    who = np.repeat([f"{visitor}{k}" for k in range(n)], each).astype(object)
    reply = rng.choice(["left", "right", "tie", "unseen left"], n * each, p=[0.45, 0.4, 0.1, 0.05]).astype(object)
    took = FAST + rng.lognormal(np.log(pace), 0.7, n * each)
    answered = np.concatenate([rng.uniform(0, 86_400) + np.cumsum(part) for part in took.reshape(n, each)])
    return who, np.array([f"{origin}{x}" for x in who], object), reply, answered - took, answered


def joined(*several):
    return tuple(np.concatenate(parts) for parts in zip(*several, strict=True))


def test_ordinary_people_are_not_marked():
    """Not one in ten thousand answers of people who take seconds, as many as a visit brings; nor of hasty ones."""
    assert not any(marked(*people(200, 50)))
    assert not any(marked(*people(20, 300, pace=1.5)))


def test_nothing_to_mark():
    assert marked([], [], [], [], []).tolist() == []


def test_faster_than_anybody_reads():
    """By the server's own clock; exactly those answers, whoever else answers."""
    *who, asked, answered = people(1, 30)
    asked[::3] = answered[::3] - FAST / 2
    found = marked(*who, asked, answered)
    assert found.tolist() == ["fast" if n % 3 == 0 else "" for n in range(30)]


@pytest.mark.parametrize(("n", "mark"), [(OF_VISITOR, ""), (OF_VISITOR + 1, "flood")])
def test_more_than_anybody_gives_in_a_minute(n, mark):
    """All of the flood, and none of what the same visitor said an hour before."""
    answered = np.concatenate((np.arange(10) * 30.0, 3600 + np.linspace(0, 59, n)))
    reply = np.array(["left", "right"] * len(answered), object)[: len(answered)]
    found = marked(["v"] * len(answered), ["o"] * len(answered), reply, answered - 1, answered)
    assert set(found[:10]) == {""} and set(found[10:]) == {mark}


@pytest.mark.parametrize(("n", "mark"), [(OF_ORIGIN, ""), (OF_ORIGIN + 1, "flood")])
def test_more_than_an_address_gives(n, mark):
    """Many visitors of one address, none of whom floods alone; those elsewhere at the same time are not meant."""
    answered = np.linspace(0, 59, n)
    script = [f"v{k % 100}" for k in range(n)], ["o"] * n, (["left", "right"] * n)[:n], answered - 1, answered
    found = marked(*joined(script, people(20, 5, origin="elsewhere")))
    assert set(found[:n]) == {mark} and set(found[n:]) == {""}


def test_always_the_same_side():
    """Who takes one side too often for a coin; ties and unseen ones are neither; a few alike are not too many."""
    for side in ("left", "right"):
        for n, mark in ((LEAST - 1, ""), (LEAST + 5, "one side")):
            answered = np.arange(n) * 10.0
            found = marked(["v"] * n, ["o"] * n, [side] * n, answered - 3, answered)
            assert set(found) == {mark}
    n = 300
    reply = np.where(np.arange(n) % 10 == 0, "right", "left").astype(object)
    assert set(marked(["v"] * n, ["o"] * n, reply, np.arange(n) * 10.0 - 3, np.arange(n) * 10.0)) == {"one side"}
    reply = np.where(np.arange(n) % 5 < 3, "left", "right").astype(object)  # 60 %: somebody may well lean so
    assert set(marked(["v"] * n, ["o"] * n, reply, np.arange(n) * 10.0 - 3, np.arange(n) * 10.0)) == {""}
    ties = ["tie"] * n
    assert set(marked(["v"] * n, ["o"] * n, ties, np.arange(n) * 10.0 - 3, np.arange(n) * 10.0)) == {""}


def test_marks_are_in_the_order_of_the_answers():
    """Whatever the order of rows, each gets its own mark."""
    script = ["s"] * 100, ["o"] * 100, ["left"] * 100, np.arange(100) * 0.1 - 0.01, np.arange(100) * 0.1
    rows = joined(people(30, 20), script)
    found, shuffle = marked(*rows), np.random.default_rng(3).permutation(700)
    assert set(found[600:]) == {"fast"} and set(found[:600]) == {""}
    assert marked(*(column[shuffle] for column in rows)).tolist() == found[shuffle].tolist()
