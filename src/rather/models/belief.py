"""The posterior of one person: the distribution of the worth of items, given the person's answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..logistic import sigmoid
from ..solving.variational import MOST_ROUNDS, Normal, averaged, nothing_said
from .crowd import Asked, Crowd, root
from .scorers import Factors

LEAST = 1e-3  # of what stays uncertain when an answer is taken out again


@dataclass(frozen=True)
class Items:
    """Items as people's tastes meet them.

    Rows ``Z`` of directions in which people differ by 1, ``offset``: what is worth to all, ``noise``: the variance of
    own likings, ``V``: rows that an expected vector meets, ``sway``: log-odds of a unit of what surrounds answers.
    """

    Z: Any
    offset: Any
    noise: Any
    V: Any
    sway: float

    @classmethod
    def of(cls, factors: Factors, crowd: Crowd, beside: bool, newcomer: bool) -> Items:
        """``beside``: where something is expected of people (see ``Crowd``); ``newcomer``: to whom items were not
        fitted."""
        s = crowd.sureness[newcomer]
        V = s.taste * factors.item_factors.astype(np.float64)
        mean, covariance = (crowd.beside_mean, crowd.beside) if beside else (crowd.mean, crowd.covariance)
        offset = s.bias * factors.item_bias.astype(np.float64) + V @ mean
        return cls(V @ root(covariance), offset, crowd.noise(newcomer), V, s.bias)


class Posterior:
    """The worth of every item to one person, in log-odds: what intervals and questions are computed from."""

    asked: Asked  # the answers that it is given

    @property
    def n_items(self) -> int:
        """The number of items."""
        raise NotImplementedError

    @property
    def taste(self) -> float:
        """Return how far tastes can move items, in squares of log-odds: 0 where all people are alike."""
        raise NotImplementedError

    def expected(self, items: Any) -> Any:
        """Return the mean worth of items."""
        raise NotImplementedError

    def variances(self, items: Any) -> Any:
        """Return the variance of the worth of items."""
        raise NotImplementedError

    def covariances(self, left: Any, right: Any) -> Any:
        """Return the covariances of the worth of items with that of others."""
        raise NotImplementedError

    def worth(self, items: Any) -> tuple[Any, Any, Any]:
        """Return the mean and the covariance of the worth of items, and as much of the latter as tastes explain."""
        raise NotImplementedError

    def draws(self, n: int, items: Any, rng: np.random.Generator) -> Any:
        """Return n rows of what items may be worth."""
        raise NotImplementedError


class Belief(Posterior):
    """The worth L_ij of every item j to a person i, in log-odds, as ``crowd`` has it: jointly normal.

    A row of an item is what its worth is linear in: directions of taste, and the own likings of the items that the
    person was asked about; that of any other is independent of all else, and ``fresh`` is its variance.
    """

    def __init__(
        self,
        items: Items,
        expected: Any = None,
        answers: Any = None,
        earlier: Belief | None = None,
        rounds: int = MOST_ROUNDS,
    ) -> None:
        """``expected`` is the vector that is expected of the person, None where nothing is; ``answers`` are (winner,
        loser, count, swayed), in codes; ``earlier`` is what the first of them said, where a search of so many rounds
        may begin."""
        self.Z, self.noise = items.Z, items.noise
        self.offset = items.offset if expected is None else items.offset + items.V @ expected
        nobody = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0), np.empty(0)
        winner, loser, count, swayed = nobody if answers is None else answers
        self.count: Any = count
        self.asked, self.swayed = Asked(winner, loser), items.sway * swayed
        begin = None if earlier is None else earlier.known.of_answers
        self.known: Normal = (
            self.asked.said(self.Z, self.noise, self.offset, self.count, self.swayed, begin, rounds)
            if len(winner)
            else nothing_said(self.Z.shape[1])
        )

    def rows(self, items: Any) -> Any:
        return self.asked.rows(self.Z, self.noise, items)

    def fresh(self, items: Any) -> Any:
        return np.where(self.asked.places(items) < 0, self.noise[items], 0.0)

    def expected(self, items: Any) -> Any:
        return self.offset[items] + self.rows(items) @ self.known.mean

    @property
    def n_items(self) -> int:
        return len(self.offset)

    @property
    def taste(self) -> float:
        return float(np.square(self.Z).sum())

    def variances(self, items: Any) -> Any:
        return self.known.variances(self.rows(items)) + self.fresh(items)

    def covariances(self, left: Any, right: Any) -> Any:
        across = self.known.covariances(self.rows(left), self.rows(right))
        return across + (left[:, None] == right) * self.fresh(right)

    def worth(self, items: Any) -> tuple[Any, Any, Any]:
        rows, q = self.rows(items), self.Z.shape[1]
        C = self.known.covariances(rows, rows)
        C[np.diag_indices(len(items))] += self.fresh(items)
        taste = np.eye(q, rows.shape[1])
        across = self.known.covariances(rows, taste)
        return self.expected(items), C, across @ np.linalg.solve(self.known.covariances(taste, taste), across.T)

    def margins(self, left: Any, right: Any) -> tuple[Any, Any]:
        """The mean and the variance of how much more the left ones are worth."""
        X = self.rows(left) - self.rows(right)
        mean = self.offset[left] - self.offset[right] + X @ self.known.mean
        return mean, self.known.variances(X) + (self.fresh(left) + self.fresh(right)) * (left != right)

    def probability(self, left: Any, right: Any) -> Any:
        """Return the probability of preferring each left item, averaged over the posterior."""
        return sigmoid(averaged(*self.margins(left, right)))

    def without_each(self) -> Any:
        """The probability of each answer by the others alone: what it says itself is taken out of the mean and the
        precision again, without a search of its own."""
        if self.known.of_answers is None:
            return np.empty(0)
        a, v, curvature = self.known.of_answers
        mean = self.margins(self.asked.winner, self.asked.loser)[0] + self.swayed
        others = v / np.maximum(1 - self.count * curvature * v, LEAST)
        return sigmoid(averaged(mean - others * a, others))

    def draws(self, n: int, items: Any, rng: np.random.Generator) -> Any:
        made = self.offset[items] + self.known.draws(n, rng) @ self.rows(items).T
        fresh = np.flatnonzero(self.fresh(items) > 0)
        made[:, fresh] += np.sqrt(self.noise[items[fresh]]) * rng.standard_normal((n, len(fresh)))
        return made


def between(mean: Any, variance: Any, interval: float) -> dict[str, Any]:
    """Probabilities by margins that are normal: on average, and between which they are."""
    far = float(scipy.special.ndtri(0.5 + interval / 2)) * np.sqrt(variance)
    made = {"probability": averaged(mean, variance), "low": mean - far, "high": mean + far}
    return {name: np.asarray(sigmoid(x), np.float32) for name, x in made.items()}
