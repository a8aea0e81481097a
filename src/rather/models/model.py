"""What every fitted model can do: score, rank, recommend, say how sure it is, be saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..data import frames
from ..data.comparisons import Comparisons
from ..data.ids import Codes, Vocabulary, as_ids
from ..data.rows import row_starts
from ..data.tables import Table
from ..errors import InputError, NotFittedError, number
from ..logistic import sigmoid
from ..native import FloatArray

REFIT = "items are learned from comparisons: fit again with some that involve it"


class Model:
    """Personal scores for every user and item, whatever they are made of.

    A kind of model says how it scores pairs of codes, which items are best for a user, and what a file must hold of it:
    ``_score_codes``, ``_best``, ``_tensors``, ``_about`` and ``_restore``.

    Attributes
    ----------
    users_, items_ : arrays
        External ids; a code is a position in them.
    """

    UNKNOWN_USER = "fit again with some of their answers"
    n_threads: int | None = None

    user_vocabulary_: Vocabulary
    item_vocabulary_: Vocabulary
    frame_kind_: str
    seen_: tuple[Any, Any]

    def _set_data(self, comparisons: Comparisons) -> None:
        """What a model keeps of the comparisons it is fitted to."""
        self.user_vocabulary_, self.item_vocabulary_ = comparisons.user_vocabulary, comparisons.item_vocabulary
        self.frame_kind_ = comparisons.frame_kind
        self.seen_ = seen_items(comparisons)

    # -- what a kind of model says ------------------------------------------------------------------------------

    def _score_codes(self, u: Codes, j: Codes) -> FloatArray:
        """Scores of pairs of codes."""
        raise NotImplementedError

    def _best(self, u: Codes, k: int, excluded: Any) -> tuple[Any, ...]:
        """(query, item, score, rank) of each user's k best items, flat; ``excluded`` is (starts, items) or None."""
        raise NotImplementedError

    def _tensors(self) -> dict[str, Any]:
        """Arrays to save."""
        raise NotImplementedError

    def _about(self) -> dict[str, Any]:
        """What else to save, as JSON."""
        return {}

    def _restore(self, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        """Take over what a file holds; ids are set already. False, or an exception, if its parts do not fit."""
        raise NotImplementedError

    # -- how sure -----------------------------------------------------------------------------------------------

    def _set_calibration(self, slope: float | Callable[[], float]) -> None:
        self._slope = slope

    @property
    def slope_(self) -> float:
        """The slope of probabilities, P(i prefers j to k) = sigma(slope (s_ij - s_ik)).

        Found on comparisons put aside, at its first use (probability, save), at about the cost of another fit.
        """
        if callable(self._slope):
            self._slope = self._slope()
        return self._slope

    def _require_fit(self) -> None:
        if "user_vocabulary_" not in self.__dict__:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(comparisons) first")

    def __getattr__(self, name: str) -> Any:
        # Only reached when an attribute is missing: the attributes of a fit get the sentence, not a bare name.
        if name.endswith("_") and not name.startswith("_") and "user_vocabulary_" not in self.__dict__:
            raise NotFittedError(f"{type(self).__name__} has no {name!r} before fit(comparisons)")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def users_(self) -> Any:
        return self.user_vocabulary_.ids

    @property
    def items_(self) -> Any:
        return self.item_vocabulary_.ids

    # -- scores -------------------------------------------------------------------------------------------------

    def score(self, users: Any, items: Any) -> FloatArray:
        """Scores of pairs: ``users`` and ``items`` are ids or equally long lists of ids (one of them may be single)."""
        u, j = self._user_codes(users), self._item_codes(items)
        u, j = self._pair_up(u, j, "users", "items")
        return self._score_codes(u, j)

    def probability(self, users: Any, left: Any, right: Any) -> FloatArray:
        """Probability that each user prefers ``left`` to ``right``.

        sigma(slope_ * (s_left - s_right)), the slope fitted on held-out training comparisons the first time it is
        needed, at about the cost of another fit.
        """
        u, a, b = self._user_codes(users), self._item_codes(left), self._item_codes(right)
        a, b = self._pair_up(a, b, "left", "right")
        u, a = self._pair_up(u, a, "users", "items")
        b = np.broadcast_to(b, a.shape)
        margin = self._score_codes(u, a) - self._score_codes(u, np.ascontiguousarray(b))
        return np.asarray(sigmoid(self.slope_ * margin), np.float32)

    # -- lists --------------------------------------------------------------------------------------------------

    def rank(self, user: Any) -> Table:
        """All items for one user, best first: columns item, score, rank."""
        u = self._user_codes(user)
        if len(u) != 1:
            raise InputError(f"rank takes one user, not {len(u)}; recommend takes several")
        _, item, score, place = self._best(u, len(self.items_), None)
        return Table({"item": self.items_[item], "score": score, "rank": place}, self.frame_kind_)

    def recommend(self, users: Any, k: int = 10, exclude: Any = None) -> Table:
        """The k best items for each user: columns user, item, score, rank.

        Parameters
        ----------
        users : id or list of ids
        k : int
            At most the number of items. A list is shorter where exclusions leave fewer; it is never padded.
        exclude : None, "seen", Comparisons, or a table with user and item columns
            Items to leave out: none, those in the user's training comparisons, or those given for the user.
        """
        self._require_fit()
        u = self._user_codes(users)
        self._check_k(k, len(self.items_), "items")
        query, item, score, place = self._best(u, k, self._excluded(u, exclude))
        columns = {"user": self.users_[u[query]], "item": self.items_[item], "score": score, "rank": place}
        return Table(columns, self.frame_kind_)

    def _check_k(self, k: Any, most: int, what: str) -> None:
        number("k", k, at_least=1, integer=True)
        if k > most:
            raise InputError(f"k is {k}, but there are only {most} {what}; ask for at most {most}")

    def _excluded(self, u: Codes, exclude: Any) -> Any:
        """(starts, items) of what each of the queried users must not be shown, or None."""
        if exclude is None:
            return None
        if isinstance(exclude, str):
            if exclude != "seen":
                raise InputError(f"exclude is {exclude!r}; it must be None, 'seen', comparisons or a table")
            start, item = self.seen_
        elif isinstance(exclude, Comparisons):
            start, item = seen_items(exclude)
            who = self.user_vocabulary_.codes(exclude.users)
            what = self.item_vocabulary_.codes(exclude.items)
            start, item = _rows(np.repeat(who, np.diff(start)), what[item], len(self.users_))
        else:
            got = frames.columns(exclude, {"user": "user", "item": "item"})
            who = self.user_vocabulary_.codes(as_ids(got["user"], "the user to exclude for"))
            what = self.item_vocabulary_.codes(as_ids(got["item"], "the item to exclude"))
            start, item = _rows(who, what, len(self.users_))
        size = np.diff(start)[u]
        new_start = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
        flat = np.arange(new_start[-1]) - np.repeat(new_start[:-1], size) + np.repeat(start[u], size)
        return new_start, np.ascontiguousarray(item[flat])

    # -- files --------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the model to a file, whole or not at all, with the slope of its probabilities (see ``slope_``, which
        costs about another fit if no probability was asked for yet).

        :func:`rather.load` reads it back.
        """
        from .files import save_model

        self._require_fit()
        save_model(self, path)

    # -- helpers ------------------------------------------------------------------------------------------------

    def _user_codes(self, users: Any) -> Codes:
        self._require_fit()
        return self.user_vocabulary_.known(_as_list(users), self.UNKNOWN_USER)

    def _item_codes(self, items: Any) -> Codes:
        self._require_fit()
        return self.item_vocabulary_.known(_as_list(items), REFIT)

    @staticmethod
    def _pair_up(a: Codes, b: Codes, left: str, right: str) -> tuple[Codes, Codes]:
        if len(a) == len(b):
            return a, b
        if len(a) == 1:
            return np.repeat(a, len(b)), b
        if len(b) == 1:
            return a, np.repeat(b, len(a))
        raise InputError(f"there are {len(a)} {left} and {len(b)} {right}; give equally many, or one of either")


def seen_items(comparisons: Comparisons) -> tuple[Any, Any]:
    """(starts, items): the items each user is known to have met: clicked, rated or compared."""
    source = comparisons.clicks or comparisons.ratings
    if source is not None:
        return row_starts(source.user, comparisons.n_users), source.item
    store = comparisons.store
    return store.start.copy(), store.item.copy()  # copies: a view would keep the whole store alive


def _rows(who: Codes, what: Codes, n_users: int) -> tuple[Any, Any]:
    """Unsorted (user, item) codes as rows, unknown users and items left out."""
    fine = (who >= 0) & (what >= 0)
    who, what = who[fine], what[fine]
    return row_starts(who, n_users), what[np.argsort(who, kind="stable")]


def _as_list(values: Any) -> Any:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return [values]
    return values if hasattr(values, "__array__") else list(values)
