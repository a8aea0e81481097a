"""The loop over rounds: when it ends, what records hold, what it goes on from."""

import math

import pytest

from rather import InputError
from rather.solving.rounds import EVERY_ROUND, Stop, rounds, solve


class Halving:
    """A solver whose gap halves from round to round."""

    def __init__(self, gap=1.0, objective=1.0):
        self.gap, self.objective, self.done = gap, objective, 0

    def round(self):
        self.gap /= 2
        self.done += 1
        return {"objective": self.objective, "gap": self.gap}


@pytest.mark.parametrize(("stop", "done"), [(Stop(0.2, 9), 3), (Stop(0.2, 2), 2), (Stop(0.0, 4), 4), (Stop(0.5, 9), 1)])
def test_rounds_end_at_the_tolerance_or_at_the_last(stop, done):
    """The last round is the first whose gap is within the tolerance, or the last that is allowed."""
    records = list(rounds(Halving(), stop))
    assert [record["round"] for record in records] == list(range(1, done + 1))
    assert list(records[0]) == ["round", "objective", "gap", "seconds"]
    solver = Halving()
    solve(solver, stop)
    assert solver.done == done


def test_a_gap_that_is_no_number_does_not_end_the_rounds():
    """A gap of NaN is not within any tolerance, and every round is made where no gap shall end them."""
    solver = Halving(math.nan)
    solve(solver, Stop(1.0, 5))
    assert solver.done == 5
    solver = Halving(0.0)
    solve(solver, Stop(EVERY_ROUND, 5))
    assert solver.done == 5


def test_rounds_go_on_from_a_history():
    """Numbers and seconds follow on; a history that is within the tolerance, or long enough, gets no round."""
    before = [{"round": 1, "objective": 2.0, "gap": 0.5, "seconds": 100.0}]
    first = next(rounds(Halving(), Stop(0.1, 9), before))
    assert first["round"] == 2 and 100 <= first["seconds"] < 200
    assert not list(rounds(Halving(), Stop(0.5, 9), before)) and not list(rounds(Halving(), Stop(0.1, 1), before))


def test_an_objective_that_is_not_finite_is_refused_with_advice_alone():
    """A search makes rounds on, because other candidates may win."""
    with pytest.raises(InputError, match=r"became inf in round 1: take smaller steps"):
        list(rounds(Halving(objective=math.inf), Stop(0.1, 9), advice="take smaller steps"))
    solver = Halving(objective=math.inf)
    solve(solver, Stop(0.3, 9))
    assert solver.done == 2
