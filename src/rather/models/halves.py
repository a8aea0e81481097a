"""Effects, estimated with halves of the people: what is due to items that were fitted to the same answers is taken off.

A model of how people answer (``solving.mixed``) allows for what is not known of people, but takes the items' vectors as
known, and those were fitted to the same answers: they agree with them too well, by about as much as there are fewer
answers. With half of the people there are half as many, so that

    mean of the estimates from either half - estimate from all

is about by how much the latter is off: the split-panel jackknife (G. Dhaene, K. Jochmans: Split-panel jackknife
estimation of fixed-effect models. Review of Economic Studies 82, 2015). That takes enough answers. Of one half's items
with the other half's people nothing agrees too well, and estimates are too small by what is not known of the items; if
that is far from the others, they are what there is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.source import Source
from ..native import threads
from ..solving import start
from ..solving.mixed import Answering, answering, plainly
from ..solving.newton import Newton
from ..solving.problem import Problem
from ..solving.reg import reg_scales
from ..solving.rounds import Stop, solve

ROUNDS, TOL = 40, 3e-4
FEWEST = 20  # people in a half
TOO_LARGE = 1.5  # times what coins explain
MUCH, NOTED = 0.25, 2.0  # a difference between the two, beside the estimate and beside its error


def estimates(model: Any, source: Source) -> tuple[tuple[str, ...], Any, Any]:
    """(names, estimates, standard errors) of a fitted model's effects."""
    n_threads, source = threads(model.n_threads), plainly(source)
    ties, people = model._models_ties(source), np.flatnonzero(np.diff(source.store.start) > 0)
    coins = model.trust_ is not None

    def given(part: Source, U: Any, V: Any, rank: int, sway: Any, directions: int | None) -> Answering:
        return answering(part, U, V, rank, n_threads, sway, coins, directions, ties)

    def of_all() -> Answering:
        return given(source, model.U_, model.V_, model.rank_, model._sway_of(source), None)

    found = of_all()
    if coins:  # which make effects larger by as many as they are; what they make larger still was picked, not found
        share, coins = float(found.trust[people].mean()), False
        plain = of_all()
        largest = TOO_LARGE * np.abs(plain.estimate) / share + 2 * plain.error
        coins = bool((np.abs(found.estimate) <= largest).all())
        found = found if coins else plain
    people = np.random.default_rng(model.seed).permutation(people)
    if len(people) < 2 * FEWEST:
        return found.names, found.estimate, found.error
    parts = [source.of_users(np.isin(np.arange(source.n_users), half)) for half in (people[::2], people[1::2])]
    fits = _fits(model, source, parts, n_threads)
    own = [
        given(part, fit.U, fit.V, fit.rank, fit.effects(), found.directions)
        for part, fit in zip(parts, fits, strict=True)
    ]
    estimate = 2 * found.estimate - np.mean([one.estimate for one in own], axis=0)
    crossed = [
        given(part, fit.U, fit.V, fit.rank, fit.effects(), None) for part, fit in zip(parts, fits[::-1], strict=True)
    ]
    safe = np.mean([one.estimate for one in crossed], axis=0)
    apart = np.abs(estimate - safe)
    if ((apart > MUCH * np.abs(estimate)) & (apart > NOTED * found.error)).any():
        return found.names, safe, np.sqrt(sum(one.error**2 for one in crossed)) / 2
    return found.names, estimate, found.error


def _fits(model: Any, source: Source, parts: list[Source], n_threads: int) -> list[Problem]:
    """What the model would be of either part, as stiff for its size."""
    scales = reg_scales(source.store, loss=model.loss, scales=model._scales(source)[0], n_threads=n_threads)
    factors = model.reg_ / scales[0], model.bias_reg_ / scales[1]
    made = []
    for part in parts:
        problem = model._problem(part, model._scales(part)[0], None, model.rank_, *factors)
        model._sways(problem, part)
        start.from_items(problem, model.V_, model.seed)
        solve(Newton(problem, model.seed), Stop(TOL, ROUNDS))
        made.append(problem)
    return made
