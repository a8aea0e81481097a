"""rather update: add newer data, or new items by their features, to a saved model."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.comparisons import Comparisons
from ..data.frames import columns
from ..data.ids import as_ids
from ..errors import InputError
from ..estimators import load
from ..models.estimator import Estimator
from .answer import Document, facts
from .features import check_learns, files_of, read_features
from .ids import as_text, is_text
from .inputs import Source, about, as_read, read_source
from .outputs import check_different, check_model, saved, show_saved, timed

if TYPE_CHECKING:
    from rich.console import Console

    from .answer import Answer

SETTINGS = ("keep", "per_user", "unseen")
ALONE = ("ratings", "rankings", "clicks")  # formats of which a few rows may compare nothing by themselves
OF_ITEMS = ("item", "winner", "loser", "left", "right")


def update(options: argparse.Namespace) -> Answer:
    if options.file is None:
        _check_alone(options)
    out = options.out or options.model
    for target in {options.model, out}:
        check_different("the model and the data", (target, options.file, options.old, *files_of(options)))
    if out != options.model:
        check_model(out, options.force)
    model = load(options.model)
    holds = model.fitted.training is not None
    if options.slim is False and options.file is None and not holds:
        raise InputError(f"{options.model!r} holds no answers, so there are none to keep; leave --no-slim out")
    options.slim = not holds if options.slim is None else options.slim
    return _added(model, out, options) if options.file is None else _updated(model, out, options)


# -- newer data -------------------------------------------------------------------------------------------------------


def _updated(model: Any, out: str, options: argparse.Namespace) -> Answer:
    own: Comparisons | None = model.fitted.training
    verbose = sys.stderr.isatty() and not (options.json or options.quiet)
    set_here = {"verbose": verbose, "n_threads": options.n_threads, "on_interrupt": "keep"}
    names = model._param_names()
    model.set_params(**{name: value for name, value in set_here.items() if name in names and value is not None})
    source = _of_its_kind(model, read_source(options))
    new = _comparisons(source, own, options, allow_empty=True)
    old = None
    if options.old is not None:
        _check_old(model)
        with about("old"):
            earlier = read_source(argparse.Namespace(**{**vars(options), "file": options.old}))
            old = _comparisons(_of_its_kind(model, earlier), own, options, allow_empty=False)
    features = read_features(options, model.fitted.names)
    told = False
    if type(model).update is Estimator.update:  # which says that it cannot
        features = {}
    else:
        told = model.fitted.effect_estimates.found is not None
    before = len(model.users_), len(model.items_)
    if verbose:
        print(f"{as_read(source.about)}\n{new}", file=sys.stderr)
    seconds: dict[str, float] = {}
    with warnings.catch_warnings(), timed(seconds, "update"):
        warnings.filterwarnings("ignore", message="update interrupted")  # said below, in one line
        model.update(new, old, **features)
    if model.interrupted_:
        kept = f"{options.model} is as it was" if Path(options.model).exists() else "nothing is saved"
        raise KeyboardInterrupt(f"interrupted; {kept}")
    file = _saved(model, told, out, options.slim, seconds)
    return source.about | {
        "model": options.model, "users": len(model.users_), "items": len(model.items_),
        "comparisons": len(model.fitted.training), "counted": model.fitted.training.source.counted(),
        "new_users": len(model.users_) - before[0],
        "new_items": len(model.items_) - before[1], "rounds": len(model.history_), "converged": model.converged_,
        "gap": model.history_[-1]["gap"], "reg": model.reg_, "rank": model.rank_, "seconds": seconds,
        **file,
    }, _show  # fmt: skip


def _saved(model: Any, told: bool, out: str, slim: bool, seconds: dict[str, float]) -> Document:
    """Save an updated model, with effects where it had them before."""
    if told:
        with timed(seconds, "effects"):
            model.effects()
    return saved(model, out, slim, seconds)


def _check_old(model: Any) -> None:
    if model.fitted.features:
        raise InputError(
            "the model was fitted with features, which --old has not; fit it without --slim, and leave --old out"
        )


def _comparisons(
    source: Source, own: Comparisons | None, options: argparse.Namespace, allow_empty: bool
) -> Comparisons:
    """The comparisons of a file, made as the model's own were, or as options say."""
    settings: dict[str, Any] = {n: getattr(options, n) for n in SETTINGS if getattr(options, n) is not None}
    if own is not None:
        rule = getattr(own.source, "rule", None)
        if settings:
            option = next(iter(settings)).replace("_", "-")
            raise InputError(f"the model file says how its comparisons were made; leave --{option} out")
        if rule is not None and source.about["format"] == "clicks":
            settings = {"per_user": rule.per_user, "unseen": rule.unseen, "seed": rule.seed}
        elif own.ratings is not None and own.source.written and source.about["format"] == "ratings":
            settings = {"keep": "largest-gap", "seed": own.source.seed}  # type: ignore[attr-defined]
    for name in settings:
        if name not in (*source.format.settings, "seed"):
            raise InputError(f"--{name.replace('_', '-')} does not go with {source.about['format']}; leave it out")
    if source.about["format"] in ALONE and allow_empty:
        settings["allow_empty"] = True
    return source.comparisons(**settings)


def _of_its_kind(model: Any, source: Source) -> Source:
    """A table of CSV whose ids are text where the model's are, which CSV cannot say of whole numbers."""
    frame = source.frame
    if not isinstance(frame, dict):
        return source
    texts = {"user": is_text(model.users_), **dict.fromkeys(OF_ITEMS, is_text(model.items_))}
    for role, name in source.columns.items():
        if name is not None and texts.get(role):
            ids = as_ids(columns(frame, {role: name})[role], f"the {role} (column {name!r})")
            if not is_text(ids):
                frame = {**frame, name: as_text(ids)}
    return source._replace(frame=frame)


def _show(document: Document, console: Console) -> None:
    many = document["counted"].removesuffix(" comparisons")
    size = f"{many} by {document['users']:,} users over {document['items']:,} items"
    stopped = "converged" if document["converged"] else "not converged: update or fit again"
    facts(console, {
        "data": as_read(document),
        "comparisons": f"{size}, in all",
        "new": f"{document['new_users']:,} users, {document['new_items']:,} items",
        "update": f"{document['rounds']} rounds in {document['seconds']['update']:.2f} seconds, {stopped} "
                  f"(gap {document['gap']:.1e}, reg {document['reg']:.4g}, rank {document['rank']})",
        **show_saved(document, "update", "; --no-slim keeps them"),
    })  # fmt: skip


# -- new items, of which nothing but features is known ----------------------------------------------------------------


def _check_alone(options: argparse.Namespace) -> None:
    """Refuse options that need a FILE of newer data; only items can be added without one."""
    for name in ("user_features", "old", *SETTINGS):
        if getattr(options, name) is not None:
            raise InputError(
                f"--{name.replace('_', '-')} goes with a FILE of newer data; name the FILE, or leave it out"
            )
    if options.item_features is None:
        raise InputError("update takes a FILE of newer data, or new items by --item-features FILE; give one, or both")


def _added(model: Any, out: str, options: argparse.Namespace) -> Answer:
    check_learns(model)
    features = read_features(options, model.fitted.names)["item_features"]
    before, told, seconds = len(model.items_), model.fitted.effect_estimates.found is not None, dict[str, float]()
    with timed(seconds, "update"):
        model.add_items(features)
    file = _saved(model, told, out, options.slim, seconds)
    return {
        "model": options.model, "item_features": options.item_features, "users": len(model.users_),
        "items": len(model.items_), "new_users": 0, "new_items": len(model.items_) - before, "seconds": seconds, **file,
    }, _show_added  # fmt: skip


def _show_added(document: Document, console: Console) -> None:
    facts(console, {
        "data": f"{document['item_features']} (features of items)",
        "new": f"{document['new_items']:,} items, now {document['items']:,} in all",
        **show_saved(document, "update"),
    })  # fmt: skip
