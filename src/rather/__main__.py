"""``python -m rather`` is the ``rather`` command."""

import sys

from .cli.main import main

sys.exit(main())
