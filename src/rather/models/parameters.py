"""Parameters of estimators: each is declared once, with its values, its documentation and the stage it belongs to.

The class of an estimator's parameters is a frozen dataclass. Its fields are the arguments of ``__init__`` in their
order; the checks of ``fit``, the docstrings, the command line, Spark, checkpoints and ``update`` all read them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from ..errors import Domain
from ..native import LOSSES

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

Stage = Literal["objective", "method", "run"]
MOST_RANK = 4096
LEAST, MOST = 1e-30, 1e30  # of a ridge, far enough inside single precision


@dataclass(frozen=True)
class Parameter:
    """The declaration of a parameter; called with a default, it is a field of a class of parameters.

    Attributes
    ----------
    domain : Domain
        The values that are accepted.
    doc : str
        The text of the docstring. Its first sentence, and the one that begins with "None: ", are the line of help.
    stage : {"objective", "method", "run"}
        "objective" says what is minimised, which ``update`` keeps; "method" how, which a resumed fit keeps as well;
        "run" what may change on resuming.
    """

    domain: Domain
    doc: str
    stage: Stage = "objective"

    def __call__(self, default: T) -> T:
        return field(default=default, metadata={"parameter": self})

    @property
    def brief(self) -> str:
        """The first sentence of the documentation, for a line of help."""
        first = self._sentences()[0]
        return f"{first[0].lower()}{first[1:]}"

    def usual(self, default: object) -> str:
        """Return the default in words, or the rule that None stands for."""
        rules = [sentence for sentence in self._sentences() if sentence.startswith("None: ")]
        if rules:
            return rules[0].removeprefix("None: ")
        if default is None or isinstance(default, bool):
            return {None: "none", True: "yes", False: "no"}[default]
        return f"{default:g}" if isinstance(default, float) else str(default)

    def _sentences(self) -> list[str]:
        parts = re.split(r'(?<=\.) (?=[A-Z0-9"`])', self.doc)
        return [part.rstrip(".").replace('"', "").replace("``", "") for part in parts]


@dataclass(frozen=True)
class Params:
    """The parameters of an estimator. Values are stored as given, and checked when a fit begins."""

    def check(self) -> None:
        """Refuse the first value that its parameter does not accept."""
        for name, parameter in declared(type(self)).items():
            parameter.domain(name, getattr(self, name))


def declared(params: type[Params]) -> dict[str, Parameter]:
    """Return the declarations of all parameters by name, in the order of ``__init__``."""
    return {f.name: f.metadata["parameter"] for f in fields(params)}


def of_stages(params: type[Params], *stages: Stage) -> list[str]:
    """Return the names of the parameters of some stages."""
    return [name for name, parameter in declared(params).items() if parameter.stage in stages]


def accepts(params: Callable[P, T]) -> Callable[[Callable[[S, T], None]], Callable[Concatenate[S, P], None]]:
    """Give an ``__init__`` of one value, the parameters, the signature of their class."""

    def signed(init: Callable[[S, T], None]) -> Callable[Concatenate[S, P], None]:
        def __init__(self: S, /, *args: P.args, **kwargs: P.kwargs) -> None:
            for name in kwargs:
                if name not in own.parameters:
                    raise TypeError(no_parameter(self, name, own.parameters))
            own.bind(*args, **kwargs)  # whose errors name no class of parameters
            init(self, params(*args, **kwargs))

        own = inspect.signature(params)
        this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        signature = own.replace(parameters=[this, *own.parameters.values()], return_annotation=None)
        __init__.__signature__ = signature  # type: ignore[attr-defined]
        __init__.declared = list(own.parameters)  # type: ignore[attr-defined]
        __init__.__qualname__, __init__.__module__ = init.__qualname__, init.__module__
        return __init__

    return signed


def no_parameter(estimator: object, name: str, names: Iterable[str]) -> str:
    """Return the sentence about a parameter that an estimator has not."""
    return f"{type(estimator).__name__} has no parameter {name!r}; its parameters are {', '.join(names)}"


class ReadThrough:
    """An attribute of an estimator that is read from its parameters, and set by ``set_params``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.__doc__ = f"The parameter ``{name}``."

    def __get__(self, estimator: Any, kind: type[Any]) -> Any:
        return self if estimator is None else getattr(estimator.params, self.name)

    def __set__(self, estimator: Any, value: object) -> None:
        estimator.set_params(**{self.name: value})


def allowed(ridge: float) -> float:
    """A ridge that a rule has found, as a parameter may be: minute weights make for less than that."""
    return max(ridge, LEAST)


# -- parameters of several estimators ---------------------------------------------------------------------------------

RIDGE = Domain(float, at_least=LEAST, at_most=MOST)
RIDGE_OR_RULE = Domain(float, at_least=LEAST, at_most=MOST, none=True)
SWITCH_OR_RIDGE = Domain(float, at_least=LEAST, at_most=MOST, flag=True)
WHOLE = Domain(int, at_least=1)
LENGTH = Domain(int, at_least=1, at_most=MOST_RANK)
SHARE = Domain(float, at_least=0, at_most=1)
SHARE_OR_RULE = Domain(float, at_least=0, at_most=1, none=True)
POWER = Domain(float, at_least=0, at_most=2)
GAP = Domain(float, at_least=0)
STEPS = Domain(float, above=0, at_most=1e30)
FLAG = Domain(flag=True)

RANK = Parameter(
    LENGTH,
    "Number of taste dimensions, the length of the vectors of users and items. A higher rank captures more tastes, "
    "and needs more answers and more time.",
    "method",
)
LOSS = Parameter(
    Domain(words=tuple(LOSSES)),
    'Penalty of a comparison whose winner leads by the margin x. It is max(0, 1-x)^2 for "squared_hinge", '
    'max(0, 1-x) for "hinge" and log(1+e^-x) for "logistic". Choose "logistic" for scores in log-odds.',
)
ITEM_POWER = Parameter(
    POWER,
    "Exponent of an item's ridge, which grows as n^item_power with the number n of users who compared the item. "
    "0: all items have the same ridge, so popular items are shrunk least. 1: popular and rare items are shrunk about "
    "equally.",
)
STEP = Parameter(
    STEPS,
    "Length of the first steps. Make it smaller if the objective rises or overflows, and larger if it hardly falls.",
    "method",
)
DECAY = Parameter(
    Domain(float, at_least=0, at_most=1e30),
    "Decay of the steps: in round t they have the length step / (1 + decay t). 0: all rounds take equal steps.",
    "method",
)
ROUNDS = Parameter(
    WHOLE,
    "Largest number of rounds. A round solves for all items, then for all users. A fit that stops here has "
    "``converged_`` False; give more rounds if the objective in ``history_`` still falls.",
    "run",
)
N_THREADS = Parameter(
    Domain(int, at_least=1, at_most=4096, none=True),
    "Number of threads. None: as many as the process may keep busy, by its cores, CPU affinity, control groups and "
    "``OMP_NUM_THREADS``. The fit returns the same bits with any number.",
    "run",
)
RACING_THREADS = Parameter(
    N_THREADS.domain,
    "Number of threads. None: as many as the process may keep busy. With more than one the steps race without locks, "
    "and results vary from run to run; give 1 to reproduce a fit.",
    "run",
)
LIST_THREADS = Parameter(
    N_THREADS.domain,
    "Number of threads that make lists. None: as many as the process may keep busy. Results do not depend on it.",
    "run",
)
SEED = Parameter(
    Domain(int, at_least=0, at_most=2**63 - 1),
    "Seed of all random draws. A different seed gives a different start and other held-out answers.",
)
CALIBRATION_SEED = Parameter(
    SEED.domain, "Seed of the draw of comparisons that are held out to calibrate probabilities."
)
VERBOSE = Parameter(FLAG, "Whether to show a progress bar.", "run")
CALLBACK = Parameter(
    Domain(other="a function of (model, record)", test=callable, none=True),
    "Function called after every round with the model and the new entry of ``history_``. The fit stops if it returns "
    "True. An estimator with a lambda here cannot be pickled before it is fitted.",
    "run",
)
ON_INTERRUPT = Parameter(
    Domain(words=("keep", "raise")),
    'Effect of Ctrl-C after the first round. "keep": end the fit, and keep the rounds made so far. "raise": keep them, '
    "and raise KeyboardInterrupt.",
    "run",
)
CHECKPOINT = Parameter(
    Domain(other="a path", test=lambda value: isinstance(value, (str, PathLike)), none=True),
    "File that is rewritten after every round. If it exists, a fit of the same data and parameters continues from it. "
    "A killed fit loses at most one round, or the search for ``reg``.",
    "run",
)
REG_OR_CV = Parameter(
    Domain(float, at_least=LEAST, at_most=MOST, words=("cv",), none=True),
    'Ridge of all user and item vectors. A larger ridge shrinks personal lists towards the shared one. "cv": a factor '
    "times the data's scale, chosen on held-out answers. For votes these also choose the ridge of the biases (if "
    '``bias`` is True) and the rank (if it is None). None: "cv" for votes and for up to 30,000 ratings with at most a '
    "million implied comparisons; else the fixed factor 1.7, or about 1.3 for clicks. The choice takes up to ten times "
    "as long as a fit, but only half as long as one for a million votes or more. The value used is ``reg_``.",
)
BIAS = Parameter(
    SWITCH_OR_RIDGE,
    "Whether items have a bias, the global ranking from which personal lists deviate. A number is the ridge of the "
    "biases. True: a factor times the data's scale. The factor is 2; for votes it is chosen with ``reg``, or is 1. "
    "False: no bias, to compare with models that have none.",
)
USER_POWER = Parameter(
    POWER,
    "Exponent of a user's ridge, which grows as n^user_power with the number n of items that the user compared.",
)
BALANCE = Parameter(
    SHARE_OR_RULE,
    "Exponent of the weights: each comparison of a user with N comparisons has the weight N^-balance. 0: all "
    "comparisons count equally. 1: all users count equally. None: 0 for votes, and 0.5 for ratings, rankings and "
    "clicks. A user's n ratings imply about n^2 / 2 pairs, but not as many independent answers.",
)
EXPOSURE = Parameter(
    Domain(flag=True, none=True),
    "Whether to learn also from which items users compared. The prior means of the vectors are then linear in the "
    "leading singular vectors of the matrix of users and the items they compared. This helps if users choose what "
    "they rate, and hurts if items are assigned to them. None: only if the singular values show that users choose.",
)
TIES = Parameter(
    Domain(words=("model", "half")),
    'Treatment of ties. "model": a third outcome, by the model of Rao and Kupper, with each user\'s own reluctance to '
    'decide; :meth:`probability` then has three columns. "half": half a vote each way. Scores treat a tie as half a '
    "vote each way in both cases.",
)
TOL = Parameter(
    Domain(float, at_least=0, none=True),
    "Gap at which the fit stops: the gain expected of another round (its Newton decrements), relative to the "
    'objective. None: 3e-4, 0.02 for clicks, 5e-4 with ``exposure``. With rank="auto" the gap is the '
    "certified distance from the optimum over all ranks, and None means 0.01. A smaller value makes objectives more "
    "exact, but predictions no better.",
    "run",
)

Callback = Callable[[Any, dict[str, float]], Any]
