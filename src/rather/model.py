"""What every fitted factor model can do: score, rank, recommend, compare, welcome newcomers, be saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import frames
from .comparisons import Comparisons
from .errors import InputError, NotFittedError, number
from .ids import Codes, Vocabulary, as_ids
from .native import LOSSES, FloatArray, core, factor, threads
from .pairs import row_starts
from .person import Person
from .problem import Problem, Scales, UserRule, sigmoid
from .tables import Table

FOLD_IN = "use fold_in(...) to add a person from a few answers"
REFIT = "items are learned from comparisons: fit again with some that involve it"


class FactorModel:
    """Personal scores s_ij = u_i . v_j + b_j for every user i and item j.

    Attributes
    ----------
    user_factors_ : array of shape (n_users, rank)
    item_factors_ : array of shape (n_items, rank)
    item_bias_ : array of shape (n_items,)
        The global ranking that the personal part deviates from; zeros for a model without bias.
    users_, items_ : arrays
        External ids; row i of ``user_factors_`` belongs to ``users_[i]``.
    """

    n_threads: int | None = None

    # U_ and V_ hold rank columns, the bias (or 0) against 1 in the next, and padding.
    U_: FloatArray
    V_: FloatArray
    rank_: int
    reg_: float
    user_rule_: UserRule
    loss_: str
    frame_kind_: str

    def _set_factors(self, users: Vocabulary, items: Vocabulary, U: FloatArray, V: FloatArray, rank: int) -> None:
        self.user_vocabulary_ = users
        self.item_vocabulary_ = items
        self.U_, self.V_, self.rank_ = U, V, rank

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
        if not hasattr(self, "U_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(comparisons) first")

    def __getattr__(self, name: str) -> Any:
        # Only reached when an attribute is missing: the attributes of a fit get the sentence, not a bare name.
        if name.endswith("_") and not name.startswith("_") and "U_" not in self.__dict__:
            raise NotFittedError(f"{type(self).__name__} has no {name!r} before fit(comparisons)")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def users_(self) -> Any:
        return self.user_vocabulary_.ids

    @property
    def items_(self) -> Any:
        return self.item_vocabulary_.ids

    @property
    def user_factors_(self) -> FloatArray:
        return self.U_[:, : self.rank_]

    @property
    def item_factors_(self) -> FloatArray:
        return self.V_[:, : self.rank_]

    @property
    def item_bias_(self) -> FloatArray:
        return self.V_[:, self.rank_]

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

    def _score_codes(self, u: Codes, j: Codes) -> FloatArray:
        out = np.empty(len(u), np.float32)
        core.score_pairs(self.U_, u, self.V_, j, out, threads(self.n_threads))
        return out

    # -- lists --------------------------------------------------------------------------------------------------

    def rank(self, user: Any) -> Table:
        """All items for one user, best first: columns item, score, rank."""
        u = self._user_codes(user)
        if len(u) != 1:
            raise InputError(f"rank takes one user, not {len(u)}; recommend takes several")
        return self._ranking(self.U_[u])

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
        return self._recommend(self.U_, u, self.user_vocabulary_.ids[u], k, self._excluded(u, exclude))

    def similar_items(self, item: Any, k: int = 10) -> Table:
        """The k items whose factors point most nearly the same way (cosine): columns item, score, rank."""
        j = self._item_codes(item)
        if len(j) != 1:
            raise InputError(f"similar_items takes one item, not {len(j)}")
        unit = factor(len(self.items_), self.rank_ + 1)
        norms = np.sqrt(np.square(self.item_factors_, dtype=np.float64).sum(axis=1))
        unit[:, : self.rank_] = self.item_factors_ / np.maximum(norms, 1e-30)[:, None]
        self._check_k(k, len(self.items_) - 1, "other items")
        table = _best(unit, j, unit, k, (np.array([0, 1], np.int64), j), threads(self.n_threads))
        return Table(
            {"item": self.items_[table[1]], "score": table[2], "rank": table[3]},
            self.frame_kind_,
        )

    def _ranking(self, rows: FloatArray) -> Table:
        _, item, score, place = _best(
            rows, np.zeros(1, np.int32), self.V_, len(self.items_), None, threads(self.n_threads)
        )
        return Table({"item": self.items_[item], "score": score, "rank": place}, self.frame_kind_)

    def _recommend(self, A: FloatArray, rows: Codes, names: Any, k: int, excluded: Any) -> Table:
        self._check_k(k, len(self.items_), "items")
        query, item, score, place = _best(A, rows, self.V_, k, excluded, threads(self.n_threads))
        return Table({"user": names[query], "item": self.items_[item], "score": score, "rank": place}, self.frame_kind_)

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

    # -- newcomers ----------------------------------------------------------------------------------------------

    def fold_in(self, answers: Sequence[tuple[Any, Any]]) -> Person:
        """A newcomer from a few answers, each (winner, loser), without fitting again.

        One convex problem in the newcomer's vector alone, the same as a user has in ``fit``: with the items fixed,
        minimise the loss of the answers plus the user's ridge. No answers give the global ranking.
        """
        self._require_fit()
        if isinstance(answers, str) or not isinstance(answers, Iterable):
            raise InputError(f"the answers are {answers!r}; they must be a list of pairs (winner, loser)")
        pairs = list(answers)
        for n, pair in enumerate(pairs):
            if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
                raise InputError(f"answer {n} is {pair!r}; it must be a pair (winner, loser)")
        flat = self._item_codes([w for w, _ in pairs] + [x for _, x in pairs]) if pairs else np.empty(0, np.int32)
        winner, loser = flat[: len(pairs)].copy(), flat[len(pairs) :].copy()
        same = np.flatnonzero(winner == loser)
        if len(same):
            raise InputError(f"answer {same[0]} compares item {pairs[same[0]][0]!r} with itself")
        return Person(self, self._solve_newcomer(winner, loser), pairs)

    def _solve_newcomer(self, winner: Codes, loser: Codes) -> FloatArray:
        u = factor(1, self.rank_ + 1)
        u[:, self.rank_] = 1.0
        if not len(winner) or not self.rank_:
            return u
        # Only the items that occur matter: number them 0, 1, ... and take their rows of V.
        items, codes = np.unique(np.concatenate((winner, loser)), return_inverse=True)
        codes = codes.reshape(-1).astype(np.int32)
        w, x = codes[: len(winner)].copy(), codes[len(winner) :].copy()
        store = core.store_from_pairs(1, len(items), np.zeros(len(w), np.int32), w, x, None)
        rule, ones = self.user_rule_, np.ones(len(items), np.float32)
        scaled = Scales(rule.ridge_shape(np.array([len(items)])), ones, rule.weight(np.array([len(w)])))
        problem = Problem(store, rank=self.rank_, loss=self.loss_, bias=True, scales=scaled, n_threads=1)
        problem.V[:] = self.V_[items]
        problem.set_reg(self.reg_, 1.0)
        solve_users(problem)
        return problem.U

    # -- files --------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the model to a file, whole or not at all, with the slope of its probabilities.

        :func:`rather.load` reads it back.
        """
        from .files import save_model

        self._require_fit()
        save_model(self, path)

    # -- helpers ------------------------------------------------------------------------------------------------

    def _user_codes(self, users: Any) -> Codes:
        self._require_fit()
        return self.user_vocabulary_.known(_as_list(users), FOLD_IN)

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


def solve_users(problem: Problem) -> None:
    """Solve every user's convex problem to the accuracy of single precision; a hinge by tightening its smoothing."""
    for delta in (2.0**-k for k in range(0, 12, 2)) if problem.loss == LOSSES["hinge"] else (0.0,):
        problem.delta = delta
        problem.user_step(newton_steps=50, cg_steps=max(20, problem.rank), cg_tol=0.01, grad_tol=1e-5)


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


def _best(A: FloatArray, rows: Codes, B: FloatArray, k: int, excluded: Any, n_threads: int) -> tuple[Any, ...]:
    """(query, item, score, rank) of the k best rows of B for each chosen row of A, flat."""
    item, score = np.empty((len(rows), k), np.int32), np.empty((len(rows), k), np.float32)
    start, gone = excluded if excluded is not None else (None, None)
    core.best_items(A, rows, B, k, start, gone, item, score, n_threads)
    query, place = np.nonzero(item >= 0)
    return query, item[query, place], score[query, place], place + 1


def _as_list(values: Any) -> Any:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return [values]
    return values if hasattr(values, "__array__") else list(values)
