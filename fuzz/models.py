"""Small fitted models of every kind, and what a model says to the last bit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rather import ESTIMATORS, Comparisons
from rather.testing import small_data

SEES = {
    **dict.fromkeys(("ItemMean", "Differences", "CofiRank", "LCR"), "ratings"),
    **dict.fromkeys(("ClickRanker", "RobiRank", "Popularity", "RP3beta", "EASE"), "clicks"),
}
SMALL = {"rank": 3, "max_iter": 3, "anchors": 2, "n_threads": 1}


def small(name: str, **params: Any) -> Any:
    """An estimator that fits in a moment."""
    kind = ESTIMATORS[name]
    known = kind._param_names()
    return kind(**{k: v for k, v in {**SMALL, **params}.items() if k in known})


def data_for(name: str) -> Comparisons:
    """Data that an estimator takes."""
    return small_data(SEES.get(name, "votes"))


def other_ids(comparisons: Comparisons, n: int = 17, shared: int = 0) -> Comparisons:
    """What some of the users said, under other ids but for the first few, which are ``shared``."""
    users = comparisons.users[:n].tolist()
    renamed = {v: v if k < shared else f"other {v}" for k, v in enumerate(users)}
    items = {v: v if k < shared else f"other {v}" for k, v in enumerate(comparisons.items.tolist())}
    frame = comparisons.to_frame("dict")
    names = ("user", "winner", "loser")
    rows = zip(*(frame[c].tolist() for c in names), strict=True)
    kept = [(renamed[u], items[w], items[x]) for u, w, x in rows if u in renamed]
    return Comparisons.from_frame(dict(zip(names, map(list, zip(*kept, strict=True)), strict=True)))


def every_score(model: Any) -> Any:
    """The score of every user and item."""
    users, items = model.users_, model.items_
    return model.score(np.repeat(users, len(items)), np.tile(items, len(users)))


def fingerprint(model: Any) -> Any:
    """All that a fitted model is and says, but for its parameters and slope, as something that can be compared."""
    said = [
        repr(model.users_.tolist()), repr(model.items_.tolist()), every_score(model).tobytes(),
        model.average_scores().tobytes(), repr(model.recommend(model.users_, k=2, exclude="seen")["item"].tolist()),
        repr([record.get("objective") for record in model.history_]) if hasattr(model, "history_") else "",
    ]  # fmt: skip
    if hasattr(model, "fold_in"):
        said.append(model.fold_in([tuple(model.items_[:2])]).score(model.items_).tobytes())
    return tuple(said)


def check_sound(model: Any) -> None:
    """Raise unless every score, list, newcomer and probability of a model is a number and everyone's place is right."""
    scores = every_score(model)
    assert scores.dtype == np.float32 and np.isfinite(scores).all(), "scores are not finite"
    assert np.isfinite(model.average_scores()).all(), "everyone's scores are not finite"
    n = len(model.items_)
    listed = model.recommend(model.users_, k=n)
    assert len(listed) == len(scores) and np.isfinite(listed["score"]).all()
    assert sorted(model.rank()["item"].tolist()) == sorted(model.items_.tolist())
    model.recommend(model.users_, k=n, exclude="seen")
    if hasattr(model, "fold_in") and n > 1:
        person = model.fold_in([tuple(model.items_[:2]), tuple(model.items_[-2:])])
        assert np.isfinite(person.score(model.items_)).all(), "a newcomer's scores are not finite"
        assert len(person.rank()) == n
    if model.slope_ is not None:
        chance = model.probability(model.users_, model.items_[0], model.items_[-1])
        assert ((chance >= 0) & (chance <= 1)).all(), "probabilities are not"
    assert repr(model) and model.get_params() is not None


def quietly(fit: Any) -> Any:
    """Call something without the warnings that an interrupted fit or an odd problem may give."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return fit()
