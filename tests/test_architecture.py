"""The packages import each other in one direction and without cycles."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "rather"
# Each may import from those before it; what stands alone in the package comes first or last.
ORDER = ("data", "datasets", "solving", "models", "rivals", "judging", "spark", "server", "cli")
FIRST = {"addresses", "errors", "warned", "native", "logistic", "memory", "cores", "cgroups"}
BEFORE_SPARK = {"asking", "estimators", "plot", "testing", "__init__"}


def modules():
    """Every module by its dotted name below the package; a package is its __init__."""
    return {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}


def imports(name, path, known):
    """What a module imports of the package, wherever in the file the import stands."""
    here = name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == "rather"):
            parts = (node.module or "").split(".") if node.module else []
            base = here[: len(here) - node.level + 1] + parts if node.level else parts[1:]
            for alias in node.names:  # a module of a package, or a name in a module, or in a package's own file
                named = [*base, alias.name]
                found = (".".join(way) for way in (named, [*named, "__init__"], base, [*base, "__init__"]))
                yield next(target for target in found if target in known)
        elif isinstance(node, ast.Import):
            assert not any(alias.name.split(".")[0] == "rather" for alias in node.names), f"{path}: import from it"


@pytest.fixture(scope="module")
def graph():
    known = modules()
    return {name: set(imports(name, path, known)) for name, path in known.items()}


def test_there_are_no_cycles(graph):
    """The graph of modules has no cycle, lazy imports and imports for types counted."""
    list(TopologicalSorter(graph).static_order())  # raises where there is a cycle


def place(name):
    head = name.split(".")[0]
    if name in FIRST:
        return -1
    if name in BEFORE_SPARK:
        return ORDER.index("spark") - 0.5
    return ORDER.index(head) if head in ORDER else len(ORDER)


def test_packages_import_only_from_those_before_them(graph):
    """Data sets, solving, models, rivals, judging, spark, cli: the order in which data flows."""
    wrong = [
        f"{name} imports {found}" for name, targets in graph.items() for found in targets if place(found) > place(name)
    ]
    assert not wrong
