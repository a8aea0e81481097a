"""The ``rather`` command. It imports the package inside, so that Ctrl-C is one line from the first moment on."""

import sys


def main() -> int:
    try:
        from rather.cli.main import main as command

        return command()
    except KeyboardInterrupt:
        print("rather: interrupted", file=sys.stderr)
        return 130
