"""Add newer comparisons to a fitted model by a few rounds, which start from its factors.

The rank and the factors of the regularisation stay, and the scale of the regularisation follows the data. The
features of exposure come from singular vectors. While the data have grown by less than ``GROWTH``, known items keep
their rows of the singular vectors, and the rows of new items follow from these. From then on one block iteration, which
starts from the old vectors, computes new ones. Columns of factors that the regularisation had kept at zero are then
tried again too.
"""

from __future__ import annotations

import time
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.source import Source
from ..data.union import Sides, Union, widened
from ..errors import InputError
from ..native import factor
from ..solving import start
from ..solving.exposure import Exposure, carried, followed
from ..solving.newton import Newton
from ..solving.reg import reg_scales
from ..solving.rounds import Stop
from ..solving.smoothing import ROUND_BY_ROUND
from ..solving.spec import Spec
from .assemble import Assembly, interest_of
from .calibration import Slope
from .crowd import TastePrior
from .features import Learned, known_of
from .fitted import Fit, FittedModel, Published, in_rounds
from .parameters import of_stages
from .posed import Posed

GROWTH = 1.05  # times the data of the last singular vectors: from there on, new ones are computed
NEAR = 6.0  # times the tolerance of a fit; one round leaves less than a sixth of what newer data bring
NO_COMPARISONS = "updating needs the comparisons that the model was fitted to, and it was read from a file without them"


def updated(
    model: Any, new: Comparisons, old: Comparisons | None, item_features: Any = None, user_features: Any = None
) -> Fit:
    """Yield the model after each round of an update of ``model``, and then the last one."""
    began, last = time.perf_counter(), model.fitted
    if not isinstance(new, Comparisons):
        raise InputError(f"update was given a {type(new).__name__}; it takes Comparisons")
    objective = of_stages(type(model.params), "objective")
    old = earlier(last, old)
    model = copy(model).set_params(**{name: last.params[name] for name in objective if name in last.params})
    model._check_params()
    old = model._read(old)
    data, union = old.joined(model._read(new))
    for role, frame in (("item", item_features), ("user", user_features)):
        if frame is not None:
            learned = model._learned_of_items() if role == "item" else model._learned_of_people()
            data, union = _described(learned, data, union, role, frame)
    source, known = data.source, known_of(data)
    spec = replace(model._spec(), trust=last.trust)
    reg_factors = _factors(last, spec, old.source)
    if last.trust is not None:
        trust = np.ones(source.n_users, np.float32)  # new users are trusted
        trust[union.users.codes[0]] = last.trust
        spec = replace(spec, trust=trust)
    scales, user_rule = spec.scales(source)
    spectra_at = _spectra_at(last, old.source)
    due = _size(source) >= GROWTH * spectra_at  # new singular vectors
    exposed = _exposure(last, old.source, source, union, due, spec.n_threads)
    problem = spec.problem(source, scales, exposed, model.rank_, *reg_factors, known=known)
    problem.set_effects_in_scores(model._effects_of(source))
    start.from_rows(problem, union.users.codes[0], last.scorer.U, union.items.codes[0], last.scorer.V)
    if due:
        start.grow(problem, spec.seed)
    solver = Newton(problem, spec.seed)
    solver.go_on(last.posed.delta if last.posed is not None else ROUND_BY_ROUND[-1])
    tol = solver.tightening.tol = model._usual_tol(source, exposed)
    base = model._model_of(
        data, last.scorer, loss=spec.loss, reg=problem.reg, bias_reg=problem.bias_reg, reg_factors=reg_factors,
        user_rule=user_rule, trust=spec.trust, cv_results=last.cv_results or [], interest=interest_of(exposed, data),
        posed=Posed.of(source, problem, exposed, known=known), taste_prior=TastePrior(last.taste_prior.sureness),
        spectra_at=_size(source) if due else spectra_at,
        slope=_slope(last, union, source.n_users, model._models_ties(source)),
    )  # fmt: skip
    base.params = {**base.params, **{name: value for name, value in last.params.items() if name == "rank"}}
    gains = tuple(None if side is None else side.gains for side in (last.user_features, last.item_features))
    assembly = Assembly(base, source.store, exposed, known, (gains[0], gains[1]), spec.n_threads)
    stop = Stop(NEAR * tol, model.max_iter)
    fitted = yield from in_rounds(solver, stop, partial(assembly.model, solver), began=began)
    fitted = assembly.last(solver, fitted)
    found = fitted.slope.found
    if found is not None:
        fitted = replace(fitted, slope=Slope(found, model._with(fitted)._reluctance(data, found)))
    yield Published(fitted)


def _slope(last: FittedModel, union: Union, n_users: int, ties: bool) -> Slope:
    """Return the calibration of the last model, or an empty one if ties are outcomes now and were none then."""
    found, own = last.slope.found, None
    if found is None or (ties and not found.tie):
        return Slope()
    if last.slope.own is not None:
        own = np.ones(n_users, np.float32)
        own[union.users.codes[0]] = last.slope.own
    return Slope(found, own)


def _described(
    learned: Learned, comparisons: Comparisons, union: Union, role: str, frame: Any
) -> tuple[Comparisons, Union]:
    """Return the comparisons with features of some users or items, of which new ones are added."""
    read = learned.of_frame(frame)
    more = widened((comparisons.users, comparisons.items), role, read.ids)
    comparisons = comparisons.with_later(comparisons.source.none(), more)
    sides = (
        Sides(now.ids, (now.codes[0][before.codes[0]], now.codes[0][before.codes[1]]))
        for now, before in zip((more.users, more.items), (union.users, union.items), strict=True)
    )
    known = getattr(comparisons, f"{role}_features")
    vocabulary = comparisons.item_vocabulary if role == "item" else comparisons.user_vocabulary
    setattr(comparisons, f"{role}_features", known.joined(read, vocabulary.codes(read.ids)))
    return comparisons, Union(*sides)


def _as_fitted(last: FittedModel, old: Comparisons) -> Comparisons:
    """Return comparisons that were given again, with the encoders and strengths of features that the model learned."""
    made = {}
    for role, learned in last.features.items():
        known = getattr(old, f"{role}_features")
        if known is None:
            raise InputError(f"the model was fitted with {role}_features", remedy="old with features")
        if not known.encoder.is_like(learned.encoder):
            raise InputError(f"the {role}_features of old are not those that the model was fitted with")
        made[role] = replace(known, encoder=learned.encoder, strengths=learned.strengths, alone=learned.alone)
    return old.knowing(made.get("user"), made.get("item"))


def earlier(last: FittedModel, old: Comparisons | None) -> Comparisons:
    """Return the comparisons that a model was fitted to: those it holds, or else ``old``, which is checked."""
    if last.parent is not None:
        raise InputError("this is a model of newcomers to another; update the model that they came to")
    own = last.training
    if own is not None:
        if old is not None:
            raise InputError("the model has the comparisons that it was fitted to", remedy="leave old out")
        return own
    if old is None:
        raise InputError(NO_COMPARISONS, remedy="give old")
    if not isinstance(old, Comparisons):
        raise InputError(f"old is a {type(old).__name__}; it must be Comparisons", "old")
    same = np.array_equal(old.users, last.users.ids) and np.array_equal(old.items, last.items.ids)
    if not (same and all(map(np.array_equal, old.source.met(), last.seen))):
        raise InputError("old is not what the model was fitted to: its users, items or what they met are others", "old")
    return _as_fitted(last, old)


def _factors(last: FittedModel, spec: Spec, source: Source) -> tuple[float | None, float | None]:
    """Return the factors of the last fit, which multiply the scales of ``reg`` and of the biases' ridge.

    A ridge that was given as a number has the factor None.
    """
    if last.reg_factors is not None:
        return last.reg_factors
    own = (
        last.reg if spec.reg is None or isinstance(spec.reg, str) else None,
        last.bias_reg if spec.bias is True else None,
    )
    if own == (None, None):
        return None, None
    scales = spec.scales(source)[0] if last.posed is None else last.posed.scales
    both = reg_scales(source.store, loss=spec.loss, scales=scales, n_threads=spec.n_threads)
    reg, bias = (None if ridge is None else ridge / scale for ridge, scale in zip(own, both, strict=True))
    return reg, bias


def _size(source: Source) -> int:
    """Return the number of votes, ratings or clicks."""
    return len(source) if source.written else int(source.store.n_entries)


def _spectra_at(last: FittedModel, source: Source) -> int:
    """Return the size of the data when singular vectors were last computed; 0 for a model from a file."""
    if last.posed is None:
        return 0
    return _size(source) if last.spectra_at is None else last.spectra_at


def _exposure(
    last: FittedModel, old: Source, source: Source, union: Union, due: bool, n_threads: int
) -> Exposure | None:
    """Return the features of exposure on the joined data; None if the model was fitted without them."""
    if last.prior is None:
        return None
    known = union.items.codes[0]
    before = None if last.posed is None else last.posed.exposed
    if before is not None and not due:
        return carried(source, before, known, n_threads)
    parts = last.prior[0]
    k = parts.shape[1]
    right = factor(source.n_items, k)
    right[known, :k] = parts * np.sqrt(np.maximum(old.store.item_count, 1))[:, None]
    return followed(source, right, k, n_threads)
