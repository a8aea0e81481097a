"""Add new items to a fitted model, from their features or from comparisons; nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.features import Features
from ..data.ids import Codes, Ids, Vocabulary, quoted
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
from .crowd import TastePrior
from .exclusions import Rows
from .fitted import FittedModel
from .interest import Interest
from .scorers import Factors
from .sure import with_more_items

NONE_NEW = "none of the items is new to the model"


def with_items(model: Any, new: Any, features: Any = None) -> FittedModel:
    """Make what an addition works on the last state with the new items of comparisons, or of a table of features."""
    last = model.fitted
    if last.parent is not None:
        raise InputError("this is a model of newcomers to another; add items to the model that they came to")
    if isinstance(new, Comparisons):
        return _with_said(model, last, new, features)
    if features is not None or not (is_table(new) or hasattr(new, "column_names")):
        raise InputError(f"add_items was given a {type(new).__name__}; it takes Comparisons, or a table of features")
    _check_own(last)
    learned = model._learned_of_items()
    read = learned.of_frame(new)
    fresh = last.items.codes(read.ids) < 0
    if not fresh.any():
        raise InputError(NONE_NEW, remedy="update")
    items = widened((last.users.ids, last.items.ids), "item", read.ids[fresh]).items
    place = items.codes[0]
    training = None
    if last.training is not None:
        everyone = np.arange(len(last.users), dtype=np.int32)
        union = Union(Sides(last.users.ids, (everyone, everyone)), items)
        training = last.training.with_later(last.training.source.none(), union)
    rows = learned.means(read.columns[fresh], model.rank_, threads(model.n_threads))
    grown = _grown(last, items, read.ids[fresh], rows, (last.seen[0], place[last.seen[1]]), training)
    _describe(grown, last, read)
    return grown


def _check_own(last: FittedModel) -> None:
    if last.item_features is not None and not last.item_features.own:
        raise InputError(
            "the things that this model was fitted to occur once, and others are not added to it: reward(users, "
            "embeddings) scores them"
        )


def _with_said(model: Any, last: FittedModel, comparisons: Comparisons, features: Any) -> FittedModel:
    _check_own(last)
    comparisons.refuse_features("add_items(comparisons, features=...)")
    comparisons = model._read(comparisons)
    if type(comparisons.source) is Votes:  # what it knows of, and no more
        comparisons = comparisons._with(comparisons.source.with_effects(tuple(last.context_effects)))
    learned = None if features is None else model._learned_of_items()
    read = None if learned is None else learned.of_frame(features)
    if read is not None:
        union = widened((comparisons.users, comparisons.items), "item", read.ids)
        comparisons = comparisons.with_later(comparisons.source.none(), union)
    source, rank = comparisons.source, model.rank_
    users = _known_users(last, comparisons)
    known = last.items.codes(comparisons.items)
    fresh = (known < 0) & _occurs(source.met()[1], source.store.item, len(known))
    mean = factor(len(known), rank + 1)
    if learned is not None and read is not None:
        at = comparisons.item_vocabulary.codes(read.ids)
        mean[at] = learned.means(read.columns, rank, threads(model.n_threads))
        fresh[at] = known[at] < 0
    if not fresh.any():
        raise InputError(NONE_NEW, remedy="update")
    V = _solved(model._as_fitted(), source, users, known, fresh, mean)
    items = sides(last.items.ids, comparisons.items[fresh], "item")
    place, new = items.codes
    codes = np.zeros(len(known), np.int32)  # of the items of the comparisons, by now
    codes[known >= 0], codes[fresh] = place[known[known >= 0]], new
    training = None
    if last.training is not None:
        everyone = Sides(last.users.ids, (np.arange(len(last.users), dtype=np.int32), users))
        training = last.training.with_later(source, Union(everyone, Sides(items.ids, (place, codes))))
    seen = _met(last.seen, place, source.met(), users, codes, len(items))
    grown = _grown(last, items, comparisons.items[fresh], V, seen, training)
    if read is not None:
        _describe(grown, last, read)
    return grown


def _grown(
    last: FittedModel, items: Sides, new: Ids, rows: FloatArray, seen: Rows, training: Comparisons | None
) -> FittedModel:
    """The last model with new items, which have these rows."""
    vocabulary, factors = Vocabulary(items.ids, "item"), last.scorer
    assert isinstance(factors, Factors)
    V = factor(len(items), factors.rank + 1)
    V[items.codes[0]], V[vocabulary.codes(new)] = factors.V, rows
    prior, interest, sure = last.prior, last.interest, TastePrior(last.taste_prior.sureness)
    if prior is not None:
        prior = _spread(prior[0], items), prior[1]
    if interest is not None:
        interest = Interest(*(_spread(rows, items) for rows in (interest.parts, interest.weights)))
    if last.training is None:
        sure = with_more_items(last.taste_prior, lambda rows: _spread(rows, items))
    return replace(
        last, items=vocabulary, scorer=Factors.packed(factors.U, V, factors.rank), seen=seen,
        training=training, prior=prior, interest=interest, posed=None, proof=None,
        slope=Slope(last.slope.found, last.slope.own), taste_prior=sure,
    )  # fmt: skip


def _describe(grown: FittedModel, last: FittedModel, read: Features) -> None:
    """Add the features of new items to the comparisons, without changing the others."""
    training = grown.training
    if training is not None and training.item_features is not None:
        new = last.items.codes(read.ids) < 0
        fresh = Features(read.ids[new], read.columns[new], read.encoder)
        training.item_features = training.item_features.joined(fresh, grown.items.codes(fresh.ids))


def _known_users(last: FittedModel, comparisons: Comparisons) -> Codes:
    users, source = last.users.codes(comparisons.users), comparisons.source
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


def _solved(model: Any, source: Source, users: Codes, known: Codes, fresh: Any, mean: FloatArray) -> FloatArray:
    """The rows of V of the fresh items of a source, which are expected to be near their means."""
    last, rank = model.fitted, model.rank_
    if source.written:  # of which those about known items alone say nothing here
        pairs = source.pairs()
        about = pairs.take(fresh[pairs.winner] | fresh[pairs.loser])
        source = Votes(len(users), len(known), about, source.implied, source.effects)
    store, n_threads = source.store, threads(model.n_threads)
    answers = np.empty(store.n_users)
    core.comparisons_per_user(store, answers)
    usual = typical(np.bincount(last.seen[1], minlength=len(last.items)).astype(np.float64))
    ones = np.ones(store.n_users, np.float32)
    weight = last.user_rule.weight(answers) * (1 if last.trust is None else last.trust[users])
    problem = Problem(
        store, rank=rank, loss=last.loss, bias=model.bias is not False,
        scales=Scales(ones, shape(store.item_count, usual, model.item_power), weight), n_threads=n_threads,
        around=Around.of(source),
    )  # fmt: skip
    problem.set_effects_in_scores(model._effects_of(source))
    problem.set_reg(last.reg, last.bias_reg)
    problem.U[:, :rank] = last.scorer.U[users, :rank]
    problem.V[:] = mean
    problem.V[known >= 0] = last.scorer.V[known[known >= 0]]
    if store.n_entries:
        solve_items(problem, fresh, mean)
    return np.asarray(problem.V[fresh], np.float32)


def _spread(rows: FloatArray, items: Sides) -> FloatArray:
    """Rows of known items among zeros for new ones."""
    out = np.zeros((len(items), rows.shape[1]), np.float32)
    out[items.codes[0]] = rows
    return out


def _met(before: Rows, place: Codes, more: Rows, users: Codes, codes: Codes, n_items: int) -> Rows:
    """Return the items that users met, earlier and new ones, in the items' new codes."""
    n_users = len(before[0]) - 1
    old = np.repeat(np.arange(n_users), np.diff(before[0])) * n_items + place[before[1]]
    new = np.repeat(users.astype(np.int64), np.diff(more[0])) * n_items + codes[more[1]]
    key = np.unique(np.concatenate((old, new)))
    return row_starts((key // n_items).astype(np.int32), n_users), (key % n_items).astype(np.int32)
