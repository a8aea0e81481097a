"""The ``rather`` command. It imports the package inside, so that Ctrl-C is one line from the first moment on."""

import os
import sys


def main() -> int:
    if sys.argv[1:2] == ["serve"]:  # before numpy: what is known of one person is small, and waiting threads spin
        for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(name, "1")
    try:
        from rather.cli.main import main as command

        return command()
    except KeyboardInterrupt:
        print("rather: interrupted", file=sys.stderr)
        return 130
