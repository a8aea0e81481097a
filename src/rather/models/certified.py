"""Models that can say how far they are, at most, from the best of any rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..data.source import Source
from ..errors import InputError
from ..native import threads
from ..solving.certificate import Certificate, certify, made_sure
from ..solving.described import NOTHING, Known, priors
from ..solving.effects import Around
from ..solving.exposure import Exposure
from ..solving.problem import Problem
from ..solving.scales import Scales
from ..solving.smoothing import ROUND_BY_ROUND, is_smoothed
from .state import of_one_moment

POLISH = 3  # steps on the effects
NO_DATA = (
    "a model that was read from a file, or is of newcomers, has no certificate: that needs the comparisons it was "
    "fitted to; ask for it after fit"
)


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

    def at(self, model: Any) -> Problem:
        """The problem at the factors of a model."""
        problem = Problem(
            self.source.store, rank=model.rank_, loss=self.loss, bias=self.bias, scales=self.scales,
            n_threads=(n_threads := threads(model.n_threads)), around=self.around,
            priors=priors(self.source.store, self.scales, self.exposed, self.known, n_threads),
        )  # fmt: skip
        problem.set_reg(self.reg, self.bias_reg)
        problem.U[:], problem.V[:] = model.U_, model.V_
        problem.settle()  # a model has them where their features alone put them
        problem.set_effects(self.g)
        problem.delta = self.delta
        problem.refresh()
        for _ in range(POLISH):
            problem.effect_step()  # whose slopes a bound takes to be 0, and divides by a small ridge
        return problem


class Certified:
    """Prove how far a factor model can be from the best model of any rank."""

    _posed: Posed | None = None
    _known: Known = NOTHING  # of the users and items of the problem
    _proof: Certificate | None = None  # that of the last round, of fits that prove as they go

    def _pose(
        self, source: Source, problem: Problem, exposed: Exposure | None = None, radius: float | None = None
    ) -> None:
        self._posed = Posed(
            source, problem.loss_name, problem.bias, problem.scales, problem.reg, problem.bias_reg,
            ROUND_BY_ROUND[-1] if is_smoothed(problem) else 0.0,  # any smoothing gives a bound
            exposed, radius, self._known, problem.around, problem.g,
        )  # fmt: skip

    def _solved_with(self, delta: float, g: Any) -> None:
        """Remember the effects, and the smoothing that the factors were found with: its slopes give the best bound."""
        if self._posed is not None:
            self._posed = replace(self._posed, delta=delta or self._posed.delta, g=g)

    @of_one_moment
    def certificate(self) -> Certificate:
        """Prove how far the fit can be from the best one of any rank.

        The proof is about the objective on the training data with the regularisation used. It does not say which
        regularisation predicts best. It takes about as long as ten to twenty rounds.

        Returns
        -------
        Certificate
            The objective, a lower bound, and their gap.

        Raises
        ------
        InputError
            If the model was loaded without its comparisons, or is a model of new users.

        See Also
        --------
        Convex : Fit until the gap is small.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=50, n_items=20).comparisons)
        >>> proof = model.certificate()
        >>> proof.lower_bound <= proof.objective
        True
        """
        self._require_fit()  # type: ignore[attr-defined]
        posed = self._posed or self._posed_again()
        if posed is None:
            raise InputError(NO_DATA)
        problem = posed.at(self)
        return made_sure(self._proof or certify(problem, posed.radius), problem, posed.radius)

    def _posed_again(self) -> Posed | None:
        """The problem of a model that was read from a file with its comparisons."""
        return None
