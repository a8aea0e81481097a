"""EASE: a ridge regression of every item on all others, in closed form (Steck, WWW 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from .. import memory
from ..errors import InputError
from ..models.parameters import CALIBRATION_SEED, N_THREADS, RIDGE, SHARE, Parameter, Params, accepts
from .item_weights import ItemWeights, Weights, co_clicks, user_weights

TILE = 512  # rows and columns of a triangle that are mirrored at a time

EASE_REG = Parameter(
    RIDGE,
    "Ridge of the weights between items. The default was chosen on held-out training clicks of MovieLens 1M; more "
    "clicks need a larger one.",
)
CLICK_BALANCE = Parameter(
    SHARE, "Exponent of a user's weight n^-balance by their n clicks. 0: all clicks count equally. 1: all users do."
)
LAPACK_THREADS = Parameter(
    N_THREADS.domain,
    "Number of threads that make lists. None: as many as the process may keep busy. The fit has as many as LAPACK "
    "takes, and its last bits may depend on them.",
    "run",
)


@dataclass(frozen=True)
class EASEParams(Params):
    """The parameters of :class:`EASE`."""

    reg: float = EASE_REG(1000.0)
    balance: float = CLICK_BALANCE(0.5)
    n_threads: int | None = LAPACK_THREADS(None)
    seed: int = CALIBRATION_SEED(0)


class EASE(ItemWeights):
    r"""Learn personal rankings from clicks, by regressing each item on all others.

    This is EASE (Steck, 2019), in closed form, with weights of users. It is a strong baseline: :class:`ClickRanker`
    adds a low-rank part. Time grows with the cube of the number of items, and memory is 12 bytes for each pair of
    items. A fit that lacks memory is refused beforehand.

    Parameters
    ----------
    reg : float, default 1000.0
        Ridge of the weights between items. The default was chosen on held-out training clicks of MovieLens 1M; more
        clicks need a larger one.
    balance : float, default 0.5
        Exponent of a user's weight n^-balance by their n clicks. 0: all clicks count equally. 1: all users do.
    n_threads : int or None, default None
        Number of threads that make lists. None: as many as the process may keep busy. The fit has as many as LAPACK
        takes, and its last bits may depend on them.
    seed : int, default 0
        Seed of the draw of comparisons that are held out to calibrate probabilities.

    Attributes
    ----------
    users_, items_ : array of id
        Ids of the users and items.
    item_weights_ : array of shape (n_items, n_items)
        Weights. A row says what a click on one item adds to the scores of all items.

    See Also
    --------
    ClickRanker : Add a low-rank part to item-item weights.
    RP3beta : Learn item-item weights with less memory.

    Notes
    -----
    With the user's clicks :math:`x_i` as zeros and ones, the fit minimises over weights W with a zero diagonal

    .. math:: \sum_i a_i \|x_i - x_i W\|^2 + \text{reg}\, \|W\|^2 .

    The solution is :math:`W_{jk} = -P_{jk} / P_{kk}` with :math:`P = (X' A X + \text{reg}\, I)^{-1}`. A user with
    :math:`n_i` clicks has weight :math:`a_i = n_i^{-\text{balance}}`, scaled so that a click has mean weight 1. The
    paper has balance 0.

    References
    ----------
    H. Steck: Embarrassingly Shallow Autoencoders for Sparse Data. WWW 2019.

    Examples
    --------
    >>> import rather
    >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
    >>> model = rather.EASE().fit(rather.Comparisons.from_clicks(clicks))
    >>> model.recommend("cat", k=1, exclude="seen")["item"].tolist()
    ['milk']
    >>> model.fold_in(["beer"]).recommend(k=1, exclude="seen")["item"].tolist()
    ['cola']
    """

    params: EASEParams

    @accepts(EASEParams)
    def __init__(self, params: EASEParams) -> None:
        self.params = params

    def _between(self, X: Any) -> Weights:
        n = X.shape[1]
        memory.require(
            12 * n**2, f"EASE of {n:,} items", "leave out rare items, or fit RP3beta or AltSVM, which take less"
        )
        gram = np.empty((n, n))
        for rows, block in co_clicks(X, user_weights(X, float(self.balance))):
            gram[rows] = block.toarray()
        gram[np.diag_indices(n)] += float(self.reg)
        # In place: what is the lower triangle for LAPACK, which goes by columns, is the upper one here.
        factor, failed = scipy.linalg.lapack.dpotrf(gram.T, lower=1, overwrite_a=1)
        if not failed:
            inverse, failed = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
        if failed:
            raise InputError(f"reg is {self.reg}; it is too small for these clicks: the regression has no solution")
        root = np.sqrt(np.diag(inverse))
        inverse /= root  # to numbers from -1 to 1, which single precision holds
        inverse /= root[:, None]
        W = inverse.T.astype(np.float32)
        for first in range(0, n, TILE):
            here, after = slice(first, first + TILE), slice(first + TILE, n)
            W[here, here] = np.triu(W[here, here]) + np.triu(W[here, here], 1).T
            W[after, here] = W[here, after].T
        W *= -root[:, None].astype(np.float32)
        W /= root.astype(np.float32)
        W[np.diag_indices(n)] = 0.0
        return W
