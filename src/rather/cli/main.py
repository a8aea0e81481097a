"""The command line: its grammar, and how a command's one document reaches a person or, with --json, a program."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import InputError
from . import commands
from .commands import FORMATS, METRICS, Document

if TYPE_CHECKING:
    from rich.console import Console

    Command = Callable[[argparse.Namespace], commands.Answer]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = _parser()
    given = sys.argv[1:] if argv is None else argv
    try:
        # rather paper NAME --help is for the script to answer.
        given = ["paper", given[1], "--", *given[2:]] if _for_script(given) else given
        options, rest = parser.parse_known_args(given or ["--help"])
        options.rest = rest
        if rest and options.run is not commands.paper:
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
    except SystemExit as e:  # after --help, --version or a mistake that argparse has reported
        return int(e.code or 0)
    try:
        document, show = options.run(options)
        if options.json:
            _write(json.dumps(document, indent=2) + "\n")
        elif not getattr(options, "quiet", False):
            _write(_shown(document, show))
        return 0 if document.get("ok", True) else 1
    except KeyboardInterrupt as e:
        return _complain(str(e) or "interrupted", 130)
    except BrokenPipeError:
        # The reader has gone; Python would complain once more when it flushes on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except InputError as e:
        return _complain(str(e), 2)
    except OSError as e:
        return _complain(f"{e.filename}: {e.strerror}" if e.filename else str(e), 2)


def _for_script(given: Sequence[str]) -> bool:
    """Whether these ask for help on a script of the paper rather than on the command."""
    return len(given) > 2 and given[0] == "paper" and given[1][0] != "-" and bool({"-h", "--help"} & {*given[2:]})


def _complain(sentence: str, code: int) -> int:
    print(f"rather: {' '.join(sentence.split())}", file=sys.stderr)
    return code


def _shown(document: Document, show: Callable[[Document, Console], None]) -> str:
    from rich.console import Console

    width = None if sys.stdout.isatty() else 200
    console = Console(markup=False, emoji=False, highlight=False, width=width)
    with console.capture() as captured:
        show(document, console)
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()


# -- the grammar ------------------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=30), **settings)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"rather: {message}; see: {self.prog} --help\n")


def _parser() -> Parser:
    from .. import __version__

    parser = Parser(prog="rather", description="Everyone's full ranking from a few choices each.")
    parser.add_argument("--version", action="version", version=f"rather {__version__}")
    known = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(
        run: Callable[[argparse.Namespace], commands.Answer], what: str, example: str, **settings: Any
    ) -> Parser:
        name = run.__name__
        description = f"{what[0].upper()}{what[1:]}."
        made: Parser = known.add_parser(
            name, help=what, description=description, epilog=f"example: rather {name} {example}", **settings
        )
        made.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
        made.set_defaults(run=run)
        return made

    demo = command(
        commands.demo, "see it work: a film club's tastes, learned and checked against the truth", "--members 100"
    )
    demo.add_argument("--members", type=int, default=400, metavar="N", help="20 to 1000 (400)")
    demo.add_argument("--seed", type=int, default=0, metavar="S", help="another seed, another club (0)")

    fit = command(
        commands.fit,
        "learn a model from votes, ratings, menus, rankings or clicks",
        "votes.csv --out model.rather",
        usage="rather fit [options] FILE --out MODEL",
    )
    _add_file(fit)
    fit.add_argument("--out", required=True, metavar="MODEL", help="file to save the model to")
    fit.add_argument("--keep", choices=("all", "largest-gap"), help="which pairs of ratings to use (all)")
    fit.add_argument("--unseen", type=int, metavar="N", help="items to compare clicks with (a quarter, at most 1000)")
    fit.add_argument("--per-user", type=int, metavar="N", help="or: pairs to draw of a click and another item")
    fit.add_argument("--quiet", action="store_true", help="print nothing but errors")
    model = fit.add_argument_group("model", "an option that a model does not have is refused; defaults are AltSVM's")
    model.add_argument(
        "--model",
        default="AltSVM",
        choices=commands.MODELS,
        help="(AltSVM); Differences, CofiRank, LCR need ratings, RobiRank clicks",
    )
    model.add_argument(
        "--rank", type=_rank, metavar="R|auto", help="length of the vectors, or auto (AltSVM): as it takes (64)"
    )
    model.add_argument(
        "--reg", type=_reg, metavar="X|cv", help="regularisation, or cv (AltSVM): tried on held-out data (a rule)"
    )
    model.add_argument("--lam", type=float, metavar="X", help="Convex: bound on the nuclear norm, instead of reg")
    model.add_argument(
        "--loss",
        metavar="L",
        help="squared_hinge, hinge, logistic; CofiRank: regression, ordinal, ndcg; LCR: its own (squared_hinge)",
    )
    model.add_argument("--no-bias", dest="bias", action="store_const", const=False, help="no global part in the scores")
    model.add_argument("--solver", choices=("newton", "sdca"), help="(newton)")
    model.add_argument("--max-iter", type=int, metavar="N", help="rounds at most (30)")
    model.add_argument("--tol", type=float, metavar="X", help="gap to stop at (0.0003; clicks 0.02)")
    model.add_argument("--threads", dest="n_threads", type=int, metavar="N", help="(all cores)")
    model.add_argument("--seed", type=int, metavar="S", help="(0)")
    model.add_argument(
        "--checkpoint", metavar="PATH", help="rewritten every round; a fit that was stopped goes on from it"
    )

    evaluate = command(
        commands.evaluate,
        "judge a model on data it has not seen",
        "model.rather test.csv",
        usage="rather evaluate [options] MODEL FILE",
    )
    _add_model(evaluate)
    _add_file(evaluate)
    by_format = "; ".join(f"{name}: {' and '.join(kind.metrics)}" for name, kind in FORMATS.items())
    evaluate.add_argument("--metric", action="append", choices=METRICS, help=f"may be repeated ({by_format})")
    evaluate.add_argument("--k", type=int, default=10, help="length of the lists that ndcg and precision judge (10)")
    evaluate.add_argument("--min-gap", type=float, metavar="X", help="accuracy only on pairs rated at least X apart")
    evaluate.add_argument("--exclude", metavar="FILE", help="users and items not to recommend (those seen in training)")

    rank = command(commands.rank, "all items for one user, best first", "model.rather ann --top 20")
    _add_model(rank)
    rank.add_argument("user", metavar="USER")
    rank.add_argument("--top", type=int, metavar="N", help="only the first N")

    recommend = command(
        commands.recommend,
        "the best items for some users or for all",
        "model.rather ann bob --k 5 --exclude-seen",
        usage="rather recommend [options] MODEL (USER ... | --all)",
    )
    _add_model(recommend)
    # Not nargs="*": that takes no users at all when an option stands between them and MODEL.
    recommend.add_argument("users", nargs="+", metavar="USER", default=()).required = False
    recommend.add_argument("--all", action="store_true", help="every user of the model")
    recommend.add_argument("--k", type=int, default=10, help="items for each user (10)")
    recommend.add_argument("--exclude-seen", action="store_true", help="leave out what a user met in training")
    recommend.add_argument("--out", metavar="FILE", help="write a .csv or .parquet file instead")

    simulate = command(commands.simulate, "write votes whose truth is known", "--out votes.csv --users 1000")
    simulate.add_argument("--out", required=True, metavar="FILE", help="a .csv or .parquet file")
    for name, default in (("users", 300), ("items", 200), ("rank", 3), ("per-user", 60), ("seed", 0)):
        simulate.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"({default})")
    simulate.add_argument("--noise", type=float, default=0.5, metavar="X", help="above 0; more is more random (0.5)")

    data = command(
        commands.data,
        "list the known data sets, or fetch one",
        "fetch ml-100k",
        usage="rather data [--json] [list | fetch NAME]",
    )
    data.add_argument("action", choices=("list", "fetch"), default="list", help="(list)").required = False
    data.add_argument("name", metavar="NAME", help="data set to fetch").required = False

    paper = command(
        commands.paper,
        "list the paper's tables and figures, or reproduce one",
        "table2 --only AltSVM Global --seeds 2",
        usage="rather paper [--json] [NAME [options of that script]]",
    )
    paper.add_argument("name", metavar="NAME", help="script of a source checkout's paper/, by name").required = False

    command(commands.doctor, "check this installation", "--json")
    return parser


def _add_model(parser: Parser) -> None:
    parser.add_argument("model", metavar="MODEL", help="file that 'rather fit' saved")


def _add_file(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="table: .csv, .tsv, .txt (also .gz) or .parquet")
    parser.add_argument("--format", choices=FORMATS, help="what FILE holds (guessed from its columns)")
    group = parser.add_argument_group("columns of FILE", "where a column has another name than its role")
    for role in commands.COLUMNS:
        formats = ", ".join(name for name, kind in FORMATS.items() if role in kind.columns + kind.optional)
        group.add_argument(commands.option_of(role), dest=f"{role}_column", metavar="NAME", help=formats)


def _rank(text: str) -> int | str:
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a whole number nor auto") from None


def _reg(text: str) -> float | str:
    try:
        return text if text == "cv" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor cv") from None
