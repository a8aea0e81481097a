"""rather fit: learn a model from a file and save it."""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..estimators import ESTIMATORS, suited
from ..models.altsvm import AltSVM
from ..models.parameters import declared
from ..models.summary import ranked
from .answer import Document, facts
from .features import files_of, learned, read_features, told
from .inputs import as_read, read_source
from .kept import kept_file, read_votes
from .outputs import check_different, check_model, saved, show_saved, timed
from .parameters import options as parameters
from .remedies import option

if TYPE_CHECKING:
    from rich.console import Console

    from .answer import Answer

PARTIAL = ".partial"  # added to the name of a model that is there already, until the new one is whole
SETTINGS = ("keep", "per_user", "unseen")
FIXED_ROUNDS = ("BPR", "RobiRank")  # whose objective is sampled: they stop at --max-iter
LUCK = math.log(2)
ANOTHER = "--model picks another"


def fit(options: argparse.Namespace) -> Answer:
    # A file that is there stays until there is a whole model to take its place.
    places = (options.out, f"{options.out}{PARTIAL}") if Path(options.out).exists() else (options.out,)
    if (options.file is None) == (options.votes is None):
        raise InputError("fit learns from a FILE or from --votes; give one of them")
    files = options.file, kept_file(options), *files_of(options), *places, options.checkpoint
    check_different("the data, the features, the model and the checkpoint", files)
    for place in places:
        check_model(place, options.force)
    resumed = options.checkpoint is not None and Path(options.checkpoint).exists()
    source = read_source(options) if options.votes is None else read_votes(options)
    settings = {name: getattr(options, name) for name in SETTINGS if getattr(options, name) is not None}
    for name in settings:
        if name not in source.format.settings:
            raise InputError(f"--{name.replace('_', '-')} does not go with {source.about['format']}; leave it out")
    if source.format.settings and options.seed is not None:
        settings["seed"] = options.seed
    verbose = sys.stderr.isatty() and not (options.json or options.quiet)
    comparisons, features = source.comparisons(**settings), read_features(options, source.columns)
    kind, why = suited(comparisons, bool(features)) if options.model is None else (ESTIMATORS[options.model], None)
    model = _estimator(kind, why, options, verbose)
    if verbose:
        print(f"{as_read(source.about)}\n{comparisons}", file=sys.stderr)
    seconds: dict[str, float] = {}
    with warnings.catch_warnings(), timed(seconds, "fit"):
        warnings.filterwarnings("ignore", message="fit interrupted")  # said below, in one line
        model.fit(comparisons, **features)
    history = getattr(model, "history_", [])  # of those that have rounds
    sure = hasattr(model, "_crowd")  # has a prior of tastes, which intervals and questions need
    if model.slope_ is None or sure:
        saved(model, places[-1], options.slim, seconds)  # before what takes a few more fits
        try:
            if history and model.interrupted_:
                raise KeyboardInterrupt
            if model.slope_ is None:
                with timed(seconds, "calibration"):
                    model.calibrate()
            if sure:
                with timed(seconds, "intervals"):
                    model._crowd()
            effects = _effects(model, seconds)
            file = saved(model, options.out, options.slim, seconds)
        except KeyboardInterrupt:
            if model.slope_ is not None:
                saved(model, places[-1], options.slim, seconds)
            kept = f" ({options.out} is as it was)" if len(places) > 1 else ""
            resume = "run the same command to go on" if options.checkpoint else "--checkpoint would let it go on"
            raise KeyboardInterrupt(
                f"interrupted; the model of {len(history)} rounds is saved to {places[-1]}{kept}, "
                f"without {'probabilities' if model.slope_ is None else 'intervals'}; {resume}"
            ) from None
    else:
        effects = _effects(model, seconds)
        file = saved(model, options.out, options.slim, seconds)
    for place in places[1:]:
        Path(place).unlink(missing_ok=True)
    return source.about | {
        "users": comparisons.n_users, "items": comparisons.n_items, "comparisons": len(comparisons),
        "counted": comparisons.source.counted(), "parts": comparisons.part_sizes(),
        "model": kind.__name__, "model_chosen": why, "reg": getattr(model, "reg_", None), "rounds": len(history),
        "converged": model.converged_ if history else True, "gap": history[-1]["gap"] if history else 0.0,
        "stalled": bool(history) and not model.converged_ and len(history) < model.max_iter,
        "rank": getattr(model, "rank_", None), "chosen": _chosen(model),
        "features": learned(model, {"user": comparisons.n_users, "item": comparisons.n_items}),
        "effects": effects, "held_out": _held_out(model), "exposure": getattr(model, "exposure_", False),
        "seconds": seconds, **file, "resumed": options.checkpoint if resumed else None,
    }, _show  # fmt: skip


def _estimator(kind: type[Any], why: str | None, options: argparse.Namespace, verbose: bool) -> Any:
    """Return the estimator with the given parameters; one that it does not have is refused.

    ``why`` is the reason for the estimator where the data chose it.
    """
    given = {name: getattr(options, name) for name in parameters() if getattr(options, name) is not None}
    names = declared(type(kind().params))
    for name in given.keys() - names.keys():
        if why is None:
            raise InputError(f"{kind.__name__} has no {option(name)}; leave it out")
        another = "" if kind is AltSVM else ", or give --model AltSVM"
        raise InputError(f"{kind.__name__}, chosen {why}, has no {option(name)}; leave it out{another}")
    estimator = kind(**given, **({"verbose": verbose} if "verbose" in names else {}))
    estimator.params.check()
    return estimator


def _chosen(model: Any) -> list[str]:
    """The parameters that held-out answers decided."""
    tried = getattr(model, "cv_results_", ())
    return [*(("rank",) if len({row["rank"] for row in tried}) > 1 else ()), "reg"] if tried else []


def _effects(model: Any, seconds: dict[str, float]) -> list[Document]:
    """Return the estimated effects with their standard errors."""
    if not (model.fitted.context_effects or (hasattr(model, "_knows_ties") and model._knows_ties())):
        return []
    with timed(seconds, "effects"):
        return [{"effect": r.effect, "estimate": r.estimate, "std_error": r.std_error} for r in model.effects()]


def _held_out(model: Any) -> dict[str, float] | None:
    """Return accuracy and log loss on held-out answers; None if none were held out."""
    found = model.fitted.slope.found
    return None if found is None else {"accuracy": found.accuracy, "log_loss": found.log_loss}


def _unconnected(sizes: list[int]) -> str:
    """Return a sentence about parts of these sizes that no comparison connects; nothing for a single part."""
    if len(sizes) < 2:
        return ""
    return (
        f"{len(sizes):,} parts, the largest of {max(sizes):,} items. Items of different parts were never compared: "
        "their relative places rest on the model alone."
    )


def _foretold(accuracy: float, log_loss: float) -> str:
    luck = "" if log_loss < LUCK - 0.001 else ": no better than guessing, and neither are its lists"
    return f"accuracy {accuracy:.3f}, log loss {log_loss:.3f} (guessing: 0.500, {LUCK:.3f}){luck}"


def _swayed(effects: list[Document]) -> str:
    said = (f"{e['effect']} {e['estimate']:+.3f} +- {e['std_error']:.3f}" for e in effects)
    return f"{', '.join(said)} (log-odds; no part of the rankings)" if effects else ""


def _show(document: Document, console: Console) -> None:
    many = document["counted"].removesuffix(" comparisons")
    size = f"{many} by {document['users']:,} users over {document['items']:,} items"
    reg = f", reg {document['reg']:.4g}" if document["reg"] is not None else ""
    rank = f", {ranked(*(document[n] for n in ('rank', 'users', 'items')))}" if document["rank"] else ""
    chosen = {0: "", 1: ", reg chosen on held-out answers", 2: ", both chosen on held-out answers"}[
        len(document["chosen"])
    ]
    exposed = ", learning from who met what" if document["exposure"] else ""
    fixed = document["model"] in FIXED_ROUNDS
    short = (
        "stopped above --tol, more rounds gain nothing"
        if document["stalled"]
        else "not converged: more with --max-iter"
    )
    stopped = "as set" if fixed else "converged" if document["converged"] else short
    how = f": {document['rounds']} rounds, {stopped} (gap {document['gap']:.1e}{reg}{rank}{chosen}{exposed})"
    facts(console, {
        "data": as_read(document),
        "comparisons": size,
        **({"parts": parted} if (parted := _unconnected(document["parts"])) else {}),
        **({"left out": f"{document['marked']:,} votes that look like a script's"} if document.get("marked") else {}),
        **({} if document["resumed"] is None else {"resumed": f"from {document['resumed']}, not from the start"}),
        **({} if document["held_out"] is None else {"held out": _foretold(**document["held_out"])}),
        **told(document["features"]),
        **({"effects": effects} if (effects := _swayed(document["effects"])) else {}),
        **({"model": f"{document['model']}, chosen {why}; {ANOTHER}"} if (why := document["model_chosen"]) else {}),
        "fit": f"{document['model']} in {document['seconds']['fit']:.2f} seconds{how if document['rounds'] else ''}",
        **show_saved(document, "fit"),
    })  # fmt: skip
    out, named = document["out"], "user" in document["columns"]
    console.print(f"\nNext: rather {f'recommend {out} USER' if named else f'rank {out} --everyone'}")
