"""Slow, plain float64 versions of what the core computes, for tests to compare with."""

import numpy as np

LOSSES = {
    "squared_hinge": (
        lambda x: np.maximum(0, 1 - x) ** 2,
        lambda x: -2 * np.maximum(0, 1 - x),
        lambda x: 2.0 * (x < 1),
    ),
    "hinge": (lambda x: np.maximum(0, 1 - x), lambda x: -1.0 * (x < 1), lambda x: 0.0 * x),
    "logistic": (
        lambda x: np.logaddexp(0, -x),
        lambda x: -1 / (1 + np.exp(x)),
        lambda x: 1 / ((1 + np.exp(x)) * (1 + np.exp(-x))),
    ),
}


def smoothed_hinge(delta):
    """The hinge with its kink rounded over [1 - delta, 1]."""
    return (
        lambda x: np.where(x >= 1, 0, np.where(x <= 1 - delta, 1 - x - delta / 2, (1 - x) ** 2 / (2 * delta))),
        lambda x: -np.clip((1 - x) / delta, 0, 1),
        lambda x: ((x < 1) & (x > 1 - delta)) / delta,
    )


def objective(comparisons, problem):
    """F(U, V, b), straight from its definition, over the comparisons one by one."""
    pairs, r = comparisons.pairs(), problem.rank
    U, V = problem.U.astype(float), problem.V.astype(float)
    margin = np.einsum("tk,tk->t", U[pairs.user], V[pairs.winner] - V[pairs.loser])
    weight = 1.0 if pairs.weight is None else pairs.weight
    loss = (weight * LOSSES[problem.loss_name][0](margin)).sum()
    ridge = (problem.p * (U[:, :r] ** 2).sum(1)).sum() + (problem.q * (V[:, :r] ** 2).sum(1)).sum()
    return loss + 0.5 * (ridge + (problem.beta * V[:, r] ** 2).sum())


def entry_pairs(store, comparisons):
    """Every comparison as (entry of the winner, entry of the loser) in the store, and its weight."""
    place = {(i, j): e for i in range(store.n_users) for e in range(*store.start[i : i + 2]) for j in [store.item[e]]}
    pairs = comparisons.pairs()
    winner = np.array([place[k] for k in zip(pairs.user, pairs.winner, strict=True)])
    loser = np.array([place[k] for k in zip(pairs.user, pairs.loser, strict=True)])
    return winner, loser, np.ones(len(winner)) if pairs.weight is None else pairs.weight.astype(float)
