"""Scores of (user, item) pairs for metrics, from a model of this package or anything with ``score(users, items)``.

Models of this package are called with codes, which is fast. Others are called with ids, and know the users and items
in their ``users_`` and ``items_`` if they have these. Test items that a model does not know score 0, as in the
authors' program, and are counted. Unknown test users raise an error, get the shared ranking, or are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Protocol

import numpy as np

from ..data.comparisons import Comparisons
from ..data.ids import Codes, Ids, Vocabulary, as_ids, factorize, quoted
from ..errors import InputError
from ..models.estimator import Estimator
from ..models.exclusions import Rows, select
from ..models.lists import best_scores
from ..models.newcomers import FoldInModel
from ..models.scorers import BLOCK
from ..models.unknown import check_unknown, left_out
from ..native import FloatArray, threads


class HasScores(Protocol):
    """Describe a model that metrics can judge: anything with ``score``.

    Models that recommend also need ``items_``, the ids of all items. ``users_`` and ``items_`` say which ids the model
    knows, if it has them.

    See Also
    --------
    Estimator : The base class of all estimators here.
    pairwise_accuracy : Measure how many test comparisons a model predicts.

    Examples
    --------
    >>> import rather
    >>> class Longest:
    ...     def score(self, users, items):
    ...         return [len(item) for item in items]
    >>> rather.ndcg(Longest(), {"user": ["ann", "ann"], "item": ["tea", "coffee"], "rating": [1, 5]})
    1.0
    """

    def score(self, users: Any, items: Any) -> Any:
        """Return one number for each pair of user and item, higher for preferred items.

        Parameters
        ----------
        users : array of id
            Users, one for each pair.
        items : array of id
            Items, as many as users.

        Returns
        -------
        array of float
            The scores.

        See Also
        --------
        Estimator.score : The same for the estimators here.

        Examples
        --------
        >>> class Longest:
        ...     def score(self, users, items):
        ...         return [len(item) for item in items]
        >>> Longest().score(["ann", "ann"], ["tea", "coffee"])
        [3, 6]
        """


def require_scores(model: Any) -> None:
    """Refuse what cannot be judged."""
    if not callable(getattr(model, "score", None)):
        raise InputError(f"the model is of type {type(model).__name__}; it must have score(users, items)")
    if isinstance(model, Estimator):
        _ = model.fitted  # or the error that it is not


def over_embeddings(model: Any, test: Comparisons) -> Any:
    """A model of ours over the things that test comparisons are of, of which only embeddings are known."""
    if not isinstance(model, FoldInModel):
        raise InputError(f"{type(model).__name__} knows nothing of embeddings, which the test comparisons are of")
    return copy(model)._over(test)


class Judged:
    """A model under judgement on the test data of some users and items."""

    def __init__(self, model: Any, users: Ids, items: Ids, unknown: str) -> None:
        check_unknown(unknown)
        require_scores(model)
        model = copy(model) if isinstance(model, Estimator) else model
        self.model = model
        self.n_threads = threads(getattr(model, "n_threads", None))
        self.own = isinstance(model, Estimator)
        self.people, catalogue = vocabulary(model, "user", users), vocabulary(model, "item", items)
        self._user_ids, self._item_ids = self.people.ids, catalogue.ids  # of the model's own kind
        self.known, self._item = self.people.codes(users), catalogue.codes(items)  # codes, or -1
        self.unknown_items = int((self._item < 0).sum())
        self.judged = np.ones(len(users), bool)  # whom the metric is about
        strangers = self.known < 0
        if strangers.any():
            if unknown == "error":
                self.people.known(users, "judge known users")
            if unknown == "everyone" and not self.own:
                raise InputError(f"{type(model).__name__} has no ranking for everyone; use unknown='skip'")
            if unknown == "skip":
                left_out(int(strangers.sum()), len(users), "test users")
                self.judged = ~strangers
                if not self.judged.any():
                    raise InputError("the model knows none of the test users; is it the model for these data?")
        if len(items) and self.unknown_items == len(items):
            raise knows_none(items, catalogue)

    def seen(self) -> Callable[[], Rows] | None:
        """Return the items that the test users have seen; None if the model does not have them."""
        return (lambda: select(self.model.seen_, self.known)) if self.own else None

    def scores(self, u: Any, j: Any) -> FloatArray:
        """Scores of pairs of positions in the test users and items; 0 for users that are not judged."""
        if self.own:
            return np.asarray(self.model._scores_any(self.known[u], self._item[j]), np.float32)
        out, asked = np.zeros(len(u), np.float32), self.judged[u] & (self._item[j] >= 0)
        out[asked] = self._asked(self._user_ids[self.known[u[asked]]], self._item_ids[self._item[j[asked]]])
        return out

    def best(self, rows: Codes, k: int, excluded: Rows | None, among: Codes) -> tuple[Any, Any]:
        """(query, item) of the k best of some items for some of the users, flat; items are all that the model knows."""
        if self.own:
            query, item, _, _ = self.model._best_any(self.known[rows], k, excluded, among)
            return query, item
        parts, n, size = [], len(among), max(1, BLOCK // max(len(among), 1))
        for first in range(0, len(rows), size):
            some = np.arange(first, min(first + size, len(rows)), dtype=np.int32)
            score = self.scores(np.repeat(rows[some], n), np.tile(among, len(some))).reshape(len(some), n)
            own = None if excluded is None else select(excluded, some)
            query, item, _, _ = best_scores(score, k, own, among, self.n_threads)
            parts.append((query + first, item))
        queries, items = zip(*parts, strict=True)
        return np.concatenate(queries), np.concatenate(items)

    def _asked(self, users: Ids, items: Ids) -> FloatArray:
        """Return the scores of another library's model, checked."""
        if not len(users):
            return np.empty(0, np.float32)
        try:
            answer = np.asarray(self.model.score(users, items), np.float32)
        except (TypeError, ValueError) as e:
            raise InputError(f"{type(self.model).__name__}.score could not be used: {' '.join(str(e).split())}") from e
        if answer.shape != users.shape:
            raise InputError(
                f"{type(self.model).__name__}.score gave an array of shape {answer.shape} for {len(users)} users and "
                "items; it must give one number for each pair"
            )
        if not np.isfinite(answer).all():
            raise InputError(f"{type(self.model).__name__}.score gave numbers that are not finite")
        return answer


def vocabulary(model: Any, what: str, otherwise: Ids) -> Vocabulary:
    """The ids of users or items that a model says it knows, in its own kind; others where it does not say."""
    if isinstance(model, Estimator):
        return model.fitted.users if what == "user" else model.fitted.items
    ids = getattr(model, f"{what}s_", None)
    if ids is not None:
        otherwise, _ = factorize([as_ids(ids, f"the model's {what}s_")], what)
    return Vocabulary(otherwise, what)


def knows_none(items: Ids, catalogue: Vocabulary) -> InputError:
    """Return the error for a model that knows none of the test items."""
    own = f"its own are such as {quoted(catalogue.ids[0])}" if len(catalogue) else "it knows none at all"
    return InputError(
        f"the model knows none of the {len(items):,} test items, such as {quoted(items[0])}; {own}: "
        "is it the model for these data?"
    )
