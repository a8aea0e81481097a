"""The help of the command line: grouped by task, 80 columns wide, with examples that are commands."""

import re
import shlex

import pytest

from rather.cli.commands import PICTURES, TEXTS, sentence
from rather.cli.grammar import COMMANDS, grammar
from rather.cli.plot import DRAWN
from shell import complaint, run

ADVANCED = "Advanced"
ALL = {**TEXTS, **{f"plot {name}": text for name, text in PICTURES.items()}}


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def lines_of(*command):
    code, out, err = run(*command, "--help")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert not [line for line in lines if len(line) > 79 or line != line.rstrip()]
    return lines


def is_understood(words):
    """Whether the grammar takes the first of the commands that stand in a line."""
    own = words[: min((words.index(mark) for mark in ("&&", ">", "--help") if mark in words), default=len(words))]
    options, rest = grammar().parse_known_args(own)
    return callable(options.run) and (not rest or own[0] == "paper")


def test_the_overview_has_every_command_under_its_task():
    """Every command stands in the overview with its sentence, each task once; nothing is asked without arguments."""
    lines = lines_of()
    assert run() == run("-h") == (0, "\n".join([*lines, ""]), "")
    assert list(TEXTS) == [name for name in TEXTS if name in COMMANDS or name == "plot"]
    assert set(PICTURES) == set(DRAWN)
    listed = [line for line in lines if re.match(r"\w* +\w+  +\w", line) and not line.startswith(" rather")]
    assert [line[10:].split()[0] for line in listed[: len(TEXTS)]] == list(TEXTS)
    tasks = [line.split()[0] for line in listed if not line.startswith(" ")]
    assert tasks == list(dict.fromkeys(text.task for text in TEXTS.values()))
    examples = lines[lines.index("Examples:") + 1 :]
    assert len(examples) == 3 and all(line.startswith("  rather ") for line in examples)


@pytest.mark.parametrize("command", ALL)
def test_help_of_a_command(command):
    """It is one sentence, a usage of at most two lines, three examples, options by task, and Advanced ones last."""
    lines = lines_of(*command.split())
    assert lines[0] == sentence(ALL[command]) and lines[1] == ""
    assert lines[2].startswith(f"usage: rather {command} ") and "" in lines[3:5]
    at = lines.index("Examples:")
    examples = ALL[command].examples
    assert lines[at + 4] == "" and len(examples) == 3
    assert all(
        line.startswith(f"  rather {words}") for line, (words, _) in zip(lines[at + 1 :], examples, strict=False)
    )
    groups = [line for line in lines[at + 1 :] if line and not line.startswith(" ")]
    advanced = [group.startswith(ADVANCED) for group in groups]
    assert groups[0][:-1].istitle() or " " in groups[0]
    assert advanced == sorted(advanced) and not {"options:", "positional arguments:"} & set(groups)
    if command == "plot":
        assert all(any(line.startswith(f"  {name} ") for line in lines) for name in PICTURES)
    else:
        assert any(line.startswith("  --json ") for line in lines)


@pytest.mark.parametrize("words", [words for text in ALL.values() for words, _ in text.examples])
def test_examples_are_commands(words):
    """The grammar understands every example."""
    assert is_understood(shlex.split(words))


def test_column_names_come_last():
    """Commands that read a file of any format end with the options for its columns."""
    for command in ("fit", "update", "split", "evaluate", "plot calibration"):
        groups = [line for line in lines_of(*command.split()) if line.endswith(":") and not line.startswith(" ")]
        assert groups[-1] == "Advanced (if your columns have other names):"


@pytest.mark.parametrize(
    ("typed", "nearest"), [("serv", "serve"), ("recomend", "recommend"), ("Fit", "fit"), ("evalute", "evaluate")]
)
def test_a_mistyped_command_gets_the_nearest(typed, nearest):
    """The one line names the command that was probably meant."""
    assert complaint(typed, "x", "--y") == f"rather: unknown command {typed!r}; did you mean {nearest!r}?"


def test_a_mistyped_picture_gets_the_nearest():
    """A picture is answered like a command, or with where all are listed."""
    nearest = "rather: unknown picture 'leaderbord'; did you mean 'leaderboard'?"
    assert complaint("plot", "leaderbord", "m") == nearest
    assert complaint("plot", "zzz") == "rather: unknown picture 'zzz'; see: rather plot --help"
    assert complaint("zzz") == "rather: unknown command 'zzz'; see: rather --help"
