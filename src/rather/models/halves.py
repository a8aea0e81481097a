"""How much estimates are off that take fitted items as given, by the same estimates from halves of the people.

A model of how people answer (``solving.mixed``) allows for what is not known of people, but takes the items' vectors as
known, and those were fitted to the same answers: they agree with them too well, by about as much as there are fewer
answers. With half of the people there are half as many, so that

    mean of the estimates from either half - estimate from all

is about by how much the latter is off: the split-panel jackknife (G. Dhaene, K. Jochmans: Split-panel jackknife
estimation of fixed-effect models. Review of Economic Studies 82, 2015).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.source import Source
from ..native import threads
from ..solving import start
from ..solving.mixed import Answering, answering
from ..solving.newton import Newton
from ..solving.reg import reg_scales

ROUNDS, TOL = 40, 3e-4
FEWEST = 20  # people in a half


def bias(model: Any, source: Source, found: Answering) -> Any:
    """Of the estimates that a fitted model gives for its source; 0 where halves say too little."""
    n_threads = threads(model.n_threads)
    people = np.flatnonzero(np.diff(source.store.start) > 0)
    drawn = np.random.default_rng(model.seed).permutation(people)
    parts = []
    for half in (drawn[::2], drawn[1::2]):
        chosen = np.zeros(source.n_users, bool)
        chosen[half] = True
        parts.append(source.of_users(chosen))
    if len(drawn) < 2 * FEWEST or any(((p.store.item_count > 0) != (source.store.item_count > 0)).any() for p in parts):
        return np.zeros(len(found.estimate))
    scales = reg_scales(source.store, loss=model.loss, scales=model._scales(source)[0], n_threads=n_threads)
    factors = model.reg_ / scales[0], model.bias_reg_ / scales[1]
    each = []
    for part in parts:
        problem = model._problem(part, model._scales(part)[0], None, model.rank_, *factors)
        model._sways(problem, part)
        start.from_items(problem, model.V_, model.seed)
        solver = Newton(problem, model.seed)
        for _ in range(ROUNDS):
            if solver.round()["gap"] <= TOL:
                break
        coins = model.trust_ is not None
        each.append(
            answering(part, problem.U, problem.V, problem.rank, n_threads, problem.effects(), coins, found.directions)
        )
    return np.mean([one.estimate for one in each], axis=0) - found.estimate
