"""The model of what a low-rank fit has come to: factors, and what features, exposure and context say beside them."""

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
from .crowd import Found
from .estimates import Told
from .features import Learned
from .fitted import FittedModel
from .interest import LEAST, Interest
from .scorers import Factors, copied

Gains = tuple[Any, Any]  # by how much each block of the users' and of the items' features lowered the log loss


@dataclass(frozen=True)
class Assembly:
    """Makes models of the rounds of a solver: from ``base``, which holds all that no round changes."""

    base: FittedModel
    store: Any
    exposed: Exposure | None
    known: Known
    gains: Gains
    n_threads: int

    def last(self, solver: Newton | Growing, fitted: FittedModel) -> FittedModel:
        """Return the model of the end of a fit, whose last round is ``fitted``."""
        if isinstance(solver, Growing):
            solver.trim()
        made = self.model(solver, last=True)
        return replace(made, history=fitted.history, converged=fitted.converged, interrupted=fitted.interrupted)

    def model(self, solver: Newton | Growing, last: bool = False) -> FittedModel:
        """Return the model of what a solver has come to: of one that grows, the best so far."""
        if isinstance(solver, Growing):
            proof = solver.proof if solver.rounds_done else None
            return self._of(*solver.factors, solver.coefficients, 0.0, solver.g, proof, last)
        problem = solver.problem
        made = coefficients(problem, problem.U, problem.V)
        return self._of(problem.U, problem.V, problem.rank, made, problem.delta, problem.g, None, last)

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
        posed, met = base.posed.solved_with(delta, g), 0 if self.exposed is None else self.exposed.k
        prior = None
        if self.exposed is not None and found[0] is not None:
            prior = self.exposed.parts[:, :met], found[0][:met, :rank].copy()
        users, items = (self._learned(side, found[side], factors, last) for side in (0, 1))
        return replace(
            base, scorer=factors, posed=posed, proof=proof, context_effects=posed.context_effects(), prior=prior,
            user_features=users, item_features=items, slope=Slope(base.slope.found, base.slope.own), told=Told(),
            sure=Found(base.sure.sureness),
        )  # fmt: skip

    def _learned(self, side: int, found: FloatArray | None, factors: Factors, last: bool) -> Learned | None:
        """Return what the features of a side, users or items, say.

        In the last model, rows about which nothing was said follow from their features. The coefficients for those of
        whom nothing else is known cost a regression, and come with the last model, too.
        """
        known, rank = self.known[side], factors.rank
        if known is None or known.strengths is None:
            return None
        rows, width = (factors.U, factors.V)[side], rank + side
        count = np.asarray((np.diff(self.store.start), self.store.item_count)[side])
        met = 0 if self.exposed is None else self.exposed.k
        C = np.zeros((0, width), np.float32) if found is None else found[met:, :width]
        learned = Learned.of(known, C, rows, count if last else None, self.gains[side], self.n_threads)
        unmet = np.flatnonzero(count == 0)
        if last and len(unmet) and known.own:
            made = learned.means(known.rows[unmet, : known.encoder.width], rank, self.n_threads)
            rows[unmet, :width] = made[:, :width]
        return learned


def interest_of(exposed: Exposure | None, comparisons: Comparisons) -> Interest | None:
    """Return what lists take: of ratings that people chose to give."""
    if exposed is None or comparisons.ratings is None:
        return None
    parts = exposed.parts[:, : min(max(exposed.standing, LEAST), exposed.k)].copy()
    return Interest(parts, parts * exposed.met[:, None])
