"""The clicks behind comparisons; and newcomers who are known by what they clicked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..data import frames
from ..data.comparisons import Comparisons
from ..data.ids import Vocabulary
from ..data.rows import Clicks, is_tied
from ..data.tables import Table
from ..errors import InputError
from ..models.answers import NOBODY, check_answers, column_of, is_answer, is_table, of_people, votes_of_one
from ..models.exclusions import for_one_person
from ..native import FloatArray


def require_clicks(comparisons: Comparisons, who: str) -> Clicks:
    """What comparisons stand for; those that do not stand for clicks are refused."""
    if comparisons.clicks is None:
        raise InputError(
            f"{who} needs clicks behind the comparisons, and these have none; make them with "
            "Comparisons.from_clicks, or fit AltSVM, BPR or SGD, which take any comparisons"
        )
    return comparisons.clicks


class Clicker:
    """Made by ``fold_in`` of a model.

    Attributes
    ----------
    answers : list of items or of pairs (winner, loser), as they were given
    """

    VOCABULARY = Vocabulary(np.array([NOBODY], dtype=object), "user")

    def __init__(self, model: Any, answers: list[Any]) -> None:
        self.model, self.answers = model, answers  # the model has this person as its only user

    def __repr__(self) -> str:
        return f"Clicker: {len(self.answers)} answers"

    def score(self, items: Any) -> FloatArray:
        """Scores of items."""
        out: FloatArray = self.model.score(NOBODY, items)
        return out

    def rank(self, items: Any = None) -> Table:
        """All items, or only some, best first: columns item, score, rank."""
        made: Table = self.model.rank(NOBODY, items)
        return made

    def recommend(self, k: int | None = None, exclude: Any = None, items: Any = None, by: str = "interest") -> Table:
        """The k best items to show (10 by default), or of ``items``: columns item, score, rank.

        ``exclude`` are items to leave out (a list or a table of items), or "seen": those that were clicked.
        """
        listed = self.model.recommend(NOBODY, k, for_one_person(exclude, self.model.names_), items, by=by)
        named = self.model.names_.get("user", "user")
        return Table({name: column for name, column in listed.columns.items() if name != named}, self.model.frame_kind_)

    def probability(self, left: Any, right: Any) -> float:
        """Probability of preferring ``left`` to ``right``."""
        found = self.model.probability(NOBODY, left, right)
        if len(found) != 1:
            raise InputError(f"probability compares one item with one, not {len(found)} pairs")
        return float(found[0])


def clicks_of_one(answers: Any, names: Mapping[str, str]) -> tuple[list[Any], list[Any]]:
    """What one newcomer clicked, or preferred; and the answers as they were given."""
    if is_table(answers):
        present = frames.names_in(answers)
        check_answers(answers, "the table", column_of("user", names, present))
        item = column_of("item", names, present)
        if item in present:
            answers = list(frames.columns(answers, {"item": item})["item"])
        else:
            answers = votes_of_one(answers, names, ())
    if isinstance(answers, Comparisons):
        if answers.n_users != 1:
            raise InputError(
                f"the comparisons are those of {answers.n_users:,} users; fold_in takes one person's, fold_in_many "
                "takes several"
            )
        if answers.clicks is not None:
            answers = answers.items[answers.clicks.item].tolist()
        else:
            pairs = answers.pairs()
            sides = (answers.items[side[~is_tied(pairs)]].tolist() for side in (pairs.winner, pairs.loser))
            answers = list(zip(*sides, strict=True))
    if isinstance(answers, str) or not isinstance(answers, Iterable):
        raise InputError(f"the answers are {answers!r}; they must be a list of items, or of pairs (winner, loser)")
    said = [one.tolist() if isinstance(one, np.ndarray) else one for one in answers]
    clicked = []
    for n, one in enumerate(said):
        if isinstance(one, str) or not isinstance(one, Sequence):
            clicked.append(one)
        elif not is_answer(one):
            raise InputError(f"answer {n} is {one!r}; it must be an item, or a pair (winner, loser)")
        elif len(one) == 2:
            clicked.append(one[0])
    return clicked, said


def clicks_of_people(answers: Any, names: Mapping[str, str]) -> tuple[Comparisons, Clicks]:
    """What several newcomers said, and what of it they clicked or preferred."""
    present = frames.names_in(answers) if is_table(answers) else []
    own = {role: column_of(role, names, present) for role in ("user", "item")}
    if own["item"] in present:
        said = Comparisons.from_clicks(answers, **own, unseen=1, more=True)  # type: ignore[arg-type]
    else:
        said = of_people(answers, names, ())
    if said.clicks is not None:
        return said, said.clicks
    pairs = said.pairs()
    decided = ~is_tied(pairs)
    return said, Clicks(pairs.user[decided], pairs.winner[decided])
