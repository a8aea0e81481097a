"""RP3beta: a walk from what someone clicked, over others who did, to what those clicked (Paudel et al., 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from ..errors import number
from .item_weights import ItemWeights, Weights, co_clicks


class RP3beta(ItemWeights):
    r"""Learn personal rankings from clicks, by random walks of three steps.

    A walk goes from a clicked item to a user who clicked it, and on to another item of that user (Paudel et al., 2017).
    It is a strong baseline that needs little memory: use :class:`ClickRanker` where memory allows.

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

    def __init__(
        self,
        alpha: float = 0.8,
        beta: float = 0.45,
        neighbours: int = 200,
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
