"""RP3beta: a walk from what someone clicked, over others who did, to what those clicked (Paudel et al., 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from ..errors import number
from .item_weights import ItemWeights, Weights, co_clicks


class RP3beta(ItemWeights):
    """Personal rankings from clicks, by random walks of three steps: an item, a user who clicked it, another item.

    A click on item k adds to the score of item j

        w_kj = sum_i (1 / n_k)^alpha (1 / n_i)^alpha / n_j^beta     over the users i who clicked both,

    n the clicks of an item or a user, for those ``neighbours`` items k that add most to j. With alpha = 1 and beta = 0
    these are the probabilities of the walk; beta takes from popular items what they owe to being popular. Weights are
    divided by the largest.

    Memory grows with the neighbours alone.

    Parameters
    ----------
    alpha, beta : float
        Powers of the steps' probabilities and of an item's popularity. These and neighbours were chosen on held-out
        training clicks of MovieLens 1M.
    neighbours : int
        Weights that each item keeps.
    n_threads : int, optional
        For lists; all cores by default.
    seed : int
        Of the comparisons put aside for probabilities.

    Attributes
    ----------
    item_weights_ : sparse matrix of shape (n_items, n_items)
    users_, items_
        See :class:`Model`.

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

    def __init__(
        self,
        alpha: float = 1.0,
        beta: float = 0.5,
        neighbours: int = 100,
        n_threads: int | None = None,
        seed: int = 0,
    ) -> None:
        self._store_params(locals())

    def _check(self) -> None:
        number("alpha", self.alpha, at_least=0, at_most=2)
        number("beta", self.beta, at_least=0, at_most=2)
        number("neighbours", self.neighbours, at_least=1, integer=True)

    def _between(self, X: Any) -> Weights:
        n, users, items = X.shape[1], np.maximum(np.diff(X.indptr), 1.0), np.maximum(X.getnnz(axis=0), 1.0)
        kept = min(int(self.neighbours), max(n - 1, 1))
        source, target, weight = [], [], []
        for rows, block in co_clicks(X, users**-self.alpha):  # rows are the items that are scored
            block *= items**-self.alpha
            here = np.arange(len(block))
            block[here, here + rows.start] = 0.0
            found = np.argpartition(block, n - kept, axis=1)[:, n - kept :]
            source.append(found.ravel())
            target.append(np.repeat(here + rows.start, kept))
            weight.append(np.take_along_axis(block, found, axis=1).ravel())
        j, k, w = (np.concatenate(part) for part in (target, source, weight))
        w *= items[j] ** -self.beta
        w /= w.max(initial=0.0) or 1.0
        some = w > 0
        return scipy.sparse.csr_matrix((w[some].astype(np.float32), (k[some], j[some])), (n, n))
