"""``python -m rather`` is the ``rather`` command."""

import sys

from .cli import main

sys.exit(main())
