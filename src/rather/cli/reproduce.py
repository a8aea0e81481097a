"""rather paper: the scripts of a source checkout that reproduce the paper's tables and figures."""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import datasets
from ..errors import FileError, InputError, one_of
from .answer import Document, facts

if TYPE_CHECKING:
    from rich.console import Console

    from .answer import Answer

STANDARD_ERROR = 2


def paper(options: argparse.Namespace) -> Answer:
    if options.name is None:
        if options.rest:
            raise InputError(f"{options.rest[0]!r} goes after the name of a script; rather paper alone lists them")
        return {"scripts": scripts()}, _show_scripts
    ok = run(options.name, options.rest, aside=options.json)
    kept = results(options.name, options.rest)
    return {
        "ok": ok, "name": options.name, "arguments": options.rest, "results": str(kept) if kept.exists() else None,
    }, _show_nothing  # fmt: skip


def _show_scripts(document: Document, console: Console) -> None:
    for script in document["scripts"]:
        console.print(script["name"], style="bold", end="")
        console.print(f"  {script['about']}")
        data = ", ".join(f"{name} ({'there' if there else 'absent'})" for name, there in script["data"].items())
        facts(console, {"  data": data or "needs none"})
    console.print("\nNext: rather paper table1, and rather data for what is absent")


def _show_nothing(document: Document, console: Console) -> None:
    """Show nothing, because the script has printed its results."""


def folder() -> Path:
    """The folder of the scripts: beside the package's sources, or in the current folder."""
    places = [Path(__file__).parents[3] / "paper", Path.cwd() / "paper"]
    for place in places:
        if (place / "table1.py").is_file():
            return place
    raise FileError(
        f"the paper's scripts are not in {' or '.join(map(str, places))}: they are part of the sources, not of the "
        "installed package; run this in a checkout of rather"
    )


def scripts() -> list[dict[str, Any]]:
    """Every script with the first line of its docstring and, of the data sets it can use, whether each is there."""
    there = {one["name"]: one["path"] is not None for one in datasets.listing()}
    found = []
    for path in sorted(folder().glob("*.py")):
        source = path.read_text(encoding="utf-8")
        if '__name__ == "__main__"' in source:
            tree = ast.parse(source)
            about = (ast.get_docstring(tree) or "").partition("\n")[0]
            found.append({"name": path.stem, "about": about, "data": {name: there[name] for name in _data(tree)}})
    return found


def run(name: str, arguments: Sequence[str], aside: bool) -> bool:
    """Run a script with these arguments; ``aside`` sends what it prints to standard error. Whether it succeeded."""
    one_of("the script", name, [script["name"] for script in scripts()])
    command = [sys.executable, str(folder() / f"{name}.py"), *arguments]
    return subprocess.run(command, stdout=STANDARD_ERROR if aside else None).returncode == 0


def results(name: str, arguments: Sequence[str]) -> Path:
    """The file a script with these arguments keeps its results in, whether it is there or not."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--results", type=Path, default=Path("rather-paper"))
    parser.add_argument("--committed", action="store_true")
    options, _ = parser.parse_known_args(arguments)
    return (folder() / "results" if options.committed else options.results) / f"{name}.csv"


def _data(tree: ast.Module) -> tuple[str, ...]:
    """The data sets that a script names in its constant DATA, if it has one."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DATA":
            return tuple(ast.literal_eval(node.value))
    return ()
