"""The role of each column of a table: as named, by its exact name, or by a common spelling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import InputError

# Besides the role's own name; compared without regard to case, spaces, dots, hyphens and underscores.
SPELLINGS = {
    "user": (
        "user id", "uid", "user name", "worker", "worker id", "voter", "voter id", "judge", "judge id", "rater",
        "rater id", "annotator", "annotator id", "participant", "participant id", "respondent", "respondent id",
        "reviewer", "reviewer id", "customer", "customer id", "member", "member id", "person", "person id",
    ),
    "item": (
        "item id", "iid", "movie", "movie id", "film", "film id", "product", "product id", "book", "book id", "song",
        "song id", "track", "track id", "artist", "artist id", "article", "article id", "option", "option id",
    ),
    "rating": ("stars", "score"),
    "title": ("name", "item title", "item name", "movie title", "film title", "book title", "label"),
    "winner": ("winner id", "winning item", "chosen", "chosen item", "preferred", "preferred item"),
    "loser": ("loser id", "losing item", "rejected", "rejected item", "unpreferred"),
    "left": ("left item", "left id", "left option", "option left", "model a", "option a", "item a"),
    "right": ("right item", "right id", "right option", "option right", "model b", "option b", "item b"),
    "outcome": ("result", "verdict", "who won", "choice"),
    "menu": ("menu id", "slate", "slate id", "choice set"),
    "chosen": ("selected", "picked"),
    "rank": ("ranking", "position", "place"),
    "timestamp": ("time", "date", "datetime", "created at", "unix timestamp"),
}  # fmt: skip


ALSO = {"outcome": ("winner", "chosen")}  # another role's name, where nothing else is there


def option_of(role: str) -> str:
    """The option that names a role's column."""
    return {"rank": "--rank-column", "timestamp": "--time"}.get(role, f"--{role}")  # --rank is the model's


def plain(name: str) -> str:
    """A name as spellings are compared: userId, user_id and USER ID are one."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def candidates(role: str, present: Sequence[str], given: Mapping[str, str | None]) -> list[str]:
    """The columns that may play a role: the one told, else the one of its very name, else those spelled like it."""
    told = given.get(role)
    if told is not None:
        return [told] if told in present else []
    if role in present:
        return [role]
    spelled = {plain(name) for name in (role, *SPELLINGS.get(role, ()))}
    taken = set(given.values())
    found = [name for name in present if plain(name) in spelled and name not in taken]
    return found or [name for name in present if plain(name) in ALSO.get(role, ()) and name not in taken]


def the_column(
    role: str, present: Sequence[str], given: Mapping[str, str | None], file: str, option: bool = True
) -> str:
    """The one column that plays a role; none, or several, are an error. ``option``: whether one may name it."""
    found = candidates(role, present, given)
    if len(found) == 1:
        return found[0]
    have = ", ".join(map(repr, present))
    told = given.get(role)
    if told is not None:
        raise InputError(f"{file} has no column {told!r} (for the {role}); it has {have}")
    advice = f"name one with {option_of(role)}" if option else f"call one of them {role!r}"
    if found:
        columns, many = " and ".join(map(repr, found)), "both" if len(found) == 2 else "all"
        raise InputError(f"{columns} of {file} may {many} be the {role}; {advice.replace('name one', 'say which')}")
    raise InputError(f"{file} has no column {role!r}; it has {have}: {advice}")
