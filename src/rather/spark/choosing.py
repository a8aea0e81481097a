"""The choices on held-out answers, made by one task on as many users as one machine can take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.comparisons import Comparisons
from ..models.altsvm import AltSVM
from ..models.calibration import by_twins
from .group import Group
from .plan import ABOUT, ITEM, Plan
from .shard import read_shards
from .worker import BATCH, batch, vectors


def choice(plan: Plan, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of the items to begin with, and of what was chosen; what was chosen is empty where there is no choice.

    Where the plan is to put some aside, it is only how sure to be that is found.
    """
    from pyspark import TaskContext

    n_threads = max(1, TaskContext.get().cpus())
    shard = read_shards(plan, 0, batches)
    source = shard.source(plan, Group(0, [""], None, "", 1.0), n_threads)
    users, items = np.arange(source.n_users), np.arange(plan.n_items)
    model = AltSVM(**{**plan.params, "n_threads": n_threads})
    comparisons = model._read(Comparisons(users, items, source))
    if plan.aside:
        sure = by_twins(model, comparisons, model._models_ties(comparisons.source))
        yield batch(shard.users.type, ABOUT, text=[json.dumps(asdict(sure))])
        return
    found = model._choice(model._spec(), comparisons)
    about: dict[str, Any] = {}
    if found is not None:
        about = {
            "rank": found.rank, "factors": found.factors, "calibration": asdict(found.calibration),
            "cv_results": found.results,
        }  # fmt: skip
        rows, codes = found.V[:, : found.rank + 1], np.arange(len(found.V), dtype=np.int32)
        for first in range(0, len(rows), BATCH):
            at = slice(first, first + BATCH)
            yield batch(shard.users.type, ITEM, a=codes[at], vector=vectors(rows[at]))
    yield batch(shard.users.type, ABOUT, text=[json.dumps(about)])
