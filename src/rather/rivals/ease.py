"""EASE: every item regressed on all others, in closed form (Steck, WWW 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

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
    """Personal rankings from clicks, by a ridge regression of every item on all others.

    With X the matrix of who clicked what (1, else 0), minimises over weights W between items

        sum_i a_i |x_i - x_i W|^2 + reg |W|^2,     W_jj = 0,

    where x_i is user i's row; scores are X W. The solution is W_jk = -P_jk / P_kk, P = (X' A X + reg I)^-1. Users count
    a_i = n_i^-balance of their n_i clicks, scaled so that a click weighs 1 on average; the paper has balance = 0.

    Takes time like n^3 and memory like 12 n^2 bytes of n items, and refuses beforehand where there is less.

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
    item_weights_ : array of shape (n_items, n_items)
    users_, items_
        See :class:`Estimator`.

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
        factor, failed = lapack.dpotrf(gram.T, lower=1, overwrite_a=1)
        if not failed:
            inverse, failed = lapack.dpotri(factor, lower=1, overwrite_c=1)
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
