"""Weights and ridges of users and items: ridges grow with counts, and weights of users fall with theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..native import FloatArray, core


@dataclass(frozen=True)
class Scales:
    """The shapes of the ridges, before ``reg`` scales them, and the weights of users."""

    user_ridge: FloatArray
    item_ridge: FloatArray
    user_weight: FloatArray


@dataclass(frozen=True)
class UserRule:
    """The rule for the weight of a user, which also applies to new users.

    A user who compared n items has the ridge shape (n / typical)^power; all of their N comparisons have the weight
    N^-balance.
    """

    power: float
    typical: float
    balance: float

    def ridge_shape(self, items: Any) -> FloatArray:
        return shape(items, self.typical, self.power)

    def weight(self, comparisons: Any) -> FloatArray:
        return np.asarray(np.maximum(comparisons, 1.0) ** -self.balance, np.float32)


def scales(store: Any, *, user_power: float, item_power: float, balance: float) -> tuple[Scales, UserRule]:
    """Return the scales of the users and items of a store, and the rule for users.

    An item's count is the number of users who compared it, a user's the number of items they compared. The power 0 is
    the plain ridge; 1/2 for items is the weighted trace norm for a popularity far from uniform.
    """
    users = np.diff(store.start).astype(np.float64)
    items = store.item_count.astype(np.float64)
    comparisons = np.empty(store.n_users)
    core.comparisons_per_user(store, comparisons)
    rule = UserRule(user_power, usual(*(core.sum_users(store, users**k, 1) for k in (2, 1))), balance)
    item_ridge = shape(items, typical(items), item_power)
    return Scales(rule.ridge_shape(users), item_ridge, rule.weight(comparisons)), rule


def typical(count: Any) -> float:
    """The count as an average (user, item) entry sees it: sum count^2 / sum count."""
    return usual((count**2).sum(), count.sum())


def usual(squares: Any, counts: Any) -> float:
    """The same from the sums of the counts' squares and of the counts."""
    return max(1.0, float(squares / max(counts, 1.0)))


def shape(count: Any, usual: float, power: float) -> FloatArray:
    """The shape of the ridge of what has a count, where so many are usual."""
    return np.asarray((np.maximum(count, 1.0) / usual) ** power, np.float32)
