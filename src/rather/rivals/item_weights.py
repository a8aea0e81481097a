"""Models that score items by the weights between them and the items that a user clicked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy

from ..data.comparisons import Comparisons
from ..data.ids import Codes, read_only
from ..errors import InputError
from ..models.clicked import ClickModel, ClickScorer, require_clicks
from ..models.exclusions import Rows, select
from ..models.fitted import FittedModel
from ..models.scorers import BLOCK, LARGEST
from ..native import FloatArray

Weights = Any  # (n_items, n_items) of float32: an array, or a sparse matrix of rows


class ClickWeights(ClickScorer):
    """Scores that are sums of weights between items.

    Parameters
    ----------
    item_weights : array or sparse matrix of shape (n_items, n_items)
        Row k is what a click on item k adds to the scores.
    data : Comparisons
        Whose clicks they are to be multiplied by, made by ``Comparisons.from_clicks``.
    """

    def __init__(self, item_weights: Any, data: Comparisons) -> None:
        require_clicks(data, "ClickWeights")
        sparse = scipy.sparse.issparse(item_weights)
        W = scipy.sparse.csr_matrix(item_weights, dtype=np.float32) if sparse else np.asarray(item_weights, np.float32)
        if W.shape != (data.n_items, data.n_items):
            wanted = (data.n_items, data.n_items)
            raise InputError(f"item_weights has shape {W.shape}; for these comparisons it must be {wanted}")
        if not (np.abs(W.data if sparse else W) < LARGEST).all():
            raise InputError(f"the weights between items are not all finite and below {LARGEST:g}, as they must be")
        self.W, self.seen, self.n_items = W, data.source.met(), data.n_items
        share = np.bincount(self.seen[1], minlength=data.n_items).astype(np.float32) / np.float32(data.n_users)
        self.mean = _product(scipy.sparse.csr_matrix(share), W)[0]

    W: Weights
    mean: FloatArray  # of all users' scores

    def rows(self, u: Codes, n_threads: int) -> FloatArray:
        X = clicks_of(self.seen, u, self.n_items)
        scores = _product(X, self.W)
        scores[np.diff(X.indptr) == 0] = self.mean
        return scores

    def average(self, seen: Rows, n_items: int, n_threads: int) -> FloatArray:
        return self.mean.copy()

    # -- files --------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Any]:
        W = self.W
        if not scipy.sparse.issparse(W):
            return {"weights": W, "mean": self.mean}
        start, item = W.indptr.astype(np.int64), W.indices.astype(np.int32)
        return {"weights": W.data, "weights_start": start, "weights_item": item, "mean": self.mean}

    @classmethod
    def restored(cls, tensors: Mapping[str, Any], about: Mapping[str, Any], fitted: FittedModel) -> ClickWeights:
        W, mean, n = tensors["weights"], tensors["mean"], len(fitted.items)
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
        if not sound or W.shape != (n, n):
            raise ValueError("the weights between items do not fit together")
        made = object.__new__(cls)
        made.W, made.mean, made.seen, made.n_items = W, mean, fitted.seen, n
        return made


class ItemWeights(ClickModel):
    """Score items by the weights between them and a user's clicks.

    Users without clicks get the mean of all users' scores. A subclass computes the weights in ``_between``.

    Attributes
    ----------
    item_weights_ : array or sparse matrix of shape (n_items, n_items)
        Weights, with a zero diagonal. A row says what a click on one item adds to the scores of all items.
    """

    SCORER = ClickWeights

    def _between(self, X: Any) -> Weights:
        """The weights, from clicks as a sparse matrix of ones, a row for each user."""
        raise NotImplementedError

    def scorer(self, data: Comparisons) -> ClickWeights:
        """Return the scores of weights between items.

        Parameters
        ----------
        data : Comparisons
            Comparisons with clicks behind them.

        Returns
        -------
        ClickWeights
            Scores that are sums of the weights between items.

        Raises
        ------
        InputError
            If there are no clicks, or a weight is not finite.

        See Also
        --------
        Estimator.fit : Learn the scores and keep them.

        Examples
        --------
        >>> import rather
        >>> clicks = rather.Comparisons.from_clicks({"user": ["ann", "ann", "bob"], "item": ["tea", "milk", "cola"]})
        >>> rather.RP3beta().scorer(clicks).W.shape
        (3, 3)
        """
        require_clicks(data, type(self).__name__)
        everyone = np.arange(data.n_users, dtype=np.int32)
        return ClickWeights(self._between(clicks_of(data.source.met(), everyone, data.n_items)), data)

    @property
    def item_weights_(self) -> Weights:
        """Weights between items."""
        scorer = self.fitted.scorer
        assert isinstance(scorer, ClickWeights)
        return scorer.W.copy() if scipy.sparse.issparse(scorer.W) else read_only(scorer.W)


def clicks_of(seen: Rows, u: Codes, n_items: int) -> Any:
    """Return the clicks of some users as a sparse matrix of ones."""
    start, item = select(seen, u)
    return scipy.sparse.csr_matrix((np.ones(len(item), np.float32), item, start), (len(u), n_items))


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
    """Return the number of rows of n numbers to hold at a time."""
    return max(1, BLOCK // max(n, 1))
