"""The commands rank, recommend, probability, differences, effects and tastes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.ids import INTEGER, as_ids
from ..data.table_files import write_table
from ..errors import InputError, number
from ..models.places import refuse_places
from .answer import Document, choices, facts, percent, table
from .asked import is_newcomer, items, known_of, newcomer, opened
from .features import ROLES, blocks, check_learns, sentence
from .ids import known_user, typed
from .outputs import check_different, check_table
from .strangers import counted, find

if TYPE_CHECKING:
    from rich.console import Console

    from .answer import Answer

LISTED, TASTES, DIFFERENT = 10, 15, 15
NEWCOMER = "describe a newcomer by --answers FILE or --prefers WINNER LOSER"
SOMEONE = "a newcomer's --answers, --prefers or --feature"
RANK_ADVICE = f"rank the items for everyone with --everyone, or {NEWCOMER}"
RECOMMEND_ADVICE = f"give such users everybody's ranking with --unknown everyone, or {NEWCOMER}"


def _columns(ranked: Any) -> dict[str, Any]:
    """The columns of a table; scores by their shortest digits instead of single precision's."""
    # Not by numpy's casts, in which Ctrl-C is lost.
    return {name: np.array([float(str(x)) for x in c]) if name == "score" else c for name, c in ranked.columns.items()}


def _records(columns: dict[str, Any]) -> list[Document]:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _check_out(what: str, options: argparse.Namespace) -> None:
    """Refuse a table that cannot be written, before any work is done for it."""
    if options.out is not None:
        files = (getattr(options, name, None) for name in ("model", "answers", "items_file", "out"))
        check_different(f"the model, the answers, the items and {what}", files)
        check_table(options.out, options.force)


def _listed(
    about: Document, name: str, columns: dict[str, Any], options: argparse.Namespace, own: dict[str, str], show: Any
) -> Answer:
    """Return the rows of a table to print or, with --out, write them."""
    if options.out is None:
        return about | {name: _records(columns)}, show
    write_table(options.out, _own_names(columns, own))
    return about | {"rows": len(next(iter(columns.values()))), "out": options.out}, _show_saved


def _show_saved(document: Document, console: Console) -> None:
    facts(console, {"saved": f"{document['rows']:,} rows to {document['out']}"})


def _users(model: Any, options: argparse.Namespace) -> list[Any]:
    """Several users; as they were typed where one cannot be the model's kind of id, which need not be an error."""
    whole = all(map(INTEGER.fullmatch, options.users))
    if options.unknown != "error" and not whole:
        return list(options.users)
    return [typed(model, "user", text) for text in options.users]


def _count(model: Any, among: Any) -> int:
    """Return the number of items to choose from."""
    return len(model.items_ if among is None else set(as_ids(among, "the items").tolist()))


# -- rank -------------------------------------------------------------------------------------------------------------


def rank(options: argparse.Namespace) -> Answer:
    if options.top is not None:
        number("--top", options.top, at_least=1, integer=True)
    if sum((options.user is not None, options.everyone, is_newcomer(options))) != 1:
        raise InputError(f"rank takes a USER, --everyone, or {SOMEONE}: one of the three")
    _check_out("the ranking", options)
    model, own = opened(options.model)
    who: Document = {"user": None, "everyone": options.everyone, "answers": None, "features": known_of(options)}
    among = items(model, options)
    how = _how_sure(model, _count(model, among), options)
    if options.everyone:
        ranked = model.rank(items=among, **how)
    elif is_newcomer(options):
        person = newcomer(model, options)
        who["answers"], ranked = len(person.answers), person.rank(among, **how)
    else:
        who["user"] = known_user(model, options.user, RANK_ADVICE)
        ranked = model.rank(who["user"], among, **how)
    about = {"model": options.model, **who, **choices(ranked)}
    return _listed(about, "ranking", _columns(ranked[: options.top]), options, own, _show_rank)


def _how_sure(model: Any, n: int, options: argparse.Namespace) -> Document:
    """Return the arguments of ``rank`` for ranges of places of n items."""
    if options.interval is None:
        if options.top_of is not None:
            raise InputError("--top-of goes with --interval, such as --interval 0.9; give both")
        return {}
    number("--interval", options.interval, above=0.0, below=1.0)
    if options.top_of is not None:
        number("--top-of", options.top_of, at_least=1, at_most=n, integer=True)
    _check_knows_places(model)
    return {"interval": options.interval, "top": options.top_of}


def _check_knows_places(model: Any) -> None:
    """Refuse a model whose kind has no ranges of places."""
    if not hasattr(model, "difference"):
        refuse_places(model)


def _show_rank(document: Document, console: Console) -> None:
    if document["interval"] is None:
        table(console, document["ranking"], ("rank", "item", "score"))
        return
    top = f"top {document['top_of']}"
    rows = [{**row, top: f"{row['p_top']:.0%}"} for row in document["ranking"]]
    table(console, rows, ("rank", "item", "score", "best", "worst", top, "group"))
    console.print(
        f"\nscore in {document['scale']}; with {percent(document['interval'])} probability from place best to worst; "
        f"an item is behind the first of its group with less than {percent(document['interval'])} probability"
    )


# -- recommend --------------------------------------------------------------------------------------------------------


def recommend(options: argparse.Namespace) -> Answer:
    if sum((bool(options.users), options.all, is_newcomer(options))) != 1:
        raise InputError(f"recommend takes user ids or --all or {SOMEONE}: one of the three")
    _check_out("the recommendations", options)
    model, own = opened(options.model)
    among = items(model, options)
    k = min(LISTED, _count(model, among))
    k = k if options.k is None else options.k
    about: Document
    seen = "seen" if options.exclude_seen else None
    if is_newcomer(options):
        person = newcomer(model, options)
        ranked = person.recommend(k, seen, among, options.by)
        about = {"users": 1, "answers": len(person.answers), "features": known_of(options)}
    else:
        users = model.users_ if options.all else _users(model, options)
        strangers = find(model, users, options.unknown, RECOMMEND_ADVICE)
        with counted():
            ranked = model.recommend(users, k=k, exclude=seen, items=among, unknown=options.unknown, by=options.by)
        strangers.say()
        about = {"users": strangers.of - strangers.about["skipped"], **strangers.about}
    columns = _columns(ranked)
    document = {"model": options.model, **about, "scale": ranked.about.get("scale")}
    if options.out is None:
        return document | {"recommendations": _records(columns)}, _show_recommend
    write_table(options.out, _own_names(columns, own))
    return document | {"rows": len(ranked), "out": options.out}, _show_recommend


def _own_names(columns: dict[str, Any], own: dict[str, str]) -> dict[str, Any]:
    """Columns by the names that the data had for them, unless two would be the same."""
    named = {own.get(role, role): column for role, column in columns.items()}
    return named if len(named) == len(columns) else columns


def _show_recommend(document: Document, console: Console) -> None:
    if "out" in document:
        users = "1 user" if document["users"] == 1 else f"{document['users']:,} users"
        facts(console, {"saved": f"{document['rows']:,} rows for {users} to {document['out']}"})
    else:
        names = ("rank", "item", "score") if "answers" in document else ("user", "rank", "item", "score")
        table(console, document["recommendations"], names)
    if document["scale"] is not None:
        console.print(f"\nscores are on the scale of {document['scale']}, not those of rank (--by score gives these)")


# -- probability ------------------------------------------------------------------------------------------------------


def probability(options: argparse.Namespace) -> Answer:
    wanted = 2 if is_newcomer(options) else 3
    if len(options.ids) != wanted:
        raise InputError(
            f"probability takes USER LEFT RIGHT, or LEFT RIGHT with {SOMEONE}; "
            f"{wanted} ids go here, and {len(options.ids)} were given"
        )
    model, _ = opened(options.model)
    _check_sure(model, options.model)
    left, right = (typed(model, "item", text) for text in options.ids[-2:])
    if is_newcomer(options):
        person = newcomer(model, options)
        who = {"user": None, "answers": len(person.answers), "features": known_of(options)}
        told = person.probability(left, right, **_carried(options))
    else:
        user = known_user(model, options.ids[0], NEWCOMER)
        who = {"user": user, "answers": None, "features": None}
        told = model.probability(user, left, right, **_carried(options))[0]
    chances = [float(str(chance)) for chance in np.atleast_1d(told)]
    tie = {"tie": chances[1], "reverse": chances[2]} if len(chances) == 3 else {}
    about = {"model": options.model, **who, "left": left, "right": right}
    return about | {"probability": chances[0], **tie}, _show_probability


def _check_sure(model: Any, path: str) -> None:
    """Refuse a model that has no probabilities and cannot learn them."""
    if model.slope_ is None and model.fitted.training is None:
        raise InputError(
            f"{path!r} was saved without probabilities and without comparisons to learn them from; fit it again, with "
            "'rather fit'"
        )


def _carried(options: argparse.Namespace) -> Document:
    """Return the context of the question: side and covariates."""
    numbers = {}
    for text in options.covariate:
        name, _, value = text.partition("=")
        try:
            numbers[name] = float(value)
        except ValueError:
            raise InputError(f"--covariate is {text!r}; it must be NAME=X, X being left's less right's") from None
    given = {"side": options.side, "covariates": numbers or None}
    return {name: value for name, value in given.items() if value is not None}


def _show_probability(document: Document, console: Console) -> None:
    who = "the newcomer" if document["user"] is None else document["user"]
    sentence = f"{who} would rather have {document['left']} than {document['right']}"
    tie = f"; a tie has {document['tie']:.4f}, the reverse {document['reverse']:.4f}" if "tie" in document else ""
    console.print(f"{sentence} with probability {document['probability']:.4f}{tie}")


# -- differences ------------------------------------------------------------------------------------------------------


def differences(options: argparse.Namespace) -> Answer:
    number("--top", options.top, at_least=1, integer=True)
    number("--interval", options.interval, above=0.0, below=1.0)
    if (options.user is not None) == is_newcomer(options):
        raise InputError(f"differences takes a USER, or {SOMEONE}: one of the two")
    if options.user is not None and options.user == options.other:
        raise InputError(f"USER and OTHER are both {options.user!r}; name two people, or one for the typical person")
    _check_out("the differences", options)
    model, own = opened(options.model)
    _check_knows_places(model)
    who: Document = {"user": None, "other": None, "answers": None, "features": known_of(options)}
    among, interval = items(model, options), options.interval
    if is_newcomer(options):
        person = newcomer(model, options)
        who["answers"], found = len(person.answers), person.difference(items=among, interval=interval)
    else:
        given = {"user": options.user, "other": options.other}
        people = {role: known_user(model, text, NEWCOMER) for role, text in given.items() if text is not None}
        who, found = who | people, model.difference(**people, items=among, interval=interval)
    told = sum(row.low > 0 or row.high < 0 for row in found)
    about = {"model": options.model, **who, "interval": found.about["interval"], "of": len(found), "told": told}
    return _listed(about, "differences", found[: options.top].columns, options, own, _show_differences)


def _show_differences(document: Document, console: Console) -> None:
    names = ("difference", "low", "high")
    rows = [{**row, **{name: f"{row[name]:+.2f}" for name in names}} for row in document["differences"]]
    table(
        console, [{**row, "probability": f"{row['probability']:.0%}"} for row in rows], ("item", *names, "probability")
    )
    than = "the typical person" if document["other"] is None else document["other"]
    left = document["of"] - len(rows)
    console.print(
        f"\nhow much more an item is worth than to {than}, in log-odds, from low to high with "
        f"{percent(document['interval'])} probability; 0 is outside that interval for {document['told']:,} of "
        f"{document['of']:,} items" + (f"; {left:,} more with --top {document['of']}" if left else "")
    )


# -- effects ----------------------------------------------------------------------------------------------------------


def effects(options: argparse.Namespace) -> Answer:
    _check_out("the effects", options)
    model, own = opened(options.model)
    if not hasattr(model, "effects"):
        raise InputError(f"{type(model).__name__} does not know of side, covariates and ties; fit AltSVM or Convex")
    found = model.effects()
    about = {"model": options.model, "interval": found.about["interval"]}
    return _listed(about, "effects", found.columns, options, own, _show_effects)


def _show_effects(document: Document, console: Console) -> None:
    names = ("estimate", "std_error", "low", "high")
    rows = [{"effect": e["effect"], **{name: f"{e[name]:+.4f}" for name in names}} for e in document["effects"]]
    table(console, rows, ("effect", *names))
    console.print(f"\nin log-odds, from low to high with {percent(document['interval'])} probability")


# -- tastes -----------------------------------------------------------------------------------------------------------


def tastes(options: argparse.Namespace) -> Answer:
    number("--top", options.top, at_least=1, integer=True)
    if options.by == "own" and options.user is None:
        raise InputError("--by own is the order of one user's tastes; name the USER, or leave it out")
    _check_out("the tastes", options)
    model, own = opened(options.model)
    check_learns(model)
    model._learned_of_items()
    _check_sure(model, options.model)
    user = None if options.user is None else known_user(model, options.user, "leave USER out for the tastes of all")
    columns = model.tastes(user).columns
    order = np.argsort(-np.abs(columns[options.by]), kind="stable")[: options.top]
    features = {role: found for role in ROLES if (found := blocks(model, role))}
    about = {"model": options.model, "user": user, "features": features, "of": len(columns["feature"])}
    listed = {name: column[order] for name, column in columns.items()}
    return _listed(about, "tastes", listed, options, own, _show_tastes)


def _show_tastes(document: Document, console: Console) -> None:
    facts(console, {f"{role}s' features": "\n".join(map(sentence, b)) for role, b in document["features"].items()})
    if not document["tastes"]:
        console.print("\nno feature of items helped, so there are no tastes to tell")
        return
    names = [name for name in document["tastes"][0] if name != "feature"]
    signs = {name: "" if name == "spread" else "+" for name in names}
    rows = [{**t, **{name: f"{t[name]:{signs[name]}.4f}" for name in names}} for t in document["tastes"]]
    console.print()
    table(console, rows, ("feature", *names))
    left = document["of"] - len(rows)
    console.print("\nin log-odds" + (f"; {left:,} more with --top {document['of']}" if left else ""))
