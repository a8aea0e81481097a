"""The grammar of the command line: every command with its options, in groups by task."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from ..estimators import ESTIMATORS
from .ask import INTERVAL, add_asking, ask
from .asked import add_answers, add_items, add_reading
from .commands import PICTURES, TEXTS, described, overview
from .demo import demo
from .doctor import doctor
from .evaluate import METRICS, evaluate
from .features import add_features
from .fit import fit
from .inputs import FORMATS, add_file, add_format
from .kept import add_votes
from .lists import DIFFERENT, LISTED, TASTES, differences, effects, probability, rank, recommend, tastes
from .outputs import add_force, add_output, add_slim
from .parameters import add_parameters
from .plot import DRAWN
from .reproduce import paper
from .serve import add_serving, serve
from .sets import data, simulate
from .split import MIN_TEST, PER_USER, SHARE_BY_TIME, split
from .strangers import add_unknown
from .update import update

if TYPE_CHECKING:
    from .answer import Answer

    Command = Callable[[argparse.Namespace], Answer]


class Parser(argparse.ArgumentParser):
    """A parser whose help begins with a given text, and whose complaints are one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=28),
            usage=argparse.SUPPRESS, add_help=False, **settings,
        )  # fmt: skip

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"rather: {message}; see: {self.prog} --help\n")


def grammar() -> Parser:
    """The parser of all commands."""
    from .. import __version__

    parser = Parser(prog="rather", description=overview())
    parser.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"rather {__version__}", help=argparse.SUPPRESS)
    known = parser.add_subparsers(prog="rather", metavar="COMMAND", required=True, help=argparse.SUPPRESS)
    for name, text in TEXTS.items():
        made = known.add_parser(name, description=described(name, text))
        if name == "plot":
            _plot(made)
        else:
            run, add_options = COMMANDS[name]
            add_options(made)
            made.set_defaults(run=run, indent=None if run is ask else 2)
    return parser


def _plot(parser: Parser) -> None:
    pictures = parser.add_subparsers(
        prog="rather plot", metavar="PICTURE", dest="picture", required=True, help=argparse.SUPPRESS
    )
    for name, text in PICTURES.items():
        made = pictures.add_parser(name, description=described(f"plot {name}", text))
        run, add_options = DRAWN[name]
        add_options(made)
        made.set_defaults(run=run, indent=2)
    parser.add_argument_group("Output").add_argument("-h", "--help", action="help", help="print this help")


def _demo(parser: Parser) -> None:
    club = parser.add_argument_group("Film club")
    club.add_argument("--members", type=int, default=400, metavar="N", help="from 20 to 1000 (default: 400)")
    club.add_argument("--seed", type=int, default=0, metavar="S", help="another seed, another club (default: 0)")
    add_output(parser)


def _fit(parser: Parser) -> None:
    votes = parser.add_argument_group("Data")
    add_file(votes, required=False)
    add_votes(votes)
    add_features(parser)
    model = parser.add_argument_group("Model")
    model.add_argument(
        "--model", choices=tuple(ESTIMATORS), metavar="NAME",
        help=f"{', '.join(ESTIMATORS)} (default: ClickRanker for clicks, Global where nobody is named, else AltSVM). "
        "ItemMean, Differences, CofiRank and LCR need ratings. ClickRanker, RobiRank, Popularity, RP3beta and EASE "
        "need clicks.",
    )  # fmt: skip
    add_output(parser, _add_saved, add_force, add_slim, _add_quiet)
    _add_pairs(parser.add_argument_group("Advanced (ratings and clicks)"))
    add_parameters(parser, common=model)
    add_format(parser)


def _add_saved(parser: Any) -> None:
    parser.add_argument(
        "--out", required=True, metavar="MODEL", help="file to write; until it is whole, an old model stays"
    )


def _add_quiet(parser: Any) -> None:
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")


def _add_pairs(parser: Any) -> None:
    """Add the options for turning ratings and clicks into comparisons."""
    parser.add_argument(
        "--keep", choices=("all", "largest-gap"), help="which pairs of ratings to compare (default: all)"
    )
    parser.add_argument(
        "--unseen", type=int, metavar="N",
        help="number of items to compare clicks with (default: 2/5 of them, at most 1500)",
    )  # fmt: skip
    parser.add_argument("--per-user", type=int, metavar="N", help="instead: pairs to draw of a click and another item")


def _update(parser: Parser) -> None:
    votes = parser.add_argument_group("Data")
    _add_model(votes)
    add_file(votes, required=False)
    votes.add_argument("--old", metavar="FILE", help="the model's earlier data, if it was fitted with --slim")
    add_features(parser)
    add_output(parser, _add_replaced, add_force, _add_quiet)
    group = parser.add_argument_group("Advanced")
    _add_pairs(group)
    group.add_argument("--threads", dest="n_threads", type=int, metavar="N", help="(default: as in the fit)")
    add_format(parser)


def _add_replaced(parser: Any) -> None:
    parser.add_argument("--out", "-o", metavar="MODEL", help="file to write (default: MODEL itself)")
    parser.add_argument(
        "--slim", action=argparse.BooleanOptionalAction,
        help="leave the votes out of the file, or keep them (default: as MODEL does)",
    )  # fmt: skip


def _split(parser: Parser) -> None:
    add_file(parser.add_argument_group("Data"))
    how = parser.add_argument_group("How to split: one of --test-share, --per-user and --time")
    how.add_argument(
        "--test-share", type=float, metavar="X", help="share of each user's rows (menus, items) to test on, at random"
    )
    how.add_argument(
        "--per-user", type=int, metavar="N", help=f"ratings of each user to train on (default: {PER_USER})"
    )
    how.add_argument(
        "--min-test", type=int, metavar="M",
        help=f"with --per-user: leave out users with fewer than N + M ratings (default: {MIN_TEST})",
    )  # fmt: skip
    how.add_argument(
        "--time", nargs="?", const="", metavar="COLUMN",
        help="the latest rows test, by this column (default: timestamp); --test-share says how many (default: "
        f"{SHARE_BY_TIME})",
    )  # fmt: skip
    how.add_argument(
        "--by", choices=("everyone", "user"), help="with --time: one moment for all, or per user (default: everyone)"
    )
    how.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the draw (default: 0)")
    add_output(parser, _add_parts, add_force)
    add_format(parser)


def _add_parts(parser: Any) -> None:
    for part in ("train", "test"):
        parser.add_argument(f"--{part}", required=True, metavar=part.upper(), help="a .csv or .parquet file to write")


def _evaluate(parser: Parser) -> None:
    test = parser.add_argument_group("Data")
    _add_model(test)
    add_file(test)
    test.add_argument(
        "--exclude", metavar="FILE",
        help="table of users and items that may not be recommended (default: those seen in training)",
    )  # fmt: skip
    add_unknown(test, "judge them by everybody's ranking")
    how = parser.add_argument_group("Metrics")
    by_format = "; ".join(f"{name}: {' and '.join(kind.metrics)}" for name, kind in FORMATS.items())
    how.add_argument("--metric", action="append", choices=METRICS, help=f"may be repeated (default: {by_format})")
    how.add_argument("--k", type=int, default=10, help="length of the lists for ndcg and precision (default: 10)")
    how.add_argument("--min-gap", type=float, metavar="X", help="accuracy on pairs whose ratings differ by X or more")
    add_output(parser, _add_values, add_force)
    add_format(parser)


def _add_values(parser: Any) -> None:
    parser.add_argument("--per-user", metavar="OUT", help="write each user's values to a .csv or .parquet file")


def _rank(parser: Parser) -> None:
    whose = parser.add_argument_group("Person")
    _add_model(whose)
    _add_user(whose)
    whose.add_argument("--everyone", action="store_true", help="the ranking shared by everybody")
    add_answers(parser)
    shown = parser.add_argument_group("List")
    shown.add_argument("--top", type=int, metavar="N", help="only the first N")
    shown.add_argument(
        "--interval", type=float, metavar="X",
        help="add a range of places that holds with this probability, such as 0.9",
    )  # fmt: skip
    shown.add_argument(
        "--top-of", type=int, metavar="N",
        help="with --interval: the column 'top N' (default: 10, or 3 for under 20 items)",
    )  # fmt: skip
    add_items(shown)
    add_output(parser, _add_lists, add_force)
    add_reading(parser)


def _recommend(parser: Parser) -> None:
    whose = parser.add_argument_group("People")
    _add_model(whose)
    # Not nargs="*": that takes no users at all when an option stands between them and MODEL.
    whose.add_argument("users", nargs="+", metavar="USER", default=(), help="ids of users").required = False
    whose.add_argument("--all", action="store_true", help="every user of the model")
    add_unknown(whose, "use everybody's ranking")
    add_answers(parser)
    shown = parser.add_argument_group("List")
    shown.add_argument("--k", type=int, help=f"items for each person (default: {LISTED})")
    shown.add_argument("--exclude-seen", action="store_true", help="leave out items of the training data or answers")
    shown.add_argument(
        "--by", choices=("interest", "score"), default="interest",
        help="interest: what people take up and like, by ratings; score: what they prefer (default: interest)",
    )  # fmt: skip
    add_items(shown)
    add_output(parser, _add_lists, add_force)
    add_reading(parser)


def _add_lists(parser: Any) -> None:
    parser.add_argument("--out", metavar="FILE", help="write a .csv or .parquet file instead")


def _probability(parser: Parser) -> None:
    asked = parser.add_argument_group("Question")
    _add_model(asked)
    asked.add_argument("ids", nargs="+", metavar="ID", help="USER LEFT RIGHT; for somebody new LEFT RIGHT")
    asked.add_argument("--side", choices=("left", "right"), help="the item that is shown first (default: neither)")
    asked.add_argument(
        "--covariate", action="append", default=[], metavar="NAME=X",
        help="the covariate of LEFT less that of RIGHT; may be repeated",
    )  # fmt: skip
    add_answers(parser)
    add_output(parser)
    add_reading(parser)


def _ask(parser: Parser) -> None:
    _add_model(parser.add_argument_group("Model"))
    add_asking(parser)


def _differences(parser: Parser) -> None:
    whose = parser.add_argument_group("People")
    _add_model(whose)
    _add_user(whose)
    whose.add_argument("other", metavar="OTHER", help="another user (default: the average person)").required = False
    add_answers(parser)
    shown = parser.add_argument_group("List")
    shown.add_argument(
        "--top", type=int, default=DIFFERENT, metavar="N", help=f"the N most certain ones (default: {DIFFERENT})"
    )
    shown.add_argument(
        "--interval", type=float, default=INTERVAL, metavar="X",
        help=f"probability of the intervals (default: {INTERVAL})",
    )  # fmt: skip
    add_items(shown)
    add_output(parser, _add_lists, add_force)
    add_reading(parser)


def _effects(parser: Parser) -> None:
    _add_model(parser.add_argument_group("Model"))
    add_output(parser, _add_lists, add_force)


def _tastes(parser: Parser) -> None:
    whose = parser.add_argument_group("Person")
    _add_model(whose)
    _add_user(whose)
    shown = parser.add_argument_group("List")
    shown.add_argument("--top", type=int, default=TASTES, metavar="N", help=f"only the first N (default: {TASTES})")
    shown.add_argument(
        "--by", choices=("mean", "spread", "own"), default="mean",
        help="order by worth to all, by difference between people, or by worth to USER (default: mean)",
    )  # fmt: skip
    add_output(parser, _add_lists, add_force)


def _simulate(parser: Parser) -> None:
    world = parser.add_argument_group("World")
    for name, what, default in (
        ("users", "people", 300), ("items", "items", 200), ("rank", "taste dimensions", 3),
        ("per-user", "votes of each person", 60), ("seed", "another seed, another world", 0),
    ):  # fmt: skip
        world.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"{what} (default: {default})")
    answers = parser.add_argument_group("Answers")
    for name, what, share in (
        ("noise", "randomness, above 0", 0.5), ("ties", "reluctance to decide", 0.0),
        ("side", "position bias: log-odds in favour of the item shown first", 0.0),
        ("careless", "share of people who answer at random", 0.0),
    ):  # fmt: skip
        answers.add_argument(f"--{name}", type=float, default=share, metavar="X", help=f"{what} (default: {share:g})")
    add_output(parser, _add_votes, add_force)


def _add_votes(parser: Any) -> None:
    parser.add_argument("--out", required=True, metavar="FILE", help="a .csv or .parquet file to write")


def _data(parser: Parser) -> None:
    sets = parser.add_argument_group("Data sets")
    sets.add_argument("action", choices=("list", "fetch"), default="list", help="(default: list)").required = False
    sets.add_argument("name", metavar="NAME", help="data set to fetch").required = False
    add_output(parser)


def _paper(parser: Parser) -> None:
    script = parser.add_argument_group("Script")
    name = script.add_argument("name", metavar="NAME", help="a script in the folder paper/ of a source checkout")
    name.required = False
    add_output(parser)


def _add_model(parser: Any) -> None:
    parser.add_argument("model", metavar="MODEL", help="file that 'rather fit' wrote")


def _add_user(parser: Any) -> None:
    parser.add_argument("user", metavar="USER", help="id of a user").required = False


COMMANDS: dict[str, tuple[Command, Callable[[Parser], object]]] = {
    "demo": (demo, _demo),
    "doctor": (doctor, add_output),
    "fit": (fit, _fit),
    "update": (update, _update),
    "split": (split, _split),
    "evaluate": (evaluate, _evaluate),
    "rank": (rank, _rank),
    "recommend": (recommend, _recommend),
    "probability": (probability, _probability),
    "differences": (differences, _differences),
    "effects": (effects, _effects),
    "tastes": (tastes, _tastes),
    "ask": (ask, _ask),
    "serve": (serve, add_serving),
    "simulate": (simulate, _simulate),
    "data": (data, _data),
    "paper": (paper, _paper),
}
