"""Clicks, plays or purchases: a user prefers clicked items to unseen ones, which are drawn."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..native import core, threads
from .ids import Codes
from .ratings import Levels
from .rows import Clicks, Mask, Pairs, Ratings, row_starts, share_of_each_row, some
from .source import Source
from .union import Union
from .votes import Votes

MOST_UNSEEN = 1500  # if the number is not given: with that or two fifths, held-out clicks came out best for their cost
STIFF_UNTIL = 1000  # unseen items, from where on reg grows slower than its scale
POPULARITY_POWER = 0.75  # unseen items are drawn in proportion to (clicks)^this; chosen on held-out training clicks
NO_SAMPLE = (
    "sample draws from comparisons that were made, and these stand for clicks; draw from the table of clicks, then "
    "use Comparisons.from_clicks"
)


@dataclass(frozen=True)
class ClickRule:
    """The rule for drawing comparisons from clicks: ``per_user`` pairs, or every click against ``unseen`` items."""

    per_user: int | None
    unseen: int | None
    seed: int


def usual_unseen(n_items: int) -> int:
    return min(MOST_UNSEEN, -(-2 * n_items // 5))


def clicked(n_users: int, n_items: int, clicks: Clicks, rule: ClickRule, seen: Clicks | None = None) -> Source:
    """The source that the rule makes of clicks; ``seen`` (the clicks themselves by default) are not drawn."""
    kind = AgainstUnseen if rule.per_user is None else DrawnPairs
    return kind(n_users, n_items, clicks, rule, clicks if seen is None else seen)


class Clicked(Source):
    """The base class of both ways to draw from clicks: the clicks and the rule."""

    name, unit, exposes = "clicks", "click", False
    clicks: Clicks
    rule: ClickRule

    def columns(self) -> list[Any]:
        return [*super().columns(), self.clicks.user, self.clicks.item]  # type: ignore[safe-super]

    def description(self) -> str:
        return f"{super().description()} {self.rule}"

    def met(self) -> tuple[Any, Any]:
        return row_starts(self.clicks.user, self.n_users), self.clicks.item

    def split_items(
        self, share: float, rng: np.random.Generator, seed: int, users: Mask | None
    ) -> tuple[Source, Source]:
        """Both parts drawn anew: for training, a click that is held out counts as not clicked, as it would in life."""
        clicks, size = self.clicks, (self.n_users, self.n_items)
        held = np.ones(len(clicks.user), bool) if users is None else users[clicks.user]
        held[held] = share_of_each_row(clicks.user[held], self.n_users, share, rng)
        other = replace(self.rule, seed=int(rng.integers(2**63)))
        return clicked(*size, clicks.take(~held), self.rule), clicked(*size, clicks.take(held), other, seen=clicks)

    def answers(self) -> int:
        return len(self.clicks.user)

    def of_users(self, users: Mask) -> Source:
        return clicked(self.n_users, self.n_items, self.clicks.take(users[self.clicks.user]), self.rule)

    def without_items(self, items: Mask) -> Source:
        """Drawn anew: nobody passed over what was not there."""
        return clicked(self.n_users, self.n_items, self.clicks.take(~items[self.clicks.item]), self.rule)

    def kept(self) -> tuple[Any, dict[str, Any]] | None:
        return self.clicks, {"kind": "clicks", **asdict(self.rule)}

    def extended(self, later: Source, union: Union) -> Source:
        """The clicks of both, drawn against anew by the earlier ones' rule; another rule is refused."""
        if not isinstance(later, Clicked) or replace(later.rule, seed=self.rule.seed) != self.rule:
            return super().extended(later, union)
        return clicked(*union.size, union.latest(self.clicks, later.clicks), self.rule)

    def among(self, codes: Codes, popularity: Any) -> tuple[Source, Codes]:
        """Newcomers' clicks, drawn against all items of a model by how popular they are there."""
        n, items = len(popularity), codes[self.clicks.item]
        order = np.lexsort((items, self.clicks.user))
        clicks = Clicks(self.clicks.user[order], items[order])
        return self._drawn_anew(n, clicks, popularity), np.arange(n, dtype=np.int32)

    @abstractmethod
    def _drawn_anew(self, n_items: int, clicks: Clicks, popularity: Any) -> Source:
        """The same users' clicks among other items, of which so many users have met each."""

    def sample(self, per_user: int, rng: np.random.Generator) -> Source:
        raise InputError(NO_SAMPLE)


class AgainstUnseen(Clicked, Levels):
    """Every click against as many items that the user has not seen, popular ones drawn more often.

    Not to have clicked a popular item says more. Clicks are on level 1, the items drawn on level 0.
    """

    tol = 0.02  # more rounds did not predict held-out training clicks better
    rank = 100  # which of clicks says more than 64, for a tenth more time

    def __init__(
        self, n_users: int, n_items: int, clicks: Clicks, rule: ClickRule, seen: Clicks, levels: Ratings | None = None
    ) -> None:
        self.clicks, self.rule = clicks, rule
        self.unseen = rule.unseen or usual_unseen(len(_met(n_items, clicks, seen)))
        super().__init__(n_users, n_items, levels or _drawn_levels(n_users, n_items, clicks, seen, rule))

    @property
    def reg_factor(self) -> float:  # type: ignore[override]
        """The scale of reg grows with the number of unseen items, what held-out clicks prefer only with its root.

        (2000 and 3000 were tried against 1000.)
        """
        return 1.3 * math.sqrt(STIFF_UNTIL / max(self.unseen, STIFF_UNTIL))

    def split_pairs(self, share: float, rng: np.random.Generator, users: Mask | None) -> tuple[Source, Source]:
        """A click's comparisons go together: none is written."""
        click = self.levels.rating > 0
        held = click.copy() if users is None else click & users[self.levels.user]
        held[held] = some(int(held.sum()), share, rng)
        if not held.any() or (held == click).all():
            raise InputError(f"holding out {share} of {click.sum()} clicks leaves one part empty")
        rest, aside = self.levels.take(~held), self.levels.take(held | ~click)
        kept = rest.rating > 0
        clicks = Clicks(rest.user[kept], rest.item[kept])
        size = self.n_users, self.n_items
        return AgainstUnseen(*size, clicks, self.rule, clicks, rest), Levels(*size, aside)

    def _drawn_anew(self, n_items: int, clicks: Clicks, popularity: Any) -> Source:
        levels = _drawn_levels(self.n_users, n_items, clicks, clicks, self.rule, popularity)
        return AgainstUnseen(self.n_users, n_items, clicks, self.rule, clicks, levels)


class DrawnPairs(Clicked, Votes):
    """The paper's way: pairs of a click and an item not seen, both drawn uniformly with replacement."""

    def __init__(
        self, n_users: int, n_items: int, clicks: Clicks, rule: ClickRule, seen: Clicks, pairs: Pairs | None = None
    ) -> None:
        super().__init__(n_users, n_items, pairs or _drawn_pairs(n_users, n_items, clicks, seen, rule))
        self.reg_factor, self.bias_factor, self.chooses = Source.reg_factor, Source.bias_factor, Source.chooses
        self.clicks, self.rule = clicks, rule

    def without(self, held: Mask) -> Source:
        """The rest, with the clicks that made none of the held-out comparisons."""
        click = self.clicks.user.astype(np.int64) * self.n_items + self.clicks.item
        clicks = self.clicks.take(~np.isin(click, self._answer()[held]))
        return DrawnPairs(self.n_users, self.n_items, clicks, self.rule, clicks, self.pairs().take(~held))

    def _drawn_anew(self, n_items: int, clicks: Clicks, popularity: Any) -> Source:
        pairs = _drawn_pairs(self.n_users, n_items, clicks, clicks, self.rule, popularity)
        return DrawnPairs(self.n_users, n_items, clicks, self.rule, clicks, pairs)

    def _answer(self) -> npt.NDArray[np.int64]:
        """All comparisons that one click made are one answer."""
        pairs = self.pairs()
        return pairs.user.astype(np.int64) * self.n_items + pairs.winner


def drawn(
    n_users: int, n_items: int, clicks: Clicks, rule: ClickRule, popularity: Any, seen: Clicks | None = None
) -> Ratings | Pairs:
    """Draw by the rule for some users, given how many of all users have met each item."""
    seen = clicks if seen is None else seen
    if rule.per_user is not None:
        return _drawn_pairs(n_users, n_items, clicks, seen, rule, popularity)
    return _drawn_levels(n_users, n_items, clicks, seen, rule, popularity)


def _drawn_pairs(
    n_users: int, n_items: int, clicks: Clicks, seen: Clicks, rule: ClickRule, popularity: Any = None
) -> Pairs:
    assert rule.per_user is not None
    n, met = n_users * rule.per_user, _met(n_items, clicks, seen, popularity)
    winner, loser, place = np.empty(n, np.int32), np.empty(n, np.int32), _places(met, n_items)
    core.sample_clicks(
        row_starts(clicks.user, n_users), place[clicks.item], row_starts(seen.user, n_users), place[seen.item],
        len(met), rule.per_user, rule.seed, winner, loser, threads(None),
    )  # fmt: skip
    pairs = Pairs(np.repeat(np.arange(n_users, dtype=np.int32), rule.per_user), winner, loser)
    pairs = pairs.take(winner >= 0) if (winner < 0).any() else pairs
    return replace(pairs, winner=met[pairs.winner], loser=met[pairs.loser])


def _met(n_items: int, clicks: Clicks, seen: Clicks, popularity: Any = None) -> Codes:
    """Return the items that anybody met, from which unseen items are drawn."""
    found = np.zeros(n_items, bool) if popularity is None else np.asarray(popularity) > 0
    found[clicks.item] = found[seen.item] = True
    return np.flatnonzero(found).astype(np.int32)


def _places(met: Codes, n_items: int) -> Codes:
    """Return the positions of items among those met."""
    out = np.zeros(n_items, np.int32)
    out[met] = np.arange(len(met), dtype=np.int32)
    return out


def _drawn_levels(
    n_users: int, n_items: int, clicks: Clicks, seen: Clicks, rule: ClickRule, popularity: Any = None
) -> Ratings:
    met = _met(n_items, clicks, seen, popularity)
    unseen, place = rule.unseen or usual_unseen(len(met)), _places(met, n_items)
    n_clicks, n_seen = (np.bincount(c.user, minlength=n_users).astype(np.int64) for c in (clicks, seen))
    wanted = np.where(n_clicks > 0, np.minimum(unseen, len(met) - n_seen), 0)
    start = np.concatenate(([0], np.cumsum(wanted + n_clicks)))
    item, rating = np.zeros(start[-1], np.int32), np.zeros(start[-1])
    if popularity is None:
        popularity = np.bincount(seen.item, minlength=n_items)
    core.sample_unseen(
        row_starts(seen.user, n_users), place[seen.item], np.maximum(popularity[met], 1.0) ** POPULARITY_POWER,
        wanted, start[:-1].copy(), rule.seed, item, threads(None),
    )  # fmt: skip
    item = met[item]
    at = np.arange(len(clicks.user)) + np.cumsum(wanted)[clicks.user]
    item[at], rating[at] = clicks.item, 1.0
    return Ratings(np.repeat(np.arange(n_users, dtype=np.int32), np.diff(start)), item, rating)
