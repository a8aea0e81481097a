"""The base class of AltSVM and Convex: the parameters they share, and the problem that these define."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from typing import Any

from ..data.comparisons import Comparisons
from ..data.described import OFF
from ..data.source import Source, plural
from ..errors import InputError
from ..native import threads
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
from .parameters import allowed
from .posed import Posed
from .summary import unconverged


class LowRank(Certified, FoldInModel):
    """Hold the parameters that AltSVM and Convex share, and the problem they define."""

    reg: float | str | None
    loss: str
    bias: bool | float
    item_power: float
    user_power: float
    balance: float | None
    exposure: bool | None
    ties: str
    UNKNOWN_ITEM = "add item"

    def _facts(self) -> list[str]:
        fitted = self.fitted
        exposure = ["with exposure (which items users met)"] if fitted.prior is not None else []
        trust = ["users weighted by trust"] if fitted.trust is not None else []
        features = []
        for role, learned in fitted.features.items():
            used = sum(strength != OFF for strength in learned.strengths)
            features.append(f"{used} of {plural(len(learned.strengths), 'block')} of {role} features used")
        return [*exposure, *trust, *features, *unconverged(fitted)]

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
        """Accept features: these models learn from them."""

    def add_items(self, new: Any, features: Any = None) -> Any:
        """Add new items to the fitted model, without changing anything else.

        The vectors of the new items follow from their features, or from comparisons by users of the model, or from
        both. Use :meth:`update` to learn from all comparisons and to add new users.

        Parameters
        ----------
        new : table or Comparisons
            Features of items that nobody compared yet, as ``item_features`` of :meth:`fit`. Or comparisons of new items
            with any others, by users of the model.
        features : table, optional
            Features of the items in the comparisons. Items that are only described here are added too.

        Returns
        -------
        Estimator
            The model itself.

        Raises
        ------
        InputError
            If none of the items is new, or a user is not in the model.

        See Also
        --------
        AltSVM.update : Add newer comparisons, users and items.
        AltSVM.fold_in : Add a new user.

        Examples
        --------
        >>> import rather
        >>> votes = {"user": ["ann", "bob", "cat"], "winner": ["A", "A", "B"], "loser": ["B", "C", "C"]}
        >>> model = rather.AltSVM(rank=1).fit(rather.Comparisons.from_frame(votes))
        >>> new = rather.Comparisons.from_frame({"user": ["ann"], "winner": ["D"], "loser": ["A"]})
        >>> model.add_items(new).items_.tolist()
        ['A', 'B', 'C', 'D']
        """
        self._fitted = with_items(copy(self), new, features)
        return self

    def _posed_again(self) -> Posed | None:
        """Return the problem of a model from a file; None without its comparisons, or for a model of newcomers."""
        fitted = self.fitted
        if fitted.training is None or fitted.parent is not None:
            return None
        assert fitted.loss is not None and fitted.reg is not None and fitted.bias_reg is not None
        spec, source = self._fitted_spec(), fitted.training.source
        lam = fitted.params.get("lam")  # Convex alone has it
        exposed = None if fitted.prior is None else restored(source, fitted.prior[0], spec.n_threads)
        delta = ROUND_BY_ROUND[-1] if fitted.loss == "hinge" else 0.0
        radius = None if lam is None else math.sqrt(lam * source.n_users * source.n_items)
        scaled, _ = spec.scales(source)
        around = Around.of(source)
        return Posed(
            source, fitted.loss, spec.bias is not False, scaled, fitted.reg, fitted.bias_reg, delta, exposed, radius,
            fitted.known, around, () if around is None else self._effects_of(source) * around.scale,
        )  # fmt: skip

    def _with_calibration(
        self, fitted: FittedModel, comparisons: Comparisons, found: Calibration | None
    ) -> FittedModel:
        """Return the last model of a fit with the calibration that held-out answers gave it.

        A fit that did not converge gets no calibration.
        """
        if found is None or not fitted.converged:
            return fitted
        return replace(fitted, slope=Slope(found, self._with(fitted)._reluctance(comparisons, found)))

    def _estimates(self, source: Source) -> Any:
        """Return the names of the effects, their estimates in log-odds and the standard errors."""
        spec = replace(self._fitted_spec(), n_threads=threads(self.n_threads))
        return halves.estimates(self.fitted, spec, source, self._effects_of(source), self._models_ties(source))

    def _check_identifiable(self, source: Source) -> None:
        """Refuse an effect that nearly is a difference of two numbers of the items.

        Such an effect cannot be told from the items' worth.
        """
        if source.effects:
            for name in alike(source):
                raise InputError(
                    f"the effect {name!r} is all but a difference of one number an item, which cannot be told from the "
                    "items' worth; leave it out"
                )

    def _settled(self) -> dict[str, Any]:
        bias = False if self.bias is False else allowed(self.bias_reg_)
        return {"reg": allowed(self.reg_), "bias": bias, "exposure": self.exposure_}
