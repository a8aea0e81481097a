"""Factor models with posteriors: users' vectors are normal around what the fit found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.embedded import Embedded
from ..data.ids import Codes
from ..data.source import Source
from ..data.tables import Table
from ..errors import InputError
from ..native import threads
from . import places
from .belief import Belief, Items, between
from .crowd import Answers, Crowd, TastePrior, found, spread
from .everyone import moved
from .fitted import FittedModel
from .posteriors import Posteriors
from .scorers import Factors
from .swayed import Swayed

NO_COMPARISONS = "the ranges of {what} follow from the comparisons, and this model was read from a file without them"


class Sure(Swayed, Posteriors):
    """Add posteriors of users' tastes to a factor model."""

    def _has_tastes(self) -> bool:
        return self.rank_ > 0

    def _everyones_draws(self) -> Any:
        fitted = self.fitted
        if fitted.parent is not None:
            raise InputError("this is a model of newcomers to another; ask that one for everybody's ranking")
        if fitted.training is None:
            raise InputError(NO_COMPARISONS.format(what="everybody's ranking"), remedy="save with, or fold in")
        t = self._prior_variance(fitted.training)  # of scores that are log-odds already
        slope = 1.0
        if t is None:
            found = self._calibrated().fitted.slope.found
            assert found is not None
            slope = found.slope
        rng = np.random.default_rng(self.seed % 2**63)
        n = places.n_draws(len(self.items_))
        return moved(fitted.training.source, self.average_scores(), slope, n, rng, fitted.trust, t)

    def _prior_variance(self, comparisons: Comparisons) -> float | None:
        """Return the prior variance of everybody's scores where these are log-odds; None where they have a slope."""
        return None

    def _probability_interval(
        self, users: Any, left: Any, right: Any, interval: float, side: Any, covariates: Any
    ) -> Table:
        u, a, b = self._asked(users, left, right)
        mean, variance = np.empty(len(u)), np.empty(len(u))
        order = np.argsort(u, kind="stable")
        asked, first = np.unique(u[order], return_index=True)
        for belief, rows in zip(self._beliefs(asked), np.split(order, first[1:]), strict=True):
            mean[rows], variance[rows] = belief.margins(a[rows], b[rows])
        columns = between(mean + self._swayed_by(side, covariates, len(u)), variance, interval)
        return self._table(columns, interval=float(interval))

    def _swayed_by(self, side: Any, covariates: Any, n: int) -> Any:
        """Return the effect of the context of n questions, in log-odds."""
        return self._crowd().sureness[0].bias * (
            self._surroundings(side, covariates, n) @ np.array([*self.context_effects_.values()])
        )

    # -- people -------------------------------------------------------------------------------------------------

    def _worth_to_all(self, among: Codes) -> Any:
        return self._items_met(newcomer=self.fitted.said is not None).offset[among][None]

    def _met_counts(self) -> Any:
        return self._crowd().count

    def _belief(self, u: int) -> Belief:
        """Return the posterior of a user."""
        return next(self._beliefs(np.array([u])))

    def _beliefs(self, users: Codes) -> Iterator[Belief]:
        """Yield the posteriors of some users."""
        self._crowd()
        fitted = self.fitted
        newcomers, sure = fitted.said is not None, fitted.taste_prior
        if fitted.said is not None:
            source, items, known = fitted.said
            if source is None:
                of_things()
        elif fitted.training is not None:
            source, items, known = fitted.training.source, None, None
        else:
            raise InputError(NO_COMPARISONS.format(what="a user"), remedy="save with, or fold in")
        if sure.expected is None:
            sure.expected = self._expected_of(source, items, known), self._is_beside(source, items, known)
        expected, beside = sure.expected
        answers = Answers(source, users, np.random.default_rng(self.seed % 2**63), self._effects_of(source))
        for u in users:
            told = self._told_by(answers.of(u), items, u)
            yield self._believed(None if expected is None else expected[u], told, bool(beside[u]), newcomers)

    def _told_by(self, answers: Any, items: Codes | None, u: int | None) -> Any:
        """Return answers in the model's codes, weighted by trust."""
        winner, loser, count, swayed = answers
        if items is not None:
            winner, loser = items[winner], items[loser]
        trust = self.fitted.trust
        if u is not None and trust is not None:
            count = count * float(trust[u])
        return winner, loser, count, swayed

    def _expected_of(self, source: Source, items: Codes | None = None, known: Any = None) -> Any:
        """The vectors expected of the users of a source, from what they met and what is known of them; None: none."""
        described = self.fitted.known.users
        if known is None and items is None and self.fitted.said is None and described is not None:
            known = described.rows[:, : described.encoder.width]
        everything = np.arange(len(self.items_), dtype=np.int32) if items is None else items
        mean = self._newcomers_means(source, everything, threads(self.n_threads), known)
        return None if mean is None else mean[:, : self.rank_].astype(np.float64)

    def _is_beside(self, source: Source, items: Codes | None, known: Any) -> Any:
        """Return for which users the model has prior means: those with chosen items and features."""
        fitted = self.fitted
        described = known is not None or (items is None and fitted.known.users is not None)
        if fitted.user_features is not None and not described:
            return np.zeros(source.n_users, bool)
        if fitted.prior is None and fitted.parent is not None and fitted.parent.prior is not None:
            return np.zeros(source.n_users, bool)  # of people who were asked
        return np.diff(source.store.start) > 0

    def _newcomers_means(self, source: Source, items: Codes, n_threads: int, known: Any) -> Any:
        """Return the prior means of the vectors of new users."""
        return None

    def _believed(
        self, expected: Any = None, answers: Any = None, beside: bool = False, newcomer: bool = True
    ) -> Belief:
        """Return the posterior of a person with this prior mean and these answers."""
        return Belief(self._items_met(beside, newcomer), expected, answers)

    def _items_met(self, beside: bool = False, newcomer: bool = True) -> Items:
        crowd, made, kind = self._crowd(), self.fitted.taste_prior.items, (beside, newcomer)
        if kind not in made:
            made[kind] = Items.of(self._factors, crowd, beside, newcomer)
        found: Items = made[kind]
        return found

    def _crowd(self) -> Crowd:
        """Return the prior of people's tastes."""
        fitted = self.fitted
        sure = fitted.taste_prior
        if sure.crowd is not None:
            return sure.crowd
        if fitted.parent is not None:
            sure.crowd = self._with(fitted.parent)._crowd()
            return sure.crowd
        comparisons = fitted.training
        if comparisons is None:
            raise InputError(
                "this model was saved without the scales of its posterior, and finding them needs the comparisons "
                "that it was fitted to",
                remedy="save with",
            )
        if isinstance(comparisons.source, Embedded):
            of_things()
        known = sure.sureness
        if known is None:
            known = found(self._calibrated(), comparisons)
        sure.sureness = known
        sure.crowd = spread(self, known, comparisons.source)
        return sure.crowd

    # -- files --------------------------------------------------------------------------------------------------

    def _kept_crowd(self) -> Crowd | None:
        """Return the prior that a file would hold; None if it was not estimated."""
        fitted = self.fitted
        known = (fitted.parent or fitted).taste_prior
        return fitted.taste_prior.crowd if known.sureness is None and known.crowd is None else self._crowd()

    def _tensors(self) -> dict[str, Any]:
        crowd = self._kept_crowd()
        return super()._tensors() | ({} if crowd is None else crowd.tensors())

    def _about(self) -> dict[str, Any]:
        crowd = self._kept_crowd()
        return {**super()._about(), **({} if crowd is None else {"sureness": [asdict(one) for one in crowd.sureness]})}

    def _restore(self, fitted: FittedModel, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        if not super()._restore(fitted, tensors, about):
            return False
        if "sureness" in about:
            assert isinstance(fitted.scorer, Factors)
            crowd = Crowd.restored(tensors, about["sureness"], fitted.scorer.rank, len(fitted.items))
            fitted.taste_prior = TastePrior(crowd.sureness, crowd)
        return True


def of_things() -> Any:
    raise InputError("intervals are of items that people meet again; of things that occur once there are none")


def with_more_items(sure: TastePrior, spread_out: Any) -> TastePrior:
    """Return the prior with more items, which nobody has met yet."""
    if sure.crowd is None:
        return TastePrior(sure.sureness)
    return TastePrior(sure.sureness, replace(sure.crowd, count=spread_out(sure.crowd.count[:, None])[:, 0]))
