"""What a vote carries beside the choice: effects that are taken out of the rankings, ties, and whom to trust."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.rows import SIDE, Pairs
from ..data.source import Source
from ..data.tables import Table
from ..data.votes import Votes
from ..errors import InputError, number
from ..native import FloatArray, threads
from ..solving.effects import swayed
from ..solving.mixed import Answering, answering
from ..solving.problem import Problem
from .calibration import Calibration
from .exclusions import is_in
from .factors import FactorModel
from .state import of_one_moment
from .ties import estimated, own

NORMAL = 1.959964  # of 95 %
LARGEST = 1e30
SIDES = {"left": 1.0, "first": 1.0, "right": -1.0, "second": -1.0, None: 0.0}


@dataclass(frozen=True)
class Effects:
    """Their names, what one unit adds to a margin of scores, and in log-odds the estimates with standard errors.

    The last of the estimates is the reluctance to decide, where there were ties.
    """

    names: tuple[str, ...] = ()
    sway: tuple[float, ...] = ()
    estimate: tuple[float, ...] = ()
    error: tuple[float, ...] = ()

    def is_sound(self) -> bool:
        numbers = *self.sway, *self.estimate, *self.error
        return (
            all(isinstance(name, str) for name in self.names)
            and len(self.estimate) == len(self.error) <= len(self.names) + 1
            and len(self.sway) == len(self.names)
            and all(isinstance(x, (int, float)) and abs(x) < LARGEST for x in numbers)
        )


class Swayed(FactorModel):
    """A factor model of votes that may carry which item stood first, numbers, ties."""

    ties: str = "half"  # of kinds that do not say
    trust_: FloatArray | None = None  # how much each user counts
    _posed: Any
    effects_: Effects = Effects()

    @of_one_moment
    def effects(self) -> Table:
        """What swayed people beside their taste: columns effect, estimate, error, low, high.

        Estimates are in log-odds, with standard errors and 95 % intervals: by "side" the item that stood first has
        e^estimate times the odds it would have had, by a covariate so much for one unit more. They are everybody's, and
        no part of scores and rankings. "tie" is the reluctance r to decide of a typical person: of two items that they
        like equally they prefer either with probability 1 / (1 + e^r). They are estimated in a model of how people
        answer, given the items (docs/mathematics.md), not read off from the fit, which shrinks.
        """
        self._require_fit()
        known = self.effects_
        if not known.estimate:
            raise InputError("the comparisons had no side, no covariates and no ties: there are no effects to tell of")
        names = known.names + ("tie",) * (len(known.estimate) - len(known.names))
        estimate, error = np.array(known.estimate), np.array(known.error)
        return self._table({
            "effect": np.array(names, object), "estimate": estimate, "error": error,
            "low": estimate - NORMAL * error, "high": estimate + NORMAL * error,
        })  # fmt: skip

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
        now = self._calibrated()
        u, a, b = now._asked(users, left, right)
        z = now._surroundings(side, covariates, len(u))
        margin = now.score_codes(u, a) - now.score_codes(u, b) + z @ np.array(now.effects_.sway)
        unmet = sum(~is_in(now.seen_, u, item) for item in (a, b))
        found, met = now._slope.found, np.diff(now.seen_[0])[u]
        reluctance = 1.0 if now._slope.own is None else now._slope.own[u]
        return np.asarray(found.told(margin, met, unmet, reluctance))

    def _surroundings(self, side: Any, covariates: Any, n: int) -> Any:
        """One row of numbers for each of n questions, columns as in ``effects_``."""
        names = self.effects_.names
        z = np.zeros((n, len(names)))
        given: dict[str, Any] = {}
        if side is not None:
            sides = [side] * n if isinstance(side, str) else list(side)
            bad = [s for s in sides if s not in SIDES]
            if bad:
                raise InputError(f"side is {bad[0]!r}; it must be 'left' or 'right'")
            given[SIDE] = [SIDES[s] for s in sides]
        if covariates is not None:
            if not isinstance(covariates, Mapping):
                raise InputError(f"covariates are {covariates!r}; they must be a dict of numbers by name")
            given |= covariates
        for name, values in given.items():
            if name not in names:
                known = f"it knows {', '.join(map(repr, names))}" if names else "it knows none"
                raise InputError(f"the model knows no effect {name!r}: {known}")
            numbers = np.asarray(values, np.float64).reshape(-1)
            if len(numbers) not in (1, n):
                raise InputError(f"{name!r} has {len(numbers)} numbers; it must have one for each of the {n} pairs")
            for x in numbers.tolist():
                number(repr(name), x, at_least=-LARGEST, at_most=LARGEST)
            z[:, names.index(name)] = numbers
        return z

    # -- in a fit -------------------------------------------------------------------------------------------------

    def _models_ties(self, source: Source) -> bool:
        if self.ties != "model" or not isinstance(source, Votes):
            return False
        tied = source.pairs().tied
        return tied is not None and bool(tied.any())

    def _read(self, comparisons: Comparisons) -> Comparisons:
        """The comparisons as ``ties`` reads them."""
        if self.ties == "half" and isinstance(comparisons.source, Votes):
            return comparisons._with(comparisons.source.without_ties())
        return comparisons

    def _set_sway(self) -> None:
        """The effects in units of scores that a fit has come to."""
        posed = self._posed
        if posed is None or posed.around is None:
            self.effects_ = Effects()
        else:
            self.effects_ = Effects(posed.source.effects, _floats(posed.g / posed.around.scale))

    def _set_effects(self, source: Source) -> None:
        """The estimates that the items of a fit give."""
        if source.effects or self._models_ties(source):
            found = self._answering(source)
            estimate = found.estimate - self._items_bias(source, found)
            self.effects_ = replace(self.effects_, estimate=_floats(estimate), error=_floats(found.error))

    def _items_bias(self, source: Source, found: Answering) -> Any:
        """By how much estimates are off because items, taken as given, were fitted to the same answers."""
        return 0.0

    def _sway_of(self, source: Source) -> Any:
        """What the model knows of a source's effects, in units of scores: 0 where it knows nothing."""
        known = dict(zip(self.effects_.names, self.effects_.sway, strict=True))
        return np.array([known.get(name, 0.0) for name in source.effects])

    def _sways(self, problem: Problem, source: Source) -> None:
        """Set a problem's effects to what the model knows of its source's."""
        if problem.around is not None:
            problem.set_effects(self._sway_of(source) * problem.around.scale)

    def _answering(self, source: Source) -> Answering:
        n_threads, sway = threads(self.n_threads), self.effects_.sway
        return answering(source, self.U_, self.V_, self.rank_, n_threads, sway, self.trust_ is not None)

    def _margins(self, pairs: Pairs) -> Any:
        own = super()._margins(pairs)  # kinds that know nothing of effects have no more
        return own + swayed(pairs, np.array(self.effects_.sway)) if self.effects_.sway else own

    def _reluctance(self, comparisons: Comparisons, found: Calibration) -> FloatArray | None:
        if not found.tie or self.__dict__.get("_are_newcomers"):
            return None
        pairs = comparisons.source.pairs()
        known = estimated(found.slope * self._margins(pairs), pairs, comparisons.n_users)
        return np.asarray(known.own, np.float32)

    def _newcomers_reluctance(self, source: Source, U: FloatArray, items: Any) -> FloatArray | None:
        """The factors of people with these vectors, whose answers are about these items."""
        found = self._slope.found
        if found is None or not found.tie or not isinstance(source, Votes):
            return None
        pairs, V = source.pairs(), self.V_[items]
        margins = np.einsum("tr,tr->t", U[pairs.user], V[pairs.winner] - V[pairs.loser])
        x = found.slope * (margins + swayed(pairs, self._sway_of(source)))
        return np.asarray(own(x, pairs, source.n_users, found.tie, found.spread), np.float32)

    # -- files ----------------------------------------------------------------------------------------------------

    def _tensors(self) -> dict[str, Any]:
        known = {"reluctance": self._slope.own, "trust": self.trust_}
        return super()._tensors() | {name: each for name, each in known.items() if each is not None}

    def _about(self) -> dict[str, Any]:
        known = self.effects_
        if not known.names and not known.estimate:
            return super()._about()
        return {**super()._about(), "effects": {name: list(getattr(known, name)) for name in known.__annotations__}}

    def _restore(self, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        self.effects_ = Effects(**{name: tuple(values) for name, values in about.get("effects", {}).items()})
        for name in ("reluctance", "trust"):
            each = tensors.get(name)
            if each is not None:
                if each.dtype != np.float32 or each.shape != (len(self.users_),) or not _positive(each):
                    return False
                if name == "trust":
                    self.trust_ = each
                else:
                    self._slope.own = each
        return super()._restore(tensors, about) and self.effects_.is_sound()


def _positive(values: Any) -> bool:
    return bool(((values > 0) & (values < LARGEST)).all())


def _floats(values: Any) -> tuple[float, ...]:
    return tuple(map(float, values))
