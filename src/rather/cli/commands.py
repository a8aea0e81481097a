"""What the commands do: each computes one document and says how to show it to a person."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from ..data.comparisons import Comparisons

    Answer = tuple["Document", Callable[["Document", Console], None]]  # and how to show it to a person

Document = dict[str, Any]


class Format(NamedTuple):
    """What a file may hold: its constructor, the columns it must and may have, and what else can be said about it."""

    constructor: str
    columns: tuple[str, ...]
    optional: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("accuracy",)


# In the order in which they are guessed: a file of ratings would also do as clicks.
FORMATS = {
    "votes": Format("from_frame", ("user", "winner", "loser"), optional=("weight", "tie")),
    "menus": Format("from_menus", ("user", "menu", "item", "chosen")),
    "ratings": Format("from_ratings", ("user", "item", "rating"), settings=("keep",), metrics=("ndcg", "accuracy")),
    "rankings": Format("from_rankings", ("user", "item", "rank")),
    "clicks": Format("from_clicks", ("user", "item"), settings=("per_user", "unseen"), metrics=("precision",)),
}
COLUMNS = ("user", "winner", "loser", "weight", "tie", "item", "rating", "menu", "chosen", "rank")
SETTINGS = ("keep", "per_user", "unseen")
FIXED_ROUNDS = ("BPR", "RobiRank")  # whose objective is sampled: they stop at --max-iter
MODELS = ("AltSVM", "Convex", "Global", "BPR", "SGD", "Differences", "CofiRank", "LCR", "RobiRank")
PARAMETERS = ("rank", "reg", "lam", "loss", "bias", "solver", "max_iter", "tol", "n_threads", "seed", "checkpoint")
METRICS = ("ndcg", "precision", "accuracy")


def option_of(role: str) -> str:
    return "--rank-column" if role == "rank" else f"--{role}"  # --rank is the model's


# -- demo, doctor -----------------------------------------------------------------------------------------------------


def demo(options: argparse.Namespace) -> Answer:
    from . import film_club

    return film_club.run(options.members, options.seed), film_club.show


def doctor(options: argparse.Namespace) -> Answer:
    from . import doctor

    return doctor.examine(), doctor.show


# -- what a file holds ------------------------------------------------------------------------------------------------


class Source(NamedTuple):
    """A file that was read, as what, and the names of its columns by role."""

    frame: Any
    columns: dict[str, str]
    about: Document

    def comparisons(self, **settings: Any) -> Comparisons:
        from .. import Comparisons

        constructor = getattr(Comparisons, FORMATS[self.about["format"]].constructor)
        made: Comparisons = constructor(self.frame, **self.columns, **settings)
        return made


def _source(options: argparse.Namespace) -> Source:
    """Read options.file as options.format says or, failing that, as its columns suggest."""
    from ..data.table_files import read_file

    frame = read_file(options.file)
    present = list(frame) if isinstance(frame, dict) else list(frame.column_names)
    given = {role: getattr(options, f"{role}_column") for role in COLUMNS}
    name = options.format or _guess(options.file, present, given)
    kind = FORMATS[name]
    for role, column in given.items():
        if column is not None and role not in kind.columns + kind.optional:
            raise InputError(
                f"{name} have no {role}, so the column {column!r} cannot be it; leave {option_of(role)} out"
            )
    used = kind.columns + tuple(role for role in kind.optional if given[role] or role in present)
    columns = {role: given[role] or role for role in used}
    about = {"file": options.file, "format": name, "guessed": options.format is None, "columns": columns}
    return Source(frame, columns, about)


def _guess(file: str, present: list[str], given: dict[str, str | None]) -> str:
    for role, column in given.items():
        if column is not None and column not in present:
            have = ", ".join(map(repr, present))
            raise InputError(f"{file!r} has no column {column!r} (for the {role}); it has {have}")
    for name, kind in FORMATS.items():
        if all((given[role] or role) in present for role in kind.columns):
            return name
    raise InputError(
        f"the columns of {file!r} ({', '.join(map(repr, present))}) do not tell what it holds; say so with --format "
        f"({', '.join(FORMATS)}) and name the columns (as in: --user who --item what)"
    )


def _as_read(document: Document) -> str:
    guessed = ", guessed" if document["guessed"] else ""
    return f"{document['file']} (read as {document['format']}{guessed}: {', '.join(document['columns'].values())})"


# -- fit, evaluate ----------------------------------------------------------------------------------------------------


def fit(options: argparse.Namespace) -> Answer:
    from .. import ESTIMATORS
    from ..data.whole_files import destination

    paths = [Path(p) for p in (options.file, options.out, options.checkpoint) if p is not None]
    if len({p.resolve() for p in paths}) < len(paths):
        raise InputError(
            f"the data, the model and the checkpoint must be different files, not {', '.join(map(str, paths))}"
        )
    destination(options.out)
    source = _source(options)
    format = source.about["format"]
    settings = {name: getattr(options, name) for name in SETTINGS if getattr(options, name) is not None}
    for name in settings:
        if name not in FORMATS[format].settings:
            raise InputError(f"--{name.replace('_', '-')} does not go with {format}; leave it out")
    if FORMATS[format].settings and options.seed is not None:
        settings["seed"] = options.seed
    verbose = sys.stderr.isatty() and not (options.json or options.quiet)
    given = {name: getattr(options, name) for name in PARAMETERS if getattr(options, name) is not None}
    kind = ESTIMATORS[options.model]
    for name in (name for name in PARAMETERS if name in given and name not in kind._param_names()):
        option = "no-bias" if name == "bias" else "threads" if name == "n_threads" else name.replace("_", "-")
        raise InputError(f"{options.model} has no --{option}; leave it out")
    model = kind(verbose=verbose, **given)
    comparisons = source.comparisons(**settings)
    if verbose:
        print(f"{_as_read(source.about)}\n{comparisons}", file=sys.stderr)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="fit interrupted")  # said below, in one line
        model.fit(comparisons)
    rounds = len(model.history_)
    if model.interrupted_ and not rounds:
        raise KeyboardInterrupt(f"interrupted before the first round was done; nothing saved to {options.out}")
    model.calibrate().save(options.out)
    if model.interrupted_:
        resume = "run the same command to go on" if options.checkpoint else "--checkpoint would let it go on"
        raise KeyboardInterrupt(f"interrupted; the model of {rounds} rounds is saved to {options.out}; {resume}")
    return source.about | {
        "users": comparisons.n_users, "items": comparisons.n_items, "comparisons": len(comparisons),
        "model": options.model, "reg": getattr(model, "reg_", None), "rounds": rounds,
        "converged": model.converged_, "gap": model.history_[-1]["gap"],
        "rank": getattr(model, "rank_", None), "exposure": getattr(model, "exposure_", False),
        "seconds": time.perf_counter() - began, "out": options.out,
    }, _show_fit  # fmt: skip


def _show_fit(document: Document, console: Console) -> None:
    size = f"{document['comparisons']:,} by {document['users']:,} users over {document['items']:,} items"
    rounds = f"{document['rounds']} rounds in {document['seconds']:.1f} seconds"
    reg = f", reg {document['reg']:.4g}" if document["reg"] is not None else ""
    rank = f", rank {document['rank']}" if document["rank"] else ""
    exposed = ", learning from who met what" if document["exposure"] else ""
    fixed = document["model"] in FIXED_ROUNDS
    stopped = "as set" if fixed else "converged" if document["converged"] else "not converged: more with --max-iter"
    _facts(console, {
        "data": _as_read(document),
        "comparisons": size,
        "fit": f"{document['model']}, {rounds}, {stopped} (gap {document['gap']:.1e}{reg}{rank}{exposed})",
        "saved": document["out"],
    })  # fmt: skip
    console.print(f"\nNext: rather recommend {document['out']} USER")


def evaluate(options: argparse.Namespace) -> Answer:
    from .. import load, ndcg, pairwise_accuracy, precision
    from ..data.frames import columns
    from ..data.table_files import read_file

    model, source = load(options.model), _source(options)
    format = source.about["format"]
    accepted = FORMATS[format].metrics
    metrics = options.metric or accepted
    for metric in metrics:
        if metric not in accepted:
            raise InputError(f"{metric} does not go with {format}; use {' or '.join(accepted)}")
    for option, given, metric in (
        ("--exclude", options.exclude, "precision"),
        ("--min-gap", options.min_gap, "accuracy"),
    ):
        if given is not None and metric not in metrics:
            raise InputError(f"{option} is for {metric}, which is not asked for; leave it out")
    results: dict[str, float] = {}
    for metric in metrics:
        if metric == "ndcg":
            results[f"ndcg@{options.k}"] = ndcg(model, source.frame, options.k, *source.columns.values())
        elif metric == "precision":
            exclude = columns(read_file(options.exclude), source.columns) if options.exclude else "seen"
            results[f"precision@{options.k}"] = precision(
                model, source.frame, options.k, exclude, *source.columns.values()
            )
        else:
            name = "accuracy" if options.min_gap is None else f"accuracy (gap at least {options.min_gap:g})"
            results[name] = pairwise_accuracy(model, source.comparisons(), min_gap=options.min_gap)
    return {"model": options.model, **source.about, "metrics": results}, _show_evaluate


def _show_evaluate(document: Document, console: Console) -> None:
    metrics = {name: f"{value:.4f}" for name, value in document["metrics"].items()}
    _facts(console, {"data": _as_read(document), **metrics})


# -- rank, recommend --------------------------------------------------------------------------------------------------


def _user_id(model: Any, text: str) -> Any:
    """An id from the command line as the model's kind of id."""
    if isinstance(model.users_[0], str):
        return text
    try:
        return int(text)
    except ValueError:
        raise InputError(f"user {text!r} is not in the model, whose users are whole numbers") from None


def _columns(table: Any) -> dict[str, Any]:
    """The columns of a table; scores by their shortest digits instead of single precision's."""
    return {name: c.astype(str).astype(float) if name == "score" else c for name, c in table.columns.items()}


def _records(columns: dict[str, Any]) -> list[Document]:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def rank(options: argparse.Namespace) -> Answer:
    from .. import load
    from ..errors import number

    if options.top is not None:
        number("--top", options.top, at_least=1, integer=True)
    model = load(options.model)
    user = _user_id(model, options.user)
    ranking = _records(_columns(model.rank(user)))[: options.top]
    return {"model": options.model, "user": user, "ranking": ranking}, _show_rank


def _show_rank(document: Document, console: Console) -> None:
    _table(console, document["ranking"], ("rank", "item", "score"))


def recommend(options: argparse.Namespace) -> Answer:
    from .. import load
    from ..data.table_files import table_destination, write_table

    if bool(options.users) == options.all:
        raise InputError("recommend takes user ids or --all, one of the two")
    if options.out is not None:
        table_destination(options.out)
    model = load(options.model)
    users = model.users_ if options.all else [_user_id(model, text) for text in options.users]
    columns = _columns(model.recommend(users, k=options.k, exclude="seen" if options.exclude_seen else None))
    document = {"model": options.model, "users": len(users)}
    if options.out is None:
        return document | {"recommendations": _records(columns)}, _show_recommend
    write_table(options.out, columns)
    return document | {"rows": len(columns["user"]), "out": options.out}, _show_recommend


def _show_recommend(document: Document, console: Console) -> None:
    if "out" in document:
        _facts(console, {"saved": f"{document['rows']:,} rows for {document['users']:,} users to {document['out']}"})
    else:
        _table(console, document["recommendations"], ("user", "rank", "item", "score"))


# -- simulate, data ---------------------------------------------------------------------------------------------------


def simulate(options: argparse.Namespace) -> Answer:
    from .. import simulate
    from ..data.table_files import table_destination, write_table

    table_destination(options.out)
    world = simulate(options.users, options.items, options.rank, options.per_user, options.noise, options.seed)
    write_table(options.out, world.comparisons.to_frame("dict"))
    return {
        "out": options.out, "users": options.users, "items": options.items, "comparisons": len(world.comparisons),
        "best_accuracy": world.best_accuracy,
    }, _show_simulate  # fmt: skip


def _show_simulate(document: Document, console: Console) -> None:
    votes = f"{document['comparisons']:,} votes by {document['users']:,} users on {document['items']:,} items"
    _facts(console, {
        "saved": f"{votes} to {document['out']}",
        "best": f"{document['best_accuracy']:.4f} accuracy on fresh votes is the most that can be attained",
    })  # fmt: skip
    console.print(f"\nNext: rather fit {document['out']} --out model.rather")


def data(options: argparse.Namespace) -> Answer:
    from ..data.datasets import DATA_SETS, fetch, listing

    if options.action == "fetch":
        if options.name is None:
            raise InputError(f"fetch takes the name of a data set: one of {', '.join(DATA_SETS)}")
        path = fetch(options.name)
        return {"name": options.name, "path": str(path), "licence": DATA_SETS[options.name].licence}, _show_fetched
    if options.name is not None:
        raise InputError(f"list takes no name, and was given {options.name!r}; did you mean: fetch {options.name}")
    return {"data_sets": listing()}, _show_listing


def _show_fetched(document: Document, console: Console) -> None:
    _facts(console, {"file": document["path"], "terms": document["licence"]})
    console.print(f"\nNext: rather fit {document['path']} --out model.rather")


def _show_listing(document: Document, console: Console) -> None:
    for one in document["data_sets"]:
        console.print(one["name"], style="bold", end="")
        console.print(f"  {one['what']}")
        how = f"rather data fetch {one['name']}" if one["fetchable"] else f"get it from {one['source']}"
        missing = f"not in {' or '.join(one['looked_in'])}; {how}"
        _facts(console, {"  terms": one["licence"], "  found" if one["path"] else "  absent": one["path"] or missing})


# -- the paper --------------------------------------------------------------------------------------------------------


def paper(options: argparse.Namespace) -> Answer:
    from . import reproduce

    if options.name is None:
        if options.rest:
            raise InputError(f"{options.rest[0]!r} goes after the name of a script; rather paper alone lists them")
        return {"scripts": reproduce.scripts()}, _show_scripts
    ok = reproduce.run(options.name, options.rest, aside=options.json)
    results = reproduce.results(options.name, options.rest)
    return {
        "ok": ok, "name": options.name, "arguments": options.rest,
        "results": str(results) if results.exists() else None,
    }, _show_nothing  # fmt: skip


def _show_scripts(document: Document, console: Console) -> None:
    for script in document["scripts"]:
        console.print(script["name"], style="bold", end="")
        console.print(f"  {script['about']}")
        data = ", ".join(f"{name} ({'there' if there else 'absent'})" for name, there in script["data"].items())
        _facts(console, {"  data": data or "needs none"})
    console.print("\nNext: rather paper table1, and rather data for what is absent")


def _show_nothing(document: Document, console: Console) -> None:
    """The script has printed what there is to see."""


# -- for people -------------------------------------------------------------------------------------------------------


def _facts(console: Console, facts: dict[str, str]) -> None:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        grid.add_row(name, value)
    console.print(grid)


def _table(console: Console, records: list[Document], names: tuple[str, ...]) -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, justify="right" if name in ("rank", "score") else "left", overflow="fold")
    for record in records:
        table.add_row(*(f"{record[name]:.4f}" if name == "score" else str(record[name]) for name in names))
    console.print(table)
