"""Simulated users of the paper's Bradley-Terry-Luce model, whose low-rank scores are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError, number
from ..logistic import sigmoid
from ..native import core, threads
from .comparisons import Comparisons
from .ids import Ids
from .ratings import Rated
from .rows import Pairs, Ratings, by_user, halved
from .votes import Votes

OWN_RELUCTANCE = 0.5  # the spread of its logarithm


@dataclass(frozen=True)
class World:
    """Hold simulated comparisons and the truth behind them.

    Attributes
    ----------
    comparisons : Comparisons
        The simulated comparisons.
    user_factors : array of shape (n_users, rank)
        True user vectors, in the order of ``comparisons.users``.
    item_factors : array of shape (n_items, rank)
        True item vectors, in the order of ``comparisons.items``.
    effects : dict
        True position bias, covariate effects and reluctance to decide, by name.
    careless : array of bool of shape (n_users,)
        Which users answer at random.

    See Also
    --------
    simulate : Simulate comparisons.

    Examples
    --------
    >>> import rather
    >>> world = rather.simulate(n_users=20, n_items=5, rank=2, seed=0)
    >>> world.user_factors.shape, world.item_factors.shape
    ((20, 2), (5, 2))
    """

    comparisons: Comparisons
    user_factors: npt.NDArray[np.float64]
    item_factors: npt.NDArray[np.float64]
    effects: Mapping[str, float]
    careless: npt.NDArray[np.bool_]

    @cached_property
    def scores(self) -> npt.NDArray[np.float64]:
        """True scores, an array of shape (n_users, n_items)."""
        n_users, n_items = len(self.user_factors), len(self.item_factors)
        if n_users * n_items > 2**28:
            raise InputError(
                f"the {n_users:,} x {n_items:,} table of true scores would take more than 2 GiB; "
                "multiply rows of user_factors with item_factors instead"
            )
        return np.asarray(self.user_factors @ self.item_factors.T)

    @cached_property
    def best_accuracy(self) -> float:
        """Accuracy on new comparisons that the true scores reach."""
        i, j, k = draw_pairs(np.random.default_rng(0), len(self.user_factors), len(self.item_factors), 200_000)
        return float(np.mean(sigmoid(np.abs(self.margins(i, j, k)))))

    def margins(self, i: Any, j: Any, k: Any) -> npt.NDArray[np.float64]:
        """Return true differences of scores between pairs of items.

        Parameters
        ----------
        i : array of int
            Codes of users.
        j : array of int
            Codes of the first items.
        k : array of int
            Codes of the second items.

        Returns
        -------
        array
            Score of the first item minus score of the second.

        See Also
        --------
        World.test : Simulate new comparisons.

        Examples
        --------
        >>> import rather
        >>> world = rather.simulate(n_users=20, n_items=5, rank=2, seed=0)
        >>> world.margins([0, 1], [2, 2], [3, 3]).shape
        (2,)
        """
        return np.asarray(np.einsum("tr,tr->t", self.user_factors[i], self.item_factors[j] - self.item_factors[k]))

    def test(self, n: int = 100_000, seed: int = 1) -> Comparisons:
        """Simulate new comparisons of the same items by the same users.

        The new comparisons are independent of the training comparisons. They follow taste alone: without position bias,
        covariates, ties or careless users.

        Parameters
        ----------
        n : int, default 100000
            Number of comparisons.
        seed : int, default 1
            Seed of the draw.

        Returns
        -------
        Comparisons
            The new comparisons.

        See Also
        --------
        pairwise_accuracy : Measure how many of them a model predicts.

        Examples
        --------
        >>> import rather
        >>> rather.simulate(n_users=50, n_items=20, per_user=10).test(n=300)
        Comparisons: 300 comparisons by 50 users over 20 items
        """
        number("n", n, at_least=1, integer=True)
        number("seed", seed, at_least=0, integer=True)
        rng = np.random.default_rng(seed)
        i, j, k = draw_pairs(rng, len(self.user_factors), len(self.item_factors), n)
        pairs = answers(rng, self.user_factors, self.item_factors, np.sort(i), j, k)
        return self.comparisons._with(Votes(self.comparisons.n_users, self.comparisons.n_items, pairs))


def simulate(
    n_users: int = 300,
    n_items: int = 200,
    rank: int = 3,
    per_user: int = 60,
    noise: float = 0.5,
    seed: int = 0,
    levels: int | None = None,
    ties: float = 0.0,
    side: float = 0.0,
    covariates: Mapping[str, float] | None = None,
    careless: float = 0.0,
) -> World:
    r"""Simulate users who compare random pairs of items by a low-rank taste.

    Use the result to try things out, or to check a method against a known truth. Users are called "user 0", "user 1",
    and so on, items "item 0", "item 1". Ids are sorted as text, so row 2 of ``user_factors`` belongs to "user 10".

    Parameters
    ----------
    n_users : int, default 300
        Number of users.
    n_items : int, default 200
        Number of items.
    rank : int, default 3
        Number of dimensions in which tastes differ.
    per_user : int, default 60
        Number of comparisons for each user. With ``levels``, number of items that each user rates.
    noise : float, default 0.5
        Noise of the answers. With the default, the true scores predict about 80 % of answers at rank 3. Answers become
        certain towards 0 and random towards infinity.
    seed : int, default 0
        Seed of the draw.
    levels : int, optional
        Number of stars of simulated ratings. Default: users vote instead.
    ties : float, default 0.0
        Median reluctance to decide. Users tie more often with higher values, and have their own reluctance.
    side : float, default 0.0
        Advantage of the item that stands first, in log-odds.
    covariates : dict of float, optional
        Effects of standard normal covariates by name, in log-odds for each unit.
    careless : float, default 0.0
        Share of users who answer at random.

    Returns
    -------
    World
        The comparisons and the truth behind them.

    Raises
    ------
    InputError
        If a parameter is out of range, or ``levels`` is combined with ties, side, covariates or careless.

    See Also
    --------
    World.test : Simulate new comparisons of the same world.
    answers_needed : Plan how many answers to collect.

    Notes
    -----
    User i prefers item j to item k with probability

    .. math:: \sigma(s_{ij} - s_{ik}), \quad s_{ij} = u_i \cdot v_j / \text{noise}.

    The vectors are normal and scaled so that :math:`u_i \cdot v_j` has variance 1. Ratings are scores plus Gumbel
    noise, cut so that all levels are about equally frequent.

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
    for name, value, most in (("ties", ties, 30.0), ("careless", careless, 1.0)):
        number(name, value, at_least=0, at_most=most)
    sways = {**({"side": side} if side else {}), **(covariates or {})}
    for name, value in sways.items():
        number(name, value, at_least=-30, at_most=30)
    if levels is not None and (ties or sways or careless):
        raise InputError("ties, side, covariates and careless are of votes, and levels makes ratings; give one of them")
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n_users, rank)) / (np.sqrt(rank) * noise)
    V = rng.standard_normal((n_items, rank))
    users, items = _names("user", n_users), _names("item", n_items)
    if levels is not None:
        number("levels", levels, at_least=2, integer=True)
        number("per_user", per_user, at_most=n_items)
        rated = Rated(n_users, n_items, _ratings(rng, U, V, per_user, levels))
        return World(Comparisons(users, items, rated), U, V, {}, np.zeros(n_users, bool))
    _, j, k = draw_pairs(rng, n_users, n_items, n_users * per_user)
    i, random = np.repeat(np.arange(n_users), per_user), np.zeros(n_users, bool)
    if not (ties or sways or careless):
        pairs = answers(rng, U, V, i, j, k)
    else:
        random[rng.permutation(n_users)[: round(careless * n_users)]] = True
        pairs = _swayed(rng, U, V, (i, j, k), ties, sways, random)
    source = Votes(n_users, n_items, pairs, effects=tuple(sways))
    truth = {**sways, **({"tie": ties} if ties else {})}
    return World(Comparisons(users, items, source), U, V, truth, random)


def _names(what: str, n: int) -> Ids:
    ids = np.empty(n, dtype=object)
    ids[:] = sorted(f"{what} {k}" for k in range(n))
    return ids


def _ratings(rng: np.random.Generator, U: Any, V: Any, per_user: int, levels: int) -> Ratings:
    n_users, n_items = len(U), len(V)
    item = np.empty(n_users * per_user, np.int32)
    core.sample_items(n_users, n_items, per_user, int(rng.integers(2**63)), item, threads(None))
    user = np.repeat(np.arange(n_users, dtype=np.int32), per_user)
    rating = np.empty(len(item))
    cuts: Any = None
    for first in range(0, len(item), 2**22):  # a block at a time keeps memory small
        block = slice(first, first + 2**22)
        felt = np.einsum("tr,tr->t", U[user[block]], V[item[block]]) + rng.gumbel(size=len(item[block]))
        if cuts is None:
            cuts = np.quantile(felt, np.arange(1, levels) / levels)
        rating[block] = np.searchsorted(cuts, felt) + 1
    return Ratings(user, item, rating)


def _swayed(
    rng: np.random.Generator, U: Any, V: Any, asked: Any, ties: float, sways: Mapping[str, float], random: Any
) -> Pairs:
    """Draw answers with effects, ties and random answers; random answers tie as often as the others."""
    i, j, k = asked
    z = rng.standard_normal((len(i), len(sways)))
    if "side" in sways:
        z[:, list(sways).index("side")] = np.where(rng.random(len(i)) < 0.5, 1.0, -1.0)
    own = ties * np.exp(OWN_RELUCTANCE * rng.standard_normal(len(U)))[i]
    margin = np.einsum("tr,tr->t", U[i], V[j] - V[k]) + z @ np.array([*sways.values()])
    margin[random[i]] = 0.0
    drawn, won, lost = rng.random(len(i)), sigmoid(margin - own), sigmoid(-margin - own)
    first, tied = drawn < won, (drawn >= won) & (drawn < 1 - lost)
    winner, loser = np.where(first | tied, j, k), np.where(first | tied, k, j)
    around = (z * np.where(first | tied, 1.0, -1.0)[:, None]).astype(np.float32) if sways else None
    pairs = Pairs(i.astype(np.int32), winner.astype(np.int32), loser.astype(np.int32), around=around)
    return by_user(halved(pairs, tied)) if tied.any() else pairs


def draw_pairs(rng: np.random.Generator, n_users: int, n_items: int, n: int) -> tuple[Any, Any, Any]:
    """Uniform users and pairs of different items."""
    i, j = rng.integers(0, n_users, n), rng.integers(0, n_items, n)
    k = (j + rng.integers(1, n_items, n)) % n_items
    return i, j, k


def answers(rng: np.random.Generator, U: Any, V: Any, i: Any, j: Any, k: Any) -> Pairs:
    margin = np.einsum("tr,tr->t", U[i], V[j] - V[k])
    first = rng.random(len(i)) < sigmoid(margin)
    winner, loser = np.where(first, j, k), np.where(first, k, j)
    return Pairs(i.astype(np.int32), winner.astype(np.int32), loser.astype(np.int32))
