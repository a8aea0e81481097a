"""Newer comparisons taken into a fitted model: what was decided stays, and a few rounds bring the factors up to date.

The scale of the regularisation follows the data. The features of who met what are carried along: known items keep
their singular vectors and new ones get what these make of them, until there is so much more data that the vectors
themselves must follow, by one block iteration from where they were. Columns that the regularisation had kept at zero
are tried again at the same times.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.source import Source
from ..data.union import Sides, Union, widened
from ..errors import InputError
from ..native import factor, threads
from ..solving import start
from ..solving.exposure import Exposure, carried, followed
from ..solving.newton import Newton
from ..solving.reg import reg_scales
from ..solving.smoothing import ROUND_BY_ROUND
from .crowd import Found
from .features import known_of
from .parameters import of_stages
from .rounds import run_rounds

GROWTH = 1.05  # times as many votes or ratings, and singular vectors follow
NEAR = 6.0  # times the tolerance of a fit: of what newer data bring, one round leaves less than a sixth
NO_COMPARISONS = "updating needs the comparisons that the model was fitted to, and it was read from a file without them"


def updated(
    work: Any, new: Comparisons, old: Comparisons | None, item_features: Any = None, user_features: Any = None
) -> bool:
    """Bring what an update works on to its end; whether it came there."""
    began, last = time.perf_counter(), work._last
    last._require_fit()
    if not isinstance(new, Comparisons):
        raise InputError(f"update was given a {type(new).__name__}; it takes Comparisons")
    known = last._read(earlier(last, old))
    decided = last.__dict__.get("_fitted_with", {})
    kept = of_stages(type(work.params), "objective")
    work.set_params(**{name: decided[name] for name in kept if name in decided})
    work._fitted_with = {**work.get_params(), **{name: value for name, value in decided.items() if name == "rank"}}
    work._fitted_with.pop("callback", None)
    work._check_params()
    comparisons, union = known.joined(work._read(new))
    for role, frame in (("item", item_features), ("user", user_features)):
        if frame is not None:
            comparisons, union = _described(last, comparisons, union, role, frame)
    learned = last._learned()
    work._known = known_of(comparisons)
    work._gains = tuple(learned[role].gains if role in learned else None for role in ("user", "item"))
    source = comparisons.source
    if last.trust_ is not None:
        work.trust_ = last.trust_
    work._reg_factors = _factors(work, last, known.source)
    if last.trust_ is not None:
        work.trust_ = np.ones(source.n_users, np.float32)  # of newcomers nothing is known yet
        work.trust_[union.users.codes[0]] = last.trust_
    scaled, work.user_rule_ = work._scales(source)
    work._spectra_at = at = _spectra_at(last, known.source)
    due = _size(source) >= GROWTH * at
    if due:
        work._spectra_at = _size(source)
    exposed = _exposure(work, last, known.source, source, union, due)
    problem = work._problem(source, scaled, exposed, last.rank_, *work._reg_factors)
    work.reg_, work.bias_reg_ = problem.reg, problem.bias_reg
    last._sways(problem, source)
    start.from_rows(problem, union.users.codes[0], last.U_, union.items.codes[0], last.V_)
    if due:
        start.grow(problem, work.seed)
    solver = Newton(problem, work.seed)
    solver.go_on(last._posed.delta if last._posed is not None else ROUND_BY_ROUND[-1])
    work.loss_, work.cv_results_, work._proof = work.loss, last.__dict__.get("cv_results_", []), None
    work._pose(source, problem, exposed)
    work._set_data(comparisons)
    work._set_interest(exposed, comparisons)
    found = last._slope.found
    if found is not None and not (work._models_ties(source) and not found.tie):  # else ties are new: find it again
        work._slope.found = found
        if last._slope.own is not None:
            work._slope.own = np.ones(source.n_users, np.float32)
            work._slope.own[union.users.codes[0]] = last._slope.own
    work._sure = Found(last._sure.sureness)
    work._take(solver, exposed)
    tol = solver.tightening.tol = work._usual_tol(source, exposed)

    def one_round() -> dict[str, float]:
        record = solver.round()
        work._take(solver, exposed)
        return record

    done = run_rounds(
        work, one_round, began, tol=NEAR * tol, title=f"{type(work._model).__name__} update",
        finish=lambda: work._take(solver, exposed, last=True),
    )  # fmt: skip
    if done and work._slope.found is not None:
        work._slope.own = work._reluctance(comparisons, work._slope.found)
    return done


def _described(last: Any, comparisons: Comparisons, union: Union, role: str, frame: Any) -> tuple[Comparisons, Union]:
    """Comparisons with what is known of some users or items, who join the others if they are new."""
    learned = last._learned_of_items() if role == "item" else last._learned_of_people()
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


def _as_fitted(last: Any, old: Comparisons) -> Comparisons:
    """Comparisons that were given anew with their features as the model learned of them."""
    made = {}
    for role, learned in last._learned().items():
        known = getattr(old, f"{role}_features")
        if known is None:
            raise InputError(f"the model was fitted with {role}_features", remedy="old with features")
        if not known.encoder.is_like(learned.encoder):
            raise InputError(f"the {role}_features of old are not those that the model was fitted with")
        made[role] = replace(known, encoder=learned.encoder, strengths=learned.strengths, alone=learned.alone)
    return old.knowing(made.get("user"), made.get("item"))


def earlier(last: Any, old: Comparisons | None) -> Comparisons:
    """The comparisons that a model was fitted to: its own, or those given."""
    if last.__dict__.get("_are_newcomers"):
        raise InputError("this is a model of newcomers to another; update the model that they came to")
    own: Comparisons | None = last._fitted_to
    if own is not None:
        if old is not None:
            raise InputError("the model has the comparisons that it was fitted to", remedy="leave old out")
        return own
    if old is None:
        raise InputError(NO_COMPARISONS, remedy="give old")
    if not isinstance(old, Comparisons):
        raise InputError(f"old is a {type(old).__name__}; it must be Comparisons", "old")
    same = np.array_equal(old.users, last.users_) and np.array_equal(old.items, last.items_)
    if not (same and all(map(np.array_equal, old.source.met(), last.seen_))):
        raise InputError("old is not what the model was fitted to: its users, items or what they met are others", "old")
    return _as_fitted(last, old)


def _factors(work: Any, last: Any, source: Source) -> tuple[float | None, float | None]:
    """The factors on the scales of reg and of the biases' ridge that a fit had; None for those given as numbers."""
    kept = last.__dict__.get("_reg_factors")
    if kept is not None:
        return kept  # type: ignore[no-any-return]
    by_rule = work.reg is None or isinstance(work.reg, str)
    rules = by_rule and "reg_" in last.__dict__, work.bias is True and "bias_reg_" in last.__dict__
    if not any(rules):
        return None, None
    scaled = work._scales(source)[0] if last._posed is None else last._posed.scales
    reg, bias = reg_scales(source.store, loss=work.loss, scales=scaled, n_threads=threads(work.n_threads))
    return last.reg_ / reg if rules[0] else None, last.bias_reg_ / bias if rules[1] else None


def _size(source: Source) -> int:
    """How many votes there are, or ratings or clicks."""
    return len(source) if source.written else int(source.store.n_entries)


def _spectra_at(last: Any, source: Source) -> int:
    """The size of what singular vectors were last computed of; none is known of a model that was read."""
    return 0 if last._posed is None else int(last.__dict__.get("_spectra_at", _size(source)))


def _exposure(work: Any, last: Any, old: Source, source: Source, union: Union, due: bool) -> Exposure | None:
    """The features of who met what by now, of a model that had them."""
    if last.prior_ is None:
        return None
    n_threads, known = threads(work.n_threads), union.items.codes[0]
    before = None if last._posed is None else last._posed.exposed
    if before is not None and not due:
        return carried(source, before, known, n_threads)
    parts = last.prior_[0]
    k = parts.shape[1]
    right = factor(source.n_items, k)
    right[known, :k] = parts * np.sqrt(np.maximum(old.store.item_count, 1))[:, None]
    return followed(source, right, k, n_threads)
