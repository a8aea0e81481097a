"""The command line: how a command's one document reaches a person or, with --json, a program; and what mistakes get."""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .answer import Document
from .grammar import grammar
from .reproduce import paper
from .wording import for_the_shell

if TYPE_CHECKING:
    from rich.console import Console


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = grammar()
    given = sys.argv[1:] if argv is None else argv
    try:
        # rather paper NAME --help is for the script to answer.
        given = ["paper", given[1], "--", *given[2:]] if _for_script(given) else given
        options, rest = parser.parse_known_args(given or ["--help"])
        options.rest = rest
        if rest and options.run is not paper:
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
    except SystemExit as e:  # after --help, --version or a mistake that argparse has reported
        return int(e.code or 0)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            document, show = options.run(options)
        if options.json:
            _write(json.dumps(_finite(document), indent=2, allow_nan=False) + "\n")
        elif not getattr(options, "quiet", False):
            _write(_shown(document, show))
        return 0 if document.get("ok", True) else 1
    except KeyboardInterrupt as e:
        return _complain(str(e) or "interrupted", 130)
    except BrokenPipeError:
        # The reader has gone; Python would complain once more when it flushes on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except InputError as e:
        return _complain(for_the_shell(str(e)), 2)
    except UnicodeEncodeError as e:
        return _complain(f"an id has characters that cannot be written: {e.object[e.start : e.end]!r}; rename it", 2)
    except MemoryError:
        return _complain("there is not enough memory for this; give fewer rows, or a smaller --rank", 2)
    except OSError as e:
        return _complain(f"{e.filename}: {e.strerror}" if e.filename else str(e), 2)


def _for_script(given: Sequence[str]) -> bool:
    """Whether these ask for help on a script of the paper rather than on the command."""
    return (
        len(given) > 2
        and given[0] == "paper"
        and not given[1].startswith("-")
        and bool({"-h", "--help"} & {*given[2:]})
    )


def _complain(sentence: str, code: int) -> int:
    print(f"rather: {' '.join(sentence.split())}", file=sys.stderr)
    return code


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """The library's warnings, as one line each."""
    print(f"rather: {' '.join(for_the_shell(str(message)).split())}", file=sys.stderr)


def _finite(value: Any) -> Any:
    """A document with null where a number is none, which JSON cannot say otherwise."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(document: Document, show: Callable[[Document, Console], None]) -> str:
    from rich.console import Console

    width = None if sys.stdout is not None and sys.stdout.isatty() else 200
    console = Console(markup=False, emoji=False, highlight=False, width=width)
    with console.capture() as captured:
        show(document, console)
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


def _write(text: str) -> None:
    """All of the text, or an error: an unbuffered stream may take less than it is given without a word."""
    if sys.stdout is None:  # closed by the caller
        return
    encoding = sys.stdout.encoding or "utf-8"
    raw = getattr(sys.stdout, "buffer", None)
    if raw is None:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    else:
        sys.stdout.flush()
        left = memoryview(text.encode(encoding, "replace"))
        while left:
            left = left[raw.write(left) :]
    sys.stdout.flush()
