"""The base class of models with effects of context, such as position bias, with ties, and with trust."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import asdict
from typing import Any

import numpy as np
import scipy

from ..data.comparisons import Comparisons
from ..data.rows import SIDE, TIE, Pairs
from ..data.source import Source
from ..data.tables import Table
from ..data.votes import Votes
from ..errors import InputError, number
from ..native import FloatArray
from ..solving.effects import swayed
from .calibration import Calibration
from .estimates import LARGEST, EffectEstimates, Estimates
from .exclusions import is_in
from .factors import FactorEstimator
from .fitted import FittedModel
from .ties import estimated, own

SIDES = {"left": 1.0, "first": 1.0, "right": -1.0, "second": -1.0, None: 0.0}


class Swayed(FactorEstimator):
    """Add position bias, covariate effects and ties to a factor model of votes."""

    ties: str = "half"  # of kinds that do not say

    @property
    def trust_(self) -> FloatArray | None:
        """Weight of each user in the fit; None without ``trust``."""
        return self.fitted.trust

    @property
    def context_effects_(self) -> Mapping[str, float]:
        """Return what one unit of each effect adds to a margin of scores."""
        return self.fitted.context_effects

    def effects(self, interval: float = 0.9) -> Table:
        """Estimate position bias, covariate effects and ties, with standard errors.

        Effects are shared by all users and are no part of scores and rankings. The first call takes as long as a few
        fits; :meth:`save` stores what it finds.

        Parameters
        ----------
        interval : float, default 0.9
            Probability with which each effect is from low to high.

        Returns
        -------
        Table
            Columns effect, estimate, std_error, low, high: estimates in log-odds, with intervals. The effect "side"
            is the advantage of the item that stands first: its odds of winning are multiplied by exp(estimate). A
            covariate's estimate is for one unit more. "tie" is the typical user's reluctance to decide.

        Raises
        ------
        InputError
            If the votes had no side, covariates or ties, or the model was loaded without its comparisons.

        See Also
        --------
        Comparisons.from_arena : Read a log with sides and ties.
        AltSVM.probability : Predict for a given side and covariates.

        Notes
        -----
        With reluctance :math:`r`, a user who likes two items equally prefers either with probability :math:`1 / (1 +
        e^r)` and ties otherwise. Effects are estimated in a separate model of the answers given the items, without the
        shrinkage of the fit. With very few answers the estimates are too small. The page "Uncertainty" of the site has
        the formulas.

        Examples
        --------
        >>> import rather
        >>> world = rather.simulate(n_users=100, n_items=20, rank=2, per_user=60, side=0.5)
        >>> row = rather.AltSVM(rank=2).fit(world.comparisons).effects()[0]
        >>> row.effect, row.low < 0.5 < row.high
        ('side', True)
        """
        number("interval", interval, above=0.0, below=1.0)
        return copy(self)._effects(interval)

    def _effects(self, interval: float) -> Table:
        errors = float(scipy.special.ndtri(0.5 + interval / 2))  # that many standard errors either way
        told = self.fitted.effect_estimates
        known = told.found = told.found or self._estimated()
        estimate, error = np.array(known.estimate), np.array(known.error)
        low, high = estimate - errors * error, estimate + errors * error
        for at, name in enumerate(known.names):
            if name == TIE:  # which is above 0: the interval is that of its logarithm
                far = np.exp(min(errors * error[at] / max(estimate[at], 1e-12), 50.0))
                low[at], high[at] = estimate[at] / far, estimate[at] * far
        names = np.array(known.names, object)
        columns = {"effect": names, "estimate": estimate, "std_error": error, "low": low, "high": high}
        return self._table(columns, interval=float(interval))

    def _estimated(self) -> Estimates:
        if type(self)._estimates is Swayed._estimates:
            raise InputError(f"{type(self).__name__} does not know of side, covariates and ties; fit AltSVM or Convex")
        fitted = self.fitted
        source = None if fitted.training is None else fitted.training.source
        ties = fitted.slope.found is not None and fitted.slope.found.tie > 0
        if not (fitted.context_effects or ties or (source is not None and self._models_ties(source))):
            raise InputError("the comparisons had no side, no covariates and no ties: there are no effects to tell of")
        if source is None or fitted.parent is not None:
            raise InputError(
                "estimating effects needs the comparisons that the model was fitted to: this one was read from a file "
                "without them, or is of newcomers; call effects() of the fitted model, and save it then"
            )
        names, estimate, error = self._estimates(source)
        return Estimates(names, tuple(map(float, estimate)), tuple(map(float, error)))

    def _estimates(self, source: Source) -> Any:
        """(names, estimates, errors) of a source that the model was fitted to."""
        raise NotImplementedError

    def probability(self, users: Any, left: Any, right: Any, side: Any = None, covariates: Any = None) -> FloatArray:
        """Predict which of two items a user prefers, or how likely a tie is.

        Probabilities are calibrated on held-out comparisons; the first call does this if the fit did not. Use
        :meth:`probability_interval` to add intervals.

        Parameters
        ----------
        users : id or list of id
            One user, or one for each pair.
        left : id or list of id
            The first item of each pair.
        right : id or list of id
            The second item of each pair.
        side : {"left", "right"} or list of these, optional
            Which item stands first, for models that estimated position bias. Default: neither.
        covariates : dict of float, or dict of list of float, optional
            The left item's value minus the right item's value, by name. Default: 0.

        Returns
        -------
        array of float
            Probability that the user prefers the left item, for each pair. For models of votes with ties, an array with
            three columns: left, tie, right.

        Raises
        ------
        InputError
            If a user or an item is not in the model, or the model does not know a covariate.

        See Also
        --------
        AltSVM.probability_interval : Add an interval to each probability.
        Estimator.calibrate : Calibrate probabilities before saving.
        AltSVM.effects : Estimate position bias, covariate effects and ties.

        Notes
        -----
        The probability depends on the difference of the scores, on how many items the user has seen in training, and on
        how many of the two items the user has not seen. The page "Uncertainty" of the site has the formula.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=40, n_items=10, rank=2, per_user=20).comparisons)
        >>> p, q = model.probability("user 7", ["item 1", "item 2"], ["item 2", "item 1"])
        >>> round(float(p + q), 3)
        1.0
        """
        return self._calibrated()._probability_given(users, left, right, side, covariates)

    def _probability_given(self, users: Any, left: Any, right: Any, side: Any, covariates: Any) -> FloatArray:
        u, a, b = self._asked(users, left, right)
        z, fitted = self._surroundings(side, covariates, len(u)), self.fitted
        margin = self._scores(u, a) - self._scores(u, b) + z @ np.array([*fitted.context_effects.values()])
        unmet = sum(~is_in(fitted.seen, u, item) for item in (a, b))
        found, met = fitted.slope.found, np.diff(fitted.seen[0])[u]
        reluctance = 1.0 if fitted.slope.own is None else fitted.slope.own[u]
        assert found is not None
        return np.asarray(found.told(margin, met, unmet, reluctance))

    def _surroundings(self, side: Any, covariates: Any, n: int) -> Any:
        return surroundings([*self.context_effects_], side, covariates, n)

    # -- in a fit -------------------------------------------------------------------------------------------------

    def _models_ties(self, source: Source) -> bool:
        if self.ties != "model" or not isinstance(source, Votes):
            return False
        tied = source.pairs().tied
        return tied is not None and bool(tied.any())

    def _knows_ties(self) -> bool:
        """Whether the model has ties as outcomes, or will have once it is calibrated."""
        fitted = self.fitted
        if fitted.slope.found is not None:
            return fitted.slope.found.tie > 0
        return fitted.training is not None and self._models_ties(fitted.training.source)

    def _read(self, comparisons: Comparisons) -> Comparisons:
        """Return the comparisons in the form that ``ties`` reads."""
        source = comparisons.source
        if self.ties == "half" and isinstance(source, Votes) and source.pairs().tied is not None:
            return comparisons._with(source.without_ties())
        return comparisons

    def _effects_of(self, source: Source) -> Any:
        """Return the model's effects of a source's names, in units of scores: 0 where it knows nothing."""
        known = self.context_effects_
        return np.array([known.get(name, 0.0) for name in source.effects])

    def _margins(self, pairs: Pairs) -> Any:
        own = super()._margins(pairs)  # kinds that know nothing of effects have no more
        return own + swayed(pairs, np.array([*self.context_effects_.values()])) if self.context_effects_ else own

    def _reluctance(self, comparisons: Comparisons, found: Calibration) -> FloatArray | None:
        if not found.tie or self.fitted.parent is not None:
            return None
        pairs = comparisons.source.pairs()
        # By name: a file has the effects in alphabetical order.
        margins = super()._margins(pairs) + swayed(pairs, self._effects_of(comparisons.source))
        known = estimated(found.slope * margins, pairs, comparisons.n_users)
        return np.asarray(known.own, np.float32)

    def _newcomers_reluctance(self, source: Source, U: FloatArray, items: Any) -> FloatArray | None:
        """Return the reluctance factors of new users with these vectors, given answers about these items."""
        found = self.fitted.slope.found
        if found is None or not found.tie or not isinstance(source, Votes):
            return None
        pairs, V = source.pairs(), self._factors.V[items]
        margins = np.einsum("tr,tr->t", U[pairs.user], V[pairs.winner] - V[pairs.loser])
        x = found.slope * (margins + swayed(pairs, self._effects_of(source)))
        return np.asarray(own(x, pairs, source.n_users, found.tie, found.spread), np.float32)

    # -- files ----------------------------------------------------------------------------------------------------

    def _tensors(self) -> dict[str, Any]:
        known = {"reluctance": self.fitted.slope.own, "trust": self.fitted.trust}
        return super()._tensors() | {name: each for name, each in known.items() if each is not None}

    def _about(self) -> dict[str, Any]:
        told = self.fitted.effect_estimates.found
        known = {"sway": dict(self.context_effects_)} if self.context_effects_ else {}
        return {**super()._about(), **known, **({} if told is None else {"effects": asdict(told)})}

    def _restore(self, fitted: FittedModel, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        sway, told = about.get("sway", {}), about.get("effects")
        if not all(isinstance(x, (int, float)) and abs(x) < LARGEST for x in sway.values()):
            return False
        fitted.context_effects = {str(name): float(x) for name, x in sway.items()}
        estimates = None if told is None else Estimates(**{name: tuple(each) for name, each in told.items()})
        fitted.effect_estimates = EffectEstimates(estimates)
        if estimates is not None and not estimates.is_sound():
            return False
        for name in ("reluctance", "trust"):
            each = tensors.get(name)
            if each is not None:
                if each.dtype != np.float32 or each.shape != (len(fitted.users),) or not _positive(each):
                    return False
                if name == "trust":
                    fitted.trust = each
                else:
                    fitted.slope.own = each
        return super()._restore(fitted, tensors, about)


def _positive(values: Any) -> bool:
    return bool(((values > 0) & (values < LARGEST)).all())


def surroundings(names: list[str], side: Any, covariates: Any, n: int) -> Any:
    """Return a row of numbers for each of n questions, with a column for each of these effects."""
    z = np.zeros((n, len(names)))
    given: dict[str, Any] = {}
    if side is not None:
        sides = [side] * n if isinstance(side, str) or not isinstance(side, Iterable) else list(side)
        bad = [s for s in sides if not (s is None or (isinstance(s, str) and s in SIDES))]
        if bad:
            raise InputError(f"side is {bad[0]!r}; it must be 'left' or 'right', or a list of them")
        given[SIDE] = [SIDES[s] for s in sides]
    if covariates is not None:
        if not isinstance(covariates, Mapping):
            raise InputError(f"covariates are {covariates!r}; they must be a dict of numbers by name")
        given |= covariates
    for name, values in given.items():
        if name not in names:
            known = f"it knows {', '.join(map(repr, names))}" if names else "it knows none"
            raise InputError(f"the model knows no effect {name!r}: {known}")
        every = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]
        if len(every) not in (1, n):
            raise InputError(f"{name!r} has {len(every)} numbers; it must have one for each of the {n} pairs")
        for x in every:
            number(repr(name), x, at_least=-LARGEST, at_most=LARGEST)
        z[:, names.index(name)] = every
    return z
