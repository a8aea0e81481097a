"""Estimates of effects, corrected for the bias of items that were fitted to the same answers.

The model of answers (``solving.mixed``) allows for uncertain people, but takes the items' vectors as known. These were
fitted to the same answers and agree with them too well, by an amount that is inversely proportional to the number of
answers. Half of the people give half of the answers, so the bias is about

    mean of the estimates from either half - estimate from all

This is the split-panel jackknife (G. Dhaene, K. Jochmans: Split-panel jackknife estimation of fixed-effect models.
Review of Economic Studies 82, 2015). It needs enough answers. Items of one half with the people of the other half have
no such bias, but the errors of the items make these estimates too small. They are used if they are far from the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.source import Source
from ..solving import start
from ..solving.mixed import Answering, answering, plainly
from ..solving.newton import Newton
from ..solving.problem import Problem
from ..solving.reg import reg_scales
from ..solving.rounds import Stop, solve
from ..solving.spec import Spec
from .fitted import FittedModel
from .scorers import Factors

ROUNDS, TOL = 40, 3e-4
FEWEST = 20  # people in a half
TOO_LARGE = 1.5  # times what coins explain
MUCH, NOTED = 0.25, 2.0  # a difference between the two, beside the estimate and beside its error


def estimates(
    fitted: FittedModel, spec: Spec, source: Source, effects: Any, ties: bool
) -> tuple[tuple[str, ...], Any, Any]:
    """(names, estimates, standard errors) of a fitted model's effects, which are ``effects`` in units of scores."""
    n_threads, source = spec.n_threads, plainly(source)
    people, factors = np.flatnonzero(np.diff(source.store.start) > 0), fitted.scorer
    coins = spec.trust is not None
    assert isinstance(factors, Factors)

    def given(part: Source, U: Any, V: Any, rank: int, sway: Any, directions: int | None) -> Answering:
        return answering(part, U, V, rank, n_threads, sway, coins, directions, ties)

    def of_all() -> Answering:
        return given(source, factors.U, factors.V, factors.rank, effects, None)

    found = of_all()
    if coins:  # which make effects larger by as many as they are; what they make larger still was picked, not found
        share, coins = float(found.trust[people].mean()), False
        plain = of_all()
        largest = TOO_LARGE * np.abs(plain.estimate) / share + 2 * plain.error
        coins = bool((np.abs(found.estimate) <= largest).all())
        found = found if coins else plain
    people = np.random.default_rng(spec.seed).permutation(people)
    if len(people) < 2 * FEWEST:
        return found.names, found.estimate, found.error
    parts = [source.of_users(np.isin(np.arange(source.n_users), half)) for half in (people[::2], people[1::2])]
    fits = _fits(fitted, factors, spec, source, parts, effects)
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


def _fits(
    fitted: FittedModel, factors: Factors, spec: Spec, source: Source, parts: list[Source], effects: Any
) -> list[Problem]:
    """Fit the model to either part, with the regularisation scaled to its size."""
    scale, bias_scale = reg_scales(
        source.store, loss=spec.loss, scales=spec.scales(source)[0], n_threads=spec.n_threads
    )
    assert fitted.reg is not None and fitted.bias_reg is not None
    given, made = (fitted.reg / scale, fitted.bias_reg / bias_scale), []
    for part in parts:
        problem = spec.problem(part, spec.scales(part)[0], None, factors.rank, *given, known=fitted.known)
        problem.set_effects_in_scores(effects)
        start.from_items(problem, factors.V, spec.seed)
        solve(Newton(problem, spec.seed), Stop(TOL, ROUNDS))
        made.append(problem)
    return made
