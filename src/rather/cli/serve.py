"""rather serve: run a voting page from a model, a list of items, or the film club."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.whole_files import existing
from ..errors import InputError, number
from ..estimators import load
from .answer import Document, facts, in_json, in_words, write
from .inputs import about, add_csv, read_table
from .kept import NEEDS
from .outputs import add_output

if TYPE_CHECKING:
    from rich.console import Console

    from .answer import Answer

TABLES = (".csv", ".tsv", ".txt", ".gz", ".parquet")
CLUB = "film-club"
OF_MODEL, OF_ITEMS = 10.0, 1.0  # minutes between fits


def add_serving(parser: Any) -> None:
    """The options of the command."""
    page = parser.add_argument_group("Page")
    page.add_argument(
        "what", nargs="?", metavar="MODEL|ITEMS",
        help="a model, or a table with columns item, title, description, picture (default: the demonstration's film "
        "club)",
    )  # fmt: skip
    page.add_argument("--items", metavar="FILE", help="with MODEL: table of the items to show (default: all, by id)")
    page.add_argument("--title", metavar="TEXT", help="what is ranked here (default: the name of the file)")
    keep = parser.add_argument_group("Votes")
    keep.add_argument(
        "--state", metavar="FOLDER", help="folder of votes, models and the admin token (default: FILE.served)"
    )
    keep.add_argument(
        "--votes", metavar="DATABASE", help="keep the votes elsewhere: a file, or postgresql://USER@HOST/NAME"
    )
    keep.add_argument(
        "--refit", nargs="?", type=float, const=True, metavar="MINUTES",
        help="refit in the background, at most every MINUTES "
        f"(default with ITEMS: {OF_ITEMS:g}; with MODEL: no refits, or {OF_MODEL:g} if --refit has no number); "
        "--slim models cannot be refitted",
    )  # fmt: skip
    reach = parser.add_argument_group("Address")
    reach.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="listen here (default: 127.0.0.1)")
    reach.add_argument("--port", type=int, default=8000, metavar="N", help="0: any free port (default: 8000)")
    add_output(parser)
    group = parser.add_argument_group("Advanced")
    group.add_argument("--https", action="store_true", help="browsers use https, through a proxy")
    group.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME",
        help="another name that browsers use, beside localhost and ADDRESS; may be repeated",
    )  # fmt: skip
    group.add_argument(
        "--proxy", action="append", default=[], metavar="ADDRESS",
        help="address of a trusted reverse proxy, which names the visitors; may be repeated",
    )  # fmt: skip
    group.add_argument(
        "--visitor-rate", type=float, default=5.0, metavar="X",
        help="turns a second for one visitor (default: 5; bursts of 50)",
    )  # fmt: skip
    group.add_argument(
        "--address-rate", type=float, default=50.0, metavar="X", help="requests a second for one address (default: 50)"
    )
    add_csv(group)


def serve(options: argparse.Namespace) -> Answer:
    number("--port", options.port, at_least=0, at_most=65535, integer=True)
    number("--visitor-rate", options.visitor_rate, above=0.0)
    number("--address-rate", options.address_rate, above=0.0)
    if options.refit is not None and options.refit is not True:
        number("--refit", options.refit, above=0.0)
    try:
        from ..server import serving
        from ..server.gate import HOST
    except ModuleNotFoundError as e:
        raise InputError(NEEDS) from e
    for name in options.allow_host:
        found = HOST.fullmatch(name.lower())
        if found is None or found[2] is not None:
            raise InputError(f"--allow-host is {name!r}; it must be a name alone, without https://, port or path")
    logging.basicConfig(format="rather: %(message)s", level=logging.WARNING)
    logging.getLogger("rather").setLevel(logging.INFO)
    settings = _settings(options, serving)
    settings.said = lambda document: write(in_json(document, None) if options.json else in_words(document, _show))
    serving.serve(settings)
    return {"ended": True, "state": str(settings.state)}, _show_end


def _settings(options: argparse.Namespace, serving: Any) -> Any:
    common = {
        "votes": options.votes, "host": options.host, "port": options.port, "allow_hosts": tuple(options.allow_host),
        "per_visitor": options.visitor_rate, "per_address": options.address_rate, "proxies": tuple(options.proxy),
        "https": options.https,
    }  # fmt: skip
    what, refits_model = options.what, options.refit is not None
    path = Path(CLUB if what is None else existing(what, "a model that 'rather fit' saved, or a table of items"))
    state = Path(options.state) if options.state else path.with_name(f"{path.name}.served")
    title = options.title or ("The film club" if what is None else path.stem.replace("_", " ").replace("-", " "))
    if what is not None and path.suffix.lower() in TABLES:
        if options.items is not None:
            raise InputError(f"{what!r} is a table of items already; leave --items out")
        listed = _listed("what", options)
        return serving.Settings(state, title, listed, refit_every=_seconds(options.refit, OF_ITEMS), **common)
    if what is None:
        serving.make_folder(state)
        path = _film_club(state)
    from ..server import refits
    from ..server.listed import only_ids

    model = load(path)
    listed = only_ids(model.items_.tolist()) if options.items is None else _listed("items", options)
    if refits_model:
        refits.check_base(model, str(path), listed)
    base = refits.opened(path, listed)
    if not refits_model:
        return serving.Settings(state, title, listed, base, **common)
    return serving.Settings(
        state, title, listed, base, str(path), refit_every=_seconds(options.refit, OF_MODEL), **common
    )


def _seconds(minutes: Any, usual: float) -> float:
    """Return the seconds between fits: from a number of minutes, or the default."""
    return 60 * (usual if minutes is None or minutes is True else float(minutes))


def _listed(option: str, options: argparse.Namespace) -> Any:
    """Read the table of items that an option names."""
    from ..server import listed

    path = Path(getattr(options, option))
    with about(option):
        return listed.read(read_table(str(path), options), repr(str(path)), path.parent)


def _film_club(state: Path) -> Path:
    """The demonstration's model, fitted the first time."""
    from ..datasets.films import club
    from ..models.altsvm import AltSVM

    path = state / f"{CLUB}.rather"
    if not path.exists():
        model = AltSVM().fit(club().comparisons)
        model.calibrate()
        model._crowd()
        model.save(path)
    return path


def _show(document: Document, console: Console) -> None:
    model = document["model"] or "none yet: fitted when there are enough votes"
    facts(console, {
        "page": document["url"],
        "items": f"{document['items']:,}",
        "model": model,
        "votes": f"{document['votes']} ({document['answers']:,} by {document['people']:,} people)",
        "admin token": document["admin_token"],
    })  # fmt: skip
    console.print("\nOpen the page in a browser; Ctrl-C ends this. All answers are kept.")


def _show_end(document: Document, console: Console) -> None:
    console.print(f"\nEnded. All answers are in {document['state']}.")
