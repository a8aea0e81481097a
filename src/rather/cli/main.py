"""The entry point of the command line: it runs a command, prints its document and reports mistakes."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from .answer import in_json, in_words, write
from .commands import mistyped
from .grammar import grammar
from .remedies import in_shell
from .reproduce import paper

WINDOWS = os.name == "nt"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = grammar()
    given = sys.argv[1:] if argv is None else argv
    try:
        # rather paper NAME --help is for the script to answer.
        given = ["paper", given[1], "--", *given[2:]] if _for_script(given) else given
        if said := mistyped(given):
            return _complain(said, 2)
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
            write(in_json(document, options.indent))
        elif not getattr(options, "quiet", False):
            write(in_words(document, show))
        return 0 if document.get("ok", True) else 1
    except KeyboardInterrupt as e:
        return _complain(str(e) or "interrupted", 130)
    except InputError as e:
        return _complain(in_shell(e, options), 2)
    except UnicodeEncodeError as e:
        return _complain(f"an id has characters that cannot be written: {e.object[e.start : e.end]!r}; rename it", 2)
    except MemoryError:
        return _complain("there is not enough memory for this; give fewer rows, or a smaller --rank", 2)
    except OSError as e:
        if _reader_has_gone(e):
            # Python would complain once more when it flushes on exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 141
        return _complain(f"{e.filename}: {e.strerror}" if e.filename else str(e), 2)


def _reader_has_gone(e: OSError) -> bool:
    """Return whether nobody reads standard output any more, for which Windows has no error of its own."""
    return isinstance(e, BrokenPipeError) or (WINDOWS and e.errno == errno.EINVAL and e.filename is None)


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
    print(f"rather: {' '.join(str(message).split())}", file=sys.stderr)
