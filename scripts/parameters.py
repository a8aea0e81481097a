"""Write the section "Parameters" of every estimator's docstring from the declarations: python scripts/parameters.py"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from dataclasses import fields
from pathlib import Path
from typing import Any

from rather.estimators import ESTIMATORS
from rather.models.parameters import Parameter, declared

INDENT, WIDTH = " " * 4, 120
SECTION = re.compile(r"    Parameters\n    -+\n(.*?)(?=\n\n    \w+\n    -+\n)", re.S)


def section(kind: type[Any]) -> str:
    """Return the lines of an estimator's parameters, as numpydoc has them."""
    params = inspect.get_annotations(kind, eval_str=True)["params"]
    defaults = {f.name: f.default for f in fields(params)}
    return "\n".join(_entry(name, one, defaults[name]) for name, one in declared(params).items())


def _entry(name: str, parameter: Parameter, default: Any) -> str:
    shown = json.dumps(default) if isinstance(default, str) else repr(default)
    text = textwrap.wrap(
        parameter.doc, WIDTH, initial_indent=2 * INDENT, subsequent_indent=2 * INDENT, break_on_hyphens=False
    )
    return "\n".join([f"{INDENT}{name} : {parameter.domain.as_type()}, default {shown}", *text])


def written(kind: type[Any]) -> str:
    """Return the same lines as the source of the class has them."""
    found = SECTION.search(inspect.getsource(kind))
    return "" if found is None else found[1]


def main() -> None:
    for kind in ESTIMATORS.values():
        path = Path(inspect.getfile(kind))
        path.write_text(path.read_text().replace(written(kind), section(kind), 1))


if __name__ == "__main__":
    main()
