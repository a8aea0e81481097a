"""rather plot: the pictures of rather.plot, drawn from a saved model and written to a file."""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .. import plot
from ..data.comparisons import Comparisons
from ..data.whole_files import destination, written_whole
from ..errors import InputError, number
from .answer import Document, facts
from .asked import add_answers, add_items, add_reading, is_newcomer, items, newcomer, opened
from .ids import known_user
from .inputs import add_file, add_format, read_source
from .outputs import add_force, add_output, check_different

if TYPE_CHECKING:
    from rich.console import Console

    from .answer import Answer

ENDINGS = (".png", ".svg", ".pdf")
ITEMS, DIFFERENT, INTERVAL = 20, 15, 0.9
ANSWERS = (2, 5, 10, 20, 50)
ADVICE = "leave USER out for everybody"


def leaderboard(options: argparse.Namespace) -> Answer:
    _check(options)
    model, who = _opened(options)
    if is_newcomer(options):
        model, who = who, None
    return _written(plot.leaderboard(model, who, options.interval, options.top), options)


def person(options: argparse.Namespace) -> Answer:
    _check(options)
    if (options.user is None) != is_newcomer(options):
        raise InputError("plot person draws a USER, or somebody new by --answers, --prefers or --feature; give one")
    model, who = _opened(options)
    whose = (who, None) if is_newcomer(options) else (model, who)
    return _written(plot.person(whose[0], options.top, options.interval, user=whose[1]), options)


def taste_map(options: argparse.Namespace) -> Answer:
    _check(options)
    model, who = _opened(options)
    return _written(plot.taste_map(model, who, items(model, options)), options)


def calibration(options: argparse.Namespace) -> Answer:
    _check(options)
    model, _ = opened(options.model)
    return _written(plot.calibration(model, _read(options)), options)


def learning_curve(options: argparse.Namespace) -> Answer:
    _check(options)
    for n in options.per_user:
        number("--per-user", n, at_least=1, integer=True)
    model, _ = opened(options.model)
    votes = model.fitted.training
    if votes is None:
        raise InputError(f"{options.model!r} holds no votes to learn from; fit it without --slim")
    test = None if options.file is None else _read(options)
    return _written(plot.learning_curve(model, votes, test, options.per_user, options.seed), options)


def _check(options: argparse.Namespace) -> None:
    """Refuse a picture that cannot be written or drawn, before any work is done for it."""
    files = (options.model, getattr(options, "file", None), getattr(options, "answers", None), options.out)
    check_different("the model, the data and the picture", files)
    path = destination(options.out)
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"the picture {options.out!r} ends in {path.suffix!r}; it must end in {', '.join(ENDINGS)}")
    if path.exists() and not options.force:
        raise InputError(f"{options.out!r} exists already; give another name, or --force to overwrite it")
    os.environ["MPLBACKEND"] = "agg"  # which needs no screen
    if find_spec("matplotlib") is None:
        raise InputError(plot.NEEDED)


def _opened(options: argparse.Namespace) -> tuple[Any, Any]:
    """The model, and the user or the new person to draw; None for everybody."""
    model, _ = opened(options.model)
    user = getattr(options, "user", None)
    if not is_newcomer(options):
        return model, None if user is None else known_user(model, user, ADVICE)
    if user is not None:
        raise InputError(f"USER is {user!r}, and options describe somebody new; give one of them")
    return model, newcomer(model, options)


def _read(options: argparse.Namespace) -> Comparisons:
    return read_source(options).comparisons()


def _written(ax: Any, options: argparse.Namespace) -> Answer:
    """Write the picture that axes belong to."""
    kind = destination(options.out).suffix.lower().removeprefix(".")
    with written_whole(options.out) as f:
        ax.figure.savefig(f, format=kind)
    return {"picture": options.picture, "model": options.model, "out": options.out}, _show


def _show(document: Document, console: Console) -> None:
    facts(console, {"saved": f"{document['picture']} to {document['out']}"})


# -- options ----------------------------------------------------------------------------------------------------------


def _leaderboard(parser: Any) -> None:
    _add_model(parser)
    _add_user(parser)
    add_answers(parser)
    _add_size(parser, ITEMS, "range of places")
    add_output(parser, _add_out, add_force)
    add_reading(parser)


def _person(parser: Any) -> None:
    _add_model(parser)
    _add_user(parser, "")
    add_answers(parser)
    _add_size(parser, DIFFERENT, "interval of a difference")
    add_output(parser, _add_out, add_force)
    add_reading(parser)


def _taste_map(parser: Any) -> None:
    _add_model(parser)
    _add_user(parser)
    add_answers(parser)
    add_items(parser.add_argument_group("Items (default: the 25 best known)"))
    add_output(parser, _add_out, add_force)
    add_reading(parser)


def _calibration(parser: Any) -> None:
    _add_model(parser)
    add_file(parser.add_argument_group("Test data"))
    add_output(parser, _add_out, add_force)
    add_format(parser)


def _learning_curve(parser: Any) -> None:
    _add_model(parser)
    add_file(parser.add_argument_group("Test data (default: a fifth of the model's votes)"), required=False)
    curve = parser.add_argument_group("Curve")
    curve.add_argument(
        "--per-user", type=int, nargs="+", default=ANSWERS, metavar="N",
        help=f"numbers of answers per person (default: {' '.join(map(str, ANSWERS))})",
    )  # fmt: skip
    curve.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the draws (default: 0)")
    add_output(parser, _add_out, add_force)
    add_format(parser)


def _add_model(parser: Any) -> None:
    parser.add_argument_group("Model").add_argument("model", metavar="MODEL", help="file that 'rather fit' wrote")


def _add_user(parser: Any, default: str = " (default: everybody)") -> None:
    group = parser.add_argument_group(f"Person{default}")
    group.add_argument("user", metavar="USER", help="id of a user").required = False


def _add_size(parser: Any, top: int, what: str) -> None:
    group = parser.add_argument_group("Picture")
    group.add_argument("--top", type=int, default=top, metavar="N", help=f"items to draw (default: {top})")
    group.add_argument(
        "--interval", type=float, default=INTERVAL, metavar="X",
        help=f"probability that the {what} holds (default: {INTERVAL})",
    )  # fmt: skip


def _add_out(parser: Any) -> None:
    parser.add_argument("--out", required=True, metavar="FILE", help=f"picture to write: {', '.join(ENDINGS)}")


DRAWN = {
    "leaderboard": (leaderboard, _leaderboard),
    "person": (person, _person),
    "taste-map": (taste_map, _taste_map),
    "calibration": (calibration, _calibration),
    "learning-curve": (learning_curve, _learning_curve),
}
