"""The grammar of the command line: every command with its options, their help and an example."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from ..estimators import ESTIMATORS
from .ask import INTERVAL, add_asking, ask
from .asked import add_answers, add_items
from .demo import demo
from .doctor import doctor
from .evaluate import METRICS, evaluate
from .features import add_features
from .fit import fit
from .inputs import FORMATS, add_file
from .kept import add_votes
from .lists import DIFFERENT, LISTED, TASTES, differences, effects, probability, rank, recommend, tastes
from .outputs import add_force, add_slim
from .parameters import add_parameters
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
    """A parser whose complaints are one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=30), **settings)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"rather: {message}; see: {self.prog} --help\n")


def grammar() -> Parser:
    """The parser of all commands."""
    from .. import __version__

    parser = Parser(prog="rather", description="Everyone's full ranking from a few choices each.")
    parser.add_argument("--version", action="version", version=f"rather {__version__}")
    known = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(run: Command, what: str, example: str, usage: str | None = None, lines: bool = False) -> Parser:
        name = run.__name__
        made: Parser = known.add_parser(
            name,
            help=what,
            description=f"{what[0].upper()}{what[1:]}.",
            epilog=f"example: rather {name} {example}",
            usage=None if usage is None else f"rather {name} {usage}",
        )
        printed = "lines of JSON: see below" if lines else "print one JSON document and nothing else"
        made.add_argument("--json", action="store_true", help=printed)
        made.set_defaults(run=run, indent=None if lines else 2)
        return made

    _demo(command(demo, "see it work: a film club's tastes, learned and checked against the truth", "--members 100"))
    _fit(
        command(
            fit,
            "learn a model from votes, an arena's log, ratings, menus, rankings or clicks",
            "votes.csv --out model.rather",
            "[options] (FILE | --votes DATABASE) --out MODEL",
        )
    )
    _update(
        command(
            update,
            "take newer data into a saved model, or new items by --item-features alone",
            "model.rather today.csv",
            "[options] MODEL [FILE] [--old FILE] [--item-features FILE] [--out MODEL]",
        )
    )
    _split(
        command(
            split,
            "cut a file in two, for training and for testing",
            "votes.csv --train a.csv --test b.csv --test-share 0.2",
            "[options] FILE --train TRAIN --test TEST (--per-user N | --test-share X | --time [COLUMN])",
        )
    )
    _evaluate(
        command(evaluate, "judge a model on data it has not seen", "model.rather test.csv", "[options] MODEL FILE")
    )
    _rank(
        command(
            rank,
            "all items, or some, for one user, best first",
            "model.rather ann --top 20",
            "[options] MODEL (USER | --everyone | --answers FILE | --prefers WINNER LOSER ... | --feature NAME=X ...)",
        )
    )
    _recommend(
        command(
            recommend,
            "the best items for some users or for all",
            "model.rather ann bob --k 5 --exclude-seen",
            "[options] MODEL (USER ... | --all | --answers FILE | --prefers WINNER LOSER ... | --feature NAME=X ...)",
        )
    )
    _probability(
        command(
            probability,
            "how likely a user would rather have one item than another",
            "model.rather ann tea coffee",
            "[options] MODEL USER LEFT RIGHT, or MODEL LEFT RIGHT with --answers, --prefers or --feature",
        )
    )
    asked = command(
        ask,
        "be asked which of two you would rather have, again and again, and see your list take shape",
        "model.rather --titles films.csv --out answers.csv",
        "[options] MODEL",
        lines=True,
    )
    _add_model(asked)
    add_asking(asked)
    add_serving(
        command(
            serve,
            "put a page in front of people that asks them, keeps their votes, and shows everybody's own list",
            "films.csv --port 8000",
            "[options] [MODEL | ITEMS]",
        )
    )
    _differences(
        command(
            differences,
            "where a user's taste differs from the typical person's, or from another's, most surely first",
            "model.rather ann bob --top 10",
            "[options] MODEL (USER [OTHER] | --answers FILE | --prefers WINNER LOSER ... | --feature NAME=X ...)",
        )
    )
    _add_model(command(effects, "what swayed people beside their taste: side, covariates, ties", "model.rather"))
    _tastes(
        command(
            tastes,
            "what features of items are worth to people, and how much people differ about them, in log-odds",
            "model.rather ann --by own --top 5",
            "[options] MODEL [USER]",
        )
    )
    _simulate(command(simulate, "write votes whose truth is known", "--out votes.csv --users 1000"))
    _data(command(data, "list the known data sets, or fetch one", "fetch ml-100k", "[--json] [list | fetch NAME]"))
    _paper(
        command(
            paper,
            "list the paper's tables and figures, or reproduce one",
            "table2 --only AltSVM Global --seeds 2",
            "[--json] [NAME [options of that script]]",
        )
    )
    command(doctor, "check this installation", "--json")
    return parser


def _demo(parser: Parser) -> None:
    parser.add_argument("--members", type=int, default=400, metavar="N", help="20 to 1000 (400)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="another seed, another club (0)")


def _fit(parser: Parser) -> None:
    add_file(parser, required=False)
    add_votes(parser)
    parser.add_argument(
        "--out",
        required=True,
        metavar="MODEL",
        help="file to save the model to; replaces a model once whole, till then MODEL.partial",
    )
    add_force(parser)
    add_slim(parser)
    _add_settings(parser)
    add_features(parser)
    parser.add_argument(
        "--model",
        choices=tuple(ESTIMATORS),
        help="(ClickRanker for clicks, Global where nobody is named, else AltSVM); ItemMean, Differences, CofiRank, "
        "LCR need ratings, ClickRanker, RobiRank, Popularity, RP3beta, EASE clicks",
    )
    add_parameters(parser)


def _add_settings(parser: Parser) -> None:
    parser.add_argument("--keep", choices=("all", "largest-gap"), help="which pairs of ratings to use (all)")
    parser.add_argument("--unseen", type=int, metavar="N", help="items to compare clicks with (2/5, at most 1500)")
    parser.add_argument("--per-user", type=int, metavar="N", help="or: pairs to draw of a click and another item")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")


def _update(parser: Parser) -> None:
    _add_model(parser)
    add_file(parser, required=False)
    parser.add_argument(
        "--old", metavar="FILE", help="what the model was fitted to, if its file does not hold it (--slim)"
    )
    parser.add_argument("--out", "-o", metavar="MODEL", help="file to save to (MODEL itself, replaced once whole)")
    add_force(parser)
    parser.add_argument(
        "--slim", action=argparse.BooleanOptionalAction,
        help="leave everybody's answers out of the file, or keep them in it (as MODEL does)",
    )  # fmt: skip
    _add_settings(parser)
    parser.add_argument("--threads", dest="n_threads", type=int, metavar="N", help="(as the model was fitted)")
    add_features(parser)


def _split(parser: Parser) -> None:
    add_file(parser)
    for part in ("train", "test"):
        parser.add_argument(f"--{part}", required=True, metavar=part.upper(), help="a .csv or .parquet file to write")
    add_force(parser)
    how = parser.add_argument_group("how to split", "one of --per-user, --test-share and --time")
    how.add_argument("--per-user", type=int, metavar="N", help=f"ratings of each user to train on ({PER_USER})")
    how.add_argument(
        "--min-test", type=int, metavar="M", help=f"and users with fewer than N + M ratings are left out ({MIN_TEST})"
    )
    how.add_argument(
        "--test-share", type=float, metavar="X", help="share of each user's rows (menus, items) to test on, at random"
    )
    how.add_argument(
        "--time",
        nargs="?",
        const="",
        metavar="COLUMN",
        help=f"the last rows by this column (timestamp) are for testing; --test-share says how many ({SHARE_BY_TIME})",
    )
    how.add_argument("--by", choices=("everyone", "user"), help="cut at one time, or every user's rows (everyone)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the draw (0)")


def _evaluate(parser: Parser) -> None:
    _add_model(parser)
    add_file(parser)
    by_format = "; ".join(f"{name}: {' and '.join(kind.metrics)}" for name, kind in FORMATS.items())
    parser.add_argument("--metric", action="append", choices=METRICS, help=f"may be repeated ({by_format})")
    parser.add_argument("--k", type=int, default=10, help="length of the lists that ndcg and precision judge (10)")
    parser.add_argument("--min-gap", type=float, metavar="X", help="accuracy only on pairs rated at least X apart")
    parser.add_argument("--exclude", metavar="FILE", help="users and items not to recommend (those seen in training)")
    add_unknown(parser, "judged by everybody's ranking")
    parser.add_argument("--per-user", metavar="OUT", help="write every user's values to a .csv or .parquet file")
    add_force(parser)


def _rank(parser: Parser) -> None:
    _add_model(parser)
    parser.add_argument("user", metavar="USER").required = False
    parser.add_argument("--everyone", action="store_true", help="everybody's ranking, instead of a user's")
    parser.add_argument("--top", type=int, metavar="N", help="only the first N")
    parser.add_argument(
        "--interval", type=float, metavar="X",
        help="such as 0.9: tell also between which places an item is with this probability, how likely it is to be "
        "among the first, and which items cannot be distinguished (a user's or everybody's take a MODEL fitted "
        "without --slim)",
    )  # fmt: skip
    parser.add_argument(
        "--top-of", type=int, metavar="N", help="with --interval: how many are the first (10; of under 20 items 3)"
    )
    add_items(parser)
    add_answers(parser)


def _recommend(parser: Parser) -> None:
    _add_model(parser)
    # Not nargs="*": that takes no users at all when an option stands between them and MODEL.
    parser.add_argument("users", nargs="+", metavar="USER", default=()).required = False
    parser.add_argument("--all", action="store_true", help="every user of the model")
    parser.add_argument("--k", type=int, help=f"items for each user ({LISTED})")
    parser.add_argument("--exclude-seen", action="store_true", help="leave out what was met in training, or answered")
    parser.add_argument(
        "--by", choices=("interest", "score"), default="interest",
        help="interest: of ratings, what people would take up and like; score: what they would rather have (interest)",
    )  # fmt: skip
    add_items(parser)
    add_unknown(parser, "everybody's ranking")
    parser.add_argument("--out", metavar="FILE", help="write a .csv or .parquet file instead")
    add_force(parser)
    add_answers(parser)


def _probability(parser: Parser) -> None:
    _add_model(parser)
    parser.add_argument("ids", nargs="+", metavar="ID", help="USER LEFT RIGHT; LEFT RIGHT for a newcomer")
    parser.add_argument("--side", choices=("left", "right"), help="which one stands first (neither)")
    parser.add_argument(
        "--covariate", action="append", default=[], metavar="NAME=X", help="left's less right's; may be repeated"
    )
    add_answers(parser)


def _differences(parser: Parser) -> None:
    _add_model(parser)
    parser.add_argument("user", metavar="USER").required = False
    parser.add_argument("other", metavar="OTHER", help="(the typical person)").required = False
    parser.add_argument("--top", type=int, default=DIFFERENT, metavar="N", help=f"only the first N ({DIFFERENT})")
    parser.add_argument(
        "--interval", type=float, default=INTERVAL, metavar="X", help=f"probability of the intervals ({INTERVAL})"
    )
    add_items(parser)
    add_answers(parser)


def _tastes(parser: Parser) -> None:
    _add_model(parser)
    parser.add_argument("user", metavar="USER", help="whose own tastes to tell as well").required = False
    parser.add_argument("--top", type=int, default=TASTES, metavar="N", help=f"only the first N ({TASTES})")
    parser.add_argument(
        "--by", choices=("mean", "spread", "own"), default="mean",
        help="most worth to all, most different between people, or most worth to USER (mean)",
    )  # fmt: skip


def _simulate(parser: Parser) -> None:
    parser.add_argument("--out", required=True, metavar="FILE", help="a .csv or .parquet file")
    add_force(parser)
    for name, default in (("users", 300), ("items", 200), ("rank", 3), ("per-user", 60), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"({default})")
    parser.add_argument("--noise", type=float, default=0.5, metavar="X", help="above 0; more is more random (0.5)")
    for name, what in (
        ("ties", "reluctance to decide"), ("side", "log-odds in favour of what stands first"),
        ("careless", "share of people who answer at random"),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=float, default=0.0, metavar="X", help=f"{what} (0)")


def _data(parser: Parser) -> None:
    parser.add_argument("action", choices=("list", "fetch"), default="list", help="(list)").required = False
    parser.add_argument("name", metavar="NAME", help="data set to fetch").required = False


def _paper(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="script of a source checkout's paper/, by name").required = False


def _add_model(parser: Parser) -> None:
    parser.add_argument("model", metavar="MODEL", help="file that 'rather fit' saved")
