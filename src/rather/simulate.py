"""The paper's Bradley-Terry-Luce world, with a known low-rank truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .comparisons import Comparisons, Pairs
from .errors import InputError, number
from .ids import Ids


@dataclass(frozen=True)
class World:
    """Comparisons and the truth behind them.

    Attributes
    ----------
    comparisons : Comparisons
    user_factors, item_factors : arrays of shape (n_users, rank) and (n_items, rank)
        Scores are their products; P(i prefers j to k) = sigma(s_ij - s_ik).
    """

    comparisons: Comparisons
    user_factors: npt.NDArray[np.float64]
    item_factors: npt.NDArray[np.float64]

    @cached_property
    def scores(self) -> npt.NDArray[np.float64]:
        """The true scores, n_users x n_items."""
        n_users, n_items = len(self.user_factors), len(self.item_factors)
        if n_users * n_items > 2**28:
            raise InputError(
                f"the {n_users:,} x {n_items:,} table of true scores would take more than 2 GiB; "
                "multiply rows of user_factors with item_factors instead"
            )
        return np.asarray(self.user_factors @ self.item_factors.T)

    @cached_property
    def best_accuracy(self) -> float:
        """The accuracy on fresh comparisons of someone who knows the truth: the mean of max(P, 1 - P) over pairs."""
        i, j, k = _draw(np.random.default_rng(0), len(self.user_factors), len(self.item_factors), 200_000)
        return float(np.mean(_sigmoid(np.abs(self.margins(i, j, k)))))

    def margins(self, i: Any, j: Any, k: Any) -> npt.NDArray[np.float64]:
        """True score differences s_ij - s_ik, by code."""
        return np.asarray(np.einsum("tr,tr->t", self.user_factors[i], self.item_factors[j] - self.item_factors[k]))

    def test(self, n: int = 100_000, seed: int = 1) -> Comparisons:
        """Fresh comparisons by the same users of the same items, drawn independently of the training ones."""
        number("n", n, at_least=1, integer=True)
        number("seed", seed, at_least=0, integer=True)
        rng = np.random.default_rng(seed)
        i, j, k = _draw(rng, len(self.user_factors), len(self.item_factors), n)
        pairs = _answers(rng, self.user_factors, self.item_factors, np.sort(i), j, k)
        return Comparisons(self.comparisons.users, self.comparisons.items, pairs=pairs)


def simulate(
    n_users: int = 300, n_items: int = 200, rank: int = 3, per_user: int = 60, noise: float = 0.5, seed: int = 0
) -> World:
    """Users who compare random pairs of items by a low-rank taste and the Bradley-Terry-Luce model.

    Scores are s_ij = u_i . v_j / noise with standard normal vectors scaled so that u_i . v_j has variance 1; user i
    prefers j to k with probability sigma(s_ij - s_ik). Users are called "user 0", ..., items "item 0", ....

    Parameters
    ----------
    n_users, n_items, rank : int
    per_user : int
        Comparisons per user, each of two different items drawn uniformly.
    noise : float
        0.5 makes the best attainable accuracy about 0.80 at rank 3; towards 0 answers become certain, towards infinity
        random.
    seed : int

    Examples
    --------
    >>> import rather
    >>> world = rather.simulate(n_users=50, n_items=20, per_user=10)
    >>> world.comparisons, world.scores.shape
    (Comparisons: 500 comparisons by 50 users over 20 items, (50, 20))
    """
    number("n_users", n_users, at_least=1, integer=True)
    number("n_items", n_items, at_least=2, integer=True)
    number("rank", rank, at_least=1, integer=True)
    number("per_user", per_user, at_least=1, integer=True)
    number("noise", noise, above=0)
    number("seed", seed, at_least=0, integer=True)
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n_users, rank)) / (np.sqrt(rank) * noise)
    V = rng.standard_normal((n_items, rank))
    _, j, k = _draw(rng, n_users, n_items, n_users * per_user)
    pairs = _answers(rng, U, V, np.repeat(np.arange(n_users), per_user), j, k)
    # Codes follow the sorted order of the names, so the truth is put into that order.
    users, by_user = _names("user", n_users)
    items, by_item = _names("item", n_items)
    user_code, item_code = np.argsort(by_user), np.argsort(by_item)
    order = np.argsort(user_code[pairs.user], kind="stable")
    pairs = Pairs(
        user_code[pairs.user][order].astype(np.int32),
        item_code[pairs.winner][order].astype(np.int32),
        item_code[pairs.loser][order].astype(np.int32),
    )
    return World(Comparisons(users, items, pairs=pairs), U[by_user], V[by_item])


def _names(what: str, n: int) -> tuple[Ids, Any]:
    names = [f"{what} {k}" for k in range(n)]
    order = sorted(range(n), key=names.__getitem__)
    ids = np.empty(n, dtype=object)
    ids[:] = [names[k] for k in order]
    return ids, np.array(order)


def _draw(rng: np.random.Generator, n_users: int, n_items: int, n: int) -> tuple[Any, Any, Any]:
    """Uniform users and pairs of different items."""
    i, j = rng.integers(0, n_users, n), rng.integers(0, n_items, n)
    k = (j + rng.integers(1, n_items, n)) % n_items
    return i, j, k


def _answers(rng: np.random.Generator, U: Any, V: Any, i: Any, j: Any, k: Any) -> Pairs:
    margin = np.einsum("tr,tr->t", U[i], V[j] - V[k])
    first = rng.random(len(i)) < _sigmoid(margin)
    winner, loser = np.where(first, j, k), np.where(first, k, j)
    return Pairs(i.astype(np.int32), winner.astype(np.int32), loser.astype(np.int32))


def _sigmoid(x: Any) -> Any:
    return 0.5 * (1 + np.tanh(0.5 * x))  # which does not overflow
