"""The base class of models that bound their distance to the best model of any rank."""

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
    """Prove how far a factor model can be from the best model of any rank."""

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
        return copy(self)._certificate()

    def _certificate(self) -> Certificate:
        posed = self.fitted.posed or self._posed_again()
        if posed is None:
            raise InputError(NO_DATA)
        problem = posed.at(self._factors, threads(self.n_threads))
        return made_sure(self.fitted.proof or certify(problem, posed.radius), problem, posed.radius)

    def _posed_again(self) -> Posed | None:
        """The problem of a model that was read from a file with its comparisons."""
        return None
