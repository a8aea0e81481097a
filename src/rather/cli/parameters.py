"""The options of fit that set parameters of estimators, made from the declarations of the parameters."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

from ..errors import Domain
from ..estimators import ESTIMATORS
from ..models.parameters import Parameter, declared
from .remedies import option as flag

USUAL = "AltSVM"
COMMON = {"rank", "reg", "n_threads", "seed"}  # that many people set
OWN = {"verbose", "callback", "on_interrupt", "warm_start"}  # that the command sets itself, or that need Python


class Option(NamedTuple):
    """A parameter as the first estimator that has it declares it."""

    parameter: Parameter
    default: Any
    owners: list[str]
    words: dict[str, tuple[str, ...]]  # that other estimators accept

    @property
    def usual(self) -> bool:
        return USUAL in self.owners


def options() -> dict[str, Option]:
    """Return the parameters of all estimators by name; an option goes to every estimator that has it."""
    found: dict[str, Option] = {}
    for kind, estimator in ESTIMATORS.items():
        params = estimator().params
        defaults = {f.name: f.default for f in fields(params)}
        for name, parameter in declared(type(params)).items():
            if name in OWN:
                continue
            known = found.setdefault(name, Option(parameter, defaults[name], [], {}))
            known.owners.append(kind)
            words = parameter.domain.words
            if set(words) - set(known.parameter.domain.words):
                known.words[kind] = words
    return found


def add_parameters(parser: argparse.ArgumentParser, common: argparse._ArgumentGroup) -> None:
    """Add the options: a few to the group ``common``, and the others to groups of their own."""
    usual = parser.add_argument_group(f"Advanced ({USUAL})", "A model refuses parameters that it does not have.")
    others = parser.add_argument_group("Advanced (other models)", "Defaults are those of the model named first.")
    for name, option in options().items():
        group, domain = common if name in COMMON else usual if option.usual else others, option.parameter.domain
        how: dict[str, Any] = {"type": _reader(domain), "metavar": _metavar(domain)}
        if domain.flag:
            switch = {"action": "store_const", "const": not option.default}
            how = {"action": argparse.BooleanOptionalAction} if option.default is None else switch
        group.add_argument(flag(name), dest=name, help=_help(option), **how)


def _help(option: Option) -> str:
    text = f"{option.parameter.brief} (default: {option.parameter.usual(option.default)})"
    text = text if option.usual else f"{', '.join(option.owners)}: {text}"
    words = (f"{kind}: {', '.join(words)}" for kind, words in option.words.items())
    return "; ".join([text, *words]).replace("%", "%%")


def _metavar(domain: Domain) -> str:
    number = [] if domain.number is None else ["N" if domain.number is int else "X"]
    return "|".join([*number, *domain.words]) or "PATH"


def _reader(domain: Domain) -> Callable[[str], Any]:
    """Return what makes a value of the text of an option; whether it is accepted is for the estimator to say."""
    kind = domain.number
    if kind is None:
        return str

    def read(text: str) -> Any:
        try:
            return text if text in domain.words else kind(text)
        except ValueError:
            number = "a whole number" if kind is int else "a number"
            wanted = f"neither {number} nor {' nor '.join(domain.words)}" if domain.words else f"not {number}"
            raise argparse.ArgumentTypeError(f"{text!r} is {wanted}") from None

    return read
