"""The directive ``command-line``: the help of every command, as the command itself prints it."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

from rather.cli.commands import PICTURES, TEXTS
from rather.cli.main import main

COMMANDS = tuple(
    command for name in TEXTS for command in (name, *(f"plot {picture}" for picture in PICTURES if name == "plot"))
)


def said(*arguments: str) -> str:
    """Return what a command prints."""
    out = io.StringIO()
    with redirect_stdout(out):
        main([*arguments])
    return out.getvalue()


class CommandLine(Directive):
    """A section per command with its help as text."""

    def run(self) -> list[nodes.Node]:
        sections: list[nodes.Node] = []
        for name in COMMANDS:
            section = nodes.section(ids=[f"rather-{name.replace(' ', '-')}"], names=[f"rather {name}"])
            text = said(*name.split(), "--help")
            section += nodes.title(text=f"rather {name}")
            section += nodes.literal_block(text, text, language="text")
            sections.append(section)
        return sections


def setup(app: Any) -> dict[str, Any]:
    os.environ["COLUMNS"] = "100"  # the page must not depend on the terminal
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True}
