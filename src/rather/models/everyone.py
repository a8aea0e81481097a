"""Standard errors of the ranking for everybody, which account for which users happened to answer.

The scores b_j in log-odds solve sum_i g_i(b) = ridge, where g_i is the gradient of the answers of person i. Their
covariance is the sandwich H^-1 (sum_i g_i g_i') H^-1, whatever people's own tastes are: answers of one person are
correlated, and people are independent (P. Huber, 1967; K.-Y. Liang, S. Zeger: Longitudinal data analysis using
generalized linear models, 1986). H is the curvature of the logistic loss plus 1 / t. The curvature is a Laplacian of
which items were compared, and t is the variance of the scores: the prior of an item keeps rarely compared items from
looking best or worst. Few people say little about how people differ. As far as items outnumber people, the variance of
the answers themselves takes the place of sum_i g_i g_i', multiplied by the overall ratio of the two.

The effective number of people is 1 / sum_i share_i^2, with their shares of the answers. The gradient of somebody who
gave nearly all answers sums to about 0 at the optimum, and one person cannot be compared with others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ..data.source import Source
from ..logistic import sigmoid
from .crowd import MOST_RATED

MOST_ITEMS = 3000  # of more, H is taken to be diagonal
BLOCK = 4096  # people, or pairs of items, drawn for at a time
LEAST, MOST = 1e-4, 1e4  # of t


def moved(
    source: Source, scores: Any, slope: float, n: int, rng: np.random.Generator, trust: Any = None, t: Any = None
) -> Any:
    """Return n draws of everybody's scores, in log-odds; ``t`` is estimated from the scores where it is not given."""
    said = np.flatnonzero(np.diff(source.met()[0]))
    pairs = source.said_by(said, MOST_RATED if source.implied else len(source), rng)
    b, m = slope * np.asarray(scores, np.float64), pairs.weights()
    m = m if trust is None else m * trust[pairs.user]
    items, p = len(b), sigmoid(b[pairs.loser] - b[pairs.winner])
    people, user = np.unique(pairs.user, return_inverse=True)
    G = _slopes(user, pairs.winner, pairs.loser, m * p, (len(people), items))
    low, high = np.minimum(pairs.winner, pairs.loser).astype(np.int64), np.maximum(pairs.winner, pairs.loser)
    pair, at = np.unique(low * items + high, return_inverse=True)
    j, k = pair // items, pair % items
    curvature, variance = (np.asarray(np.bincount(at, x * p * (1 - p), len(pair))) for x in (m, m * m))
    degree = np.bincount(j, curvature, items) + np.bincount(k, curvature, items)
    if t is None:
        t = max(float(np.var(b)), LEAST)
        t += float(np.mean(1 / (degree + 1 / t)))
    t = min(t, MOST)  # more would leave H without an inverse where scores are out of all proportion
    given = np.bincount(user, m)
    others = max(float(m.sum()) ** 2 / max(float(given @ given), 1e-30) - 1, 0.0)
    few = items / (items + others)
    times = (1 + others) / (items + others) if len(people) > 1 else 0.0  # (1 - few) n / (n - 1), n = 1 + others
    inflated = max(float(G.power(2).sum()) / max(2 * float(variance.sum()), 1e-30), 1.0)
    noise = few * inflated * variance
    if items > MOST_ITEMS:
        forces = rng.standard_normal((n, items)) / np.sqrt(t)
        apart = _slopes(np.arange(len(pair)), j, k, np.sqrt(noise), (len(pair), items))
        for rows, share in ((G, np.sqrt(times)), (apart, 1.0)):
            for first in range(0, rows.shape[0], BLOCK):
                some = rows[first : first + BLOCK]
                forces += np.asarray((share * rng.standard_normal((n, some.shape[0]))) @ some)
        steps = forces / (degree + 1 / t)
    else:
        own = np.eye(items) / t
        J = times * (G.T @ G).toarray() + _laplacian(j, k, noise, items) + own
        root = scipy.linalg.cholesky(J, lower=True, overwrite_a=True)
        H = scipy.linalg.cho_factor(_laplacian(j, k, curvature, items) + own, overwrite_a=True)
        steps = scipy.linalg.cho_solve(H, root @ rng.standard_normal((items, n))).T
    return b + steps - steps.mean(axis=1, keepdims=True)


def _slopes(rows: Any, winner: Any, loser: Any, values: Any, shape: tuple[int, int]) -> Any:
    """Return the sum, row by row, of a value for each pair's winner and minus that for its loser."""
    at = np.concatenate((rows, rows)), np.concatenate((winner, loser))
    return scipy.sparse.csr_array(scipy.sparse.coo_array((np.concatenate((values, -values)), at), shape=shape))


def _laplacian(j: Any, k: Any, weight: Any, items: int) -> Any:
    """Return the Laplacian of different pairs of items."""
    L = np.zeros((items, items))
    L[j, k] = L[k, j] = -weight
    L[np.diag_indices(items)] = np.bincount(j, weight, items) + np.bincount(k, weight, items)
    return L
