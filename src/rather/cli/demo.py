"""rather demo: the film club, whose world is made only when it is asked for."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .answer import Answer


def demo(options: argparse.Namespace) -> Answer:
    from . import film_club

    return film_club.run(options.members, options.seed), film_club.show
