"""Scores by weights between items: what someone clicked, times what a click on each says of all the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from ..data.comparisons import Comparisons
from ..data.ids import Codes, read_only
from ..errors import InputError
from ..models.clicked import ClickModel, require_clicks
from ..models.estimator import BLOCK
from ..models.exclusions import select
from ..models.factors import LARGEST
from ..models.state import of_one_moment
from ..native import FloatArray

Weights = Any  # (n_items, n_items) of float32: an array, or a sparse matrix of rows


class ItemWeights(ClickModel):
    """Score items by the weights between them and a user's clicks.

    Users without clicks get the mean of all users' scores. A subclass computes the weights in ``_between``.

    Attributes
    ----------
    item_weights_ : array or sparse matrix of shape (n_items, n_items)
        Weights, with a zero diagonal. A row says what a click on one item adds to the scores of all items.
    """

    W_: Weights
    _mean: FloatArray  # of all users' scores

    def _between(self, X: Any) -> Weights:
        """The weights, from clicks as a sparse matrix of ones, a row for each user."""
        raise NotImplementedError

    def _fit(self, comparisons: Comparisons) -> bool:
        require_clicks(comparisons, type(self).__name__)
        self._set_data(comparisons)
        self._set_weights(self._between(self._clicks(np.arange(comparisons.n_users, dtype=np.int32))))
        return True

    def set_weights(self, comparisons: Comparisons, item_weights: Any) -> Any:
        """Set the weights instead of fitting, and return the fitted model.

        Parameters
        ----------
        comparisons : Comparisons
            Clicks that define the users and items. Weights are in the order of the items' ids.
        item_weights : array or sparse matrix of shape (n_items, n_items)
            The weights.

        Returns
        -------
        Estimator
            The estimator itself.

        Raises
        ------
        InputError
            If the shape does not fit, or a weight is not finite.

        See Also
        --------
        Estimator.fit : Learn the weights from clicks.
        """
        require_clicks(comparisons, type(self).__name__)
        n, sparse = comparisons.n_items, scipy.sparse.issparse(item_weights)
        W = scipy.sparse.csr_matrix(item_weights, dtype=np.float32) if sparse else np.array(item_weights, np.float32)
        if W.shape != (n, n):
            raise InputError(f"item_weights has shape {W.shape}; for these comparisons it must be {(n, n)}")
        work = self._unfitted()
        work._set_data(comparisons)
        work._set_weights(W)
        self._adopt(work.__dict__)
        return self

    def _set_weights(self, W: Weights) -> None:
        if not (np.abs(W.data if scipy.sparse.issparse(W) else W) < LARGEST).all():
            raise InputError(f"the weights between items are not all finite and below {LARGEST:g}, as they must be")
        self.W_ = W
        share = np.bincount(self.seen_[1], minlength=len(self.items_)).astype(np.float32) / np.float32(len(self.users_))
        self._mean = _product(scipy.sparse.csr_matrix(share), W)[0]

    @property
    def item_weights_(self) -> Weights:
        """Weights between items."""
        W = self._frozen().W_
        return W.copy() if scipy.sparse.issparse(W) else read_only(W)

    # -- what a model says --------------------------------------------------------------------------------------

    def _clicks(self, u: Codes) -> Any:
        """What some users clicked, as a sparse matrix of ones."""
        start, item = select(self.seen_, u)
        return scipy.sparse.csr_matrix((np.ones(len(item), np.float32), item, start), (len(u), len(self.items_)))

    def _rows(self, u: Codes) -> FloatArray:
        """All scores of some users. A row's numbers do not depend on what other rows are asked for."""
        X = self._clicks(u)
        scores = _product(X, self.W_)
        scores[np.diff(X.indptr) == 0] = self._mean
        return scores

    @of_one_moment
    def average_scores(self) -> FloatArray:
        """Return the scores of the ranking shared by all users: the mean of their scores.

        Returns
        -------
        array of shape (n_items,)
            One score for each item, in the order of ``items_``.

        See Also
        --------
        Estimator.rank : Rank all items, by default with these scores.
        """
        self._require_fit()
        return self._mean.copy()

    # -- files --------------------------------------------------------------------------------------------------

    def _tensors(self) -> dict[str, Any]:
        W = self.W_
        if not scipy.sparse.issparse(W):
            return {"weights": W, "mean": self._mean}
        start, item = W.indptr.astype(np.int64), W.indices.astype(np.int32)
        return {"weights": W.data, "weights_start": start, "weights_item": item, "mean": self._mean}

    def _restore(self, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        W, mean, n = tensors["weights"], tensors["mean"], len(self.items_)
        sound = W.dtype == mean.dtype == np.float32 and mean.shape == (n,)
        sound = sound and all((np.abs(a) < LARGEST).all() for a in (W, mean))
        if sound and "weights_start" in tensors:
            start, item = tensors["weights_start"], tensors["weights_item"]
            sound = (
                start.dtype == np.int64
                and item.dtype == np.int32
                and start.shape == (n + 1,)
                and W.ndim == 1
                and W.shape == item.shape
                and start[0] == start.min() == 0
                and start[-1] == len(item)
                and bool((np.diff(start) >= 0).all())
                and (not len(item) or (item.min() >= 0 and item.max() < n))
            )
            W = scipy.sparse.csr_matrix((W, item, start), (n, n)) if sound else W
        self.W_, self._mean = W, mean
        return sound and W.shape == (n, n) and super()._restore(tensors, about)


def co_clicks(X: Any, weight: Any) -> Iterator[tuple[slice, Any]]:
    """Blocks of rows of X' diag(weight) X, sparse: how many clicked both of two items, users weighing so much."""
    columns, n = X.T.tocsr().astype(np.float64), X.shape[1]
    weighted, size = scipy.sparse.diags(weight) @ X, _block(n)
    for begin in range(0, n, size):
        rows = slice(begin, min(begin + size, n))
        yield rows, columns[rows] @ weighted


def user_weights(X: Any, power: float) -> Any:
    """(a user's clicks)^-power, scaled so that a click weighs 1 on average."""
    clicks = np.diff(X.indptr)
    weight = np.maximum(clicks, 1.0) ** -power
    return weight * (clicks.sum() / max(weight @ clicks, np.finfo(float).tiny))


def _product(X: Any, W: Weights) -> FloatArray:
    """X W, each row summed in the order of its clicks."""
    found = X @ W
    return np.asarray(found.toarray() if scipy.sparse.issparse(found) else found, np.float32)


def _block(n: int) -> int:
    """How many rows of n numbers are held at a time."""
    return max(1, BLOCK // max(n, 1))
