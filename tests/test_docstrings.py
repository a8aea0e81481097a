"""Public docstrings are in numpydoc's form: summary, parameters, returns, errors, related names, examples."""

import functools
import inspect
import types

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import rather

NOT_ASKED = {"ES01", "GL01"}  # a purpose may be in the summary, and the text begins on the first line
OF_A_SENTENCE = {"SA01", "EX01"}  # a property needs one sentence
PROPERTIES = property, functools.cached_property


def public():
    """Return public functions, classes and methods by name; inherited methods are under the class that defines them."""
    found = {}
    for name in rather.__all__:
        thing = getattr(rather, name)
        if isinstance(thing, types.ModuleType):
            own = {n: f for n, f in vars(thing).items() if inspect.isfunction(f) and not n.startswith("_")}
            found |= {f"{name}.{n}": f for n, f in own.items() if f.__module__.startswith(thing.__name__)}
        elif callable(thing):
            found[name] = thing
        for kind in thing.__mro__ if inspect.isclass(thing) else ():
            if kind.__module__.startswith("rather."):
                found |= {f"{kind.__name__}.{n}": getattr(kind, n) for n, f in vars(kind).items() if _is_public(n, f)}
    return found


def _is_public(name, thing):
    return not name.startswith("_") and isinstance(thing, (*PROPERTIES, classmethod, staticmethod, types.FunctionType))


def path(name, thing):
    """Return where numpydoc finds a thing."""
    if isinstance(thing, PROPERTIES):
        made = thing.fget if isinstance(thing, property) else thing.func
    else:
        made = inspect.unwrap(getattr(thing, "__func__", thing))
    return f"{made.__module__}.{made.__qualname__}"


def shortcomings(name, thing):
    """Return the codes of numpydoc's complaints about a docstring."""
    codes = {code for code, _ in validate(path(name, thing))["errors"]} - NOT_ASKED
    if isinstance(thing, PROPERTIES):
        codes -= OF_A_SENTENCE
    if "PR01" in codes and inspect.isclass(thing):  # users make no results, errors and protocols: attributes suffice
        fields = {n for entry in get_doc_object(thing)["Attributes"] for n in entry.name.split(", ")}
        made = not issubclass(thing, Exception) and not getattr(thing, "_is_protocol", False)
        if not made or fields >= set(inspect.signature(thing).parameters):
            codes.remove("PR01")
    return codes


def test_docstrings_are_complete():
    found = {(name, code) for name, thing in public().items() for code in shortcomings(name, thing)}
    assert not found, f"complete these docstrings: {sorted(found)}"


def test_summaries_are_short_and_examples_too():
    for name, thing in public().items():
        doc = get_doc_object(thing)
        assert len(" ".join(doc["Summary"])) <= 80, f"the summary of {name} is too long"
        lines = [line for line in doc["Examples"] if line.strip()]
        assert len(lines) <= 8, f"the examples of {name} have {len(lines)} lines"


def test_signatures_show_readable_defaults():
    for name, thing in public().items():
        if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, (float, Exception))):
            assert " object at 0x" not in str(inspect.signature(thing)), f"help({name}) shows an address"
