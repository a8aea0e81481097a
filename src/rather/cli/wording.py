"""The library's sentences in the words of the command line: options instead of parameters, files instead of calls."""

from __future__ import annotations

import re

# Parameters whose option is not the same word; the rest are --the-same-word.
OPTIONS = {
    "n_threads": "--threads", "n_users": "--users", "n_items": "--items", "test": "--test-share", "bias": "--no-bias",
}  # fmt: skip
PARAMETERS = (
    *OPTIONS, "rank", "reg", "lam", "loss", "exposure", "solver", "max_iter", "tol", "seed", "checkpoint", "keep",
    "per_user", "unseen", "min_test", "min_gap", "unknown", "exclude", "k", "noise", "members", "by", "time",
    "explore", "interval", "aim",
)  # fmt: skip
_NAMES = "|".join(PARAMETERS)
_CALLS = {
    r"make them with Comparisons\.from_(\w+) or from_(\w+)": r"give a file of \1 or \2",
    r"make them with Comparisons\.from_(\w+)": r"give a file of \1",
    r"use Comparisons\.from_(\w+)": r"give a file of \1",
    r" \(a split by pairs leaves none: use by='items'\)": "",
    r", None \(a rule\) or 'cv'": " or cv; leave it out for a rule",
    r"ask for a 'dict' instead": "write a .csv file instead",
    r"^the (delimiter|encoding) is": r"--\1 is",
    r"or fit (AltSVM)": r"or give --model \1",
    r"give them as old=\.\.\., or save the fitted model with comparisons=True": (
        "give them with --old, or fit it without --slim"
    ),
    r"^old is": "--old is",
    r"leave old out": "leave --old out",
    r"fit it again, to old\.extended\(new\)": "fit it again, to all of the data",
    r"save with comparisons=False": "leave them out with --slim",
    r"\b(item|user)_features\b": r"--\1-features",
    r"fit it again, and save it with comparisons=True": "fit it again, with 'rather fit'",
    r"save the fitted model with comparisons=True, or use fold_in\(answers\)": (
        "fit it without --slim, or describe someone by --answers FILE or --prefers WINNER LOSER"
    ),
    r"update\(\.\.\.\) takes in more": "a FILE of newer data takes in more",
}


def option(parameter: str) -> str:
    """The option that sets a parameter."""
    return OPTIONS.get(parameter, f"--{parameter.replace('_', '-')}")


def for_the_shell(sentence: str) -> str:
    """A sentence of the library as someone at a shell can act on it."""
    for call, instead in _CALLS.items():
        sentence = re.sub(call, instead, sentence)
    # solver='newton' and exposure=True, wherever they stand
    sentence = re.sub(rf"\b({_NAMES})=(?:'([^']*)'|(\w+))", lambda m: f"{option(m[1])} {m[2] or m[3]}", sentence)
    # rank is 0; it must be ... and per_user and unseen are two ways ...
    sentence = re.sub(rf"^({_NAMES}) (is|needs|goes|and)\b", lambda m: f"{option(m[1])} {m[2]}", sentence)
    sentence = re.sub(rf"^(--[\w-]+ and) ({_NAMES})\b", lambda m: f"{m[1]} {option(m[2])}", sentence)
    return re.sub(r"\((per_user) (\d+) \+ (min_test) (\d+)\)", r"(--per-user \2 and --min-test \4)", sentence)


def unconnected(sizes: list[int]) -> str:
    """Return what is to be known of parts of these sizes that no comparison connects; nothing of a single one."""
    if len(sizes) < 2:
        return ""
    return (
        f"{len(sizes):,} parts, the largest of {max(sizes):,} items. Items of different parts were never compared: "
        "their relative places rest on the model alone."
    )
