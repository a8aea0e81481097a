"""How the site is built: the page of the command line, and the page that answers unknown addresses."""

import importlib.util
from pathlib import Path

import pytest

from rather.cli.commands import PICTURES

pytest.importorskip("docutils", reason="the packages that build the site are not installed")
command_line = pytest.importorskip("command_line", reason="the documentation is not part of this copy")
CONF = Path(__file__).parents[1] / "docs" / "conf.py"


def test_the_page_of_the_command_line_has_every_picture(monkeypatch):
    """The options of each picture are beside those of the commands."""
    monkeypatch.setenv("COLUMNS", "100")
    for picture in PICTURES:
        assert f"plot {picture}" in command_line.COMMANDS
    assert "--per-user" in command_line.said("plot", "learning-curve", "--help")


def test_the_page_of_unknown_addresses_finds_its_files():
    """Its links begin with the path of the site."""
    spec = importlib.util.spec_from_file_location("conf_of_the_site", CONF)
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    assert conf.notfound_urls_prefix == "/rather/"
