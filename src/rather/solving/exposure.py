"""Which items people compared says something about them, and about the items: people do not rate at random.

Let E_ij = 1 / sqrt(n_i n_j) where user i met item j (n_i items in all, which n_j users met), else 0, and E = P Sigma R'
its leading singular triples. Items have the features h_j = Sigma R_j, users z_i = the direction of the sum of
R_j / sqrt(n_j) over the items they met, which is that of P_i Sigma. These are what the prior means of the vectors are
linear in:

    u_i ~ A' z_i        (v_j, b_j) ~ B' h_j

with the ridges of the model about these means, and ridges on A and B. Items that few have compared learn from those
that are met by the same people, and people from those who meet the same items.

Where items are handed out rather than chosen, E is as random as its margins allow and none of this holds. So the second
singular value (the first only says who meets how much) must stand out from that of a random E: from the edge of the
spectrum of a random matrix or, where it is near that, from the value of a shuffled E.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.source import Source
from ..errors import InputError
from ..native import FloatArray, core, factor
from .priors import Prior, Priors
from .scales import Scales
from .singular import singular

FEATURES = 100  # at most
ITERATIONS = 5
STRENGTH = 0.5  # of the ridges on A and B; as FEATURES and ITERATIONS, chosen on held-out training ratings
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

    def priors(self, scales: Scales, n_threads: int) -> Priors:
        """The prior means of the users' and of the items' rows."""
        made = (self.users, scales.user_ridge), (self.items, scales.item_ridge)
        return Priors(*(Prior(f, self.k, shape, STRENGTH, n_threads) for f, shape in made))


def person_features(parts: FloatArray, items: Any) -> FloatArray:
    """The features of someone who met the given items, once each: one row."""
    return unit_rows(parts[items].sum(axis=0, keepdims=True, dtype=np.float64))


def exposure_features(source: Source, *, wanted: bool | None, seed: int, n_threads: int) -> Exposure | None:
    """The features of the users and items of a source; None where they are not wanted.

    ``wanted=None``: where the spectrum stands out from a random one's.
    """
    k = min(FEATURES, source.n_users - 1, source.n_items - 1)
    if wanted and not source.exposes:
        raise InputError("exposure is for votes and ratings: comparisons from clicks are made of who met what already")
    if wanted and k < 2:
        size = f"{source.n_users} and {source.n_items}"
        raise InputError(f"exposure needs at least 3 users and 3 items, and there are {size}")
    if wanted is False or k < 2 or not source.exposes:
        return None
    store = source.store
    n_i = np.maximum(np.diff(store.start), 1).astype(np.float32)
    n_j = np.maximum(store.item_count, 1).astype(np.float32)
    ones = np.ones(store.n_entries, np.float32)
    entries = np.empty_like(ones)
    core.scaled(store, ones, 1 / np.sqrt(n_i), 1 / np.sqrt(n_j), entries, n_threads)
    if wanted is None and not _stands_out(store, entries, seed, n_threads):
        return None
    rng = np.random.default_rng(seed)
    values, _, right = singular(store, entries, columns=k, iterations=ITERATIONS, rng=rng, n_threads=n_threads)
    parts, items, users = (factor(n, k) for n in (store.n_items, store.n_items, store.n_users))
    parts[:, :k] = right[:, :k] / np.sqrt(n_j)[:, None]
    items[:, :k] = right[:, :k] * values
    core.user_products(store, ones, parts, users, n_threads)
    return Exposure(unit_rows(users), items, parts, n_j, k, int((values > _edge(store)).sum()))


def unit_rows(rows: Any) -> FloatArray:
    """Rows of length 1; rows of zeros stay."""
    length = np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.maximum(length, 1e-30), np.float32)


def _stands_out(store: Any, entries: FloatArray, seed: int, n_threads: int) -> bool:
    """Whether the second singular value exceeds the edge of a random matrix with as many entries a row and a column."""
    few = min(8, store.n_users, store.n_items)
    rng = np.random.default_rng(seed)
    values, _, _ = singular(store, entries, columns=few, iterations=ITERATIONS, rng=rng, n_threads=n_threads)
    edge = _edge(store)
    if not NEAR * edge < values[1] < STANDS_OUT * edge:
        return bool(values[1] >= STANDS_OUT * edge)
    return bool(values[1] > SHUFFLED * _second_shuffled(store, rng))


def _edge(store: Any) -> float:
    """The edge of the spectrum of a random matrix with as many entries a row and a column."""
    met = np.count_nonzero(np.diff(store.start)), np.count_nonzero(store.item_count)
    return float(sum(np.sqrt(n / max(store.n_entries, 1)) for n in met))


def _second_shuffled(store: Any, rng: np.random.Generator) -> float:
    """The second singular value of E where the same items are met by others: as many a user, and as many users each."""
    from scipy.sparse import csr_matrix, diags
    from scipy.sparse.linalg import svds

    item = rng.permutation(store.item)
    met = csr_matrix((np.ones(len(item)), item, store.start), shape=(store.n_users, store.n_items))
    met.sum_duplicates()
    met.data[:] = 1.0
    left, right = (diags(np.maximum(np.asarray(met.sum(axis=a)).ravel(), 1.0) ** -0.5) for a in (1, 0))
    if min(met.shape) <= 3:
        return float(np.linalg.svd((left @ met @ right).toarray(), compute_uv=False)[1])
    first = rng.standard_normal(min(met.shape))
    return float(np.sort(svds(left @ met @ right, k=2, v0=first, return_singular_vectors=False))[0])
