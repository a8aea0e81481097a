"""How sure everybody's ranking is: who happened to vote, and how often.

Scores b_j in log-odds; the estimate that solves sum over people of g_i(b) = ridge, with g_i the slopes of what person i
said, moves with who is asked by (H^-1 (sum_i g_i g_i') H^-1)^(1/2), whatever people's own tastes are: answers of one
person are correlated, people are not (P. Huber, 1967; K.-Y. Liang, S. Zeger: Longitudinal data analysis using
generalized linear models, 1986). H is the curvature of the logistic loss, a Laplacian of who met whom, and 1 / t, t the
variance of the scores: before anyone is asked an item is one of these, so that what few met is not taken for the best
or the worst. A few people cannot say how people differ: as far as items outnumber them, their answers' own variance
takes the place of sum_i g_i g_i', times by how much that exceeds it on the whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse

from ..data.source import Source
from ..logistic import sigmoid
from .crowd import MOST_RATED

MOST_EACH, MOST_ITEMS = 2000, 3000  # answers of one person; items: of more, H is taken to be diagonal
BLOCK = 4096  # people, or answers, drawn for at a time
LEAST = 1e-4  # of t


def moved(source: Source, scores: Any, slope: float, n: int, rng: np.random.Generator, trust: Any = None) -> Any:
    """n draws of everybody's scores, in log-odds."""
    said = np.flatnonzero(np.diff(source.met()[0]))
    pairs = source.said_by(said, MOST_RATED, rng) if source.implied else source.said_by(said, MOST_EACH, rng)
    b, m = slope * np.asarray(scores, np.float64), pairs.weights()
    m = m if trust is None else m * trust[pairs.user]
    p = sigmoid(b[pairs.loser] - b[pairs.winner])
    people, user = np.unique(pairs.user, return_inverse=True)
    rows, items, curvature = np.arange(len(p)), len(b), m * p * (1 - p)
    signs = np.concatenate((np.ones(len(p)), -np.ones(len(p))))
    at = np.concatenate((rows, rows)), np.concatenate((pairs.winner, pairs.loser))
    B = sparse.csr_array((signs, at), shape=(len(p), items))
    G = sparse.csr_array(sparse.csr_array((m * p, (user, rows)), shape=(len(people), len(p))) @ B)  # a row a person
    degree = np.asarray(abs(B).T @ curvature)
    tau = max(float(np.var(b)), LEAST)
    tau += float(np.mean(1 / (degree + 1 / tau)))
    few = items / (items + len(people))
    times = np.sqrt((1 - few) * len(people) / max(len(people) - 1, 1))
    forces = rng.standard_normal((n, items)) / np.sqrt(tau)
    for first in range(0, len(people), BLOCK):
        some = G[first : first + BLOCK]
        forces += np.asarray((times * rng.standard_normal((n, some.shape[0]))) @ some)
    inflated = max(float(G.power(2).sum()) / max(2 * float((m * m * p * (1 - p)).sum()), 1e-30), 1.0)
    apart = B * np.sqrt(few * inflated * m * m * p * (1 - p))[:, None]
    for first in range(0, len(p), BLOCK):
        some = apart[first : first + BLOCK]
        forces += np.asarray(rng.standard_normal((n, some.shape[0])) @ some)
    if items > MOST_ITEMS:
        steps = forces / (degree + 1 / tau)
    else:
        H = ((B.T * curvature) @ B).toarray() + np.eye(items) / tau
        steps = np.linalg.solve(H, forces.T).T
    return b + steps - steps.mean(axis=1, keepdims=True)
