"""Comparisons of which more is known than who chose what: features of items and people, embeddings of both sides."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from ..errors import InputError
from .described import Described, described, nothing_else
from .embedded import Embedded, embedded
from .features import Encoder
from .source import Source
from .union import Union, widened

C = TypeVar("C", bound="WithFeatures")


class WithFeatures:
    """What :class:`Comparisons` know of their items and users.

    Attributes
    ----------
    item_features, user_features : Described or None
    """

    item_features: Described | None = None
    user_features: Described | None = None
    user_vocabulary: Any
    item_vocabulary: Any
    users: Any
    items: Any
    source: Source
    names: dict[str, str]
    _with: Any
    with_later: Any

    @classmethod
    def from_embeddings(cls, user: Any, chosen: Any, rejected: Any, weight: Any = None) -> Any:
        """Choices between things that occur once (texts, answers, pictures), of which only embeddings are known.

        The things have no ids: what is learned is what people look for in an embedding (see :meth:`AltSVM.reward`).

        Parameters
        ----------
        user : ids
            Who chose, one id a choice; or one id for all.
        chosen, rejected : arrays of shape (n, columns)
            Embeddings of what was chosen and of what was not.
        weight : numbers, optional
            From 0 to a million; choices of weight 0 are dropped.

        Examples
        --------
        >>> import numpy as np
        >>> from rather import Comparisons
        >>> texts = np.random.default_rng(0).standard_normal((6, 4))
        >>> Comparisons.from_embeddings(["ann", "bob", "ann"], texts[:3], texts[3:])
        Comparisons: 3 comparisons by 2 users over 4 items (from embeddings)
        """
        return cls(*embedded(user, chosen, rejected, weight))  # type: ignore[call-arg]

    def with_features(self: C, item_features: Any = None, user_features: Any = None) -> C:
        """The same with what is known of items and people, which a fit then learns from too.

        Parameters
        ----------
        item_features, user_features : pandas, polars or pyarrow table, or dict of columns
            One row an item, or a person; the ids in a column "item" or "user" (or called as the comparisons' is, or
            "id"), or in the index of a pandas table. All other columns are features: numbers, booleans, categories
            (text), lists of categories (lists, or text such as "Comedy|Drama") and embeddings (lists of equally many
            numbers, or in a dict a matrix). Numbers that only stand for categories must be given as text. Missing
            values are taken to be average, and that they are missing is a feature. Items and people who are described
            but were never compared join the others.
        """
        made = self
        for role, frame in (("item", item_features), ("user", user_features)):
            if frame is not None:
                made = made._described(role, frame)
        return made

    def _described(self: C, role: str, frame: Any) -> C:
        if role == "item" and isinstance(self.source, Embedded):
            raise InputError("these comparisons are of embeddings, which are all that is known of their items")
        read = Encoder.learned(frame, role, self.names)
        union = widened((self.users, self.items), role, read.ids)
        sides = union[role]
        begin, met = self.source.met()
        compared = np.zeros(len(sides), bool)
        compared[sides.codes[0][np.unique(met) if role == "item" else np.flatnonzero(np.diff(begin))]] = True
        same = len(sides) == len(self.items if role == "item" else self.users)
        made: C = self._with(self.source) if same else self.with_later(self.source.none(), union)
        setattr(made, f"{role}_features", described(read, sides.ids, role, compared))
        return made

    def refuse_features(self, instead: str) -> None:
        """Refuse newer comparisons that come with features: these are read as the earlier ones were."""
        if self.item_features is not None or self.user_features is not None:
            raise InputError(f"features of newer data are given apart, not by with_features: {instead}")

    def _known_in(self, made: C, union: Union | None = None) -> C:
        """Other comparisons of the same users and items, or of more, with what these know of them."""
        for role in ("item", "user"):
            known: Described | None = getattr(self, f"{role}_features")
            setattr(made, f"{role}_features", known if known is None or union is None else known.among(union[role]))
        return made

    def encoded(self: C) -> C:
        """The same, where they are of embeddings, with these as all that is known of the items."""
        if not isinstance(self.source, Embedded) or self.item_features is not None:
            return self
        made: C = self._with(self.source)
        made.item_features = nothing_else(self.source.differences())
        return made

    def knowing(self: C, users: Described | None, items: Described | None) -> C:
        """The same with other features, or other strengths of them."""
        made: C = self._with(self.source)
        made.user_vocabulary, made.item_vocabulary = self.user_vocabulary, self.item_vocabulary
        made.user_features, made.item_features = users, items
        return made
