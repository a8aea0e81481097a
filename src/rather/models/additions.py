"""New items for a fitted model, from their features and from what known people said: nothing else in it changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.features import Features
from ..data.ids import Codes, Vocabulary, quoted
from ..data.rows import row_starts
from ..data.source import Source
from ..data.union import Sides, Union, sides, widened
from ..data.votes import Votes
from ..errors import InputError
from ..native import FloatArray, core, factor, threads
from ..solving.effects import Around
from ..solving.items import solve_items
from ..solving.problem import Problem
from ..solving.scales import Scales, shape, typical
from .answers import is_table
from .calibration import Slope
from .crowd import Found
from .exclusions import Rows
from .features import known_of
from .interest import Interest
from .sure import with_more_items

NONE_NEW = "none of the items is new to the model"


def with_items(work: Any, new: Any, features: Any = None) -> bool:
    """Make what an addition works on the last state with the new items of comparisons, or of a table of features."""
    last = work._last
    last._require_fit()
    if last.__dict__.get("_are_newcomers"):
        raise InputError("this is a model of newcomers to another; add items to the model that they came to")
    if isinstance(new, Comparisons):
        return _with_said(work, last, new, features)
    if features is not None or not (is_table(new) or hasattr(new, "column_names")):
        raise InputError(f"add_items was given a {type(new).__name__}; it takes Comparisons, or a table of features")
    _check_own(last)
    read = last._learned_of_items().of_frame(new)
    fresh = last.item_vocabulary_.codes(read.ids) < 0
    if not fresh.any():
        raise InputError(NONE_NEW, remedy="update")
    items = widened((last.users_, last.items_), "item", read.ids[fresh]).items
    place = items.codes[0]
    _grow(work, last, items)
    added = work.item_vocabulary_.codes(read.ids[fresh])
    work.V_[added] = last._items_learned.means(read.columns[fresh], last.rank_, threads(last.n_threads))
    work.seen_ = last.seen_[0], place[last.seen_[1]]
    if last._fitted_to is not None:
        everyone = np.arange(len(last.users_), dtype=np.int32)
        union = Union(Sides(last.users_, (everyone, everyone)), items)
        work._fitted_to = last._fitted_to.with_later(last._fitted_to.source.none(), union)
    _describe(work, last, read)
    return True


def _check_own(last: Any) -> None:
    if last._items_learned is not None and not last._items_learned.own:
        raise InputError(
            "the things that this model was fitted to occur once, and others are not added to it: reward(users, "
            "embeddings) scores them"
        )


def _with_said(work: Any, last: Any, comparisons: Comparisons, features: Any) -> bool:
    _check_own(last)
    comparisons.refuse_features("add_items(comparisons, features=...)")
    comparisons = last._read(comparisons)
    if type(comparisons.source) is Votes:  # what it knows of, and no more
        comparisons = comparisons._with(comparisons.source.with_effects(tuple(last.context_effects_)))
    read = None if features is None else last._learned_of_items().of_frame(features)
    if read is not None:
        union = widened((comparisons.users, comparisons.items), "item", read.ids)
        comparisons = comparisons.with_later(comparisons.source.none(), union)
    source = comparisons.source
    users = _known_users(last, comparisons)
    known = last.item_vocabulary_.codes(comparisons.items)
    fresh = (known < 0) & _occurs(source.met()[1], source.store.item, len(known))
    mean = factor(len(known), last.rank_ + 1)
    if read is not None:
        at = comparisons.item_vocabulary.codes(read.ids)
        mean[at] = last._items_learned.means(read.columns, last.rank_, threads(last.n_threads))
        fresh[at] = known[at] < 0
    if not fresh.any():
        raise InputError(NONE_NEW, remedy="update")
    V = _solved(last, source, users, known, fresh, mean)
    items = sides(last.items_, comparisons.items[fresh], "item")
    place, new = items.codes
    codes = np.zeros(len(known), np.int32)  # of the items of the comparisons, by now
    codes[known >= 0], codes[fresh] = place[known[known >= 0]], new
    _grow(work, last, items)
    work.V_[new] = V
    if last._fitted_to is not None:
        everyone = Sides(last.users_, (np.arange(len(last.users_), dtype=np.int32), users))
        work._fitted_to = last._fitted_to.with_later(source, Union(everyone, Sides(items.ids, (place, codes))))
    work.seen_ = _met(last.seen_, place, source.met(), users, codes, len(items))
    if read is not None:
        _describe(work, last, read)
    return True


def _grow(work: Any, last: Any, items: Sides) -> None:
    """The last state with more items, of which nothing is known yet."""
    place = items.codes[0]
    work.__dict__.update({name: last.__dict__[name] for name in last.__dict__["_state_names"]})
    work.item_vocabulary_ = Vocabulary(items.ids, "item")
    work.V_ = factor(len(items), last.rank_ + 1)
    work.V_[place] = last.V_
    if last.prior_ is not None:
        work.prior_ = _spread(last.prior_[0], items), last.prior_[1]
    if last.interest_ is not None:
        work.interest_ = Interest(*(_spread(rows, items) for rows in (last.interest_.parts, last.interest_.weights)))
    work._posed, work._proof = None, None
    work._slope = Slope(last._slope.found, last._slope.own)
    work._sure = Found(last._sure.sureness)
    if last._fitted_to is None:
        work._sure = with_more_items(last._sure, lambda rows: _spread(rows, items))


def _describe(work: Any, last: Any, read: Features) -> None:
    """Keep the features of new items with the comparisons; those of others stay as they are."""
    if work._fitted_to is not None and work._fitted_to.item_features is not None:
        new = last.item_vocabulary_.codes(read.ids) < 0
        fresh = Features(read.ids[new], read.columns[new], read.encoder)
        codes = work.item_vocabulary_.codes(fresh.ids)
        work._fitted_to.item_features = work._fitted_to.item_features.joined(fresh, codes)
    work._known = known_of(work._fitted_to)


def _known_users(last: Any, comparisons: Comparisons) -> Codes:
    users, source = last.user_vocabulary_.codes(comparisons.users), comparisons.source
    said = (np.diff(source.met()[0]) > 0) | (np.diff(source.store.start) > 0)
    unknown = comparisons.users[(users < 0) & said]
    if len(unknown):
        many = f"{len(unknown):,} users, such as {quoted(unknown[0])}, are"
        one = f"user {quoted(unknown[0])} is"
        raise InputError(
            f"{one if len(unknown) == 1 else many} not known to the model; new items are added by what known people "
            "said, update(...) takes in new people too"
        )
    return np.asarray(np.maximum(users, 0), np.int32)


def _occurs(met: Codes, compared: Codes, n: int) -> Any:
    found = np.zeros(n, bool)
    found[met] = found[compared] = True
    return found


def _solved(last: Any, source: Source, users: Codes, known: Codes, fresh: Any, mean: FloatArray) -> FloatArray:
    """The rows of V of the fresh items of a source, which are expected to be near their means."""
    if source.written:  # of which those about known items alone say nothing here
        pairs = source.pairs()
        about = pairs.take(fresh[pairs.winner] | fresh[pairs.loser])
        source = Votes(len(users), len(known), about, source.implied, source.effects)
    store, n_threads = source.store, threads(last.n_threads)
    last.set_params(**last.__dict__.get("_fitted_with", {}))  # of a state that is nobody else's
    answers = np.empty(store.n_users)
    core.comparisons_per_user(store, answers)
    usual = typical(np.bincount(last.seen_[1], minlength=len(last.items_)).astype(np.float64))
    ones = np.ones(store.n_users, np.float32)
    weight = last.user_rule_.weight(answers) * (1 if last.trust_ is None else last.trust_[users])
    scaled = Scales(ones, shape(store.item_count, usual, last.item_power), weight)
    problem = Problem(
        store,
        rank=last.rank_,
        loss=last.loss_,
        bias=last.bias is not False,
        scales=scaled,
        n_threads=n_threads,
        around=Around.of(source),
    )
    last._sways(problem, source)
    problem.set_reg(last.reg_, last.bias_reg_)
    problem.U[:, : last.rank_] = last.U_[users, : last.rank_]
    problem.V[:] = mean
    problem.V[known >= 0] = last.V_[known[known >= 0]]
    if store.n_entries:
        solve_items(problem, fresh, mean)
    return np.asarray(problem.V[fresh], np.float32)


def _spread(rows: FloatArray, items: Sides) -> FloatArray:
    """Rows of known items among zeros for new ones."""
    out = np.zeros((len(items), rows.shape[1]), np.float32)
    out[items.codes[0]] = rows
    return out


def _met(before: Rows, place: Codes, more: Rows, users: Codes, codes: Codes, n_items: int) -> Rows:
    """What users met before, in the items' new codes, and what they have met since."""
    n_users = len(before[0]) - 1
    old = np.repeat(np.arange(n_users), np.diff(before[0])) * n_items + place[before[1]]
    new = np.repeat(users.astype(np.int64), np.diff(more[0])) * n_items + codes[more[1]]
    key = np.unique(np.concatenate((old, new)))
    return row_starts((key // n_items).astype(np.int32), n_users), (key % n_items).astype(np.int32)
