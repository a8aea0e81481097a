"""The problem of a fit, which can be posed again at its factors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..data.source import Source
from ..solving.described import NOTHING, Known, priors
from ..solving.effects import Around
from ..solving.exposure import Exposure
from ..solving.problem import Problem
from ..solving.scales import Scales
from ..solving.smoothing import ROUND_BY_ROUND, is_smoothed
from .scorers import Factors

POLISH = 3  # steps on the effects


@dataclass(frozen=True)
class Posed:
    """The problem a model was fitted to, but for the scalars of a fit."""

    source: Source
    loss: str
    bias: bool
    scales: Scales
    reg: float
    bias_reg: float
    delta: float
    exposed: Exposure | None
    radius: float | None
    known: Known = NOTHING
    around: Around | None = None
    g: Any = ()

    @classmethod
    def of(
        cls,
        source: Source,
        problem: Problem,
        exposed: Exposure | None = None,
        radius: float | None = None,
        known: Known = NOTHING,
    ) -> Posed:
        """Return what a problem was posed with."""
        return cls(
            source, problem.loss_name, problem.bias, problem.scales, problem.reg, problem.bias_reg,
            ROUND_BY_ROUND[-1] if is_smoothed(problem) else 0.0,  # any smoothing gives a bound
            exposed, radius, known, problem.around, problem.g,
        )  # fmt: skip

    def solved_with(self, delta: float, g: Any) -> Posed:
        """Return it with the effects, and the smoothing that the factors were found with.

        The slopes of that smoothing give the best bound.
        """
        return replace(self, delta=delta or self.delta, g=g)

    def context_effects(self) -> dict[str, float]:
        """Return the effects in units of scores."""
        if self.around is None:
            return {}
        return dict(zip(self.source.effects, map(float, self.g / self.around.scale), strict=True))

    def at(self, factors: Factors, n_threads: int = 1) -> Problem:
        """Return the problem at some factors."""
        problem = Problem(
            self.source.store, rank=factors.rank, loss=self.loss, bias=self.bias, scales=self.scales,
            n_threads=n_threads, around=self.around,
            priors=priors(self.source.store, self.scales, self.exposed, self.known, n_threads),
        )  # fmt: skip
        problem.set_reg(self.reg, self.bias_reg)
        problem.U[:], problem.V[:] = factors.U, factors.V
        problem.settle()  # a model has them where their features alone put them
        problem.set_effects(self.g)
        problem.delta = self.delta
        problem.refresh()
        for _ in range(POLISH):
            problem.effect_step()  # whose slopes a bound takes to be 0, and divides by a small ridge
        return problem
