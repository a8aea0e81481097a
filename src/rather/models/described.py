"""Features in a fitted model: which of them helped, their worth to users, and scores of new things."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from .. import memory
from ..data.described import OFF
from ..data.embedded import COLUMN
from ..data.ids import Codes
from ..data.tables import Table
from ..errors import InputError
from ..native import FloatArray, core, threads
from .factors import FactorEstimator
from .features import Learned


class Describing(FactorEstimator):
    """Learn vectors that partly follow from features of users and items."""

    def _learned_of_people(self) -> Learned:
        learned = self.fitted.user_features
        if learned is None:
            raise InputError("the model was fitted without features of users; leave them out")
        return learned

    def _learned_of_items(self) -> Learned:
        learned = self.fitted.item_features
        if learned is None:
            raise InputError("the model was fitted without features of items; leave them out")
        return learned

    def _check_named(self) -> None:
        learned = self.fitted.item_features
        if learned is not None and not learned.own:
            raise InputError(
                "the things that this model was fitted to occur once and have no ids; reward(users, embeddings) scores "
                "any, known or not"
            )

    def _item_codes(self, items: Any) -> Codes:
        self._check_named()
        return super()._item_codes(items)

    def _candidates(self, items: Any) -> Codes:
        self._check_named()
        return super()._candidates(items)

    @property
    def feature_notes_(self) -> list[str]:
        """Sentences about the features: columns left out, missing and rare values."""
        told = sorted(self.fitted.features.items())
        return [f"{role} features, {sentence}" for role, learned in told for sentence in learned.encoder.said]

    @property
    def features_(self) -> Table:
        """Table of the blocks of features: used or not, strength, gain.

        Columns of, block, columns, strength, used, gain, error. ``gain`` is how much a block lowers the log loss of
        held-out answers about items, or by users, of which only the features are known; ``error`` is its standard
        error. Blocks without a clear gain are switched off. ``strength`` is that of the ridge; see the page "Features
        and clicks" of the site.
        """
        fitted, rows = self.fitted, []
        for role, learned in sorted(fitted.features.items()):
            for block, strength, gain in zip(learned.encoder.blocks, learned.strengths, learned.gains, strict=True):
                told = (np.nan, np.nan) if gain is None else gain
                used = strength != OFF
                rows.append((role, block.name, block.stop - block.start, strength if used else np.nan, used, *told))
        names = "of", "block", "columns", "strength", "used", "gain", "error"
        kinds = object, object, np.int64, np.float64, bool, np.float64, np.float64
        columns = zip(*rows, strict=True) if rows else ((),) * len(names)
        return Table(
            {n: np.array(c, dtype=k) for n, c, k in zip(names, columns, kinds, strict=True)}, fitted.frame_kind
        )

    def tastes(self, user: Any = None) -> Table:
        """Show which item features users value, in log-odds.

        Parameters
        ----------
        user : id, optional
            A user, for the column own. Default: all users only.

        Returns
        -------
        Table
            Columns feature; mean, what an item gains in the shared ranking by having the value, or by one standard
            deviation more of a number; spread, the standard deviation of that over users; own, the user's. The features
            that matter most are first. Blocks that are switched off are left out.

        Raises
        ------
        InputError
            If the model was fitted without item features, or the user is not in the model.

        See Also
        --------
        plot.tastes : Draw the table.
        Comparisons.with_features : Add features to comparisons.

        Examples
        --------
        >>> import numpy as np, rather
        >>> world = rather.simulate(n_users=100, n_items=30, rank=1, per_user=40)
        >>> features = {"item": world.comparisons.items, "size": world.item_factors[:, 0]}
        >>> rather.AltSVM(rank=2).fit(world.comparisons, item_features=features).tastes()["feature"].tolist()
        ['size']
        """
        return copy(self)._tastes(user)

    def _tastes(self, user: Any) -> Table:
        learned = self._learned_of_items()
        who = None if user is None else self._user_codes(user)
        if who is not None and len(who) != 1:
            raise InputError(f"tastes are those of one user, not of {len(who)}")
        found = self._calibrated().fitted.slope.found
        assert found is not None
        a, unit = found.slope, learned.units().astype(np.float64)
        C = learned.coefficients.astype(np.float64)
        people, r = self._factors.user_factors.astype(np.float64), self.rank_
        worth = a * unit[:, None] * C
        mean = worth[:, :r] @ people.mean(axis=0) + worth[:, r]
        about = people - people.mean(axis=0)
        spread = np.sqrt(np.maximum(((worth[:, :r] @ (about.T @ about / len(people))) * worth[:, :r]).sum(axis=1), 0))
        used = learned.used()
        order = np.flatnonzero(used)[np.argsort(-np.hypot(mean, spread)[used], kind="stable")]
        made = {"feature": np.array(learned.encoder.labels, object), "mean": mean, "spread": spread}
        if who is not None:
            made["own"] = worth[:, :r] @ people[who[0]] + worth[:, r]
        table: Table = self._table({name: column[order] for name, column in made.items()})
        return table

    # -- things that it never met ---------------------------------------------------------------------------------

    def reward(self, users: Any, features: Any) -> FloatArray:
        """Score things by their features, whether they are items of the model or not.

        Use it for texts, pictures or new items, on models fitted with item features or on embeddings.

        Parameters
        ----------
        users : id or list of id
            The users.
        features : table or array of shape (n, columns)
            A table as ``item_features`` of :meth:`fit`, with ids. For models whose features are one embedding, an array
            with a row for each thing.

        Returns
        -------
        array of shape (n_users, n), or (n,) for one user
            The scores.

        Raises
        ------
        InputError
            If the model was fitted without item features, or a user is not in the model.

        See Also
        --------
        Comparisons.from_embeddings : Read choices between embeddings.
        AltSVM.reward_head : Return the same as weights and offsets.

        Examples
        --------
        >>> import numpy as np, rather
        >>> texts = np.random.default_rng(0).standard_normal((40, 4))
        >>> choices = rather.Comparisons.from_embeddings(["ann", "bob"] * 10, texts[:20], texts[20:])
        >>> rather.AltSVM(rank=1).fit(choices).reward(["ann", "bob"], texts[:3]).shape
        (2, 3)
        """
        return copy(self)._reward(users, features)

    def _reward(self, users: Any, features: Any) -> FloatArray:
        u = self._user_codes(users)
        out = self._rewards(self._factors.U, u, features)
        return out if not isinstance(users, (str, bytes)) and hasattr(users, "__iter__") else out[0]

    def _rewards(self, U: FloatArray, u: Codes, features: Any) -> FloatArray:
        """Return the rewards for some rows of U, a row each."""
        V = self._things(features)
        n, m = len(u), len(V)
        memory.require(12.0 * n * m, f"to score {m:,} things for {n:,} users", "ask for fewer at a time")
        out = np.empty(n * m, np.float32)
        at = np.tile(np.arange(m, dtype=np.int32), n)
        core.score_pairs(U, np.repeat(u, m), V, at, out, threads(self.n_threads))
        return out.reshape(n, m)

    def _things(self, features: Any) -> FloatArray:
        """Return the rows of V that follow from features."""
        learned = self._learned_of_items()
        encoder = learned.encoder
        if isinstance(features, np.ndarray):
            if encoder.embedding() is None:
                raise InputError("a matrix is for models whose features are one embedding; give a table of features")
            if features.ndim != 2:
                raise InputError(
                    f"the features have {features.ndim} dimensions; give a matrix with a row for each thing"
                )
            if not np.isfinite(features).all():
                row = int(np.argwhere(~np.isfinite(features))[0][0])
                raise InputError(f"the features in row {row} are not finite; all numbers must be")
            name = encoder.embedding() or COLUMN
            features = {"item": np.arange(len(features), dtype=np.int64), name: np.asarray(features, np.float32)}
        return learned.means(learned.of_frame(features).columns, self.rank_, threads(self.n_threads))

    def reward_head(self, users: Any = None) -> tuple[FloatArray, FloatArray]:
        """Return weights and offsets that turn an embedding into rewards.

        The reward of an embedding h is ``weights @ h + offsets``. For models whose features are one embedding.

        Parameters
        ----------
        users : list of id, optional
            The users. Default: all users, in the order of ``users_``.

        Returns
        -------
        weights : array of shape (n_users, columns)
            One row for each user.
        offsets : array of shape (n_users,)
            One number for each user.

        Raises
        ------
        InputError
            If the model's features are not one embedding.

        See Also
        --------
        AltSVM.reward : Score things by their features.
        AltSVM.to_torch : Return the same as a layer of PyTorch.

        Examples
        --------
        >>> import numpy as np, rather
        >>> texts = np.random.default_rng(0).standard_normal((40, 4))
        >>> choices = rather.Comparisons.from_embeddings(["ann", "bob"] * 10, texts[:20], texts[20:])
        >>> model = rather.AltSVM(rank=1).fit(choices)
        >>> weights, offsets = model.reward_head(["ann"])
        >>> np.allclose(texts[:3] @ weights[0] + offsets[0], model.reward("ann", texts[:3]), atol=1e-5)
        True
        """
        return copy(self)._reward_head(users)

    def _reward_head(self, users: Any) -> tuple[FloatArray, FloatArray]:
        learned = self._learned_of_items()
        if learned.encoder.embedding() is None:
            raise InputError("a reward head is for models whose features are one embedding, and these are others")
        u = np.arange(len(self.users_), dtype=np.int32) if users is None else self._user_codes(users)
        slope, constant = learned.encoder.affine()
        U = self._factors.U[u, : self.rank_ + 1].astype(np.float64)
        C = learned.coefficients.astype(np.float64)
        weights, offsets = U @ (slope @ C).T, U @ (constant @ C)
        return np.asarray(weights, np.float32), np.asarray(offsets, np.float32)

    def to_torch(self, users: Any = None) -> Any:
        """Return a PyTorch layer that turns embeddings into rewards.

        Parameters
        ----------
        users : list of id, optional
            The users. Default: all users, in the order of ``users_``.

        Returns
        -------
        torch.nn.Linear
            A layer with one output for each user.

        Raises
        ------
        InputError
            If PyTorch is not installed, or the model's features are not one embedding.

        See Also
        --------
        AltSVM.reward_head : Return the same as arrays.

        Examples
        --------
        >>> import numpy as np, rather
        >>> texts = np.random.default_rng(0).standard_normal((40, 4))
        >>> choices = rather.Comparisons.from_embeddings(["ann", "bob"] * 10, texts[:20], texts[20:])
        >>> layer = rather.AltSVM(rank=1).fit(choices).to_torch(["ann"])  # doctest: +SKIP
        >>> layer.in_features, layer.out_features  # doctest: +SKIP
        (4, 1)
        """
        try:
            import torch  # type: ignore[import-not-found, unused-ignore]
        except ImportError as e:
            raise InputError("PyTorch is not installed; reward_head() gives the same as arrays") from e
        weights, offsets = self.reward_head(users)
        layer = torch.nn.Linear(weights.shape[1], weights.shape[0])
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(weights))
            layer.bias.copy_(torch.from_numpy(offsets))
        return layer
