"""Checks of the parameters that several estimators have."""

from __future__ import annotations

from ..errors import InputError, number

MOST_RANK = 4096


def check_rank(rank: object) -> None:
    number("rank", rank, at_least=1, at_most=MOST_RANK, integer=True)


def check_shape(item_power: object, balance: object) -> None:
    """Check how ridges grow with counts and how users are weighted; balance=None stands for the source's."""
    number("item_power", item_power, at_least=0, at_most=2)
    if balance is not None:
        number("balance", balance, at_least=0, at_most=1)


def check_bias(bias: object) -> None:
    """Check a switch that may also be a ridge."""
    if not isinstance(bias, bool):
        number("bias", bias, above=0, at_most=1e30)


def check_fit_params(max_iter: object, tol: object, reg: object, seed: object, callback: object) -> None:
    """Check the parameters that every fit in rounds has; None stands for a rule."""
    number("max_iter", max_iter, at_least=1, integer=True)
    if tol is not None:
        number("tol", tol, at_least=0)
    number("seed", seed, at_least=0, at_most=2**63 - 1, integer=True)
    if reg is not None:
        number("reg", reg, above=0, at_most=1e30)
    if callback is not None and not callable(callback):
        raise InputError(f"callback is {callback!r}; it must be a function of (model, record)")
