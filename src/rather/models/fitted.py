"""The result of a fit: one value, which an estimator holds and the next fit replaces by one assignment."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar, overload

from ..data.comparisons import Comparisons
from ..data.ids import Vocabulary
from ..native import FloatArray
from ..solving.certificate import Certificate
from ..solving.described import Known
from ..solving.rounds import SMALLER, Record, Solver, Stop, rounds
from ..solving.scales import UserRule
from .calibration import Slope
from .crowd import Found
from .estimates import Told
from .exclusions import Rows
from .features import Learned, known_of
from .interest import Interest
from .posed import Posed
from .scorers import Scorer

T = TypeVar("T")


@dataclass(eq=False)
class FittedModel:
    """All that an estimator keeps of a fit; what a fit did not make is None.

    ``slope``, ``told`` and ``sure`` are filled in when they are first asked for. All copies of an estimator that hold
    this model share them, so that they are found once.
    """

    params: Mapping[str, Any]  # of the fit, without the callback
    users: Vocabulary
    items: Vocabulary
    frame_kind: str
    names: Mapping[str, str]
    seen: Rows
    scorer: Scorer
    training: Comparisons | None
    slope: Slope = field(default_factory=Slope)
    told: Told = field(default_factory=Told)
    sure: Found = field(default_factory=Found)

    # what the fit used, and how it went
    loss: str | None = None
    reg: float | None = None
    bias_reg: float | None = None
    reg_factors: tuple[float | None, float | None] | None = None  # of an update: on the scales of the data
    user_rule: UserRule | None = None
    trust: FloatArray | None = None  # how much each user counts
    history: list[Record] | None = None
    converged: bool | None = None
    interrupted: bool | None = None
    cv_results: list[dict[str, float]] | None = None

    # what it learned beside scores
    context_effects: Mapping[str, float] = field(default_factory=dict)  # what a unit of each adds to a margin
    prior: tuple[FloatArray, FloatArray] | None = None  # parts of features of exposure, and coefficients
    interest: Interest | None = None
    user_features: Learned | None = None
    item_features: Learned | None = None

    # the problem that was solved
    posed: Posed | None = None
    proof: Certificate | None = None  # that of the last round, of fits that prove as they go
    spectra_at: int | None = None  # the size of the data that singular vectors were last computed of

    # newcomers: the model that they joined; and what they said, the codes of its items, their features
    parent: FittedModel | None = None
    said: tuple[Any, Any, Any] | None = None

    @property
    def known(self) -> Known:
        """What is known of the users and items that it was fitted to."""
        return known_of(self.training)

    @property
    def features(self) -> dict[str, Learned]:
        """What it learned of features, by role."""
        sides = {"user": self.user_features, "item": self.item_features}
        return {role: learned for role, learned in sides.items() if learned is not None}


class Published(NamedTuple):
    """A model that a fit has come to, and the record of the round; None where no new round was made."""

    fitted: FittedModel
    record: Record | None = None


Fit = Generator[Published, bool, None]  # is sent whether to stop


def in_rounds(
    solver: Solver,
    stop: Stop,
    assemble: Callable[[], FittedModel],
    *,
    history: Sequence[Record] = (),
    began: float | None = None,
    advice: str = SMALLER,
    keep: Callable[[list[Record]], None] | None = None,
    stalled: Callable[[list[Record]], bool] | None = None,
) -> Generator[Published, bool, FittedModel]:
    """Make rounds, publish the model of each, and return the last one.

    ``assemble`` makes a model of what the solver has come to. ``keep`` is called with the history before a round is
    published; ``stalled`` says whether further rounds would gain nothing.
    """
    if len(history) > stop.max_rounds:
        text = f"the checkpoint has {len(history)} rounds already, more than max_iter={stop.max_rounds}; all are kept"
        warnings.warn(text, stacklevel=5)
    done = list(history)

    def model() -> FittedModel:
        return replace(assemble(), history=list(done), converged=done[-1]["gap"] <= stop.tol, interrupted=False)

    if done:
        last = model()
        yield Published(last)
    for record in rounds(solver, stop, history, began, advice):
        done.append(record)
        if keep is not None:
            keep(done)
        last = model()
        if (yield Published(last, record)) or (stalled is not None and stalled(done)):
            break
    return last


class FromFit(Generic[T]):
    """A public attribute of an estimator that is a part of its fitted model; absent where the fit did not make it."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name, self.part = name, name.removesuffix("_")

    @overload
    def __get__(self, model: None, owner: Any = None) -> FromFit[T]: ...

    @overload
    def __get__(self, model: Any, owner: Any = None) -> T: ...

    def __get__(self, model: Any, owner: Any = None) -> FromFit[T] | T:
        if model is None:
            return self
        value: T | None = getattr(model.fitted, self.part)
        if value is None:
            raise AttributeError(self.name)
        return value

    def __set__(self, model: Any, value: T) -> None:
        raise AttributeError(f"{self.name} is what a fit found, and cannot be set")
