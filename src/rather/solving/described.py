"""Prior means that are linear in exposure and in features of items and users."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..data.described import OFF, Described
from ..native import FloatArray, factor
from .exposure import Exposure
from .priors import Block, Prior, Priors
from .scales import Scales

FEW = 20.0  # who met a row, from where on it counts about as much as any other


class Known(NamedTuple):
    """The features of the users and of the items of comparisons."""

    users: Described | None = None
    items: Described | None = None

    @property
    def tied(self) -> bool:
        """Whether items are nothing but their features."""
        return self.items is not None and not self.items.own


NOTHING = Known()
_TIED: WeakKeyDictionary[Described, dict[int, Prior]] = WeakKeyDictionary()


def priors(store: Any, scales: Scales, exposed: Exposure | None, known: Known, n_threads: int) -> Priors | None:
    """The prior means of the rows of a store's users and of the items; None where nothing is known of either."""
    met = ((), ()) if exposed is None else tuple((block,) for block in exposed.blocks())
    blocks = [(*own, *_blocks(described)) for own, described in zip(met, known, strict=True)]
    if not any(blocks):
        return None
    users = Prior(blocks[0], scales.user_ridge, n_threads, np.diff(store.start) > 0, store)
    if known.tied and known.items is not None:
        return Priors(users, _tied(known.items, n_threads))
    return Priors(users, Prior(blocks[1], scales.item_ridge, n_threads, np.asarray(store.item_count) > 0))


def _tied(items: Described, n_threads: int) -> Prior:
    """Return the prior of items without vectors beside their features, shared by all problems."""
    made = _TIED.setdefault(items, {})
    if n_threads not in made:
        made[n_threads] = Prior(_blocks(items), np.ones(len(items.rows), np.float32), n_threads, own=False)
    return made[n_threads]


def _blocks(described: Described | None) -> list[Block]:
    """The blocks of features that are in use."""
    if described is None or described.strengths is None:
        return []
    if not described.own:
        return [Block(described.rows, described.k, 1.0)]
    every = zip(described.encoder.blocks, described.strengths, strict=True)
    used = [(block, strength) for block, strength in every if strength != OFF]
    if len(used) == len(described.strengths) == 1:
        return [Block(described.rows, described.k, used[0][1])]
    return [Block(_columns(described.rows, b.start, b.stop), b.stop - b.start, strength) for b, strength in used]


def _columns(rows: FloatArray, start: int, stop: int) -> FloatArray:
    out = factor(len(rows), stop - start)
    out[:, : stop - start] = rows[:, start:stop]
    return out


def alone(described: Described, rows: FloatArray, count: Any, times: float, n_threads: int) -> FloatArray:
    """Coefficients of all the encoder's columns, for those of whom nothing but their features is known.

    A regression of the rows on these features alone, be the others of who met what: of what is new, that is not known.
    Rows count for n / (n + FEW), of n who met them: what is new may be anything, not what many met. ``times`` are the
    strengths taken of those in the fit.
    """
    used = [Block(b.features, b.k, times * b.strength) for b in _blocks(described)]
    prior = Prior(used, alone_weight(count), n_threads)
    made = by_column(described, prior.coefficients(rows))
    assert made is not None
    return made


def alone_weight(count: Any) -> FloatArray:
    return np.asarray(count, np.float32) / np.float32(np.asarray(count) + FEW)


def by_column(described: Described | None, coefficients: FloatArray) -> FloatArray | None:
    """Coefficients of the blocks in use as those of all the encoder's columns; None where nothing is known."""
    if described is None or described.strengths is None:
        return None
    if not len(coefficients):
        return np.zeros((described.encoder.width, coefficients.shape[1]), np.float32)
    if described.axes is not None:
        return np.asarray(np.einsum("ka,ac->kc", described.axes, coefficients, dtype=np.float64), np.float32)
    out, first = np.zeros((described.encoder.width, coefficients.shape[1]), np.float32), 0
    for block, strength in zip(described.encoder.blocks, described.strengths, strict=True):
        if strength != OFF:
            out[block.start : block.stop] = coefficients[first : first + block.stop - block.start]
            first += block.stop - block.start
    return out
