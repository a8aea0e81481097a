"""The command line as a test runs it: arguments in, exit code and what was printed out."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

from rather.cli.main import main


def run(*argv, piped=b""):
    """(exit code, stdout, stderr) of a command line, with some bytes piped into it."""
    out, err = io.StringIO(), io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(piped))
    with redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "stdin", stdin):
        code = main([str(a) for a in argv])
    return code, out.getvalue(), err.getvalue()


def document(*argv, piped=b""):
    """The JSON document of a command line that must succeed without a word on stderr."""
    code, out, err = run(*argv, "--json", piped=piped)
    assert (code, err) == (0, ""), (code, err)
    return json.loads(out)


def complaint(*argv, piped=b""):
    """The one line that a mistake gets, without its newline."""
    code, out, err = run(*argv, piped=piped)
    assert (code, out) == (2, "") and err.startswith("rather: ") and err.count("\n") == 1, (code, out, err)
    return err[:-1]
