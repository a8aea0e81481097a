"""How the hinge is smoothed, so that Newton's method can work on it: over [1 - delta, 1], and tighter as a fit goes on.

Every schedule in use is here. Other losses are smooth, and have delta = 0.
"""

from __future__ import annotations

from .problem import Problem

ROUND_BY_ROUND = [2.0**-k for k in range(8)]  # alternating rounds: one delta each, the last from there on
ONCE = 0.5  # where an approximate solution is enough: the global ranking that a fit starts from
EXACT = [2.0**-k for k in range(0, 12, 2)]  # one convex problem, solved at each in turn: a newcomer's vector
COARSEST, FINEST = 0.5, 2.0**-14  # halved as long as it is most of the gap: fits that prove how good they are


def is_smoothed(problem: Problem) -> bool:
    return problem.loss_name == "hinge"


class Tightening:
    """The schedule round by round."""

    def __init__(self, problem: Problem) -> None:
        self.steps = len(ROUND_BY_ROUND) if is_smoothed(problem) else 0

    def before_round(self, problem: Problem, rounds_done: int) -> bool:
        """Set delta for the round to come; whether there is more to gain than the current smoothing can see."""
        if rounds_done >= self.steps:
            return False
        problem.delta = ROUND_BY_ROUND[rounds_done]
        problem.evaluate()
        return True

    def resume(self, problem: Problem, rounds_done: int) -> None:
        """Set delta as it was after some rounds."""
        if self.steps and rounds_done:
            problem.delta = ROUND_BY_ROUND[min(rounds_done, self.steps) - 1]
