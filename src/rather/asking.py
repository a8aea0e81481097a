"""Questions to ask a user: the most informative pair, and how many answers make the first places certain.

The information of an answer is computed in ``models.information``.
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
from .models.belief import Posterior
from .models.information import AIMS, pick, settling, sheet
from .models.person import Person
from .models.voter import Voter
from .rivals.global_ranking import Global

CANDIDATES = 400  # items, those that most people met
MOST_TOP = 50  # that may be settled
LEAST = 1e-12  # of the squares of tastes, in log-odds, that anyone can have


@dataclass(frozen=True)
class Question:
    """Hold a pair of items to ask a user about.

    Attributes
    ----------
    left, right : id
        The two items.
    probability : float
        Probability that the user prefers the left item.
    information : float
        Expected information of the answer about the user's taste, in bits.
    policy : str
        How the pair was chosen: "everything", "top" or "random".
    propensity : float
        Probability with which this pair was chosen among all possible pairs. Weight answers by its inverse for an
        unbiased evaluation.

    See Also
    --------
    next_question : Return the most informative pair to ask.

    Examples
    --------
    >>> import rather
    >>> model = rather.AltSVM(rank=1).fit(rather.simulate(n_users=10, n_items=4, rank=1, per_user=3).comparisons)
    >>> question = rather.next_question(model)
    >>> question.left in model.items_, 0 < question.probability < 1, question.policy
    (True, True, 'everything')
    """

    left: Any
    right: Any
    probability: float
    information: float
    policy: str
    propensity: float


@dataclass(frozen=True)
class TopCertainty:
    """Hold how certain the first places of a user's ranking are.

    Attributes
    ----------
    top : int
        Number of first places.
    share : float
        Expected share of these places that hold the right items.
    target : float
        Share that was asked for.
    more_answers : int or None
        Number of further answers expected to reach the target. None: the largest number tried does not reach it.

    See Also
    --------
    top_certainty : Estimate the certainty of a user's first places.

    Examples
    --------
    >>> import rather
    >>> model = rather.AltSVM(rank=1).fit(rather.simulate(n_users=10, n_items=4, rank=1, per_user=3).comparisons)
    >>> certainty = rather.top_certainty(model, top=3)
    >>> certainty.top, 0 < certainty.share < 1
    (3, True)
    """

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
    """Return the most informative pair to ask a user next.

    Pass the answer to :meth:`AltSVM.fold_in` with all earlier answers, then ask again. Use :func:`questionnaire` where
    all users get the same pairs.

    Parameters
    ----------
    model : AltSVM or Convex
        The fitted model.
    person : Person or id, optional
        Result of ``model.fold_in(answers, asked=True)``, or a user of the model. Default: a new user without answers.
    candidates : list of id, optional
        Items to choose from. Default: the 400 items that most users compared.
    unknown : list of id, default ()
        Items that the user does not know, which are not asked about.
    aim : {"everything", "top"}, default "everything"
        Goal: to learn the whole taste, or which items are best.
    explore : float, default 0.0
        Probability of a random pair instead. Random pairs allow an unbiased evaluation.
    n_best : int, default 1
        Number of best pairs from which one is drawn at random, for variety.
    prefer_familiar : bool, default False
        Whether to prefer pairs of widely known items. Set it for users who may not know every item.
    seed : int, default 0
        Seed of the draw. Equal seeds give equal questions.

    Returns
    -------
    Question
        The pair, its probability and its information.

    Raises
    ------
    InputError
        If no pair is left to ask, or the model has no posterior for one user.

    See Also
    --------
    questionnaire : Choose pairs that all users answer.
    top_certainty : Estimate how many more answers a user needs.
    AltSVM.fold_in : Add a new user from a few answers.

    Examples
    --------
    >>> import rather
    >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=40, n_items=10, rank=2, per_user=20).comparisons)
    >>> question = rather.next_question(model)
    >>> person = model.fold_in([(question.left, question.right)], asked=True)
    >>> rather.next_question(model, person) != question
    True
    """
    one_of("aim", aim, AIMS)
    if not isinstance(prefer_familiar, bool):
        raise InputError(f"prefer_familiar is {prefer_familiar!r}; it must be True or False")
    number("explore", explore, at_least=0.0, at_most=1.0)
    number("n_best", n_best, at_least=1, integer=True)
    number("seed", seed, at_least=0, integer=True)
    now, belief, asked = known_of(model, person)
    items = _candidates(now, candidates, unknown)
    if not belief.taste > LEAST:
        raise InputError("no answer would tell of a taste: all people that the model knows are alike, or there is one")
    rng = np.random.default_rng([int(seed), len(asked)])
    known = now._met_counts()[items] if prefer_familiar else None
    made = pick(belief, items, asked, rng, aim, explore, int(n_best), known)
    if made is None:
        raise InputError("there is no pair left to ask: all candidates are answered, or fewer than two are known")
    left, right = (x.item() if hasattr(x, "item") else x for x in now.items_[[made.left, made.right]])
    return Question(left, right, made.probability, made.information, made.policy, made.chance)


def questionnaire(model: Any, n: int, candidates: Any = None, each: int = 2) -> Table:
    """Choose pairs that all users answer, for instance on paper.

    Each pair is the most informative one about a typical new user, given that the pairs before it are answered.

    Parameters
    ----------
    model : AltSVM or Convex
        The fitted model.
    n : int
        Number of pairs.
    candidates : list of id, optional
        Items to choose from. Default: the 400 items that most users compared.
    each : int, default 2
        Largest number of pairs that one item is in.

    Returns
    -------
    Table
        Columns question, left, right and information (in bits).

    Raises
    ------
    InputError
        If the candidates make fewer than n pairs.

    See Also
    --------
    next_question : Choose the next pair for one user.

    Examples
    --------
    >>> import rather
    >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=40, n_items=10, rank=2, per_user=20).comparisons)
    >>> len(rather.questionnaire(model, n=5))
    5
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
    """Estimate how certain a user's first places are, and how many answers help.

    The estimate is by simulation: the posterior of the user's taste is narrowed by answers to well-chosen questions.

    Parameters
    ----------
    model : AltSVM or Convex
        The fitted model.
    person : Person or id, optional
        Result of ``model.fold_in(answers, asked=True)``, or a user of the model. Default: a new user without answers.
    top : int, default 3
        Number of first places, at most 50.
    target : float, default 0.8
        Share of right items to reach, above 0 and below 1.
    most : int, default 100
        Largest number of further answers to try.
    items : list of id, optional
        Items to rank. Default: the 400 items that most users compared.
    seed : int, default 0
        Seed of the simulation.

    Returns
    -------
    TopCertainty
        The expected share of right items now, and the number of further answers to reach the target.

    Raises
    ------
    InputError
        If a parameter is out of range, or the model has no posterior for one user.

    See Also
    --------
    next_question : Choose the next pair to ask.
    answers_needed : Plan how many answers to ask of each user.

    Examples
    --------
    >>> import rather
    >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=40, n_items=10, rank=2, per_user=20).comparisons)
    >>> new, known = rather.top_certainty(model), rather.top_certainty(model, "user 7")
    >>> new.share < known.share
    True
    """
    number("target", target, above=0.0, below=1.0)
    number("most", most, at_least=0, integer=True)
    number("seed", seed, at_least=0, integer=True)
    now, belief, _ = known_of(model, person)
    every = now._candidates(items) if items is not None else _candidates(now, None, ())
    number("top", top, at_least=1, at_most=min(len(every), MOST_TOP), integer=True)
    share, more = settling(belief, every, int(top), target, int(most), int(seed))
    return TopCertainty(int(top), share, float(target), more)


def pairs_left(model: Any, person: Any = None, candidates: Any = None, unknown: Any = ()) -> int:
    """Return how many pairs :func:`next_question` can still ask a person about."""
    now, _, asked = known_of(model, person)
    items = set(_known_candidates(now, candidates, unknown).tolist())
    return len(items) * (len(items) - 1) // 2 - sum(j in items and k in items for j, k in asked)


# -- what is known ----------------------------------------------------------------------------------------------------


def known_of(model: Any, person: Any) -> tuple[Any, Posterior, list[tuple[int, int]]]:
    """Return the model of one moment, a person's posterior, and the pairs of codes that the person has answered."""
    if isinstance(model, (Person, Voter)):
        raise InputError(f"the model is a {type(model).__name__}; pass the fitted model first, and the person second")
    if isinstance(model, Global):
        raise InputError("Global has no posterior for one user", remedy="model of users")
    if not isinstance(person, (Person, Voter)) and not hasattr(model, "_belief"):
        raise InputError(f"{type(model).__name__} has no posterior for one user; fit AltSVM")
    if isinstance(person, (Person, Voter)) and not np.array_equal(person.model.items_, model.items_):
        raise InputError("the person is of another model; use fold_in of this one")
    now = person.model if isinstance(person, (Person, Voter)) else copy(model)
    if not now.rank_:
        raise InputError(f"the {type(now).__name__} found no personal differences; fit it with weaker regularisation")
    if isinstance(person, (Person, Voter)):
        belief = person.posterior
    else:
        belief = now._believed() if person is None else now._belief(now._one_code(person))
    pairs = zip(belief.asked.winner.tolist(), belief.asked.loser.tolist(), strict=True)
    return now, belief, sorted({(min(a, b), max(a, b)) for a, b in pairs})


def _candidates(model: Any, candidates: Any, unknown: Any) -> Codes:
    """Return the items that may be asked about, in order; refuse too few or too many."""
    items = _known_candidates(model, candidates, unknown)
    if len(items) < 2:
        raise InputError("there is nothing to ask: fewer than two candidates are left; name more")
    if len(items) > 4 * CANDIDATES:
        raise InputError(
            f"there are {len(items):,} candidates; name at most {4 * CANDIDATES:,}, such as well-known ones"
        )
    return np.sort(items)


def _known_candidates(model: Any, candidates: Any, unknown: Any) -> Codes:
    """Return the candidates, by default those that most people met, without those the person does not know."""
    if candidates is None:
        count = model._met_counts()
        items = np.argsort(-count, kind="stable").astype(np.int32)
    else:
        items = model._candidates(candidates)
    if isinstance(unknown, (str, bytes)) or not isinstance(unknown, Iterable):
        unknown = [unknown]
    gone = list(unknown)
    if gone:
        items = items[~np.isin(items, model._item_codes(gone))]
    return items[:CANDIDATES] if candidates is None else items
