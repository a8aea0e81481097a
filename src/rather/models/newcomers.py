"""Models that newcomers can join: the convex problem that a few answers pose in one vector, and its solution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
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
from ..solving.described import NOTHING, Known
from ..solving.effects import Around
from ..solving.exposure import Exposure, people_features
from ..solving.growth import Coefficients
from ..solving.problem import Problem
from ..solving.scales import Scales, UserRule
from .answers import (
    about_items,
    check_answers,
    column_of,
    is_answer,
    is_rated,
    is_table,
    of_people,
    ratings_of_one,
    votes_of_one,
)
from .belief import Belief
from .calibration import Slope
from .crowd import Answers, Found
from .described import Describing
from .exclusions import Rows, select
from .factors import LARGEST, best_rows, copied
from .features import Learned, means
from .interest import INTEREST, LEAST, Interest
from .person import Person
from .state import of_one_moment
from .sure import Sure, of_things

PRIOR = "exposure_parts", "exposure_coefficients"


class FoldInModel(Describing, Sure):
    """Learn vectors from comparisons, so that new users can be added from a few answers."""

    UNKNOWN_USER = "use fold_in(...) to add a person from a few answers"

    loss_: str
    reg_: float
    user_rule_: UserRule
    prior_: tuple[FloatArray, FloatArray] | None = None  # what a newcomer's prior mean is made of; see _set_prior
    _known: Known = NOTHING
    _gains: tuple[Any, Any] = None, None
    interest_: Interest | None = None

    @property
    def exposure_(self) -> bool:
        """Whether the fit learned from which items users compared."""
        self._require_fit()
        return self.prior_ is not None

    @of_one_moment
    def fold_in(self, answers: Any, features: Any = None, asked: bool = False) -> Person:
        """Add a new user from a few answers, without a refit.

        The model itself does not change. The new user's vector solves one small convex problem, the same that a fit
        solves for every user. Use :meth:`fold_in_many` for several users, and :meth:`update` to change the model.

        Parameters
        ----------
        answers : list of pair, table or Comparisons
            Pairs (winner, loser), or (item, item, "tie"). A table has columns winner and loser, or item and rating, and
            perhaps tie, side, weight and covariates. An empty list gives the ranking shared by all users.
        features : dict, optional
            The user's features by column name, such as {"age": 30}, for models fitted with ``user_features``. Missing
            ones count as average.
        asked : bool, default False
            Whether the items were put to the user, as :func:`next_question` does. Models that learned from which items
            users compared then do not take the items for the user's own choice.

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
        self._require_fit()
        if not isinstance(asked, bool):
            raise InputError(f"asked is {asked!r}; it must be True or False")
        known = self._known_of_one(features)
        if asked and self.prior_ is not None:
            now = object.__new__(type(self))
            now.__dict__ = {**self._frozen().__dict__, "prior_": None, "_parent": self._frozen()}
            person = now.fold_in(answers, features)
            person.model = self._frozen()
            return person
        if isinstance(answers, Comparisons):
            return self._one(answers, known)
        if is_table(answers) and is_rated(answers, self.names_):
            return self._one(ratings_of_one(answers, self.names_), known)
        if is_table(answers):
            check_answers(answers, "the table", column_of("user", self.names_, frames.names_in(answers)))
            present = frames.names_in(answers)
            roles = {role: column_of(role, self.names_, present) for role in ("winner", "loser")}
            if len(frames.columns(answers, roles)["winner"]):
                return self._one(votes_of_one(answers, self.names_, tuple(self.context_effects_)), known)
            answers = []
        if isinstance(answers, str) or not isinstance(answers, Iterable):
            raise InputError(f"the answers are {answers!r}; they must be a list of pairs (winner, loser)")
        pairs = [pair.tolist() if isinstance(pair, np.ndarray) else pair for pair in answers]
        for n, pair in enumerate(pairs):
            if isinstance(pair, str) or not isinstance(pair, Sequence) or not is_answer(pair):
                raise InputError(f"answer {n} is {pair!r}; it must be a pair (winner, loser), or (item, item, 'tie')")
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

    @of_one_moment
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
        self._require_fit()
        if answers is None:
            if features is None:
                raise InputError("there are neither answers nor features of newcomers; give either")
            nobody = np.empty(0, self.users_.dtype), np.empty(0, self.items_.dtype)
            none = np.empty(0, np.int32)
            comparisons = Comparisons(*nobody, Votes(0, 0, Pairs(none, none, none)))
        else:
            comparisons = of_people(answers, self.names_, tuple(self.context_effects_))
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
        slope, own = self._slope, None if over is not self else self._newcomers_reluctance(source, U, items)
        made = object.__new__(type(self))
        state = {
            "user_vocabulary_": comparisons.user_vocabulary, "U_": U, "seen_": (start, items[met]),
            "_are_newcomers": True, "_posed": None, "_proof": None, "frame_kind_": comparisons.frame_kind,
            "_said": (source if over is self else None, items, known), "_parent": self._frozen(), "_sure": Found(),
            "names_": {**self.names_, **comparisons.names}, "trust_": None,
            "_slope": slope if own is None else Slope(slope.found, own),
        }  # fmt: skip
        now = {name: value for name, value in self.__dict__.items() if name != "_moment"}
        made.__dict__ = {**now, **state, "_state_names": now.get("_state_names", frozenset()) | frozenset(state)}
        return made

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
        """The newcomer whom comparisons are of."""
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
        rated = comparisons.ratings
        if rated is not None:
            answers: list[Any] = list(zip(comparisons.items[rated.item].tolist(), rated.rating.tolist(), strict=True))
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
        """What is known of the one user of a source."""
        expected = self._expected_of(source, items, known)
        rng = np.random.default_rng(self.seed % 2**63)
        answers = Answers(source, np.zeros(1, np.int32), rng, self._sway_of(source)).of(0)
        beside = bool(self._is_beside(source, items, known)[0])
        return self._believed(None if expected is None else expected[0], self._told_by(answers, items, None), beside)

    def _over(self, comparisons: Comparisons) -> Any:
        """The model over the things that comparisons are of, where these are known by embeddings alone; else itself."""
        if not isinstance(comparisons.source, Embedded):
            return self
        made = object.__new__(type(self))
        learned = self._learned_of_items()
        columns = comparisons.source.differences(learned.encoder).columns
        V = learned.means(columns, self.rank_, threads(self.n_threads))
        nothing = np.zeros(len(self.users_) + 1, np.int64), np.empty(0, np.int32)
        state = {"item_vocabulary_": comparisons.item_vocabulary, "V_": V, "seen_": nothing}
        made.__dict__ = {**self._frozen().__dict__, **state, "prior_": None, "interest_": None}
        return made

    def _about_items(self, comparisons: Comparisons) -> tuple[Source, Codes]:
        """The source of newcomers' comparisons, and the model's codes of its items."""
        popularity = np.bincount(self.seen_[1], minlength=len(self.items_))
        return about_items(comparisons, self.item_vocabulary_, popularity)

    def _solve_newcomers(
        self, source: Source, items: Codes, n_threads: int, known: FloatArray | None = None
    ) -> FloatArray:
        """The vectors of the users of a source, the items of which are these: each a convex problem of its own."""
        store = source.store
        mean = self._newcomers_means(source, items, n_threads, known)
        if not store.n_entries or not self.rank_:
            U = factor(store.n_users, self.rank_ + 1) if mean is None else mean
            U[:, self.rank_] = 1.0
            if known is None:
                U[:] = self._typical()
            return U
        rule, ones, answers = self.user_rule_, np.ones(len(items), np.float32), np.empty(store.n_users)
        core.comparisons_per_user(store, answers)
        scaled = Scales(rule.ridge_shape(np.diff(store.start)), ones, rule.weight(answers))
        problem = Problem(
            store, rank=self.rank_, loss=self.loss_, bias=True, scales=scaled, n_threads=n_threads,
            around=Around.of(source),
        )  # fmt: skip
        self._sways(problem, source)
        problem.V[:] = self.V_[items]
        problem.set_reg(self.reg_, 1.0)
        if mean is not None:
            problem.user_mean = mean
            problem.U[:, : self.rank_] = mean[:, : self.rank_]
        solve_users(problem)
        return problem.U

    def _newcomers_means(
        self, source: Source, items: Codes, n_threads: int, known: FloatArray | None
    ) -> FloatArray | None:
        """What the vectors of newcomers are expected to be, from the items they met and what is known of them."""
        mean = None
        if self.prior_ is not None:
            parts, coefficients = self.prior_
            mine = factor(len(items), parts.shape[1])
            mine[:, : parts.shape[1]] = parts[items]
            mean = means(people_features(source.store, mine, n_threads), coefficients, self.rank_, n_threads)
        if known is not None and self._users_learned is not None:
            met = np.diff(source.store.start) > 0
            more = self._users_learned.means(known, self.rank_, n_threads, beside=True)
            more[~met] = self._users_learned.means(known[~met], self.rank_, n_threads)
            mean = more if mean is None else mean + more
        return mean

    def _typical(self) -> FloatArray:
        typical: FloatArray = super()._typical() if self._parent is None else self._parent._typical()
        return typical

    def _set_prior(self, exposed: Exposure | None, coefficients: Coefficients, store: Any, last: bool) -> None:
        """Keep what prior means are computed from.

        Of who met what: parts of a person's features, one row an item, and A. Of what is known of people and items: how
        that is read, and the coefficients; those for whom nothing else is known, which cost a regression, after the
        ``last`` round, when they get their rows.
        """
        users, items = coefficients
        met = 0 if exposed is None else exposed.k
        self.prior_ = None
        if exposed is not None and users is not None:
            self.prior_ = exposed.parts[:, :met], users[:met, : self.rank_].copy()
        n_threads = threads(self.n_threads)
        for role, of_all, rows, count, width in (
            ("user", users, self.U_, np.diff(store.start), self.rank_),
            ("item", items, self.V_, store.item_count, self.rank_ + 1),
        ):
            known, gains = (pair[role == "item"] for pair in (self._known, self._gains))
            if known is None or known.strengths is None:
                setattr(self, f"_{role}s_learned", None)
                continue
            C = np.zeros((0, width), np.float32) if of_all is None else of_all[met:, :width]
            learned = Learned.of(known, C, rows, count if last else None, gains, n_threads)
            setattr(self, f"_{role}s_learned", learned)
            unmet = np.flatnonzero(np.asarray(count) == 0)
            if last and len(unmet) and known.own:
                made = learned.means(known.rows[unmet, : known.encoder.width], self.rank_, n_threads)
                mine = copied(rows, n_threads)  # the others are the solver's
                mine[unmet, :width] = made[:, :width]
                setattr(self, "U_" if role == "user" else "V_", mine)

    def _set_interest(self, exposed: Exposure | None, comparisons: Comparisons) -> None:
        """Keep what lists take: of ratings that people chose to give."""
        if exposed is not None and comparisons.ratings is not None:
            parts = exposed.parts[:, : min(max(exposed.standing, LEAST), exposed.k)].copy()
            self.interest_ = Interest(parts, parts * exposed.met[:, None])

    def _everyone_shown(self) -> FloatArray:
        scores = super()._everyone_shown()
        if self.interest_ is None:
            return scores
        met = np.bincount(self.seen_[1], minlength=len(scores))
        return np.asarray(scores / (scores.std() or 1.0) + met / (met.std() or 1.0), np.float32)

    def _scale(self, by: str) -> dict[str, str]:
        return {"scale": INTEREST} if by == "interest" and self.interest_ is not None else {}

    def _best_shown(self, u: Codes, k: int, excluded: Rows | None, items: Codes) -> tuple[Any, ...]:
        if self.interest_ is None:
            return super()._best_shown(u, k, excluded, items)
        left, right = self.interest_.rows(self.U_[u], self.V_, self.rank_ + 1, select(self.seen_, u))
        everyone = np.arange(len(u), dtype=np.int32)
        return best_rows(left, everyone, right, k, excluded, items, threads(self.n_threads))

    # -- files --------------------------------------------------------------------------------------------------

    def _tensors(self) -> dict[str, Any]:
        prior = {} if self.prior_ is None else dict(zip(PRIOR, self.prior_, strict=True))
        shown = {} if self.interest_ is None else self.interest_.tensors()
        features = [learned.tensors(role) for role, learned in self._learned().items()]
        return {name: array for part in (super()._tensors(), prior, shown, *features) for name, array in part.items()}

    def _about(self) -> dict[str, Any]:
        features = {f"{role}_features": learned.about() for role, learned in self._learned().items()}
        return {**super()._about(), "loss": self.loss_, "user_rule": asdict(self.user_rule_), **features}

    def _restore(self, tensors: dict[str, Any], about: dict[str, Any]) -> bool:
        rule = UserRule(**{name: float(value) for name, value in about["user_rule"].items()})
        self.loss_, self.user_rule_ = about["loss"], rule
        rank = tensors["user_factors"].shape[-1]
        for role, width in (("user", rank), ("item", rank + 1)):
            if f"{role}_features" in about:
                learned = Learned.restored(role, tensors, about[f"{role}_features"], width)
                setattr(self, f"_{role}s_learned", learned)
        if PRIOR[0] in tensors:
            self.prior_ = parts, coefficients = tensors[PRIOR[0]], tensors[PRIOR[1]]
            sound = (
                parts.dtype == coefficients.dtype == np.float32
                and parts.ndim == coefficients.ndim == 2
                and parts.shape == (len(self.items_), coefficients.shape[0])
                and coefficients.shape[1] == tensors["user_factors"].shape[1]
                and all((np.abs(a) < LARGEST).all() for a in (parts, coefficients))
            )
            if not sound:
                return False
        if Interest.TENSORS[0] in tensors:
            self.interest_ = Interest(*(tensors[name] for name in Interest.TENSORS))
            if not self.interest_.is_sound(len(self.items_), LARGEST):
                return False
        return (
            super()._restore(tensors, about)
            and self.loss_ in LOSSES
            and 0 < self.reg_ < float(np.finfo(np.float32).max)
            and 0 <= rule.balance <= 1
            and 0 <= rule.power <= 2
            and 1 <= rule.typical < np.inf
        )


def _no_reluctance() -> None:
    """Return the reluctance to decide of someone who met nothing that the model knows."""


def solve_users(problem: Problem) -> None:
    """Solve every user's convex problem to the accuracy of single precision; a hinge by tightening its smoothing."""
    for delta in smoothing.EXACT if smoothing.is_smoothed(problem) else (0.0,):
        problem.delta = delta
        problem.user_step(newton_steps=50, cg_steps=max(20, problem.rank), cg_tol=0.01, grad_tol=1e-5)
