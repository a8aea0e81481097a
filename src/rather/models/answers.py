"""The answers of new users, in any form, as comparisons between items of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..data import frames
from ..data.comparisons import Comparisons
from ..data.ids import Codes, Vocabulary, as_ids, factorize, quoted
from ..data.source import Source
from ..errors import InputError

NOBODY = "newcomer"  # whose answers they are where a table does not say


def is_table(answers: Any) -> bool:
    return isinstance(answers, Mapping) or hasattr(answers, "columns")


def is_rated(table: Any, names: Mapping[str, str]) -> bool:
    """Whether a table holds ratings rather than votes."""
    present = frames.names_in(table)
    have = {role: column_of(role, names, present) in present for role in ("winner", "loser", "item", "rating")}
    return have["item"] and have["rating"] and not (have["winner"] or have["loser"])


def refuse_clicks(table: Any, names: Mapping[str, str]) -> None:
    """Refuse a table of items that were clicked; it is read as comparisons first."""
    present = frames.names_in(table)
    if {role for role in ("winner", "loser", "item", "rating") if column_of(role, names, present) in present} == {
        "item"
    }:
        raise InputError(
            "the answers have items without ratings; give clicks as Comparisons.from_clicks(table, allow_empty=True)"
        )


def of_people(answers: Any, names: Mapping[str, str], effects: tuple[str, ...]) -> Comparisons:
    """The comparisons of several newcomers: as they are, or from a table of votes or of ratings.

    Columns have the names of their roles, or the model's own; those that votes may have besides have the usual ones.
    """
    if isinstance(answers, Comparisons):
        return answers
    frames.kind_of(answers)
    present = frames.names_in(answers)
    if is_rated(answers, names):
        own: dict[str, Any] = {role: column_of(role, names, present) for role in ("user", "item", "rating")}
        return Comparisons.from_ratings(answers, **own, allow_empty=True)
    refuse_clicks(answers, names)
    own = {role: column_of(role, names, present) for role in ("user", "winner", "loser")}
    return Comparisons.from_frame(answers, **own, **_carried(present, effects))


def votes_of_one(table: Any, names: Mapping[str, str], effects: tuple[str, ...]) -> Comparisons:
    """The comparisons of one newcomer's votes, which need not say whose they are."""
    present = frames.names_in(table)
    own: dict[str, Any] = {role: column_of(role, names, present) for role in ("user", "winner", "loser")}
    if own["user"] not in present:
        own["user"] = None
    return Comparisons.from_frame(table, **own, **_carried(present, effects))


def _carried(present: list[str], effects: tuple[str, ...]) -> dict[str, Any]:
    """Return the other columns of a table of votes: those with usual names, and covariates of the model."""
    known: dict[str, Any] = {name: name for name in ("weight", "tie", "side") if name in present}
    return {**known, "covariates": [name for name in effects if name in present and name != "side"]}


def ratings_of_one(table: Any, names: Mapping[str, str]) -> Comparisons:
    """The comparisons of one newcomer's ratings, which need not say whose they are."""
    present = frames.names_in(table)
    own: dict[str, Any] = {role: column_of(role, names, present) for role in ("user", "item", "rating")}
    if own["user"] in present:
        return Comparisons.from_ratings(table, **own, allow_empty=True)
    got = frames.columns(table, {role: own[role] for role in ("item", "rating")})
    return Comparisons.from_ratings({"user": [NOBODY] * len(got["item"]), **got}, allow_empty=True)


def about_items(comparisons: Comparisons, items: Vocabulary, popularity: Any) -> tuple[Source, Codes]:
    """The source of newcomers' comparisons, and a model's codes of its items; one that the model lacks is refused.

    ``popularity`` says how many users met each of the model's items.
    """
    codes, source = items.codes(comparisons.items), comparisons.source
    occurs = np.zeros(len(codes), bool)
    for found in (source.met()[1], source.store.item):
        occurs[found] = True
    unknown = comparisons.items[(codes < 0) & occurs]
    if len(unknown):
        several = f"{len(unknown):,} of the items, such as {quoted(unknown[0])}, are"
        raise InputError(
            f"{f'item {quoted(unknown[0])} is' if len(unknown) == 1 else several} not known to the model; "
            "add_items(...) or update(...) takes in new items"
        )
    return source.among(np.maximum(codes, 0).astype(np.int32), popularity)


def column_of(role: str, names: Mapping[str, str], present: list[str]) -> str:
    own = names.get(role, role)
    return own if own in present else role


def is_answer(given: Sequence[Any]) -> bool:
    return len(given) == 2 or (len(given) == 3 and isinstance(given[2], str) and given[2] == "tie")


def listed(answers: Any) -> list[Any]:
    """Return one person's answers that are listed as pairs; anything else is refused."""
    if isinstance(answers, str) or not isinstance(answers, Iterable):
        raise InputError(f"the answers are {answers!r}; they must be a list of pairs (winner, loser)")
    pairs = [pair.tolist() if isinstance(pair, np.ndarray) else pair for pair in answers]
    for n, pair in enumerate(pairs):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or not is_answer(pair):
            raise InputError(f"answer {n} is {pair!r}; it must be a pair (winner, loser), or (item, item, 'tie')")
    return pairs


def check_answers(table: Any, what: str, user: str | None) -> None:
    """Refuse a table of more than one person's answers; ``user`` is its column of users, if it has one."""
    present = frames.names_in(table)
    if user in present:
        ids = as_ids(frames.columns(table, {"user": user})["user"], f"the user (column {user!r})")
        if (n := len(factorize([ids], "user")[0])) > 1:
            raise InputError(f"{what} has answers of {n:,} users (column {user!r}); give one person's alone")
