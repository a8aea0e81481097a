"""Comparisons with features of users and items, and comparisons of embeddings."""

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
    """Add features of users and items, and embeddings, to comparisons.

    Attributes
    ----------
    item_features, user_features : Described or None
        The features, encoded.
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
        """Read choices between texts, answers or pictures given as embeddings.

        Things that occur only once have no ids. A model fitted to these comparisons learns what users value in an
        embedding, and :meth:`AltSVM.reward` scores any other embedding.

        Parameters
        ----------
        user : id or list of ids
            The user of each choice, or one id for all choices.
        chosen : array of shape (n, columns)
            Embeddings of the chosen things.
        rejected : array of shape (n, columns)
            Embeddings of the other things.
        weight : list of float, optional
            Weights from 0 to a million. Choices of weight 0 are dropped. Default: every choice has weight 1.

        Returns
        -------
        Comparisons
            One comparison for each choice.

        Raises
        ------
        InputError
            If the arrays differ in shape or hold numbers that are not finite.

        See Also
        --------
        Comparisons.from_frame : Read votes between items with ids.
        AltSVM.reward : Score things by their features.

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
        """Return these comparisons with features of items or users.

        :class:`AltSVM` and :class:`Convex` learn from features. They can then rank items and users that nobody
        compared.

        Parameters
        ----------
        item_features : pandas, polars or pyarrow table, Table, or dict of columns, optional
            One row for each item. Ids are in the column "item", "id" or the comparisons' own column name, or in the
            index of a pandas table. All other columns are features: numbers, booleans, categories (text), lists of
            categories (lists, or text such as "Comedy|Drama") and embeddings (lists of numbers, or in a dict a matrix).
            Give numbers that stand for categories as text. Missing values count as average.
        user_features : pandas, polars or pyarrow table, Table, or dict of columns, optional
            The same for users.

        Returns
        -------
        Comparisons
            The comparisons with features. Described items and users that were never compared are added.

        Raises
        ------
        InputError
            If ids repeat or a column cannot be read.

        See Also
        --------
        AltSVM.tastes : Show which item features users value.
        AltSVM.add_items : Add new items to a fitted model.

        Examples
        --------
        >>> from rather import Comparisons
        >>> votes = Comparisons.from_frame({"user": ["ann", "bob"], "winner": ["A", "C"], "loser": ["B", "A"]})
        >>> votes.with_features(item_features={"item": ["A", "B", "C", "D"], "price": [1.0, 2.0, 2.5, 4.0]})
        Comparisons: 2 comparisons by 2 users over 4 items
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
        """Raise an error if these comparisons carry features.

        Newer comparisons must not, because new features are encoded as the earlier ones were.

        Parameters
        ----------
        instead : str
            What to call instead, for the message.

        See Also
        --------
        Comparisons.with_features : Add features.

        Examples
        --------
        >>> import rather
        >>> votes = rather.Comparisons.from_frame({"user": ["ann", "bob"], "winner": ["A", "B"], "loser": ["B", "C"]})
        >>> votes.refuse_features("fit")  # no error: these have none
        """
        if self.item_features is not None or self.user_features is not None:
            raise InputError(f"features of newer data are given apart, not by with_features: {instead}")

    def _known_in(self, made: C, union: Union | None = None) -> C:
        """Other comparisons of the same users and items, or of more, with what these know of them."""
        for role in ("item", "user"):
            known: Described | None = getattr(self, f"{role}_features")
            setattr(made, f"{role}_features", known if known is None or union is None else known.among(union[role]))
        return made

    def encoded(self: C) -> C:
        """Return these comparisons with embeddings encoded as item features.

        Comparisons that are not of embeddings are returned unchanged.

        Returns
        -------
        Comparisons
            The comparisons that an estimator fits.

        See Also
        --------
        Comparisons.from_embeddings : Read choices between embeddings.

        Examples
        --------
        >>> import numpy as np, rather
        >>> texts = np.random.default_rng(0).standard_normal((40, 4))
        >>> choices = rather.Comparisons.from_embeddings(["ann", "bob"] * 10, texts[:20], texts[20:])
        >>> choices.encoded().item_features is not None
        True
        """
        if not isinstance(self.source, Embedded) or self.item_features is not None:
            return self
        made: C = self._with(self.source)
        made.item_features = nothing_else(self.source.differences())
        return made

    def knowing(self: C, users: Described | None, items: Described | None) -> C:
        """Return these comparisons with the given encoded features.

        Parameters
        ----------
        users : Described or None
            Features of the users.
        items : Described or None
            Features of the items.

        Returns
        -------
        Comparisons
            The same comparisons.

        See Also
        --------
        Comparisons.with_features : Read features from a table.

        Examples
        --------
        >>> import rather
        >>> votes = rather.Comparisons.from_frame({"user": ["ann", "bob"], "winner": ["A", "B"], "loser": ["B", "C"]})
        >>> known = votes.with_features(item_features={"item": ["A", "B", "C"], "price": [1, 2, 3]})
        >>> votes.knowing(None, known.item_features).item_features is known.item_features
        True
        """
        made: C = self._with(self.source)
        made.user_vocabulary, made.item_vocabulary = self.user_vocabulary, self.item_vocabulary
        made.user_features, made.item_features = users, items
        return made
