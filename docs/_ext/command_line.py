"""The directive ``command-line``: the help of every command, from the grammar that the commands use."""

from __future__ import annotations

import argparse
import os
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

from rather.cli.grammar import grammar


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command by its name."""
    (found,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(found.choices)


class CommandLine(Directive):
    """A section per command with its help as text."""

    def run(self) -> list[nodes.Node]:
        sections: list[nodes.Node] = []
        for name, parser in commands(grammar()).items():
            section = nodes.section(ids=[f"rather-{name}"], names=[f"rather {name}"])
            section += nodes.title(text=f"rather {name}")
            text = parser.format_help()
            section += nodes.literal_block(text, text, language="text")
            sections.append(section)
        return sections


def setup(app: Any) -> dict[str, Any]:
    os.environ["COLUMNS"] = "100"  # the page must not depend on the terminal
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True}
