"""What AltSVM and its convex twin share: the problem that their parameters pose."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from typing import Any

from ..data.comparisons import Comparisons
from ..data.source import Source
from ..errors import InputError, number, one_of
from ..native import LOSSES, threads
from ..solving.effects import Around
from ..solving.exposure import restored
from ..solving.mixed import alike
from ..solving.smoothing import ROUND_BY_ROUND
from ..solving.spec import Spec
from . import halves
from .additions import with_items
from .calibration import Calibration, Slope
from .certified import Certified
from .fitted import FittedModel
from .newcomers import FoldInModel
from .parameters import allowed, check_bias, check_shape
from .posed import Posed


class LowRank(Certified, FoldInModel):
    """An estimator with the parameters that say what is minimised, whatever minimises it."""

    reg: float | str | None
    loss: str
    bias: bool | float
    item_power: float
    user_power: float
    balance: float | None
    exposure: bool | None
    ties: str

    def _spec(self) -> Spec:
        """Return what these parameters minimise."""
        return Spec(
            self.loss, self.bias, self.reg, self.item_power, self.user_power, self.balance, self.exposure, self.seed,
            threads(self.n_threads),
        )  # fmt: skip

    def _fitted_spec(self) -> Spec:
        """Return what the fit minimised, whatever ``set_params`` has changed since."""
        return replace(self._as_fitted()._spec(), trust=self.fitted.trust)

    def _check_features(self, what: str) -> None:
        """They are learned from."""

    def add_items(self, new: Any, features: Any = None) -> Any:
        """Take in new items, from what is known of them or what people whom the model knows said; returns the model.

        With everything else as it is, the vectors and biases of the new items are what their features make of them (for
        models that were fitted with ``item_features``); from what was said about them they are solved for: one convex
        problem, which takes no longer than what was said. Comparisons of known items with one another say nothing here;
        :meth:`AltSVM.update` learns from all of them, and takes in new people too.

        Parameters
        ----------
        new : table of features, or Comparisons
            A table as ``item_features`` of ``fit``: items that nobody has compared yet. Or what was said about them.
        features : table of features, optional
            Of the items that comparisons are about, which are then expected to be what these make of them. Items that
            are only described join them.
        """
        self._fitted = with_items(copy(self), new, features)
        return self

    def _posed_again(self) -> Posed | None:
        fitted = self.fitted
        if fitted.training is None or fitted.parent is not None:
            return None
        assert fitted.loss is not None and fitted.reg is not None and fitted.bias_reg is not None
        spec, source, lam = self._fitted_spec(), fitted.training.source, fitted.params.get("lam")
        exposed = None if fitted.prior is None else restored(source, fitted.prior[0], spec.n_threads)
        delta = ROUND_BY_ROUND[-1] if fitted.loss == "hinge" else 0.0
        radius = None if lam is None else math.sqrt(lam * source.n_users * source.n_items)
        scaled, _ = spec.scales(source)
        around = Around.of(source)
        return Posed(
            source, fitted.loss, spec.bias is not False, scaled, fitted.reg, fitted.bias_reg, delta, exposed, radius,
            fitted.known, around, () if around is None else self._effects_of(source) * around.scale,
        )  # fmt: skip

    def _sure_of(self, fitted: FittedModel, comparisons: Comparisons, found: Calibration | None) -> FittedModel:
        """Return the model of the end of a fit, with the calibration that it found on held-out answers."""
        if found is None or not fitted.converged:
            return fitted
        return replace(fitted, slope=Slope(found, self._with(fitted)._reluctance(comparisons, found)))

    def _estimates(self, source: Source) -> Any:
        spec = replace(self._fitted_spec(), n_threads=threads(self.n_threads))
        return halves.estimates(self.fitted, spec, source, self._effects_of(source), self._models_ties(source))

    def _check_told_apart(self, source: Source) -> None:
        """Refuse numbers that are but differences of the items' own: they cannot be told from the items' worth."""
        if source.effects:
            for name in alike(source):
                raise InputError(
                    f"the effect {name!r} is all but a difference of one number an item, which cannot be told from the "
                    "items' worth; leave it out"
                )

    def _settled(self) -> dict[str, Any]:
        bias = allowed(self.bias_reg_) if self.bias is not False else False
        return {"reg": allowed(self.reg_), "bias": bias, "exposure": self.exposure_}

    def _check_problem(self) -> None:
        one_of("loss", self.loss, LOSSES)
        check_shape(self.item_power, self.balance)
        number("user_power", self.user_power, at_least=0, at_most=2)
        if self.exposure is not None and not isinstance(self.exposure, bool):
            raise InputError(f"exposure is {self.exposure!r}; it must be True, False or None (where it says something)")
        check_bias(self.bias)
        one_of("ties", self.ties, ("model", "half"))
        threads(self.n_threads)
