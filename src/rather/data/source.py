"""The contract of a source: everything in a fit that depends on the kind of data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .ids import Codes
from .rows import Clicks, Mask, Pairs, Ratings, is_tied, random_places
from .union import Union

Scores = Callable[[Any, Any], Any]  # from (user codes, item codes) to scores
Counts = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
NO_GAPS = "min_gap needs ratings behind the comparisons, and these have none"


def plural(n: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> plural(1, "vote"), plural(1234, "vote")
    ('1 vote', '1,234 votes')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


class Source(ABC):
    """The source of the comparisons of n_users users over n_items items.

    A kind of source is a file of its own beside this one (``votes``, ``ratings``, ``clicks``) and a reader of frames in
    ``readers``. What it does not say otherwise is here, defaults of estimators among them.

    Attributes
    ----------
    ratings, clicks : tables of codes, or None
        What is behind the comparisons, for estimators that are entitled to it.
    implied : bool
        Whether n ratings, places or clicks made of the order of n^2 comparisons, rather than each being an answer.
    written : bool
        Whether the comparisons are held one by one.
    effects : names
        Of what surrounded the comparisons (``Pairs.around``), and may have swayed those who answered.
    """

    name = ""  # as a summary of comparisons calls it
    unit = "comparison"  # what one answer is called
    written = False
    implied = False
    ratings: Ratings | None = None
    clicks: Clicks | None = None
    effects: tuple[str, ...] = ()

    # Defaults that suit the source. The page "The mathematics" of the site says how they were chosen.
    reg_factor: float = 1.7  # on the scale of reg
    bias_factor: float = 2.0  # on that of the biases' ridge
    chooses = False  # whether they are only what is usual, and held-out answers choose
    tol: float = 3e-4  # of AltSVM
    rank: int = 64  # of AltSVM; of votes at most
    exposes = True  # whether which items people met may say more than the comparisons themselves

    def __init__(self, n_users: int, n_items: int) -> None:
        self.n_users, self.n_items = n_users, n_items
        self._store: Any = None

    @property
    def balance(self) -> float:
        """The default weight of a user's N comparisons is N^-balance: implied ones are not N independent answers."""
        return 0.5 if self.implied else 0.0

    @property
    def store(self) -> Any:
        """The core's view of the comparisons, built once."""
        if self._store is None:
            self._store = self._build()
        return self._store

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_store": None}  # built again where it is needed

    # -- what is in it ------------------------------------------------------------------------------------------

    @abstractmethod
    def _build(self) -> Any:
        """Build the core's store of the comparisons."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of comparisons."""

    @abstractmethod
    def pairs(self) -> Pairs:
        """The comparisons one by one, written down for the occasion where they are not."""

    @abstractmethod
    def some_pairs(self, most: int, rng: np.random.Generator) -> Pairs:
        """The same, or where more than ``most`` are implied, about as many of them, drawn at random."""

    @abstractmethod
    def columns(self) -> list[Any]:
        """The arrays (or None) that, with the description, tell these from others of the same users and items."""

    def description(self) -> str:
        """Return a description of all that the arrays do not hold."""
        return f"{type(self).__name__} implied={self.implied}"

    @abstractmethod
    def ordered(self, scores: Scores, min_gap: float | None, n_threads: int) -> Counts:
        """For every user the weight of the comparisons that scores order rightly (equal ones do not), and of all.

        Votes that tied are none of them: there is no right order.

        With ``min_gap``, of those whose ratings differ by at least as much.
        """

    def rows(self) -> tuple[Pairs, dict[str, Any]]:
        """The comparisons as a table has them, and its columns beside those of ids."""
        pairs = self.pairs()
        return pairs, {} if pairs.weight is None else {"weight": pairs.weight}

    def counted(self) -> str:
        """Return the number of comparisons as text."""
        return f"{len(self):,} comparisons"

    def answers(self) -> int:
        """Return the number of answers: n ratings or clicks are n answers, however many comparisons they imply."""
        return int(self.store.n_entries) if self.implied else len(self)

    def in_words(self) -> str:
        """Return how many answers there are, and what they are called."""
        return plural(self.answers(), self.unit)

    def met(self) -> tuple[Any, Any]:
        """(starts, items): what each user is known to have met."""
        return self.store.start, self.store.item

    def is_strict(self) -> bool:
        """Whether these are rankings: every user put the items in order, no two on one level."""
        return False

    def largest_gap(self) -> float | None:
        """The largest difference of two ratings of one user; None where ratings are not known."""
        return None

    # -- parts --------------------------------------------------------------------------------------------------

    @abstractmethod
    def split_pairs(self, share: float, rng: np.random.Generator, users: Mask | None) -> tuple[Source, Source]:
        """(rest, held out): a share of the comparisons (of some users), those of one answer together."""

    def split_items(
        self, share: float, rng: np.random.Generator, seed: int, users: Mask | None
    ) -> tuple[Source, Source]:
        """(rest, held out): a share of what is behind every user's comparisons."""
        raise InputError(
            "by='items' needs ratings or clicks behind the comparisons, and these have none; use by='pairs'"
        )

    def hold_out(self, share: float, rng: np.random.Generator, seed: int, users: Mask | None) -> tuple[Source, Source]:
        """The split to tune and calibrate on: by items where that can be, so that nothing of a pair leaks."""
        if self.ratings is None and self.clicks is None:
            return self.split_pairs(share, rng, users)
        return self.split_items(share, rng, seed, users)

    @abstractmethod
    def of_users(self, users: Mask) -> Source:
        """Return the comparisons of some users."""

    def said_by(self, people: Any, most: int, rng: np.random.Generator) -> Pairs:
        """Comparisons of some users, in their order, drawn at random where one made more than ``most``.

        Weights are 1 in the mean over all users.
        """
        pairs = self.pairs()
        mask = np.zeros(self.n_users, bool)
        mask[people] = True
        rows = np.flatnonzero(mask[pairs.user])
        rows = rows[np.argsort(pairs.user[rows], kind="stable")]
        rows = rows[random_places(pairs.user[rows], self.n_users, rng)[0] < most]
        whole = pairs.weights() * np.where(is_tied(pairs), 2.0, 1.0)
        mean = max(float(whole.sum()) / max(len(whole), 1), 1e-30)
        return replace(pairs.take(rows), weight=(pairs.weights()[rows] / mean).astype(np.float32))

    @abstractmethod
    def without_items(self, items: Mask) -> Source:
        """Return the comparisons without some items."""

    def none(self) -> Source:
        """Return an empty source of the same kind."""
        return self.of_users(np.zeros(self.n_users, bool))

    @abstractmethod
    def sample(self, per_user: int, rng: np.random.Generator) -> Source:
        """At most ``per_user`` answers of every user, drawn at random."""

    def among(self, codes: Codes, popularity: Any) -> tuple[Source, Codes]:
        """The same as a model's newcomers said it, and the model's codes of its items, from those of these items.

        ``popularity`` counts the users who met each of the model's items.
        """
        return self, codes

    def kept(self) -> tuple[Any, dict[str, Any]] | None:
        """The rows these are made of, and how (with a "kind"; see ``models.kept``), for a file; None if they cannot."""
        return None

    # -- more of it ---------------------------------------------------------------------------------------------

    def extended(self, later: Source, union: Union) -> Source:
        """Return the source of this and later data of the same kind; ``union`` has the users and items of both."""
        mine, theirs = (source.name or "votes" for source in (self, later))
        if mine == theirs:
            raise InputError(f"the new {theirs} were made in another way than the earlier ones; make them alike")
        raise InputError(f"{theirs} cannot be joined to {mine}: new comparisons must be of the earlier ones' kind")
