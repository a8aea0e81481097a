"""What a vote carries beside the choice: effects that are taken out of the rankings, ties, and whom to trust."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import asdict
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.rows import SIDE, TIE, Pairs
from ..data.source import Source
from ..data.tables import Table
from ..data.votes import Votes
from ..errors import InputError, number
from ..native import FloatArray
from ..solving.effects import swayed
from .calibration import Calibration
from .estimates import LARGEST, Estimates, Told
from .exclusions import is_in
from .factors import FactorEstimator
from .fitted import FittedModel
from .ties import estimated, own

INTERVAL, NORMAL = 0.95, 1.959964  # that many standard errors either way
SIDES = {"left": 1.0, "first": 1.0, "right": -1.0, "second": -1.0, None: 0.0}


class Swayed(FactorEstimator):
    """A factor model of votes that may carry which item stood first, numbers, ties."""

    ties: str = "half"  # of kinds that do not say

    @property
    def trust_(self) -> FloatArray | None:
        return self.fitted.trust

    @property
    def context_effects_(self) -> Mapping[str, float]:
        return self.fitted.context_effects

    def effects(self) -> Table:
        """What swayed people beside their taste: columns effect, estimate, error, low, high.

        Estimates are in log-odds, with standard errors and 95 % intervals: by "side" the item that stood first has
        e^estimate times the odds it would have had, by a covariate so much for one unit more. They are everybody's, and
        no part of scores and rankings. "tie" is the reluctance r to decide of a typical person: of two items that they
        like equally they prefer either with probability 1 / (1 + e^r).

        They are estimated in a model of how people answer, given the items (docs/mathematics.md), not read off from the
        fit, which shrinks. The first call does so, and takes about as long as a few fits; a file holds what was found
        before ``save``. Where there are so few answers that items cannot be told from chance, estimates are smaller
        than the truth, as those of people whose tastes nobody knows.
        """
        return copy(self)._effects()

    def _effects(self) -> Table:
        told = self.fitted.told
        known = told.found = told.found or self._estimated()
        estimate, error = np.array(known.estimate), np.array(known.error)
        low, high = estimate - NORMAL * error, estimate + NORMAL * error
        for at, name in enumerate(known.names):
            if name == TIE:  # which is above 0: the interval is that of its logarithm
                far = np.exp(min(NORMAL * error[at] / max(estimate[at], 1e-12), 50.0))
                low[at], high[at] = estimate[at] / far, estimate[at] * far
        names = np.array(known.names, object)
        columns = {"effect": names, "estimate": estimate, "std_error": error, "low": low, "high": high}
        return self._table(columns, interval=INTERVAL)

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
        """Probability that each user prefers ``left`` to ``right``; where people tied, of left, a tie, and right.

        A number for every pair, or three columns for models of votes with ties (see ``ties``): the first is the
        probability of preferring ``left``, the last that of preferring ``right``. How sure it is depends on held-out
        answers, on how many items the user is known to have met and on how many of the two are new to them
        (docs/mathematics.md).

        Parameters
        ----------
        users, left, right : ids, or equally long lists of ids
        side : "left" or "right", or a list of them, optional
            Which one stands first, for models that know how much this sways people; None: neither.
        covariates : dict of numbers, or of lists of numbers, optional
            The left one's less the right one's, by name; 0 for those that are not given.
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
        """One row of numbers for each of n questions, columns as in ``context_effects_``."""
        names = [*self.context_effects_]
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
        """The comparisons as ``ties`` reads them."""
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
        known = estimated(found.slope * self._margins(pairs), pairs, comparisons.n_users)
        return np.asarray(known.own, np.float32)

    def _newcomers_reluctance(self, source: Source, U: FloatArray, items: Any) -> FloatArray | None:
        """The factors of people with these vectors, whose answers are about these items."""
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
        told = self.fitted.told.found
        known = {"sway": dict(self.context_effects_)} if self.context_effects_ else {}
        return {**super()._about(), **known, **({} if told is None else {"effects": asdict(told)})}

    def _restore(self, fitted: FittedModel, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        sway, told = about.get("sway", {}), about.get("effects")
        if not all(isinstance(x, (int, float)) and abs(x) < LARGEST for x in sway.values()):
            return False
        fitted.context_effects = {str(name): float(x) for name, x in sway.items()}
        fitted.told = Told(None if told is None else Estimates(**{name: tuple(each) for name, each in told.items()}))
        if fitted.told.found is not None and not fitted.told.found.is_sound():
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
