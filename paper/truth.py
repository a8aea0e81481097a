"""What scores are worth where the truth is known: means over all pairs of items, weighted by their probabilities.

``truth`` and ``scores`` are tables of users x items; user i prefers j to k with probability sigma(truth_ij - truth_ik).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

import rather
from rather.data.rows import Pairs
from rather.data.votes import Votes

MOST = 2**23  # pairs looked at; in larger worlds, those of evenly spaced users
LOSSES: dict[str, Callable[[Any], Any]] = {
    "hinge": lambda x: np.maximum(0, 1 - x),
    "logistic": lambda x: np.logaddexp(0, -x),
}


def scores_of(model: Any) -> Any:
    """All scores of a fitted factor model."""
    return model.user_factors_.astype(np.float64) @ model.item_factors_.T + model.item_bias_


def lam_of(truth: Any) -> float:
    """The least lam whose ball |X|_* <= sqrt(lam n_users n_items) holds the truth."""
    return float(np.linalg.norm(truth, "nuc") ** 2 / truth.size)


def risk(truth: Any, scores: Any, loss: str) -> float:
    """The paper's R: the mean loss of a fresh answer."""
    L = LOSSES[loss]
    return _mean(lambda p, x: p * L(x) + (1 - p) * L(-x), truth, scores)


def divergence(truth: Any, scores: Any) -> float:
    """The mean Kullback-Leibler divergence of the scores' probabilities from the true ones: logistic excess risk."""
    return risk(truth, scores, "logistic") - risk(truth, truth, "logistic")


def share(truth: Any, scores: Any) -> float:
    """Accuracy above chance as a share of what someone who knows the truth has: 0 for coin tosses, 1 for the truth."""

    def above_chance(x: Any) -> float:
        return _mean(lambda p, x: (p - 0.5) * np.sign(x), truth, x)

    return above_chance(scores) / above_chance(truth)


def every_pair(world: rather.World) -> rather.Comparisons:
    """All pairs in both directions, weighted by their probabilities: who fits these minimises R itself."""
    n_users, n_items = world.scores.shape
    j, k = (index.astype(np.int32) for index in np.nonzero(~np.eye(n_items, dtype=bool)))
    weight = expit(world.scores[:, j] - world.scores[:, k]).astype(np.float32).ravel()
    user = np.repeat(np.arange(n_users, dtype=np.int32), len(j))
    pairs = Pairs(user, np.tile(j, n_users), np.tile(k, n_users), weight)
    size = world.comparisons.n_users, world.comparisons.n_items
    return rather.Comparisons(world.comparisons.users, world.comparisons.items, Votes(*size, pairs))


def _mean(value: Callable[[Any, Any], Any], truth: Any, scores: Any) -> float:
    """The mean of value(probability, difference of scores) over users and pairs j < k."""
    j, k = np.triu_indices(truth.shape[1], 1)
    step = -(-truth.shape[0] * len(j) // MOST)
    users = range(0, truth.shape[0], step)
    return float(np.mean([value(expit(truth[i, j] - truth[i, k]), scores[i, j] - scores[i, k]).mean() for i in users]))
