"""What every fitted model can do: score, rank, recommend, say how sure it is, be saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..data.comparisons import Comparisons
from ..data.ids import Codes, Ids, Vocabulary, as_ids, read_only
from ..data.rows import Pairs
from ..data.source import Source
from ..data.tables import Table
from ..errors import InputError, NotFittedError, number, one_of
from ..native import FloatArray, threads
from .calibration import Calibration, Slope, by_twins
from .exclusions import Rows, exclusions, is_in, select
from .files import save_model
from .lists import best_of_all, best_scores
from .state import Stateful, of_one_moment
from .unknown import check_unknown, left_out

REFIT = "items are learned from comparisons: fit again with some that involve it"
EVERYONE: Any = object()
BLOCK = 2**22  # scores at a time in lists


class Model(Stateful):
    """Personal scores for every user and item, whatever they are made of.

    A kind of model says how it scores pairs of codes, in ``score_codes``; lists, probabilities and metrics follow. One
    that can be saved says what a file must hold of it, in ``_tensors``, ``_about`` and ``_restore``. In ``fit`` it
    calls ``_set_data(comparisons)``.

    Attributes
    ----------
    users_, items_ : arrays
        External ids, which cannot be written to; a code is a position in them.
    slope_ : float or None
        Of probabilities, once :meth:`calibrate` or :meth:`probability` has found it.
    """

    UNKNOWN_USER = "fit again with some of their answers"
    n_threads: int | None = None
    seed: int = 0
    whole_rows = False  # whether scores of some items take those of all

    user_vocabulary_: Vocabulary
    item_vocabulary_: Vocabulary
    frame_kind_: str
    names_: dict[str, str]
    seen_: Rows
    _slope: Slope
    _fitted_to: Comparisons | None

    def _set_data(self, comparisons: Comparisons) -> None:
        """What a model keeps of the comparisons it is fitted to."""
        self.user_vocabulary_, self.item_vocabulary_ = comparisons.user_vocabulary, comparisons.item_vocabulary
        self.frame_kind_, self.names_ = comparisons.frame_kind, comparisons.names
        self.seen_ = comparisons.source.met()
        self._fitted_to, self._slope = comparisons, Slope()

    # -- what a kind of model says ------------------------------------------------------------------------------

    def score_codes(self, u: Codes, j: Codes) -> FloatArray:
        """Scores of pairs of codes."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it scores: it needs score_codes(u, j)")

    @of_one_moment
    def everyone(self) -> FloatArray:
        """Everybody's score of every item: the ranking of someone nothing is known about. Here, the users' mean."""
        self._require_fit()
        total, items = np.zeros(len(self.items_)), np.arange(len(self.items_), dtype=np.int32)
        for _, u in self._in_blocks(np.arange(len(self.users_), dtype=np.int32)):
            total += self._score_block(u, items).sum(axis=0)
        return np.asarray(total / len(self.users_), np.float32)

    def _score_block(self, u: Codes, items: Codes) -> FloatArray:
        """Scores of some items (columns) for some users (rows): those of ``score_codes``."""
        return self.score_codes(np.repeat(u, len(items)), np.tile(items, len(u))).reshape(len(u), len(items))

    def _in_blocks(self, u: Codes, width: int | None = None) -> Iterator[tuple[slice, Codes]]:
        """Users cut so that a block of their scores of all items (or of so many) is not large; at least one block."""
        size = max(1, BLOCK // max(len(self.items_) if width is None else width, 1))
        for first in range(0, max(len(u), 1), size):
            some = slice(first, min(first + size, len(u)))
            yield some, u[some]

    def _best(self, u: Codes, k: int, excluded: Rows | None, items: Codes) -> tuple[Any, ...]:
        """(query, item, score, rank) of each user's k best of some items (in order), flat, none of those excluded."""
        parts = []
        for some, rows in self._in_blocks(u, None if self.whole_rows else len(items)):
            gone = None if excluded is None else select(excluded, np.arange(some.start, some.stop, dtype=np.int32))
            query, *rest = best_scores(self._score_block(rows, items), k, gone, items, threads(self.n_threads))
            parts.append((query + some.start, *rest))
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    def _best_shown(self, u: Codes, k: int, excluded: Rows | None, items: Codes) -> tuple[Any, ...]:
        """The same of what to show, which may be more than a matter of scores."""
        return self._best(u, k, excluded, items)

    def _everyone_shown(self) -> FloatArray:
        """The scores by which someone nothing is known about is shown items."""
        return self.everyone()

    def _tensors(self) -> dict[str, Any]:
        """Arrays to save."""
        raise InputError(f"{type(self).__name__} does not say what a file must hold of it, and cannot be saved")

    def _about(self) -> dict[str, Any]:
        """What else to save, as JSON."""
        return {"reg": self.reg_} if "reg_" in self.__dict__ else {}

    def _restore(self, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        """Take over what a file holds; ids are set already. False, or an exception, if its parts do not fit."""
        if "reg" in about:
            self.reg_ = float(about["reg"])
            return 0 < self.reg_ < np.inf
        return True

    # -- state --------------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        """The state that a fit has come to, with copies of what its next round will change and a slope of its own."""
        return {**self.__dict__, "_slope": Slope(self._slope.found, self._slope.own)}

    def _is_fitted(self) -> bool:
        return "user_vocabulary_" in self.__dict__

    def _require_fit(self) -> None:
        if not self._is_fitted():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(comparisons) first")

    def __getattr__(self, name: str) -> Any:
        # Only reached when an attribute is missing: the attributes of a fit get the sentence, not a bare name.
        if name.endswith("_") and not name.startswith("_") and "user_vocabulary_" not in self.__dict__:
            raise NotFittedError(f"{type(self).__name__} has no {name!r} before fit(comparisons)")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def slope_(self) -> float | None:
        found = self._slope.found
        return None if found is None else found.slope

    @property
    def users_(self) -> Ids:
        return read_only(self.user_vocabulary_.ids)

    @property
    def items_(self) -> Ids:
        return read_only(self.item_vocabulary_.ids)

    # -- scores -------------------------------------------------------------------------------------------------

    @of_one_moment
    def score(self, users: Any, items: Any) -> FloatArray:
        """Scores of pairs: ``users`` and ``items`` are ids or equally long lists of ids (one of them may be single)."""
        u, j = self._user_codes(users), self._item_codes(items)
        u, j = self._pair_up(u, j, "users", "items")
        return self.score_codes(u, j)

    @of_one_moment
    def score_any(self, u: Codes, j: Codes) -> FloatArray:
        """Scores of pairs of codes of which some are -1: unknown users rank like everyone, unknown items score 0."""
        out, known = np.zeros(len(u), np.float32), (u >= 0) & (j >= 0)
        if known.all():
            return self.score_codes(u, j)
        out[known] = self.score_codes(u[known], j[known])
        strangers = (u < 0) & (j >= 0)
        if strangers.any():
            out[strangers] = self.everyone()[j[strangers]]
        return out

    def calibrate(self) -> Any:
        """Find how sure to be, on comparisons put aside: costs about as much as another fit (of few answers, ten).

        Nothing is done where it is known: a fit that chose its regularisation on held-out answers found it then, and
        :meth:`probability` does where nobody else did. A file holds what was found before ``save``.
        """
        self._require_fit()
        now = self._frozen()
        if now._slope.found is not None:
            return self
        if now._fitted_to is None:
            raise InputError(
                "this model was saved before its probabilities were calibrated, and calibrating needs the comparisons "
                "it was fitted to; fit it again, call calibrate(), and save it then"
            )
        found = now._found_calibration(now._fitted_to)
        now._slope.own = now._reluctance(now._fitted_to, found)
        now._slope.found = found  # last: who finds it, finds all
        return self

    def _found_calibration(self, comparisons: Comparisons) -> Calibration:
        """From twins fitted to what is left when some is put aside."""
        return by_twins(self._twin(), comparisons, self._models_ties(comparisons.source))

    def _margins(self, pairs: Pairs) -> Any:
        """By how much the winners of comparisons are ahead."""
        return self.score_codes(pairs.user, pairs.winner) - self.score_codes(pairs.user, pairs.loser)

    def _models_ties(self, source: Source) -> bool:
        """Whether ties are outcomes of their own."""
        return False

    def _reluctance(self, comparisons: Comparisons, found: Calibration) -> FloatArray | None:
        """Each user's factor of reluctance to decide, where ties are outcomes of their own."""
        return None

    def _twin(self) -> Any:
        """The same model, not fitted yet."""
        raise InputError(f"{type(self).__name__} cannot be fitted to other data, which calibrating takes")

    def probability(self, users: Any, left: Any, right: Any) -> FloatArray:
        """Probability that each user prefers ``left`` to ``right``: sigma(a (s_left - s_right)).

        The slope a is ``slope_`` for a typical user who has met both items; it depends on how many items a user is
        known to have met and on how many of the two are new to them (docs/mathematics.md), as held-out training
        comparisons say. Where the fit did not find it, the first call does; see :meth:`calibrate`.
        """
        now = self._calibrated()
        u, a, b = now._asked(users, left, right)
        margin = now.score_codes(u, a) - now.score_codes(u, b)
        unmet = sum(~is_in(now.seen_, u, item) for item in (a, b))
        found: Calibration = now._slope.found
        return found.probability(margin, np.diff(now.seen_[0])[u], unmet)

    def _asked(self, users: Any, left: Any, right: Any) -> tuple[Codes, Codes, Codes]:
        """Codes of equal length of users and pairs of items."""
        u, a, b = self._user_codes(users), self._item_codes(left), self._item_codes(right)
        a, b = self._pair_up(a, b, "left", "right")
        u, a = self._pair_up(u, a, "users", "items")
        return u, a, np.ascontiguousarray(np.broadcast_to(b, a.shape))

    def _calibrated(self) -> Any:
        """The model as it is now, calibrated."""
        self._require_fit()
        now = self._frozen()
        if now.slope_ is None:
            now.calibrate()
        return now

    # -- lists --------------------------------------------------------------------------------------------------

    @of_one_moment
    def rank(self, user: Any = EVERYONE, items: Any = None) -> Table:
        """All items for one user, best first: columns item, score, rank.

        Parameters
        ----------
        user : id, optional
            Nobody in particular by default: everybody's ranking, that of someone nothing is known about.
        items : list of ids, optional
            Rank only these.
        """
        self._require_fit()
        among = self._candidates(items)
        if user is EVERYONE:
            _, item, score, place = best_of_all(self.everyone(), 1, len(among), None, among)
        else:
            u = self._user_codes(user)
            if len(u) != 1:
                raise InputError(f"rank takes one user, not {len(u)}; recommend takes several")
            _, item, score, place = self._best(u, len(among), None, among)
        return self._table({"item": self.items_[item], "score": score, "rank": place})

    @of_one_moment
    def recommend(
        self,
        users: Any,
        k: int | None = None,
        exclude: Any = None,
        items: Any = None,
        unknown: str = "error",
        by: str = "interest",
    ) -> Table:
        """The k best items to show each user: columns user, item, score, rank.

        Parameters
        ----------
        users : id or list of ids
        k : int, optional
            At most the number of items; 10 by default, or all where there are fewer. A list is shorter where exclusions
            leave fewer; it is never padded.
        exclude : None, "seen", list of items, Comparisons, or a table with user and item columns
            Items to leave out: none, those in the user's training comparisons, some for everybody, or those given for
            the user.
        items : list of ids, optional
            Recommend only from these.
        unknown : {"error", "everyone", "skip"}
            What users that the model does not know get: an error, everybody's ranking, or no list (and a warning says
            how many).
        by : {"interest", "score"}
            "interest": where the model learned it (from ratings that people chose to give), what they would take up and
            like, best first; the column score is then the sum of both, in standard deviations. Everywhere else, and
            with "score", lists are in the order of :meth:`score`: what they would rather have, if they had met it all.
        """
        self._require_fit()
        check_unknown(unknown)
        one_of("by", by, ("interest", "score"))
        asked = as_ids(as_list(users), "the list of users")
        u = self.user_vocabulary_.codes(asked)
        if unknown == "error":
            self.user_vocabulary_.known(asked, self.UNKNOWN_USER)
        elif unknown == "skip" and (u < 0).any():
            left_out(int((u < 0).sum()), len(u), "users")
            asked, u = asked[u >= 0], u[u >= 0]
        among = self._candidates(items)
        k = self._checked_k(k, len(among), "items")
        excluded, among = exclusions(
            exclude, asked, among, people=self.user_vocabulary_, items=self.item_vocabulary_,
            seen=lambda: select(self.seen_, u), names=self.names_,
        )  # fmt: skip
        query, item, score, place = self._best_any(u, k, excluded, among, by)
        columns = {"user": asked[query], "item": self.items_[item], "score": score, "rank": place}
        return self._table(columns, **self._scale(by))

    def _scale(self, by: str) -> dict[str, str]:
        """Return the scale of the scores in lists, where it is not that of ``score``."""
        return {}

    def _best_any(self, u: Codes, k: int, excluded: Rows | None, items: Codes, by: str = "interest") -> tuple[Any, ...]:
        """The same as ``_best`` or ``_best_shown`` where some users may be unknown (-1)."""
        best = self._best_shown if by == "interest" else self._best
        if (u >= 0).all():
            return best(u, k, excluded, items)
        known, strangers = (np.flatnonzero(mask).astype(np.int32) for mask in (u >= 0, u < 0))
        own = [None if excluded is None else select(excluded, rows) for rows in (known, strangers)]
        scores = self._everyone_shown() if by == "interest" else self.everyone()
        found = best(u[known], k, own[0], items), best_of_all(scores, len(strangers), k, own[1], items)
        parts = ((rows[query], *rest) for rows, (query, *rest) in zip((known, strangers), found, strict=True))
        joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(joined[0], kind="stable")
        return tuple(column[order] for column in joined)

    def _candidates(self, items: Any) -> Codes:
        """Codes of the items to choose from, in order."""
        if items is None:
            return np.arange(len(self.items_), dtype=np.int32)
        codes = np.unique(self._item_codes(items))
        if not len(codes):
            raise InputError("the list of items is empty; name some, or leave it out for all")
        return codes

    def _checked_k(self, k: Any, most: int, what: str) -> int:
        """How long a list shall be: 10, or as many as there are, where nothing is said."""
        if k is None:
            return min(10, most)
        number("k", k, at_least=1, integer=True)
        if k > most:
            raise InputError(f"k is {k}, but there are only {most} {what}; ask for at most {most}")
        return int(k)

    def _table(self, columns: dict[str, Any], **about: Any) -> Table:
        """Return a result in the caller's kind of frame, with the caller's names of columns and the choices made."""
        named = {self.names_.get(role, role): column for role, column in columns.items()}
        return Table(named, self.frame_kind_, about)

    # -- files --------------------------------------------------------------------------------------------------

    @of_one_moment
    def save(self, path: str | Path, comparisons: bool = True) -> None:
        """Write the model to a file, whole or not at all. :func:`rather.load` reads it back.

        The same model gives the same bytes. A file that was written after :meth:`calibrate` has probabilities at once.

        Parameters
        ----------
        path : path
        comparisons : bool
            Whether the file also holds the comparisons that the model was fitted to, which are everybody's answers. The
            loaded model needs them for intervals of users, effects, :meth:`AltSVM.update` and
            :meth:`AltSVM.certificate`. A model that was loaded without them, or is of newcomers, is saved without them.
        """
        self._require_fit()
        if not hasattr(self, "get_params"):
            raise InputError(f"{type(self).__name__} is no estimator: a file could not say how to make it again")
        save_model(self, path, comparisons)

    # -- helpers ------------------------------------------------------------------------------------------------

    def _user_codes(self, users: Any) -> Codes:
        self._require_fit()
        return self.user_vocabulary_.known(as_list(users), self.UNKNOWN_USER)

    def _item_codes(self, items: Any) -> Codes:
        self._require_fit()
        return self.item_vocabulary_.known(as_list(items), REFIT)

    @staticmethod
    def _pair_up(a: Codes, b: Codes, left: str, right: str) -> tuple[Codes, Codes]:
        if len(a) == len(b):
            return a, b
        if len(a) == 1:
            return np.repeat(a, len(b)), b
        if len(b) == 1:
            return a, np.repeat(b, len(a))
        raise InputError(f"there are {len(a)} {left} and {len(b)} {right}; give equally many, or one of either")


def as_list(values: Any) -> Any:
    """Ids as given, one alone as a list."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return [values]
    return values if hasattr(values, "__array__") else list(values)
