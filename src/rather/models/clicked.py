"""Click models, to which new users are added from their clicks: reading the clicks, and the model of these users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from ..data import frames
from ..data.comparisons import Comparisons
from ..data.ids import Codes
from ..data.rows import Clicks, Pairs, is_tied, row_starts
from ..data.votes import Votes
from ..errors import InputError
from ..native import FloatArray
from .answers import NOBODY, column_of, is_answer, is_table, of_people
from .estimator import Estimator
from .exclusions import Rows
from .newcomer import Newcomer
from .scorers import Scorer, in_blocks


class ClickScorer(Scorer):
    """Scores that follow from what each user clicked, ``seen``: a row of every item's at a time."""

    whole_rows = True
    seen: Rows
    n_items: int

    def rows(self, u: Codes, n_threads: int) -> FloatArray:
        """Return what some users' clicks say of every item; a row does not depend on what others are asked for."""
        raise NotImplementedError

    def of_newcomers(self, seen: Rows, said: Comparisons) -> ClickScorer:
        """Return the scores of other users, who clicked other items; they said so, and maybe more."""
        made = copy(self)
        made.seen = seen
        return made

    def scores(self, u: Codes, j: Codes, n_threads: int) -> FloatArray:
        out = np.empty(len(u), np.float32)
        who, at = np.unique(u, return_inverse=True)
        at = at.reshape(-1)
        order = np.argsort(at, kind="stable")
        start = row_starts(at[order].astype(np.int32), len(who))
        for some, rows in in_blocks(who.astype(np.int32), self.n_items):
            mine = order[start[some.start] : start[some.stop]]
            out[mine] = self.rows(rows, n_threads)[at[mine] - some.start, j[mine]]
        return out

    def block(self, u: Codes, items: Codes, n_threads: int) -> FloatArray:
        return self.rows(u, n_threads)[:, items]


class ClickModel(Estimator):
    """Score items from a user's clicks alone, so that new users need no refit."""

    UNKNOWN_USER = "add person by clicks"

    def fold_in(self, answers: Any, features: Any = None, asked: bool = False) -> Newcomer:
        """Add a new user from their clicks, without a refit.

        The model itself does not change. Use :meth:`fold_in_many` for several users.

        Parameters
        ----------
        answers : list of id, list of pair, table or Comparisons
            The items the user clicked. From pairs (winner, loser), the winners count as clicked. A table has a column
            item, or the columns winner and loser. An empty list gives the ranking shared by all users.
        features : None
            Accepted for compatibility with :class:`AltSVM`; features are refused.
        asked : bool, default False
            Accepted for compatibility with :class:`AltSVM`; it makes no difference here.

        Returns
        -------
        Newcomer
            The new user, with scores, rankings and recommendations.

        Raises
        ------
        InputError
            If an item is not in the model, or the answers are those of several users.

        See Also
        --------
        ClickRanker.fold_in_many : Add several new users at once.

        Examples
        --------
        >>> import rather
        >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
        >>> model = rather.ClickRanker(rank=2).fit(rather.Comparisons.from_clicks(clicks))
        >>> model.fold_in(["beer"]).recommend(k=1, exclude="seen")["item"].tolist()
        ['cola']
        """
        now = copy(self)
        said = _of_one(answers, now.fitted.names)
        if said.n_users != 1:
            raise InputError(
                f"these are of {said.n_users:,} users; fold_in takes one person's clicks, fold_in_many takes several's"
            )
        return Newcomer(now.fold_in_many(said, features))

    def fold_in_many(self, answers: Any, features: Any = None) -> Any:
        """Add several new users from their clicks, without a refit.

        Parameters
        ----------
        answers : table or Comparisons
            A table with columns user and item, a row for each click, or with columns user, winner and loser.
        features : None
            Accepted for compatibility with :class:`AltSVM`; features are refused.

        Returns
        -------
        Estimator
            A model of the same class and items, whose users are the new users. It can be asked and saved like any
            model.

        Raises
        ------
        InputError
            If an item is not in the model.

        See Also
        --------
        ClickRanker.fold_in : Add one new user.

        Examples
        --------
        >>> import rather
        >>> clicks = {"user": ["ann", "ann", "bob", "bob", "cat"], "item": ["tea", "milk", "cola", "beer", "tea"]}
        >>> model = rather.ClickRanker(rank=2).fit(rather.Comparisons.from_clicks(clicks))
        >>> new = model.fold_in_many({"user": ["dan", "eve"], "item": ["beer", "tea"]})
        >>> new.recommend(["dan", "eve"], k=1, exclude="seen")["item"].tolist()
        ['cola', 'milk']
        """
        return copy(self)._folded_in_many(answers, features)

    def _folded_in_many(self, answers: Any, features: Any) -> Any:
        fitted = self.fitted
        if features is not None:
            self._check_features("features are")
        said = _of_many(answers, fitted.names)
        seen, scorer = self._clicked(said), fitted.scorer
        assert isinstance(scorer, ClickScorer)
        joined = replace(
            fitted, users=said.user_vocabulary, seen=seen, frame_kind=said.frame_kind,
            names={**fitted.names, **said.names}, parent=fitted, scorer=scorer.of_newcomers(seen, said),
        )  # fmt: skip
        return self._with(joined)

    def _clicked(self, said: Comparisons) -> Rows:
        """Return the items that users clicked or preferred, as rows of codes without repetition."""
        if said.clicks is not None:
            user, item = said.clicks.user, said.clicks.item
        else:
            pairs = said.pairs()
            decided = ~is_tied(pairs)
            user, item = pairs.user[decided], pairs.winner[decided]
        n = len(self.fitted.items)
        codes = self._item_codes(said.items[item]) if len(item) else np.empty(0, np.int32)
        both = np.unique(user.astype(np.int64) * n + codes)
        return row_starts(both // n, said.n_users), (both % n).astype(np.int32)


def require_clicks(comparisons: Comparisons, who: str) -> Clicks:
    """Return the clicks behind comparisons; refuse other comparisons."""
    if comparisons.clicks is None:
        raise InputError(
            f"{who} needs clicks behind the comparisons, and these have none", remedy="clicks or another model"
        )
    return comparisons.clicks


def _of_one(answers: Any, names: Mapping[str, str]) -> Comparisons:
    """Return the answers of one new user as comparisons."""
    if isinstance(answers, Comparisons):
        return answers
    if is_table(answers):
        present = frames.names_in(answers)
        if column_of("user", names, present) in present:
            return _of_many(answers, names)
        roles = {role: column_of(role, names, present) for role in ("item", "winner", "loser", "tie")}
        there = {role: name for role, name in roles.items() if name in present} or {"item": roles["item"]}
        got = frames.columns(answers, there)
        return _of_many({"user": [NOBODY] * len(next(iter(got.values()))), **got}, {})
    if isinstance(answers, str) or not isinstance(answers, Iterable):
        raise InputError(f"the answers are {answers!r}; they must be a list of items, or of pairs (winner, loser)")
    given = [one.tolist() if isinstance(one, np.ndarray) else one for one in answers]
    if not given:
        none = np.empty(0, np.int32)
        return Comparisons(np.array([NOBODY], object), np.empty(0, object), Votes(1, 0, Pairs(none, none, none)))
    pairs = [isinstance(one, Sequence) and not isinstance(one, str) for one in given]
    if not any(pairs):
        return _of_many({"user": [NOBODY] * len(given), "item": given}, {})
    odd = next((n for n, one in enumerate(given) if not pairs[n] or not is_answer(one)), None)
    if odd is not None:
        raise InputError(f"answer {odd} is {given[odd]!r}; they must be all items, or all pairs (winner, loser)")
    winner, loser, tie = ([one[0] for one in given], [one[1] for one in given], [len(one) == 3 for one in given])
    return _of_many({"user": [NOBODY] * len(given), "winner": winner, "loser": loser, "tie": tie}, {})


def _of_many(answers: Any, names: Mapping[str, str]) -> Comparisons:
    """Return the answers of several new users: comparisons, or a table of clicks or votes."""
    present = frames.names_in(answers) if is_table(answers) else []
    own: dict[str, Any] = {role: column_of(role, names, present) for role in ("user", "item")}
    if own["item"] not in present:
        return of_people(answers, names, ())
    return Comparisons.from_clicks(answers, **own, allow_empty=True)
