"""All estimators by name, the default for given data, and reading a fitted one from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .data.comparisons import Comparisons
from .data.embedded import Embedded
from .errors import InputError
from .models.altsvm import AltSVM
from .models.click_ranker import ClickRanker
from .models.convex import Convex
from .models.estimator import Estimator
from .models.files import load_model
from .models.vote_ranker import VoteRanker
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
        AltSVM, Convex, VoteRanker, ClickRanker, PaperAltSVM, Global, ItemMean, BPR, SGD, Differences, CofiRank, LCR,
        RobiRank, Popularity, RP3beta, EASE,
    )
}  # fmt: skip


def fit(
    comparisons: Comparisons,
    item_features: Any = None,
    user_features: Any = None,
    n_threads: int | None = None,
    seed: int = 0,
    verbose: bool = False,
) -> AltSVM | ClickRanker | Global:
    """Fit the estimator that suits the data.

    The kind of data alone decides: :class:`ClickRanker` for clicks, :class:`Global` for comparisons without named
    users, and :class:`AltSVM` otherwise. Clicks with features go to :class:`AltSVM`, which learns from features. Call
    a class to choose yourself or to set other parameters: ``rather.AltSVM(rank=8).fit(comparisons)``.

    Parameters
    ----------
    comparisons : Comparisons
        The preferences to learn from.
    item_features, user_features : pandas, polars or pyarrow table, rather.Table, or dict of columns, optional
        One row per item or user with its id; all other columns are features. Default: no features. See
        :meth:`Comparisons.with_features`. Features need named users.
    n_threads : int, optional
        Number of threads. Default: as many as the process may use.
    seed : int, default 0
        Seed of all random draws. Equal data and seeds give equal models.
    verbose : bool, default False
        Whether to show a progress bar.

    Returns
    -------
    AltSVM, ClickRanker or Global
        The fitted estimator. Its ``repr`` says what was fitted and chosen.

    Raises
    ------
    InputError
        If the data or the parameters are invalid, or if there are features but no named users.

    See Also
    --------
    default_estimator : Choose the estimator without fitting it.
    load : Read a fitted model from a file.

    Examples
    --------
    >>> import rather
    >>> world = rather.simulate(n_users=50, n_items=20, per_user=20, seed=0)
    >>> model = rather.fit(world.comparisons)
    >>> type(model).__name__
    'AltSVM'
    >>> model.recommend("user 7", k=2)["item"].tolist()
    ['item 14', 'item 4']
    """
    model = default_estimator(comparisons, item_features, user_features, n_threads, seed, verbose)
    model.fit(comparisons, item_features=item_features, user_features=user_features)
    return model


def default_estimator(
    comparisons: Comparisons,
    item_features: Any = None,
    user_features: Any = None,
    n_threads: int | None = None,
    seed: int = 0,
    verbose: bool = False,
) -> AltSVM | ClickRanker | Global:
    """Return the estimator that :func:`fit` would fit, unfitted.

    Use it to see the choice, or to change a parameter before fitting.

    Parameters
    ----------
    comparisons : Comparisons
        The preferences to learn from.
    item_features, user_features : table, optional
        Tables that :func:`fit` would be given; only their presence matters here.
    n_threads : int, optional
        Number of threads. Default: as many as the process may use.
    seed : int, default 0
        Seed of all random draws.
    verbose : bool, default False
        Whether fitting shows a progress bar.

    Returns
    -------
    AltSVM, ClickRanker or Global
        The estimator with its default parameters and the given ``n_threads``, ``seed`` and ``verbose``.

    Raises
    ------
    InputError
        If ``comparisons`` are of another type, or if there are features but no named users.

    See Also
    --------
    fit : Choose the estimator and fit it.

    Examples
    --------
    >>> import rather
    >>> votes = {"user": ["ann", "bob"], "winner": ["tea", "cola"], "loser": ["milk", "tea"]}
    >>> rather.default_estimator(rather.Comparisons.from_frame(votes), seed=1)
    AltSVM(seed=1)
    >>> rather.default_estimator(rather.Comparisons.from_frame(votes, user=None))
    Global()
    """
    kind, _ = suited(comparisons, item_features is not None or user_features is not None)
    return kind(n_threads=n_threads, seed=seed, verbose=verbose)


def suited(comparisons: Comparisons, features: bool) -> tuple[type[AltSVM | ClickRanker | Global], str]:
    """Return the estimator that suits the comparisons, and the reason in words; ``features``: whether tables join."""
    if not isinstance(comparisons, Comparisons):
        raise InputError(
            f"fit was given a {type(comparisons).__name__}; it takes Comparisons "
            "(see Comparisons.from_frame, from_ratings, from_clicks)"
        )
    features = features or comparisons.item_features is not None or comparisons.user_features is not None
    if comparisons.clicks is not None:
        return (AltSVM, "for clicks with features") if features else (ClickRanker, "for clicks")
    if comparisons.anonymous and not isinstance(comparisons.source, Embedded):
        if features:
            raise InputError(
                "features need users who are named, and these comparisons name nobody; leave the features out"
            )
        return Global, "because nobody is named"
    return AltSVM, "for named users"


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
