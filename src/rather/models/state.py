"""A fitted model is one state, swapped whole: fits build theirs apart, and answers come from the state of one moment.

The state is the model's dictionary. It is never changed in place once it can be seen, only replaced, in one step; so a
fit that is refused or fails leaves the old one as it was, and a thread that asks while another fits gets an answer from
the old state or the new one. Parameters are not part of it, and no lock guards them: what one thread sets while another
fits may be lost when the fit puts its next state in place, or the old one back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Stateful")


class Stateful:
    """What has parameters, and a state that fits put in place."""

    _model: Any  # of what a fit works on: the model it is for,
    _last: Any  # that model as it was when the fit began,
    _placed: Any  # and the dictionary it last put in place there

    def _unfitted(self: S) -> S:
        """One with the same parameters and no state, for a fit to work on."""
        made, kept = object.__new__(type(self)), self._kept()
        made.__dict__ = {**kept, "_given": frozenset(kept), "_model": self, "_last": self._frozen()}
        return made

    def _adopt(self, work: dict[str, Any]) -> None:
        """Put what the dictionary of a fit's work has come to in the place of the old state, in one step."""
        self.__dict__ = self._with(work)

    def _with(self, work: dict[str, Any]) -> dict[str, Any]:
        """The dictionary of this with the state of a fit's work."""
        given = {*work["_given"], "_given", "_model", "_last", "_placed"}
        state = {name: value for name, value in work.items() if name not in given}
        return {**self._kept(), **state, "_state_names": frozenset(state)}

    def _kept(self) -> dict[str, Any]:
        """All but the state: parameters, and what others have hung on the model."""
        now = dict(self.__dict__)
        state = {"_state_names", *now.get("_state_names", ())}
        return {name: value for name, value in now.items() if name not in state}

    def _frozen(self: S) -> S:
        """The model as it is now, whatever is put in its place later."""
        if "_moment" in self.__dict__:
            return self
        made = object.__new__(type(self))
        made.__dict__ = {**self.__dict__, "_moment": True}
        return made


def of_one_moment(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method that answers from the state of the moment it is called."""

    @wraps(method)
    def answer(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(self._frozen(), *args, **kwargs)

    return answer  # type: ignore[return-value]
