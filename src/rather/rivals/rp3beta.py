"""RP3beta: random walks of three steps on the graph of users and items (Paudel et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..models.parameters import CALIBRATION_SEED, LIST_THREADS, POWER, WHOLE, Parameter, Params, accepts
from .item_weights import ItemWeights, Weights, co_clicks

ALPHA = Parameter(POWER, "Power of the probabilities of the walk's steps. 1 is the plain random walk.")
BETA = Parameter(POWER, "Power of an item's popularity by which its weights are divided. 0 favours popular items.")
NEIGHBOURS = Parameter(WHOLE, "Number of weights that each item keeps. More take memory and time in proportion.")


@dataclass(frozen=True)
class RP3betaParams(Params):
    """The parameters of :class:`RP3beta`."""

    alpha: float = ALPHA(0.8)
    beta: float = BETA(0.45)
    neighbours: int = NEIGHBOURS(200)
    n_threads: int | None = LIST_THREADS(None)
    seed: int = CALIBRATION_SEED(0)


class RP3beta(ItemWeights):
    r"""Learn personal rankings from clicks, by random walks of three steps.

    A walk goes from a clicked item to a user who clicked it, and on to another item of that user (Paudel et al., 2017).
    It is a strong baseline that needs little memory: use :class:`ClickRanker` where memory allows.

    Parameters
    ----------
    alpha : float, default 0.8
        Power of the probabilities of the walk's steps. 1 is the plain random walk.
    beta : float, default 0.45
        Power of an item's popularity by which its weights are divided. 0 favours popular items.
    neighbours : int, default 200
        Number of weights that each item keeps. More take memory and time in proportion.
    n_threads : int or None, default None
        Number of threads that make lists. None: as many as the process may keep busy. Results do not depend on it.
    seed : int, default 0
        Seed of the draw of comparisons that are held out to calibrate probabilities.

    Attributes
    ----------
    users_, items_ : array of id
        Ids of the users and items.
    item_weights_ : sparse matrix of shape (n_items, n_items)
        Weights. A row says what a click on one item adds to the scores of all items.

    See Also
    --------
    ClickRanker : Learn a personal ranking for every user from clicks.
    EASE : Learn item-item weights by regression.

    Notes
    -----
    A click on item k adds to the score of item j

    .. math:: w_{kj} = \sum_i \frac{1}{n_k^\alpha} \frac{1}{n_i^\alpha} \frac{1}{n_j^\beta}

    over the users i who clicked both, where n counts the clicks of an item or a user. Only the ``neighbours`` items k
    that add most to j are kept, and a click's weights are divided by their sum. With alpha 1 and beta 0 the weights are
    the probabilities of the walk; beta lowers popular items.

    References
    ----------
    B. Paudel, F. Christoffel, C. Newell, A. Bernstein: Updatable, Accurate, Diverse, and Scalable Recommendations for
    Interactive Applications. ACM TiiS 2017.

    Examples
    --------
    >>> import rather
    >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
    >>> model = rather.RP3beta().fit(rather.Comparisons.from_clicks(clicks))
    >>> model.recommend("cat", k=1, exclude="seen")["item"].tolist()
    ['milk']
    >>> model.fold_in(["beer"]).recommend(k=1, exclude="seen")["item"].tolist()
    ['cola']
    """

    params: RP3betaParams

    @accepts(RP3betaParams)
    def __init__(self, params: RP3betaParams) -> None:
        self.params = params

    def _between(self, X: Any) -> Weights:
        n, users, items = X.shape[1], np.maximum(np.diff(X.indptr), 1.0), np.maximum(X.getnnz(axis=0), 1.0)
        leaving, arriving = items**-self.alpha, items**-self.beta
        source, target, weight = [], [], []
        for rows, block in co_clicks(X, users**-self.alpha):
            for j, first, last in zip(range(n)[rows], block.indptr, block.indptr[1:], strict=False):
                k = block.indices[first:last]
                w = block.data[first:last] * leaving[k] * (k != j)
                if len(w) > self.neighbours:
                    best = np.argpartition(w, -int(self.neighbours))[-int(self.neighbours) :]
                    k, w = k[best], w[best]
                source.append(k[w > 0])
                target.append(np.full(len(source[-1]), j))
                weight.append(w[w > 0] * arriving[j])
        sources, targets, w = (np.concatenate(part) for part in (source, target, weight))
        w /= np.bincount(sources, w, minlength=n)[sources]
        return scipy.sparse.csr_matrix((w.astype(np.float32), (sources, targets)), (n, n))
