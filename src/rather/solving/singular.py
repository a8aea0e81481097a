"""Leading singular triples of a sparse matrix over a store, by block iteration in the core: fast and approximate."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import FloatArray, core, factor


def singular(
    store: Any, entries: FloatArray, *, columns: int, iterations: int, rng: np.random.Generator, n_threads: int
) -> tuple[npt.NDArray[np.float64], FloatArray, FloatArray]:
    """The leading singular values of a matrix with the given entries, and about its singular vectors."""
    left, right = blocks(store, columns, rng)
    values = core.singular(store, entries.astype(np.float32, copy=False), left, right, columns, iterations, n_threads)
    return np.array(values), left, right


def blocks(store: Any, columns: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Room for singular vectors of users and items, the latter filled at random: evenly, which is drawn fastest."""
    left, right = factor(store.n_users, columns), factor(store.n_items, columns)
    right[:, :columns] = rng.random((store.n_items, columns), dtype=np.float32) - np.float32(0.5)
    return left, right
