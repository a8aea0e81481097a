"""LLMFAO: real judgements of answers by language models. The file and its licence are in this folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..data.table_files import read_file
from ..data.tables import Table


def llmfao() -> Table:
    """Return real votes about the answers of language models.

    In 8,931 judgements, 124 crowd workers compared the answers of two out of 59 language models to one of 13 prompts.
    The judgements are part of the package, so nothing is downloaded. They are from the project LLMFAO by Dmitry
    Ustalov (https://github.com/dustalov/llmfao), under the licence CC BY 4.0.

    Returns
    -------
    Table
        Columns user, left, right, outcome ("left", "right" or "tie") and prompt (a number); one row per judgement.

    See Also
    --------
    film_club : Simulated votes whose truth is known.
    rather.Comparisons.from_arena : Read judgements that may be ties.

    Examples
    --------
    >>> import rather
    >>> judgements = rather.datasets.llmfao()
    >>> judgements[:2]
    user  left              right       outcome  prompt
      58  Airoboros L2 70B  Weaver 12k  tie           8
      83  Airoboros L2 70B  Weaver 12k  tie           8
    >>> rather.Comparisons.from_arena(judgements)
    Comparisons: 8,931 votes (3,471 ties) by 124 users over 59 items
    """
    columns = read_file(Path(__file__).with_name("llmfao.csv.gz"))
    return Table({name: np.asarray(column) for name, column in columns.items()})
