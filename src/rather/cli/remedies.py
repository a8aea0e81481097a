"""The library's errors in the words of the command line: options for parameters, files for calls."""

from __future__ import annotations

import argparse

from ..errors import InputError
from .inputs import place

# Parameters whose option is not the same word.
OPTIONS = {"n_threads": "threads", "bias": "no_bias", "n_users": "users", "n_items": "items", "test": "test_share"}
REMEDIES = {
    "clicks or another model": "give a file of clicks, or give --model AltSVM, BPR or SGD, which take any comparisons",
    "clicks of all": "give the clicks of all users in one file",
    "ratings or another model": "give a file of ratings, or give --model AltSVM",
    "ratings, rankings or another model": "give a file of ratings or rankings, or give --model AltSVM",
    "add item": "check the id, or add it with 'rather update'",
    "fit item": "check the id, or fit again with comparisons that involve it",
    "add person": "describe someone new by --answers FILE or --prefers WINNER LOSER",
    "add person by clicks": "describe someone new by --answers FILE",
    "fit user": "fit again with some of their answers",
    "model of users": "fit again with a column of users and without --model Global",
    "judge known users": "give --unknown everyone or skip",
    "exclude known items": "leave it out",
    "other frame": "write a .csv file instead",
    "give old": "give them with --old, or fit it without --slim",
    "leave old out": "leave --old out",
    "old with features": "fit it without --slim, and leave --old out",
    "fit all": "fit it again, to all of the data (AltSVM can be updated)",
    "save without": "leave them out with --slim",
    "save with": "fit it again, with 'rather fit'",
    "save with, or fold in": "fit it without --slim, or describe someone by --answers FILE or --prefers WINNER LOSER",
    "update": "a FILE of newer data takes in more about those it knows",
}


def option(parameter: str) -> str:
    """Return the option that sets a parameter."""
    return f"--{OPTIONS.get(parameter, parameter).replace('_', '-')}"


def in_shell(error: InputError, options: argparse.Namespace) -> str:
    """Return the sentence of an error, with the options of the command that was given."""
    fact, name = error.fact, error.parameter
    if name is not None and (name in options or OPTIONS.get(name, "") in options):
        fact = option(name) + fact.removeprefix(name)
    if where := place(error, options):
        fact = f"{where}: {fact.replace(f' in row {error.row}', '', 1)}"
    return fact if error.remedy is None else f"{fact}; {REMEDIES[error.remedy]}"
