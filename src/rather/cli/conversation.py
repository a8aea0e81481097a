"""The questions and answers of one person in ``rather ask``, as steps; the state follows from them, and undo drops one.

A reply is one of left, right, tie, undo, quit, and unseen with left, right or both.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict
from typing import Any, NamedTuple

from ..asking import Question, next_question, pairs_left, top_certainty
from .answer import Document, choices
from .asked import known_of
from .ids import typed

SETTLED, MOST = 3, 100  # items; answers within which it is told how many more it takes
WORDS = {
    "left": ("1", "l", "left"), "right": ("2", "r", "right"), "both": ("b", "both", "12", "1 2", "1 and 2"),
    "tie": ("t", "tie"), "undo": ("u", "undo"), "quit": ("q", "quit"),
}  # fmt: skip
MEANT = {word: meant for meant, words in WORDS.items() for word in words}
UNSEEN = "unseen"
WHAT = "no answer; type 1 or left, 2 or right, t or tie, x or unseen, u or undo, q or quit"
WHICH = "none of the two; type x 1, x 2 or x both (or unseen left, right, both)"


def meant(line: str) -> str:
    """A line as a reply; what is none stays as it is."""
    said = " ".join(line.lower().split())
    unseen = re.fullmatch(rf"(?:x|{UNSEEN}) ?(.*)", said)
    if unseen:
        return f"{UNSEEN} {MEANT.get(unseen[1], unseen[1])}".rstrip()
    return MEANT.get(said, said)


class Step(NamedTuple):
    """An answer, or items that the person has not seen."""

    answer: tuple[Any, ...] | None
    unseen: tuple[Any, ...] = ()


class News(NamedTuple):
    """The result of a reply: a sentence, whether it was refused, and whether the list may have changed."""

    sentence: str = ""
    refused: bool = False
    changed: bool = False


class Conversation:
    """A person, and what they have said so far; ``names`` are what to call items."""

    def __init__(self, model: Any, options: argparse.Namespace, names: dict[Any, str]) -> None:
        self.model, self.options, self.names = model, options, names
        self.features, given = known_of(options), options.candidates
        self.candidates = None if given is None else [typed(model, "item", text) for text in given]
        self.steps: list[Step] = []

    @property
    def answers(self) -> list[tuple[Any, ...]]:
        return [step.answer for step in self.steps if step.answer is not None]

    @property
    def unseen(self) -> list[Any]:
        return [item for step in self.steps for item in step.unseen]

    def called(self, *items: Any) -> str:
        return " and ".join(self.names.get(item, str(item)) for item in items)

    def question(self) -> Question:
        how = {name: getattr(self.options, name) for name in ("aim", "explore", "seed")}
        how["prefer_familiar"] = self.options.familiar
        return next_question(self.model, self._person(), self.candidates, self.unseen, **how)

    def standing(self) -> tuple[Document, list[Any]]:
        """Return the present results for the document, and all items in order."""
        person, n = self._person(), len(self.model.items_)
        ranked = person.rank(interval=self.options.interval, top=min(self.options.top, n))
        left = pairs_left(self.model, person, self.candidates, self.unseen)
        certainty = asdict(top_certainty(self.model, person, min(SETTLED, n), most=min(MOST, left))) | {"left": left}
        about = {"answered": len(self.answers), "unseen": self.unseen, **choices(ranked)}
        rows = [self._row(row) for row in ranked[: self.options.top]]
        return {**about, "of": n, "ranking": rows, "top_certainty": certainty}, ranked["item"].tolist()

    def _row(self, row: Any) -> Document:
        told = {name: getattr(row, name) for name in ("rank", "item", "score", "best", "worst", "p_top")}
        return told | ({"title": self.called(row.item)} if self.names else {})

    def take(self, question: Question, reply: str) -> News:
        """Apply a reply to a question."""
        left, right = question.left, question.right
        answers = {"left": (left, right), "right": (right, left), "tie": (left, right, "tie")}
        unseen = {"left": (left,), "right": (right,), "both": (left, right)}
        what, _, which = reply.partition(" ")
        if reply == "undo":
            return self._undo()
        if reply in answers:
            self.steps.append(Step(answers[reply]))
            return News(changed=True)
        if what != UNSEEN:
            return News(WHAT, refused=True)
        if which not in unseen:
            return News(WHICH, refused=True)
        self.steps.append(Step(None, unseen[which]))
        return News(f"not to be asked about again: {self.called(*unseen[which])}")

    def _undo(self) -> News:
        if not self.steps:
            return News("there is nothing to undo", refused=True)
        answer, unseen = self.steps.pop()
        if answer is None:
            return News(f"undone; may be asked about again: {self.called(*unseen)}")
        return News("undone: your last answer", changed=True)

    def _person(self) -> Any:
        return self.model.fold_in(self.answers, features=self.features, asked=True)
