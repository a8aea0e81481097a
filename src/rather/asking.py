"""What to ask a person next: the pair whose answer says most of their taste, and how many answers settle the top.

What an answer is worth is in ``models.information``.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from .data.ids import Codes
from .data.tables import Table
from .errors import InputError, number, one_of
from .models.belief import Belief
from .models.information import AIMS, pick, settling, sheet
from .models.person import Person

CANDIDATES = 400  # items, those that most people met
MOST_TOP = 50  # that may be settled
LEAST = 1e-12  # of the squares of tastes, in log-odds, that anyone can have


@dataclass(frozen=True)
class Question:
    """A pair of items to ask a person about.

    ``probability`` is that of preferring ``left``, ``information`` what the answer is expected to say of the person's
    taste, in bits; ``policy`` is how the pair was chosen ("everything", "top" or "random") and ``propensity`` with what
    probability among all that could be asked: what an honest evaluation weighs answers by.
    """

    left: Any
    right: Any
    probability: float
    information: float
    policy: str
    propensity: float


@dataclass(frozen=True)
class TopCertainty:
    """``share`` of the first ``top`` of a ranking is expected to belong there; ``more`` answers to well-chosen
    questions are expected to bring that to ``sure`` (None: neither ``most`` of them nor all pairs left do)."""

    top: int
    share: float
    target: float
    more_answers: int | None


def next_question(
    model: Any,
    person: Any = None,
    candidates: Any = None,
    unknown: Any = (),
    aim: str = "everything",
    explore: float = 0.0,
    n_best: int = 1,
    prefer_familiar: bool = False,
    seed: int = 0,
) -> Question:
    """The pair that a person's answer to is worth most.

    Parameters
    ----------
    model : a fitted AltSVM or Convex
    person : Person or user id, optional
        Of ``model.fold_in(answers, asked=True)``; someone who has not said anything by default.
    candidates : list of items, optional
        What may be asked about: the 400 items that most people met by default, for these are known to most.
    unknown : list of items
        What the person does not know: it is not asked about. Neither is a pair that they have answered.
    aim : {"everything", "top"}
        To learn the whole taste, or which items are the best.
    explore : float
        With this probability a pair at random instead, so that some answers are as if nobody had chosen the questions.
    n_best : int
        One at random of so many best pairs, for variety.
    prefer_familiar : bool
        Prefer pairs of which both items are known to many: an answer's worth counts as often as someone met one, times
        as often as someone met the other. For people who may not know what they are asked about.
    seed : int
        The same seed asks the same person the same.
    """
    one_of("aim", aim, AIMS)
    if not isinstance(prefer_familiar, bool):
        raise InputError(f"prefer_familiar is {prefer_familiar!r}; it must be True or False")
    number("explore", explore, at_least=0.0, at_most=1.0)
    number("n_best", n_best, at_least=1, integer=True)
    number("seed", seed, at_least=0, integer=True)
    now, belief, asked = known_of(model, person)
    items = _candidates(now, candidates, unknown)
    if not np.square(belief.Z).sum() > LEAST:
        raise InputError("no answer would tell of a taste: all people that the model knows are alike, or there is one")
    rng = np.random.default_rng([int(seed), len(asked)])
    known = now._crowd().count[items] if prefer_familiar else None
    made = pick(belief, items, asked, rng, aim, explore, int(n_best), known)
    if made is None:
        raise InputError("there is no pair left to ask: all candidates are answered, or fewer than two are known")
    left, right = (x.item() if hasattr(x, "item") else x for x in now.items_[[made.left, made.right]])
    return Question(left, right, made.probability, made.information, made.policy, made.chance)


def questionnaire(model: Any, n: int, candidates: Any = None, each: int = 2) -> Table:
    """The same n pairs for everybody, for people with paper: columns question, left, right, information.

    Each pair says most of a typical newcomer's taste, given that those before it will be answered; no item is in more
    than ``each`` of them.
    """
    number("n", n, at_least=1, integer=True)
    number("each", each, at_least=1, integer=True)
    now, belief, _ = known_of(model, None)
    items = _candidates(now, candidates, ())
    rows = sheet(belief, items, n, each)
    if len(rows) < n:
        raise InputError(
            f"n is {n}, but {len(items)} candidates make no more than {len(rows)} questions with each item in at most "
            f"{each}; ask for fewer, or name more candidates"
        )
    left, right, bits = (np.array(column) for column in zip(*rows, strict=True))
    ids, number_of = now.items_[items], np.arange(1, n + 1)
    made: Table = now._table({"question": number_of, "left": ids[left], "right": ids[right], "information": bits})
    return made


def top_certainty(
    model: Any,
    person: Any = None,
    top: int = 3,
    target: float = 0.8,
    most: int = 100,
    items: Any = None,
    seed: int = 0,
) -> TopCertainty:
    """How much of a person's top is settled, and how many more answers are expected to settle it.

    The top is that of ``items``, by default the 400 that most people met: of others nobody knows enough.

    By simulation: what is known is narrowed down by the answers to one well-chosen question after the other, among the
    60 items that may be at the top.
    """
    number("target", target, above=0.0, below=1.0)
    number("most", most, at_least=1, integer=True)
    number("seed", seed, at_least=0, integer=True)
    now, belief, _ = known_of(model, person)
    every = now._candidates(items) if items is not None else _candidates(now, None, ())
    number("top", top, at_least=1, at_most=min(len(every), MOST_TOP), integer=True)
    share, more = settling(belief, every, int(top), target, int(most), int(seed))
    return TopCertainty(int(top), share, float(target), more)


# -- what is known ----------------------------------------------------------------------------------------------------


def known_of(model: Any, person: Any) -> tuple[Any, Belief, list[tuple[int, int]]]:
    """The model of one moment, what is known of the person, and the pairs of codes that they have answered."""
    if not isinstance(person, Person) and not hasattr(model, "_belief"):
        raise InputError(f"{type(model).__name__} does not know how sure it is of a person; use AltSVM")
    if isinstance(person, Person) and not np.array_equal(person.model.items_, model.items_):
        raise InputError("the person is of another model; use fold_in of this one")
    now = person.model if isinstance(person, Person) else copy(model)
    if not now.rank_:
        raise InputError(f"{type(now).__name__} has one ranking for all: no answer tells of a person's taste")
    if isinstance(person, Person):
        belief = person.posterior
    else:
        belief = now._believed() if person is None else now._belief(now._one_code(person))
    pairs = zip(belief.asked.winner.tolist(), belief.asked.loser.tolist(), strict=True)
    return now, belief, sorted({(min(a, b), max(a, b)) for a, b in pairs})


def _candidates(model: Any, candidates: Any, unknown: Any) -> Codes:
    if candidates is None:
        count = model._crowd().count
        items = np.argsort(-count, kind="stable").astype(np.int32)
    else:
        items = model._candidates(candidates)
    if isinstance(unknown, (str, bytes)) or not isinstance(unknown, Iterable):
        unknown = [unknown]
    gone = list(unknown)
    if gone:
        items = items[~np.isin(items, model._item_codes(gone))]
    items = items[:CANDIDATES] if candidates is None else items
    if len(items) < 2:
        raise InputError("there is nothing to ask: fewer than two candidates are left; name more")
    if len(items) > 4 * CANDIDATES:
        raise InputError(
            f"there are {len(items):,} candidates; name at most {4 * CANDIDATES:,}, such as well-known ones"
        )
    return np.sort(items)
