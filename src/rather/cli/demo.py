"""rather demo: learn the film club's tastes and check them against the truth."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .answer import Answer


def demo(options: argparse.Namespace) -> Answer:
    from . import film_club

    return film_club.run(options.members, options.seed), film_club.show
