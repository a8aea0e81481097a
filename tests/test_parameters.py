"""Every parameter is declared once: signatures, checks, docstrings, the command line and Spark follow."""

import copy
import inspect
import pickle
import runpy
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import numpy as np
import pytest

import rather
from rather import AltSVM, Convex, InputError, errors, simulate
from rather.cli import remedies
from rather.errors import Domain
from rather.estimators import ESTIMATORS
from rather.models.parameters import ReadThrough, declared, of_stages

DOCS = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "parameters.py"))
ORDER = [
    "rank", "reg", "loss", "bias", "item_power", "user_power", "balance", "exposure", "ties", "trust", "max_iter",
    "tol", "n_threads", "seed", "verbose", "callback", "on_interrupt", "checkpoint", "warm_start",
]  # fmt: skip


@pytest.mark.parametrize("name", ESTIMATORS)
def test_docstrings_say_what_is_declared(name):
    """The section Parameters of a docstring is what scripts/parameters.py writes."""
    kind = ESTIMATORS[name]
    assert DOCS["written"](kind) == DOCS["section"](kind), "run: python scripts/parameters.py"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_declarations(name):
    """The signature is that of the declarations, and every default is a value that is accepted."""
    model = ESTIMATORS[name]()
    declarations = declared(type(model.params))
    assert list(inspect.signature(ESTIMATORS[name]).parameters) == list(declarations) == list(model.get_params())
    model.params.check()
    for name, parameter in declarations.items():
        assert parameter.stage in ("objective", "method", "run") and parameter.doc.endswith("."), name


def test_values_are_held_in_params():
    """``model.params.rank`` is the parameter and ``model.rank`` the method; others read through."""
    model = AltSVM(8, 1.0, "hinge")
    assert list(inspect.signature(AltSVM).parameters) == ORDER
    assert model.params.rank == 8 and callable(model.rank) and (model.reg, model.loss) == (1.0, "hinge")
    assert repr(model) == "AltSVM(rank=8, reg=1.0, loss='hinge')"
    model.n_threads = 1
    assert model.params.n_threads == model.n_threads == 1 and "n_threads" not in model.__dict__
    model.note = "mine"
    assert model.note == "mine"
    assert model.set_params(rank=3) is model and model.params.rank == 3
    with pytest.raises(FrozenInstanceError):
        model.params.reg = 3.0
    with pytest.raises(TypeError, match="colour"):
        AltSVM(colour="red")


def test_values_are_stored_as_given():
    """Nothing is converted or checked before a fit, and copies hold the same values."""
    reg = np.float32(2)
    model = AltSVM(rank="big", reg=reg)
    assert model.params.reg is reg
    for again in (copy.deepcopy(model), copy.copy(model), pickle.loads(pickle.dumps(model))):
        assert again.get_params() == model.get_params()


def test_errors_name_the_parameter():
    """An InputError about a parameter carries its name, also through a pickle."""
    data = simulate(5, 4, 1, 5, seed=0).comparisons
    for kind, given in ((AltSVM, {"rank": "big"}), (AltSVM, {"verbose": 2}), (Convex, {"lam": 1.0, "reg": 1.0})):
        with pytest.raises(InputError) as caught:
            kind(**given).fit(data)
        assert caught.value.parameter == next(iter(given)) and str(caught.value).startswith(caught.value.parameter)
        assert pickle.loads(pickle.dumps(caught.value)).parameter == caught.value.parameter


def test_an_ordinary_init():
    """A class outside the package stores its parameters as attributes."""

    class Wins(rather.FactorEstimator):
        def __init__(self, prior=5.0, rank=1):
            self.prior, self.rank = prior, rank

    model = Wins(2.0)
    assert model.get_params() == {"prior": 2.0, "rank": 1} and model.set_params(prior=3.0).prior == 3.0
    assert (model.n_threads, model.seed) == (None, 0) and repr(model) == "Wins(prior=3.0)"


def test_parameters_that_do_not_exist():
    """The error names the estimator and its parameters, in the constructor as in set_params."""
    said = r"^Popularity has no parameter 'callback'; its parameters are n_threads, seed$"
    with pytest.raises(TypeError, match=said):
        rather.Popularity(callback=print)
    with pytest.raises(rather.InputError, match=said):
        rather.Popularity().set_params(callback=print)
    with pytest.raises(TypeError, match=r"^too many positional arguments$"):
        rather.Popularity(1, 2, 3)


def test_no_init():
    """A class without an ``__init__`` has no parameters."""

    class Even(rather.FactorEstimator):
        def scorer(self, data):
            return rather.Factors.of_items(np.zeros(data.n_items), data.n_users)

    fitted = Even().fit(rather.simulate(5, 4, per_user=3).comparisons)
    assert repr(Even()) == "Even()" and fitted.get_params() == {} and fitted.score("user 0", "item 1") == [0]


def test_domains():
    """A domain says in words and in types what it accepts."""
    rank = Domain(int, at_least=1, at_most=9, words=("auto",), none=True)
    assert all(value in rank for value in (1, 9, np.int64(3), "auto", None))
    assert not any(value in rank for value in (0, 10, 1.0, True, "Auto", float("nan")))
    assert rank.in_words() == "a whole number at least 1 and at most 9, 'auto' or None"
    assert rank.as_type() == 'int, "auto" or None'
    assert Domain(flag=True).in_words() == "True or False" and Domain(words=("a", "b")).as_type() == '{"a", "b"}'
    assert 10**400 in Domain(int, at_least=1) and 10**400 not in Domain(float, at_most=1.0)


def test_every_field_is_declared():
    for kind in ESTIMATORS.values():
        assert all("parameter" in f.metadata for f in fields(kind().params))


def test_stages():
    """``update`` keeps the objective, and a resumed fit the method as well."""
    params = type(AltSVM().params)
    assert of_stages(params, "objective") == [*ORDER[1:10], "seed"] and of_stages(params, "method") == ["rank"]
    assert of_stages(params, "run") == ["max_iter", "tol", "n_threads", *ORDER[14:]]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_reads_through(name):
    """``model.name`` is the parameter for all but ``rank``, whatever the base classes define."""
    kind = ESTIMATORS[name]
    hidden = {n for n in declared(type(kind().params)) if not isinstance(inspect.getattr_static(kind, n), ReadThrough)}
    assert hidden <= {"rank"}


def test_remedies_have_words_for_the_shell():
    assert set(remedies.REMEDIES) == set(errors.REMEDIES)
