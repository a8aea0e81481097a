"""The models that a low-rank fit publishes: factors, and coefficients of features, exposure and context."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..native import FloatArray
from ..solving.certificate import Certificate
from ..solving.described import Known
from ..solving.exposure import Exposure
from ..solving.growth import Coefficients, Growing, coefficients
from ..solving.newton import Newton
from .calibration import Slope
from .crowd import TastePrior
from .estimates import EffectEstimates
from .features import Learned
from .fitted import FittedModel
from .interest import LEAST, Interest
from .scorers import Factors, copied

Gains = tuple[Any, Any]  # by how much each block of the users' and of the items' features lowered the log loss


@dataclass(frozen=True)
class Assembly:
    """Makes a model after every round of a solver. ``base`` holds all that no round changes."""

    base: FittedModel
    store: Any
    exposed: Exposure | None
    known: Known
    gains: Gains
    n_threads: int

    def last(self, solver: Newton | Growing, fitted: FittedModel) -> FittedModel:
        """Return the last model of a fit, complete; ``fitted`` is that of the last round."""
        if isinstance(solver, Growing):
            solver.trim()
        made = self.model(solver, last=True)
        return replace(made, history=fitted.history, converged=fitted.converged, interrupted=fitted.interrupted)

    def model(self, solver: Newton | Growing, last: bool = False) -> FittedModel:
        """Return the model of a solver's present factors, or of the best so far if the solver grows.

        ``last`` says that no round follows, so that what no round needs is computed too.
        """
        if isinstance(solver, Growing):
            proof = solver.proof if solver.rounds_done else None
            return self._of(*solver.factors, solver.coefficients, 0.0, solver.g, proof, last)
        problem = solver.problem
        found = coefficients(problem, problem.U, problem.V)
        return self._of(problem.U, problem.V, problem.rank, found, problem.delta, problem.g, None, last)

    def _of(
        self,
        U: FloatArray,
        V: FloatArray,
        rank: int,
        found: Coefficients,
        delta: float,
        g: Any,
        proof: Certificate | None,
        last: bool,
    ) -> FittedModel:
        base, factors = self.base, Factors.packed(copied(U, self.n_threads), copied(V, self.n_threads), rank)
        assert base.posed is not None
        posed = base.posed.solved_with(delta, g)
        prior = None
        if self.exposed is not None and found[0] is not None:
            k = self.exposed.k
            prior = self.exposed.parts[:, :k], found[0][:k, :rank].copy()
        users, items = (self._learned(side, found[side], factors, last) for side in (0, 1))
        return replace(
            base, scorer=factors, posed=posed, proof=proof, context_effects=posed.context_effects(), prior=prior,
            user_features=users, item_features=items, slope=Slope(base.slope.found, base.slope.own),
            effect_estimates=EffectEstimates(),
            taste_prior=TastePrior(base.taste_prior.sureness),
        )  # fmt: skip

    def _learned(self, side: int, found: FloatArray | None, factors: Factors, last: bool) -> Learned | None:
        """Return what was learned of the features of users (side 0) or items (side 1).

        The coefficients for users or items without comparisons cost a regression, so only the last model has them. The
        last model's vectors of such users or items are computed from their features.
        """
        known, rank = self.known[side], factors.rank
        if known is None or known.strengths is None:
            return None
        rows, width = (factors.U, factors.V)[side], rank + side
        count = np.asarray((np.diff(self.store.start), self.store.item_count)[side])
        k = 0 if self.exposed is None else self.exposed.k  # coefficients of exposure come first
        C = np.zeros((0, width), np.float32) if found is None else found[k:, :width]
        learned = Learned.of(known, C, rows, count if last else None, self.gains[side], self.n_threads)
        uncompared = np.flatnonzero(count == 0)
        if last and len(uncompared) and known.own:
            means = learned.means(known.rows[uncompared, : known.encoder.width], rank, self.n_threads)
            rows[uncompared, :width] = means[:, :width]
        return learned


def interest_of(exposed: Exposure | None, comparisons: Comparisons) -> Interest | None:
    """Return what lists by interest need; None without exposure or without ratings."""
    if exposed is None or comparisons.ratings is None:
        return None
    parts = exposed.parts[:, : min(max(exposed.standing, LEAST), exposed.k)].copy()
    return Interest(parts, parts * exposed.met[:, None])
