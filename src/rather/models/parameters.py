"""Checks of the parameters that several estimators have."""

from __future__ import annotations

from typing import Any

from ..errors import InputError, number, one_of

MOST_RANK = 4096
LEAST, MOST = 1e-30, 1e30  # of a ridge, far enough inside single precision
GIVEN = object()


def check_rank(rank: object) -> None:
    number("rank", rank, at_least=1, at_most=MOST_RANK, integer=True)


def check_shape(item_power: object, balance: object) -> None:
    """Check how ridges grow with counts and how users are weighted; balance=None stands for the source's."""
    number("item_power", item_power, at_least=0, at_most=2)
    if balance is not None:
        number("balance", balance, at_least=0, at_most=1)


def allowed(ridge: float) -> float:
    """A ridge that a rule has found, as a parameter may be: minute weights make for less than that."""
    return max(ridge, LEAST)


def check_bias(bias: object) -> None:
    """Check a switch that may also be a ridge."""
    if not isinstance(bias, bool):
        number("bias", bias, at_least=LEAST, at_most=MOST)


def check_fit_params(model: Any, reg: object = GIVEN) -> None:
    """Check the parameters that every fit in rounds has; None stands for a rule. ``reg`` is the model's by default."""
    reg = model.reg if reg is GIVEN else reg
    number("max_iter", model.max_iter, at_least=1, integer=True)
    if model.tol is not None:
        number("tol", model.tol, at_least=0)
    number("seed", model.seed, at_least=0, at_most=2**63 - 1, integer=True)
    if reg is not None:
        number("reg", reg, at_least=LEAST, at_most=MOST)
    if model.callback is not None and not callable(model.callback):
        raise InputError(f"callback is {model.callback!r}; it must be a function of (model, record)")
    one_of("on_interrupt", model.on_interrupt, ("keep", "raise"))
