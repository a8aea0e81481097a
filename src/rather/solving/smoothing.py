"""Schedules for smoothing the hinge over [1 - delta, 1], so that Newton's method applies; delta falls as a fit goes on.

All schedules in use are here. Other losses are smooth, with delta = 0.
"""

from __future__ import annotations

from .problem import Problem

ROUND_BY_ROUND = [2.0**-k for k in range(8)]  # alternating rounds: one delta each, the last until they are solved
ONCE = 0.5  # where an approximate solution is enough: the global ranking that a fit starts from
EXACT = [2.0**-k for k in range(0, 12, 2)]  # one convex problem, solved at each in turn: a newcomer's vector
COARSEST, FINEST = 0.5, 2.0**-14  # halved as long as it is most of the gap: fits that prove how good they are
RESOLVED = 1e-6  # of the objective: single precision does not show that a step gains less


def is_smoothed(problem: Problem) -> bool:
    return problem.loss_name == "hinge"


class Tightening:
    """The schedule round by round. From its end on delta is halved while it alone is in the way of a tolerance.

    Not sooner: a hinge with a sharp kink holds the alternation at points where both halves are solved and the whole is
    not. A round is idle if the last three made neither the smoothed objective nor the gain smaller: that is as far as
    single precision goes with this delta. Without a tolerance delta stays where the schedule ends.
    """

    def __init__(self, problem: Problem, tol: float | None = None) -> None:
        self.steps = len(ROUND_BY_ROUND) if is_smoothed(problem) else 0
        self.tol = None if tol is None else max(tol, RESOLVED)
        self.recent: list[tuple[float, float]] = []  # smoothed objective and gain of the last rounds with one delta
        self.next = ROUND_BY_ROUND[0] if self.steps else 0.0  # delta, for the round to come

    def before_round(self, problem: Problem) -> None:
        """Set delta for the round to come."""
        if self.steps and problem.delta != self.next:
            problem.delta = self.next
            problem.evaluate()
            self.recent = []

    def after_round(self, problem: Problem, rounds_done: int, gain: float) -> dict[str, float]:
        """The objective after a round, and the gap: what it had to gain and what is smoothed away, as a share of it.

        (All of it while the smoothing is coarse.)
        """
        coarse, loss = rounds_done <= self.steps, problem.true_loss()
        self.recent = [*self.recent[-3:], (problem.loss_value + problem.penalty(), gain)]
        objective, hidden = loss + problem.penalty(), loss - problem.loss_value
        if rounds_done < self.steps:
            self.next = ROUND_BY_ROUND[rounds_done]
        elif self.tol is not None and hidden > (most := 0.5 * self.tol * objective) and self._is_idle(most):
            self.next = max(0.5 * problem.delta, FINEST)
        gap = (gain + hidden) / objective if objective > 0 else 0.0
        return {"objective": objective, "gap": max(gap, 1.0) if coarse else gap}

    def stalled(self, problem: Problem) -> bool:
        """Return whether single precision allows no more, with this delta and with a smaller one."""
        return self._is_idle() and self.next == problem.delta

    def _is_idle(self, enough: float = 0.0) -> bool:
        """Return whether the last round had at most so much to gain, or nothing more in single precision."""
        if self.recent[-1][1] <= enough:
            return True
        return len(self.recent) == 4 and all(min(values[1:]) >= values[0] for values in zip(*self.recent, strict=True))

    def resume(self, problem: Problem, delta: float) -> None:
        """Go on with a delta that was saved."""
        if self.steps:
            self.next = problem.delta = min(max(delta, FINEST), ROUND_BY_ROUND[0])
