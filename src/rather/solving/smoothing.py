"""How the hinge is smoothed, so that Newton's method can work on it: over [1 - delta, 1], and tighter as a fit goes on.

Every schedule in use is here. Other losses are smooth, and have delta = 0.
"""

from __future__ import annotations

from .problem import Problem

ROUND_BY_ROUND = [2.0**-k for k in range(8)]  # alternating rounds: one delta each, the last from there on
ONCE = 0.5  # where an approximate solution is enough: the global ranking that a fit starts from
EXACT = [2.0**-k for k in range(0, 12, 2)]  # one convex problem, solved at each in turn: a newcomer's vector
HIDDEN = 5e-3  # of the objective may be hidden by the smoothing
COARSEST, FINEST = 0.5, 2.0**-14  # halved as long as it is most of the gap: fits that prove how good they are


def is_smoothed(problem: Problem) -> bool:
    return problem.loss_name == "hinge"


class Tightening:
    """The schedule round by round; then on, as long as the smoothing hides more than a little of the objective."""

    def __init__(self, problem: Problem) -> None:
        self.steps = len(ROUND_BY_ROUND) if is_smoothed(problem) else 0

    def before_round(self, problem: Problem, rounds_done: int) -> bool:
        """Set delta for the round to come; whether there is more to gain than the current smoothing can see."""
        if not self.steps:
            return False
        if rounds_done < self.steps:
            problem.delta = ROUND_BY_ROUND[rounds_done]
        elif problem.delta > FINEST and problem.hidden() > HIDDEN:
            problem.delta *= 0.5
        else:
            return False
        problem.evaluate()
        return True
