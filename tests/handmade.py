"""A model whose scores are given: what metrics and lists say of it can be worked out by hand."""

import numpy as np

from rather import AltSVM
from rather.data.ids import Vocabulary, as_ids
from rather.data.rows import row_starts
from rather.data.votes import Votes
from rather.models.calibration import Calibration, Slope
from rather.models.fitted import FittedModel
from rather.models.scorers import Factors
from rather.native import factor
from rather.solving.scales import UserRule


def written(comparisons, pairs=None):
    """The same comparisons, or others by the same users of the same items, held one by one."""
    pairs = comparisons.pairs() if pairs is None else pairs
    return comparisons._with(Votes(comparisons.n_users, comparisons.n_items, pairs, comparisons.implied))


def ruled(votes, pairs=None):
    """Votes, or others by the same users, taken for implied ones: their reg is the rule's, not chosen."""
    pairs = votes.pairs() if pairs is None else pairs
    return votes._with(Votes(votes.n_users, votes.n_items, pairs, implied=True))


def model_of(scores, users=None, items=None, seen=()):
    """A model that gives user i and item j exactly ``scores[i][j]``; ``seen`` are pairs of codes (user, item)."""
    scores = np.asarray(scores, np.float32)
    n_users, n_items = scores.shape
    users = [f"u{i}" for i in range(n_users)] if users is None else users
    items = [chr(ord("A") + j) for j in range(n_items)] if items is None else items
    U, V = factor(n_users, n_items + 1), factor(n_items, n_items + 1)
    U[:, :n_items], U[:, n_items], V[:, :n_items] = scores, 1, np.eye(n_items)
    who, what = np.array(sorted(seen), np.int32).reshape(-1, 2).T
    model = AltSVM(rank=n_items)
    model._fitted = FittedModel(
        {}, Vocabulary(as_ids(users, "users"), "user"), Vocabulary(as_ids(items, "items"), "item"), "dict", {},
        (row_starts(who, n_users), what.copy()), Factors.packed(U, V, n_items), None, Slope(Calibration(1.0)),
        loss="squared_hinge", reg=1.0, user_rule=UserRule(0.0, 1.0, 0.0), history=[],
    )  # fmt: skip
    return model
