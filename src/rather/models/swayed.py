"""What a vote carries beside the choice: effects that are taken out of the rankings, ties, and whom to trust."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
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
from ..solving.problem import Problem
from .calibration import Calibration
from .exclusions import is_in
from .factors import FactorEstimator
from .state import of_one_moment
from .ties import estimated, own

INTERVAL, NORMAL = 0.95, 1.959964  # that many standard errors either way
LARGEST = 1e30
SIDES = {"left": 1.0, "first": 1.0, "right": -1.0, "second": -1.0, None: 0.0}


@dataclass(frozen=True)
class Estimates:
    """Of effects, in log-odds, with standard errors; the last is the reluctance to decide where there were ties."""

    names: tuple[str, ...] = ()
    estimate: tuple[float, ...] = ()
    error: tuple[float, ...] = ()

    def is_sound(self) -> bool:
        return (
            len(set(self.names)) == len(self.names) == len(self.estimate) == len(self.error)
            and all(isinstance(name, str) for name in self.names)
            and all(isinstance(x, (int, float)) and abs(x) < LARGEST for x in (*self.estimate, *self.error))
            and all(x >= 0 for x in self.error)
        )


@dataclass
class Told:
    """The estimates of one fitted state, once they are found; shared by all that answer from that state."""

    found: Estimates | None = None


class Swayed(FactorEstimator):
    """A factor model of votes that may carry which item stood first, numbers, ties."""

    ties: str = "half"  # of kinds that do not say
    trust_: FloatArray | None = None  # how much each user counts
    context_effects_: Mapping[str, float] = MappingProxyType(
        {}
    )  # what one unit of each effect adds to a margin of scores
    _told = Told()  # of factors that were set by hand: there is nothing to find
    _posed: Any

    @of_one_moment
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
        self._require_fit()
        known = self._told.found or self._estimated()
        if "_told" in self.__dict__:
            self._told.found = known
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
        source = None if self._fitted_to is None else self._fitted_to.source
        ties = self._slope.found is not None and self._slope.found.tie > 0
        if not (self.context_effects_ or ties or (source is not None and self._models_ties(source))):
            raise InputError("the comparisons had no side, no covariates and no ties: there are no effects to tell of")
        if source is None or self.__dict__.get("_are_newcomers"):
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
        now = self._calibrated()
        u, a, b = now._asked(users, left, right)
        z = now._surroundings(side, covariates, len(u))
        margin = now.score_codes(u, a) - now.score_codes(u, b) + z @ np.array([*now.context_effects_.values()])
        unmet = sum(~is_in(now.seen_, u, item) for item in (a, b))
        found, met = now._slope.found, np.diff(now.seen_[0])[u]
        reluctance = 1.0 if now._slope.own is None else now._slope.own[u]
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
        found = self._slope.found
        if found is not None:
            return found.tie > 0
        return self._fitted_to is not None and self._models_ties(self._fitted_to.source)

    def _read(self, comparisons: Comparisons) -> Comparisons:
        """The comparisons as ``ties`` reads them."""
        source = comparisons.source
        if self.ties == "half" and isinstance(source, Votes) and source.pairs().tied is not None:
            return comparisons._with(source.without_ties())
        return comparisons

    def _set_sway(self) -> None:
        """The effects in units of scores that a fit has come to."""
        posed = self._posed
        if posed is None or posed.around is None:
            self.context_effects_ = {}
        else:
            values = map(float, posed.g / posed.around.scale)
            self.context_effects_ = dict(zip(posed.source.effects, values, strict=True))

    def _set_data(self, comparisons: Comparisons) -> None:
        super()._set_data(comparisons)
        self._told = Told()

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "_told": Told()}

    def _sway_of(self, source: Source) -> Any:
        """What the model knows of a source's effects, in units of scores: 0 where it knows nothing."""
        return np.array([self.context_effects_.get(name, 0.0) for name in source.effects])

    def _sways(self, problem: Problem, source: Source) -> None:
        """Set a problem's effects to what the model knows of its source's."""
        if problem.around is not None:
            problem.set_effects(self._sway_of(source) * problem.around.scale)

    def _margins(self, pairs: Pairs) -> Any:
        own = super()._margins(pairs)  # kinds that know nothing of effects have no more
        return own + swayed(pairs, np.array([*self.context_effects_.values()])) if self.context_effects_ else own

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
        told = self._told.found
        known = {"sway": dict(self.context_effects_)} if self.context_effects_ else {}
        return {**super()._about(), **known, **({} if told is None else {"effects": asdict(told)})}

    def _restore(self, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        sway, told = about.get("sway", {}), about.get("effects")
        if not all(isinstance(x, (int, float)) and abs(x) < LARGEST for x in sway.values()):
            return False
        self.context_effects_ = {str(name): float(x) for name, x in sway.items()}
        self._told = Told(None if told is None else Estimates(**{name: tuple(each) for name, each in told.items()}))
        if self._told.found is not None and not self._told.found.is_sound():
            return False
        for name in ("reluctance", "trust"):
            each = tensors.get(name)
            if each is not None:
                if each.dtype != np.float32 or each.shape != (len(self.users_),) or not _positive(each):
                    return False
                if name == "trust":
                    self.trust_ = each
                else:
                    self._slope.own = each
        return super()._restore(tensors, about)


def _positive(values: Any) -> bool:
    return bool(((values > 0) & (values < LARGEST)).all())
