"""The base class of models to which new users are added: the convex problem of one vector, and its solution."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..data import frames
from ..data.comparisons import Comparisons
from ..data.embedded import Embedded
from ..data.ids import Codes
from ..data.rows import Pairs, halved, is_tied, whole_ties
from ..data.source import Source
from ..data.votes import Votes
from ..errors import InputError
from ..native import LOSSES, FloatArray, core, factor, threads
from ..solving import smoothing
from ..solving.effects import Around
from ..solving.exposure import people_features
from ..solving.problem import Problem
from ..solving.scales import Scales, UserRule
from .answers import (
    about_items,
    check_answers,
    column_of,
    is_rated,
    is_table,
    listed,
    of_people,
    ratings_of_one,
    refuse_clicks,
    votes_of_one,
)
from .belief import Belief
from .calibration import Slope
from .crowd import Answers, TastePrior
from .described import Describing
from .exclusions import Rows, select
from .features import Learned, means
from .fitted import FittedModel
from .interest import INTEREST, Interest
from .person import Person
from .portable import write_json
from .scorers import LARGEST, Factors, best_rows, score_rows
from .sure import Sure, of_things

PRIOR = "exposure_parts", "exposure_coefficients"


class FoldInModel(Describing, Sure):
    """Learn vectors from comparisons, so that new users can be added from a few answers."""

    UNKNOWN_USER = "add person"

    @property
    def exposure_(self) -> bool:
        """Whether the fit learned from which items users compared."""
        return self.fitted.prior is not None

    @property
    def interest_(self) -> Interest | None:
        """Tendency of users to take up items; None if the fit did not learn it."""
        return self.fitted.interest

    def average_scores(self) -> FloatArray:
        """Return the scores of the ranking shared by all users.

        Users about whom nothing is known get this ranking. It is a weighted mean of all users' scores: a user who
        compared n items has the weight n / (n + 5).

        Returns
        -------
        array of shape (n_items,)
            One score for each item, in the order of ``items_``.

        See Also
        --------
        AltSVM.rank : Rank all items, by default with these scores.

        Notes
        -----
        The item biases alone are not the mean score, because the vectors also hold what most tastes have in common.
        On held-out users the mean ordered more pairs correctly than the biases did: 1 to 3 in a hundred more for films,
        and up to 1 more for votes. For clicks it ordered slightly fewer.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=50, n_items=20, rank=2).comparisons)
        >>> len(model.average_scores())
        20
        """
        now = copy(self)
        return score_rows(now._typical(), now._factors.V, threads(now.n_threads))

    def fold_in(self, answers: Any, features: Any = None, asked: bool = False) -> Person:
        """Add a new user from a few answers, without a refit.

        The model itself does not change. The new user's vector solves one small convex problem, the same that a fit
        solves for every user. Use :meth:`fold_in_many` for several users, and :meth:`update` to change the model.

        Parameters
        ----------
        answers : list of pair, table or Comparisons
            Pairs (winner, loser), or (item, item, "tie"). A table has columns winner and loser, or item and rating, and
            perhaps tie, side, weight and covariates. Clicks are given by :meth:`Comparisons.from_clicks` with
            ``allow_empty``. An empty list gives the ranking shared by all users.
        features : dict, optional
            The user's features by column name, such as {"age": 30}, for models fitted with ``user_features``. Missing
            ones count as average.
        asked : bool, default False
            Whether somebody else chose the items to compare, as :func:`next_question` does. This matters to a model
            with ``exposure_``, which otherwise learns from the user's choice of items.

        Returns
        -------
        Person
            The new user, with scores, rankings, recommendations and probabilities.

        Raises
        ------
        InputError
            If an item is not in the model, or an answer compares an item with itself.

        See Also
        --------
        AltSVM.fold_in_many : Add several new users at once.
        next_question : Return the most informative pair to ask.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=100, n_items=30, rank=2).comparisons)
        >>> person = model.fold_in([("item 1", "item 2"), ("item 1", "item 3")])
        >>> person.probability("item 1", "item 2") > 0.5
        True
        """
        return copy(self)._folded_in(answers, features, asked)

    def _folded_in(self, answers: Any, features: Any, asked: bool) -> Person:
        fitted = self.fitted
        if not isinstance(asked, bool):
            raise InputError(f"asked is {asked!r}; it must be True or False")
        known = self._known_of_one(features)
        if asked and fitted.prior is not None:
            person = self._with(replace(fitted, prior=None, parent=fitted, said=None)).fold_in(answers, features)
            person.model = self
            return person
        if isinstance(answers, Comparisons):
            return self._one(answers, known)
        if is_table(answers) and is_rated(answers, fitted.names):
            return self._one(ratings_of_one(answers, fitted.names), known)
        if is_table(answers):
            check_answers(answers, "the table", column_of("user", fitted.names, frames.names_in(answers)))
            refuse_clicks(answers, fitted.names)
            present = frames.names_in(answers)
            roles = {role: column_of(role, fitted.names, present) for role in ("winner", "loser")}
            if len(frames.columns(answers, roles)["winner"]):
                return self._one(votes_of_one(answers, fitted.names, tuple(fitted.context_effects)), known)
            answers = []
        pairs = listed(answers)
        flat = self._item_codes([p[0] for p in pairs] + [p[1] for p in pairs]) if pairs else np.empty(0, np.int32)
        winner, loser = flat[: len(pairs)], flat[len(pairs) :]
        same = np.flatnonzero(winner == loser)
        if len(same):
            raise InputError(f"answer {same[0]} compares item {pairs[same[0]][0]!r} with itself")
        # Only the items that occur matter: number them 0, 1, ...
        items, codes = np.unique(flat, return_inverse=True)
        w, x = codes.reshape(-1).astype(np.int32).reshape(2, -1)
        said, tied = Pairs(np.zeros(len(w), np.int32), w, x), np.array([len(pair) == 3 for pair in pairs], bool)
        return self._person(Votes(1, len(items), halved(said, tied) if tied.any() else said), items, pairs, 1, known)

    def fold_in_many(self, answers: Any, features: Any = None) -> Any:
        """Add several new users from a few answers each, without a refit.

        Every new user's vector is that of :meth:`fold_in`. The model itself does not change.

        Parameters
        ----------
        answers : table, Comparisons or None
            A table with columns user, winner and loser (and perhaps tie, side, weight and covariates), or user, item
            and rating. None: only features are known.
        features : table, optional
            Features of the new users, one row each, for models fitted with ``user_features``. Users without answers are
            added too.

        Returns
        -------
        Estimator
            A model of the same class and items, whose users are the new users. It can be asked and saved like any
            model.

        Raises
        ------
        InputError
            If an item is not in the model, or neither answers nor features are given.

        See Also
        --------
        AltSVM.fold_in : Add one new user.
        AltSVM.update : Add new users to the model itself.

        Examples
        --------
        >>> import rather
        >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=100, n_items=30, rank=2).comparisons)
        >>> new = model.fold_in_many({"user": ["ann", "bob"], "winner": ["item 1"] * 2, "loser": ["item 2", "item 3"]})
        >>> new.users_.tolist()
        ['ann', 'bob']
        """
        return copy(self)._folded_in_many(answers, features)

    def _folded_in_many(self, answers: Any, features: Any) -> Any:
        fitted = self.fitted
        if answers is None:
            if features is None:
                raise InputError("there are neither answers nor features of newcomers; give either")
            nobody = np.empty(0, self.users_.dtype), np.empty(0, self.items_.dtype)
            none = np.empty(0, np.int32)
            comparisons = Comparisons(*nobody, Votes(0, 0, Pairs(none, none, none)))
        else:
            comparisons = of_people(answers, fitted.names, tuple(fitted.context_effects))
            comparisons.refuse_features("fold_in_many(answers, features=...)")
        known = None
        if features is not None:
            comparisons, known = self._learned_of_people().read(comparisons, features)
        over = self._over(comparisons)
        source, items = over._about_items(comparisons)
        U, (start, met) = over._solve_newcomers(source, items, threads(self.n_threads), known), source.met()
        if over is not self:
            start, met = np.zeros(comparisons.n_users + 1, np.int64), np.empty(0, np.int32)
        if self._knows_ties():
            self._calibrated()  # which a newcomer's reluctance takes
        slope, own = fitted.slope, None if over is not self else self._newcomers_reluctance(source, U, items)
        joined = replace(
            fitted, users=comparisons.user_vocabulary, scorer=Factors.packed(U, self._factors.V, self.rank_),
            seen=(start, items[met]), posed=None, proof=None, frame_kind=comparisons.frame_kind,
            said=(source if over is self else None, items, known), parent=fitted, taste_prior=TastePrior(),
            names={**fitted.names, **comparisons.names}, trust=None,
            slope=slope if own is None else Slope(slope.found, own),
        )  # fmt: skip
        return self._with(joined)

    def _known_of_one(self, features: Any) -> FloatArray | None:
        """A newcomer's features as the encoder's columns."""
        if features is None:
            return None
        if not isinstance(features, Mapping):
            kind = type(features).__name__
            raise InputError(
                f"features are of type {kind}; they must be a dict of values by name, such as {{'age': 30}}"
            )
        return self._learned_of_people().encoder.read_one(features)

    def _one(self, comparisons: Comparisons, known: FloatArray | None = None) -> Person:
        """Return the new user of some comparisons."""
        if comparisons.n_users != 1:
            raise InputError(
                f"the comparisons are those of {comparisons.n_users:,} users; fold_in takes one person's, fold_in_many "
                "takes several"
            )
        over: FoldInModel = self._over(comparisons)
        if over is not self:  # things that occur once: nothing that the model knows of was met
            n_threads, source = threads(self.n_threads), comparisons.source
            U = over._solve_newcomers(source, np.arange(comparisons.n_items, dtype=np.int32), n_threads, known)
            pairs = comparisons.pairs()
            chosen: list[Any] = list(zip(pairs.winner.tolist(), pairs.loser.tolist(), strict=True))
            return Person(self, U, chosen, np.empty(0, np.int32), _no_reluctance, of_things)
        rated, clicks = comparisons.ratings, comparisons.clicks
        answers: list[Any]
        if clicks is not None:
            answers = comparisons.items[clicks.item].tolist()
        elif rated is not None:
            answers = list(zip(comparisons.items[rated.item].tolist(), rated.rating.tolist(), strict=True))
        else:
            pairs = comparisons.pairs()
            pairs = pairs if pairs.tied is None else whole_ties(pairs)
            sides = (comparisons.items[side].tolist() for side in (pairs.winner, pairs.loser))
            tied = is_tied(pairs).tolist()
            answers = [(a, b, "tie") if t else (a, b) for a, b, t in zip(*sides, tied, strict=True)]
        source, items = self._about_items(comparisons)
        return self._person(source, items, answers, threads(self.n_threads), known)

    def _person(
        self, source: Source, items: Codes, answers: list[Any], n_threads: int, known: FloatArray | None = None
    ) -> Person:
        """The one user of a source, the items of which are these."""
        U = self._solve_newcomers(source, items, n_threads, known)
        return Person(
            self, U, answers, items[source.met()[1]], partial(self._newcomers_reluctance, source, U, items),
            partial(self._newcomers_belief, source, items, known),
        )  # fmt: skip

    def _newcomers_belief(self, source: Source, items: Codes, known: FloatArray | None) -> Belief:
        """Return the posterior of the one user of a source."""
        expected = self._expected_of(source, items, known)
        rng = np.random.default_rng(self.seed % 2**63)
        answers = Answers(source, np.zeros(1, np.int32), rng, self._effects_of(source)).of(0)
        beside = bool(self._is_beside(source, items, known)[0])
        return self._believed(None if expected is None else expected[0], self._told_by(answers, items, None), beside)

    def _over(self, comparisons: Comparisons) -> Any:
        """The model over the things that comparisons are of, where these are known by embeddings alone; else itself."""
        if not isinstance(comparisons.source, Embedded):
            return self
        learned, rank = self._learned_of_items(), self.rank_
        columns = comparisons.source.differences(learned.encoder).columns
        V = learned.means(columns, rank, threads(self.n_threads))
        nothing = np.zeros(len(self.users_) + 1, np.int64), np.empty(0, np.int32)
        over = replace(
            self.fitted, items=comparisons.item_vocabulary, scorer=Factors.packed(self._factors.U, V, rank),
            seen=nothing, prior=None, interest=None,
        )  # fmt: skip
        return self._with(over)

    def _about_items(self, comparisons: Comparisons) -> tuple[Source, Codes]:
        """The source of newcomers' comparisons, and the model's codes of its items."""
        fitted = self.fitted
        popularity = np.bincount(fitted.seen[1], minlength=len(fitted.items))
        return about_items(comparisons, fitted.items, popularity)

    def _solve_newcomers(
        self, source: Source, items: Codes, n_threads: int, known: FloatArray | None = None
    ) -> FloatArray:
        """The vectors of the users of a source, the items of which are these: each a convex problem of its own."""
        store = source.store
        mean = self._newcomers_means(source, items, n_threads, known)
        fitted, factors = self.fitted, self._factors
        rank = factors.rank
        if not store.n_entries or not rank:
            U = factor(store.n_users, rank + 1) if mean is None else mean
            U[:, rank] = 1.0
            if known is None:
                U[:] = self._typical()
            return U
        rule, loss, reg = fitted.user_rule, fitted.loss, fitted.reg
        assert rule is not None and loss is not None and reg is not None
        ones, answers = np.ones(len(items), np.float32), np.empty(store.n_users)
        core.comparisons_per_user(store, answers)
        scaled = Scales(rule.ridge_shape(np.diff(store.start)), ones, rule.weight(answers))
        problem = Problem(
            store, rank=rank, loss=loss, bias=True, scales=scaled, n_threads=n_threads,
            around=Around.of(source),
        )  # fmt: skip
        if problem.around is not None:
            problem.set_effects_in_scores(self._effects_of(source))
        problem.V[:] = factors.V[items]
        problem.set_reg(reg, 1.0)
        if mean is not None:
            problem.user_mean = mean
            problem.U[:, :rank] = mean[:, :rank]
        solve_users(problem)
        return problem.U

    def _newcomers_means(
        self, source: Source, items: Codes, n_threads: int, known: FloatArray | None
    ) -> FloatArray | None:
        """Return the prior means of the vectors of new users, from the items they met and their features."""
        mean, fitted, rank = None, self.fitted, self.rank_
        if fitted.prior is not None:
            parts, coefficients = fitted.prior
            mine = factor(len(items), parts.shape[1])
            mine[:, : parts.shape[1]] = parts[items]
            mean = means(people_features(source.store, mine, n_threads), coefficients, rank, n_threads)
        if known is not None and fitted.user_features is not None:
            met = np.diff(source.store.start) > 0
            more = fitted.user_features.means(known, rank, n_threads, beside=True)
            more[~met] = fitted.user_features.means(known[~met], rank, n_threads)
            mean = more if mean is None else mean + more
        return mean

    def _typical(self) -> FloatArray:
        """Return the average user's vector; of newcomers that of the model that they joined."""
        fitted = self.fitted
        while fitted.parent is not None:
            fitted = fitted.parent
        assert isinstance(fitted.scorer, Factors)
        return fitted.scorer.typical(fitted.seen)

    def _everyone_shown(self) -> FloatArray:
        scores = super()._everyone_shown()
        if self.fitted.interest is None:
            return scores
        met = np.bincount(self.fitted.seen[1], minlength=len(scores))
        return np.asarray(scores / (scores.std() or 1.0) + met / (met.std() or 1.0), np.float32)

    def _scale(self, by: str) -> dict[str, str]:
        return {"scale": INTEREST} if by == "interest" and self.fitted.interest is not None else {}

    def _best_shown(self, u: Codes, k: int, excluded: Rows | None, items: Codes) -> tuple[Any, ...]:
        fitted, factors = self.fitted, self._factors
        if fitted.interest is None:
            return super()._best_shown(u, k, excluded, items)
        left, right = fitted.interest.rows(factors.U[u], factors.V, factors.rank + 1, select(fitted.seen, u))
        everyone = np.arange(len(u), dtype=np.int32)
        return best_rows(left, everyone, right, k, excluded, items, threads(self.n_threads))

    # -- files --------------------------------------------------------------------------------------------------

    def to_json(self, path: str | Path) -> None:
        """Write the fitted model to a JSON file, for programs in other languages.

        The file has all that a page needs to add new users and to choose questions, and nobody's answers. It cannot be
        loaded again: :meth:`save` writes files for that.

        Parameters
        ----------
        path : path
            The file. It is written completely or not at all.

        Raises
        ------
        InputError
            If the model has no item vectors, or was loaded from a file without what intervals need.

        See Also
        --------
        Estimator.save : Write a file that can be loaded again.
        AltSVM.fold_in : Add a new user in Python.

        Notes
        -----
        The document has these keys.

        - ``format``: "rather-json-1".
        - ``items``: the ids. All lists with one entry per item follow this order.
        - ``item_factors``, ``item_bias``: the vectors v_j and the biases b_j. A user with the vector u gives item j the
          score u . v_j + b_j.
        - ``loss``, ``reg``, ``user_rule``: the problem that gives u. From N answers about n items, u minimises
          ``reg`` / 2 (n / ``typical``)^``power`` u . u + N^-``balance`` times the sum of the losses of the margins.
        - ``typical``: the vector of a user without answers.
        - ``people``: the prior of new users. In log-odds, item j is worth
          ``bias`` b_j + ``taste`` v_j . (``mean`` + ``spread`` w) + e_j, where w is standard normal and e_j has the
          variance ``noise``.
        - ``met``: how many users compared each item.

        The page "Try it in your browser" of the documentation is made of this file and two short modules.

        Examples
        --------
        >>> import json, rather, tempfile
        >>> from pathlib import Path
        >>> model = rather.AltSVM(rank=2).fit(rather.simulate(n_users=40, n_items=10, rank=2, per_user=20).comparisons)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.to_json(f"{folder}/model.json")
        ...     document = json.loads(Path(f"{folder}/model.json").read_text())
        >>> len(document["item_factors"]), len(document["typical"])
        (10, 2)
        """
        now = copy(self)
        if not now.rank_:
            kind = type(now).__name__
            raise InputError(f"{kind} has no item vectors to write: it gives one score per item; use save")
        write_json(path, now.fitted, now._crowd(), now._typical()[0])

    def _tensors(self) -> dict[str, Any]:
        fitted = self.fitted
        prior = {} if fitted.prior is None else dict(zip(PRIOR, fitted.prior, strict=True))
        shown = {} if fitted.interest is None else fitted.interest.tensors()
        features = [learned.tensors(role) for role, learned in fitted.features.items()]
        return {name: array for part in (super()._tensors(), prior, shown, *features) for name, array in part.items()}

    def _about(self) -> dict[str, Any]:
        fitted = self.fitted
        assert fitted.user_rule is not None
        features = {f"{role}_features": learned.about() for role, learned in fitted.features.items()}
        return {**super()._about(), "loss": fitted.loss, "user_rule": asdict(fitted.user_rule), **features}

    def _restore(self, fitted: FittedModel, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        rule = UserRule(**{name: float(value) for name, value in about["user_rule"].items()})
        fitted.loss, fitted.user_rule = about["loss"], rule
        rank, n_items = tensors["user_factors"].shape[-1], len(fitted.items)
        if "user_features" in about:
            fitted.user_features = Learned.restored("user", tensors, about["user_features"], rank)
        if "item_features" in about:
            fitted.item_features = Learned.restored("item", tensors, about["item_features"], rank + 1)
        if PRIOR[0] in tensors:
            fitted.prior = parts, coefficients = tensors[PRIOR[0]], tensors[PRIOR[1]]
            sound = (
                parts.dtype == coefficients.dtype == np.float32
                and parts.ndim == coefficients.ndim == 2
                and parts.shape == (n_items, coefficients.shape[0])
                and coefficients.shape[1] == tensors["user_factors"].shape[1]
                and all((np.abs(a) < LARGEST).all() for a in (parts, coefficients))
            )
            if not sound:
                return False
        if Interest.TENSORS[0] in tensors:
            fitted.interest = Interest(*(tensors[name] for name in Interest.TENSORS))
            if not fitted.interest.is_sound(n_items, LARGEST):
                return False
        return (
            super()._restore(fitted, tensors, about)
            and fitted.loss in LOSSES
            and fitted.reg is not None
            and 0 < fitted.reg < float(np.finfo(np.float32).max)
            and 0 <= rule.balance <= 1
            and 0 <= rule.power <= 2
            and 1 <= rule.typical < np.inf
        )


def _no_reluctance() -> None:
    """Return the reluctance to decide of a user without answers about items of the model."""


def solve_users(problem: Problem) -> None:
    """Solve every user's convex problem to the accuracy of single precision; a hinge by tightening its smoothing."""
    for delta in smoothing.EXACT if smoothing.is_smoothed(problem) else (0.0,):
        problem.delta = delta
        problem.user_step(newton_steps=50, cg_steps=max(20, problem.rank), cg_tol=0.01, grad_tol=1e-5)
