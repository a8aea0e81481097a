"""All estimators by name, and reading a fitted one from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .models.altsvm import AltSVM
from .models.click_ranker import ClickRanker
from .models.convex import Convex
from .models.estimator import Estimator
from .models.files import load_model
from .rivals.bpr import BPR
from .rivals.cofirank import CofiRank
from .rivals.differences import Differences
from .rivals.ease import EASE
from .rivals.global_ranking import Global
from .rivals.item_mean import ItemMean
from .rivals.lcr import LCR
from .rivals.paper_altsvm import PaperAltSVM
from .rivals.popularity import Popularity
from .rivals.robirank import RobiRank
from .rivals.rp3beta import RP3beta
from .rivals.sgd import SGD

ESTIMATORS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        AltSVM, Convex, ClickRanker, PaperAltSVM, Global, ItemMean, BPR, SGD, Differences, CofiRank, LCR, RobiRank,
        Popularity, RP3beta, EASE,
    )
}  # fmt: skip


def load(path: str | Path, *kinds: type[Estimator]) -> Any:
    """Read a model that ``save`` wrote.

    A model file is data: nothing in it is executed.

    Parameters
    ----------
    path : path
        The file.
    *kinds : type
        Your own estimator classes that the file may hold.

    Returns
    -------
    Estimator
        The fitted model.

    Raises
    ------
    FileError
        If the file is missing, truncated, altered, or not a model.

    See Also
    --------
    Estimator.save : Write a model to a file.

    Examples
    --------
    >>> import rather, tempfile
    >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=50, n_items=20, per_user=10).comparisons)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/votes.rather")
    ...     loaded = rather.load(f"{folder}/votes.rather")
    >>> loaded.rank("user 1")["item"].tolist() == model.rank("user 1")["item"].tolist()
    True
    """
    return load_model(path, {**ESTIMATORS, **{kind.__name__: kind for kind in kinds}})
