"""The result of a fit: one value, which an estimator holds and the next fit replaces."""

from __future__ import annotations

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
from ..warned import warn
from .calibration import Slope
from .crowd import TastePrior
from .estimates import EffectEstimates
from .exclusions import Rows
from .features import Learned, known_of
from .interest import Interest
from .posed import Posed
from .scorers import Scorer

T = TypeVar("T")


@dataclass(eq=False)
class FittedModel:
    """The result of a fit. A part that a kind of fit does not produce is None.

    ``slope``, ``told`` and ``sure`` are computed when they are first asked for. All copies of an estimator that hold
    this model share them, so they are computed once.
    """

    params: Mapping[str, Any]  # those of the fit, without the callback
    users: Vocabulary
    items: Vocabulary
    frame_kind: str  # the kind of table that results are returned as
    names: Mapping[str, str]  # the caller's name of each column
    seen: Rows  # the items that each user met
    scorer: Scorer
    training: Comparisons | None  # None: read from a file without them
    slope: Slope = field(default_factory=Slope)  # the calibration of probabilities
    effect_estimates: EffectEstimates = field(default_factory=EffectEstimates)
    taste_prior: TastePrior = field(default_factory=TastePrior)  # what intervals are computed from

    # the settings that the fit used, and its course
    loss: str | None = None
    reg: float | None = None
    bias_reg: float | None = None
    reg_factors: tuple[float | None, float | None] | None = None  # set by an update: times the scales of the data
    user_rule: UserRule | None = None
    trust: FloatArray | None = None  # the weight of each user
    history: list[Record] | None = None
    converged: bool | None = None
    interrupted: bool | None = None
    cv_results: list[dict[str, float]] | None = None

    # other things that the fit learned
    context_effects: Mapping[str, float] = field(default_factory=dict)  # added to a margin by a unit of each
    prior: tuple[FloatArray, FloatArray] | None = None  # ``Exposure.parts``, and their coefficients
    interest: Interest | None = None
    user_features: Learned | None = None
    item_features: Learned | None = None

    # the problem that was solved
    posed: Posed | None = None
    proof: Certificate | None = None  # of the last round, where every round has one
    spectra_at: int | None = None  # size of the data when singular vectors were last computed

    # only in a model of newcomers
    parent: FittedModel | None = None  # the model that they joined
    said: tuple[Any, Any, Any] | None = None  # their answers, the codes of the items in these, their features

    @property
    def known(self) -> Known:
        """The features of the users and items of the training data."""
        return known_of(self.training)

    @property
    def features(self) -> dict[str, Learned]:
        """The coefficients of features that the fit learned, by role."""
        sides = {"user": self.user_features, "item": self.item_features}
        return {role: learned for role, learned in sides.items() if learned is not None}


class Published(NamedTuple):
    """A model that a fit yields, and the record of its round; None where the model follows no new round."""

    fitted: FittedModel
    record: Record | None = None


Fit = Generator[Published, bool, None]  # it is sent True to stop


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

    ``assemble`` makes a model from the present state of the solver. ``history`` has the rounds of a checkpoint, whose
    model is published first. ``keep`` is called with all records before a round is published. ``stalled`` is called
    with them afterwards, and says whether further rounds would gain nothing.
    """
    if len(history) > stop.max_rounds:
        text = f"the checkpoint has {len(history)} rounds already, more than max_iter={stop.max_rounds}; all are kept"
        warn(text, "checkpoint-rounds")
    records = list(history)

    def model() -> FittedModel:
        return replace(assemble(), history=list(records), converged=records[-1]["gap"] <= stop.tol, interrupted=False)

    if records:
        last = model()
        yield Published(last)
    for record in rounds(solver, stop, history, began, advice):
        records.append(record)
        if keep is not None:
            keep(records)
        last = model()
        if (yield Published(last, record)) or (stalled is not None and stalled(records)):
            break
    return last


class FromFit(Generic[T]):
    """A public attribute of an estimator that is read from its fitted model.

    Where the part is None, the attribute is missing.
    """

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
