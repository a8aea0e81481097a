"""How sure everybody's ranking is: who happened to vote, and how often.

Scores b_j in log-odds; the estimate that solves sum over people of g_i(b) = ridge, with g_i the slopes of what person i
said, moves with who is asked by (H^-1 (sum_i g_i g_i') H^-1)^(1/2), whatever people's own tastes are: answers of one
person are correlated, people are not (P. Huber, 1967; K.-Y. Liang, S. Zeger: Longitudinal data analysis using
generalized linear models, 1986). H is the curvature of the logistic loss, a Laplacian of who met whom, and 1 / t, t the
variance of the scores: before anyone is asked an item is one of these, so that what few met is not taken for the best
or the worst.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse

from ..data.source import Source
from ..logistic import sigmoid
from .crowd import MOST as MOST_EACH
from .crowd import some_of_each

MOST_PAIRS, MOST_ITEMS = 2_000_000, 3000  # items: of more, H is taken to be diagonal
LEAST = 1e-4  # of t


def moved(source: Source, scores: Any, slope: float, n: int, rng: np.random.Generator) -> Any:
    """n draws of everybody's scores, in log-odds."""
    pairs = some_of_each(source, MOST_EACH, rng) if source.implied else source.some_pairs(MOST_PAIRS, rng)
    b, m = slope * np.asarray(scores, np.float64), pairs.weights()
    p = sigmoid(b[pairs.loser] - b[pairs.winner])
    people, user = np.unique(pairs.user, return_inverse=True)
    rows, items = np.arange(len(p)), len(b)
    signs = np.concatenate((np.ones(len(p)), -np.ones(len(p))))
    at = np.concatenate((rows, rows)), np.concatenate((pairs.winner, pairs.loser))
    B = sparse.csr_array((signs, at), shape=(len(p), items))
    G = sparse.csr_array((m * p, (user, rows)), shape=(len(people), len(p))) @ B  # a row a person
    G = sparse.csr_array(G)
    people_count = max(len(people) - 1, 1)
    tau = max(float(np.var(b)), LEAST)
    forces = np.asarray((rng.standard_normal((n, len(people))) * np.sqrt(len(people) / people_count)) @ G)
    forces += rng.standard_normal(forces.shape) / np.sqrt(tau)
    curvature = m * p * (1 - p)
    if items > MOST_ITEMS:
        steps = forces / (np.asarray(abs(B).T @ curvature) + 1 / tau)
    else:
        H = ((B.T * curvature) @ B).toarray() + np.eye(items) / tau
        steps = np.linalg.solve(H, forces.T).T
    return b + steps - steps.mean(axis=1, keepdims=True)
