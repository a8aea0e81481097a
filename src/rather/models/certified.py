"""Models that can say how far they are, at most, from the best of any rank."""

from __future__ import annotations

from copy import copy

from ..errors import InputError
from ..native import threads
from ..solving.certificate import Certificate, certify, made_sure
from .factors import FactorEstimator
from .posed import Posed

NO_DATA = (
    "a model that was read from a file, or is of newcomers, has no certificate: that needs the comparisons it was "
    "fitted to; ask for it after fit"
)


class Certified(FactorEstimator):
    """A factor model that was fitted to a problem with a convex twin."""

    def certificate(self) -> Certificate:
        """How far the model is, at most, from the best one of any rank on its training data: see :class:`Certificate`.

        Costs about as much as ten to twenty rounds. It is about the problem with the reg that was used, not about which
        reg predicts best.
        """
        return copy(self)._certificate()

    def _certificate(self) -> Certificate:
        posed = self.fitted.posed or self._posed_again()
        if posed is None:
            raise InputError(NO_DATA)
        problem = posed.at(self._factors, threads(self.n_threads))
        return made_sure(self.fitted.proof or certify(problem, posed.radius), problem, posed.radius)

    def _posed_again(self) -> Posed | None:
        """Return the problem of a model that was read from a file with its comparisons."""
        return None
