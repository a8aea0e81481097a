"""Features from exposure: users choose which items they compare, so the choice carries information.

Let E_ij = 1 / sqrt(n_i n_j) where user i met item j (n_i items in all, which n_j users met), else 0, and E = P Sigma R'
its leading singular triples. Items have the features h_j = Sigma R_j. The features z_i of a user have the direction of
the sum of R_j / sqrt(n_j) over the items the user met, which is that of P_i Sigma. The prior means of the vectors are
linear in these features:

    u_i ~ A' z_i        (v_j, b_j) ~ B' h_j

with the ridges of the model about these means, and ridges on A and B. Items that few have compared learn from items
that the same users meet, and users learn from users who meet the same items.

If items are assigned rather than chosen, E is as random as its margins allow, and exposure carries no information. So
the second singular value must exceed that of a random E. (The first one only reflects how much each user meets.) The
threshold is the edge of the spectrum of a random matrix or, near that edge, the value of a shuffled E.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.ids import Codes
from ..data.source import Source
from ..errors import InputError
from ..native import FloatArray, core, factor
from .priors import Block
from .singular import blocks, singular

FEATURES = 100  # at most
ITERATIONS = 5
CLOSELY = 20  # where there is no telling values apart
FOLLOWING = 1  # from the vectors of before, where there are some
STRENGTH = 0.7  # of the ridges on A and B; as FEATURES and ITERATIONS, chosen on held-out training ratings
STANDS_OUT, NEAR, SHUFFLED = 1.25, 0.95, 1.02  # times the edge of a random spectrum; times the shuffled value


@dataclass(frozen=True)
class Exposure:
    """Features of users and items, laid out as factors are, of which the first ``k`` columns count.

    ``parts`` are R_j / sqrt(n_j): a person's features are the direction of the sum over the items they met. ``met`` are
    the n_j. The singular values of the first ``standing`` features are above the edge of a random spectrum.
    """

    users: FloatArray
    items: FloatArray
    parts: FloatArray
    met: FloatArray
    k: int
    standing: int
    values: npt.NDArray[np.float64]

    def vectors(self) -> FloatArray:
        """The singular vectors of the items."""
        return np.asarray(self.parts[:, : self.k] * np.sqrt(self.met)[:, None], np.float32)

    def blocks(self) -> tuple[Block, Block]:
        """Return the features of the users and of the items, in which prior means are linear."""
        return Block(self.users, self.k, STRENGTH), Block(self.items, self.k, STRENGTH)


def exposure_features(source: Source, *, wanted: bool | None, seed: int, n_threads: int) -> Exposure | None:
    """The features of the users and items of a source; None where they are not wanted.

    ``wanted=None``: where the spectrum stands out from a random one's.
    """
    if wanted and not source.exposes:
        raise InputError("exposure is for votes and ratings: comparisons from clicks are made of who met what already")
    if wanted is False or not source.exposes:
        return None
    store = source.store
    k = min(FEATURES, store.all_users - 1, store.n_items - 1)
    if k < 2:
        if wanted:
            size = f"{store.all_users} and {store.n_items}"
            raise InputError(f"exposure needs at least 3 users and 3 items, and there are {size}")
        return None
    entries, n_j = _entries(store, n_threads)
    if wanted is None and not _stands_out(store, entries, seed, n_threads):
        return None
    right = blocks(store, k, np.random.default_rng(seed))[1]
    return _from_items(store, entries, n_j, right, k, ITERATIONS, n_threads)


def followed(source: Source, right: FloatArray, k: int, n_threads: int) -> Exposure:
    """The features of a source that has grown, from about its singular vectors of items: those of before it grew.

    ``right`` is laid out as a factor is and used up; new items have rows of zeros in it.
    """
    entries, n_j = _entries(source.store, n_threads)
    return _from_items(source.store, entries, n_j, right, k, FOLLOWING, n_threads)


def restored(source: Source, parts: FloatArray, n_threads: int, values: Any = None) -> Exposure:
    """The features of a source from what is kept of them, the parts of a person's, and the singular values if known."""
    store, k = source.store, parts.shape[1]
    entries, n_j = _entries(store, n_threads)
    right, left = factor(store.n_items, k), factor(store.n_users, k)
    right[:, :k] = parts * np.sqrt(n_j)[:, None]
    if values is None:
        core.user_products(store, entries, right, left, n_threads)
        values = np.sqrt(np.square(left[:, :k], dtype=np.float64).sum(axis=0))
    return _features(store, n_j, right, values, k, int((values > _edge(store)).sum()), n_threads)


def carried(source: Source, before: Exposure, known: Codes, n_threads: int) -> Exposure:
    """The features of a source that has grown a little: the known items keep their singular vectors.

    ``known`` are their codes now. Those of new items are what the vectors of others make of them, R = E' E R / Sigma^2.
    """
    store, k = source.store, before.k
    entries, n_j = _entries(store, n_threads)
    right, new = factor(store.n_items, k), np.ones(store.n_items, bool)
    right[known, :k], new[known] = before.vectors(), False
    if new.any():
        left, back = factor(store.n_users, k), factor(store.n_items, k)
        core.user_products(store, entries, right, left, n_threads)
        core.item_products(store, entries, left, back, n_threads)
        right[new, :k] = back[new, :k] / np.maximum(before.values, 1e-6) ** 2
    return _features(store, n_j, right, before.values, k, before.standing, n_threads)


def _entries(store: Any, n_threads: int) -> tuple[FloatArray, FloatArray]:
    """The entries of E, and the n_j."""
    n_i = np.maximum(np.diff(store.start), 1).astype(np.float32)
    n_j = np.maximum(store.item_count, 1).astype(np.float32)
    entries = np.empty(store.n_entries, np.float32)
    core.scaled(store, None, 1 / np.sqrt(n_i), 1 / np.sqrt(n_j), entries, n_threads)
    return entries, n_j


def _from_items(
    store: Any, entries: FloatArray, n_j: FloatArray, right: FloatArray, k: int, iterations: int, n_threads: int
) -> Exposure:
    """The features that block iterations lead to from vectors of the items."""
    values = np.array(core.singular(store, entries, factor(store.n_users, k), right, k, iterations, n_threads))
    return _features(store, n_j, right, values, k, int((values > _edge(store)).sum()), n_threads)


def _features(
    store: Any, n_j: FloatArray, right: FloatArray, values: Any, k: int, standing: int, n_threads: int
) -> Exposure:
    """The features that singular values and vectors of the items stand for."""
    parts, items = factor(store.n_items, k), factor(store.n_items, k)
    parts[:, :k] = right[:, :k] / np.sqrt(n_j)[:, None]
    items[:, :k] = right[:, :k] * values
    return Exposure(people_features(store, parts, n_threads), items, parts, n_j, k, standing, values)


def people_features(store: Any, parts: FloatArray, n_threads: int) -> FloatArray:
    """The features of a store's users, from the items they compared."""
    users = factor(store.n_users, parts.shape[1])
    core.user_products(store, np.ones(store.n_entries, np.float32), parts, users, n_threads)
    return unit_rows(users)


def unit_rows(rows: Any) -> FloatArray:
    """Rows of length 1; rows of zeros stay."""
    length = np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.maximum(length, 1e-30), np.float32)


def _stands_out(store: Any, entries: FloatArray, seed: int, n_threads: int) -> bool:
    """Whether the second singular value exceeds the edge of a random matrix with as many entries a row and a column."""
    few = min(8, store.all_users, store.n_items)
    rng = np.random.default_rng(seed)
    values, _, _ = singular(store, entries, columns=few, iterations=ITERATIONS, rng=rng, n_threads=n_threads)
    edge = _edge(store)
    if not NEAR * edge < values[1] < STANDS_OUT * edge:
        return bool(values[1] >= STANDS_OUT * edge)
    return bool(values[1] > SHUFFLED * _second_shuffled(store, rng, seed, n_threads))


def _edge(store: Any) -> float:
    """The edge of the spectrum of a random matrix with as many entries a row and a column."""
    users = core.sum_users(store, (np.diff(store.start) > 0).astype(np.float64), 1)
    met = users, np.count_nonzero(store.item_count)
    return float(sum(np.sqrt(n / max(store.all_entries, 1)) for n in met))


def _second_shuffled(store: Any, rng: np.random.Generator, seed: int, n_threads: int) -> float:
    """The second singular value of E where the same items are met by others: as many a user, and as many users each."""
    from scipy.sparse import csr_matrix, diags
    from scipy.sparse.linalg import svds

    if store.sharded:  # the same for everybody, whoever has which users
        return _second_in_shards(store, seed, n_threads)
    item = rng.permutation(store.item)
    met = csr_matrix((np.ones(len(item)), item, store.start), shape=(store.n_users, store.n_items))
    met.sum_duplicates()
    met.data[:] = 1.0
    left, right = (diags(np.maximum(np.asarray(met.sum(axis=a)).ravel(), 1.0) ** -0.5) for a in (1, 0))
    if min(met.shape) <= 3:
        return float(np.linalg.svd((left @ met @ right).toarray(), compute_uv=False)[1])
    first = rng.standard_normal(min(met.shape))
    return float(np.sort(svds(left @ met @ right, k=2, v0=first, return_singular_vectors=False))[0])


def _second_in_shards(store: Any, seed: int, n_threads: int) -> float:
    """About the same where users are elsewhere too: items are shuffled within every shard."""
    item, user = store.item.copy(), np.repeat(np.arange(store.n_users, dtype=np.int32), np.diff(store.start))
    for k, (first, last) in enumerate(pairwise(store.start[store.shard_start].tolist())):
        item[first:last] = np.random.default_rng([seed, store.first_shard + k]).permutation(item[first:last])
    met = np.unique(user.astype(np.int64) * store.n_items + item)
    user, item = (met // store.n_items).astype(np.int32), (met % store.n_items).astype(np.int32)
    shuffled = core.store_from_ratings(
        store.n_users, store.n_items, user, item, np.arange(len(item), dtype=np.float64), n_threads
    )
    shuffled.in_shards_of(store, n_threads)
    entries, _ = _entries(shuffled, n_threads)
    few, rng = min(8, store.all_users, store.n_items), np.random.default_rng(seed)
    values, _, _ = singular(shuffled, entries, columns=few, iterations=CLOSELY, rng=rng, n_threads=n_threads)
    return float(values[1])
